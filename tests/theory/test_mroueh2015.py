"""Bounds of Mroueh et al. 2015, compared with exact values, quadrature and simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from invariance.features import GroupCDF
from invariance.groups import (
    CyclicShifts,
    OrthogonalMatrices,
    Permutations,
    SignedPermutations,
    SignFlips,
)
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

GROUPS = [CyclicShifts(6), Permutations(3, block=2), SignFlips(4), SignedPermutations(3)]


def unit_points(rng, n, d):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def sampled(group, n_templates, *, eps, seed, **sizes):
    """GroupCDF with templates beyond 1 + eps set to zero, as in the proofs."""
    options = {"epsilon": eps, "rejection": "zero", "s": 1 + eps, "random_state": seed}
    return GroupCDF(group, n_templates, **sizes, **options)


def turns(order, planes):
    """Rotations of `planes` pairs of coordinates by multiples of 2 pi / order."""
    angle = 2 * np.pi / order
    c = np.cos(angle)
    s = np.sin(angle)
    return OrthogonalMatrices([np.kron(np.eye(planes), [[c, -s], [s, c]])])


# ---------------------------------------------------------------- Theorem 1


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([*GROUPS, turns(8, 2)]),
    st.floats(0.01, 0.99),
    st.floats(0.2, 3),
    st.integers(0, 10**6),
)
def test_the_kernel_deviates_as_stated_and_lies_in_the_sandwich(group, eps, R, seed):
    rng = np.random.default_rng(seed)
    d = group.n_features
    X = unit_points(rng, 5, d) * R * rng.uniform(0.1, 1, size=(5, 1))
    distance = theory.orbit_distance(group.act(group.elements(), X))
    kernel = Average(CDF(epsilon=eps, radius=R), group)(X)
    deviation = theory.theorem1_deviation(distance, d, eps=eps, R=R)
    assert_allclose(kernel - (R - distance), deviation, atol=1e-7)
    low, high = theory.theorem1_sandwich(d, eps, R=R)
    assert np.all(low <= deviation) and np.all(deviation <= high)


def test_the_sandwich_holds_for_every_dimension_and_slack():
    """The kernel is affine in the distance, so that both ends of its range suffice."""
    d = np.unique(np.r_[1:100, np.geomspace(100, 1e5, 60).astype(int)])[:, None]
    eps = np.linspace(1e-3, 0.999, 400)
    low, high = theory.theorem1_sandwich(d, eps)
    for distance in (np.zeros_like(d, dtype=float), 2 / np.sqrt(2 * np.pi * d)):
        deviation = theory.theorem1_deviation(distance, d, eps=eps)
        assert np.all(low <= deviation) and np.all(deviation <= high)


def test_the_deviation_agrees_with_direct_integration():
    """Polar quadrature of E[1(|t|^2 < 1 + eps) (s - max(<x, t>, <z, t>))] in the plane."""
    eps = 0.3
    angle = 1.1
    directions = np.linspace(0, 2 * np.pi, 4001)[:-1]
    mean_max = np.maximum(np.cos(directions), np.cos(directions - angle)).mean()
    # |t|^2 = r^2 with density d r e^{-d r^2 / 2} for d = 2, cut at 1 + eps.
    radial = integrate.quad(lambda r: r * 2 * r * np.exp(-(r**2)), 0, np.sqrt(1 + eps))[0]
    kernel = (1 + eps) * (1 - np.exp(-(1 + eps))) - radial * mean_max
    distance = 2 * np.sin(angle / 2) / np.sqrt(4 * np.pi)
    expected = theory.theorem1_deviation(distance, 2, eps=eps)
    assert_allclose(kernel - (1 - distance), expected, atol=1e-6)


@pytest.mark.parametrize("d", [2, 3])
def test_the_kernel_of_templates_on_the_sphere_agrees_with_remark_1(d):
    """The definition uses templates on a fine grid of directions."""
    if d == 2:
        angle = (np.arange(2000) + 0.5) * 2 * np.pi / 2000
        templates = np.stack([np.cos(angle), np.sin(angle)], 1)
        weights = np.full(2000, 1 / 2000)
    else:
        height, share = np.polynomial.legendre.leggauss(60)
        angle = (np.arange(120) + 0.5) * 2 * np.pi / 120
        radius = np.sqrt(1 - height**2)[:, None]
        parts = radius * np.cos(angle), radius * np.sin(angle), height[:, None] + 0 * angle
        templates = np.stack(parts, -1).reshape(-1, 3)
        weights = np.repeat(share / 2 / 120, 120)
    group = Permutations(d)
    X = unit_points(np.random.default_rng(d), 4, d)
    orbits = group.act(group.elements(), templates)
    kernel = sum(
        w * theory.cdf_products(X @ orbits[:, j].T, 1 + 1e-9) for j, w in enumerate(weights)
    )
    distance = theory.orbit_distance(group.act(group.elements(), X))
    gap = kernel - (1 - distance)
    assert_allclose(gap, theory.sphere_gap(distance, d), atol=3e-4)
    assert np.all(-theory.sphere_slack(d) < gap) and np.all(gap < 0)
    by_remark = theory.remark4_kernel(np.einsum("nd,gtd->tng", X, orbits), weights, s=1.0)
    assert_allclose(by_remark, kernel, atol=1e-8)


def test_the_slack_on_the_sphere_holds_in_every_dimension():
    d = np.geomspace(1, 1e6, 200)
    worst = -theory.sphere_gap(2 / np.sqrt(2 * np.pi * d), d)
    assert np.all(0 < worst) and np.all(worst <= theory.sphere_slack(d))
    assert worst[100] / theory.sphere_slack(d[100]) == pytest.approx(0.5, rel=1e-2)


@pytest.mark.parametrize("d", [1, 1000, 4999, 5001, 1e6, 1e8, 1e12, 1e15])
def test_the_gap_on_the_sphere_keeps_its_digits_in_large_dimensions(d):
    """Gamma((d + 2) / 2) = d / 2 Gamma(d / 2) makes c_d times c_(d+1) the root of 1 + 1 / d."""
    gap = theory.sphere_gap(1.0, d)
    next_gap = theory.sphere_gap(1.0, d + 1)
    product = -gap - next_gap + gap * next_gap
    assert_allclose(product, np.expm1(np.log1p(1 / d) / 2), rtol=1e-7)
    assert next_gap == pytest.approx(gap, rel=2 / d)


def test_slacks_vanish_for_large_dimensions_and_scale():
    for eps in (0.1, 0.5, 0.9):
        d = np.geomspace(10, 1e6, 30)
        for slack in (theory.theorem1_delta1(d, eps), theory.theorem1_delta2(d, eps)):
            assert slack[-1] < 1e-3 and np.all(slack >= 0)
        assert_allclose(theory.theorem1_delta1(50, eps, R=3), 3 * theory.theorem1_delta1(50, eps))
        assert_allclose(theory.theorem1_delta2(50, eps, R=3), 3 * theory.theorem1_delta2(50, eps))


def test_chi_square_tails_are_below_their_bounds():
    k = np.arange(2, 300)[:, None]
    eps = np.linspace(1e-3, 0.999, 200)
    assert np.all(stats.chi2.sf(k * (1 + eps), k) <= theory.chi2_upper_tail_bound(k, eps))
    assert np.all(stats.chi2.cdf(k * (1 + eps), k) <= theory.chi2_lower_tail_bound(k, eps))
    # The lemma excludes one degree of freedom, for which it would be false.
    assert stats.chi2.cdf(1.01, 1) > theory.chi2_lower_tail_bound(1, 0.01)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(-2, 2), st.floats(-2, 2), st.floats(0.1, 3), st.floats(0.1, 3), st.floats(-0.95, 0.95)
)
def test_the_moments_of_clark_agree_with_quadrature(mean_x, mean_y, sd_x, sd_y, rho):
    def density(z):
        """P(max in dz) = P(X in dz, Y < z) + P(Y in dz, X < z)."""
        total = 0.0
        for a, sa, b, sb in ((mean_x, sd_x, mean_y, sd_y), (mean_y, sd_y, mean_x, sd_x)):
            given_mean = b + rho * sb / sa * (z - a)
            given_sd = sb * np.sqrt(1 - rho**2)
            total += stats.norm.pdf(z, a, sa) * stats.norm.cdf(z, given_mean, given_sd)
        return total

    z = np.linspace(-40, 40, 80_001)
    weights = density(z) * (z[1] - z[0])
    mean, variance = theory.clark_max_moments(mean_x, mean_y, sd_x=sd_x, sd_y=sd_y, rho=rho)
    assert_allclose(weights.sum(), 1, atol=1e-10)
    assert_allclose(mean, weights @ z, atol=1e-9)
    assert_allclose(variance, weights @ (z - mean) ** 2, atol=1e-8)


def test_the_moments_of_clark_hold_in_limiting_cases():
    mean, variance = theory.clark_max_moments([1.0, 0.0], [0.0, 2.0], sd_x=1.0, sd_y=1.0, rho=1.0)
    assert_allclose(mean, [1.0, 2.0])
    assert_allclose(variance, [1.0, 1.0])


@pytest.mark.parametrize("sd", [4_000_000_000, np.int64(4_000_000_000), np.array([4_000_000_000])])
def test_the_moments_of_clark_for_integers_do_not_wrap(sd):
    mean, variance = theory.clark_max_moments(0, 0, sd_x=sd, sd_y=sd, rho=0)
    assert_allclose(mean, 4e9 / np.sqrt(np.pi))
    assert_allclose(variance, 16e18 * (1 - 1 / np.pi))


def test_sizes_and_constants_for_numpy_integers_and_half_floats_do_not_overflow():
    assert theory.theorem2_constants(np.int64(2**32)) == theory.theorem2_constants(2.0**32)
    n_templates = theory.theorem2_templates(np.float16(0.03125), 1000, delta=0.01)
    assert n_templates == theory.theorem2_templates(0.03125, 1000, delta=0.01) > 65_504


@pytest.mark.parametrize("offset", [-1e9, 1e5, 1e9])
@pytest.mark.parametrize("gap", [0.0, 0.5, 1e9])
def test_the_variance_of_clark_keeps_its_digits_far_from_zero(offset, gap):
    expected = theory.clark_max_moments(-gap, 0.0, sd_x=1.0, sd_y=0.5, rho=0.25)
    mean, variance = theory.clark_max_moments(offset - gap, offset, sd_x=1.0, sd_y=0.5, rho=0.25)
    assert_allclose(mean - offset, expected[0], atol=1e-6)
    assert_allclose(variance, expected[1], rtol=1e-6)


def test_equation_11_is_the_mean_of_clark():
    d = 7
    x, z = unit_points(np.random.default_rng(0), 2, d)
    mean, _ = theory.clark_max_moments(0, 0, sd_x=d**-0.5, sd_y=d**-0.5, rho=x @ z)
    assert_allclose(theory.orbit_distance(x[None, None], z[None, None]), mean, rtol=1e-12)


# ---------------------------------------------------------------- Theorem 2


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 9), st.booleans(), st.integers(0, 10**6))
def test_integrals_over_thresholds_are_s_minus_the_mean_maximum(n, r, ties, seed):
    a = np.random.default_rng(seed).uniform(-1, 1, size=(n, r))
    if ties:
        a = a.round(1)
    plain = [[1.5 - np.maximum.outer(x, z).mean() for z in a] for x in a]
    assert_allclose(theory.cdf_products(a, 1.5), plain, atol=1e-12)


def test_sums_over_bins_exceed_integrals_by_at_most_s_over_n():
    group = CyclicShifts(6)
    eps = 0.4
    X = unit_points(np.random.default_rng(1), 6, 6)
    for n in (1, 3, 10, 50):
        model = GroupCDF(group, 30, n_bins=n, epsilon=eps, s=1 + eps, random_state=0).fit(X)
        Z = model.transform(X)
        orbits = group.act(model.elements_, model.templates_)
        exact = np.mean(
            [theory.cdf_products(X @ orbits[:, j].T, 1 + eps) for j in range(30)], axis=0
        )
        excess = Z @ Z.T - exact
        assert np.all(excess >= -1e-12) and np.all(excess <= (1 + eps) / n + 1e-12)


def test_sampled_elements_bias_the_inner_product_as_stated():
    """The expectation over templates and elements is (1 - 1/|G|) K_s + K_s^{e} / |G|, not K_s."""
    group = SignFlips(3)
    eps = 0.9
    r = 2
    n = 300
    X = unit_points(np.random.default_rng(2), 4, 3)
    draws = []
    for seed in range(300):
        Z = sampled(group, 20, eps=eps, n_bins=n, n_transforms=r, seed=seed).fit_transform(X)
        draws.append(Z @ Z.T)
    mean = np.mean(draws, axis=0)
    error = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    kernel = Average(CDF(eps), group)(X)
    plain = CDF(eps)(X)
    expected = theory.expected_inner_product(kernel, plain, n_elements=r)
    assert np.all(np.abs(mean - expected) < 5 * error + (1 + eps) / n)
    # The statement of section 2 is rejected by the same data.
    assert np.abs((mean - kernel) / error).max() > 10


def test_the_expected_inner_product_is_vectorized_over_numbers_of_elements():
    sizes = np.array([1.0, 2.0, 4.0])
    expected = theory.expected_inner_product(0.5, 0.9, n_elements=sizes)
    assert expected.tolist() == [
        theory.expected_inner_product(0.5, 0.9, n_elements=k) for k in sizes
    ]
    assert np.allclose(expected, [0.9, 0.7, 0.6])


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 0.9), st.integers(2, 10**6), st.floats(1e-6, 0.5), st.floats(1.01, 2))
def test_universal_constants_cover_the_exact_sizes(eps, n_points, delta, s):
    C1, C2 = theory.theorem2_constants(s)
    m = theory.theorem2_templates(eps, n_points, delta=delta, s=s)
    assert m - 1 <= C1 / eps**2 * np.log(n_points / delta)
    G = theory.theorem2_elements(eps, n_points, n_templates=m, delta=delta, s=s)
    assert G - 1 <= C2 / eps**2 * np.log(n_points * m / delta)
    # Sizes and errors are inverse to each other.
    n = np.ceil(s / eps - 1e-12)
    for part in theory.theorem2_errors(n, m, n_elements=G, n_points=n_points, delta=delta, s=s):
        assert part <= eps * (1 + 1e-9)
    fewer = theory.theorem2_errors(n, m - 1, n_elements=G - 1, n_points=n_points, delta=delta, s=s)
    assert fewer[1] > eps


def test_theorem_2_holds_in_simulations():
    group = CyclicShifts(16)
    eps = 0.2
    part = 0.5
    N = 12
    delta = 0.1
    s = 1 + eps
    X = unit_points(np.random.default_rng(3), N, 16)
    kernel = Average(CDF(eps), group)(X)
    distance = theory.orbit_distance(group.act(group.elements(), X))
    m = theory.theorem2_templates(part, N, delta=delta, s=s)
    r = theory.theorem2_elements(part, N, n_templates=m, delta=delta, s=s)
    for seed in range(5):
        n = int(np.ceil(s / part - 1e-12))
        Z = sampled(group, m, eps=eps, n_bins=n, n_transforms=r, seed=seed).fit_transform(X)
        assert np.abs(Z @ Z.T - kernel).max() <= 3 * part
        low, high = theory.corollary1_sandwich(16, eps, eps0=3 * part)
        assert np.all(low <= Z @ Z.T - (1 - distance)) and np.all(Z @ Z.T - 1 + distance <= high)


def test_corollary_1_gives_each_part_a_third_of_the_error():
    bins, templates, elements = theory.corollary1_sizes(0.6, n_points=50, delta=0.05, s=1.2)
    assert bins == 5
    assert templates == theory.theorem2_templates(0.2, 50, delta=0.05, s=1.2)
    assert elements == theory.theorem2_elements(0.2, 50, n_templates=templates, delta=0.05, s=1.2)


# ---------------------------------------------------------------- Theorem 3


def test_largest_function_of_the_class_and_its_rademacher_complexity():
    """The supremum of |f| over |w| <= C/m is (s/n) sum psi C/m <= (2 + 1/n) s C.

    Points below every threshold attain the factor that the paper omits; the complexity stays below
    its bound.
    """
    rng = np.random.default_rng(4)
    N = 40
    m = 5
    n = 8
    C = 2.0
    s = 1.3
    psi = np.sort(rng.random((N, m, 2 * n + 1)), axis=2).reshape(N, -1)
    signs = rng.choice([-1, 1], size=(4000, N))
    # The supremum over the box is the one-norm of the correlations.
    complexity = np.abs(signs @ psi).sum(axis=1).mean() * s / n * C / m / N
    assert complexity <= theory.rademacher_bound(N, C, s=s, n=n)
    ones = np.ones((N, m * (2 * n + 1)))
    assert_allclose(s / n * C / m * ones.sum(axis=1), (2 + 1 / n) * s * C)
    attained = np.abs(signs @ ones).sum(axis=1).mean() * s / n * C / m / N
    assert theory.rademacher_bound(N, C, s=s) < attained <= theory.rademacher_bound(N, C, s=s, n=n)


def test_the_approximation_error_is_below_the_bound_of_lemma_4():
    """The function f = sum alpha_i K_s(., x_i) lies in F_p with C = sum |alpha_i|.

    Its sampled version sum alpha_i <Phi(.), Phi(x_i)> lies in F~, within the distance of lemma 4.
    """
    group = CyclicShifts(5)
    eps = 0.5
    m = 50
    n = 20
    delta = 0.05
    s = 1 + eps
    X = unit_points(np.random.default_rng(5), 60, 5)
    alpha = np.array([1.0, -2.0, 1.5])
    f = Average(CDF(eps), group)(X, X[:3]) @ alpha
    bound = theory.lemma4_error(m, 30, n=n, C=np.abs(alpha).sum(), s=s, delta1=delta, delta2=delta)
    for seed in range(10):
        Z = sampled(group, m, eps=eps, n_bins=n, n_transforms=30, seed=seed).fit_transform(X)
        assert np.sqrt(np.mean((Z @ (Z[:3].T @ alpha) - f) ** 2)) <= bound


def test_theorem_3_is_the_sum_of_its_lemmas():
    sizes = dict(L=3.0, C=2.0, s=1.2)
    options = dict(G=50, n=20, V0=1.0, delta=0.05, **sizes)
    total = theory.theorem3_bound(500, 100, **options)
    parts = 2 * theory.lemma6_deviation(500, V0=1.0, delta=0.05, **sizes)
    parts += theory.lemma5_risk(100, 50, n=20, delta1=0.05, delta2=0.05, **sizes)
    assert_allclose(total, parts)
    assert theory.theorem3_bound(500, 100, printed=False, **options) > total
    # One size at a time: four times the samples halve the first term, and so on.
    inf = float("inf")
    only_N = [theory.lemma6_deviation(N, V0=1.0, delta=0.05, **sizes) for N in (100, 400)]
    assert_allclose(only_N[0] / only_N[1], 2)
    options = dict(C=2.0, s=1.2, delta1=0.05, delta2=0.05)
    only_n = [theory.lemma4_error(1e30, inf, n=n, **options) for n in (10, 20)]
    assert_allclose(only_n[0] / only_n[1], 2)


LOSSES = {
    "hinge": lambda u: np.maximum(1 - u, 0),
    "logistic": lambda u: np.logaddexp(0, -u),
    "square": lambda u: (1 - u) ** 2,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_lipschitz_constants(loss):
    L, at_zero = theory.loss_constants(loss, 3.0)
    u = np.linspace(-3, 3, 10_001)
    slopes = np.abs(np.diff(LOSSES[loss](u)) / np.diff(u))
    assert slopes.max() <= L * (1 + 1e-9) and slopes.max() > 0.99 * L
    assert_allclose(LOSSES[loss](0.0), at_zero)


def test_huge_sizes_are_infinite():
    with np.errstate(over="ignore", divide="ignore"):
        assert theory.theorem2_templates(1e-200, 10, delta=0.1) == np.inf
