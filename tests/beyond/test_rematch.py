"""The regularised entropy match: its definition, its limits, and small weights of the entropy."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from invariance.beyond import MatchingKernel, REMatchKernel, SetKernel, pad_sets
from invariance.core.parameters import ParameterError
from invariance.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
SETS = [RNG.standard_normal((m, 2)) for m in (1, 2, 3, 4, 5, 6)]
X = pad_sets(SETS)
BASE = Gaussian(0.7)


def best_plan(similarities, alpha):
    """The plan of the definition, by a general solver of convex problems."""
    m, k = similarities.shape
    plan = cp.Variable((m, k), nonneg=True)
    value = cp.sum(cp.multiply(plan, similarities)) + alpha * cp.sum(cp.entr(plan))
    sums = [cp.sum(plan, axis=1) == 1 / m, cp.sum(plan, axis=0) == 1 / k]
    cp.Problem(cp.Maximize(value), sums).solve(solver="CLARABEL")
    return plan.value


def value_by_plain_steps(similarities, alpha, n_steps):
    """Sinkhorn's iteration for one pair of sets."""
    m, k = similarities.shape
    weights = np.exp(similarities / alpha)
    of_columns = np.ones(k)
    for _ in range(n_steps):
        of_rows = 1 / (m * (weights @ of_columns))
        of_columns = 1 / (k * (of_rows @ weights))
    plan = of_rows[:, None] * weights * of_columns
    return np.sum(plan * similarities)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("base", [BASE, Linear()], ids=repr)
def test_the_plan_is_the_best_of_the_definition(base, alpha):
    expected = np.empty((len(SETS), len(SETS)))
    for i, a in enumerate(SETS):
        for j, b in enumerate(SETS):
            similarities = base(a, b)
            expected[i, j] = np.sum(best_plan(similarities, alpha) * similarities)
    kernel = REMatchKernel(base, alpha=alpha)
    assert_allclose(kernel(X), expected, atol=2e-5)
    assert_allclose(kernel(X, X[:3]), expected[:, :3], atol=2e-5)
    assert_allclose(kernel.diag(X), expected.diagonal(), atol=2e-5)


def values_by_plain_steps():
    return [[value_by_plain_steps(BASE(a, b), 0.3, 500) for b in SETS] for a in SETS]


@pytest.mark.parametrize("block_bytes", [None, 300])
def test_values_are_those_of_plain_steps(block_bytes):
    kernel = REMatchKernel(BASE, alpha=0.3, tol=1e-12, block_bytes=block_bytes)
    expected = values_by_plain_steps()
    gram = kernel(X)
    assert_allclose(gram, expected, rtol=1e-10)
    assert_allclose(gram, gram.T, rtol=0)
    roots = np.sqrt(np.diag(expected))
    normalized = REMatchKernel(BASE, alpha=0.3, tol=1e-12, normalize=True)
    assert_allclose(normalized(X, X), expected / np.outer(roots, roots), rtol=1e-10)
    sizes = np.arange(1, 7)
    summed = REMatchKernel(BASE, "sum", alpha=0.3, tol=1e-12)
    assert_allclose(summed(X), expected * np.maximum.outer(sizes, sizes), rtol=1e-10)


def test_a_large_weight_gives_the_mean_and_a_small_one_the_best_matching():
    assert_allclose(REMatchKernel(BASE, alpha=1e6)(X), SetKernel(BASE)(X), atol=1e-6)
    equal = pad_sets(RNG.standard_normal((6, 5, 2)))
    best = MatchingKernel(BASE)(equal)
    for alpha in (1e-5, 1e-8, 1e-300):  # The entropy is worth at most alpha log 5.
        assert_allclose(REMatchKernel(BASE, alpha=alpha)(equal), best, atol=1e-5)


@pytest.mark.parametrize("size", [1e6, 1e9, 1e100])
def test_values_do_not_depend_on_larger_sets_beside_them(size):
    kernel = REMatchKernel(Linear(), alpha=0.05)
    huge = size * RNG.standard_normal((4, 2))
    beside = kernel(pad_sets([*SETS, huge]))
    assert_allclose(beside[:-1, :-1], kernel(X), rtol=1e-5, atol=1e-6)
    best = MatchingKernel(Linear())(pad_sets([huge]))
    assert_allclose(beside[-1, -1], best[0, 0], rtol=1e-6)


def test_plans_that_are_not_finished_are_reported():
    with pytest.warns(ConvergenceWarning, match=r"pairs of sets .* raise alpha=0.01, max_iter or"):
        values = REMatchKernel(BASE, alpha=0.01, max_iter=1)(X)
    assert np.isfinite(values).all()


def test_sets_in_single_precision_and_labelled_points():
    single = REMatchKernel(BASE)(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, REMatchKernel(BASE)(X), rtol=1e-4)
    with pytest.raises(ParameterError, match="make the label a coordinate"):
        REMatchKernel(BASE, labelled=True)(X)
    assert REMatchKernel(BASE).explain(X).operations > SetKernel(BASE).explain(X).operations
