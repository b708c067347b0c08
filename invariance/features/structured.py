r"""`StructuredTemplates`: Gaussian templates whose projections need no matrix product.

Raj et al. 2017, remark 4, after Le, Sarlos and Smola 2013 (Fastfood) and Yu et al. 2016: in blocks
of p, the next power of two above d, templates are the rows of

.. math:: \sqrt{2 \gamma}\; S\, H D_3\, H D_2\, H D_1 ,

with H the orthonormal Hadamard matrix, D_i random signs and S the radii of Gaussian vectors. A
Hadamard matrix is a Kronecker product of two of size :math:`\sqrt p`, so that all projections of a
point on a block take :math:`O(p \sqrt p)` operations in small matrix products, not :math:`p^2`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard
from sklearn.utils import check_random_state

from ..core.parameters import Array, Positive, Seed, Whole, check_values

__all__ = ["StructuredTemplates"]


class StructuredTemplates:
    """Random templates for the Gaussian kernel exp(-gamma |x - z|^2), in Hadamard blocks.

    Parameters
    ----------
    n_components, n_features : int
        Number of templates s, and the dimension d of the points.
    gamma : float
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> templates = StructuredTemplates(6, 3, gamma=0.5, random_state=0)
    >>> X = np.eye(3)
    >>> bool(np.allclose(templates.products(X), X @ templates.dense().T))
    True
    """

    def __init__(self, n_components: int, n_features: int, *, gamma: float, random_state=None):
        given = {"n_components": n_components, "n_features": n_features, "gamma": gamma}
        kinds = {"n_components": Whole(1), "n_features": Whole(1), "gamma": Positive()}
        given, kinds = given | {"random_state": random_state}, kinds | {"random_state": Seed()}
        check_values("StructuredTemplates", kinds, given)
        rng = check_random_state(random_state)
        self.n_components, self.n_features = n_components, n_features
        exponent = max(1, int(n_features - 1).bit_length())
        self.size = 2**exponent
        blocks = -(-n_components // self.size)
        self.signs = rng.choice([-1.0, 1.0], size=(blocks, 3, self.size))
        # Three orthonormal products, and sqrt(p) of a Gaussian vector's length.
        radii = np.sqrt(rng.chisquare(self.size, size=(blocks, self.size)))
        self.radii = np.sqrt(2 * gamma) * radii / self.size**1.5
        self._factors = hadamard(2 ** (exponent // 2)), hadamard(2 ** (exponent - exponent // 2))

    def products(self, X: ArrayLike) -> NDArray:
        """Inner products <x, omega>, shape (n, n_components), of X's precision."""
        check_values("products", {"X": Array(2)}, {"X": X})
        points = np.asarray(X)
        kind = np.result_type(points.dtype, np.float32)
        left, right = (factor.astype(kind) for factor in self._factors)
        padded = np.zeros((len(points), self.size), dtype=kind)
        padded[:, : self.n_features] = points
        parts = []
        for signs, radii in zip(self.signs.astype(kind), self.radii.astype(kind), strict=True):
            values = padded
            for flips in signs:
                table = (values * flips).reshape(-1, len(left), len(right))
                values = (left @ (table @ right)).reshape(len(points), -1)
            parts.append(values * radii)
        return np.hstack(parts)[:, : self.n_components]

    def dense(self) -> NDArray:
        """The templates themselves, shape (n_components, n_features)."""
        return self.products(np.eye(self.n_features)).T
