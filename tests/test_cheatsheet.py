"""Every line of the cheat sheet does what it says on points that look like those of its row."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from invariance import evaluation, features, groups, kernels, linear, spectral

SHEET = (Path(__file__).parents[1] / "notebooks/pages/cheatsheet.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+?) \| `([^`]+)` \| (`[^`]+`|[^|]+?) \|$", SHEET, re.MULTILINE)
SYMMETRIES = [(words, code, points.strip("`")) for words, code, points in ROWS if "`" in points[:1]]
PROBLEMS = [(words, code) for words, code, points in ROWS if "`" not in points[:1]]


def _names() -> dict:
    rng, names = np.random.default_rng(0), {"np": np, "n": 4}
    for package in (evaluation, features, groups, kernels, linear, spectral):
        names |= {name: getattr(package, name) for name in package.__all__}
    R = rng.standard_normal((4, 5, 3))
    apart = np.linalg.norm(R[:, :, None] - R[:, None], axis=3) + np.eye(5)
    adjacency = np.triu(rng.random((4, 6, 6)) < 0.5, 1)
    return names | {
        "GaussianProcessRegressor": GaussianProcessRegressor,
        "images": rng.random((4, 28 * 28)),
        "sets": [rng.standard_normal((m, 2)) for m in (3, 5, 4, 6)],
        "positions": R,
        "charges": np.full((4, 5), 6),
        "coulomb": np.where(np.eye(5), 36.9, 36 / apart).reshape(4, -1),
        "graphs": (adjacency + adjacency.swapaxes(1, 2)).astype(float),
        "group": groups.CyclicShifts(8),
        "X": rng.standard_normal((40, 8)),
        "y": np.arange(40) % 2,
    }


def test_the_sheet_is_read_whole():
    lines = [line for line in SHEET.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - len(re.findall(r"^\|---", SHEET, re.MULTILINE)) >= 55
    named = " ".join(code for _, code, _ in ROWS)
    objects = "CircleAction OnPoints OrthogonalMatrices SetKernel SetFeatures Wreath Hyperkernel"
    for name in (*objects.split(), "MatchingKernel", "graph_nodes", "DilatedCDF"):
        assert name in named or f"`{name}" in SHEET
    # a forge shows it: tables and text, no directives
    assert not re.search(r"^:::|^```\{|\{doc\}|\{ref\}", SHEET, re.MULTILINE)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("words, code, points", SYMMETRIES)
def test_a_symmetry(words, code, points):
    if "PitchSpeed" in code:
        pytest.importorskip("pedalboard")
    names = _names()
    found, X = eval(code, names), eval(points, names)
    if isinstance(X, tuple):
        X = np.random.default_rng(1).random(X)
    if hasattr(found, "act"):  # a group
        moved = found.act(found.sample(2, 0), X)
        assert moved.shape == (2, *X.shape) and np.isfinite(moved).all()
    elif hasattr(found, "transform"):  # a feature map
        assert len(found.fit_transform(X)) == len(X)
    elif hasattr(found, "predict"):
        y = np.cos(X).sum(axis=1)
        assert found.fit(X, y).discrepancy(X) < 1e-10
    else:
        K = found(X)
        assert K.shape == (len(X), len(X)) and np.isfinite(K).all()
        assert np.allclose(K, K.T, atol=1e-6)


@pytest.mark.parametrize("words, code", PROBLEMS)
def test_a_problem(words, code):
    names = _names()
    X, y = names["X"], names["y"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of indefinite matrices, and of gamma at a bound
        found = eval(code, names)
        if hasattr(found, "partial_fit"):
            found.partial_fit(X, y, classes=[0, 1])
        elif hasattr(found, "fit"):
            found.fit(X, y)
    if hasattr(found, "predict"):
        assert np.isfinite(found.predict(X)).all()
    elif hasattr(found, "transform"):
        assert len(found.transform(X)) == len(X)
    elif callable(found):
        assert found(X).shape == (40, 40)
    else:
        assert re.search("interval|distortion|the data support", str(found))
