"""Linear learners: regularised least squares with leave-one-out.

One scale holds for every ``alpha``: functions f on n points minimise

    (1/n) sum_i |y_i - f(x_i)|^2 + alpha |f|^2,

with |f| the norm of the weights, or of the kernel's space, and an intercept that costs nothing.
With weights the first term is their weighted mean. The ridge added to the Gram matrix is n alpha:
scikit-learn's ``KernelRidge(alpha=n * alpha)`` and ``Ridge(alpha=n * alpha)`` are the same.
"""

from .block_ridge import BlockRidgeClassifier
from .gram import (
    CholeskyRLS,
    IndefiniteWarning,
    kernel_ridge,
    left_out_with_copies,
    rls_by_cholesky,
)
from .ridge import solve_ridges
from .rls import RLSClassifier, RLSRegressor

__all__ = [
    "BlockRidgeClassifier",
    "CholeskyRLS",
    "IndefiniteWarning",
    "RLSClassifier",
    "RLSRegressor",
    "kernel_ridge",
    "left_out_with_copies",
    "rls_by_cholesky",
    "solve_ridges",
]
