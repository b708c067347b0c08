"""Objects that no paper needs: sets, graphs, series, images, sound, rotations in space, tests."""

from .antisymmetric import Antisymmetric
from .atoms import atom_environments
from .dilated_cdf import DilatedCDF
from .equivariant import EquivariantRidge
from .generators import FoundGenerators, find_generators
from .graphs import graph_nodes
from .logmel import LogMel
from .max_filter import MaxFilter
from .overlap import OverlapFit
from .padded import pad_sets, unpad_sets
from .particles import Product
from .patches import PatchPooling, patch_sets
from .plotting import plot_alignment, plot_along_orbit, plot_orbit
from .rematch import REMatchKernel
from .scattering import Scattering
from .separation import SeparationReport, separation_report
from .set_features import SetFeatures
from .sets import MatchingKernel, SetKernel
from .sorted_coorbits import SortedCoorbits
from .sound import PitchSpeed, SpectrogramPitchSpeed, mel_frequencies
from .space import ContinuousGroup, PlaneRotations, Rotations3D
from .spherical import SphericalCoefficients
from .symmetry import (
    Augmented,
    FoundSymmetry,
    Gain,
    SymmetryTest,
    built_in,
    find_symmetry,
    symmetry_test,
)
from .tangent import TANGENTS, TangentDistance
from .wreath import Wreath

__all__ = [
    "TANGENTS",
    "Antisymmetric",
    "Augmented",
    "ContinuousGroup",
    "DilatedCDF",
    "EquivariantRidge",
    "FoundGenerators",
    "FoundSymmetry",
    "Gain",
    "LogMel",
    "MatchingKernel",
    "MaxFilter",
    "OverlapFit",
    "PatchPooling",
    "PitchSpeed",
    "PlaneRotations",
    "Product",
    "REMatchKernel",
    "Rotations3D",
    "Scattering",
    "SeparationReport",
    "SetFeatures",
    "SetKernel",
    "SortedCoorbits",
    "SpectrogramPitchSpeed",
    "SphericalCoefficients",
    "SymmetryTest",
    "TangentDistance",
    "Wreath",
    "atom_environments",
    "built_in",
    "find_generators",
    "find_symmetry",
    "graph_nodes",
    "mel_frequencies",
    "pad_sets",
    "patch_sets",
    "plot_alignment",
    "plot_along_orbit",
    "plot_orbit",
    "separation_report",
    "symmetry_test",
    "unpad_sets",
]
