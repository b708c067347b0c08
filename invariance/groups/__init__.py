"""Transformations of data: finite groups by generators, other sets, and densities on them."""

from .base import FiniteGroup, Grid, Group, Transformations
from .check import check_group, departure_from_unitary
from .continuous import CircleAction
from .coulomb import (
    AtomPermutations,
    SortedNoise,
    check_coulomb,
    coulomb_eigenvalues,
    coulomb_triangle,
    sort_coulomb,
)
from .densities import Density, LogNormal, Normal, Uniform, VonMises
from .images import Affine, Rotations, affine_maps
from .matrices import LinearMaps, OrthogonalMatrices
from .permutations import (
    CyclicShifts,
    GeneratedPermutations,
    Negation,
    Permutations,
    SignedPermutationGroup,
    SignedPermutations,
    SignFlips,
)
from .products import Composition, DirectProduct, OnPoints
from .reflections import is_reflection_group
from .translations import CyclicTranslations, TorusTranslations, Translations

__all__ = [
    "Affine",
    "AtomPermutations",
    "CircleAction",
    "Composition",
    "CyclicShifts",
    "CyclicTranslations",
    "Density",
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
    "Rotations",
    "SignFlips",
    "SignedPermutationGroup",
    "SignedPermutations",
    "SortedNoise",
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
    "is_reflection_group",
    "sort_coulomb",
]
