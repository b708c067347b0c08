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


def _balanced(rng: Rng, n: int, n_kinds: int) -> Array:
    """Kinds of n points, about as many of each, in random order."""
    kinds = np.arange(n) % n_kinds
    return rng.permutation(kinds)


def _in_unit_rows(rows: Array) -> Array:
    """Rows divided by their norms."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def signals_on_a_sphere(rng: Rng, n: int) -> tuple[Array, Array]:
    """Rotated functions of six kinds, as 25 coefficients; kinds differ in phases, not in power."""
    y = _balanced(rng, n, 6)
    prototypes = rng.standard_normal((6, 25))
    for degree in range(5):
        columns = slice(degree**2, (degree + 1) ** 2)
        block = prototypes[:, columns]
        power = sqrt(2 * degree + 1)
        block *= power / np.linalg.norm(block, axis=1, keepdims=True)
    prototypes[:, 0] = 1
    noise = rng.standard_normal((n, 25))
    X = prototypes[y] + 0.5 * noise
    group = SphericalCoefficients(4)
    group_seed = int(rng.integers(2**31))
    rotations = group.sample(n, group_seed)
    rotated = []
    for rotation, x in zip(rotations, X, strict=True):
        image = group.act(rotation[None], x[None])
        rotated.append(image[0, 0])
    return np.array(rotated) / 5, y


def galaxies(rng: Rng, n: int, size: int = 24) -> tuple[Array, Array]:
    """Noisy images (n, size^2) of five kinds, at any angle, and their mirror images."""
    y = _balanced(rng, n, 5)
    pixels = np.arange(size) - (size - 1) / 2
    across, down = np.meshgrid(pixels, pixels)
    radius = np.hypot(across, down)
    angle = np.arctan2(down, across)
    images = []
    for kind in y:
        image = _galaxy(rng, kind, radius, angle)
        image = image / np.linalg.norm(image)
        noise = rng.standard_normal(size**2)
        images.append(image.ravel() + 0.06 * noise)
    return np.array(images), y


def _galaxy(rng: Rng, kind: int, radius: Array, angle: Array) -> Array:
    """An ellipse, a bar in a disk, or spirals of one, two or three arms, in polar coordinates."""
    mirror = rng.choice([-1, 1])
    turn = rng.uniform(0, 2 * np.pi)
    turned = mirror * (angle - turn)
    scale = rng.uniform(3, 5)
    disk = np.exp(-radius / scale)
    tightness = rng.uniform(2, 4)
    if kind == 0:
        squeezed = np.cos(turned) ** 2 + 3 * np.sin(turned) ** 2
        return np.exp(-radius * np.sqrt(squeezed) / 4)
    if kind == 1:
        distance = radius * np.sin(turned)
        bar = np.exp(-(distance**2) / 4)
        bar = bar * (radius < 9)
        return 0.7 * bar + disk
    n_arms = kind - 1
    winding = tightness * np.log(radius + 1)
    arms = np.cos(n_arms * (turned - winding))
    return disk * (1 + arms)


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
    y = _balanced(rng, n, 8)
    X = np.empty((n, 12))
    for x, kind in zip(X, y, strict=True):
        x[:] = 0.15 * rng.exponential(size=12)
        for note in CHORDS[kind]:
            loudness = rng.lognormal(0, 0.3)
            overtone = (note + 7) % 12
            x[note] += loudness
            x[overtone] += 0.25 * loudness
        key = rng.integers(12)
        x[:] = np.roll(x, key)
    return _in_unit_rows(X), y


def _on_solid(rng: Rng, kind: int, n_points: int) -> Array:
    """Points on a box, a cylinder, a cone, an ellipsoid or a ring, shape (n_points, 3)."""
    angle = rng.uniform(0, 2 * np.pi, n_points)
    height = rng.uniform(-1, 1, n_points)
    if kind == 0:
        points = rng.uniform(-1, 1, (n_points, 3))
        axis = rng.integers(3, size=n_points)
        side = rng.choice([-1, 1], n_points)
        points[np.arange(n_points), axis] = side
        return points
    if kind == 1:
        radius = np.ones(n_points)
        is_lid = rng.random(n_points) < 1 / 3
        n_on_lids = is_lid.sum()
        radius[is_lid] = np.sqrt(rng.random(n_on_lids))
        height[is_lid] = rng.choice([-1, 1], n_on_lids)
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
    x = radius * np.cos(angle)
    y = radius * np.sin(angle)
    return np.stack([x, y, height], axis=1)


def solids(rng: Rng, n: int, upright: bool = False) -> tuple[Array, Array]:
    """Sets of 32 points on five kinds of solids, at any orientation or turned about z only."""
    y = _balanced(rng, n, 5)
    sets = np.empty((n, 32, 3))
    for i, kind in enumerate(y):
        points = _on_solid(rng, kind, 32)
        points = points * rng.uniform(0.75, 1.3, 3)
        noise = rng.standard_normal((32, 3))
        points = points + 0.05 * noise
        points = points - points.mean(axis=0)
        squares = np.square(points).sum(axis=1)
        sets[i] = points / np.sqrt(squares.mean())
    if upright:
        rotations = _turns_about_z(rng.uniform(0, 2 * np.pi, n))
    else:
        group_seed = int(rng.integers(2**31))
        rotations = Rotations3D().sample(n, group_seed)
    return np.einsum("nij,nkj->nki", rotations, sets), y


def _turns_about_z(angles: Array) -> Array:
    """Rotation matrices about the third axis, shape (n, 3, 3)."""
    matrices = np.zeros((len(angles), 3, 3))
    matrices[:, 0, 0] = np.cos(angles)
    matrices[:, 0, 1] = -np.sin(angles)
    matrices[:, 1, 0] = np.sin(angles)
    matrices[:, 1, 1] = np.cos(angles)
    matrices[:, 2, 2] = 1
    return matrices


def pairs(rng: Rng, n: int) -> tuple[Array, Array]:
    """Four pairs of numbers whose order does not matter, one after the other."""
    X = rng.uniform(-1, 1, (n, 8))
    first, second = X.reshape(n, 4, 2).swapaxes(0, 2)
    products = np.sin(2 * first) * second
    spread = np.std(first + second, axis=0)
    square = np.square(np.mean(first, axis=0))
    return X, np.mean(products, axis=0) + 0.5 * spread + square


def assets(rng: Rng, n: int) -> tuple[Array, Array]:
    """Six exchangeable assets with three numbers each, then four numbers of the market."""
    X = rng.standard_normal((n, 22))
    numbers = X[:, :18].reshape(n, 6, 3)
    market = X[:, 18:]
    products = np.einsum("nak,nk->na", numbers, market[:, :3])
    exposure = np.tanh(products)
    shock = np.maximum(numbers[:, :, 0] * market[:, 3:], 0)
    return X, exposure.mean(axis=1) + 0.5 * shock.mean(axis=1)


@cache
def hexagon(radius: int = 6) -> tuple[Array, Array]:
    """Positions of a camera's pixels, and the permutations of a turn by 60 degrees and a mirror."""
    steps = range(-radius, radius + 1)
    cells = []
    for q, r in product(steps, steps):
        if abs(q + r) <= radius:
            cells.append((q, r))
    numbers = {cell: number for number, cell in enumerate(cells)}
    turn = [numbers[-r, q + r] for q, r in cells]
    mirror = [numbers[r, q] for q, r in cells]
    q, r = np.transpose(cells)
    x = q + r / 2
    y = r * sqrt(3) / 2
    return np.stack([x, y], axis=1), np.array([turn, mirror])


def showers(rng: Rng, n: int) -> tuple[Array, Array]:
    """Images of 127 hexagonal pixels: a smooth shower, a patchy one, or an arc of a ring."""
    positions, _ = hexagon()
    y = _balanced(rng, n, 3)
    images = []
    for kind in y:
        light = _shower(rng, kind, positions)
        photons = rng.poisson(12 * light + 0.5)
        images.append(np.sqrt(photons))
    return _in_unit_rows(np.array(images)), y


def _shower(rng: Rng, kind: int, positions: Array) -> Array:
    """Light of a shower without noise, one number for each position."""
    angle = rng.uniform(0, 2 * np.pi)
    axis = np.array([np.cos(angle), np.sin(angle)])
    normal = np.array([-axis[1], axis[0]])
    along = (positions - rng.normal(0, 1.5, 2)) @ axis
    across = (positions - rng.normal(0, 1.0, 2)) @ normal
    if kind == 2:
        ring_radius = rng.uniform(2.5, 4)
        distances = np.hypot(along, across)
        ring = np.exp(-np.square((distances - ring_radius) / 0.8) / 2)
        least_angle = -rng.uniform(0, 2)
        return ring * (np.arctan2(across, along) > least_angle)
    length = rng.uniform(2, 3)
    light = np.exp(-np.square(along / length) / 2 - np.square(across / 0.9) / 2)
    if kind == 1:
        for _ in range(2):
            place = rng.normal(0, 1.5) * axis
            place = place + rng.normal(0, 1.5, 2)
            distances = np.linalg.norm(positions - place, axis=1)
            patch = np.exp(-np.square(distances / 1.2) / 2)
            light = 0.6 * light + 0.6 * patch
    return light


#: The cells of the rows, columns and diagonals of a board of three by three.
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

Board = tuple[int, ...]  # cells hold 1 for X, -1 for O, else 0


def _winner(board: Board) -> int:
    """The player who has a line: 1 for X, -1 for O, or 0."""
    for a, b, c in LINES:
        total = board[a] + board[b] + board[c]
        if abs(total) == 3:
            return board[a]
    return 0


def _after_a_move(board: Board) -> list[Board]:
    """The boards that one more move can make. X begins."""
    mover = 1 if sum(board) == 0 else -1
    boards_after = []
    for cell in range(9):
        if board[cell] == 0:
            boards_after.append((*board[:cell], mover, *board[cell + 1 :]))
    return boards_after


@cache
def value_of_board(board: Board) -> int:
    """The result for X under perfect play: 1, 0 or -1."""
    winner = _winner(board)
    if winner or 0 not in board:
        return winner
    values = [value_of_board(after) for after in _after_a_move(board)]
    if sum(board) == 0:
        return max(values)
    return min(values)


@cache
def boards() -> tuple[Array, Array]:
    """One board of each orbit of the square's symmetries that legal play can reach, and values."""
    squares = np.arange(9).reshape(3, 3)
    views = []
    for side in (squares, squares.T):
        views += [np.rot90(side, k).ravel() for k in range(4)]
    seen = set()
    waiting = [(0,) * 9]
    while waiting:
        board = waiting.pop()
        smallest = min(tuple(board[cell] for cell in view) for view in views)
        if smallest in seen:
            continue
        seen.add(smallest)
        if not _winner(smallest):
            waiting += _after_a_move(smallest)
    unfinished = []
    for board in sorted(seen):
        if 0 in board and not _winner(board):
            unfinished.append(board)
    values = [value_of_board(board) for board in unfinished]
    return np.array(unfinished), np.array(values)


def positions_of_play(rng: Rng, n: int) -> tuple[Array, Array]:
    """Boards in any of eight views, cells as two columns (X, O); each orbit occurs once."""
    orbits, values = boards()
    chosen = rng.permutation(len(orbits))[:n]
    squares = orbits[chosen].reshape(-1, 3, 3)
    turned = [np.rot90(board, rng.integers(4)) for board in squares]
    views = []
    for board in turned:
        is_mirrored = rng.random() >= 0.5
        views.append(board.T if is_mirrored else board)
    cells = np.reshape(views, (-1, 9, 1))
    players = cells == [1, -1]
    return players.reshape(len(cells), 18).astype(float), values[chosen]


def strands(rng: Rng, n: int, length: int = 60) -> tuple[Array, Array]:
    """Sequences of four letters, one-hot (n, 4 * length); half have a motif, on either strand."""
    y = _balanced(rng, n, 2)
    motif = rng.integers(4, size=10)
    letters = rng.integers(4, size=(n, length))
    for row, has_motif in zip(letters, y, strict=True):
        if has_motif:
            is_error = rng.random(10) < 0.12
            errors = rng.integers(4, size=10)
            copy = np.where(is_error, errors, motif)
            if rng.random() < 0.5:
                copy = 3 - copy[::-1]  # the reverse complement of A, C, G, T
            place = rng.integers(length - 10)
            row[place : place + 10] = copy
    one_hot = np.eye(4)[letters]
    return one_hot.reshape(n, -1), y


#: Six places in a cell, in units of its edges.
_PLACES = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1]]) / 2


def crystals(rng: Rng, n: int) -> tuple[Array, Array]:
    """Cells of six atoms of two elements, and their energies per atom.

    A row has the 9 numbers of the cell, 18 of the positions and 6 charges.
    """
    rows = []
    energies = []
    for _ in range(n):
        lengths = rng.uniform(4.5, 5.5, 3)
        skewness = rng.standard_normal((3, 3))
        cell = np.diag(lengths) + 0.3 * skewness
        noise = rng.standard_normal((6, 3))
        shift = rng.random(3)
        places = _PLACES + 0.04 * noise + shift
        positions = places @ cell
        charges = rng.permutation([11, 11, 11, 17, 17, 17])
        energies.append(_energy(cell, positions, charges) / 6)
        rows.append(np.concatenate([cell.ravel(), positions.ravel(), charges]))
    return np.array(rows), np.array(energies)


def _energy(cell: Array, positions: Array, charges: Array) -> float:
    """Sum over all pairs of atoms within 6 angstroms, images of the cell among them."""
    steps = np.array(list(product((-2, -1, 0, 1, 2), repeat=3)))
    shifts = steps @ cell
    vectors = positions - positions[:, None] + shifts[:, None, None]
    distances = np.linalg.norm(vectors, axis=3)
    distances[distances < 1e-9] = np.inf  # an atom and itself
    signs = np.where(charges == charges[:, None], 1, -1)
    cut = np.square(np.maximum(1 - distances / 6, 0))
    repulsion = (2.2 / distances) ** 6
    attraction = signs * cut * 3 / distances
    return float(np.sum(repulsion + attraction))
