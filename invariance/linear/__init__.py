"""Linear learners: regularised least squares with leave-one-out, and the norm-infinity program.

One scale holds for every ``alpha``: functions f on n points minimise

    (1/n) sum_i |y_i - f(x_i)|^2 + alpha |f|^2,

with |f| the norm of the weights, or of the kernel's space, and an intercept that costs nothing.
With weights the first term is their weighted mean. The ridge added to the Gram matrix is n alpha:
scikit-learn's ``KernelRidge(alpha=n * alpha)`` and ``Ridge(alpha=n * alpha)`` are the same.
"""

from .block_ridge import BlockRidgeClassifier
from .cholesky import CholeskyRLS, rls_by_cholesky
from .copies import left_out_with_copies
from .gram import IndefiniteWarning
from .holdout import HoldoutRidge, ridge_by_holdout
from .nested import NestedRidge, nested_ridge
from .norm_infinity import NormInfinityClassifier, margin_loss
from .rls import RLSClassifier, RLSRegressor

__all__ = [
    "BlockRidgeClassifier",
    "CholeskyRLS",
    "HoldoutRidge",
    "IndefiniteWarning",
    "NestedRidge",
    "NormInfinityClassifier",
    "RLSClassifier",
    "RLSRegressor",
    "left_out_with_copies",
    "margin_loss",
    "nested_ridge",
    "ridge_by_holdout",
    "rls_by_cholesky",
]
