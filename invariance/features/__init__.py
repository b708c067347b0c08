"""Explicit feature maps of invariant kernels, as scikit-learn transformers."""

from .angular import AngularBasis
from .cdf import GroupCDF
from .orbit_fourier import OrbitFourier
from .orbit_nystroem import OrbitNystroem
from .templates import (
    draw_frequencies,
    draw_templates,
    draw_windowed_templates,
    median_gamma,
)

__all__ = [
    "AngularBasis",
    "GroupCDF",
    "OrbitFourier",
    "OrbitNystroem",
    "draw_frequencies",
    "draw_templates",
    "draw_windowed_templates",
    "median_gamma",
]
