"""Bounds of Raj et al. 2017, compared with simulations and with each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from invariance.groups import SignFlips
from invariance.kernels import Average, Gaussian
from invariance.theory import raj2017


def both_statistics(base, group, r, seed, X):
    """Means over all pairs of r elements, without the pairs i = j ("U") and with them ("V")."""
    V = Average(base, group, n_transforms=r, side="both", random_state=seed)(X)
    diagonal = np.mean([base(g) for g in group.act(group.sample(r, seed), X)], axis=0)
    return {"U": (r * V - diagonal) / (r - 1), "V": V}


def test_the_gap_between_the_statistics_is_bounded_and_attained():
    group = SignFlips(3)
    base = Gaussian(0.4)
    X = np.random.default_rng(0).standard_normal((8, 3))
    for r in (2, 5, 20):
        for seed in range(20):
            U, V = both_statistics(base, group, r, seed, X).values()
            assert np.abs(U - V).max() <= raj2017.statistics_gap(r)


def test_u_statistics_are_unbiased_and_v_statistics_are_not():
    group = SignFlips(2)
    base = Gaussian(0.7)
    X = np.array([[1.0, 0.5], [0.8, -0.4]])
    exact = Average(base, group, side="both")(X)
    draws_of_each = 800
    every = [both_statistics(base, group, 3, i, X) for i in range(draws_of_each)]
    draws = {s: np.array([each[s] for each in every]) for s in "UV"}
    error = draws["U"].mean(axis=0) - exact
    assert np.all(np.abs(error) <= 4.5 * draws["U"].std(axis=0) / np.sqrt(draws_of_each))
    bias = draws["V"].mean(axis=0) - exact
    # E V - k = (E k(gx, gz) - k) / r, and k(gx, gz) = k(x, z) for a unitary action.
    predicted = (base(X) - exact) / 3
    assert np.all(
        np.abs(bias - predicted) <= 4.5 * draws["V"].std(axis=0) / np.sqrt(draws_of_each) + 1e-12
    )


@pytest.mark.parametrize("published", [True, False])
def test_the_uniform_failure_uses_the_best_cover(published):
    s = 3e6
    r = 2e6
    eps = 0.1
    d = 3
    diameter = 2.0
    sigma = 0.9
    rate = 1 / 2 if published else 1 / 32
    kappa = sum(2 * (2 * diameter) ** (2 * d) * np.exp(-c * eps**2) for c in (r * rate, s / 128))
    lipschitz = 64 * (d + 1) / (eps * sigma) ** 2

    def failure(log_eta):
        return kappa * np.exp(-2 * d * log_eta) + lipschitz * np.exp(2 * log_eta)

    best = minimize_scalar(failure, bounds=(-40, 10), method="bounded").fun
    closed = raj2017.uniform_failure(
        s, r, eps=eps, d=d, diameter=diameter, sigma=sigma, published=published
    )
    assert best <= closed * (1 + 1e-9) and closed < 1
    # The radius that makes both terms equal is within a factor of two of the best radius.
    assert closed <= 2 * best


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_sample_sizes_give_the_stated_probability(d, published):
    eps = 0.2
    diameter = 1.5
    sigma = 2.0
    delta_elements = 1e-3
    delta_templates = 2e-3
    r = raj2017.group_samples(eps, d, diameter=diameter, delta=delta_elements, published=published)
    s = raj2017.templates(eps, d, diameter=diameter, delta=delta_templates)
    failure = raj2017.uniform_failure(
        s, r, eps=eps, d=d, diameter=diameter, sigma=sigma, published=published
    )
    stated = (64 * (d + 1) / (eps * sigma) ** 2) ** (d / (d + 1)) * (
        delta_elements + delta_templates
    ) ** (2 * d / (d + 1))
    # The statement loses the factor 2 of its own proof.
    assert failure <= 2 * stated * (1 + 1e-9)


def test_the_excess_risk_decreases_with_the_square_root_of_each_size():
    fixed = {"C": 2.0, "delta": 0.05}
    for name in ("n", "s", "r"):
        sizes = {"n": 1e12, "s": 1e12, "r": 1e12}
        values = []
        for size in (1e4, 4e4):
            sizes[name] = size
            values.append(float(raj2017.excess_risk_bound(**sizes, **fixed)))
        assert values[0] / values[1] == pytest.approx(2, rel=0.01)
    error = raj2017.approximation_error(np.array([100, 400]), np.inf, C=1.0, delta=0.1)
    assert error[0] == pytest.approx(2 * error[1])


def test_the_bound_on_averages_in_a_hilbert_space_holds():
    rng = np.random.default_rng(0)
    for n in (4, 30):
        vectors = rng.choice([-1.0, 1.0], size=(3000, n, 5)) / np.sqrt(5)
        distance = np.linalg.norm(vectors.mean(axis=1), axis=1)
        for delta in (0.5, 0.1, 0.01):
            assert np.mean(distance > raj2017.hilbert_average_bound(n, 1.0, delta=delta)) <= delta


def test_the_jacobian_factor_and_the_bandwidth_agree_with_their_formulas():
    A = np.array([[1.2, 0.3], [-0.1, 0.8]])
    assert_allclose(raj2017.jacobian_factor(A) ** 2, 1 / abs(np.linalg.det(A)))
    assert_allclose(Gaussian(raj2017.gamma_of_bandwidth(3.0))([[0.0]], [[2.0]]), np.exp(-4 / 18))


def test_small_sets_need_one_sample_and_the_sign_of_a_loss_has_no_effect():
    for samples in (raj2017.templates, raj2017.group_samples):
        assert samples(0.9, 2, diameter=1e-9, delta=0.5) == 1
    options = {"r": 9, "C": 1.0, "delta": 0.1, "lipschitz": 1.0}
    negative, positive = (
        raj2017.excess_risk_bound(9, 9, loss_at_zero=v, **options) for v in (-1.0, 1.0)
    )
    assert negative == positive
