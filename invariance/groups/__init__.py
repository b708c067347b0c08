"""What acts on data: finite groups by generators, transformations, and densities on them."""

from .abilities import Grid
from .affine import Affine, affine_maps
from .base import FiniteGroup, Group, Transformations
from .circle import CircleAction
from .continuous import ContinuousGroup, PlaneRotations, Rotations3D, TorusShifts
from .densities import Density, LogNormal, Normal, Uniform, VonMises
from .departure import Departure, departure_from_unitary
from .examination import check_group
from .linear_maps import LinearMaps
from .matrices import OrthogonalMatrices
from .molecules import (
    AtomPermutations,
    SortedNoise,
    check_coulomb,
    coulomb_eigenvalues,
    coulomb_triangle,
    sort_coulomb,
)
from .points import OnPoints
from .products import Composition, DirectProduct
from .projected import Projected
from .rotations import Rotations
from .scalings import Scalings
from .signed import (
    CyclicShifts,
    GeneratedPermutations,
    Negation,
    Permutations,
    SignedPermutationGroup,
    SignedPermutations,
    SignFlips,
)
from .sound import PitchSpeed, SpectrogramPitchSpeed, mel_frequencies
from .torus import TorusTranslations
from .translations import CyclicTranslations, Translations

__all__ = [
    "Affine",
    "AtomPermutations",
    "CircleAction",
    "Composition",
    "ContinuousGroup",
    "CyclicShifts",
    "CyclicTranslations",
    "Density",
    "Departure",
    "DirectProduct",
    "FiniteGroup",
    "GeneratedPermutations",
    "Grid",
    "Group",
    "LinearMaps",
    "LogNormal",
    "Negation",
    "Normal",
    "OnPoints",
    "OrthogonalMatrices",
    "Permutations",
    "PitchSpeed",
    "PlaneRotations",
    "Projected",
    "Rotations",
    "Rotations3D",
    "Scalings",
    "SignFlips",
    "SignedPermutationGroup",
    "SignedPermutations",
    "SortedNoise",
    "SpectrogramPitchSpeed",
    "TorusShifts",
    "TorusTranslations",
    "Transformations",
    "Translations",
    "Uniform",
    "VonMises",
    "affine_maps",
    "check_coulomb",
    "check_group",
    "coulomb_eigenvalues",
    "coulomb_triangle",
    "departure_from_unitary",
    "mel_frequencies",
    "sort_coulomb",
]
