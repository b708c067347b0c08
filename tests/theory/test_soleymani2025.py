"""Bounds and rates of Soleymani et al. 2025, compared with exact computations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance import groups as G
from invariance.spectral import Circle, Expansion, SpectralAveraging, Sphere, Torus, project
from invariance.theory import soleymani2025 as theory

smoothness = st.floats(0.5, 10)
dimension = st.integers(1, 12)


@settings(deadline=None)
@given(smoothness, dimension)
def test_the_cutoff_balances_both_terms_of_the_risk(s, d):
    n = 10_000
    D = theory.cutoff(n, s, d=d)
    variance = theory.estimation_error(n, D, noise=0.6, sup_norm=0.8)
    bias = theory.approximation_error(D, s, d=d, sobolev=1.0)
    assert variance == pytest.approx(bias)
    total = theory.risk_bound(n, D, s=s, d=d, noise=0.6, sup_norm=0.8, sobolev=1.0)
    assert total == pytest.approx(2 * n ** theory.risk_exponent(s, d))


@settings(deadline=None)
@given(smoothness, dimension)
def test_oracle_calls_agree_with_their_formula_in_the_cutoff(s, d):
    n = 5000
    rho = 3
    D = theory.cutoff(n, s, d=d)
    assert theory.oracle_calls(n, s, d=d, generators=rho) == pytest.approx(rho * D**2 + n * D)


@pytest.mark.parametrize("group", [
    G.Permutations(2),
    G.Permutations(30),
    G.CyclicShifts(17),
    G.SignFlips(40),
    G.SignedPermutations(9),
    G.GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]),
], ids=repr)  # fmt: skip
def test_the_bound_on_generators_is_the_integer_part_of_the_logarithm(group):
    bound = theory.generators_bound(group.order)
    assert 2**bound <= group.order < 2 ** (bound + 1)
    assert len(group.generators()) <= bound


def test_the_sobolev_norm_bounds_the_bias_of_the_truncation():
    """The part beyond D is at most D^-alpha times the squared norm (equation 29)."""
    basis = Torus(2, degree=20)
    s = 2.0
    counts = np.repeat(basis.counts_, basis.dimensions_)
    f = np.random.default_rng(0).standard_normal(basis.n_functions_) / counts**2
    norm = theory.sobolev_norm(f, counts, s=s, d=2)
    for D in basis.counts_[:-1]:
        assert np.sum(f[D:] ** 2) <= theory.approximation_error(D, s, d=2, sobolev=norm)


@pytest.mark.filterwarnings("ignore:the cutoff keeps 1 invariant")
def test_the_risk_bound_holds_on_average():
    """The expected excess risk of the published estimator is exact by Parseval (equation 43)."""
    basis = Torus(2, degree=8)
    group = G.SignFlips(2)
    s = 2.0
    noise = 0.3
    rng = np.random.RandomState(0)
    counts = np.repeat(basis.counts_, basis.dimensions_).astype(float)
    truth = project(rng.standard_normal(len(counts)) / counts**2, basis, group)
    target = Expansion(basis, truth)
    sup = np.abs(target.predict(basis.sample(5000, rng))).max()
    norm = theory.sobolev_norm(truth, counts, s=s, d=2)
    for n in (50, 400):
        risks = []
        for _ in range(60):
            X = basis.sample(n, rng)
            y = target.predict(X) + noise * rng.standard_normal(n)
            options = {"smoothness": s, "cutoff": "theorem", "estimator": "mean"}
            model = SpectralAveraging(Torus(2), group, **options).fit(X, y)
            D = model.basis_.n_functions_
            risks.append(np.sum((model.coef_ - truth[:D]) ** 2) + np.sum(truth[D:] ** 2))
        bound = theory.risk_bound(n, D, s=s, d=2, noise=noise, sup_norm=sup, sobolev=norm)
        assert np.mean(risks) + 3 * np.std(risks) / np.sqrt(60) <= bound


@pytest.mark.parametrize(("basis", "eigenvalue", "close"), [
    (Circle(), 1e8, 1e-4),
    (Torus(2), 1e5, 1e-3),
    (Torus(3, period=3.0), 1e5, 1e-2),
    (Sphere(3), 1e6, 2e-3),
    (Sphere(4), 1e6, 2e-3),
], ids=repr)  # fmt: skip
def test_weyls_law_holds_on_manifolds_with_a_known_spectrum(basis, eigenvalue, close):
    law = theory.weyl_law(eigenvalue, basis.manifold_dimension, volume=basis.volume)
    assert basis.counting(np.array([eigenvalue]))[0] == pytest.approx(law, rel=close)


def test_the_energy_of_integer_coefficients_does_not_wrap():
    energy = theory.dirichlet_energy(np.array([2**40, 1]), np.array([1, 2]))
    assert energy == 2.0**80 + 2


@pytest.mark.parametrize("coefficients", [[4_000_000_000, 1], np.array([4_000_000_000, 1])])
def test_the_sobolev_norm_of_integer_coefficients_does_not_wrap(coefficients):
    assert theory.sobolev_norm(coefficients, [1, 2], s=1.0, d=1) == pytest.approx(4e9)


def test_the_bound_on_generators_is_exact_for_large_orders():
    assert theory.generators_bound(np.int64(2**60 - 1)) == 59
    assert theory.generators_bound(np.uint8(255)) == 7
