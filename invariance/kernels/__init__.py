"""Kernels: base, orbit-averaged, best-fit, locality. Each is a callable k(X, Y) -> (n, m)."""

from .average import Average
from .base import Gaussian, Kernel, Laplacian, Linear, Polynomial
from .best_fit import BestFit
from .cdf import CDF
from .hyper import Hyperkernel
from .indefinite import (
    GramReport,
    GramTransformer,
    gershgorin_margin,
    gram_report,
    largest_definite,
)
from .locality import Locality
from .overlap import OverlapFit
from .sets import MatchingKernel, SetKernel
from .tangent import TANGENTS, TangentDistance

__all__ = [
    "CDF",
    "TANGENTS",
    "Average",
    "BestFit",
    "Gaussian",
    "GramReport",
    "GramTransformer",
    "Hyperkernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Locality",
    "MatchingKernel",
    "OverlapFit",
    "Polynomial",
    "SetKernel",
    "TangentDistance",
    "gershgorin_margin",
    "gram_report",
    "largest_definite",
]
