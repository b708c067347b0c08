"""Arrays of other libraries: equal values, the same device and type, and clear errors.

array-api-strict implements exactly the array API standard, with several simulated devices; PyTorch
is the library that users have.
"""

import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import beyond
from invariance import groups as G
from invariance import kernels as K
from invariance.beyond import DilatedCDF, MaxFilter, SortedCoorbits
from invariance.core.arrays import on_host
from invariance.core.parameters import ParameterError
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem

TOLERANCE = {"float32": 3e-5, "float64": 1e-10}
#: Types with and without blocks on a device that NumPy cannot read: two of four combinations.
BOTH = pytest.mark.parametrize(("dtype", "blocked"), [("float32", False), ("float64", True)])
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((23, 12))
IMAGES = RNG.random((9, 48))
OTHERS = RNG.random((7, 48))
ANGULAR = [0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3]


@pytest.fixture
def torch():
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


def assert_same(actual, expected, points):
    """Check that values are those of NumPy, and type and device those of the points."""
    assert type(actual) is type(points)
    assert actual.dtype == points.dtype and actual.device == points.device
    assert tuple(actual.shape) == expected.shape
    tolerance = TOLERANCE[str(points.dtype).rpartition(".")[2]]
    assert_allclose(on_host(actual), expected, rtol=0, atol=tolerance * np.abs(expected).max())


def block_of(part):
    """Bytes for several blocks on every axis, or for one block."""
    return 20_000 if part else 2**28


NYSTROM = {"gamma": 0.1, "rcond": 1e-4, "random_state": 0}
FEATURES = {
    "fourier": lambda **k: OrbitFourier(G.CyclicShifts(12), 31, gamma=0.1, random_state=0, **k),
    "fourier, no group": lambda **k: OrbitFourier(None, 31, gamma=0.1, random_state=0, **k),
    "fourier, cosines and sines": lambda **k: OrbitFourier(
        G.Permutations(12), 31, n_transforms=9, gamma=0.1, form="cos_sin", random_state=0, **k
    ),
    "fourier, points": lambda **k: OrbitFourier(
        G.Permutations(12), 31, n_transforms=9, gamma=0.1, side="first", random_state=0, **k
    ),
    "fourier, angular": lambda **k: OrbitFourier(
        G.CircleAction(ANGULAR, G.VonMises(0.5), n_nodes=16), 31, gamma=0.1, random_state=0, **k
    ),
    "max filter": lambda **k: MaxFilter(G.CyclicShifts(12), 31, random_state=0, **k),
    "sorted": lambda **k: SortedCoorbits(G.CyclicShifts(12), 31, random_state=0, **k),
    "sorted, in runs": lambda **k: SortedCoorbits(
        G.Permutations(4, block=3), 31, n_ranks=5, random_state=0, **k
    ),
    "max filter, a large group": lambda **k: MaxFilter(G.Permutations(12), 31, random_state=0, **k),
    **{
        f"dilated points, {boundary}": lambda boundary=boundary, **k: DilatedCDF(
            n_features=200, boundary=boundary, random_state=0, **k
        )
        for boundary in ("cyclic", "zero")
    },
    "nystrom": lambda **k: OrbitNystroem(G.CyclicShifts(12), 11, **NYSTROM, **k),
    "nystrom, points": lambda **k: OrbitNystroem(
        G.Permutations(12), 11, n_transforms=9, side="first", **NYSTROM, **k
    ),
    "nystrom, angular": lambda **k: OrbitNystroem(
        G.CircleAction(ANGULAR, n_nodes=16), 11, **NYSTROM, **k
    ),
}


@pytest.mark.parametrize("name", FEATURES)
@BOTH
def test_features_of_tensors_agree_with_numpy(library, name, dtype, blocked, monkeypatch):
    if blocked:  # as on a device whose memory NumPy does not read
        monkeypatch.setattr("invariance.orbits.ways.arrays.on_cpu", lambda X: False)
    X = POINTS.astype(dtype)
    X[:, :3] *= not blocked  # a blank border
    tensor = library.asarray(X)
    expected = FEATURES[name]().fit(X).transform(X)
    model = FEATURES[name](block_bytes=block_of(blocked)).fit(tensor)
    assert_same(model.transform(tensor), expected, tensor)
    # a model that was fitted to NumPy arrays transforms tensors too
    assert_same(FEATURES[name]().fit(X).transform(tensor), expected, tensor)
    assert isinstance(model.transform(X), np.ndarray)


@pytest.mark.parametrize("rejection", ["redraw", "zero"])
@BOTH
@pytest.mark.parametrize("away", [False, True])
def test_cdf_features_of_tensors_count_the_same_projections(
    library, rejection, dtype, blocked, away, monkeypatch
):
    if away:  # as on a device whose memory NumPy does not read
        monkeypatch.setattr("invariance.orbits.ways.arrays.on_cpu", lambda X: False)
    X = POINTS.astype(dtype)
    tensor = library.asarray(X)
    settings = dict(n_components=9, n_bins=7, epsilon=0.1, rejection=rejection, random_state=0)
    expected = GroupCDF(G.CyclicShifts(12), **settings).fit(X).transform(X)
    model = GroupCDF(G.CyclicShifts(12), **settings, block_bytes=block_of(blocked))
    counted = model.fit_transform(tensor)
    assert type(counted) is type(tensor) and counted.dtype == tensor.dtype
    # a projection equal to a threshold may round to either side: one count in twelve
    unit = np.sqrt(model.s_ / (7 * 9)) / 12
    gap = np.abs(on_host(counted) - expected)
    assert gap.max() < 1.01 * unit and np.mean(gap > 0.01 * unit) < 2e-3


TWO, THREE = (G.Rotations((6, 8), degrees=degrees) for degrees in ([0, 20], [-20, 0, 20]))
BOTH_MOVES = TWO.then(G.Translations((6, 8), max_shift=1))
LOSING = G.Translations((6, 8), max_shift=2, boundary="zero")
QUARTERS = G.Rotations((4, 4, 3), degrees=range(0, 360, 45))
KERNELS = {
    "linear": K.Linear(),
    "polynomial": K.Polynomial(degree=4, gamma=0.02),
    "gaussian": K.Gaussian(0.1),
    "cdf": K.CDF(radius=8.0),
    "locality": K.Locality((6, 8), 3, powers=(2, 3)),
    "locality, valid and strided": K.Locality((6, 8), 3, powers=(2, 2), padding="valid", stride=2),
    "locality, three layers": K.Locality((6, 8), (3, 5), powers=(2, 2, 2)),
    "locality, mixed": K.Locality((4, 4), 3, powers=(2, 2), channels=3, mixed=True),
    "best fit, shifts": K.BestFit(K.Polynomial(4, 0.02), G.Translations((6, 8), max_shift=2)),
    "best fit, shifts that lose pixels": K.BestFit(K.Gaussian(0.2), LOSING),
    "best fit, rotations": K.BestFit(K.Polynomial(3, 0.02), THREE),
    "best fit, rotations then shifts": K.BestFit(K.Gaussian(0.1), BOTH_MOVES),
    "best fit, locality": K.BestFit(K.Locality((6, 8), 3, powers=(2, 2)), BOTH_MOVES),
    "best fit, definition": K.BestFit(K.Gaussian(0.2), G.CyclicShifts(48), method="definition"),
    "best fit, first side": K.BestFit(K.Linear(), TWO, side="first"),
    "best fit, drawn": K.BestFit(K.Gaussian(0.1), G.Permutations(48), n_transforms=7),
    "average, shifts": K.Average(K.Gaussian(0.1), G.CyclicShifts(48)),
    "average, normalised": K.Average(K.Gaussian(0.1), G.CyclicShifts(48), normalize=True),
    "average, rotations": K.Average(K.Linear(), THREE, side="second"),
    "average, first side": K.Average(K.Gaussian(0.1), TWO, side="first"),
    "average, angular": K.Average(K.Gaussian(0.1), G.CircleAction(np.repeat(np.arange(24), 2))),
    "average, sign changes": K.Average(K.Gaussian(0.1), G.SignFlips(48)),
    "average, quarter turns": K.Average(K.Gaussian(0.1), QUARTERS, side="second"),
}


@pytest.mark.parametrize("name", KERNELS)
@BOTH
def test_gram_matrices_of_tensors_agree_with_numpy(library, name, dtype, blocked, monkeypatch):
    if blocked:  # as on a device whose memory NumPy does not read
        for part in ("kernels.locality", "orbits.ways.arrays", "groups.log_cosh"):
            monkeypatch.setattr(f"invariance.{part}.on_cpu", lambda X: False)
    kernel = KERNELS[name]
    X = IMAGES.astype(dtype)
    Y = OTHERS.astype(dtype)
    X[:, :20] *= not blocked  # a blank border
    expected = kernel(X, Y)
    square = kernel(X)
    if blocked and hasattr(kernel, "block_bytes"):
        kernel = type(kernel)(**{**kernel.get_params(deep=False), "block_bytes": 20_000})
    tensor = library.asarray(X)
    other_tensor = library.asarray(Y)
    assert_same(kernel(tensor, other_tensor), expected, tensor)
    assert_same(kernel(tensor), square, tensor)


def test_shifts_of_tensors_on_other_devices_use_products(library, monkeypatch):
    tensor = library.asarray(POINTS)
    shifts = G.CyclicShifts(12)
    kernels = [kind(K.Gaussian(0.1), shifts) for kind in (K.Average, K.BestFit)]
    model = OrbitFourier(shifts, 31, gamma=0.1, random_state=0).fit(POINTS)
    expected = [take(POINTS) for take in (*kernels, model.transform)]
    monkeypatch.setattr("invariance.orbits.ways.arrays.on_cpu", lambda X: False)
    # The method for NumPy arrays.
    monkeypatch.delattr("invariance.orbits.ways.shifts.Shifts.compute")
    for take, values in zip((*kernels, model.transform), expected, strict=True):
        assert_same(take(tensor), values, tensor)


def test_mixed_and_single_precision_of_tensors(library):
    """The wider type of both points is the type of the result; `precision` does not change it."""
    wide = library.asarray(IMAGES)
    narrow = library.asarray(OTHERS.astype(np.float32))
    expected = K.Gaussian(0.1)(IMAGES, OTHERS.astype(np.float32).astype(np.float64))
    assert_same(K.Gaussian(0.1)(wide, narrow), expected, wide)
    kernel = K.BestFit(
        K.Polynomial(4, 0.02), G.Translations((6, 8), max_shift=2), precision="single"
    )
    gram = kernel(wide, library.asarray(OTHERS))
    assert gram.dtype == library.float64
    assert_allclose(on_host(gram), kernel(IMAGES, OTHERS), rtol=1e-5)


@pytest.mark.parametrize(
    "kernel", [K.Gaussian(0.5), K.CDF(radius=1000.0), K.Gaussian(0.5) + K.Gaussian(0.01)]
)
def test_distances_of_tensors_in_single_precision_keep_their_digits(library, kernel):
    """Points of clusters that lie far apart have small distances and large norms."""
    rng = np.random.default_rng(0)
    centres = 200 * rng.standard_normal((10, 6))
    X = (centres + 0.3 * rng.standard_normal((10, 6))).astype(np.float32)
    Y = (X + 0.2 * rng.standard_normal((10, 6))).astype(np.float32)
    rtol = 1e-6
    for others in (None, Y):
        expected = kernel(X.astype(float), None if others is None else others.astype(float))
        arrays = [library.asarray(points) for points in (X, others) if points is not None]
        computed = kernel(*arrays)
        assert computed.dtype == library.float32
        assert_allclose(on_host(computed), expected, rtol=rtol, atol=rtol * expected.max())


def test_means_of_tensors_that_are_zero_up_to_rounding_are_not_normalized(library):
    kernel = K.Average(K.Linear(), G.CyclicTranslations((2, 3)), normalize=True)
    X = np.random.default_rng(0).standard_normal((4, 6))
    assert_same(kernel(library.asarray(X)), kernel(X), library.asarray(X))
    # The mean over the group is the product of the sums of the pixels, here zero.
    X -= X.mean(axis=1, keepdims=True)
    with pytest.raises(
        ParameterError, match="zero up to rounding, or no number, for 4 of 4 points"
    ):
        kernel(library.asarray(X))


def test_even_powers_of_negative_products_of_tensors_warn_and_agree_with_numpy(library):
    kernel = K.BestFit(K.Polynomial(2, 1.0), G.Translations((6, 8), max_shift=1))
    X = IMAGES - 2
    Y = 2 - OTHERS
    with pytest.warns(UserWarning, match="do not commute"):
        gram = kernel(library.asarray(X), library.asarray(Y))
    with pytest.warns(UserWarning, match="do not commute"):
        expected = kernel(X, Y)
    assert_same(gram, expected, library.asarray(X))


# -- gradients -------------------------------------------------------------------------------------

WITH_GRADIENTS = [name for name in FEATURES if "dilated" not in name]


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradients_of_features_agree_with_finite_differences(torch, assert_derivatives, name):
    model = FEATURES[name](block_bytes=block_of(True)).fit(POINTS)
    tensor = torch.tensor(POINTS[:2], requires_grad=True)
    assert_derivatives(model.transform, tensor, forward=True)


@pytest.mark.parametrize("name", [n for n in KERNELS if not n.startswith(("best", "average"))])
def test_gradients_of_kernels_agree_with_finite_differences(torch, assert_derivatives, name):
    first, second = (IMAGES[:2], OTHERS[:1]) if "local" in name else (POINTS[:3], POINTS[3:5])
    X, Y = (torch.tensor(points, requires_grad=True) for points in (first, second))
    assert_derivatives(KERNELS[name], X, Y, forward=True)
    assert_derivatives(KERNELS[name], X, forward=True)


def test_gradients_of_averages_agree_with_finite_differences(torch, assert_derivatives):
    X = torch.tensor(POINTS[:3, :4], requires_grad=True)
    Y = torch.tensor(POINTS[3:5, :4])
    for group in (G.SignFlips(4), G.Negation(), G.CyclicShifts(4)):
        kernel = K.Average(K.Gaussian(0.1), group)
        assert_derivatives(partial(kernel, Y=Y), X, forward=True)


@pytest.mark.parametrize("side", ["second", "first"])
@pytest.mark.parametrize("base", [K.Gaussian(0.1), K.CDF(radius=8.0)], ids=["Gaussian", "CDF"])
def test_best_fit_by_definition_has_gradients_for_both_arguments(
    torch, assert_derivatives, side, base
):
    kernel = K.BestFit(base, G.CyclicShifts(12), side=side, method="definition")
    X = torch.tensor(POINTS[:3], requires_grad=True)
    Y = torch.tensor(POINTS[3:5], requires_grad=True)
    assert_derivatives(kernel, X, Y, forward=True)


#: One group for each method for extremes, with the method that is used without a gradient.
EXTREMES = {
    "shifts": (G.CyclicShifts(6), "correlation"),
    "shifts that lose points": (G.Translations((1, 6), 2, boundary="zero"), "correlation"),
    "sorting": (G.Permutations(6), "closed form"),
    "absolute values": (G.SignFlips(6), "closed form"),
    "both": (G.SignedPermutations(4), "closed form"),
    "side by side": (G.DirectProduct([G.Permutations(3), G.SignFlips(3)]), "closed form"),
    "matching": (G.Permutations(3, block=2), None),
    "rotations": (G.Rotations((2, 3), degrees=[0, 20, 90]), "product"),
    "circle": (G.CircleAction([0, 0, 1, 1, 2, 2], n_nodes=16), "circle"),
}


@pytest.mark.filterwarnings("ignore:.*do not commute")
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("base", [K.Gaussian(0.1), K.Polynomial(2, 1.0), None], ids=repr)
def test_an_extreme_has_the_gradient_at_the_element_that_attains_it(torch, name, base):
    group, way = EXTREMES[name]
    d = group.n_features
    X = torch.tensor(POINTS[:5, :d], requires_grad=True)
    Y = torch.tensor(POINTS[5:8, :d])
    if base is None:
        model = MaxFilter(group, 3, templates=Y.numpy()).fit(X.detach().numpy())
        function = model.transform
        explained = model.explain(X.detach().numpy())
    else:
        kernel = K.BestFit(base, group)
        function = partial(kernel, Y=Y)
        explained = kernel.explain(X.detach().numpy(), Y.numpy())
    assert way in (None, explained.way)
    # The definition: the largest value over all elements.
    values = []
    for element in group.quadrature()[0]:
        transformed = torch.tensor(group.act(element[None], Y.numpy())[0].reshape(3, d))
        inner = X @ transformed.T
        if isinstance(base, K.Gaussian):
            inner = torch.exp(-0.1 * ((X[:, None] - transformed) ** 2).sum(axis=2))
        values.append((1 + inner) ** 2 if isinstance(base, K.Polynomial) else inner)
    expected = torch.stack(values).max(axis=0).values
    actual = function(X)
    weights = torch.tensor(RNG.standard_normal(tuple(actual.shape)))
    (gradient,) = torch.autograd.grad((weights * actual).sum(), X)
    (expected_gradient,) = torch.autograd.grad((weights * expected).sum(), X)
    assert_allclose(actual.detach(), expected.detach(), rtol=1e-10)
    assert_allclose(gradient, expected_gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("group", [G.Permutations(30, block=2), beyond.Rotations3D()], ids=repr)
def test_extremes_over_elements_that_cannot_be_listed_have_a_gradient(
    torch, assert_derivatives, group
):
    points = RNG.standard_normal((3, 60))
    tensor = torch.tensor(points[:1], requires_grad=True)
    for function in (
        lambda X: K.BestFit(K.Gaussian(0.01), group)(X, torch.tensor(points)),
        MaxFilter(group, 3, random_state=0).fit(points).transform,
    ):
        assert_derivatives(function, tensor)
        assert_allclose(function(tensor).detach(), function(tensor.detach()), rtol=1e-9)


#: Functions of tensors (n, 48) without a gradient, because they use NumPy or count.
WITHOUT_GRADIENT = {
    "dilated points": lambda X: FEATURES["dilated points, zero"]().fit(POINTS).transform(X[:, :12]),
    "cdf features": lambda X: GroupCDF(None, 5, random_state=0).fit(IMAGES).transform(X),
    **{
        f"{model.__name__}.fit": lambda X, model=model: model(None, 5, random_state=0).fit(X)
        for model in (OrbitFourier, OrbitNystroem, GroupCDF)
    },
    "fit_transform": lambda X: OrbitFourier(None, 5, random_state=0).fit_transform(X),
}


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_a_gradient_that_would_be_lost_is_refused(torch, name):
    function = WITHOUT_GRADIENT[name]
    message = r"has no gradient.*pass X\.detach\(\)"
    tensor = torch.tensor(IMAGES, requires_grad=True)
    with pytest.raises(ValueError, match=message):
        function(tensor)
    # requires_grad does not reveal gradients of torch.func and of forward mode
    with pytest.raises(ValueError, match=message):
        torch.func.grad(function)(tensor.detach())
    with pytest.raises(ValueError, match=message):
        torch.func.jvp(function, (tensor.detach(),), (torch.ones_like(tensor),))
    function(tensor.detach())
    with torch.no_grad():
        function(tensor)
    with torch.inference_mode():
        function(tensor)


# -- errors ----------------------------------------------------------------------------------------

TAKERS = {
    "Gaussian": lambda X: K.Gaussian(0.1)(X),
    "BestFit": lambda X: K.BestFit(K.Linear(), G.CyclicShifts(12))(X),
    "OrbitFourier": lambda X: OrbitFourier(None, 5, random_state=0).fit(POINTS).transform(X),
    "GroupCDF": lambda X: GroupCDF(None, 5, random_state=0).fit(POINTS).transform(X),
}
INTEGERS = np.arange(24).reshape(2, 12)
#: Points of any library, with the message about them.
INVALID = {
    "integers": (INTEGERS, r"X is of type .*int64.*asarray\(X, dtype=.*float32"),
    "one axis": (POINTS[0], r"X needs shape \(n, d\), got shape \(12,\)"),
    "none": (POINTS[:0], r".*got shape \(0, 12\)"),
    "NaN": (np.where(POINTS == POINTS[2, 3], np.nan, POINTS), "X contains NaN or infinity"),
}


@pytest.mark.parametrize("name", TAKERS)
def test_invalid_tensors_are_refused(library, name):
    for points, message in INVALID.values():
        with pytest.raises((TypeError, ValueError), match=f"{name}: {message}"):
            TAKERS[name](library.asarray(points))
    if name in ("OrbitFourier", "GroupCDF"):
        with pytest.raises(ValueError, match="X has 7 features, but 12 are expected"):
            TAKERS[name](library.asarray(POINTS[:, :7]))
    if library.__name__ == "torch":
        tensor = library.asarray(POINTS)
        for odd in (tensor.to_sparse(), tensor.to_sparse_csr(), tensor.to("meta")):
            with pytest.raises(TypeError, match=f"{name}: X has no values to look at: make it den"):
                TAKERS[name](odd)


def test_arrays_of_two_libraries_are_refused_with_the_way_to_convert_them(library):
    tensor = library.asarray(POINTS)
    best = K.BestFit(K.Linear(), G.CyclicShifts(12))
    for kernel, unsupported in ((K.Gaussian(0.1), POINTS.tolist()), (best, POINTS)):
        kind = type(unsupported).__name__
        remedy = rf"{library.__name__}\.asarray\(numpy\.asarray"
        for points, (bad, good) in (((tensor, unsupported), "YX"), ((unsupported, tensor), "XY")):
            message = rf"{bad} is a {kind}; .*{remedy}\({bad}\), .*={good}"
            with pytest.raises(TypeError, match=message):
                kernel(*points)
    # the remedy of the message
    remedy = library.asarray(np.asarray(POINTS.tolist()), dtype=tensor.dtype, device=tensor.device)
    assert_same(K.Gaussian(0.1)(tensor, remedy), K.Gaussian(0.1)(POINTS, POINTS), tensor)


def test_two_devices_are_refused_and_results_stay_on_the_device_of_the_points():
    strict = pytest.importorskip("array_api_strict")
    tensor = strict.asarray(POINTS, device=strict.Device("device1"))
    with pytest.raises(ValueError, match="Gaussian: Y is on device .*device1.* and X on .*: move"):
        K.Gaussian(0.1)(strict.asarray(POINTS), tensor)
    assert K.Gaussian(0.1)(tensor).device == tensor.device
    for kind in (OrbitFourier, GroupCDF):
        model = kind(G.CyclicShifts(12), 5, random_state=0).fit(POINTS)
        assert model.transform(tensor).device == tensor.device


class Overlap(K.Kernel):
    """The sum of the smaller entries, by NumPy."""

    def _gram(self, X, Y):
        return np.minimum(X[:, None], X if Y is None else Y).sum(axis=2)


@pytest.mark.parametrize("kernel", [Overlap(), K.BestFit(Overlap(), G.CyclicShifts(12))], ids=repr)
def test_kernels_that_need_numpy_refuse_tensors(library, kernel):
    tensor = library.asarray(POINTS)
    message = r"Overlap takes NumPy arrays only; pass (X.detach\(\)|numpy.asarray\(X\))"
    with pytest.raises(TypeError, match=message):
        kernel(tensor)
    model = OrbitNystroem(None, 5, kernel=Overlap(), random_state=0).fit(tensor)
    with pytest.raises(TypeError, match=message):
        model.transform(tensor)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    strict = pytest.importorskip("array_api_strict")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    message = r"needs array-api-compat, .*\"\.\[arrays\]\""
    with pytest.raises(ImportError, match=message) as caught:
        K.Gaussian(0.1)(strict.asarray(POINTS))
    assert caught.value.name == "array_api_compat"


def test_sets_of_another_library_have_values_in_that_library(library):
    sets = RNG.standard_normal((5, 6, 3))
    sets[0, 4:] = np.nan  # This set has four points.
    foreign = library.asarray(sets)
    set_kernel = beyond.SetKernel(K.Gaussian(0.3))
    for kernel in (set_kernel, K.Hyperkernel(set_kernel, 0.5)):
        assert_same(kernel(foreign), kernel(sets), foreign)
        assert_same(kernel(foreign, foreign[:2, ...]), kernel(sets, sets[:2]), foreign)
        assert_same(kernel(sets, foreign), kernel(sets, sets), foreign)
    features = beyond.SetFeatures(OrbitFourier(None, 10, gamma=0.1, random_state=0)).fit(sets)
    assert_same(features.transform(foreign), features.transform(sets), foreign)


def test_gradients_of_sets_are_refused_instead_of_lost(torch):
    sets = torch.ones((2, 3, 2), dtype=torch.float64, requires_grad=True)
    features = beyond.SetFeatures(OrbitFourier(None, 4, random_state=0)).fit(np.ones((2, 3, 2)))
    for values in (beyond.SetKernel(K.Gaussian()), features.transform):
        with pytest.raises(ValueError, match="has no gradient"):
            values(sets)
