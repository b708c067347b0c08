"""`Antisymmetric`: kernels of functions that change sign with some transformations."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core import parameters as kinds
from ..core.parameters import ParameterError, short, stores_parameters
from ..groups import Transformations
from ..groups.base import GROUP
from ..kernels.base import BASE, Kernel, preserved
from ..kernels.orbit import OrbitKernel

Array = NDArray[Any]

#: Values that are accepted as a parameter ``sign``.
_SIGN = kinds.OneOf("determinant") | kinds.Kind("a function of elements", callable)


@stores_parameters
class Antisymmetric(Kernel):
    r"""The kernel of functions with :math:`f(g x) = \mathrm{sign}(g) \, f(x)` for a finite group.

    For a group whose elements have signs, with :math:`\mathrm{sign}(g h) = \mathrm{sign}(g) \,
    \mathrm{sign}(h)`, and a base kernel k that the group preserves,

    .. math:: K(x, z) = \frac{1}{|G|} \sum_{g \in G} \mathrm{sign}(g) \, k(x, g z) .

    K is positive semi-definite if k is, and functions learned with it change sign exactly: the
    difference of two components when they are swapped, a handed quantity in a mirror, an odd
    function at -x. An intercept would not change sign, so that learners need
    ``fit_intercept=False``. If the group does not preserve k, both arguments are transformed, in
    :math:`|G|^2` evaluations of k.

    Parameters
    ----------
    base : Kernel
    group : Transformations
        A finite group.
    sign : "determinant" or callable
        Signs of the elements. "determinant" is that of the matrix that an element stands for: odd
        permutations, odd numbers of sign flips, and reflections of `OrthogonalMatrices` are
        negative, whatever the number of points on which they act. A function takes elements, an
        array of shape (r, ...), and returns r numbers 1 or -1.

    Examples
    --------
    Two molecules of three features each, which may be swapped:

    >>> from invariance.groups import Permutations
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> y = X[:, 0] - X[:, 3]
    >>> kernel = Antisymmetric(Gaussian(0.1), Permutations(2, block=3))
    >>> model = RLSRegressor(kernel=kernel, fit_intercept=False).fit(X, y)
    >>> swapped = X[:, [3, 4, 5, 0, 1, 2]]
    >>> bool(np.allclose(model.predict(swapped), -model.predict(X)))
    True
    """

    base: Annotated[Kernel, BASE]
    group: Annotated[Transformations, GROUP]
    sign: Annotated[str | Callable[[Array], Any], _SIGN] = "determinant"

    # A Gaussian process tunes the base kernel.
    hyperparameters = OrbitKernel.hyperparameters
    theta = OrbitKernel.theta

    def _elements(self) -> tuple[Array, Array]:
        """Return the elements of the group and their signs."""
        group = self.group
        if group.order == inf or not group.is_group or group.weights() is not None:
            raise ParameterError(
                f"Antisymmetric needs a finite group with equal weights, got group={group!r}: take "
                "one that elements() lists"
            )
        elements = group.elements()
        signs = self._signs(elements)
        self._check_signs(elements, signs)
        return elements, signs

    def _signs(self, elements: Array) -> Array:
        if self.sign == "determinant":
            return _determinants(self.group, elements)
        signs = np.asarray(self.sign(elements))  # type: ignore[operator]
        if signs.shape != (len(elements),) or not np.all(np.isin(signs, (-1, 1))):
            raise ParameterError(
                f"sign needs to return {len(elements)} numbers 1 or -1, one per element, got "
                f"{short(signs)}"
            )
        return signs.astype(float)

    def _check_signs(self, elements: Array, signs: Array) -> None:
        """Refuse signs that are not multiplied when elements are."""
        generators = getattr(self.group, "generators", None)
        compose = getattr(self.group, "compose", None)
        if generators is None or compose is None:
            return
        for generator in generators():
            products = compose(generator[None], elements)
            expected = self._signs(generator[None]) * signs
            is_different = self._signs(products) != expected
            if is_different.any():
                element = elements[np.argmax(is_different)]
                raise ParameterError(
                    f"sign of the product of {short(generator)} and {short(element)} is not the "
                    "product of their signs: no function but zero changes sign like this"
                )

    def _gram(self, X: Array, Y: Array | None) -> Array:
        Z = X if Y is None else Y
        elements, signs = self._elements()
        if preserved(self.base, self.group):
            return self._mean(X, Z, elements, signs)
        total = 0.0
        for element, sign in zip(elements, signs, strict=True):
            images = self.group.act(element[None], X)[0]
            total = total + sign * self._mean(images, Z, elements, signs)
        return np.asarray(total / len(elements))

    def _mean(self, X: Array, Z: Array, elements: Array, signs: Array) -> Array:
        """Return the mean of sign(g) k(x, g z)."""
        total = np.zeros((len(X), len(Z)), np.result_type(X, Z))
        for element, sign in zip(elements, signs, strict=True):
            images = self.group.act(element[None], Z)[0]
            total += sign * self.base(X, images)
        return total / len(elements)


def _determinants(group: Transformations, elements: Array) -> Array:
    """Return determinants of elements that are matrices, or permutations with signs."""
    matrices = elements
    if elements.ndim == 1:
        matrices = elements[:, None]
    if matrices.ndim == 2:
        size = matrices.shape[1]
        positions = np.abs(matrices).astype(int) - 1
        if not np.array_equal(np.sort(positions), np.tile(np.arange(size), (len(positions), 1))):
            raise ParameterError(
                f"sign='determinant' is not defined for the elements of {group!r}, such as "
                f"{short(elements[0])}: pass a function of elements that returns their signs"
            )
        matrices = np.sign(matrices)[:, :, None] * np.eye(size)[positions]
    return np.sign(np.linalg.det(matrices))
