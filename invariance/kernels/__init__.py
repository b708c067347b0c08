"""Kernels: base, orbit-averaged, best-fit, locality. Each is a callable k(X, Y) -> (n, m)."""

from .average import Average
from .base import Gaussian, Kernel, Laplacian, Linear, Polynomial
from .best_fit import BestFit
from .cdf import CDF
from .columns import OnColumns
from .hyper import Hyperkernel
from .indefinite import (
    GramReport,
    GramTransformer,
    gershgorin_margin,
    gram_report,
    largest_definite,
)
from .locality import Locality

__all__ = [
    "CDF",
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
    "OnColumns",
    "Polynomial",
    "gershgorin_margin",
    "gram_report",
    "largest_definite",
]
