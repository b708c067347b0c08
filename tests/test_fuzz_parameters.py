"""Every public object, with random invalid values in one or two of its parameters.

Each example builds an object of groups, kernels, features, linear, spectral or datasets and uses it
on a few points. It must raise a ValueError or TypeError that names the parameter and its value, or
give a finite result of the right shape, within a second.

``INVARIANCE_FUZZ=200`` tests 200 random examples of each object instead of a few fixed ones.
"""

from __future__ import annotations

import inspect
import os
import re
import time
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import invariance.features as features
import invariance.groups as groups
import invariance.kernels as kernels
import invariance.spectral as spectral

EXAMPLES = int(os.environ.get("INVARIANCE_FUZZ", "0"))
SECONDS = 1.0
PACKAGES = ("groups", "kernels", "features", "linear", "spectral", "datasets")
#: Names that cannot be built or called, come from other packages, or need downloads.
LEFT_OUT = {
    "groups.Grid",
    "beyond.PitchSpeed",  # needs Pedalboard; SpectrogramPitchSpeed has the same parameters
    *("beyond.plot_" + name for name in ("alignment", "along_orbit", "orbit")),  # they draw
    *("kernels." + name for name in ("GramReport", "Kernel", "TANGENTS")),
    *("linear.CholeskyRLS", "linear.solve_ridges"),  # numerical functions without validation
    *("spectral." + name for name in ("Eigenspace", "Expansion", "OracleCalls")),
    *("datasets." + name for name in ("Dataset", "DatasetInfo", "available", "download")),
}

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 4))
IMAGES = RNG.random((6, 36))
Y = np.arange(8) % 2
GRAM = X @ X.T + np.eye(8)
COULOMB = {"matrices": GRAM[:4, :4][None]}
DIGITS = {"images": RNG.random((6, 28, 28)), "labels": Y[:6]}
SHIFTS = groups.CyclicShifts(4)

#: Valid values of parameters by name, unless `OF_ONE` has a value for the object.
BY_NAME: dict[str, Any] = {
    **dict(group=SHIFTS, base=kernels.Gaussian(0.5)),
    **dict(basis=spectral.Sphere(4, 2), shape=(6, 6), n=4, n_features=4, n_atoms=3),
    **dict(n_components=3, n_templates=3, n_bands=5, n_speakers=1, repetitions=1),
    **dict(degree=2, gamma=0.5, epsilon=0.2, density=groups.VonMises(2.0), X=X, y=Y, target=Y),
    **dict(labels=Y, gram=GRAM, alpha=0.1, alphas=[0.1, 1.0], random_state=0),
    **dict(d=5, sigma=1.0, s=2.0, bound=1.0, noise=0.1, n_points=10, n_elements=10, loss="hinge"),
}
#: Valid values of parameters of single objects.
OF_ONE: dict[str, dict[str, Any]] = {
    "groups.CircleAction": {"frequencies": [0, 1, 1], "n_nodes": 5},
    "groups.Composition": {"first": SHIFTS, "second": groups.SignFlips(4)},
    "groups.Translations": {"shape": (5, 5), "max_shift": 2},
    "groups.Rotations": {"degrees": [0, 90, 30]},
    "groups.Affine": {"rotation": groups.VonMises(9.0)},
    "groups.DirectProduct": {"factors": [SHIFTS, groups.SignFlips(2)]},
    "beyond.Wreath": {"inner": groups.Permutations(2), "outer": groups.CyclicShifts(2)},
    "groups.GeneratedPermutations": {"permutations": [[1, 2, 0, 3]]},
    "groups.LinearMaps": {"matrices": RNG.standard_normal((3, 2, 4))},
    "groups.OrthogonalMatrices": {"matrices": [[[0.0, -1.0], [1.0, 0.0]]]},
    "groups.OnPoints": {"group": groups.SignFlips(2), "n_coordinates": 2},
    "groups.TorusTranslations": {"orders": [4, 1]},
    "groups.Uniform": {"low": -1.0, "high": 1.0},
    **{f"groups.{name}_coulomb": COULOMB for name in ("check", "sort")},
    **{f"groups.coulomb_{name}": COULOMB for name in ("eigenvalues", "triangle")},
    "beyond.mel_frequencies": {"low": 100.0, "high": 4000.0},
    "kernels.Locality": {"window": 3},
    "kernels.OnColumns": {"columns": [0, 2]},
    "kernels.BestFit": {"group": groups.Translations((6, 6), 1)},
    "kernels.Average": {"n_transforms": 3},
    **{
        f"kernels.{name}": {"n_coordinates": 2}
        for name in ("SetKernel", "MatchingKernel", "REMatchKernel")
    },
    "beyond.SetFeatures": {"n_coordinates": 2},
    "beyond.pad_sets": {"sets": [X[:3], X[3:6]]},
    "beyond.unpad_sets": {"X": X.reshape(4, 2, 4)},
    "beyond.patch_sets": {"images": IMAGES, "size": 3},
    "beyond.atom_environments": {"positions": X[None, :, :3], "charges": Y[None] + 1},
    "features.AngularBasis": {"shape": (8, 8)},
    "beyond.DilatedCDF": {"n_features": 84},
    "beyond.graph_nodes": {"A": np.ones((8, 8)) - np.eye(8), "X": X},
    "beyond.PatchPooling": {"size": 3},
    "beyond.Scattering": {"shape": (8, 8)},
    "features.OrbitNystroem": {"n_transforms": 3},
    "features.draw_frequencies": {"kernel": "gaussian"},
    "features.draw_templates": {"kind": "gaussian"},
    "features.draw_windowed_templates": {"width": 2.0},
    "beyond.Product": {"factors": [spectral.Circle(), spectral.Circle()], "degree": 2.0},
    "spectral.SpectralAveraging": {"cutoff": None, "smoothness": None},
    "spectral.invariance_discrepancy": {"function": lambda points: points[:, 0]},
    "spectral.project": {"coefficients": np.ones(spectral.Sphere(4, 2).n_functions_)},
    "spectral.sobolev_target": {"smoothness": 2.0},
    "datasets.balanced_sample": {"per_class": 2},
    "datasets.deform_images": {"images": RNG.random((3, 8, 8))},
    "datasets.fixed_length": {"waves": [np.ones(5), np.ones(7)], "n_samples": 6},
    "datasets.make_rotated_mnist": DIGITS | {"n_train": 3, "n_test": 3},
    "datasets.make_rotated_on_canvas": DIGITS | {"canvas": 40},
    "datasets.make_translated_mnist": DIGITS,
    "datasets.make_xperm": {"length": 2, "alphabet": 3},
}


def _opaque(value: Any) -> Any:
    return value


WRONG = [
    *(None, True, -1, 0, 1, 2, 1.5, -0.5, 10**30, 1e300, 1e-300, -1e300, 1e30, 1e16, 1e-30),
    *(5e-324, 1.7e308, 10**12, 2**63 - 1, -(2**63), 10**400, [1e300], [1e-300, 1e300]),
    *([10**30], (10**12, 10**12), np.full((8, 4), 1e300), np.full((8, 4), 1e160)),
    *(np.zeros((8, 4)), groups.Normal(1e300), kernels.Gaussian(1e300)),
    *(kernels.Gaussian(1e-300), float("nan"), float("inf"), float("-inf"), 1j, "", "all"),
    *("cos", b"bytes", [], (), {}, set(), [None], ["a", "b"], [1, "a"], [[1.0], [1.0, 2.0]]),
    *([float("nan")], [float("inf"), 1.0], (0, 0), (-1, 3), (1.5, 2.5), (1, 2, 3), (3, 3)),
    *([[0.5, 0]], [[1, 1, 1, 1]], [0, 1, 1, 1], np.array([]), np.array(2.0), np.zeros((0, 4))),
    *(np.zeros((2, 0)), np.full((8, 4), np.nan), np.ones((3, 3, 3)), np.array([[1 + 1j]])),
    *(np.array(["a"]), object(), dict, groups.CyclicShifts, groups.CyclicShifts(4)),
    *(groups.CyclicShifts(5), groups.Normal(), kernels.Gaussian, kernels.Gaussian()),
    *(features.OrbitFourier(), spectral.Sphere(3, 2), _opaque, sparse.eye(4).tocsr()),
]
values = st.one_of(
    st.sampled_from(WRONG),
    st.floats(-3, 3),
    st.integers(-3, 3),
    st.text(max_size=4),
    st.lists(st.one_of(st.none(), st.integers(-2, 4), st.floats(-2, 4)), max_size=4),
)


def public() -> list[str]:
    """Every public name that these tests build or call."""
    names = []
    for package in PACKAGES:
        module = import_module(f"invariance.{package}")
        exported = getattr(module, "__all__", None) or [
            name
            for name, made in vars(module).items()
            if getattr(made, "__module__", "") == module.__name__ and name[0] != "_"
        ]
        names += [f"{package}.{name}" for name in exported]
    return [name for name in names if name not in LEFT_OUT and _is_built(name)]


def _is_built(name: str) -> bool:
    package, _, attribute = name.rpartition(".")
    made = getattr(import_module(f"invariance.{package}"), attribute)
    warns = inspect.isclass(made) and issubclass(made, BaseException)
    return not (warns or inspect.isabstract(made) or name.startswith("datasets.load_"))


def target(name: str) -> tuple[Any, dict[str, Any]]:
    """A class or function with valid values of its parameters."""
    package, _, attribute = name.rpartition(".")
    made = getattr(import_module(f"invariance.{package}"), attribute)
    special = OF_ONE.get(name, {})
    valid = {}
    for parameter, declared in inspect.signature(made).parameters.items():
        if parameter in special:
            valid[parameter] = special[parameter]
        elif parameter in BY_NAME:
            valid[parameter] = BY_NAME[parameter]
        elif declared.default is inspect.Parameter.empty:
            raise LookupError(f"{name} needs {parameter}: give a valid value in OF_ONE or BY_NAME")
        else:
            valid[parameter] = declared.default
    return made, valid


class InvalidResult(Exception):
    """A result that is not finite or has a wrong shape."""


def _check_result(name: str, value: Any, shape: tuple[int | None, ...] | None = None) -> None:
    """Check that all numbers in a result are finite and have the expected shape."""
    if isinstance(value, dict) or hasattr(value, "__dataclass_fields__"):
        value = list(value.values() if isinstance(value, dict) else vars(value).values())
    if isinstance(value, (list, tuple)) and shape is None:
        for part in value:
            _check_result(name, part)
        return
    value = value.toarray() if sparse.issparse(value) else value
    if not isinstance(value, (np.ndarray, float, int, np.number)):
        return
    array = np.asarray(value)
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise InvalidResult(
            f"{name} is not finite: {array.ravel()[~np.isfinite(array.ravel())][0]}"
        )
    due = array.shape if shape is None else shape
    if len(due) != array.ndim or any(
        a not in (None, b) for a, b in zip(due, array.shape, strict=True)
    ):
        raise InvalidResult(f"{name} has shape {array.shape}, expected {shape}")


def _n_features(thing: Any, default: int) -> int:
    """Number of features of points for an object; `default` if the object does not state it."""
    n = getattr(thing, "n_features", None)
    if isinstance(n, int) and not isinstance(n, bool) and n >= 1:
        return n
    # The object has no number of features, or it refuses its number for any points.
    shape = getattr(thing, "shape", None)
    if isinstance(shape, tuple) and len(shape):
        return 36
    n = getattr(getattr(thing, "group", None), "n_features", None)
    return n if isinstance(n, int) else default


def _points(thing: Any, name: str) -> np.ndarray:
    """A few points with the shape that an object requires."""
    rng = np.random.default_rng(0)
    if name in ("features.AngularBasis", "beyond.Scattering"):
        return rng.random((4, 64))
    if name in ("groups.SortedNoise", "groups.AtomPermutations"):
        n = thing.n_features
        side = round(n**0.5)
        return np.array([x + x.T for x in rng.standard_normal((4, side, side))]).reshape(4, n)
    fixed_shapes = {"beyond.LogMel": (3, 400), "beyond.Rotations3D": (8, 12)}
    if name in fixed_shapes:
        return rng.standard_normal(fixed_shapes[name])
    n = _n_features(thing, default=12 if name.startswith("groups.") else 4)
    if n > 10_000:
        return np.zeros((1, 1))  # refused because of its width
    points = rng.standard_normal((8, n))
    if name.startswith("spectral.") and "Torus" not in name and "Circle" not in name:
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points


def _use_basis(name: str, basis: Any) -> None:
    size = basis.n_functions_  # validates the parameters before points are drawn
    width = {"spectral.Circle": 1, "beyond.Product": 2}.get(name, 0) or basis.n_features
    if not isinstance(width, int) or width is True or width <= 0:
        width = 4
    points = _points(basis, name)[:, :1].repeat(width, axis=1)
    if name == "spectral.Sphere":
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    _check_result("evaluate", basis.evaluate(points), (8, size))


def _use_group(name: str, group: Any) -> None:
    points = _points(group, name)
    transformed = group.act(group.sample(3, random_state=0), points)
    _check_result("act", transformed, (3, len(points), None))
    order = group.order
    if order < 1:
        raise InvalidResult(f"order is {order}")
    if order <= 1000:
        elements, weights = group.quadrature()
        if len(elements) != order or abs(weights.sum() - 1) > 1e-9:
            sizes = f"{len(elements)} elements of {order}"
            raise InvalidResult(f"{sizes}, weights add to {weights.sum()}")
    for flag in (group.unitary, group.symmetric, group.is_group):
        if flag not in (True, False):
            raise InvalidResult(f"a property is {flag!r}")


def _use_density(density: Any) -> None:
    _check_result("sample", density.sample(5, 0), (5,))
    _check_result("pdf", density.pdf([0.1, 0.2]), (2,))
    if density.symmetric not in (True, False):
        raise InvalidResult(f"symmetric is {density.symmetric!r}")


def _use_estimator(name: str, estimator: Any) -> None:
    points = _points(estimator, name)
    estimator.fit(points, Y[: len(points)])
    if hasattr(estimator, "predict"):
        # Labels may have any type; numbers are finite.
        _check_result("predict", estimator.predict(points), (len(points),))
    else:
        _check_result("transform", estimator.transform(points), (len(points), None))


def use(name: str, thing: Any) -> None:
    """Use an object for its purpose, and check the result."""
    if name in ("spectral.Circle", "spectral.Torus", "beyond.Product", "spectral.Sphere"):
        _use_basis(name, thing)
    elif hasattr(thing, "act") and hasattr(thing, "sample"):
        _use_group(name, thing)
    elif hasattr(thing, "pdf") and hasattr(thing, "sample"):
        _use_density(thing)
    elif hasattr(thing, "diag") and callable(thing):
        points = _points(thing, name)
        _check_result("kernel", thing(points[:5], points), (5, len(points)))
        _check_result("diag", thing.diag(points), (len(points),))
    elif hasattr(thing, "fit"):
        _use_estimator(name, thing)
    else:
        _check_result("the result", thing)


#: Names of data arguments, and messages of scikit-learn and NumPy about data.
DATA = ("A", "X", "y", "gram", "labels", "margins", "target", "train", "test")
OF_DATA = (
    *("Expected 2D array", "Found array", "Input ", "Found input variables", "Expected n_"),
    *("could not convert string to float", "float() argument must be a string or a real number"),
    *("setting an array element with a sequence", "Sparse data was passed", "Complex data not"),
)


def _names(message: str, parameter: str, value: Any) -> bool:
    """Whether a message names a parameter, or the class of its value."""
    text = message.lower().replace("_", " ")
    words = parameter.lower().replace("_", " ").removesuffix("s")
    if re.search(rf"\b{re.escape(words)}(s|es)?\b", text):
        return True
    if parameter in DATA and message.startswith(OF_DATA):
        return True
    return type(value).__module__.startswith("invariance") and type(value).__name__ in message


def _tokens(parameter: str, value: Any) -> list[str]:
    """Texts for a value; a message has to contain one of them."""
    shown = [" ".join(form(value).split())[:12] for form in (repr, str)]
    if isinstance(value, type):
        shown.append(value.__name__)
    elif type(value).__module__.startswith("invariance"):
        shown.append(type(value).__name__)  # its message names its own parameter
    if hasattr(value, "dtype"):
        shown += [str(value.shape), str(value.dtype)]
    elif isinstance(value, (list, tuple)):
        shown += [str(len(value)), *(str(v)[:8] for v in value)]
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        with suppress(OverflowError):  # an integer with hundreds of digits
            shown += [f"{value:g}", str(float(value))]
    with suppress(ValueError, TypeError, OverflowError):
        array = np.asarray(value)  # the value as an array
        shown += [str(array)[:10], repr(array)[6:14]]
        if array.dtype.kind in "iuf" and array.size:
            shown += [np.array2string(array.ravel()[:1].astype(float))[1:-1]]
        if array.ndim or parameter in DATA:
            shown += [str(array.shape), str(array.dtype)]
    shown.append(f"object of type {type(value).__name__}")
    return [token for token in shown if token]


def _shows(message: str, parameter: str, value: Any) -> bool:
    """Whether a message contains a text for the value that is not part of a longer word."""
    patterns = (
        r"(?<![\w.])" * token[0].isalnum() + re.escape(token) for token in _tokens(parameter, value)
    )
    return any(re.search(pattern, message) for pattern in patterns)


def verdict(name: str, changes: dict[str, Any]) -> str | None:
    """Use an object with some parameters changed; return the failure, or None."""
    made, valid = target(name)
    # Default values are valid.
    ours = inspect.signature(made).parameters
    changes = {key: value for key, value in changes.items() if value is not ours[key].default}
    start = time.process_time()
    failure = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(name, made(**(valid | changes)))
    except (ValueError, TypeError) as error:
        message = str(error)
        if not any(_names(message, *change) for change in changes.items()):
            failure = f"{type(error).__name__} names no parameter: {message:.200}"
        elif not (
            message.startswith(OF_DATA) and any(parameter in DATA for parameter in changes)
        ) and not any(_shows(message, *change) for change in changes.items()):
            failure = f"{type(error).__name__} does not show the value: {message:.200}"
    except InvalidResult as error:
        failure = f"wrong answer: {error}"
    except Exception as error:
        failure = f"{type(error).__name__}: {error!s:.200}"
    seconds = time.process_time() - start
    if failure is None and seconds > SECONDS:
        failure = f"takes {seconds:.1f} s"
    return failure


NAMES = public()


def parameters(name: str) -> list[str]:
    """Names of the parameters that are tested with invalid values."""
    return [parameter for parameter in target(name)[1] if parameter != "function"]


def test_arguments_after_the_second_are_keyword_only():
    for name in (name for name in NAMES if name.startswith(("groups.", "features."))):
        signature = list(inspect.signature(target(name)[0]).parameters.values())
        assert all(p.kind is p.KEYWORD_ONLY for p in signature[2:]), name


@pytest.mark.timeout(60)  # stops a test that hangs
@pytest.mark.parametrize("name", NAMES)
def test_valid_values_work_and_invalid_values_are_named(name):
    failure = verdict(name, {})
    assert failure is None, f"{name}: {failure}"
    random_examples = EXAMPLES > 0
    if not parameters(name):
        return

    @settings(
        max_examples=EXAMPLES or 8,
        deadline=None,
        derandomize=not random_examples,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check_random_changes(data):
        changed = data.draw(
            st.lists(st.sampled_from(parameters(name)), min_size=1, max_size=2, unique=True)
        )
        changes = {parameter: data.draw(values, label=parameter) for parameter in changed}
        failure = verdict(name, changes)
        assert failure is None, f"{name}({changes}): {failure}"

    check_random_changes()
