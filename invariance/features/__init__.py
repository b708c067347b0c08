"""Explicit feature maps of invariant kernels, as scikit-learn transformers."""

from ..core.padded import pad_sets, unpad_sets
from .angular import AngularBasis
from .atoms import atom_environments
from .block_pca import BlockPCA
from .cdf import GroupCDF
from .dilated_cdf import DilatedCDF
from .graphs import graph_nodes
from .logmel import LogMel
from .max_filter import MaxFilter
from .orbit_fourier import OrbitFourier
from .orbit_nystroem import OrbitNystroem
from .patches import PatchPooling, patch_sets
from .scattering import Scattering
from .sets import SetFeatures
from .templates import (
    StructuredTemplates,
    draw_frequencies,
    draw_templates,
    draw_windowed_templates,
    median_gamma,
)

__all__ = [
    "AngularBasis",
    "BlockPCA",
    "DilatedCDF",
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
    "draw_frequencies",
    "draw_templates",
    "draw_windowed_templates",
    "graph_nodes",
    "median_gamma",
    "pad_sets",
    "patch_sets",
    "unpad_sets",
]
