"""Gaussian templates in Hadamard blocks, for the notebook `remark4`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard
from sklearn.utils import check_random_state

from invariance.core import parameters as kinds
from invariance.core.parameters import arguments


class StructuredTemplates:
    r"""Gaussian templates in Hadamard blocks, whose projections need no large matrix product.

    Raj et al. 2017, remark 4, after Le, Sarlos and Smola 2013 and Yu et al. 2016: for the kernel
    exp(-gamma \|x - z\|^2), in blocks of p, the next power of two above d, the rows of

    .. math:: \sqrt{2 \gamma}\; S\, H D_3\, H D_2\, H D_1 ,

    with H the orthonormal Hadamard matrix, D_i random signs and S the norms of Gaussian vectors. H
    is the Kronecker product of two Hadamard matrices of size :math:`\sqrt p`, so that the
    projections of a point on a block take :math:`O(p \sqrt p)` operations in small matrix products
    instead of :math:`p^2`.

    >>> templates = StructuredTemplates(6, 3, gamma=0.5, random_state=0)
    >>> templates.products(np.eye(3)).shape                            # <e_i, omega_j>
    (3, 6)
    """

    @arguments(
        n_components=kinds.Whole(1),
        n_features=kinds.Whole(1),
        gamma=kinds.Positive(),
        random_state=kinds.Seed(),
    )
    def __init__(self, n_components: int, n_features: int, *, gamma: float, random_state=None):
        rng = check_random_state(random_state)
        self.n_components = n_components
        self.n_features = n_features
        exponent = max(1, int(n_features - 1).bit_length())
        self.size = 2**exponent
        n_blocks = -(-n_components // self.size)
        self.signs = rng.choice([-1.0, 1.0], size=(n_blocks, 3, self.size))
        gaussian_norms = np.sqrt(rng.chisquare(self.size, size=(n_blocks, self.size)))
        # The three products with the unscaled Hadamard matrix multiply norms by p^(3/2).
        self.radii = np.sqrt(2 * gamma) * gaussian_norms / self.size**1.5
        left_exponent = exponent // 2
        right_exponent = exponent - left_exponent
        self._left = hadamard(2**left_exponent)
        self._right = hadamard(2**right_exponent)

    @arguments(X=kinds.Array(2))
    def products(self, X: ArrayLike) -> NDArray:
        """Return inner products <x, omega>, shape (n, n_components), of X's precision."""
        points = np.asarray(X)
        dtype = np.result_type(points.dtype, np.float32)
        left = self._left.astype(dtype)
        right = self._right.astype(dtype)
        padded = np.zeros((len(points), self.size), dtype=dtype)
        padded[:, : self.n_features] = points
        blocks = []
        for block_signs, block_radii in zip(self.signs, self.radii, strict=True):
            values = padded
            for signs in block_signs.astype(dtype):
                tables = (values * signs).reshape(-1, len(left), len(right))
                values = (left @ (tables @ right)).reshape(len(points), -1)
            blocks.append(values * block_radii.astype(dtype))
        return np.hstack(blocks)[:, : self.n_components]
