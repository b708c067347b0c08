"""Points far from the origin: kernels of distances keep their digits, by every way.

The definition is computed in extended precision from differences, with moved points exact or
correct to rounding of what they are made of.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from invariance import groups as G
from invariance.beyond import OverlapFit, SetKernel, TangentDistance
from invariance.features import OrbitFourier, OrbitNystroem, median_gamma
from invariance.kernels import (
    CDF,
    Average,
    BestFit,
    Gaussian,
    Hyperkernel,
    Laplacian,
    Linear,
    Polynomial,
)
from invariance.linear import RLSRegressor

SHAPE = (2, 3)
OFFSETS = (0.0, 1e3, 1e6, 1e9)
SCALES = (1e-8, 1.0, 1e8)
GROUPS = {
    "shifts": G.CyclicShifts(6),
    "shifts of blocks": G.CyclicShifts(2, block=3),
    "permutations": G.Permutations(6),
    "permutations of blocks": G.Permutations(2, block=3),
    "generated": G.GeneratedPermutations([[1, 0, 3, 2, 4, 5]]),
    "signs": G.SignFlips(6),
    "signs of two columns": G.SignFlips(2).on_columns([0, 1]),
    "signed permutations": G.SignedPermutations(3).on_columns([0, 2, 4]),
    "negation": G.Negation(),
    "images": G.CyclicTranslations(SHAPE),
    "rows of images": G.CyclicTranslations(SHAPE, axes=(1,)),
    "zeros come in": G.Translations(SHAPE, max_shift=1, boundary="zero"),
    "some shifts": G.Translations(SHAPE, shifts=[[0, 0], [0, 1], [1, 2]]),
    "one after the other": G.CyclicShifts(6).then(G.Negation()),
    "side by side": G.DirectProduct([G.Permutations(3), G.SignFlips(3)]),
    "matrices": G.OrthogonalMatrices([np.eye(6)[[1, 2, 0, 3, 4, 5]]]),
    "quarter turns": G.CircleAction([0, 0, 0, 0, 1, 1], n_nodes=4),
}


def exact(X, Z, gamma, group=None, reduce=np.mean):
    """The kernel by its definition, with differences of extended precision."""
    X, Z = (A.astype(np.longdouble) for A in (X, Z))
    if group is None:
        moved = Z[None]
    else:
        elements = group.elements()
        moved = [np.asarray(group.act(g[None], Z)).reshape(Z.shape) for g in elements]
        moved = np.array(moved).astype(np.longdouble)
    squares = np.square(X[None, :, None] - moved[:, None]).sum(axis=-1)
    return reduce(np.exp(-np.longdouble(gamma) * squares), axis=0).astype(float)


def two_sets(offset, scale, n=12, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X, Z = offset + rng.uniform(0, scale, (n, d)), offset + rng.uniform(0, scale, (n // 2, d))
    Z[:2] = X[:2]  # points that coincide
    return X, Z


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_a_gaussian_kernel_is_its_definition(offset, scale):
    X, Z = two_sets(offset, scale)
    gamma = 0.5 / scale**2
    assert_allclose(Gaussian(gamma)(X, Z), exact(X, Z, gamma), atol=1e-9)
    gram = Gaussian(gamma)(X)
    assert_allclose(gram, exact(X, X, gamma), atol=1e-9)
    assert_allclose(Gaussian(gamma).diag(X), 1)
    assert np.linalg.eigvalsh(gram)[0] > -1e-9


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("offset", OFFSETS)
def test_a_kernel_over_orbits_is_its_definition(name, offset):
    group, gamma = GROUPS[name], 0.3
    # a quarter turn by cosines is one up to rounding of the coordinates themselves
    atol = 1e-9 if name != "quarter turns" else 1e-9 + 1e-15 * offset
    side = "auto" if group.is_group else "second"
    X, Z = two_sets(offset, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name == "quarter turns" else "error")
        mean = Average(Gaussian(gamma), group, side=side)
        assert_allclose(mean(X, Z), exact(X, Z, gamma, group), atol=atol)
        assert_allclose(mean(X), exact(X, X, gamma, group), atol=atol)
        fit = BestFit(Gaussian(gamma), group)
        assert_allclose(fit(X, Z), exact(X, Z, gamma, group, np.max), atol=atol)
        assert_allclose(fit(X), exact(X, X, gamma, group, np.max), atol=atol)
        assert_allclose(fit.diag(X), 1, atol=atol)


@pytest.mark.parametrize("base", [Gaussian(0.3), RBF(0.3**-0.5 / 2**0.5)])
@pytest.mark.parametrize("kernel", [Average, BestFit])
@pytest.mark.parametrize("name", ["shifts", "negation", "permutations"])
def test_one_point_far_from_the_others_harms_none(name, kernel, base):
    group = GROUPS[name]
    X, _ = two_sets(1e6, 1.0)
    X[3] = 1e12
    X[4] = X[3] + np.linspace(0, 1, 6).round(3)
    X[5] = -1e9
    due = exact(X, X, 0.3, group, np.mean if kernel is Average else np.max)
    assert_allclose(kernel(base, group)(X), due, atol=2e-9)


def test_points_in_two_places_far_apart():
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1e9, -3e8], (40, 1)) + rng.uniform(0, 60, (40, 2))
    assert_allclose(Gaussian(1e-3)(X), exact(X, X, 1e-3), atol=1e-9)
    group = G.CyclicShifts(2)
    assert_allclose(Average(Gaussian(1e-3), group)(X), exact(X, X, 1e-3, group), atol=1e-9)


def test_two_sets_of_points_in_different_places():
    X, Z = two_sets(1e6, 1.0)
    Z += 1e3
    Z[0] = X[0]
    for kernel in (Gaussian(0.3), Average(Gaussian(0.3), G.CyclicShifts(6))):
        group = getattr(kernel, "group", None)
        assert_allclose(kernel(X, Z), exact(X, Z, 0.3, group), atol=1e-9)
        assert_allclose(kernel(Z, X), exact(Z, X, 0.3, group), atol=1e-9)


@pytest.mark.parametrize("side", ["first", "second", "both"])
def test_whatever_side_is_transformed(side):
    X, Z = two_sets(1e9, 1.0)
    for name in ("shifts", "signs of two columns"):
        group = GROUPS[name]
        found = Average(Gaussian(0.3), group, side=side)(X, Z)
        assert_allclose(found, exact(X, Z, 0.3, group), atol=1e-9)


@pytest.mark.parametrize("name", ["shifts", "negation", "zeros come in"])
def test_single_precision_far_away(name):
    group = GROUPS[name]
    rng = np.random.default_rng(0)
    X = (1e6 + rng.uniform(0, 60, (12, 6))).astype(np.float32)
    mean = Average(Gaussian(1e-3), group, side="second")(X)
    assert mean.dtype == np.float32
    wide = X.astype(float)
    assert_allclose(mean, exact(wide, wide, 1e-3, group), atol=2e-5)
    found = Gaussian(1e-3)(X)
    assert found.dtype == np.float32
    assert_allclose(found, exact(wide, wide, 1e-3), atol=2e-5)
    found = BestFit(Gaussian(1e-3), group, precision="single")(wide)
    assert_allclose(found, exact(wide, wide, 1e-3, group, np.max), atol=2e-5)


@pytest.mark.parametrize("name", ["shifts", "negation"])
def test_derivatives_far_away(name):
    X, _ = two_sets(1e9, 1.0)
    X -= X[0] - np.round(X[0])  # so that differences are the same nearer to the origin
    X = np.round(X, 3)
    for kernel in (Gaussian(0.3), Average(Gaussian(0.3), GROUPS[name])):
        gram, slopes = kernel(X, eval_gradient=True)
        step = 1e-4
        above, below = (
            exact(X, X, 0.3 * np.exp(s), getattr(kernel, "group", None)) for s in (step, -step)
        )
        assert_allclose(gram, exact(X, X, 0.3, getattr(kernel, "group", None)), atol=1e-9)
        assert_allclose(slopes[..., 0], (above - below) / (2 * step), atol=1e-6)
    _, slopes = BestFit(Gaussian(0.3), GROUPS[name])(X, eval_gradient=True)
    above, below = (exact(X, X, 0.3 * np.exp(s), GROUPS[name], np.max) for s in (step, -step))
    assert_allclose(slopes[..., 0], (above - below) / (2 * step), atol=1e-6)


def test_arrays_of_torch_far_away():
    torch = pytest.importorskip("torch")
    X, Z = two_sets(1e9, 1.0)
    for name in ("shifts", "negation"):
        group = GROUPS[name]
        for kernel, due in (
            (Gaussian(0.3), exact(X, Z, 0.3)),
            (Average(Gaussian(0.3), group), exact(X, Z, 0.3, group)),
            (BestFit(Gaussian(0.3), group), exact(X, Z, 0.3, group, np.max)),
        ):
            points = torch.tensor(X, requires_grad=True)
            found = kernel(points, torch.tensor(Z))
            assert_allclose(found.detach().numpy(), due, atol=1e-9)
            found.sum().backward()
            assert bool(torch.isfinite(points.grad).all())
            assert float(points.grad.abs().max()) > 1e-3


def test_signs_of_many_coordinates_align_exactly():
    rng = np.random.default_rng(0)
    X = (1e9 + rng.uniform(0, 1, (8, 40))) * rng.choice([-1.0, 1.0], (8, 40))
    X[1] = -X[0]
    due = exact(np.abs(X), np.abs(X), 0.1)
    assert_allclose(BestFit(Gaussian(0.1), G.SignFlips(40))(X), due, atol=1e-9)


def test_what_nothing_can_mend_is_said_with_its_size():
    X = 1e9 + np.random.default_rng(0).uniform(0, 1, (8, 40))
    with pytest.warns(UserWarning, match=r"far from the origin.*wrong by about 1e\+00"):
        Average(Gaussian(0.1), G.SignFlips(40))(X)


def test_other_kernels_of_differences_far_away():
    X, Z = two_sets(1e6, 1.0)
    differences = np.abs(X[:, None] - Z[None]).sum(axis=2)
    assert_allclose(Laplacian(0.3)(X, Z), np.exp(-0.3 * differences), atol=1e-9)
    group = G.CyclicShifts(6)
    near, also = X - 1e6, Z - 1e6
    assert_allclose(
        Average(Laplacian(0.3), group)(X, Z), Average(Laplacian(0.3), group)(near, also), atol=1e-9
    )
    line = G.Translations(6, max_shift=1, boundary="zero")
    for scale in ("size", "standard"):
        kernel = OverlapFit(Gaussian(0.3), line, scale=scale)
        assert_allclose(kernel(X, Z), kernel(near, also), atol=1e-8)
    images, others = (two_sets(offset, 1.0, d=36)[0] for offset in (1e6, 0.0))
    images, others = images.round(3), others.round(3)
    tangents = TangentDistance((6, 6), ("horizontal", "vertical"), smoothing=0)
    assert_allclose(tangents(images), tangents(others), atol=1e-6)


def test_sets_of_points_far_away():
    rng = np.random.default_rng(0)
    X = 1e9 + rng.uniform(0, 1, (6, 3, 2))
    blocks = exact(X.reshape(-1, 2), X.reshape(-1, 2), 0.3).reshape(6, 3, 6, 3)
    assert_allclose(SetKernel(Gaussian(0.3))(X), blocks.mean(axis=(1, 3)), atol=1e-9)
    turned = SetKernel(Average(Gaussian(0.3), G.CyclicShifts(2)))(X)
    flat = exact(X.reshape(-1, 2), X.reshape(-1, 2), 0.3, G.CyclicShifts(2))
    assert_allclose(turned, flat.reshape(6, 3, 6, 3).mean(axis=(1, 3)), atol=1e-9)


def test_a_hyperkernel_of_distances_far_away():
    X, Z = two_sets(1e9, 1.0)
    assert_allclose(Hyperkernel(Linear(), 0.3)(X, Z), exact(X, Z, 0.3), atol=1e-9)


def test_a_hyperkernel_says_what_it_loses():
    X, _ = two_sets(1e9, 1.0)
    with pytest.warns(UserWarning, match="Hyperkernel"):
        Hyperkernel(Average(Linear(), G.CyclicShifts(6)), 0.3)(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["phase", "cos_sin"])
@pytest.mark.parametrize("name", ["shifts", "negation", None])
def test_fourier_features_far_away_approach_the_kernel(name, form, dtype):
    """A fitted map is one function: products of features of new points approach the kernel, too."""
    group = GROUPS.get(name)
    rng = np.random.default_rng(0)
    X, Z = (1e6 + rng.uniform(0, 60, (10, 6)).astype(dtype) for _ in range(2))
    X, Z = X.astype(dtype), Z.astype(dtype)
    features = OrbitFourier(group, 4000, gamma=1e-4, form=form, random_state=0).fit(X)
    one, two = features.transform(X), features.transform(Z)
    assert one.dtype == dtype
    due = exact(X.astype(float), Z.astype(float), 1e-4, group)
    # the standard deviation is 0.011 at most, so that one of 100 passes this once in 1e5 runs
    assert np.abs(one.astype(float) @ two.T.astype(float) - due).max() < 0.07
    # the same point has the same features whatever it is beside
    assert_allclose(features.transform(Z[:1]), two[:1], atol=1e-6)
    if group is not None:
        moved = np.asarray(group.act(group.elements()[1:2], Z)[0])
        atol = 1e-5 if dtype == np.float64 else 1e-4
        assert_allclose(features.transform(moved), two, atol=atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nystroem_features_far_away_are_the_kernel(dtype):
    rng = np.random.default_rng(0)
    X = (1e6 + rng.uniform(0, 60, (12, 6))).astype(dtype)
    for name in ("shifts", "negation"):
        group = GROUPS[name]
        orbits = np.concatenate([np.asarray(group.act(g[None], X))[0] for g in group.elements()])
        features = OrbitNystroem(group, len(orbits), gamma=1e-3, landmarks=orbits)
        Z = features.fit_transform(X).astype(float)
        wide = X.astype(float)
        assert_allclose(
            Z @ Z.T, exact(wide, wide, 1e-3, group), atol=1e-6 if dtype is float else 2e-3
        )


def test_bandwidths_far_away():
    X, _ = two_sets(1e9, 1.0)
    X = np.round(X, 3)
    assert_allclose(median_gamma(X), median_gamma(X - 1e9), rtol=1e-6)
    assert_allclose(median_gamma(X, "laplacian"), median_gamma(X - 1e9, "laplacian"), rtol=1e-6)


def test_learners_on_clock_times():
    """Seconds since 1970, over a minute."""
    rng = np.random.default_rng(0)
    X = 1.76e9 + np.sort(rng.uniform(0, 60, (80, 1)), axis=0)
    y = np.sin((X[:, 0] - 1.76e9) / 10)
    process = GaussianProcessRegressor(Gaussian(1e-2) + WhiteKernel(1e-4)).fit(X, y)
    assert np.abs(process.predict(X) - y).max() < 0.05
    model = RLSRegressor([1e-8], kernel=Gaussian(1e-2)).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 0.01


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_kernels_of_the_distance_itself_keep_their_digits(offset, kind):
    """A distance of zero leaves rounding, whose root would be half of the digits."""
    rng = np.random.default_rng(0)
    X = (offset + rng.integers(-8, 9, (6, 4)) / 8).astype(kind)
    Z = np.concatenate([X[:3], X[:3] + kind(1 / 16)])
    exact_distances = np.sqrt(np.square(X[:, None].astype(float) - Z.astype(float)).sum(axis=-1))
    kernel = CDF(radius=10.0, truncated=False)
    constant, slope = kernel.coefficients(4)
    due = constant - slope * exact_distances
    atol = 1e-13 if kind == np.float64 else 2e-6
    assert_allclose(kernel(X, Z), due, atol=atol)
    assert_allclose(Matern(1.0, nu=0.5)(X, Z), np.exp(-exact_distances), atol=1e-5)
    group = G.CyclicShifts(4)
    shifted = [Z[:, (np.arange(4) - i) % 4] for i in range(4)]
    distances = np.sqrt(np.square(X[:, None].astype(float) - np.array(shifted)[:, None]).sum(-1))
    mean = (constant - slope * distances).mean(axis=0)
    # Of points moved onto each other: the root of the rounding of |x|^2, about the centre.
    assert_allclose(Average(kernel, group)(X, Z), mean, atol=2e-6 if kind == np.float32 else 2e-8)


@pytest.mark.parametrize("columns", [[0.0, 1e4, 2e4], [0.0, 300.0, -300.0]])
def test_distances_of_single_precision_are_computed_in_double_if_nothing_is_fixed(columns):
    """Columns far apart from each other, which shifts exchange: no point can be subtracted."""
    X = (np.array(columns) + np.random.default_rng(0).integers(0, 9, (5, 3))).astype(np.float32)
    for base in (CDF(radius=10.0), Gaussian(0.1), Matern(1.0, nu=0.5)):
        for kernel in (Average(base, G.CyclicShifts(3)), BestFit(base, G.CyclicShifts(3))):
            assert_allclose(kernel(X), kernel(X.astype(float)), atol=1e-5)


@pytest.mark.parametrize(
    "base",
    [
        Polynomial(2, coef0=50.0),
        SetKernel(Linear(), pooling="sum", n_coordinates=2),
        Average(Polynomial(2), G.CyclicShifts(4)),
        Laplacian(0.01),
        CDF(radius=1e3),
    ],
    ids=repr,
)
def test_a_hyperkernel_of_single_precision_is_that_of_double(base):
    """Differences of large values: 4 gamma k(x, x) times the rounding of single precision."""
    X = (10 + np.random.default_rng(0).integers(0, 5, (6, 4)) / 4).astype(np.float32)
    kernel = Hyperkernel(base, 0.5)
    assert kernel(X).dtype == np.float32
    assert_allclose(kernel(X), kernel(X.astype(float)), atol=1e-5)
    assert_allclose(kernel(X[:4], X), kernel(X[:4].astype(float), X.astype(float)), atol=1e-5)
