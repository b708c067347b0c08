"""The code in README.md and in the cheat sheet runs with the stated results."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Ridge

from invariance import beyond, evaluation, features, groups, kernels, linear, spectral
from invariance.groups import CyclicShifts

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
#: The code blocks of the README.
FIRST, KERNEL, TENSORS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def _printed_number(block: str) -> float:
    """The number in the comment after ``print``."""
    (number,) = re.findall(r"print\(.*\) +# about ([\d.]+)$", block, re.MULTILINE)
    return float(number)


def test_the_first_example_has_ten_lines_and_the_stated_score(capsys):
    statements = [line for line in FIRST.splitlines() if not re.match(r"from .* import|$", line)]
    assert len(statements) <= 10
    names = {}
    exec(FIRST, names)
    assert float(capsys.readouterr().out) == pytest.approx(_printed_number(FIRST), abs=0.01)
    assert f"{len(names['X']):,} sequences" in FIRST and names["X"].shape[1] == 40
    assert names["group"].order == 120 and "order 120" in FIRST
    # All letters are about equally frequent at the end of the training sequences.
    last = names["X"][names["train"]].reshape(-1, 5, 8)[:, -1].argmax(axis=1)
    assert len(set(names["train"])) == len(last) and np.ptp(np.bincount(last, minlength=8)) < 120
    # Unlabelled sequences have the same prediction with their letters in another order.
    unlabelled = np.setdiff1d(np.arange(len(names["X"])), names["train"])
    rows = np.random.default_rng(0).choice(unlabelled, 500, replace=False)
    rest = names["X"][rows]
    answer = names["model"].predict(rest)
    assert np.mean(answer == names["y"][rows]) > 0.94
    transformed = rest.reshape(-1, 5, 8)[:, ::-1].reshape(-1, 40)
    assert np.array_equal(names["model"].predict(transformed), answer)


def test_the_kernel_of_the_readme_is_invariant_in_an_svm():
    images, digit = load_digits(return_X_y=True)
    profiles = images.reshape(-1, 8, 8).sum(axis=1) / 16  # eight numbers per image, one per column
    one_or_eight = np.isin(digit, (1, 8))
    X_train = profiles[one_or_eight]
    y_train = digit[one_or_eight]
    names = {"X_train": X_train, "y_train": y_train}
    exec(KERNEL.replace("SVC(kernel", "model = SVC(kernel"), names)
    kernel = names["kernel"]
    model = names["model"]
    assert model.score(X_train, y_train) > 0.8
    shifted = np.roll(X_train, 3, axis=1)
    np.testing.assert_allclose(kernel(shifted, X_train), kernel(X_train, X_train), atol=1e-12)
    assert np.array_equal(model.predict(shifted), model.predict(X_train))


def test_features_of_tensors_are_tensors():
    torch = pytest.importorskip("torch")
    names = {"CyclicShifts": CyclicShifts}  # imported in an earlier block
    exec(TENSORS, names)
    assert isinstance(names["Z"], torch.Tensor) and names["Z"].device == names["X"].device
    on_host = names["features"].transform(names["X"].cpu().numpy())
    np.testing.assert_allclose(names["Z"].cpu().numpy(), on_host, atol=1e-4)


# -- every line of the cheat sheet, on points like those of its row --------------------------------

SHEET = (Path(__file__).parents[1] / "notebooks/pages/cheatsheet.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+?) \| `([^`]+)` \| (`[^`]+`|[^|]+?) \|$", SHEET, re.MULTILINE)
SYMMETRIES = [(words, code, points.strip("`")) for words, code, points in ROWS if "`" in points[:1]]
PROBLEMS = [(words, code) for words, code, points in ROWS if "`" not in points[:1]]


def _names() -> dict:
    rng = np.random.default_rng(0)
    names = {"np": np, "n": 4}
    for package in (beyond, evaluation, features, groups, kernels, linear, spectral):
        names |= {name: getattr(package, name) for name in package.__all__}
    R = rng.standard_normal((4, 5, 3))
    apart = np.linalg.norm(R[:, :, None] - R[:, None], axis=3) + np.eye(5)
    adjacency = np.triu(rng.random((4, 6, 6)) < 0.5, 1)
    return names | {
        "GaussianProcessRegressor": GaussianProcessRegressor,
        "Ridge": Ridge,
        "series": [rng.standard_normal((3, length)) for length in (60, 40, 50, 20)],
        "images": rng.random((4, 28 * 28)),
        "sets": [rng.standard_normal((m, 2)) for m in (3, 5, 4, 6)],
        "clouds": [rng.standard_normal((m, 3)) for m in (3, 5, 4, 6)],
        "positions": R,
        "charges": np.full((4, 5), 6),
        "coulomb": np.where(np.eye(5), 36.9, 36 / apart).reshape(4, -1),
        "graphs": (adjacency + adjacency.swapaxes(1, 2)).astype(float),
        "group": groups.CyclicShifts(8),
        "X": rng.standard_normal((40, 8)),
        "y": np.arange(40) % 2,
    }


def test_all_lines_of_the_cheat_sheet_are_tested():
    lines = [line for line in SHEET.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - len(re.findall(r"^\|---", SHEET, re.MULTILINE)) >= 55
    named = " ".join(code for _, code, _ in ROWS)
    objects = "CircleAction OnPoints OrthogonalMatrices SetKernel SetFeatures Wreath Hyperkernel"
    for name in (*objects.split(), "MatchingKernel", "graph_nodes", "DilatedCDF"):
        assert name in named or f"`{name}" in SHEET
    # plain Markdown, without directives
    assert not re.search(r"^:::|^```\{|\{doc\}|\{ref\}", SHEET, re.MULTILINE)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("words, code, points", SYMMETRIES)
def test_each_symmetry_of_the_cheat_sheet_works(words, code, points):
    if "PitchSpeed" in code:
        pytest.importorskip("pedalboard")
    names = _names()
    built = eval(code, names)
    X = eval(points, names)
    if isinstance(X, tuple):
        X = np.random.default_rng(1).random(X)
    if hasattr(built, "act"):  # a group
        transformed = built.act(built.sample(2, 0), X)
        assert transformed.shape == (2, *X.shape) and np.isfinite(transformed).all()
    elif hasattr(built, "transform"):  # a feature map
        assert len(built.fit_transform(X)) == len(X)
    elif hasattr(built, "predict"):
        assert built.fit(X, np.cos(X).sum(axis=1)).discrepancy(X) < 1e-10
    else:
        K = built(X)
        assert K.shape == (len(X), len(X)) and np.isfinite(K).all()
        assert np.allclose(K, K.T, atol=1e-6)


@pytest.mark.parametrize("words, code", PROBLEMS)
def test_each_problem_of_the_cheat_sheet_works(words, code):
    names = _names()
    X = names["X"]
    y = X if re.search("Equivariant|act_on_targets", code) else names["y"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about indefinite matrices, and gamma at a bound
        built = eval(code, names)
        if hasattr(built, "partial_fit"):
            built.partial_fit(X, y, classes=[0, 1])
        elif hasattr(built, "fit"):
            built.fit(X, y)
    if code.startswith("plot_"):
        curves = [axis.lines[0].get_ydata() for axis in built]
        assert len(curves) == 7  # The point, and six of its images.
        assert all(sorted(curve) == pytest.approx(sorted(X[0])) for curve in curves)
    elif isinstance(built, np.ndarray):
        assert len(built) == len(X)
    elif hasattr(built, "predict"):
        assert np.isfinite(built.predict(X)).all()
    elif hasattr(built, "transform"):
        assert len(built.transform(X)) == len(X)
    elif callable(built):
        assert built(X).shape == (40, 40)
    else:
        assert re.search("interval|distortion|the data support|generator", str(built))
