"""What once was wrong without an error: float32, quadratures, shapes, overflow, memory."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from invariance.groups import (
    CircleAction,
    CyclicShifts,
    Rotations,
    SignFlips,
    Translations,
    VonMises,
)
from invariance.kernels import Average, BestFit, Gaussian, Hyperkernel, Linear, Locality, Polynomial


@pytest.mark.parametrize("offset", [100, 1000, 30_000])
def test_single_precision_far_from_the_origin(offset):
    X = (offset + np.random.default_rng(0).standard_normal((40, 5))).astype(np.float32)
    expected = rbf_kernel(X.astype(float), gamma=0.3)
    assert_allclose(Gaussian(0.3)(X), expected, atol=1e-6)
    assert_allclose(Gaussian(0.3)(X, X[:7]), expected[:, :7], atol=1e-6)
    group = CyclicShifts(5)
    moved = group.act(group.elements(), X)
    every = np.array([rbf_kernel(X.astype(float), m.astype(float), gamma=0.3) for m in moved])
    assert_allclose(Average(Gaussian(0.3), group)(X), every.mean(axis=0), atol=1e-6)
    assert_allclose(BestFit(Gaussian(0.3), group)(X), every.max(axis=0), atol=1e-6)
    assert Average(Gaussian(0.3), group)(X).dtype == np.float32


@pytest.mark.parametrize(("kappa", "gamma"), [(10.0, 0.3), (1000.0, 0.3), (0.0, 3.0), (10.0, 3.0)])
def test_nodes_are_as_many_as_density_and_width_ask_for(kappa, gamma):
    """Nine nodes erred by 20 % at kappa = 10 and six-fold for Gaussian(3)."""
    X = np.random.default_rng(0).standard_normal((6, 5))
    frequencies = [0, 1, 1, 2, 2]
    fine = CircleAction(frequencies, VonMises(kappa), n_nodes=4000)
    exact = Average(Gaussian(gamma), fine)(X)
    found = Average(Gaussian(gamma), CircleAction(frequencies, VonMises(kappa)))(X)
    assert np.abs(found - exact).max() < 1e-4 * exact.max()


def test_nodes_for_rough_images():
    """Four nodes a pixel of the side erred by 22 %."""
    X = np.random.default_rng(0).standard_normal((4, 36))
    base = Gaussian(0.5)
    fine = Rotations((6, 6), degrees=np.arange(1, 14400, 2) / 40)
    exact = Average(base, fine, side="second")(X, X[::-1])
    found = Average(base, Rotations((6, 6)), side="second", tolerance=0.003)(X, X[::-1])
    assert np.abs(found - exact).max() < 0.02 * exact.max()


def test_a_quadrature_that_will_not_do_says_so():
    group = CircleAction([1, 1], VonMises(1e9))
    with pytest.warns(UserWarning, match=r"nodes leave a relative error of about"):
        Average(Gaussian(1.0), group)(np.eye(2))


@pytest.mark.parametrize(
    ("kappa", "gamma", "n_nodes"), [(10.0, 0.3, 9), (0.0, 3.0, 9), (1000.0, 0.3, 48)]
)
def test_nodes_that_were_given_are_kept_and_too_few_say_by_how_much(kappa, gamma, n_nodes):
    """They erred by 20 %, six-fold and by 14 % without a word."""
    X = np.random.default_rng(0).standard_normal((6, 5))
    frequencies = [0, 1, 1, 2, 2]
    coarse = CircleAction(frequencies, VonMises(kappa), n_nodes=n_nodes)
    kernel = Average(Gaussian(gamma), coarse)
    with pytest.warns(UserWarning, match=f"{n_nodes} nodes leave a relative error of") as caught:
        found = kernel(X)
    exact = Average(Gaussian(gamma), CircleAction(frequencies, VonMises(kappa)))(X)
    error = np.abs(found - exact).max() / exact.max()
    estimate = float(re.search(r"about ([\d.e+-]+),", str(caught[0].message))[1])
    assert error > 1e-3 and 0.3 * error < estimate < 3 * error
    elements, weights = coarse.elements(), coarse.weights()
    moved = coarse.act(elements, X)
    every = np.array([[rbf_kernel(a, b, gamma=gamma) for b in moved] for a in moved])
    weights = np.full(n_nodes, 1 / n_nodes) if weights is None else weights
    assert_allclose(found, np.einsum("r,s,rsnm->nm", weights, weights, every), rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Average(Gaussian(gamma), coarse, tolerance=10.0)(X)
        Average(Gaussian(0.01), CircleAction(frequencies, VonMises(1.0), n_nodes=64))(X)


def test_given_nodes_are_looked_at_once_and_again_where_something_changes():
    """Looking at them took three quarters of the time of a call with 20 points."""
    doubled = []

    class Circle(CircleAction):
        def refined(self, factor):
            doubled.extend([factor] * (factor > 1))
            return super().refined(factor)

    X = np.random.default_rng(0).standard_normal((6, 5))
    kernel = Average(Gaussian(0.3), Circle([0, 1, 1, 2, 2], VonMises(1.0), n_nodes=48))
    kernel(X), kernel(X), kernel(X[:3], X)
    assert len(doubled) == 1
    kernel(2 * X)
    assert len(doubled) == 2
    for name, coarse in (("base__gamma", 300.0), ("group__density__kappa", 1000.0)):
        fine = kernel.get_params()[name]
        kernel.set_params(**{name: coarse})
        with pytest.warns(UserWarning, match="48 nodes leave a relative error") as caught:
            kernel(X)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel(X), kernel(X[:3], X), kernel(3 * X)  # once is enough
            kernel.set_params(tolerance=10.0)(X)
            kernel.set_params(**{name: fine}, tolerance=1e-4)(X)


@pytest.mark.parametrize("family", [Average, BestFit])
def test_base_kernel_and_group_must_see_the_same_points(family):
    kernel = family(Locality((3, 12), 3), Translations((6, 6), max_shift=1))
    with pytest.raises(ValueError, match="must agree"):
        kernel(np.ones((2, 36)))


@pytest.mark.parametrize("kernel", [Average, BestFit])
@pytest.mark.parametrize("value", [1e9, "1", 0, -1, [1]])
def test_a_bound_on_memory_is_a_whole_number(kernel, value):
    with pytest.raises(ValueError, match=f"block_bytes.*got {re.escape(repr(value))}"):
        kernel(Linear(), CyclicShifts(6), block_bytes=value)(np.ones((2, 6)))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.1),
        Polynomial(3),
        Average(Gaussian(0.1), CyclicShifts(6)),
        Average(Polynomial(4), CyclicShifts(6)),
        BestFit(Gaussian(0.1), CyclicShifts(6)),
        BestFit(Polynomial(3), SignFlips(6)),
        Hyperkernel(Polynomial(3)),
    ],
    ids=repr,
)
def test_huge_points_are_refused_in_the_users_terms(kernel):
    X = np.random.default_rng(0).standard_normal((5, 6)) * 1e200
    with pytest.raises(ValueError, match="largest absolute feature of the points is .*scale the"):
        kernel(X)


def test_both_triangles_agree_to_the_bit():
    X = np.random.default_rng(0).standard_normal((333, 5))
    for side in ("auto", "both"):
        group = CircleAction([0, 1, 1, 2, 2], VonMises(1.0), n_nodes=8)
        gram = Average(Gaussian(0.3), group, side=side)(X[:90])
        assert_array_equal(gram, gram.T)


_MEASURED = """
import resource, sys
import numpy as np
from invariance.groups import *
from invariance.kernels import *
from invariance.kernels.tangent import TANGENTS
rng, sh = np.random.default_rng(0), (28, 28)
kernel, n, d = {case}
X = rng.random((n, d))
kernel.set_params(block_bytes=32 * 2**20)
kernel(X[:20])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gram = kernel(X)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 - gram.nbytes)
"""


@pytest.mark.parametrize(
    "case",
    [
        "BestFit(Polynomial(3, 1 / 784), Translations(sh, max_shift=1)), 3000, 784",
        "BestFit(Gaussian(0.01), Rotations(sh, degrees=[0, 5])), 1500, 784",
        "Average(Gaussian(0.1), CircleAction([0] * 10 + [1, 1] * 20, n_nodes=16)), 3000, 50",
        "Average(Gaussian(0.1), SignFlips(20)), 2500, 20",
        "Average(Gaussian(0.1), Rotations(sh, degrees=[0, 5]), side='both'), 1000, 784",
        "BestFit(Locality(sh, 7), Translations(sh, max_shift=1)), 400, 784",
        "Locality(sh, 7), 600, 784",
        "Locality(sh, 7, powers=(2, 2, 2)), 200, 784",
        "TangentDistance(sh), 1500, 784",
        "TangentDistance(sh, tuple(TANGENTS)[:6], side='first'), 1500, 784",
    ],
)
def test_memory_stays_under_its_bound(case):
    """Beside inputs and result at most 1.25 times `block_bytes`, seen from outside the process."""
    code = _MEASURED.format(case=case)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1.25 * 32 * 2**20


def test_no_decision_by_the_name_of_a_class():
    """Objects are asked what they can do, so that a subclass and a user's own get the fast way."""
    root = Path(__file__).parents[2] / "invariance"
    names = set()
    for path in root.rglob("*.py"):
        names |= set(re.findall(r"^class (\w+)", path.read_text(), re.M))
    # Base classes that say "one of ours at all" and containers of data are no such names.
    names -= {"Kind", "FeatureMap"}
    decision = re.compile(
        r"isinstance\([^()]*(?:\([^()]*\)[^()]*)*\)|type\([^()]*\) (?:is|==|in)\b.*"
    )
    found = []
    for folder in ("kernels", "features", "orbits", "spectral", "linear"):
        for path in (root / folder).rglob("*.py"):
            for match in decision.finditer(path.read_text()):
                used = set(re.findall(r"\b[A-Z]\w+", match.group())) & names
                if used:
                    found.append(f"{path.relative_to(root)}: {match.group()}")
    assert not found, "\n".join(found)
