"""Messages of kernels and bandwidths about values out of range."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import beyond
from invariance import groups as G
from invariance import kernels as K
from invariance.features import (
    GroupCDF,
    OrbitFourier,
    OrbitNystroem,
    draw_frequencies,
    median_gamma,
)

X = np.random.default_rng(0).standard_normal((6, 4))
CENTRED = X - X.mean(axis=1, keepdims=True)
ZERO = {
    "no invariant": (K.Average(K.Linear(), G.SignFlips(4), normalize=True), X, "6 of 6"),
    "zero up to rounding": (
        K.Average(K.Linear(), G.CyclicShifts(4), normalize=True),
        CENTRED,
        "6 of 6",
    ),
    "odd powers": (
        K.Average(K.Polynomial(3, coef0=0.0), G.Negation(), normalize=True),
        X,
        "6 of 6",
    ),
    "one point": (
        K.Average(K.Linear(), G.CyclicShifts(4), normalize=True),
        np.vstack([X, CENTRED[:1]]),
        "1 of 7 points, the first of them at 6",
    ),
    "both sides": (
        K.Average(K.Linear(), G.SignFlips(4), normalize=True, side="both"),
        X,
        "6 of 6",
    ),
    "sets": (
        beyond.SetKernel(K.Linear(), normalize=True),
        np.stack([X, X - X.mean(axis=0)]),
        "1 of 2 points, the first of them at 1",
    ),
    "matched sets": (
        beyond.MatchingKernel(K.Linear(), normalize=True),
        np.zeros((2, 3, 2)),
        "2 of 2",
    ),
}


@pytest.mark.parametrize("name", ZERO)
def test_a_kernel_that_is_zero_cannot_be_normalized(name):
    kernel, points, count = ZERO[name]
    with pytest.raises(ValueError, match=f"above zero for normalize=True.*{count}"):
        kernel(points)
    if name not in ("one point", "sets"):
        with pytest.raises(ValueError, match="normalize=True"):
            kernel(points[:2], points[:1])


def test_small_but_accurate_values_are_normalized():
    points = np.random.default_rng(0).standard_normal((4, 60))
    plain = K.Average(K.Gaussian(30.0), G.SignFlips(60))
    assert plain(points).diagonal().max() < 1e-16
    gram = K.Average(K.Gaussian(30.0), G.SignFlips(60), normalize=True)(points)
    assert_allclose(gram.diagonal(), 1)
    near = X + 1e-3
    gram = K.Average(K.Linear(), G.CyclicShifts(4), normalize=True)(CENTRED + 1e-3)
    assert_allclose(np.abs(gram), 1, rtol=1e-6)
    assert np.isfinite(beyond.SetKernel(K.Linear(), normalize=True)(np.stack([near, X]))).all()


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
@pytest.mark.parametrize(
    "scale", [1e-300, 1e-170, 1e-155, 1e-100, 1e-74, 1e74, 1e145, 1e160, 1e300]
)
def test_a_bandwidth_out_of_range_is_refused_with_its_size(scale, kernel):
    power = 2 if kernel == "gaussian" else 1
    exponent = np.log10(median_gamma(X, kernel)) - power * np.log10(scale)
    if -300 < exponent < 150:
        gamma = median_gamma(scale * X, kernel)
        assert_allclose(np.log10(gamma), exponent, rtol=1e-12)
        return
    problem = "close" if exponent > 0 else "far apart"
    with pytest.raises(ValueError, match=rf"too {problem}: rescale X.*about 1e\{exponent:+.0f}"):
        median_gamma(scale * X, kernel)


def test_features_of_points_that_are_too_close_are_refused():
    for features in (OrbitFourier(None, 3), OrbitNystroem(None, 3)):
        with pytest.raises(ValueError, match="too close: rescale X"):
            features.fit(1e-149 * X)


@pytest.mark.parametrize("gamma", [8.7e298, 1e-305])
def test_a_finite_gamma_that_overflows_is_refused_because_of_its_magnitude(gamma):
    with pytest.raises(ValueError, match="magnitudes .* overflow"):
        draw_frequencies("gaussian", gamma, n_components=2, n_features=2)
    with pytest.raises(ValueError, match="magnitudes .* overflow"):
        K.Gaussian(gamma)(X)
    with pytest.raises(ValueError) as refused:
        K.Gaussian(0.0)(X)
    assert "magnitudes" not in str(refused.value)


def test_messages_about_gradients_name_the_kernels_that_have_one():
    torch = pytest.importorskip("torch")
    points = torch.tensor(X, requires_grad=True)
    with pytest.raises(ValueError, match="nothing is learned; to learn with respect to X"):
        GroupCDF(None, 3, random_state=0).fit(X).transform(points)

    class Overlap(K.Kernel):
        def _gram(self, A, B):
            return np.minimum(A[:, None], A if B is None else B).sum(axis=2)

    with pytest.raises(TypeError, match="no gradient passes .*Gaussian"):
        Overlap()(points)
    with pytest.raises(TypeError) as refused:
        Overlap()(points.detach())
    assert "gradient" not in str(refused.value)


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("side", ["first", "second"])
@pytest.mark.parametrize("group", [G.CyclicShifts(4), G.Negation(), G.Permutations(4)], ids=repr)
def test_single_precision_is_preserved_with_either_side(group, side, scale):
    points = (scale * X).astype(np.float32)
    for kernel in (
        K.Average(K.Gaussian(0.1), group, side=side),
        K.BestFit(K.Gaussian(0.1), group, side=side),
    ):
        assert kernel(points).dtype == kernel(points, points[:2]).dtype == np.float32
        assert kernel.diag(points).dtype == np.float32
        assert kernel(points, X).dtype == kernel(X, points).dtype == np.float64
        wide = kernel(points.astype(float), points[:2].astype(float))
        assert_allclose(kernel(points, points[:2]), wide, atol=2e-5)


def test_explain_of_set_kernels_counts_the_transformations_of_points():
    sets = np.random.default_rng(0).standard_normal((4, 6, 3))
    plain = beyond.SetKernel(K.Gaussian(0.1)).explain(sets).operations
    for n_transforms in (20, 100):
        base = K.Average(K.Gaussian(0.1), beyond.Rotations3D(), n_transforms=n_transforms)
        reduced = beyond.SetKernel(base).explain(sets).operations
        # each transformation costs at least one inner product of three numbers per pair of points
        assert reduced > plain + n_transforms * 2 * 3 * 24**2 / 2
        nested = beyond.SetKernel(K.Hyperkernel(base)).explain(sets).operations
        assert nested >= reduced
