"""Exact invariance by spectral averaging: eigenfunctions, projections, estimators, baselines."""

from .averaging import SpectralAveraging
from .base import Basis, Eigenspace, OracleCalls
from .baselines import SignAveragedVonMises, SobolevKernel, VonMisesKernel
from .expansion import Expansion, invariance_discrepancy, sobolev_target
from .projection import invariant_dimensions, invariant_subspace, project
from .sphere import Sphere
from .torus import Circle, Torus

__all__ = [
    "Basis",
    "Circle",
    "Eigenspace",
    "Expansion",
    "OracleCalls",
    "SignAveragedVonMises",
    "SobolevKernel",
    "SpectralAveraging",
    "Sphere",
    "Torus",
    "VonMisesKernel",
    "invariance_discrepancy",
    "invariant_dimensions",
    "invariant_subspace",
    "project",
    "sobolev_target",
]
