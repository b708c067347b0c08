"""Von Mises and Sobolev kernels, and the factorized sign average."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance import spectral as S
from invariance.groups import CyclicShifts, Permutations, SignFlips, TorusTranslations
from invariance.kernels import Average

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (6, 4))
Y = RNG.uniform(-1, 1, (5, 4))


@pytest.mark.parametrize("normalize", [True, False])
def test_the_von_mises_kernel_agrees_with_its_formula(normalize):
    kernel = S.VonMisesKernel(eta=0.7, normalize=normalize)
    expected = np.exp(0.7 * np.cos(np.pi * (X[:, None] - Y[None])).sum(axis=2))
    expected /= np.exp(0.7 * 4) if normalize else 1.0
    assert_allclose(kernel(X, Y), expected, rtol=1e-12)
    assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12)


@pytest.mark.parametrize("Kernel", [S.VonMisesKernel, S.SignAveragedVonMises])
def test_von_mises_kernels_of_far_points_keep_their_digits(Kernel):
    kernel = Kernel(eta=3.0)
    near = RNG.integers(-64, 64, (5, 3)) / 64  # exact also after many turns
    for far in (2e6, 2e13):
        assert_allclose(kernel(near + far, near), kernel(near), rtol=1e-12)
        assert_allclose(kernel(near + far), kernel(near), rtol=1e-12)
        assert_allclose(kernel.diag(near + far), kernel.diag(near), rtol=1e-12)


@given(st.integers(1, 5), st.floats(0.05, 5), st.booleans(), st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_the_factorized_sign_average_agrees_with_the_sum_over_all_signs(d, eta, normalize, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (4, d))
    y = rng.uniform(-1, 1, (3, d))
    base = S.VonMisesKernel(eta=eta, normalize=normalize)
    fast = S.SignAveragedVonMises(eta=eta, normalize=normalize)
    plain = np.mean(
        [base(transformed, y) for transformed in SignFlips(d).act(SignFlips(d).elements(), x)], 0
    )
    assert_allclose(fast(x, y), plain, rtol=1e-10)
    assert_allclose(Average(base, SignFlips(d), side="second")(x, y), plain, rtol=1e-10)
    assert_allclose(fast.diag(x), np.diag(fast(x)), rtol=1e-10)
    assert np.linalg.eigvalsh(fast(x)).min() > -1e-10 * fast.diag(x).max()


@pytest.mark.parametrize(("basis", "group"), [
    (S.Torus(3, degree=6), SignFlips(3)),
    (S.Torus(3, degree=6), Permutations(3)),
    (S.Torus(2, degree=9), TorusTranslations([3, 5])),
    (S.Circle(degree=30), TorusTranslations([7], period=2 * np.pi)),
    (S.Sphere(4, degree=6), CyclicShifts(4)),
], ids=repr)  # fmt: skip
def test_the_sobolev_kernel_depends_on_differences_and_is_not_invariant_to_signs(basis, group):
    kernel = S.SobolevKernel(basis, smoothness=basis.manifold_dimension)
    x = basis.sample(6, random_state=0)
    y = basis.sample(5, random_state=1)
    gram = kernel(x, y)
    for moved_x, moved_y in zip(
        group.act(group.generators(), x), group.act(group.generators(), y), strict=True
    ):
        assert_allclose(kernel(moved_x, moved_y), gram, rtol=1e-10, atol=1e-12)
        assert np.abs(kernel(moved_x, y) - gram).max() > 1e-2
    assert np.linalg.eigvalsh(kernel(x)).min() > 0
    assert_allclose(kernel.diag(x), np.diag(kernel(x)), rtol=1e-12)


def test_spectral_kernels_of_single_precision_are_in_single_precision():
    for kernel in (
        S.VonMisesKernel(),
        S.SignAveragedVonMises(),
        S.SobolevKernel(S.Torus(4, degree=2), smoothness=2.0),
    ):
        single = X.astype(np.float32)
        assert kernel(single).dtype == kernel(single, single[:2]).dtype == np.float32
        assert kernel(single, Y).dtype == kernel(X).dtype == np.float64
        assert_allclose(kernel(single), kernel(X), rtol=1e-4, atol=1e-6)


def test_the_sobolev_kernel_reproduces_functions():
    """<f, K(x, .)>_{H^s} = f(x) for f in the span of the basis."""
    basis = S.Circle(degree=5)
    s = 1.5
    counts = np.repeat(basis.counts_, basis.dimensions_).astype(float)
    f = RNG.standard_normal(11)
    x = np.array([[0.7]])
    kernel = S.SobolevKernel(basis, smoothness=s)
    section = basis.evaluate(x)[0] * counts ** (-2 * s)
    grid = np.linspace(0, 6, 9)[:, None]
    assert_allclose(kernel(x, grid)[0], basis.evaluate(grid) @ section, atol=1e-12)
    assert np.sum(counts ** (2 * s) * f * section) == pytest.approx((basis.evaluate(x) @ f)[0])


def test_the_diagonals_of_spectral_kernels_validate_points():
    for kernel in (S.VonMisesKernel(), S.SobolevKernel(S.Torus(2, degree=2))):
        for points in ([[np.nan, 0.0]], [0.0, 1.0]):
            with pytest.raises(ValueError):
                kernel.diag(points)
