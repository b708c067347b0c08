"""Finite groups of orthogonal matrices in up to four dimensions, listed: `catalogue`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

Matrices = NDArray[np.float64]

#: Decimals to which equal matrices agree.
_DECIMALS = 6


class TooLarge(Exception):
    """Generators generate more elements than allowed."""


def generated_group(generators: Iterable[Matrices], largest_order: int) -> Matrices:
    """Return all products of the generators, shape (order, d, d), the identity first."""
    generators = [np.asarray(generator, dtype=float) for generator in generators]
    identity = np.eye(len(generators[0]))
    elements = {_key(identity): identity}
    newest = [identity]
    while newest:
        products = [element @ generator for element in newest for generator in generators]
        newest = []
        for element in products:
            key = _key(element)
            if key in elements:
                continue
            elements[key] = element
            newest.append(element)
            if len(elements) > largest_order:
                raise TooLarge(f"more than {largest_order} elements")
    return np.stack(list(elements.values()))


def _key(matrix: Matrices) -> bytes:
    rounded = np.round(matrix, _DECIMALS) + 0.0  # No negative zeros.
    return rounded.tobytes()


def is_reflection(matrix: Matrices) -> bool:
    """Whether a matrix is the reflection in a hyperplane: symmetric, with one eigenvalue -1."""
    d = len(matrix)
    symmetric = np.allclose(matrix, matrix.T, atol=1e-8)
    return symmetric and bool(np.isclose(np.trace(matrix), d - 2))


@dataclass(frozen=True)
class FiniteGroup:
    """A finite group of orthogonal matrices, with a name and its elements (order, d, d)."""

    name: str
    elements: Matrices

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.elements)

    @property
    def dimension(self) -> int:
        """The dimension of the space that the group acts on."""
        return self.elements.shape[1]

    @cached_property
    def is_reflection_group(self) -> bool:
        """Whether the reflections among the elements generate the whole group."""
        reflections = [element for element in self.elements if is_reflection(element)]
        if not reflections:
            return self.order == 1
        return len(generated_group(reflections, self.order)) == self.order

    @property
    def signature(self) -> tuple[int, int, tuple[tuple[float, ...], ...]]:
        """An invariant of conjugate groups: traces of all elements and of their powers."""
        traces = []
        for element in self.elements:
            powers = [np.linalg.matrix_power(element, power) for power in (1, 2, 3)]
            traces.append(tuple(np.round([np.trace(power) for power in powers], 4) + 0.0))
        return (self.dimension, self.order, tuple(sorted(traces)))


# -- elements --------------------------------------------------------------------------------------


def rotation(angle: float) -> Matrices:
    """Return the rotation of the plane by an angle in radians."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def reflection(normal: Iterable[float]) -> Matrices:
    """Return the reflection in the hyperplane with this normal."""
    normal = np.asarray(list(normal), dtype=float)
    return np.eye(len(normal)) - 2 * np.outer(normal, normal) / (normal @ normal)


def block_diagonal(*blocks: Matrices | float) -> Matrices:
    """Return the matrix with these blocks, or numbers, on its diagonal."""
    blocks = [np.atleast_2d(block) for block in blocks]
    size = sum(len(block) for block in blocks)
    matrix = np.zeros((size, size))
    start = 0
    for block in blocks:
        stop = start + len(block)
        matrix[start:stop, start:stop] = block
        start = stop
    return matrix


def left_multiplication(quaternion: Iterable[float]) -> Matrices:
    """Return the matrix of x -> q x for a unit quaternion q = a + b i + c j + d k."""
    a, b, c, d = quaternion
    return np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]])


# -- families --------------------------------------------------------------------------------------

_MIRROR = np.diag([1.0, -1.0])
_GOLDEN = (1 + np.sqrt(5)) / 2
_HALF_TURN = np.diag([1.0, -1.0, -1.0])
_INVERSION = -np.eye(3)


def planar(largest_order: int) -> dict[str, list[Matrices]]:
    """Return generators of the groups of the plane: rotations C_n, and with mirrors D_n."""
    groups = {}
    for n in range(1, largest_order + 1):
        turn = rotation(2 * np.pi / n)
        groups[f"C{n}"] = [turn]
        if 2 * n <= largest_order:
            groups[f"D{n}"] = [turn, _MIRROR]
    return groups


def axial(largest_order: int) -> dict[str, list[Matrices]]:
    """Return generators of the groups of space that keep an axis, by Schoenflies' symbols."""
    groups = {}
    for n in range(1, largest_order + 1):
        turn = block_diagonal(rotation(2 * np.pi / n), 1.0)
        half_step = block_diagonal(rotation(np.pi / n), -1.0)
        vertical = np.diag([1.0, -1.0, 1.0])
        horizontal = np.diag([1.0, 1.0, -1.0])
        groups[f"C{n}"] = [turn]
        groups[f"C{n}h"] = [turn, horizontal]
        groups[f"C{n}v"] = [turn, vertical]
        groups[f"S{2 * n}"] = [half_step]
        groups[f"D{n}"] = [turn, _HALF_TURN]
        groups[f"D{n}h"] = [turn, vertical, horizontal]
        groups[f"D{n}d"] = [half_step, vertical]
    return groups


def polyhedral() -> dict[str, list[Matrices]]:
    """Return generators of the symmetries of the regular solids."""
    cycle = np.eye(3)[[1, 2, 0]]
    quarter_turn = block_diagonal(rotation(np.pi / 2), 1.0)
    mirror = reflection([1, -1, 0])
    fifth_turn = np.array(
        [
            [0.5, -_GOLDEN / 2, (_GOLDEN - 1) / 2],
            [_GOLDEN / 2, (_GOLDEN - 1) / 2, -0.5],
            [(_GOLDEN - 1) / 2, 0.5, _GOLDEN / 2],
        ]
    )
    return {
        "T": [cycle, _HALF_TURN],
        "Td": [cycle, _HALF_TURN, mirror],
        "Th": [cycle, _HALF_TURN, _INVERSION],
        "O": [cycle, quarter_turn],
        "Oh": [cycle, quarter_turn, _INVERSION],
        "I": [cycle, fifth_turn],
        "Ih": [cycle, fifth_turn, _INVERSION],
    }


def quaternionic() -> dict[str, list[Matrices]]:
    """Return generators of finite groups of unit quaternions, which act by multiplication."""
    i = [0, 1, 0, 0]
    j = [0, 0, 1, 0]
    third = [0.5, 0.5, 0.5, 0.5]
    eighth = np.array([1, 1, 0, 0]) / np.sqrt(2)
    tenth = np.array([_GOLDEN, 1, 1 / _GOLDEN, 0]) / 2
    quaternions = {
        "quaternion group": [i, j],
        "binary tetrahedral": [i, third],
        "binary octahedral": [third, eighth],
        "binary icosahedral": [third, tenth],
    }
    return {
        name: [left_multiplication(quaternion) for quaternion in generators]
        for name, generators in quaternions.items()
    }


def permuted_simplex() -> dict[str, list[Matrices]]:
    """Return generators of the symmetries of the regular simplex in four dimensions."""
    basis = np.linalg.svd(np.ones((1, 5)))[2][1:]  # Orthonormal, orthogonal to (1, ..., 1).

    def on_simplex(permutation: list[int]) -> Matrices:
        return basis @ np.eye(5)[permutation] @ basis.T

    five_cycle = on_simplex([1, 2, 3, 4, 0])
    three_cycle = on_simplex([1, 2, 0, 3, 4])
    transposition = on_simplex([1, 0, 2, 3, 4])
    four_cycle = on_simplex([0, 2, 4, 1, 3])
    return {
        "S5 on the simplex": [five_cycle, transposition],
        "A5 on the simplex": [five_cycle, three_cycle],
        "F20 on the simplex": [five_cycle, four_cycle],
    }


def double_rotations(largest_order: int) -> dict[str, list[Matrices]]:
    """Return cyclic groups that turn two planes at once, one k times as fast."""
    groups = {}
    for n in range(3, largest_order + 1):
        for k in range(1, n // 2 + 1):
            both = block_diagonal(rotation(2 * np.pi / n), rotation(2 * np.pi * k / n))
            groups[f"C{n}, frequencies 1 and {k}"] = [both]
    return groups


def products(largest_order: int) -> dict[str, list[Matrices]]:
    """Return products of two groups of the plane, in four dimensions."""
    factors = planar(largest_order)
    groups = {}
    for (name, generators), (second_name, second_generators) in product(factors.items(), repeat=2):
        if second_name < name:
            continue
        first = [block_diagonal(generator, np.eye(2)) for generator in generators]
        second = [block_diagonal(np.eye(2), generator) for generator in second_generators]
        groups[f"{name} x {second_name}"] = first + second
    return groups


def signed_permutation_groups(n_pairs: int, seed: int) -> dict[str, list[Matrices]]:
    """Return groups of signed permutations of four coordinates, by pairs of random generators."""
    rng = np.random.default_rng(seed)
    groups = {}
    for pair in range(n_pairs):
        signs = rng.choice([-1.0, 1.0], (2, 4))
        generators = [sign[:, None] * np.eye(4)[rng.permutation(4)] for sign in signs]
        groups[f"signed permutations {pair}"] = generators
    return groups


def catalogue(largest_order: int = 120, n_pairs: int = 300, seed: int = 0) -> list[FiniteGroup]:
    """Return finite groups in one to four dimensions, without copies that are conjugate.

    Groups with equal traces of elements, squares and cubes count as conjugate.
    """
    named = {"trivial, d = 1": [np.eye(1)], "negation, d = 1": [-np.eye(1)]}
    families = [
        (2, planar(largest_order)),
        (3, axial(largest_order)),
        (3, polyhedral()),
        (4, quaternionic()),
        (4, permuted_simplex()),
        (4, double_rotations(min(largest_order, 30))),
        (4, products(largest_order)),
        (4, signed_permutation_groups(n_pairs, seed)),
    ]
    for d, family in families:
        for name, generators in family.items():
            named[f"{name}, d = {d}"] = generators
    groups = {}
    for name, generators in named.items():
        try:
            group = FiniteGroup(name, generated_group(generators, largest_order))
        except TooLarge:
            continue
        groups.setdefault(group.signature, group)
    return list(groups.values())
