"""Every method works with every line of the cheat sheet, or is refused with the remedy."""

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
from invariance.kernels import Average, BestFit, Gaussian, Linear

SHEET = (Path(__file__).parents[1] / "notebooks/pages/cheatsheet.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| [^|]+? \| `([^`]+)` \| `([^`]+)` \|$", SHEET, re.MULTILINE)

METHODS = {
    "Average": lambda group: Average(Gaussian(0.1), group),
    "BestFit": lambda group: BestFit(Gaussian(0.1), group),
    "OrbitFourier": lambda group: OrbitFourier(group, 2, random_state=0),
    "GroupCDF": lambda group: GroupCDF(group, 2, n_bins=3, random_state=0),
    "MaxFilter": lambda group: MaxFilter(group, 2, random_state=0),
}

#: The group has neither a list of elements nor a quadrature.
NO_NODES = "infinitely many elements and cannot be listed; draw some .* n_transforms="
#: Messages of refused cases, by the code of the line and the method.
REFUSALS = {
    **{("Affine((28, 28), Normal(0.2), scaling=LogNormal(0.1))", m): NO_NODES for m in METHODS},
    **{("SortedNoise(5, 1.0)", method): NO_NODES for method in METHODS},
    ("Rotations((28, 28), density=VonMises(9.0))", "BestFit"): NO_NODES,
    ("SphericalCoefficients(2)", "BestFit"): NO_NODES,
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
        "series": [rng.standard_normal((3, length)) for length in (60, 40, 50)],
        "images": rng.random((3, 8 * 8)),
        "sets": [rng.standard_normal((m, 2)) for m in (3, 5, 4, 6)],
        "clouds": list(positions),
        "positions": positions,
        "charges": np.full((4, 5), 6),
        "coulomb": np.where(np.eye(5), 36.9, 36 / (distances + np.eye(5))).reshape(4, -1),
        "graphs": (adjacency + adjacency.swapaxes(1, 2)).astype(float),
    }


def _smaller(text: str) -> str:
    """The same line for smaller images and shorter sounds; `test_readme` has the sheet's sizes."""
    text = text.replace("28, 28", "8, 8").replace("28 * 28", "8 * 8")
    return text.replace("4000", "1000")


def _evaluated(code: str, points: str):
    if "PitchSpeed" in code:
        pytest.importorskip("pedalboard")
    names = _names()
    X = eval(_smaller(points), names)
    if isinstance(X, tuple):
        X = np.random.default_rng(1).random(X)
    if "VonMises" in code:
        X = 0.05 * X  # Kernels of points of small norm need few nodes.
    few = {"PitchSpeed((4000,))": 1, "Rotations((28, 28), density=VonMises(9.0))": 2}
    return eval(_smaller(code), names), X[: few.get(code, 3)]


def _is_group(code: str) -> bool:
    """Whether a line of the sheet constructs a group, not a kernel or an estimator."""
    return not re.match(
        r"\w*Kernel|\w+Features|OverlapFit|DilatedCDF|Average|Antisym|Spectral|Hyper", code
    )


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
    """The method with all its seeds set to 0."""
    seeds = [name for name in method.get_params() if name.split("__")[-1] == "random_state"]
    return method.set_params(**dict.fromkeys(seeds, 0))


def _used(method, X):
    """Values of the fitted method, of its pickled copy, and of a clone."""
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


def test_the_lines_of_the_sheet_are_found():
    assert len(LINES) >= 40 and len(CASES) > 150
    assert {code for code, _ in REFUSALS} <= {code for code, _ in LINES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("code", "points", "method"), CASES)
def test_every_line_works_or_is_refused_with_the_remedy(code, points, method):
    built, X = _evaluated(code, points)
    assert hasattr(built, "act") == _is_group(code)
    user = _seeded(METHODS[method](built) if method in METHODS else built)
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
    if re.match(
        r"PlaneR|Rotations3D|Spherical|Orthogonal|OnPoints|CircleA|CyclicS|Perm|Wreath|Neg", code
    )
    and "then(SignFlips" not in code
]


@pytest.mark.parametrize(("code", "points"), INVARIANT)
@pytest.mark.parametrize("method", METHODS)
def test_methods_are_invariant_or_warn(code, points, method):
    """Transformed points have the same values, or a warning states the error."""
    group, X = _evaluated(code, points)
    if (code, method) in REFUSALS:
        pytest.skip("refused")
    full_groups = {"PlaneRotations(16)": "PlaneRotations()", "Rotations3D(4)": "Rotations3D()"}
    mover = group
    for rule, infinite in full_groups.items():
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
            changed = user.transform(transformed)
        else:
            values = user(X, X)
            changed = user(transformed, X)
    tolerance = getattr(user, "tolerance", 1e-9)
    error = np.linalg.norm(changed - values) / np.linalg.norm(values)
    warned = any(re.search("nodes", str(each.message)) for each in caught)
    if method == "BestFit" and mover is not group:  # BestFit uses the nodes as a finite set
        return
    assert error <= 2 * tolerance or warned, error


#: Groups of the sheet that are generated by reflections.
BY_REFLECTIONS = {
    "Permutations(5)",
    "GeneratedPermutations([[1, 0, 2, 3], [0, 1, 3, 2]])",
    "SignFlips(10)",
    "SignedPermutations(4)",
    "Permutations(4).on_columns([0, 1, 2, 3])",
}


def _adversarial_points(group, d):
    """Points with ties, points near few orbits, and sums of some points of one orbit."""
    rng = np.random.default_rng(0)
    few = rng.standard_normal((4, d)) / np.sqrt(d)
    images = group.act(group.sample(20, 0), few).reshape(-1, d)
    of_one = group.act(group.sample(8, 0), few[:1])[:, 0]
    return [
        rng.integers(-1, 2, (80, d)) / np.sqrt(d),
        images + 0.01 * rng.standard_normal(images.shape),
        rng.integers(0, 2, (300, 8)) @ of_one,
        rng.standard_normal((300, 8)) @ of_one,
    ]


@pytest.mark.parametrize("base", [Linear(), Gaussian(0.1)], ids=["linear", "Gaussian"])
@pytest.mark.parametrize(("code", "points"), [line for line in LINES if _is_group(line[0])])
def test_best_fits_are_definite_where_they_say_so_and_not_where_they_deny_it(code, points, base):
    group, X = _evaluated(code, points)
    if (code, "BestFit") in REFUSALS:
        pytest.skip("refused")
    kernel = BestFit(base, group)
    answer = kernel.positive_definite
    assert (answer is True) == (code in BY_REFLECTIONS)
    if answer is None:
        return
    lowest = np.inf
    for candidates in _adversarial_points(group, X.shape[1]):
        eigenvalues = np.linalg.eigvalsh(kernel(candidates))
        lowest = min(lowest, eigenvalues[0] / eigenvalues[-1])
    assert lowest > -1e-12 if answer else lowest < -1e-6
