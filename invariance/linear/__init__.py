"""Linear learners: regularised least squares with leave-one-out, and the norm-infinity program."""

from .block_ridge import BlockRidgeClassifier
from .cholesky import CholeskyRLS, rls_by_cholesky
from .holdout import HoldoutRidge, ridge_by_holdout
from .nested import NestedRidge, nested_ridge
from .norm_infinity import NormInfinityClassifier, margin_loss
from .rls import RLSClassifier, RLSRegressor

__all__ = [
    "BlockRidgeClassifier",
    "CholeskyRLS",
    "HoldoutRidge",
    "NestedRidge",
    "NormInfinityClassifier",
    "RLSClassifier",
    "RLSRegressor",
    "margin_loss",
    "nested_ridge",
    "ridge_by_holdout",
    "rls_by_cholesky",
]
