"""Kernels: base, orbit-averaged, best-fit, locality. Each is a callable k(X, Y) -> (n, m)."""

from .average import Average
from .base import Gaussian, Kernel, Laplacian, Linear, Polynomial
from .best_fit import BestFit
from .cdf import CDF
from .diagnostics import GramReport, gershgorin_margin, gram_report, largest_definite
from .hyper import Hyperkernel
from .locality import Locality
from .overlap import OverlapFit
from .repair import GramTransformer, SpectrumRepair
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
    "SpectrumRepair",
    "TangentDistance",
    "gershgorin_margin",
    "gram_report",
    "largest_definite",
]
