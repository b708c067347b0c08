"""Generators of the tasks of `compare/more_problems`.

Each takes a random generator and a number of points, and returns points and targets.
"""

from functools import cache
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from invariance.beyond import Rotations3D, SphericalCoefficients

Array = NDArray[Any]
Rng = np.random.Generator


def signals_on_a_sphere(rng: Rng, n: int) -> tuple[Array, Array]:
    """Rotated functions of six kinds, as 25 coefficients; kinds differ in phases, not in power."""
    y = rng.permutation(np.arange(n) % 6)
    prototypes = rng.standard_normal((6, 25))
    for degree in range(5):
        block = prototypes[:, degree**2 : (degree + 1) ** 2]
        block *= sqrt(2 * degree + 1) / np.linalg.norm(block, axis=1, keepdims=True)
    prototypes[:, 0] = 1
    X = prototypes[y] + 0.5 * rng.standard_normal((n, 25))
    group = SphericalCoefficients(4)
    rotations = group.sample(n, int(rng.integers(2**31)))
    rotated = [
        group.act(rotation[None], x[None])[0, 0] for rotation, x in zip(rotations, X, strict=True)
    ]
    return np.array(rotated) / 5, y


def galaxies(rng: Rng, n: int, size: int = 24) -> tuple[Array, Array]:
    """Noisy images (n, size^2) of five kinds, at any angle, and their mirror images."""
    y = rng.permutation(np.arange(n) % 5)
    pixels = np.arange(size) - (size - 1) / 2
    grid = np.meshgrid(pixels, pixels)
    radius = np.hypot(*grid)
    angle = np.arctan2(grid[1], grid[0])
    images = []
    for kind in y:
        turned = rng.choice([-1, 1]) * (angle - rng.uniform(0, 2 * np.pi))
        light = np.exp(-radius / rng.uniform(3, 5))
        winding = rng.uniform(2, 4) * np.log(radius + 1)
        if kind == 0:
            squeezed = radius * np.sqrt(np.cos(turned) ** 2 + 3 * np.sin(turned) ** 2)
            image = np.exp(-squeezed / 4)
        elif kind == 1:
            bar = np.exp(-((radius * np.sin(turned)) ** 2) / 4) * (radius < 9)
            image = 0.7 * bar + light
        else:
            image = light * (1 + np.cos((kind - 1) * (turned - winding)))
        image = image / np.linalg.norm(image)
        images.append(image.ravel() + 0.06 * rng.standard_normal(size**2))
    return np.array(images), y


#: Semitones above the root: major, minor, diminished, augmented, suspended, and four sevenths.
CHORDS = [
    (0, 4, 7),
    (0, 3, 7),
    (0, 3, 6),
    (0, 2, 7),
    (0, 4, 7, 10),
    (0, 3, 7, 10),
    (0, 4, 7, 11),
    (0, 3, 6, 10),
]


def chords(rng: Rng, n: int) -> tuple[Array, Array]:
    """Loudness of the twelve semitones, in any key, for eight kinds of chords."""
    y = rng.permutation(np.arange(n) % 8)
    X = np.empty((n, 12))
    for x, kind in zip(X, y, strict=True):
        x[:] = 0.15 * rng.exponential(size=12)
        for note in CHORDS[kind]:
            loudness = rng.lognormal(0, 0.3)
            x[note] += loudness
            x[(note + 7) % 12] += 0.25 * loudness  # an overtone
        x[:] = np.roll(x, rng.integers(12))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def _on_solid(rng: Rng, kind: int, n_points: int) -> Array:
    """Points on a box, a cylinder, a cone, an ellipsoid or a ring, shape (n_points, 3)."""
    angle = rng.uniform(0, 2 * np.pi, n_points)
    height = rng.uniform(-1, 1, n_points)
    if kind == 0:
        points = rng.uniform(-1, 1, (n_points, 3))
        side = rng.integers(3, size=n_points)
        points[np.arange(n_points), side] = rng.choice([-1, 1], n_points)
        return points
    if kind == 1:
        radius = np.ones(n_points)
        is_lid = rng.random(n_points) < 1 / 3
        radius[is_lid] = np.sqrt(rng.random(is_lid.sum()))
        height[is_lid] = rng.choice([-1, 1], is_lid.sum())
    elif kind == 2:
        radius = np.sqrt(rng.random(n_points))
        is_base = rng.random(n_points) < 1 / 3
        height = np.where(is_base, -1, 1 - 2 * radius)
    elif kind == 3:
        radius = np.sqrt(1 - height**2)
    else:
        turn = rng.uniform(0, 2 * np.pi, n_points)
        radius = 0.7 + 0.3 * np.cos(turn)
        height = 0.6 * np.sin(turn)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)


def solids(rng: Rng, n: int, upright: bool = False) -> tuple[Array, Array]:
    """Sets of 32 points on five kinds of solids, at any orientation or turned about z only."""
    y = rng.permutation(np.arange(n) % 5)
    sets = np.empty((n, 32, 3))
    for i, kind in enumerate(y):
        points = _on_solid(rng, kind, 32) * rng.uniform(0.75, 1.3, 3)
        points = points + 0.05 * rng.standard_normal((32, 3))
        points = points - points.mean(axis=0)
        sets[i] = points / np.sqrt(np.square(points).sum(axis=1).mean())
    if upright:
        angles = rng.uniform(0, 2 * np.pi, n)
        rotations = np.zeros((n, 3, 3))
        rotations[:, 0, 0] = rotations[:, 1, 1] = np.cos(angles)
        rotations[:, 0, 1] = -np.sin(angles)
        rotations[:, 1, 0] = np.sin(angles)
        rotations[:, 2, 2] = 1
    else:
        rotations = Rotations3D().sample(n, int(rng.integers(2**31)))
    return np.einsum("nij,nkj->nki", rotations, sets), y


def pairs(rng: Rng, n: int) -> tuple[Array, Array]:
    """Four pairs of numbers whose order does not matter, one after the other."""
    X = rng.uniform(-1, 1, (n, 8))
    first, second = X.reshape(n, 4, 2).swapaxes(0, 2)
    mean = np.mean(np.sin(2 * first) * second, axis=0)
    spread = np.std(first + second, axis=0)
    return X, mean + 0.5 * spread + np.square(np.mean(first, axis=0))


def assets(rng: Rng, n: int) -> tuple[Array, Array]:
    """Six exchangeable assets with three numbers each, then four numbers of the market."""
    X = rng.standard_normal((n, 22))
    own = X[:, :18].reshape(n, 6, 3)
    market = X[:, 18:]
    exposure = np.tanh(np.einsum("nak,nk->na", own, market[:, :3]))
    shock = np.maximum(own[:, :, 0] * market[:, 3:], 0)
    return X, exposure.mean(axis=1) + 0.5 * shock.mean(axis=1)


@cache
def hexagon(radius: int = 6) -> tuple[Array, Array]:
    """Positions of a camera's pixels, and the permutations of a turn by 60 degrees and a mirror."""
    steps = range(-radius, radius + 1)
    cells = [(q, r) for q, r in product(steps, steps) if abs(q + r) <= radius]
    numbers = {cell: number for number, cell in enumerate(cells)}
    turn = [numbers[-r, q + r] for q, r in cells]
    mirror = [numbers[r, q] for q, r in cells]
    q, r = np.transpose(cells)
    return np.stack([q + r / 2, r * sqrt(3) / 2], axis=1), np.array([turn, mirror])


def showers(rng: Rng, n: int) -> tuple[Array, Array]:
    """Images of 127 hexagonal pixels: a smooth shower, a patchy one, or an arc of a ring."""
    positions, _ = hexagon()
    y = rng.permutation(np.arange(n) % 3)
    images = []
    for kind in y:
        angle = rng.uniform(0, 2 * np.pi)
        axis = np.array([np.cos(angle), np.sin(angle)])
        along = (positions - rng.normal(0, 1.5, 2)) @ axis
        across = (positions - rng.normal(0, 1.0, 2)) @ [-axis[1], axis[0]]
        if kind < 2:
            length = rng.uniform(2, 3)
            light = np.exp(-np.square(along / length) / 2 - np.square(across / 0.9) / 2)
        if kind == 1:
            for _ in range(2):
                place = rng.normal(0, 1.5) * axis + rng.normal(0, 1.5, 2)
                distances = np.linalg.norm(positions - place, axis=1)
                light = 0.6 * light + 0.6 * np.exp(-np.square(distances / 1.2) / 2)
        if kind == 2:
            distances = np.hypot(along, across)
            arc = np.exp(-np.square((distances - rng.uniform(2.5, 4)) / 0.8) / 2)
            light = arc * (np.arctan2(across, along) > -rng.uniform(0, 2))
        photons = rng.poisson(12 * light + 0.5)
        images.append(np.sqrt(photons))
    X = np.array(images)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


#: The cells of the rows, columns and diagonals of a board of three by three.
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@cache
def value_of_board(board: tuple[int, ...]) -> int:
    """The result for X under perfect play: 1, 0 or -1. Cells hold 1 for X, -1 for O, else 0."""
    totals = [board[a] + board[b] + board[c] for a, b, c in LINES]
    if 3 in totals or -3 in totals:
        return 1 if 3 in totals else -1
    if 0 not in board:
        return 0
    mover = 1 - sum(board) if sum(board) == 0 else -1
    results = []
    for cell in range(9):
        if board[cell] == 0:
            results.append(value_of_board((*board[:cell], mover, *board[cell + 1 :])))
    return max(results) if mover == 1 else min(results)


@cache
def boards() -> tuple[Array, Array]:
    """One board of each orbit of the square's symmetries that legal play can reach, and values."""
    squares = np.arange(9).reshape(3, 3)
    views = [np.rot90(side, k).ravel() for side in (squares, squares.T) for k in range(4)]
    known = set()
    open_boards = [(0,) * 9]
    while open_boards:
        board = open_boards.pop()
        smallest = min(tuple(board[cell] for cell in view) for view in views)
        if smallest in known:
            continue
        known.add(smallest)
        totals = [smallest[a] + smallest[b] + smallest[c] for a, b, c in LINES]
        if 3 in totals or -3 in totals:
            continue
        mover = 1 if sum(smallest) == 0 else -1
        for cell in range(9):
            if smallest[cell] == 0:
                open_boards.append((*smallest[:cell], mover, *smallest[cell + 1 :]))
    unfinished = []
    for board in sorted(known):
        totals = [board[a] + board[b] + board[c] for a, b, c in LINES]
        if 0 in board and 3 not in totals and -3 not in totals:
            unfinished.append(board)
    return np.array(unfinished), np.array([value_of_board(board) for board in unfinished])


def positions_of_play(rng: Rng, n: int) -> tuple[Array, Array]:
    """Boards in any of eight views, cells as two columns (X, O); each orbit occurs once."""
    orbits, values = boards()
    chosen = rng.permutation(len(orbits))[:n]
    squares = orbits[chosen].reshape(-1, 3, 3)
    views = [np.rot90(board, rng.integers(4)) for board in squares]
    views = [view if rng.random() < 0.5 else view.T for view in views]
    cells = np.reshape(views, (-1, 9, 1))
    return (cells == [1, -1]).reshape(len(cells), 18).astype(float), values[chosen]


def strands(rng: Rng, n: int, length: int = 60) -> tuple[Array, Array]:
    """Sequences of four letters, one-hot (n, 4 * length); half have a motif, on either strand."""
    y = rng.permutation(np.arange(n) % 2)
    motif = rng.integers(4, size=10)
    letters = rng.integers(4, size=(n, length))
    for row, has_motif in zip(letters, y, strict=True):
        if has_motif:
            copy = np.where(rng.random(10) < 0.12, rng.integers(4, size=10), motif)
            if rng.random() < 0.5:
                copy = 3 - copy[::-1]  # the reverse complement of A, C, G, T
            place = rng.integers(length - 10)
            row[place : place + 10] = copy
    return np.eye(4)[letters].reshape(n, -1), y


def crystals(rng: Rng, n: int) -> tuple[Array, Array]:
    """Cells of six atoms of two elements, and their energies per atom.

    A row has the 9 numbers of the cell, 18 of the positions and 6 charges. The energy is a sum over
    all pairs of atoms within 6 angstroms, images of the cell among them.
    """
    shifts = np.array(list(product((-2, -1, 0, 1, 2), repeat=3)))
    rows = []
    energies = []
    for _ in range(n):
        cell = np.diag(rng.uniform(4.5, 5.5, 3)) + 0.3 * rng.standard_normal((3, 3))
        grid = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1]]) / 2
        positions = (grid + 0.04 * rng.standard_normal((6, 3)) + rng.random(3)) @ cell
        charges = rng.permutation([11, 11, 11, 17, 17, 17])
        vectors = positions - positions[:, None] + (shifts @ cell)[:, None, None]
        distances = np.linalg.norm(vectors, axis=3)
        distances = np.where(distances < 1e-9, np.inf, distances)
        signs = np.where(charges == charges[:, None], 1, -1)
        cut = np.square(np.maximum(1 - distances / 6, 0))
        energy = (2.2 / distances) ** 6 + signs * cut * 3 / distances
        energies.append(energy.sum() / 6)
        rows.append(np.concatenate([cell.ravel(), positions.ravel(), charges]))
    return np.array(rows), np.array(energies)
