"""Exact invariance by spectral averaging: eigenfunctions, projections, estimators, baselines."""

from .averaging import SpectralAveraging
from .base import Basis, Eigenspace, OracleCalls
from .baselines import SortedCoordinates, augment
from .characters import invariant_dimensions
from .classifier import SpectralAveragingClassifier
from .discrepancy import invariance_discrepancy
from .expansion import Eigenfunctions, Expansion, transform_to_invariant
from .explain import SpectralCost
from .kernels import (
    HeatKernel,
    MaternKernel,
    SignAveragedVonMises,
    SobolevKernel,
    SpectralKernel,
    VonMisesKernel,
)
from .product import Product
from .projection import invariant_subspace, project
from .sphere import Sphere
from .targets import sobolev_target
from .torus import Circle, Torus

__all__ = [
    "Basis",
    "Circle",
    "Eigenfunctions",
    "Eigenspace",
    "Expansion",
    "HeatKernel",
    "MaternKernel",
    "OracleCalls",
    "Product",
    "SignAveragedVonMises",
    "SobolevKernel",
    "SortedCoordinates",
    "SpectralAveraging",
    "SpectralAveragingClassifier",
    "SpectralCost",
    "SpectralKernel",
    "Sphere",
    "Torus",
    "VonMisesKernel",
    "augment",
    "invariance_discrepancy",
    "invariant_dimensions",
    "invariant_subspace",
    "project",
    "sobolev_target",
    "transform_to_invariant",
]
