"""Random objects, groups and data, compared with definitions in extended precision.

    python tests/slow_checks/fuzz_numbers.py [seed] [n_cases]
    python tests/slow_checks/fuzz_numbers.py SEED --case INDEX     # one case again, with its data

A case is an object (kernel, feature map, learner, projection), a group and points: ties,
duplicates, clusters, offsets of up to 1e9, scales of 1e-8 to 1e8, single precision, one point, one
feature. The result must agree with the definition and be finite, invariant, symmetric, and positive
semi-definite if the object claims it. An object may raise a ValueError that names the remedy, or
warn with the size of the error; it may not return a wrong number silently.

**Tolerances** are first-order bounds on the effect of rounding the points,

    C u (V + S |grad|),   C = 2 (d + 4),

with u the machine epsilon of the points' type, V the largest value, S the largest norm of a point
and |grad| the largest slope of the base kernel (for a Gaussian sqrt(2 gamma / e), not gamma S: the
cancellation in |x|^2 + |z|^2 - 2 <x, z> does not count). In single precision, kernels of distances
may add the 1e-5 that `invariance.orbits` documents. Averages over infinite groups may add their
``tolerance``, relative to the largest value. Predictions of learners may change as much as a
relative change of the Gram matrix by C u changes them, which depends on alpha and is computed from
the exact solution.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

from invariance import beyond, features, groups, kernels, linear, spectral

sys.path.insert(0, str(Path(__file__).parent))
import exact_definitions as exact
from exact_definitions import Action, Base, Long, Turns, extended

Array = np.ndarray

SCRIPT = "tests/slow_checks/fuzz_numbers.py"
PACKAGE = Path(groups.__file__).parents[1]
#: Words in warnings about a loss of accuracy; such a warning excuses the loss.
LOSS = re.compile(r"error|depart|differ|digit|precis|accura|rounding|lose|invarian|negative", re.I)
#: Error of kernels of distances in single precision, as `invariance.orbits` documents it.
SINGLE = 1e-5
#: Errors that may name a remedy; all other errors are crashes.
REFUSALS = (ValueError, TypeError)
CRASHES = (np.linalg.LinAlgError, UnicodeError)


#: Messages that do not come from the package and name no remedy.
FOREIGN_WORDS = re.compile(r"truth value|matmul|broadcast|Incompatible dimension|core dimension")

#: Seconds after which a case is stopped.
PATIENCE = 8.0


class Impatience(BaseException):
    """A case takes too long; no handler in the package catches this exception."""


class Skip(Exception):
    """A case that cannot be judged because the definition is not accurate enough."""


@dataclass
class Case:
    """One case: its object, its data, and its failures."""

    seed: int
    index: int
    target: str = ""
    group: str = "-"
    data: str = ""
    described: list[str] = field(default_factory=list)
    failures: list[tuple[str, float, str]] = field(default_factory=list)  # property, excess, detail
    refused: str = ""
    skipped: str = ""
    #: Whether the exact result is known, so that a refusal is a failure.
    answerable: bool = False
    warned: list[str] = field(default_factory=list)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.index])

    def fail(self, name: str, excess: float = 1.0, detail: str = "") -> None:
        self.failures.append((name, float(excess), detail))

    def close(self, name: str, answer: Any, due: Any, tolerance: Any) -> None:
        """Record a failure if ``answer`` differs from ``due`` by more than the tolerance."""
        answer = extended(answer)
        due = extended(due)
        if answer.shape != due.shape:
            self.fail(name, np.inf, f"shape {answer.shape}, not {due.shape}")
            return
        if not answer.size:
            return
        if not np.isfinite(answer).all():
            self.fail(f"{name}: not finite", np.inf, "NaN or infinity")
            return
        gap = np.abs(answer - due)
        excess = gap / np.maximum(np.broadcast_to(extended(tolerance), gap.shape), Long(1e-4000))
        worst = np.unravel_index(int(np.argmax(excess)), gap.shape)
        if excess[worst] > 1:
            numbers = f"{float(answer[worst]):.10g}, not {float(due[worst]):.10g}"
            allowed = float(np.broadcast_to(extended(tolerance), gap.shape)[worst])
            self.fail(name, float(excess[worst]), f"{numbers}; {allowed:.1e} allowed")


# -- points ----------------------------------------------------------------------------------------


def _clusters(rng: np.random.Generator, n: int, d: int) -> Array:
    centres = 10.0 ** rng.uniform(2, 6) * rng.choice([-1.0, 1.0], (2, d))
    return centres[np.arange(n) % 2] + rng.standard_normal((n, d))


def _outliers(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[::2] *= 10.0 ** rng.uniform(1, 3)
    return X


def _zero_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[:: max(1, n // 2)] = 0
    return X


def _duplicates(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))[np.arange(n) % max(1, n // 2)]


KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "signs": lambda rng, n, d: rng.choice([-1.0, 1.0], (n, d)),
    "one-hot": lambda rng, n, d: np.eye(d)[rng.integers(0, d, n)],
    "integers": lambda rng, n, d: rng.integers(0, 4, (n, d)).astype(float),
    "constant rows": lambda rng, n, d: np.repeat(rng.standard_normal((n, 1)), d, axis=1),
    "tenths": lambda rng, n, d: np.full((n, d), 0.1) * rng.integers(0, 3, (n, 1)),
    "zero rows": _zero_rows,
    "duplicates": _duplicates,
    "clusters": _clusters,
    "outliers": _outliers,
    "nearly equal": lambda rng, n, d: (
        rng.standard_normal((1, d)) + 10.0 ** rng.uniform(-9, -3) * rng.standard_normal((n, d))
    ),
    "zero sums": lambda rng, n, d: (lambda X: X - X.mean(1, keepdims=True))(
        rng.standard_normal((n, d))
    ),
}
#: Kinds that are drawn more often are listed several times.
DRAWN = [*KINDS, "normal", "normal", "normal", "duplicates", "signs"]


def points(case: Case, rng: np.random.Generator, n: int, d: int, plain: bool = False) -> Array:
    """Points (n, d) of a random kind, position, scale and type, described in the case."""
    kind = "normal" if plain else str(rng.choice(DRAWN))
    X = KINDS[kind](rng, n, d)
    place = ""
    dtype = np.float64
    if not plain:
        draw = rng.random()
        size = 10.0 ** rng.uniform(1, 9)
        if draw < 0.15:
            X = X + size
            place = "offset"
        elif draw < 0.25:
            column = int(rng.integers(0, d))
            X[:, column] += size
            place = "offset column"
        elif draw < 0.30:
            X[:, int(rng.integers(0, d))] *= min(size, 1e4)
            place = "wide column"
        elif draw < 0.40:
            X = X * 10.0 ** rng.uniform(-8, 8)
            place = "scaled"
        elif draw < 0.42:
            X = X * 10.0 ** float(rng.choice([-170, -150, -30, 30]))
            place = "extreme"
        if rng.random() < 0.25:
            dtype = np.float32
    tie = kind not in ("normal", "uniform", "zero sums")
    label = [place or ("ties and clusters" if tie else "plain")]
    if dtype == np.float32:
        label.append("float32")
    case.data = case.data or ", ".join(label)
    with np.errstate(over="ignore", under="ignore"):
        X = X.astype(dtype)
    if not np.isfinite(X).all():
        X = np.zeros((n, d), dtype)
    case.described.append(f"{kind} {place} {np.dtype(dtype).name} {X.shape}")
    return X


def other_points(case: Case, rng: np.random.Generator, X: Array, action: Action | None) -> Any:
    """Second points: None, X itself, a copy, transformed points, or near or far points."""
    draw = rng.random()
    n, d = X.shape
    if draw < 0.35:
        return None
    if draw < 0.42:
        return X
    if draw < 0.5:
        return X.copy()
    if draw < 0.65 and action is not None and action.maps.shape[1] == d:
        g = action.group.sample(1, int(rng.integers(1000)))
        return np.asarray(action.group.act(g, X)[0].reshape(X.shape), X.dtype)
    if draw < 0.85:
        spread = (X - X[rng.permutation(n)]).astype(X.dtype)
        return X[rng.integers(0, n, 3)] + spread[rng.integers(0, n, 3)] / X.dtype.type(2)
    if draw < 0.9:  # near the first points, with many far points that hide the near ones
        far = rng.standard_normal((7, d)) * 1e3 * float(np.abs(X).max() or 1)
        return np.concatenate([X, far]).astype(X.dtype)
    if draw < 0.95:
        return np.concatenate([X, X[:1] + (10 * np.abs(X).max() or 1)]).astype(X.dtype)
    return points(case, rng, int(rng.integers(1, 5)), d, plain=True)


def norms(*arrays: Any) -> Any:
    """The largest norm of a point."""
    return max(np.sqrt(np.square(extended(A)).sum(axis=1)).max() for A in arrays if A is not None)


def unit(*arrays: Any) -> Long:
    """Machine epsilon of the coarsest type; each array is transformed in its own type."""
    return Long(max(np.finfo(A.dtype).eps for A in arrays if A is not None))


def typical(X: Array) -> float:
    """The median squared distance of different points, or their squared size."""
    apart = exact.squares(extended(X), extended(X))
    apart = apart[apart > 1e-12 * max(apart.max(), Long(1e-4000))]
    if len(apart):
        return float(np.median(apart))
    return float(np.square(extended(X)).sum(axis=1).max()) or 1.0


def parameter(value: Any) -> float:
    """A positive number that is valid for every parameter."""
    return float(np.clip(value, Long(1e-140), Long(1e140)))


def bandwidth(rng: np.random.Generator, X: Array) -> float:
    """A gamma for which a Gaussian of the points is neither zero nor one."""
    gamma = float(rng.choice([0.05, 0.5, 0.5, 5.0])) / max(typical(X), 1e-280)
    return parameter(gamma)


# -- groups ----------------------------------------------------------------------------------------


def _listed(name: str, group: Any, d: int, **options: Any) -> Action:
    """Sets of linear maps without a formula, such as interpolations, from their action."""
    maps = extended(group.act(group.elements(), np.eye(d)).swapaxes(1, 2))
    weights = group.weights()
    options = {"unitary": False, "is_group": False} | options
    return Action(name, group, d, maps, None if weights is None else extended(weights), **options)


def _turned(n: int, d: int) -> tuple[Array, Array]:
    """Generators of the symmetries of an n-gon, in random orthonormal coordinates."""
    Q = np.linalg.qr(np.random.default_rng(n).standard_normal((d, d)))[0]
    turn = np.eye(d)
    turn[:2, :2] = exact.plane_turns(extended([2 * exact.PI / n]))[0].astype(float)
    flip = np.diag([1.0, -1.0, *np.ones(d - 2)])
    return Q @ turn @ Q.T, Q @ flip @ Q.T


def _finite_actions() -> Iterator[Action]:
    E = exact
    G = groups
    yield Action("CyclicShifts(4)", G.CyclicShifts(4), 4, E.cyclic(4))
    yield Action("CyclicShifts(1)", G.CyclicShifts(1), 1, E.cyclic(1))
    yield Action("CyclicShifts(3, block=2)", G.CyclicShifts(3, block=2), 6, E.cyclic(3, 2))
    both = E.together(E.cyclic(3, 2), E.on_each(E.symmetric(2), 3))
    group = G.CyclicShifts(3, block=2).times(G.Permutations(2).on_each(3))
    yield Action("CyclicShifts(3, block=2).times(Permutations(2).on_each(3))", group, 6, both)
    group = G.CyclicShifts(3).times(G.Negation())
    yield Action(
        "CyclicShifts(3).times(Negation())", group, 3, E.together(E.cyclic(3), E.negation(3))
    )
    yield Action("Permutations(4)", G.Permutations(4), 4, E.symmetric(4))
    yield Action("Permutations(3, block=2)", G.Permutations(3, block=2), 6, E.symmetric(3, 2))
    lines = [[1, 0, 2, 3], [0, 1, 3, 2]]
    four = E.generated(E.of_orders(lines))
    yield Action("GeneratedPermutations", G.GeneratedPermutations(lines), 4, four)
    yield Action("SignFlips(3)", G.SignFlips(3), 3, E.sign_changes(3))
    yield Action("SignFlips(1)", G.SignFlips(1), 1, E.sign_changes(1))
    yield Action("Negation()", G.Negation(), 3, E.negation(3))
    signed = E.together(E.symmetric(3), E.sign_changes(3))
    yield Action("SignedPermutations(3)", G.SignedPermutations(3), 3, signed)
    group = G.DirectProduct([G.CyclicShifts(3), G.SignFlips(2)])
    yield Action("DirectProduct", group, 5, E.side_by_side(E.cyclic(3), E.sign_changes(2)))
    group = G.Permutations(3).on_columns([0, 2, 3])
    yield Action("Permutations(3).on_columns", group, 5, E.on_columns(E.symmetric(3), [0, 2, 3], 5))
    group = G.SignFlips(2).on_columns([0, 2])
    yield Action("SignFlips(2).on_columns", group, 4, E.on_columns(E.sign_changes(2), [0, 2], 4))
    inner = E.side_by_side(E.symmetric(2, 2), E.symmetric(2, 2))
    group = beyond.Wreath(G.Permutations(2), G.Permutations(2), block=2)
    yield Action("Wreath", group, 8, E.together(inner, E.symmetric(2, 4)))
    group = G.CyclicShifts(3).then(G.SignFlips(3))
    yield Action(
        "CyclicShifts(3).then(SignFlips(3))", group, 3, E.together(E.cyclic(3), E.sign_changes(3))
    )
    turns = E.plane_turns(E.equal_angles(6))
    yield Action("PlaneRotations(6)", beyond.PlaneRotations(6), 4, E.on_each(turns, 2))
    flip = G.OnPoints(G.OrthogonalMatrices([[[1, 0], [0, -1]]]), 2)
    flips = E.on_each(extended([np.eye(2), [[1, 0], [0, -1]]]), 2)
    turns = E.on_each(E.plane_turns(E.equal_angles(4)), 2)
    group = beyond.PlaneRotations(4).then(flip)
    yield Action("PlaneRotations(4).then(reflection)", group, 4, E.together(turns, flips))
    quarter = [[0.0, -1.0], [1.0, 0.0]]
    yield Action(
        "OrthogonalMatrices(quarter)",
        G.OrthogonalMatrices([quarter]),
        2,
        E.generated(extended([quarter])),
    )
    cube = [[[0.0, -1, 0], [1, 0, 0], [0, 0, 1]], [[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]]
    yield Action(
        "OrthogonalMatrices(cube)", G.OrthogonalMatrices(cube), 3, E.generated(extended(cube))
    )
    for n, d in ((5, 2), (3, 3)):
        generators = np.array(_turned(n, d))
        maps = E.generated(extended(generators))
        yield Action(
            f"OrthogonalMatrices({n}-gon, turned)", G.OrthogonalMatrices(generators), d, maps
        )
    nodes = Turns("circle", (0, 1, 2, 3, 4), 5, (0, 1, 1, 2, 2)).rule(8)[0]
    yield Action("CircleAction(n_nodes=8)", G.CircleAction([0, 1, 1, 2, 2], n_nodes=8), 5, nodes)
    nodes = Turns("circle", (0, 1, 2), 3, (0, 1, 1)).rule(8)[0]
    group = G.CircleAction([0, 1, 1], n_nodes=8).then(G.SignFlips(3))
    maps = E.together(nodes, E.sign_changes(3))
    name = "CircleAction(n_nodes=8).then(SignFlips(3))"
    yield Action(name, group, 3, maps, is_group=False)
    group = G.OnPoints(G.SignFlips(2), 3, coordinates=(1, 2))
    flips = E.on_each(E.on_columns(E.sign_changes(2), [1, 2], 3), 2)
    yield Action("OnPoints(SignFlips(2))", group, 6, flips)
    conjugate = extended([np.kron(P, P) for P in E.symmetric(3)])
    yield Action("AtomPermutations(3)", G.AtomPermutations(3), 9, conjugate, coulomb=3)
    down = E.on_columns(E.cyclic(2, 3), range(6), 6)
    across = E.on_each(E.cyclic(3), 2)
    yield Action(
        "CyclicTranslations((2, 3))", G.CyclicTranslations((2, 3)), 6, E.together(down, across)
    )
    group = G.CyclicTranslations((2, 3), axes=(1,))
    yield Action("CyclicTranslations(axes=(1,))", group, 6, across)
    yield from _sets()


def _sets() -> Iterator[Action]:
    """Finite sets that are not groups."""
    G = groups
    cyclic = {"unitary": True}
    yield _listed(
        "Translations((3, 3), 1)", G.Translations((3, 3), 1), 9, unitary=True, is_group=True
    )
    yield _listed(
        "Translations(5, shifts)", G.Translations(5, shifts=[[0, 0], [0, 1], [0, 2]]), 5, **cyclic
    )
    yield _listed("Translations(5, 2, zero)", G.Translations(5, 2, boundary="zero"), 5)
    yield _listed("Translations((2, 3), 1, zero)", G.Translations((2, 3), 1, boundary="zero"), 6)
    quarters = {"unitary": True, "is_group": True}
    yield _listed(
        "Rotations(quarters)", G.Rotations((3, 3), degrees=[0, 90, 180, 270]), 9, **quarters
    )
    yield _listed("Rotations(degrees)", G.Rotations((3, 3), degrees=[-20, 0, 20]), 9)
    group = G.Rotations((3, 3), degrees=[-20, 0, 20], density=G.VonMises(2.0))
    yield _listed("Rotations(degrees, density)", group, 9)
    maps = G.affine_maps(factor=[0.8, 1, 1.25], shift=(0.5, 0))
    yield _listed("Affine(maps)", G.Affine((3, 3), maps=maps), 9)
    group = G.Rotations((3, 3), degrees=[-9, 0, 9]).then(G.Translations((3, 3), 1))
    yield _listed("Rotations.then(Translations)", group, 9)
    maps = [[[1.0, 0], [0, 1]], [[0.8, 0.1], [0, 1]]]
    yield _listed("LinearMaps", G.LinearMaps(maps), 2)
    group = G.CyclicShifts(3).then(G.LinearMaps([[[1.0, 0, 0], [0, 2.0, 1]]]))
    yield _listed("CyclicShifts(3).then(LinearMaps)", group, 3)
    steps = np.array([[0.5 * i, 2 * j / 3] for i in range(4) for j in range(3)])
    still = np.tile(np.eye(2, dtype=Long), (12, 1, 1))
    shifts = extended(steps)
    shifts[:, 1] = 2 * (np.arange(12) % 3).astype(Long) / 3
    torus = Action(
        "TorusTranslations([4, 3])", G.TorusTranslations([4, 3]), 2, still, shifts=shifts
    )
    torus.unitary = False
    yield torus


def _infinite_actions() -> Iterator[Action]:
    E = exact
    G = groups

    def made(name: str, group: Any, turns: Turns, maps: Any = None, **options: Any) -> Action:
        maps = np.eye(turns.d, dtype=Long)[None] if maps is None else maps
        return Action(name, group, turns.d, maps, turns=turns, **options)

    plane = Turns("plane", (0, 1, 2, 3), 4)
    yield made("PlaneRotations()", beyond.PlaneRotations(), plane)
    yield made(
        "PlaneRotations().then(Negation())",
        beyond.PlaneRotations().then(G.Negation()),
        plane,
        E.negation(4),
        maps_first=False,
    )
    yield made(
        "Negation().then(PlaneRotations())",
        G.Negation().then(beyond.PlaneRotations()),
        plane,
        E.negation(4),
    )
    flips = E.on_each(extended([np.eye(2), [[1, 0], [0, -1]]]), 2)
    flip = G.OnPoints(G.OrthogonalMatrices([[[1, 0], [0, -1]]]), 2)
    yield made(
        "PlaneRotations().then(reflection)",
        beyond.PlaneRotations().then(flip),
        plane,
        flips,
        maps_first=False,
    )
    three = Turns("plane", (0, 1, 2, 3, 4, 5), 6)
    group = G.CyclicShifts(3, block=2).then(beyond.PlaneRotations())
    yield made("CyclicShifts(3, block=2).then(PlaneRotations())", group, three, E.cyclic(3, 2))
    group = G.CyclicShifts(3, block=2).times(beyond.PlaneRotations())
    yield made("CyclicShifts(3, block=2).times(PlaneRotations())", group, three, E.cyclic(3, 2))
    for columns in ((0, 1), (0, 2)):
        group = beyond.PlaneRotations().on_columns(list(columns))
        yield made(f"PlaneRotations().on_columns({columns})", group, Turns("plane", columns, 3))
    space = Turns("space", (0, 1, 2), 3)
    yield made("Rotations3D()", beyond.Rotations3D(), space)
    pair = Turns("space", tuple(range(6)), 6)
    yield made("Rotations3D(), two points", beyond.Rotations3D(), pair)
    yield made(
        "Rotations3D().then(Negation())",
        beyond.Rotations3D().then(G.Negation()),
        space,
        E.negation(3),
        maps_first=False,
    )
    yield made(
        "Rotations3D().on_columns",
        beyond.Rotations3D().on_columns([0, 1, 2]),
        Turns("space", (0, 1, 2), 4),
    )
    group = G.CyclicShifts(2, block=3).then(beyond.Rotations3D())
    yield made("CyclicShifts(2, block=3).then(Rotations3D())", group, pair, E.cyclic(2, 3))
    group = G.OnPoints(beyond.Rotations3D(), 4, coordinates=(1, 2, 3))
    yield made("OnPoints(Rotations3D())", group, Turns("space", (1, 2, 3), 4))
    circle = Turns("circle", (0, 1, 2, 3, 4), 5, (0, 1, 1, 2, 2))
    yield made("CircleAction", G.CircleAction([0, 1, 1, 2, 2]), circle)
    fast = Turns("circle", (0, 1, 2, 3), 4, (1, 1, 5, 5))
    yield made("CircleAction([1, 1, 5, 5])", G.CircleAction([1, 1, 5, 5]), fast)
    density = G.VonMises(2.0)
    weighted = Turns("circle", (0, 1, 2, 3, 4), 5, (0, 1, 1, 2, 2), density.pdf)
    group = G.CircleAction([0, 1, 1, 2, 2], density)
    yield made("CircleAction(VonMises)", group, weighted, is_group=False)
    screw = Turns("circle", tuple(range(4)), 4, (1, 1, 1, 1))
    yield made(
        "OnPoints(CircleAction([1] * 4), 4)", G.OnPoints(G.CircleAction([1, 1, 1, 1]), 4), screw
    )
    group = G.CircleAction([1, 1, 2, 2]).then(G.Negation())
    yield made(
        "CircleAction.then(Negation())",
        group,
        Turns("circle", (0, 1, 2, 3), 4, (1, 1, 2, 2)),
        E.negation(4),
        maps_first=False,
    )


@cache
def actions(kind: str) -> tuple[Action, ...]:
    made = tuple(_finite_actions() if kind == "finite" else _infinite_actions())
    for action in made:
        if action.maps.shape[1] == action.d:
            still = np.abs(action.fixed() - np.eye(action.d)) > 1e-9
            action.active_columns = np.flatnonzero(still.any(axis=1)).tolist()
    return made


def an_action(rng: np.random.Generator, infinite: float = 0.35) -> Action:
    among = actions("infinite" if rng.random() < infinite else "finite")
    return among[int(rng.integers(len(among)))]


def points_for(case: Case, rng: np.random.Generator, action: Action, n: int = 0) -> Array:
    n = n or int(rng.choice([1, 2, 3, 5, 7], p=[0.1, 0.15, 0.3, 0.3, 0.15]))
    X = points(case, rng, n, action.d)
    if action.coulomb:
        A = X.reshape(n, action.coulomb, action.coulomb)
        X = (A + A.swapaxes(1, 2)).reshape(n, -1)
    return X


def a_base(rng: np.random.Generator, X: Array, d: int, name: str = "") -> Base:
    """A base kernel whose parameters suit the points."""
    name = name or str(rng.choice(["gaussian"] * 5 + ["laplacian", "polynomial", "linear", "cdf"]))
    S = float(norms(X)) or 1.0
    if name == "gaussian":
        return exact.gaussian(kernels.Gaussian(bandwidth(rng, X)))
    if name == "laplacian":
        return exact.laplacian(kernels.Laplacian(parameter(bandwidth(rng, X) ** 0.5)))
    if name == "polynomial":
        degree = int(rng.integers(1, 6))
        coef0 = float(rng.choice([0.0, 0.5, 1.0, -0.5]))
        gamma = parameter(1 / Long(S) ** 2)
        return exact.polynomial(kernels.Polynomial(degree, gamma, coef0=coef0))
    if name == "linear":
        return exact.linear(kernels.Linear())
    kernel = kernels.CDF(0.2, radius=parameter(S), truncated=bool(rng.integers(2)))
    return exact.cdf(kernel, d)


# -- checks of kernels -----------------------------------------------------------------------------


def rounding_of(base: Base, d: int, *arrays: Any) -> Any:
    """Bound on the effect of rounding the points on a value; see the top of this file."""
    u = unit(*arrays)
    S = norms(*arrays)
    size = base.size(S)
    allowed = 2 * (d + 4) * u * (size + S * base.slope(S, d)) + np.finfo(np.float64).tiny
    if base.of_distance and u > 1e-10:
        allowed = allowed + SINGLE * size
    return allowed


def rounding_of_moved(base: Base, d: int, *arrays: Any, turned: bool = False) -> Any:
    """`rounding_of` for a kernel of points that a group may transform onto each other.

    Distances of transformed points come from inner products alone: |x - g z|^2 has the rounding
    error of |x|^2, and a kernel of |x - g z| the square root of it. Over rotations, which cannot be
    listed, and over sampled elements, whose common fixed points are unknown, a Gaussian has gamma
    times this error. Above 1e-9 the library repairs such values or warns.
    """
    u = unit(*arrays)
    S = norms(*arrays)
    squares = 2 * (d + 4) * u * S**2
    allowed = rounding_of(base, d, *arrays)
    if isinstance(base.kernel, kernels.CDF):
        allowed = allowed + base.slope(S, d) * np.sqrt(squares)
    elif turned and base.of_distance:
        allowed = allowed + base.size(S) * np.minimum(base.slope(S, d) ** 2 * squares, Long(1e-9))
    return allowed


def look_at_kernel(
    case: Case,
    kernel: Any,
    X: Array,
    Y: Any,
    *,
    due: Array,
    tolerance: Any,
    diagonal: Array | None = None,
    of_diagonal: Any = None,
    definite: bool = False,
    symmetric: bool = True,
    move: Callable[[Array], Array] | None = None,
) -> Array:
    """Check agreement with the definition, symmetry, diagonal, definiteness and invariance."""
    gram = np.asarray(kernel(X) if Y is None else kernel(X, Y))
    kind = np.result_type(X, X if Y is None else Y)
    if gram.dtype != kind:
        case.fail("type", 1, f"{gram.dtype} for {kind}")
    case.close("definition", gram, due, tolerance)
    if not np.isfinite(gram).all():
        return gram
    largest = float(np.max(tolerance))
    if Y is None or Y is X:
        if symmetric:
            case.close("symmetry", gram, gram.T, 2 * largest)
        if definite:
            lowest = np.linalg.eigvalsh((gram + gram.T).astype(float) / 2)[0]
            case.close("definite", min(lowest, 0), 0.0, len(gram) * largest)
    if diagonal is not None:
        allowed = tolerance if of_diagonal is None else of_diagonal
        case.close("diag", kernel.diag(X), diagonal, allowed)
    if move is not None:
        transformed = move(X)
        again = kernel(transformed, X if Y is None else Y)
        case.close("invariance", again, gram, 2 * largest)
    return gram


def _has_to_refuse(case: Case, kernel: Any, X: Array, Y: Any) -> None:
    """Check that points and transformed points of different sizes are refused."""
    kernel(X, Y)
    case.fail("an answer for points of two sizes", np.inf)


def mover(rng: np.random.Generator, action: Action) -> Callable[[Array], Array]:
    g = action.group.sample(1, int(rng.integers(10_000)))

    def move(X: Array) -> Array:
        return np.asarray(action.group.act(g, X)[0].reshape(X.shape), X.dtype)

    return move


def _plumbing(rng: np.random.Generator) -> dict[str, Any]:
    """Parameters that do not change results: small blocks, and rarely threads."""
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["block_bytes"] = int(rng.choice([1, 1000, 20_000]))
    if rng.random() < 0.03:
        options["n_jobs"] = 2
    return options


def plain_kernel(case: Case, rng: np.random.Generator) -> None:
    """A base kernel without a group."""
    d = int(rng.choice([1, 2, 4, 7]))
    name = str(
        rng.choice(["gaussian", "laplacian", "polynomial", "linear", "cdf", "vonmises", "signs"])
    )
    X = points(case, rng, int(rng.choice([1, 3, 6])), d)
    Y = other_points(case, rng, X, None)
    if name in ("vonmises", "signs"):
        eta = float(rng.choice([0.1, 1.0, 20.0]))
        period = float(rng.choice([2.0, 1.0, 2 * np.pi]))
        made = spectral.SignAveragedVonMises if name == "signs" else spectral.VonMisesKernel
        base = exact.von_mises(
            made(eta, period, normalize=bool(rng.random() < 0.8)), name == "signs"
        )
    else:
        base = a_base(rng, X, d, name)
    second = X if Y is None else Y
    case.target = f"{type(base.kernel).__name__}"
    case.described.append(repr(base.kernel))
    A = extended(X)
    B = extended(second)
    due = base.values(A, B)
    diagonal = np.diag(base.values(A, A))
    tolerance = rounding_of(base, d, X, Y)
    move = None
    if name == "signs":
        flips = rng.choice([-1, 1], d)
        move = lambda X: X * flips.astype(X.dtype)  # noqa: E731
    look_at_kernel(
        case, base.kernel, X, Y, due=due, tolerance=tolerance, diagonal=diagonal, move=move,
        definite=base.definite, of_diagonal=rounding_of(base, d, X),
    )  # fmt: skip


def _points_for_average(
    case: Case, rng: np.random.Generator, action: Action
) -> tuple[Array, Array | None]:
    infinite = action.turns is not None
    X = points_for(case, rng, action, n=int(rng.choice([2, 3])) if infinite else 0)
    Y = other_points(case, rng, X, action)
    if infinite and rng.random() < 0.25:  # many far points that hide the near ones
        far = 1e2 * float(norms(X) or 1) * rng.standard_normal((7, action.d))
        Y = np.concatenate([X, far]).astype(X.dtype)
    return X, Y


def _random_average(
    case: Case, rng: np.random.Generator, action: Action, X: Array
) -> tuple[Base, Any, str]:
    """A base kernel, an average of it over the action, and the side to average."""
    infinite = action.turns is not None
    name = str(rng.choice(["gaussian"] * 4 + ["polynomial"])) if infinite else ""
    base = a_base(rng, X, action.maps.shape[1], name)
    if action.shifts is not None:
        base = exact.von_mises(spectral.VonMisesKernel(float(rng.choice([0.5, 5.0]))), False)
    side = str(rng.choice(["auto"] * 4 + ["both", "second", "first"]))
    if infinite and action.turns.density is not None:
        side = "auto"
    normalize = side in ("auto", "both") and bool(rng.random() < 0.25)
    options = {} if infinite else _plumbing(rng)
    if infinite and side in ("both", "first"):
        side = "auto"  # both sums over a fine quadrature take minutes
    kernel = kernels.Average(base.kernel, action.group, side=side, normalize=normalize, **options)
    case.target = f"Average({type(base.kernel).__name__})"
    case.group = action.name
    case.described.append(repr(kernel))
    return base, kernel, side


def _normalised_average(
    due: Array, at_itself: Array, second_itself: Array, slack: Any
) -> tuple[Array, Array]:
    left = np.diag(at_itself)
    right = np.diag(second_itself)
    if min(left.min(), right.min()) <= 0 or not np.isfinite(at_itself).all():
        raise Skip("a kernel that is zero on some points has no normalized values")
    return _normalised(due, left, right, slack)


def average(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng)
    infinite = action.turns is not None
    X, Y = _points_for_average(case, rng, action)
    base, kernel, side = _random_average(case, rng, action, X)
    if action.maps.shape[1] != action.d and side in ("first", "second"):
        _has_to_refuse(case, kernel, X, Y)
        return
    due, at_itself = (_averaged(base, action, X, B, side) for B in (Y, None))
    slack = rounding_of_moved(base, action.d, X, Y)
    diagonal_slack = rounding_of_moved(base, action.d, X)
    if infinite:
        largest_itself = np.abs(np.diag(at_itself)).max()
        diagonal_slack = diagonal_slack + kernel.tolerance * largest_itself
        slack = slack + kernel.tolerance * max(np.abs(due).max(), largest_itself)
    tolerance = slack
    if kernel.normalize:
        second_itself = at_itself if Y is None else _averaged(base, action, Y, None, side)
        due, tolerance = _normalised_average(due, at_itself, second_itself, slack)
        at_itself = np.ones_like(at_itself)
        diagonal_slack = 8 * unit(X)
    if rng.random() < 0.2:
        kernel.explain(X, Y)
    two_sided = side in ("auto", "both")
    look_at_kernel(
        case, kernel, X, Y, due=due, tolerance=tolerance,
        diagonal=np.diag(at_itself), of_diagonal=diagonal_slack, symmetric=two_sided,
        definite=base.definite and two_sided and (action.is_group or side == "both"),
        move=mover(rng, action) if action.is_group and two_sided else None,
    )  # fmt: skip


def _averaged(base: Base, action: Action, X: Array, Y: Any, side: str) -> Array:
    second = X if Y is None else Y

    def at(level: int) -> Array:
        return exact.average(base, action, X, second, level, side)

    due = exact.settled(at, action.levels(), 1e-9)
    if due is None:
        raise Skip("no dense rule settles")
    return due


def _normalised(due: Array, left: Array, right: Array, slack: Any) -> tuple[Array, Array]:
    """Values over the roots of both means, and the effect of errors of ``slack`` in all three."""
    roots = np.sqrt(left)[:, None] * np.sqrt(right)
    relative = slack / left[:, None] + slack / right[None]
    if relative.max() > 0.5:
        raise Skip("a kernel that is zero up to rounding on some points")
    return due / roots, slack / roots + relative * np.abs(due / roots) + slack


def sampled_average(case: Case, rng: np.random.Generator) -> None:
    """Averages over sampled elements, the same on both sides."""
    action = an_action(rng, 0.5)
    X = points_for(case, rng, action)
    Y = other_points(case, rng, X, action)
    base = a_base(rng, X, action.maps.shape[1])
    kernel = kernels.Average(base.kernel, action.group, n_transforms=3, random_state=1)
    case.target = "Average(n_transforms)"
    case.group = action.name
    case.described.append(repr(kernel))
    if action.shifts is not None:
        raise Skip("no linear maps")
    drawn = action.group.sample(3, 1)
    maps = extended(action.group.act(drawn, np.eye(action.d)).swapaxes(1, 2))
    sampled = Action("drawn", None, action.d, maps, is_group=False)
    second = X if Y is None else Y
    due = exact.average(base, sampled, X, second, 0, "both")
    tolerance = rounding_of_moved(base, action.d, X, Y, turned=True)
    look_at_kernel(case, kernel, X, Y, due=due, tolerance=tolerance, definite=base.definite)


def _random_best_fit(
    case: Case, rng: np.random.Generator, action: Action, X: Array
) -> tuple[Base, Any, str]:
    """A base kernel, its best fit over the action, and the side to transform."""
    infinite = action.turns is not None
    name = "gaussian" if infinite and rng.random() < 0.7 else ""
    base = a_base(rng, X, action.maps.shape[1], name)
    if infinite and not (base.of_distance or base.kernel.__class__.__name__ == "Linear"):
        base = exact.linear(kernels.Linear())
    if action.shifts is not None:
        base = exact.von_mises(spectral.VonMisesKernel(1.0), False)
    side = str(rng.choice(["second", "second", "first"]))
    method = "definition" if rng.random() < 0.1 and not infinite else "auto"
    kernel = kernels.BestFit(base.kernel, action.group, side=side, method=method, **_plumbing(rng))
    case.target = f"BestFit({type(base.kernel).__name__})"
    case.group = action.name
    case.described.append(repr(kernel))
    return base, kernel, side


def best_fit(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng, 0.3)
    X = points_for(case, rng, action)
    Y = other_points(case, rng, X, action)
    infinite = action.turns is not None
    base, kernel, side = _random_best_fit(case, rng, action, X)
    if action.maps.shape[1] != action.d:
        _has_to_refuse(case, kernel, X, Y)
        return
    due = exact.best(base, action, X, X if Y is None else Y, side)
    if due is None:
        kernel(X)  # may refuse
        raise Skip("no formula")
    is_exact = action.is_group and action.unitary and base.of_inner
    case.answerable = infinite
    if rng.random() < 0.2:
        kernel.explain(X, Y)
    at_itself = exact.best(base, action, X, X, side)
    allowed = rounding_of_moved(base, action.d, X, Y, turned=infinite)
    look_at_kernel(
        case, kernel, X, Y, due=due, tolerance=allowed,
        diagonal=None if at_itself is None else np.diag(at_itself), symmetric=is_exact,
        of_diagonal=rounding_of_moved(base, action.d, X, turned=infinite),
        move=mover(rng, action) if is_exact else None,
    )  # fmt: skip


def hyperkernel(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng, 0.0)
    X = points_for(case, rng, action)
    Y = other_points(case, rng, X, action)
    base = a_base(
        rng, X, action.maps.shape[1], str(rng.choice(["gaussian", "linear", "laplacian", "cdf"]))
    )
    if action.shifts is not None:
        raise Skip("no linear maps")
    grouped = bool(rng.random() < 0.6)
    inside = kernels.Average(base.kernel, action.group) if grouped else base.kernel
    if not grouped and action.maps.shape[1] != action.d:
        raise Skip("no group, but points of another size")
    second = X if Y is None else Y

    def values(A: Array, B: Array) -> Array:
        if grouped:
            return exact.average(base, action, A, B, 0, "auto")
        return base.values(extended(A), extended(B))

    left = np.diag(values(X, X))
    right = np.diag(values(second, second))
    apart = left[:, None] + right - 2 * values(X, second)
    gamma = float(
        np.clip(1 / max(float(np.median(apart)), 1e-6 * float(left.max()), 1e-140), 1e-140, 1e140)
    )
    kernel = kernels.Hyperkernel(inside, gamma)
    case.target = f"Hyperkernel({type(inside).__name__})"
    case.group = action.name if grouped else "-"
    case.described.append(repr(kernel))
    # A Gaussian of |mu_x - mu_z|: rounding of the points changes mu by at most S times the slope of
    # the feature map, sqrt(2) times a root of the curvature of the kernel; it rounds by sqrt(u).
    rounding = rounding_of_moved if grouped else rounding_of
    slack = rounding(base, action.d, X, Y)
    tolerance = 4 * Long(gamma) * slack + 8 * unit(X, Y)
    look_at_kernel(
        case, kernel, X, Y, due=np.exp(-Long(gamma) * np.maximum(apart, 0)), tolerance=tolerance,
        diagonal=np.ones(len(X)), definite=True, of_diagonal=8 * unit(X),
        move=mover(rng, action) if grouped and action.is_group else None,
    )  # fmt: skip


def _some_sets(
    case: Case, rng: np.random.Generator, d: int, max_size: int
) -> tuple[Array, list[Array]]:
    sizes = rng.integers(1, max_size + 1, int(rng.choice([1, 2, 4])))
    X = points(case, rng, int(sizes.sum()), d)
    sets = np.split(X, np.cumsum(sizes)[:-1])
    return X, sets


def set_kernel(case: Case, rng: np.random.Generator) -> None:
    d = int(rng.choice([1, 2, 3]))
    X, sets = _some_sets(case, rng, d, 4)
    base = a_base(
        rng, X, d, str(rng.choice(["gaussian", "gaussian", "laplacian", "linear", "cdf"]))
    )
    pooling = str(rng.choice(["mean", "sum"]))
    normalize = bool(rng.random() < 0.3)
    matching = bool(rng.random() < 0.4)
    made = beyond.MatchingKernel if matching else beyond.SetKernel
    options = {key: value for key, value in _plumbing(rng).items() if key != "n_jobs"}
    kernel = made(base.kernel, pooling, normalize=normalize, **options)
    case.target = f"{type(kernel).__name__}({type(base.kernel).__name__})"
    case.described.append(repr(kernel))
    n = len(sets)
    due = np.zeros((n, n), Long)
    count = np.zeros((n, n))
    for i, first in enumerate(sets):
        for j, second in enumerate(sets):
            values = base.values(extended(first), extended(second))
            due[i, j] = _matched(values) if matching else values.sum()
            count[i, j] = len(first) * len(second) if not matching else max(len(first), len(second))
    if pooling == "mean":
        due /= count
    slack = rounding_of(base, d, X) * (count if pooling == "sum" else 1)
    diagonal = np.diag(due)
    if normalize:
        if diagonal.min() <= 0:
            raise Skip("a kernel that is zero on some sets")
        due, slack = _normalised(due, diagonal, diagonal, np.max(slack))
        diagonal = np.ones(n)
    padded = beyond.pad_sets([rng.permutation(part) for part in sets])
    gram = np.asarray(kernel(padded))
    case.close("definition", gram, due, slack)
    case.close("diag", kernel.diag(padded), diagonal, np.max(slack))
    if not matching and base.definite and np.isfinite(gram).all():
        lowest = np.linalg.eigvalsh((gram + gram.T).astype(float) / 2)[0]
        case.close("definite", min(lowest, 0), 0.0, n * np.max(slack))


def _matched(values: Array) -> Any:
    """The largest sum over all matchings, by enumeration."""
    if values.shape[0] > values.shape[1]:
        values = values.T
    n, m = values.shape
    return max(values[np.arange(n), list(order)].sum() for order in permutations(range(m), n))


def locality(case: Case, rng: np.random.Generator) -> None:
    length = 5
    window = 3
    X = points(case, rng, int(rng.choice([1, 3, 5])), length)
    Y = other_points(case, rng, X, None)
    S = float(norms(X)) or 1.0
    powers = tuple(int(p) for p in rng.integers(1, 4, 2))
    alpha = parameter(1 / Long(S) ** 2)
    beta = 0.2
    options = _plumbing(rng)
    kernel = kernels.Locality((length,), window, powers=powers, gammas=(alpha, beta), **options)
    case.target = "Locality"
    case.described.append(repr(kernel))

    def values(A: Array, B: Array) -> Array:
        """Windows around each position, padded with zeros."""
        A, B = (np.pad(extended(M), ((0, 0), (1, 1))) for M in (A, B))
        total = np.zeros((len(A), len(B)), Long)
        for i in range(length):
            part = exact.inner(A[:, i : i + window], B[:, i : i + window])
            total += (1 + Long(alpha) * part) ** powers[0]
        return (1 + Long(beta) * total) ** powers[1]

    second = X if Y is None else Y

    def allowed(*arrays: Any) -> Any:
        bound = (
            1 + Long(beta) * length * (1 + Long(alpha) * norms(*arrays) ** 2) ** powers[0]
        ) ** powers[1]
        return 4 * (length + 4) * powers[0] * powers[1] * unit(*arrays) * bound

    look_at_kernel(
        case, kernel, X, Y, due=values(X, second), tolerance=allowed(X, Y),
        diagonal=np.diag(values(X, X)), definite=True, of_diagonal=allowed(X),
    )  # fmt: skip


def overlap_fit(case: Case, rng: np.random.Generator) -> None:
    length = 5
    max_shift = 2
    X = points(case, rng, int(rng.choice([1, 3, 5])), length)
    Y = other_points(case, rng, X, None)
    standard = bool(rng.random() < 0.5)
    base = a_base(
        rng, X, length, str(rng.choice(["gaussian", "linear"])) if not standard else "gaussian"
    )
    if standard:
        base = exact.gaussian(kernels.Gaussian(0.5))
    shifts = groups.Translations(length, max_shift, boundary=str(rng.choice(["zero", "cyclic"])))
    kernel = beyond.OverlapFit(base.kernel, shifts, scale="standard" if standard else "size")
    case.target = f"OverlapFit({kernel.scale})"
    case.group = "Translations"
    case.described.append(repr(kernel))
    second = X if Y is None else Y
    A = extended(X)
    B = extended(second)
    answer = []
    slack = rounding_of(base, length, X, Y)
    for shift in range(-max_shift, max_shift + 1):
        left = A[:, max(shift, 0) : length + min(shift, 0)]
        right = B[:, max(-shift, 0) : length - max(shift, 0)]
        if standard:
            left, p = _standardised(left, A)
            right, q = _standardised(right, B)
            slack = np.maximum(slack, unit(X, Y) * 20 * norms(X, Y) * np.maximum.outer(p, q))
            apart = (
                2 - 2 * left @ right.T
            )  # vectors of norm one; constant parts are similar to nothing
            answer.append(np.exp(-Long(base.kernel.gamma) * apart))
        elif base.of_distance:
            share = np.sqrt(Long(length) / left.shape[1])
            answer.append(base.values(share * left, share * right))
        else:
            answer.append(Long(length) / left.shape[1] * base.values(left, right))
    tolerance = 2 * np.max(slack)
    look_at_kernel(case, kernel, X, Y, due=np.max(answer, axis=0), tolerance=tolerance)


def _standardised(part: Array, full: Array) -> tuple[Array, Array]:
    """Parts with mean zero and norm one, and their inverse norms; constant parts become zero."""
    part = part - part.mean(axis=1, keepdims=True)
    full = full - full.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(part).sum(axis=1))
    least = 1e-6 * np.sqrt(np.square(full).sum(axis=1))
    if np.any((size > least / 1000) & (size < least * 1000) & (size > 0)):
        raise Skip("parts that are all but flat")
    flat = size <= least
    size = np.where(flat, 1, size)
    return np.where(flat[:, None], 0, part / size[:, None]), np.where(flat, 0, 1 / size)


def tangent_distance(case: Case, rng: np.random.Generator) -> None:
    """The distance is that of two planes, and scales with the unit of the pixels."""
    shape = (4, 4)
    vectors = tuple(str(v) for v in rng.choice(sorted(beyond.TANGENTS), 3, replace=False))
    X = points(case, rng, int(rng.choice([2, 3, 4])), 16)
    ridge = float(rng.choice([0.0, 1e-6]))
    distance = beyond.TangentDistance(shape, vectors, ridge=ridge)
    case.target = "TangentDistance"
    case.described.append(repr(distance))
    answer = extended(distance(X))
    u = unit(X)
    S = norms(X)
    case.close("diag", np.diag(answer), 0 * np.diag(answer), 0)
    case.close("symmetry", answer, answer.T, 1e3 * np.sqrt(u) * S * (1e-3 if u < 1e-10 else 1))
    plain = np.sqrt(exact.squares(extended(X), extended(X)))
    case.close(
        "not above the plain distance", np.maximum(answer, plain), plain, 20 * np.sqrt(u) * S
    )
    T = extended(distance.tangents(X.astype(float)))
    due = np.zeros_like(answer)
    conditions = np.ones_like(answer)
    for i in range(len(X)):
        for j in range(len(X)):
            due[i, j], conditions[i, j] = _between_planes(X[i], X[j], T[i], T[j])
    if conditions.max() < 1e3:  # planes in general position
        # Squares are accurate up to u S^2 times the squared condition number, and the ridge.
        allowed = (16 * u * conditions**2 + 10 * ridge) * S**2
        case.close("definition", answer**2, due**2, allowed)
    factor = 2.0 ** int(rng.integers(-20, 21))
    with np.errstate(all="ignore"):
        scaled = (X * X.dtype.type(factor)).astype(X.dtype)
        if np.isfinite(scaled).all() and np.array_equal(scaled / X.dtype.type(factor), X):
            again = extended(distance(scaled)) / Long(factor)
            case.close("unit of the pixels", again, answer, 1e-3 * S * np.sqrt(u))


def _between_planes(x: Array, z: Array, x_tangents: Array, z_tangents: Array) -> tuple[Any, Any]:
    """Smallest distance of two planes, and the condition number of their directions."""
    directions = np.concatenate([x_tangents, z_tangents])
    size = np.sqrt(np.square(directions).sum(axis=1))
    directions = directions[size > 1e-12 * max(size.max(), Long(1e-4000))]
    directions = directions / np.sqrt(np.square(directions).sum(axis=1))[:, None]
    gap = extended(x) - extended(z)
    if not len(directions):
        return np.sqrt(gap @ gap), Long(1)
    values = np.linalg.svd(directions.astype(float), compute_uv=False)
    if len(values) < len(directions) or values[-1] < 1e-6:
        return Long(0), Long(1e9)
    shares = exact.solve(directions @ directions.T, directions @ gap)
    rest = gap - shares @ directions
    return np.sqrt(rest @ rest), Long(values[0] / values[-1])


# -- feature maps ----------------------------------------------------------------------------------


def orbit_fourier(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng, 0.5)
    if action.shifts is not None:
        raise Skip("no linear maps")
    infinite = action.turns is not None
    X = points_for(case, rng, action, n=3 if infinite else 0)
    kernel = "laplacian" if rng.random() < 0.15 else "gaussian"
    form = str(rng.choice(["phase", "cos_sin"]))
    gamma: Any = "median" if rng.random() < 0.3 else bandwidth(rng, X)
    if kernel == "laplacian" and gamma != "median":
        gamma = parameter(np.sqrt(gamma))
    model = features.OrbitFourier(
        action.group, 6, kernel=kernel, gamma=gamma, form=form, random_state=0, **_plumbing(rng)
    )
    case.target = "OrbitFourier"
    case.group = action.name
    case.described.append(repr(model))
    Z = np.asarray(model.fit(X).transform(X))
    omega = extended(model.templates_)
    phases = extended(model.phases_)
    centre = 0 if model.centre_ is None else extended(model.centre_)  # fixed by the group
    size = np.sqrt(Long(2) / Z.shape[1])

    def at(level: int) -> Array:
        maps, weights = action.rule(level, relative=False)
        inner = action.moves(extended(X) - centre, maps) @ omega.T
        if form == "phase":
            return size * np.tensordot(weights, np.cos(inner + phases), axes=1)
        both = np.concatenate([np.cos(inner), np.sin(inner)], axis=2)
        return size * np.tensordot(weights, both, axes=1)

    S = norms(X)
    longest = norms(omega)
    slack = 2 * (action.d + 4) * unit(X) * size * (2 + S * longest)
    _look_at_features(case, rng, action, model, X, Z, at, slack, size)


def _look_at_features(
    case: Case,
    rng: np.random.Generator,
    action: Action,
    model: Any,
    X: Array,
    Z: Array,
    at: Callable[[int], Array],
    slack: Any,
    size: Any,
) -> None:
    """Check the definition and the invariance of features that are means over a group."""
    if Z.dtype != X.dtype:
        case.fail("type", 1, f"{Z.dtype} for {X.dtype}")
    if not np.isfinite(Z).all():
        case.fail("not finite", np.inf)
        return
    # relative to the longest row of features, like kernels to their largest value
    promised = Long(getattr(model, "tolerance", 1e-4)) * norms(Z) if action.turns else Long(0)
    if action.is_group:
        transformed = mover(rng, action)(X)
        case.close("invariance", model.transform(transformed), Z, 2 * slack + promised)
        larger = X[:2] * X.dtype.type(30)  # larger than the points for which nodes were chosen
        twice = model.transform(mover(rng, action)(larger))
        still = model.transform(larger)
        promised_larger = np.maximum(promised, Long(1e-4) * norms(still) * bool(action.turns))
        case.close("invariance of larger points", twice, still, 60 * slack + promised_larger)
    if rng.random() < 0.3:
        case.close("one point", model.transform(X[:1]), Z[:1], 2 * slack)
    due = exact.settled(at, action.levels(), 1e-9)
    if due is None:
        raise Skip("no dense rule settles")
    case.close("definition", Z, due, slack + promised)
    if rng.random() < 0.2:
        model.explain(X)


def orbit_nystroem(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng, 0.4)
    if action.shifts is not None or action.maps.shape[1] != action.d:
        raise Skip("no linear maps of one space")
    infinite = action.turns is not None
    X = points_for(case, rng, action, n=3 if infinite else int(rng.choice([2, 4, 6])))
    base = a_base(rng, X, action.d, str(rng.choice(["gaussian"] * 3 + ["laplacian", "polynomial"])))
    if infinite and base.of_inner is False:
        base = a_base(rng, X, action.d, "gaussian")
    if not base.definite:
        raise Skip("an indefinite kernel")
    model = features.OrbitNystroem(
        action.group, len(X), kernel=base.kernel, random_state=0, **_plumbing(rng)
    )
    case.target = f"OrbitNystroem({type(base.kernel).__name__})"
    case.group = action.name
    case.described.append(repr(model))
    Z = np.asarray(model.fit(X).transform(X))
    landmarks = extended(model.landmarks_)
    L = extended(model.whitener_)
    inside = base.values(landmarks, landmarks)
    off = rounding_of(base, action.d, X)
    largest = np.sqrt(np.square(L).sum())
    if Long(len(X)) * off * largest**2 < 0.1:
        identity = np.eye(len(L))
        case.close(
            "whitener", L @ inside @ L.T, identity, len(X) * off * largest**2 + 100 * unit(X)
        )

    def at(level: int) -> Array:
        maps, weights = action.rule(level, relative=False)
        values = base.values(action.moves(X, maps), landmarks[None])
        return np.tensordot(weights, values, axes=1) @ L.T

    slack = off * largest * np.sqrt(Long(len(X)))
    _look_at_features(case, rng, action, model, X, Z, at, slack, 1)


def _templates(rng: np.random.Generator, X: Array, from_points: bool) -> Any:
    """The points themselves as templates, which gives ties of inner products, or a name."""
    if not from_points:
        return str(rng.choice(["gaussian", "sphere"]))
    chosen = X[rng.integers(0, len(X), 3)].astype(float)
    return chosen if rng.random() < 0.6 else chosen - chosen.mean(axis=1, keepdims=True)


def group_cdf(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng, 0.3)
    if action.shifts is not None or action.weights is not None or not action.unitary:
        raise Skip("templates cannot be moved instead")
    if action.turns is not None and action.turns.density is not None:
        raise Skip("elements of unequal weights")
    X = points_for(case, rng, action)
    from_points = bool(rng.random() < 0.6)
    templates = _templates(rng, X, from_points)
    n_bins = int(rng.choice([1, 4, 10]))
    s: Any = "data" if rng.random() < 0.3 else "bound"
    if from_points and s == "bound":
        s = parameter(norms(X) ** 2)
    model = features.GroupCDF(
        action.group, 3, n_bins=n_bins, templates=templates, s=s, random_state=0, **_plumbing(rng)
    )
    case.target = "GroupCDF"
    case.group = action.name
    case.described.append(repr(model))
    Z = np.asarray(model.fit(X).transform(X))
    if not np.isfinite(Z).all():
        case.fail("not finite", np.inf)
        return
    size = np.sqrt(Long(model.s_) / (n_bins * 3))
    step = Long(1) / len(action.maps)  # rounding of a share, and of a feature
    slack = 8 * unit(X) * size * 10
    T = extended(model.templates_)
    if action.turns is None:
        inner = np.einsum("nd,rmd->rnm", extended(X), action.moves(T, action.maps))
        cuts = Long(model.s_) * np.arange(-n_bins, n_bins + 1).astype(Long) / n_bins
        blur = 2 * (action.d + 4) * unit(X) * (norms(X) * norms(T) + Long(model.s_))
        low, high = (
            size * (inner[..., None] <= cuts + sign * blur).mean(axis=0) for sign in (-1, 1)
        )
        due = np.clip(extended(Z).reshape(low.shape), low, high)
        case.close("definition", Z.reshape(low.shape), due, slack)
        if all(np.array_equal(A, np.rint(A)) for A in (X, model.templates_)):
            case.close("ties", Z.reshape(low.shape), high, slack)
    promised = Long(getattr(model, "tolerance", 1e-4)) * norms(Z) if action.turns else Long(0)
    if action.is_group:
        transformed = mover(rng, action)(X)
        case.close("invariance", model.transform(transformed), Z, slack + promised)
    case.close("one point", model.transform(X[:1]), Z[:1], slack + 0 * step)


def max_filter(case: Case, rng: np.random.Generator) -> None:
    action = an_action(rng, 0.4)
    if action.shifts is not None or not action.unitary:
        raise Skip("templates cannot be moved instead")
    X = points_for(case, rng, action)
    model = beyond.MaxFilter(
        action.group, 3, templates=_templates(rng, X, bool(rng.random() < 0.4)), random_state=0,
        **_plumbing(rng),
    )  # fmt: skip
    case.target = "MaxFilter"
    case.group = action.name
    case.described.append(repr(model))
    Z = np.asarray(model.fit(X).transform(X))
    T = extended(model.templates_)
    slack = 2 * (action.d + 4) * unit(X) * norms(X) * norms(T)
    if action.is_group:
        promised = Long(model.tolerance) * norms(Z) if action.turns else Long(0)
        case.close("invariance", model.transform(mover(rng, action)(X)), Z, 2 * slack + promised)
    base = exact.linear(kernels.Linear())
    due = exact.best(base, action, X, T, "second")
    if due is not None:
        case.close("definition", Z, due, slack)


def dilated_cdf(case: Case, rng: np.random.Generator) -> None:
    d = int(rng.choice([9, 12, 17]))
    X = points(case, rng, int(rng.choice([1, 3])), d)
    model = beyond.DilatedCDF(n_features=168, random_state=0)
    case.target = "DilatedCDF"
    case.group = "shifts"
    case.described.append(repr(model))
    Z = np.asarray(model.fit(X).transform(X))
    shift = int(rng.integers(1, d))
    case.close("invariance", model.transform(np.roll(X, shift, axis=1)), Z, 0)
    case.close("one point", model.transform(X[:1]), Z[:1], 0)
    start = 0
    blur = 40 * unit(X) * np.abs(extended(X)).max() * 3
    for dilation, levels in zip(model.dilations_, model.thresholds_, strict=True):
        width = levels.shape[1]
        for j, places in enumerate(combinations(range(9), 3)):
            template = -np.ones(9, Long)
            template[list(places)] = 2
            products = sum(
                template[i] * np.roll(extended(X), -(i - 4) * int(dilation), axis=1)
                for i in range(9)
            )
            cuts = extended(levels[j])
            low, high = ((products[:, :, None] <= cuts + b).mean(axis=1) for b in (-blur, blur))
            answer = extended(Z[:, start + j * width : start + (j + 1) * width])
            case.close("definition", answer, np.clip(answer, low, high), 4 * unit(X))
        start += 84 * width


def angular_basis(case: Case, rng: np.random.Generator) -> None:
    X = points(case, rng, int(rng.choice([1, 3])), 36)
    model = features.AngularBasis((6, 6)).fit(X)
    case.target = "AngularBasis"
    case.group = "rotations"
    Z = np.asarray(model.transform(X))
    slack = 2 * 40 * unit(X) * norms(X)
    case.close("definition", Z, extended(X) @ extended(model.functions_), slack)
    quarter = np.rot90(X.reshape(-1, 6, 6), axes=(1, 2)).reshape(X.shape)
    turned = model.rotations().act([np.pi / 2], Z)[0]
    case.close("quarter turn", model.transform(quarter), turned, 2 * slack)


def set_features(case: Case, rng: np.random.Generator) -> None:
    X, sets = _some_sets(case, rng, 2, 4)
    pooling = str(rng.choice(["mean", "sum"]))
    inner = features.OrbitFourier(
        beyond.PlaneRotations(), 5, gamma=bandwidth(rng, X), random_state=0
    )
    turning = bool(rng.random() < 0.5)
    model = beyond.SetFeatures(inner if turning else None, pooling)
    case.target = "SetFeatures"
    case.group = "PlaneRotations()" if turning else "-"
    case.described.append(repr(model))
    padded = beyond.pad_sets(sets)
    Z = np.asarray(model.fit(padded).transform(padded))
    again = model.transform(beyond.pad_sets([rng.permutation(part) for part in sets]))
    max_size = Long(max(map(len, sets)))
    size = max_size * (norms(X) if not turning else 1)
    slack = 50 * unit(X) * size
    if turning:
        slack = slack * (1 + norms(X) * 10 * np.sqrt(Long(inner.gamma)))
    case.close("order of the points", again, Z, slack)
    if not turning:
        pooled = extended([extended(part).sum(0) for part in sets])
        counts = extended([len(part) for part in sets])[:, None]
        case.close("definition", Z, pooled / counts if pooling == "mean" else pooled, slack)
        return
    turned = beyond.PlaneRotations().act([float(rng.uniform(0, 6))], X)[0].astype(X.dtype)
    split = np.split(turned, np.cumsum([len(part) for part in sets])[:-1])
    promised = Long(1e-4) * norms(Z)
    case.close("invariance", model.transform(beyond.pad_sets(split)), Z, slack + promised)


# -- learners --------------------------------------------------------------------------------------


def _targets(rng: np.random.Generator, X: Array, classes: int = 0) -> Array:
    if classes:
        y = np.arange(len(X)) % classes
        return y
    y = rng.standard_normal(len(X)) if rng.random() < 0.5 else np.arange(len(X)) % 5 + 0.0
    return y * 10.0 ** float(rng.choice([0, 0, 0, -6, 6]))


def _shares(rng: np.random.Generator, n: int) -> Array | None:
    return None if rng.random() < 0.7 else rng.integers(1, 4, n).astype(float)


def rls_kernel(case: Case, rng: np.random.Generator) -> None:
    """Ridge regression with a kernel over a group, at an explicit or a chosen penalty."""
    action = an_action(rng, 0.1)
    if action.maps.shape[1] != action.d or action.shifts is not None:
        raise Skip("no linear maps of one space")
    n = int(rng.choice([3, 6, 10]))
    X = points_for(case, rng, action, n)
    kernel = kernels.Average(kernels.Gaussian(bandwidth(rng, X)), action.group)
    if rng.random() < 0.3:
        kernel = kernels.Gaussian(bandwidth(rng, X))
    new = X[rng.integers(0, n, 2)] * X.dtype.type(1.01)
    K = np.asarray(kernel(X))
    rows = np.asarray(kernel(new, X))
    scale = float(np.linalg.eigvalsh(K.astype(float))[-1]) / n or 1.0
    is_explicit = bool(rng.random() < 0.6)
    alphas = [scale * 10.0 ** rng.uniform(-9, 0)] if is_explicit else None
    classifier = bool(rng.random() < 0.3)
    made = linear.RLSClassifier if classifier else linear.RLSRegressor
    intercept = bool(rng.random() < 0.8)
    precomputed = bool(rng.random() < 0.3)
    model = made(alphas, "precomputed" if precomputed else kernel, fit_intercept=intercept)
    case.target = f"{made.__name__}(kernel)"
    case.group = action.name
    case.described.append(f"{model!r} of {kernel!r}")
    y = _targets(rng, X, 2 if classifier else 0)
    weights = _shares(rng, n)
    _look_at_learner(
        case,
        model,
        X if not precomputed else K,
        y,
        weights,
        K,
        new if not precomputed else rows,
        rows,
        is_explicit,
    )


def _look_at_learner(
    case: Case,
    model: Any,
    given_points: Array,
    y: Array,
    weights: Array | None,
    K: Array,
    given_new: Array,
    rows: Array,
    fixed: bool,
) -> None:
    """Check predictions against the exact solution at the alpha of the model."""
    model.fit(given_points, y, sample_weight=weights)
    classifier = hasattr(model, "decision_function")
    decide = model.decision_function if classifier else model.predict
    answer = extended(decide(given_new))
    at_training = extended(decide(given_points))
    if model.negative_share_ > 1e-9:
        raise Skip("an indefinite matrix is repaired first")
    targets = y.astype(float)
    if classifier:
        targets = np.where(y == model.classes_[1], 1.0, -1.0)
    shares = np.ones(len(y)) if weights is None else weights
    shares = extended(shares) / extended(shares).sum()
    fit = exact.Ridge.fit(K, targets, model.alpha_, shares, model.fit_intercept)
    n = len(y)
    u = unit(K)
    u = Long(np.finfo(float).eps) if K.dtype == float else u
    size = np.sqrt(np.square(extended(K)).sum())
    reach = np.abs(targets).max()
    least = u * size / n  # smallest eigenvalue above the rounding of the matrix in its type
    if model.alpha_ < least and not fixed:
        case.fail(
            "alpha within rounding", float(least / model.alpha_), f"alpha_ {model.alpha_:.1e}"
        )
    for name, part, k in (("new", answer, rows), ("training", at_training, K)):
        slack = 10 * n * u * size * fit.sensitivity(k)[:, 0]
        slack += 10 * n * u * reach + n * u * np.abs(fit.coefficients[:n]).sum() * np.abs(k).max()
        if not fixed:  # a chosen penalty has to be numerically stable
            slack = np.minimum(slack, 1e-3 * reach)
        case.close(f"prediction at {name} points", part, fit.predict(k)[:, 0], slack)
    if not fixed and model.fit_intercept:
        case.close(
            "range of the targets",
            np.clip(at_training, -3 * reach, 3 * reach),
            at_training,
            1e-6 * reach,
        )


def rls_features(case: Case, rng: np.random.Generator) -> None:
    d = int(rng.choice([1, 2, 5]))
    n = int(rng.choice([3, 6, 12]))
    X = points(case, rng, n, d)
    centred = extended(X) - extended(X).mean(axis=0)
    scale = float(np.square(centred).sum()) / n or 1.0
    is_explicit = bool(rng.random() < 0.6)
    classifier = bool(rng.random() < 0.3)
    made = linear.RLSClassifier if classifier else linear.RLSRegressor
    alphas = (
        [float(np.clip(scale * 10.0 ** rng.uniform(-9, 0), 1e-290, 1e290))] if is_explicit else None
    )
    model = made(alphas)
    case.target = f"{made.__name__}(features)"
    case.described.append(repr(model))
    y = _targets(rng, X, 2 if classifier else 0)
    weights = _shares(rng, n)
    model.fit(X, y, sample_weight=weights)
    targets = np.where(y == model.classes_[1], 1.0, -1.0) if classifier else y.astype(float)
    shares = extended(np.ones(n) if weights is None else weights)
    shares /= shares.sum()
    mean = shares @ extended(X)
    centred_features = extended(X) - mean
    K = centred_features @ centred_features.T
    fit = exact.Ridge.fit(K, targets, model.alpha_, shares)
    new = (X[:2] + (X[-1:] - X[:1]) / X.dtype.type(2)).astype(X.dtype)
    decide = model.decision_function if classifier else model.predict
    eps = Long(np.finfo(float).eps)
    reach = np.abs(targets).max()
    size = np.sqrt(np.square(K).sum())
    if not is_explicit and model.alpha_ < eps * size / n:
        case.fail(
            "alpha within rounding",
            float(eps * size / n / model.alpha_),
            f"alpha_ {model.alpha_:.1e}",
        )
    for name, part in (("new", new), ("training", X)):
        rows = (extended(part) - mean) @ centred_features.T
        slack = 10 * n * eps * size * fit.sensitivity(rows)[:, 0] + 20 * n * eps * reach
        # rounding of the points themselves, through the coefficients
        coef = np.sqrt(np.square(centred_features.T @ fit.coefficients[:n]).sum())
        slack += 20 * eps * coef * norms(X, new)
        if not is_explicit:
            slack = np.minimum(slack, 1e-3 * reach + 20 * eps * coef * norms(X, new))
        case.close(f"prediction at {name} points", decide(part), fit.predict(rows)[:, 0], slack)
    if not classifier:
        _units_of_targets(case, model, X, y, weights)


def _units_of_targets(case: Case, model: Any, X: Array, y: Array, weights: Any) -> None:
    """Check that predictions scale with the unit of the targets."""
    before = model.predict(X)
    for factor in (2.0**-600, 2.0**600):
        with np.errstate(all="ignore"):
            again = model.fit(X, y * factor, sample_weight=weights).predict(X) / factor
        case.close("unit of the targets", again, before, 1e-9 * np.abs(y).max())


def rls_copies(case: Case, rng: np.random.Generator) -> None:
    """Weights act like copies, and equal points have equal predictions in any batch."""
    n = int(rng.choice([3, 6]))
    d = int(rng.choice([2, 4]))
    X = points(case, rng, n, d)
    y = _targets(rng, X)
    weights = rng.integers(0, 3, n) + (np.arange(n) < 2)
    kernel = kernels.Gaussian(bandwidth(rng, X)) if rng.random() < 0.6 else None
    scale = 1.0 if kernel is not None else float(np.var(X.astype(float), axis=0).sum()) or 1.0
    model = linear.RLSRegressor(
        [float(np.clip(scale * 10.0 ** rng.uniform(-4, 0), 1e-290, 1e290))], kernel
    )
    case.target = "RLSRegressor, weights"
    case.described.append(f"{model!r}, weights {weights.tolist()}")
    reach = np.abs(y).max()
    weighted = model.fit(X, y, sample_weight=weights).predict(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
    allowed = 1e-8 * reach + 1e-9 * reach * norms(X) / np.sqrt(Long(scale)) * (kernel is None)
    # the rounding of kernel values up to 1, divided by the penalty
    allowed += 10 * n * unit(X) * reach * Long(scale) / Long(model.alphas[0])
    case.close("weights are copies", weighted, repeated, allowed)
    default = linear.RLSRegressor(kernel=kernel)
    twice = np.concatenate([X, X])
    targets = np.concatenate([y, y])
    answer = default.fit(twice, targets).predict(twice)
    case.close("equal points", answer[:n], answer[n:], 1e-6 * reach)
    alone = np.concatenate([default.predict(twice[i : i + 1]) for i in range(n)])
    case.close("alone or beside others", alone, answer[:n], 1e-6 * reach + 1e-10 * reach * norms(X))
    case.close("range of the targets", np.clip(answer, -3 * reach, 3 * reach), answer, 1e-6 * reach)
    plain = np.array([targets[np.all(twice == x, axis=1)].mean() for x in X])
    if len(np.unique(X, axis=0)) == 1:
        case.close("one point many times", answer[:n], plain, 1e-6 * reach)


def left_out(case: Case, rng: np.random.Generator) -> None:
    """Check leave-one-out decisions against fits without the point."""
    n = int(rng.choice([3, 5, 7]))
    d = 3
    X = points(case, rng, n, d)
    y = _targets(rng, X)
    kernel = kernels.Average(kernels.Gaussian(bandwidth(rng, X)), groups.CyclicShifts(3))
    K = np.asarray(kernel(X.astype(float)))
    alpha = float(np.linalg.eigvalsh(K)[-1]) / n * 10.0 ** rng.uniform(-8, 0)
    model = linear.RLSRegressor([alpha], "precomputed").fit(K, y)
    case.target = "RLS leave-one-out"
    case.group = "CyclicShifts(3)"
    case.described.append(f"{model!r} of {kernel!r}")
    for i in range(n):
        rest = np.flatnonzero(np.arange(n) != i)
        # the same n alpha is added to the matrices of n and of n - 1 points
        inside = alpha * n / (n - 1)
        fit = exact.Ridge.fit(K[np.ix_(rest, rest)], y[rest], inside, np.full(n - 1, 1 / (n - 1)))
        row = K[i : i + 1, rest]
        size = np.sqrt(np.square(extended(K)).sum())
        eps = Long(np.finfo(float).eps)
        slack = 100 * n * eps * (size * fit.sensitivity(row)[0, 0] + np.abs(y).max())
        case.close("left out", model.loo_decision_[i, 0], fit.predict(row)[0, 0], slack)


def block_ridge(case: Case, rng: np.random.Generator) -> None:
    n = int(rng.choice([4, 8, 12]))
    d = int(rng.choice([1, 2, 4]))
    X = points(case, rng, n, d)
    y = np.arange(n) % int(rng.choice([2, 3]))
    centred = extended(X) - extended(X).mean(axis=0)
    covariance = centred.T @ centred / n
    scale = float(np.trace(covariance)) or 1.0
    alpha = float(np.clip(scale * 10.0 ** rng.uniform(-6, 0), 1e-290, 1e290))
    model = linear.BlockRidgeClassifier(alpha, block_rows=int(rng.choice([1, 3, 100])))
    case.target = "BlockRidgeClassifier"
    case.described.append(repr(model))
    model.fit(X, y)
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    Y = Y[:, 1:] if Y.shape[1] == 2 else Y
    coef = exact.solve(covariance + Long(alpha) * np.eye(d), centred.T @ (Y - Y.mean(0)) / n)
    new = np.concatenate([X, X[:1] + (X[-1:] - X[:1]) / X.dtype.type(2)]).astype(X.dtype)
    offsets = extended(new) - extended(X).mean(axis=0)
    due = offsets @ coef + Y.mean(axis=0)
    answer = extended(model.decision_function(new)).reshape(len(new), -1)
    u = unit(X)
    through = exact.solve(covariance + Long(alpha) * np.eye(d), offsets.T).T
    sizes = np.sqrt(np.square(coef).sum(axis=0))
    slack = 20 * (n + d) * u * Long(scale) * np.sqrt(np.square(through).sum(1))[:, None] * sizes
    slack += 20 * u * (1 + norms(X) * sizes) + 20 * u * np.sqrt(np.square(through).sum(1))[
        :, None
    ] * np.sqrt(Long(scale))
    case.close("prediction", answer, due, slack)


def _a_gram(case: Case, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A Gram matrix in the type of the points, labels, and one-against-all targets."""
    n = int(rng.choice([4, 7, 12]))
    X = points(case, rng, n, 3)
    kernel = kernels.Gaussian(bandwidth(rng, X))
    case.described.append(repr(kernel))
    y = np.arange(n) % 2
    K = np.asarray(kernel(X.astype(float))).astype(X.dtype)
    return K, y, np.where(y[:, None] == [0, 1], 1.0, -1.0)


def cholesky_rls(case: Case, rng: np.random.Generator) -> None:
    """`rls_by_cholesky` at its chosen penalty, also for constant matrices."""
    K, y, Y = _a_gram(case, rng)
    case.target = "rls_by_cholesky"
    model = linear.rls_by_cholesky(K, y)
    n = len(K)
    u = unit(K)
    size = np.sqrt(np.square(extended(K)).sum())
    if model.alpha < u * size / n:
        excess = float(u * size / n / max(model.alpha, 1e-300))
        case.fail("alpha within rounding", excess, f"alpha {model.alpha:.1e}")
    answer = extended(model.decide(K))
    fit = exact.Ridge.fit(K, Y, max(model.alpha, 1e-300), np.full(n, 1 / n))
    slack = 30 * n * u * (size * fit.sensitivity(K) + 1)
    case.close("prediction", answer, fit.predict(K), slack)
    case.close("range of the targets", np.clip(answer, -3, 3), answer, 1e-6)


def ridge_of_gram(case: Case, rng: np.random.Generator) -> None:
    K, _, Y = _a_gram(case, rng)
    case.target = "kernel_ridge"
    n = len(K)
    u = unit(K)
    size = np.sqrt(np.square(extended(K)).sum())
    alpha = float(size) / n * 10.0 ** rng.uniform(-3 if u > 1e-10 else -9, 0)
    dual = linear.kernel_ridge(K, Y[:, 0].astype(K.dtype), alphas=alpha)[0]
    matrix = extended(K) + n * Long(alpha) * np.eye(n)
    due = exact.solve(matrix, Y[:, 0] - Y[:, 0].mean())
    inverse = np.sqrt(np.square(exact.solve(matrix, np.eye(n, dtype=Long))).sum())
    slack = 30 * n * u * (size + n * alpha) * inverse * np.sqrt(np.square(due).sum())
    case.close("dual coefficients", dual, due, slack)


# -- spectral methods, and all other objects -------------------------------------------------------


def _manifold(rng: np.random.Generator) -> tuple[Any, Action]:
    finite = {action.name: action for action in actions("finite")}
    choice = int(rng.integers(6))
    if choice == 0:
        return spectral.Torus(3, degree=3), finite[
            str(rng.choice(["SignFlips(3)", "SignedPermutations(3)"]))
        ]
    if choice == 1:
        return spectral.Torus(4, degree=2), finite[
            str(rng.choice(["Permutations(4)", "CyclicShifts(4)", "GeneratedPermutations"]))
        ]
    if choice == 2:
        return spectral.Torus(2, degree=5), finite["TorusTranslations([4, 3])"]
    if choice == 3:
        names = [
            "OrthogonalMatrices(cube)",
            "SignFlips(3)",
            "Negation()",
            "CyclicShifts(3).times(Negation())",
            "OrthogonalMatrices(3-gon, turned)",
        ]
        return spectral.Sphere(3, degree=4), finite[str(rng.choice(names))]
    if choice == 4:
        return spectral.Sphere(2, degree=6), finite[
            str(rng.choice(["OrthogonalMatrices(quarter)", "OrthogonalMatrices(5-gon, turned)"]))
        ]
    return spectral.Sphere(4, degree=2), finite[
        str(rng.choice(["Permutations(4)", "PlaneRotations(4).then(reflection)"]))
    ]


def projection(case: Case, rng: np.random.Generator) -> None:
    """`project` is the mean of the function over the group."""
    basis, action = _manifold(rng)
    case.target = "project"
    case.group = f"{type(basis).__name__}, {action.name}"
    case.data = "coefficients"
    D = basis.n_functions_
    f = rng.standard_normal(D) * 10.0 ** float(rng.choice([0, 0, -8, 8, -300, -170, 150]))
    if rng.random() < 0.2:
        f[rng.integers(0, D)] *= 1e9
    method = str(
        rng.choice(["auto", "null_space", "closed_form", "reynolds", "components"] * 3 + ["qp"])
    )
    case.described.append(
        f"project(f, {basis!r}, {action.group!r}, method={method!r}); |f| = {np.linalg.norm(f):.1e}"
    )
    # Only groups have generators; rotations followed by a reflection are not a group.
    has_answer = action.group.is_group and bool(np.abs(f).max() < 1e149)
    case.answerable = method == "auto" and has_answer
    answer = extended(spectral.project(f, basis, action.group, method=method))
    X = basis.sample(4, random_state=int(rng.integers(1000)))
    transformed = action.moves(X, action.maps).astype(float).reshape(-1, X.shape[1])
    if isinstance(basis, spectral.Sphere):
        transformed /= np.linalg.norm(transformed, axis=1, keepdims=True)
    values = extended(basis.evaluate(transformed)).reshape(len(action.maps), len(X), D) @ extended(
        f
    )
    due = values.mean(axis=0)
    loss = 1e-6 if method == "qp" else 1e-11
    size = np.abs(extended(f)).max() * D
    case.close("mean over the group", extended(basis.evaluate(X)) @ answer, due, loss * size)
    again = extended(spectral.project(answer.astype(float), basis, action.group, method=method))
    case.close("idempotent", again, answer, loss * size)


def spectral_averaging(case: Case, rng: np.random.Generator) -> None:
    basis, action = _manifold(rng)
    n = int(rng.choice([6, 12]))
    X = basis.sample(n, random_state=int(rng.integers(1000)))
    if rng.random() < 0.4:
        X = X[np.arange(n) % (n // 2)]
    case.target = "SpectralAveraging"
    case.group = f"{type(basis).__name__}, {action.name}"
    case.data = "manifold"
    y = np.cos(3 * X[:, 0]) + 10.0 ** float(rng.choice([0, 0, 3])) * np.sin(X[:, -1])
    estimator = str(rng.choice(["ridge", "ridge", "mean", "centered"]))
    alphas = [10.0 ** rng.uniform(-6, 0)] if rng.random() < 0.6 else None
    model = spectral.SpectralAveraging(basis, action.group, estimator=estimator, alphas=alphas)
    case.described.append(repr(model))
    case.answerable = action.group.is_group
    predicted = model.fit(X, y).predict(X)
    reach = np.abs(y).max()
    transformed = np.asarray(action.moves(X, action.maps)[-1].astype(float))
    if isinstance(basis, spectral.Sphere):
        transformed /= np.linalg.norm(transformed, axis=1, keepdims=True)
    scale = max(reach, float(np.abs(model.coef_).max()))
    case.close("invariance", model.predict(transformed), predicted, 1e-9 * scale)
    if estimator != "ridge" or alphas is None:
        if estimator == "ridge":
            case.close(
                "range of the targets",
                np.clip(predicted, -5 * reach, 5 * reach),
                predicted,
                1e-6 * reach,
            )
            _spectral_units(case, model, X, y, predicted)
        return
    # The same ridge problem in terms of invariant functions: features of the reproducing kernel.
    values = extended(basis.evaluate(X)) @ extended(model.vectors_.toarray())
    constant = int(model.invariant_dimensions_[0])
    K = values[:, constant:] @ values[:, constant:].T
    if constant != 1:
        raise Skip("no constant function")
    fit = exact.Ridge.fit(K, y, alphas[0], np.full(n, Long(1) / n))
    size = max(np.sqrt(np.square(K).sum()), Long(1e-300))
    slack = 1e-11 * reach + 100 * n * Long(np.finfo(float).eps) * size * fit.sensitivity(K)[:, 0]
    case.close("prediction", predicted, fit.predict(K)[:, 0], slack)
    weights = rng.integers(1, 3, n)
    weighted = model.fit(X, y, sample_weight=weights).predict(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
    case.close("weights are copies", weighted, repeated, 1e-8 * scale)


def _spectral_units(case: Case, model: Any, X: Array, y: Array, before: Array) -> None:
    for factor in (2.0**-600, 2.0**600):
        with np.errstate(all="ignore"):
            again = model.fit(X, y * factor).predict(X) / factor
        case.close("unit of the targets", again, before, 1e-8 * np.abs(y).max())


def median_gamma(case: Case, rng: np.random.Generator) -> None:
    X = points(case, rng, int(rng.choice([1, 2, 4, 9])), int(rng.choice([1, 3])))
    kernel = str(rng.choice(["gaussian", "laplacian"]))
    case.target = f"median_gamma({kernel})"
    answer = features.median_gamma(X, kernel)
    i, j = np.triu_indices(len(X), 1)
    A = extended(X)
    if kernel == "laplacian":
        apart = np.abs(A[i] - A[j]).sum(axis=1)
    else:
        apart = 2 * np.square(A[i] - A[j]).sum(axis=1)
    median = np.median(apart) if len(apart) else Long(0)
    due = 1 / median if median else Long(1)
    if not np.isfinite(float(due)):
        raise Skip("beyond doubles")
    distance = np.sqrt(median / 2) if kernel == "gaussian" else median
    relative = 50 * unit(X) * (1 + norms(X) / max(distance, Long(1e-4000)))
    if relative > 0.5 and median:
        raise Skip("distances within rounding of the points")
    case.close("definition", answer, due, relative * due)


def gram_transformer(case: Case, rng: np.random.Generator) -> None:
    n = int(rng.choice([2, 4, 7]))
    action = an_action(rng, 0.0)
    if action.maps.shape[1] != action.d or action.shifts is not None:
        raise Skip("no linear maps of one space")
    X = points_for(case, rng, action, n)
    kernel = kernels.BestFit(kernels.Gaussian(bandwidth(rng, X)), action.group)
    repair = str(rng.choice(["clip", "flip", "shift", "nystrom"]))
    model = kernels.GramTransformer(kernel, repair)
    case.target = f"GramTransformer({repair})"
    case.group = action.name
    case.described.append(repr(model))
    K = extended(np.asarray(kernel(X), dtype=float))
    symmetric = bool(np.abs(K - K.T).max() <= 1e-6)
    K = (K + K.T) / 2
    answer = np.asarray(model.fit_transform(X))
    values, vectors = exact.eigenvalues(K)
    size = np.abs(values).max()
    slack = 50 * n * Long(np.finfo(float).eps) * size
    if repair in ("clip", "flip"):
        mended = np.maximum(values, 0) if repair == "clip" else np.abs(values)
        case.close("definition", answer, (vectors * mended) @ vectors.T, slack)
    elif repair == "shift":
        case.close("definition", answer, K - min(values.min(), 0) * np.eye(n), slack)
    lowest = np.linalg.eigvalsh((answer + answer.T) / 2)[0]
    loss = slack
    if repair == "nystrom":
        m = model.n_landmarks_
        least = np.abs(exact.eigenvalues(K[:m, :m])[0]).min()
        loss = slack * (1 + size / least)
    case.close("definite", min(lowest, 0), 0.0, loss)
    if repair in ("clip", "flip") and symmetric:
        gap = np.abs(values)[np.abs(values) > slack]
        gap = gap if len(gap) else np.array([size or Long(1)])
        # differences between calls, and between both orders of a pair
        rows = extended(np.asarray(kernel(X, X.copy()), dtype=float))
        allowed = slack * (2 + (size / gap.min() > 1e9)) + n * np.abs(rows - K).max()
        case.close("training points again", model.transform(X), answer, allowed)


def memory(case: Case, rng: np.random.Generator) -> None:
    """A kernel uses its current group and base after a change."""
    d = int(rng.choice([4, 40]))
    X = rng.standard_normal((3, d))
    first, second = rng.standard_normal((2, 2, d, d)) / d
    second[:, :2] = first[:, :2]
    second[:, -2:] = first[:, -2:]
    way = str(
        rng.choice(
            [
                "lists of arrays",
                "lists",
                "tuples",
                "arrays",
                "in place",
                "in a list, in place",
                "in a tuple, in place",
            ]
        )
    )
    forms: dict[str, Callable[[Array], Any]] = {
        "lists of arrays": list, "lists": lambda A: A.tolist(), "tuples": tuple,
        "in a list, in place": list, "in a tuple, in place": tuple,
    }  # fmt: skip
    form = forms.get(way, np.array)
    held = form(first.copy())
    made = str(rng.choice(["Average", "BestFit"]))
    kernel = getattr(kernels, made)(kernels.Gaussian(0.1), groups.LinearMaps(held))
    case.target = f"{made}, changed"
    case.group = "LinearMaps"
    case.data = f"d = {d}"
    case.described.append(way)
    kernel(X)
    if "in place" in way:
        for old, new in zip(held, second, strict=True):
            old[:] = new
    else:
        kernel.set_params(group__matrices=form(second))
    fresh = getattr(kernels, made)(kernels.Gaussian(0.1), groups.LinearMaps(second.copy()))
    case.close("as it is now", kernel(X), fresh(X), 1e-12)


TARGETS: dict[str, Callable[[Case, np.random.Generator], None]] = {
    "kernels": plain_kernel,
    "Average": average,
    "Average again": average,
    "Average once more": average,
    "Average, drawn elements": sampled_average,
    "BestFit": best_fit,
    "BestFit again": best_fit,
    "Hyperkernel": hyperkernel,
    "sets": set_kernel,
    "Locality": locality,
    "OverlapFit": overlap_fit,
    "TangentDistance": tangent_distance,
    "OrbitFourier": orbit_fourier,
    "OrbitFourier again": orbit_fourier,
    "OrbitNystroem": orbit_nystroem,
    "GroupCDF": group_cdf,
    "GroupCDF again": group_cdf,
    "MaxFilter": max_filter,
    "DilatedCDF": dilated_cdf,
    "AngularBasis": angular_basis,
    "SetFeatures": set_features,
    "RLS with a kernel": rls_kernel,
    "RLS with a kernel again": rls_kernel,
    "RLS with features": rls_features,
    "RLS, weights and copies": rls_copies,
    "leave-one-out": left_out,
    "BlockRidgeClassifier": block_ridge,
    "rls_by_cholesky": cholesky_rls,
    "kernel_ridge": ridge_of_gram,
    "project": projection,
    "SpectralAveraging": spectral_averaging,
    "median_gamma": median_gamma,
    "GramTransformer": gram_transformer,
    "memory": memory,
}


# -- running ---------------------------------------------------------------------------------------


def _take(case: Case, error: Exception) -> None:
    """Classify an error as a refusal, a crash, or a mistake of this script."""
    kind = type(error).__name__
    text = f"{error!s:.300}"
    if not _came_from_the_package(error):
        last = traceback.extract_tb(error.__traceback__)[-1]
        case.fail("MISTAKE OF THIS SCRIPT", np.inf, f"{kind} in line {last.lineno}: {text}")
    elif isinstance(error, CRASHES) or not isinstance(error, REFUSALS):
        case.fail(f"crash: {kind}", np.inf, text)
    else:
        case.refused = f"{kind}: {text}"
        if FOREIGN_WORDS.search(text):
            case.fail("a refusal in another library's words", 1, text)
        elif case.answerable and "extreme" not in case.data:
            case.fail("refused, though the answer is known", 1, text)


@contextmanager
def patience() -> Iterator[None]:
    """Stop a case after a limit of processor time, if the platform has signals."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def stop(*_: Any) -> None:
        raise Impatience

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(seed: int, index: int) -> Case:
    """Run one case and record its failures."""
    case = Case(seed, index)
    name = list(TARGETS)[index % len(TARGETS)]
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            with patience():
                TARGETS[name](case, case.rng)
        except Impatience:
            case.skipped = f"over {PATIENCE:.0f} s"
        except Skip as skip:
            case.skipped = str(skip)
        except Exception as error:
            _take(case, error)
    case.target = case.target or name
    _hear(case, caught)
    return case


def _came_from_the_package(error: Exception) -> bool:
    """Whether the error was raised in the package or in a function that it called."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(Path(frame.filename).is_relative_to(PACKAGE) for frame in frames)


def _hear(case: Case, caught: list[Any]) -> None:
    """Let warnings about a loss excuse it; NumPy warnings inside the package are failures."""
    for warning in caught:
        text = str(warning.message)
        inside = Path(str(warning.filename)).is_relative_to(PACKAGE)
        if issubclass(warning.category, RuntimeWarning) and inside:
            place = f"{Path(str(warning.filename)).name}:{warning.lineno}"
            case.fail("a RuntimeWarning of NumPy's", 1, f"{text} ({place})")
        elif LOSS.search(text) and re.search(r"\d", text):
            case.warned.append(text)
    if case.warned:
        case.failures = [
            part for part in case.failures if "crash" in part[0] or "finite" in part[0]
        ]


def failures(seed: int, indices: Any) -> dict[int, list[tuple[str, float, str]]]:
    """Failures by index of the case."""
    cases = (run(seed, int(index)) for index in indices)
    return {case.index: case.failures for case in cases if case.failures}


def report(cases: list[Case]) -> None:
    """Print cases by object and data, refusals, and failures with the command that repeats them."""
    placed = Counter(
        (case.target.split("(")[0].split(",")[0], case.data.split(",")[0]) for case in cases
    )
    columns = sorted({data for _, data in placed})
    print("\nCASES by object and data (f32 among them)")
    print(
        f"{'':28s}"
        + "".join(f"{c[:15]:>16s}" for c in columns)
        + f"{'judged':>8s}{'refused':>8s}{'told':>6s}"
    )
    for target in sorted({target for target, _ in placed}):
        mine = [c for c in cases if c.target.split("(")[0].split(",")[0] == target]
        judged = sum(not c.refused and not c.skipped for c in mine)
        numbers = "".join(f"{placed[target, c] or '':>16}" for c in columns)
        warned = sum(bool(c.warned) for c in mine)
        refused = sum(bool(c.refused) for c in mine)
        print(f"{target[:27]:28s}{numbers}{judged:8d}{refused:8d}{warned:6d}")
    _report_refusals(cases)
    _report_failures(cases)


def _report_refusals(cases: list[Case]) -> None:
    refused: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        if case.refused:
            message = re.sub(r"[\d.e+-]+", "#", case.refused)[:110]
            refused[case.target, message].append(case)
    count = sum(map(len, refused.values()))
    print(f"\nREFUSED: {count} cases, {len(refused)} messages (does each name a remedy?)")
    for (target, _), alike in sorted(refused.items(), key=lambda item: -len(item[1])):
        places = ", ".join(sorted({case.data for case in alike}))[:60]
        print(f"{len(alike):5d}  {target} | {alike[0].group} | {places} | case {alike[0].index}")
        print(f"         {alike[0].refused[:200]}")


def _report_failures(cases: list[Case]) -> None:
    kinds: dict[tuple[str, str], list[tuple[Case, float, str]]] = defaultdict(list)
    for case in cases:
        for name, excess, detail in case.failures:
            kinds[case.target, name].append((case, excess, detail))
    total = sum(bool(case.failures) for case in cases)
    print(f"\nFAILED: {total} of {len(cases)} cases, {len(kinds)} kinds")
    for (target, name), parts in sorted(kinds.items()):
        parts.sort(key=lambda part: -part[1])
        print(f"\n{target}: {name}: {len(parts)} cases")
        for data in sorted({case.data for case, _, _ in parts}):
            alike = [part for part in parts if part[0].data == data]
            case, excess, detail = alike[0]
            among = "; ".join(sorted({part[0].group for part in alike}))[:160]
            print(f"  {data}: {len(alike)} cases, up to {excess:.2g} times the tolerance; {among}")
            print(f"     {detail}")
            print(f"     python {SCRIPT} {case.seed} --case {case.index}")


def show(case: Case) -> None:
    """Print a single case with all its parts."""
    print(f"{case.target} | {case.group} | {case.data}")
    print("\n".join(case.described))
    for name, value in (("skipped", case.skipped), ("refused", case.refused)):
        if value:
            print(f"{name}: {value}")
    for text in case.warned:
        print("warned:", text)
    for failed, excess, detail in case.failures:
        print(f"WRONG {failed}: {excess:.3g} times the tolerance; {detail}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("n_cases", type=int, nargs="?", default=5000)
    parser.add_argument("--case", type=int, help="the index of a single case")
    parser.add_argument("--start", type=int, default=0, help="the first index")
    parser.add_argument("--only", default="", help="cases of objects whose name holds this")
    arguments = parser.parse_args()
    if arguments.case is not None:
        case = run(arguments.seed, arguments.case)
        show(case)
        return bool(case.failures)
    names = list(TARGETS)
    began = time.time()
    indices = range(arguments.start, arguments.start + arguments.n_cases)
    chosen = [i for i in indices if arguments.only in names[i % len(names)]]
    cases = []
    for count, index in enumerate(chosen):
        cases.append(run(arguments.seed, index))
        if sys.stderr.isatty() and count % 50 == 0:
            print(f"\r{count} of {len(chosen)}", end="", file=sys.stderr)
    report(cases)
    skipped = Counter(case.skipped for case in cases if case.skipped)
    print(f"\nskipped: {dict(skipped)}")
    print(f"seed {arguments.seed}: {len(cases)} cases in {time.time() - began:.0f} s")
    return any(case.failures for case in cases)


if __name__ == "__main__":
    sys.exit(main())
