"""Every line of the cheat sheet through every object that takes it, or refused with the remedy."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from invariance import beyond, features, groups, kernels, spectral
from invariance.beyond import MaxFilter
from invariance.features import GroupCDF, OrbitFourier
from invariance.kernels import Average, BestFit, Gaussian

SHEET = (Path(__file__).parents[1] / "notebooks/pages/cheatsheet.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| [^|]+? \| `([^`]+)` \| `([^`]+)` \|$", SHEET, re.MULTILINE)

METHODS = {
    "Average": lambda group: Average(Gaussian(0.1), group),
    "BestFit": lambda group: BestFit(Gaussian(0.1), group),
    "OrbitFourier": lambda group: OrbitFourier(group, 5, random_state=0),
    "GroupCDF": lambda group: GroupCDF(group, 5, n_bins=3, random_state=0),
    "MaxFilter": lambda group: MaxFilter(group, 5, random_state=0),
}

#: Neither elements to list nor a rule of nodes: only draws.
NO_RULE = "infinitely many elements and cannot be listed; draw some .* n_transforms="
#: What is refused, by the line's code and the method.
REFUSALS = {
    **{("Affine((28, 28), Normal(0.2), scaling=LogNormal(0.1))", m): NO_RULE for m in METHODS},
    **{("SortedNoise(5, 1.0)", method): NO_RULE for method in METHODS},
    ("Rotations((28, 28), density=VonMises(9.0))", "BestFit"): NO_RULE,
}


def _names() -> dict:
    rng = np.random.default_rng(0)
    names = {"np": np, "n": 3}
    for package in (beyond, features, groups, kernels, spectral):
        names |= {name: getattr(package, name) for name in package.__all__}
    positions = rng.standard_normal((4, 5, 3))
    distances = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=3)
    adjacency = np.triu(rng.random((4, 6, 6)) < 0.5, 1)
    return names | {
        "images": rng.random((3, 28 * 28)),
        "sets": [rng.standard_normal((m, 2)) for m in (3, 5, 4, 6)],
        "positions": positions,
        "charges": np.full((4, 5), 6),
        "coulomb": np.where(np.eye(5), 36.9, 36 / (distances + np.eye(5))).reshape(4, -1),
        "graphs": (adjacency + adjacency.swapaxes(1, 2)).astype(float),
    }


def _evaluated(code: str, points: str):
    if "PitchSpeed" in code:
        pytest.importorskip("pedalboard")
    names = _names()
    X = eval(points, names)
    if isinstance(X, tuple):
        X = np.random.default_rng(1).random(X)
    few = {"PitchSpeed((4000,))": 1, "Rotations((28, 28), density=VonMises(9.0))": 2}
    return eval(code, names), X[: few.get(code, 3)]


def _is_group(code: str) -> bool:
    """Whether a line of the sheet names a group: the others name an object that is complete."""
    return not re.match(r"\w*Kernel|\w+Features|OverlapFit|DilatedCDF|Average|Spectral|Hyper", code)


CASES = [
    (code, points, method)
    for code, points in LINES
    for method in (METHODS if _is_group(code) else ["itself"])
]


def _values(method, X):
    """Kernel matrix, features, or predictions."""
    if hasattr(method, "transform"):
        return method.fit(X).transform(X)
    if hasattr(method, "predict"):
        return method.fit(X, np.cos(X).sum(axis=1)).predict(X)
    return method(X)


def _seeded(method):
    """The method with every seed that is open set to 0."""
    seeds = [name for name in method.get_params() if name.split("__")[-1] == "random_state"]
    return method.set_params(**dict.fromkeys(seeds, 0))


def _used(method, X):
    """Values, and what a copy of the fitted, and a fitted copy of the method, give."""
    values = _values(method, X)
    restored = pickle.loads(pickle.dumps(method))
    if hasattr(restored, "transform"):
        again = restored.transform(X)
    elif hasattr(restored, "predict"):
        again = restored.predict(X)
    else:
        again = restored(X)
    if hasattr(method, "explain"):
        explanation = method.explain(X)
        assert explanation.operations > 0 and explanation.way
    return values, again, _values(clone(method), X)


def test_the_sheet_has_its_lines():
    assert len(LINES) >= 40 and len(CASES) > 150
    assert {code for code, _ in REFUSALS} <= {code for code, _ in LINES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("code", "points", "method"), CASES)
def test_every_line_works_or_says_why_not(code, points, method):
    found, X = _evaluated(code, points)
    assert hasattr(found, "act") == _is_group(code)
    user = _seeded(METHODS[method](found) if method in METHODS else found)
    refusal = REFUSALS.get((code, method))
    if refusal is not None:
        with pytest.raises(ValueError, match=refusal):
            _used(user, X)
        return
    values, again, cloned = _used(user, X)
    assert len(values) == len(X) and np.isfinite(values).all()
    assert np.array_equal(values, again)
    assert np.array_equal(values, cloned)


#: Groups of the sheet whose actions are exact and whose measure is uniform.
INVARIANT = [
    (code, points)
    for code, points in LINES
    if re.match(r"PlaneR|Rotations3D|Orthogonal|OnPoints|CircleA|CyclicS|Perm|Wreath|Neg", code)
    and "then(SignFlips" not in code
]


@pytest.mark.parametrize(("code", "points"), INVARIANT)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_that_is_not_invariant_passes_in_silence(code, points, method):
    """Points moved by a random element have the same values, or a warning tells how far off."""
    group, X = _evaluated(code, points)
    if (code, method) in REFUSALS:
        pytest.skip("refused")
    whole = {"PlaneRotations(16)": "PlaneRotations()", "Rotations3D(4)": "Rotations3D()"}
    mover = group
    for rule, infinite in whole.items():
        if code.startswith(rule):
            mover = eval(code.replace(rule, infinite), _names())
    transformed = np.stack(
        [mover.act(mover.sample(1, i), X[i : i + 1])[0, 0] for i in range(len(X))]
    )
    user = _seeded(METHODS[method](group))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if hasattr(user, "fit"):
            values = user.fit(X).transform(X)
            others = user.transform(transformed)
        else:
            values = user(X, X)
            others = user(transformed, X)
    tolerance = getattr(user, "tolerance", 1e-9)
    error = np.linalg.norm(others - values) / np.linalg.norm(values)
    told = any(re.search("nodes", str(each.message)) for each in caught)
    if method == "BestFit" and mover is not group:  # the largest over the nodes, as they stand
        return
    assert error <= 2 * tolerance or told, error
