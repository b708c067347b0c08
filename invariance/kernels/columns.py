"""`OnColumns`: a kernel of some columns of the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import parameters as kinds
from ..core.arrays import check_array, namespace, numpy_only
from ..core.parameters import ParameterError, stores_parameters
from .base import BASE, Kernel, TunesItsBase

Array = NDArray[Any]


@stores_parameters
class OnColumns(TunesItsBase, Kernel):
    r"""A kernel of some columns of the points, :math:`k(x, z) = k_0(x_C, z_C)`.

    Products and sums of such kernels treat the columns of a table differently: a symmetry holds for
    some of them, and the others are compared as they are. The method `Kernel.on_columns` creates
    these objects. A Gaussian process tunes the parameters of the base kernel.

    Parameters
    ----------
    base : Kernel, of this package or of scikit-learn
    columns : sequence of int
        The columns, in the order in which the base kernel takes them.

    Notes
    -----
    Raises a ParameterError if the points have too few columns.

    Examples
    --------
    >>> from invariance.groups import Permutations
    >>> from invariance.kernels import Average, Gaussian
    >>> pairs = Average(Gaussian(0.1), Permutations(2)).on_columns([0, 1])
    >>> kernel = pairs * Gaussian(1.0).on_columns([2])
    >>> z = [[0.0, 3.0, 4.0]]
    >>> bool(np.isclose(kernel([[1.0, 2.0, 5.0]], z), kernel([[2.0, 1.0, 5.0]], z))[0, 0])
    True
    """

    base: Annotated[Kernel, BASE]
    columns: Annotated[Sequence[int], kinds.Array(1, whole=True, least=0)]

    def on_rows(self, *arrays: ArrayLike) -> tuple[OnColumns, list[Array]]:
        """Return this kernel and its points; sets in some columns may have missing points."""
        name = type(self).__name__
        return self, [check_array(X, estimator=name, ensure_all_finite="allow-nan") for X in arrays]

    def _selected(self, X: Any) -> Any:
        """Return the columns of points of shape (n, d)."""
        columns = np.asarray(self.columns, dtype=np.intp)
        if columns.max(initial=-1) >= X.shape[1]:
            raise ParameterError(
                f"OnColumns: columns={self.columns!r}, but the points have {X.shape[1]} columns"
            )
        xp = namespace(X)
        if xp is np:
            return np.ascontiguousarray(X[:, columns])
        return xp.take(X, xp.asarray(columns, device=X.device), axis=1)

    def _gram(self, X: Array, Y: Array | None) -> Array:
        selected_X = self._selected(X)
        gram = self.base(selected_X, None if Y is None else self._selected(Y))
        return np.asarray(gram, dtype=X.dtype if Y is None else np.result_type(X, Y))

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        if not hasattr(self.base, "_gram_arrays"):
            numpy_only(type(self.base).__name__, "take a kernel of this package as the base", X, Y)
        selected_X = self._selected(X)
        return self.base(selected_X, None if Y is None else self._selected(Y))

    def _diag(self, X: Array) -> Any:
        return self.base.diag(self._selected(X))

    def _gradient(self, X: Array) -> Array:
        _, derivatives = self.base(self._selected(X), eval_gradient=True)
        return np.asarray(derivatives)

    def explain(self, X: ArrayLike, Y: ArrayLike | None = None) -> Any:
        """Return how the base kernel's matrix will be computed, if it is a kernel over a group."""
        kernel: Any = self.base
        selected_Y = None if Y is None else self._selected(np.asarray(Y))
        return kernel.explain(self._selected(np.asarray(X)), selected_Y)

    def is_stationary(self) -> bool:
        return bool(self.base.is_stationary())
