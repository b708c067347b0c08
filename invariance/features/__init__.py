"""Explicit feature maps of invariant kernels, as scikit-learn transformers."""

from .angular import AngularBasis
from .bandwidth import median_gamma
from .cdf import GroupCDF
from .orbit_fourier import OrbitFourier
from .orbit_nystroem import OrbitNystroem
from .templates import draw_frequencies, draw_templates, draw_windowed_templates

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
