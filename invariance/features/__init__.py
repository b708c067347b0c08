"""Explicit feature maps of invariant kernels, as scikit-learn transformers."""

from ..core.padded import pad_sets, unpad_sets
from .angular import AngularBasis
from .bandwidth import median_gamma
from .block_pca import BlockPCA
from .cdf import GroupCDF
from .frequencies import draw_frequencies
from .landmarks import leverage_scores
from .logmel import LogMel
from .max_filter import MaxFilter
from .molecules import atom_environments, coulomb_positions
from .orbit_fourier import OrbitFourier
from .orbit_nystroem import OrbitNystroem
from .patches import PatchPooling, patch_sets
from .scattering import Scattering
from .sets import SetFeatures
from .structured import StructuredTemplates
from .templates import draw_templates
from .windows import draw_windowed_templates

__all__ = [
    "AngularBasis",
    "BlockPCA",
    "GroupCDF",
    "LogMel",
    "MaxFilter",
    "OrbitFourier",
    "OrbitNystroem",
    "PatchPooling",
    "Scattering",
    "SetFeatures",
    "StructuredTemplates",
    "atom_environments",
    "coulomb_positions",
    "draw_frequencies",
    "draw_templates",
    "draw_windowed_templates",
    "leverage_scores",
    "median_gamma",
    "pad_sets",
    "patch_sets",
    "unpad_sets",
]
