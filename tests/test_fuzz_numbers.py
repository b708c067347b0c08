"""A quick slice of `slow_checks/fuzz_numbers.py`, and checks of its own definitions.

Every object with every kind of points, in some three hundred fixed cases. A failure prints the
command that runs its case again. ``python tests/slow_checks/fuzz_numbers.py [seed] [n_cases]`` runs
all cases.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from invariance import kernels

sys.path.insert(0, str(Path(__file__).parent / "slow_checks"))
import exact_definitions as exact
import fuzz_numbers as fuzz

pytestmark = pytest.mark.skipif(not exact.IS_EXTENDED, reason="no long doubles on this processor")

#: Number of cases per object.
SEED = 20
EACH = 9


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_results_agree_with_the_definitions(name):
    start = list(fuzz.TARGETS).index(name)
    step = len(fuzz.TARGETS)
    failures = fuzz.failures(SEED, range(start, EACH * step, step))
    messages = [
        f"{failed}: {excess:.2g} times the tolerance; {detail}\n"
        f"    python tests/slow_checks/fuzz_numbers.py {SEED} --case {index}"
        for index, parts in failures.items()
        for failed, excess, detail in parts
    ]
    assert not messages, "\n" + "\n".join(messages)


@pytest.mark.parametrize("action", fuzz.actions("finite"), ids=lambda action: action.name)
def test_finite_groups_act_as_their_matrices(action):
    x = np.random.default_rng(0).standard_normal((1, action.d))
    if action.coulomb:
        x = x + x.reshape(3, 3).T.reshape(1, 9)
    computed = action.group.act(action.group.elements(), x)[:, 0]
    expected = action.moves(x, action.maps)[:, 0].astype(float)
    assert len(computed) == len(expected)
    gaps = np.abs(computed[:, None] - expected).max(axis=2)
    assert gaps.min(axis=0).max() < 1e-12 and gaps.min(axis=1).max() < 1e-12


@pytest.mark.parametrize("action", fuzz.actions("infinite"), ids=lambda action: action.name)
def test_infinite_groups_agree_with_their_quadratures(action):
    """Moments over many sampled elements agree with dense quadratures within 6 sigma."""
    x, z = np.random.default_rng(1).standard_normal((2, 1, action.d))
    drawn = action.group.act(action.group.sample(2_000, 0), x)[:, 0] @ z[0]
    maps, weights = action.rule(action.levels()[1], relative=False)
    values = (action.moves(x, maps)[:, 0] @ z[0]).astype(float)
    mean, square = (float(np.sum(weights * values**k)) for k in (1, 2))
    fourth = float(np.sum(weights * values**4))
    assert abs(drawn.mean() - mean) < 6 * (square / len(drawn)) ** 0.5
    assert abs(np.square(drawn).mean() - square) < 6 * (fourth / len(drawn)) ** 0.5


def test_a_silent_loss_of_accuracy_is_detected():
    class Careless(kernels.Gaussian):
        """Distances as |x|^2 + |z|^2 - 2 <x, z>, which cancels."""

        def _gram(self, X, Y):
            Y = X if Y is None else Y
            squares = np.square(X).sum(1)[:, None] + np.square(Y).sum(1) - 2 * X @ Y.T
            return np.exp(-self.gamma * squares)

    base = exact.gaussian(Careless(0.5))
    X = np.random.default_rng(0).standard_normal((4, 3))
    for offset, properties in ((0.0, set()), (1e6, {"definition"})):
        case = fuzz.Case(0, 0)
        points = X + offset
        expected = base.values(exact.extended(points), exact.extended(points))
        tolerance = fuzz.rounding_of(base, 3, points)
        fuzz.look_at_kernel(
            case, base.kernel, points, None, due=expected, tolerance=tolerance, definite=True
        )
        assert {failed for failed, _, _ in case.failures} >= properties
        assert bool(case.failures) == bool(properties)


def test_extended_precision_solves_what_doubles_cannot():
    hilbert = 1 / (np.arange(1, 9)[:, None] + np.arange(8)).astype(exact.Long)
    solved = exact.solve(hilbert, hilbert @ np.ones(8))
    assert np.abs(solved - 1).max() < 1e-7
    values, vectors = exact.eigenvalues(hilbert)
    assert np.abs(hilbert @ vectors - vectors * values).max() < 1e-18
