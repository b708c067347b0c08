"""Explicit feature maps of invariant kernels, as scikit-learn transformers."""

from .angular import AngularBasis
from .bandwidth import median_gamma
from .block_pca import BlockPCA
from .cdf import GroupCDF
from .logmel import LogMel
from .orbit_fourier import OrbitFourier, draw_frequencies
from .orbit_nystroem import OrbitNystroem, leverage_scores
from .patches import PatchPooling
from .scattering import Scattering
from .templates import draw_templates
from .windows import draw_windowed_templates

__all__ = [
    "AngularBasis",
    "BlockPCA",
    "GroupCDF",
    "LogMel",
    "OrbitFourier",
    "OrbitNystroem",
    "PatchPooling",
    "Scattering",
    "draw_frequencies",
    "draw_templates",
    "draw_windowed_templates",
    "leverage_scores",
    "median_gamma",
]
