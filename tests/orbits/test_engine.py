"""Reductions over orbits by every way, against one transformation after another."""

import pickle
import time
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance import config_context
from invariance import groups as G
from invariance.beyond import MaxFilter, SetKernel
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.kernels import (
    CDF,
    Average,
    BestFit,
    Gaussian,
    Laplacian,
    Linear,
    Locality,
    Polynomial,
)
from invariance.orbits import Extremes, Histogram, JointMeans, OrbitProducts, WeightedMean
from invariance.orbits.cost import rate

SHAPE = (6, 6)
CYCLIC = G.Translations(SHAPE, max_shift=1)
TURNS = G.Rotations(SHAPE, degrees=[-12, 0, 5])


class Weighed(G.Translations):
    """Shifts of unequal weights, which are shifts all the same."""

    as_shifts = G.Translations.as_shifts

    def weights(self):
        values = G.VonMises(0.5).pdf(self.elements()).prod(axis=1)
        return values / values.sum()


GROUPS = {
    "cyclic": CYCLIC,
    "zero": G.Translations(SHAPE, max_shift=2, boundary="zero"),
    "weighted": Weighed(SHAPE, max_shift=1),
    "asymmetric": G.Translations(SHAPE, shifts=[[0, 0], [1, -2], [3, 1]]),
    "group": G.CyclicTranslations(SHAPE, axes=(1,)),
    "turns": TURNS,
    "quarters": G.Rotations(SHAPE, degrees=range(0, 360, 45)),
    "turn, shift": TURNS.then(CYCLIC),
    "shift, turn": CYCLIC.then(TURNS),
    "shift, quarter turn": CYCLIC.then(G.Rotations(SHAPE, degrees=[0, 90])),
    "row": G.CyclicShifts(36),
    "blocks": G.CyclicShifts(12, block=3),
    "circle": G.CircleAction([0] * 6 + [1, 1, 2, 2, 3, 3] * 5, G.VonMises(1.0), n_nodes=9),
    "permutations": G.Permutations(4, block=9),
    "negation": G.Negation(),
}
BASES = {
    "inner": None,
    "linear": Linear(),
    "polynomial": Polynomial(8, 1 / 36),
    "odd": Polynomial(3, 0.1),
    "gaussian": Gaussian(0.1),
    "laplacian": Laplacian(0.1),
    "cdf": CDF(0.2, 6.0),
    "locality": Locality(SHAPE, 3),
    "cubic": Locality(SHAPE, 3, powers=(3, 2)),
}


def points(n, seed=0, low=-0.3):
    return np.random.default_rng(seed).uniform(low, 0.7, (n, 36))


def every(base, group, X, Z, side="second", elements=None):
    """Values of shape (elements, n, m)."""
    base = (lambda A, B: A @ B.T) if base is None else base
    elements = group.quadrature()[0] if elements is None else elements
    if side == "second":
        return np.array([base(X, moved) for moved in group.act(elements, Z)])
    return np.array([base(moved, Z) for moved in group.act(elements, X)])


#: Every base with every other group: two neighbours in these lists go the same ways.
PAIRS = [(b, g) for i, b in enumerate(BASES) for j, g in enumerate(GROUPS) if (i + j) % 2 == 0]


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize(("base", "group"), PAIRS)
def test_reductions_are_those_of_all_values(base, group):
    base, group = BASES[base], GROUPS[group]
    X, Z = points(7), points(5, seed=1)
    weights = group.quadrature()[1]
    for side, block_bytes in (("second", None), ("first", 20_000)):
        if base is not None and base.inner_form((6, 6, 1)) is None and block_bytes:
            continue  # the base kernel's own blocks are tested elsewhere
        values = every(base, group, X, Z, side)
        orbits = OrbitProducts(Z, group, base=base, side=side, block_bytes=block_bytes)
        (high,) = orbits.reduce(X, Extremes())
        assert_allclose(high, values.max(axis=0), rtol=1e-9, atol=1e-11)
        mean, cosine = orbits.reduce(X, WeightedMean([np.copy, np.cos]))
        assert_allclose(mean, np.tensordot(weights, values, 1), rtol=1e-9, atol=1e-11)
        assert_allclose(cosine, np.tensordot(weights, np.cos(values), 1), rtol=1e-9, atol=1e-11)
        (shares,) = orbits.reduce(X, Histogram(4, 1.9))
        below = [np.tensordot(weights, values <= 1.9 * k / 4, 1) for k in range(-4, 5)]
        assert_allclose(shares, np.stack(below, axis=-1), atol=1e-12)


@pytest.mark.parametrize("name", ["cyclic", "circle", "turns", "negation"])
@pytest.mark.parametrize("side", ["second", "first"])
def test_offsets_elements_and_weights(name, side):
    group, X, Z = GROUPS[name], points(7), points(5, seed=1)
    elements = group.sample(6, 0)
    weights, phases = np.arange(1, 7) / 21, np.arange(5.0)
    values = every(None, group, X, Z, side, elements) + phases
    orbits = OrbitProducts(Z, group, elements=elements, weights=weights, offsets=phases, side=side)
    expected = np.tensordot(weights, np.cos(values), 1)
    assert_allclose(orbits.reduce(X, WeightedMean([np.cos]))[0], expected, atol=1e-12)
    high, low = orbits.reduce(X, Extremes(smallest=True))
    assert_allclose([high, low], [values.max(axis=0), values.min(axis=0)], atol=1e-12)


@pytest.mark.parametrize("name", GROUPS)
def test_kept_points_written_in_place_and_pickled(name):
    group, X, Z, mean = GROUPS[name], points(300), points(40, seed=1), WeightedMean([np.cos])
    fresh = OrbitProducts(Z, group).reduce(X, mean)[0]
    kept = OrbitProducts(Z, group, keep=True)
    out = np.zeros((300, 90))
    for _ in range(2):
        out[:] = 7
        kept.reduce(X, mean, out=[out[:, 10:50]])
        assert_allclose(out[:, 10:50], fresh, atol=1e-12)
        assert np.all(out[:, 50:] == 7)
    assert_array_equal(pickle.loads(pickle.dumps(kept)).reduce(X, mean)[0], out[:, 10:50])
    assert_allclose(kept.reduce(X.astype(np.float32), mean)[0], fresh, atol=1e-5)


@pytest.mark.parametrize("base", [None, Gaussian(0.1), Locality(SHAPE, 3)], ids=repr)
def test_blank_features_are_left_out_if_points_are_many(base):
    X, Z = points(400).reshape(-1, 6, 6), points(5, seed=1)
    X[:, :2] = X[:, :, 5:] = 0
    X = X.reshape(-1, 36)
    for n in (400, 7):
        values, orbits = every(base, TURNS, X[:n], Z), OrbitProducts(Z, TURNS, base=base)
        assert_allclose(orbits.reduce(X[:n], Extremes())[0], values.max(axis=0), rtol=1e-9)
        assert_allclose(orbits.reduce(X[:n], WeightedMean())[0], values.mean(axis=0), rtol=1e-9)
        blank, full = (orbits.ranked(A, Extremes())[0] for A in (X[:n], X[:n] + 1))
        assert (blank.operations(n, 5) < full.operations(n, 5)) == (n == 400)


class Flipped(G.CyclicTranslations):
    """A user's subclass inherits the fast way."""


def test_a_users_group_and_a_subclass_of_a_kernel_get_the_fast_way():
    class Mine(Gaussian):
        pass

    class Other(Gaussian):
        def _gram(self, X, Y):
            return 1 + super()._gram(X, Y)

    rng, group = np.random.default_rng(0), Flipped((12, 12))
    X, Z = rng.random((7, 144)) / 3, rng.random((5, 144)) / 3
    expected = every(Gaussian(0.1), G.CyclicTranslations((12, 12)), X, Z).mean(0)
    orbits = OrbitProducts(Z, group, base=Mine(0.1))
    assert orbits.explain(X, WeightedMean()).way == "correlation"
    assert_allclose(orbits.reduce(X, WeightedMean())[0], expected)
    # one that defines other values does not inherit the form of its parent's
    other = OrbitProducts(Z, group, base=Other(0.1)).reduce(X, WeightedMean())[0]
    assert_allclose(other, 1 + expected)


class Ring(G.Transformations):
    """A set that the package does not know: it moves the entries of a vector around."""

    shape = (256,)

    def _listed(self):
        return np.arange(256)[:, None]

    def _act(self, elements, X):
        return np.stack([np.roll(X, int(k), axis=1) for k in elements[:, 0]])


class RingOfShifts(Ring):
    """The same with one method more."""

    def as_shifts(self, elements):
        return G.Grid((1, 256, 1), np.stack([0 * elements[:, 0], elements[:, 0]], axis=1))


@pytest.mark.parametrize("reduction", [Extremes(), WeightedMean()], ids=["largest", "mean"])
def test_one_method_more_gives_a_group_of_ones_own_the_fast_way(reduction):
    X, Z = np.random.default_rng(0).standard_normal((2, 30, 256)) / 8
    plain, fast = (OrbitProducts(Z, g, base=Gaussian(0.1)) for g in (Ring(), RingOfShifts()))
    assert plain.explain(X, reduction).way == "product"
    assert fast.explain(X, reduction).way == "correlation"
    (expected,), (found,) = plain.reduce(X, reduction), fast.reduce(X, reduction)
    assert_allclose(found, expected, rtol=1e-10)


def test_explain_lists_no_elements_where_they_are_many(monkeypatch):
    group = G.GeneratedPermutations([[1, 2, 3, 4, 5, 6, 7, 8, 0], [1, 0, 2, 3, 4, 5, 6, 7, 8]])
    monkeypatch.setattr(type(group), "elements", lambda _: pytest.fail("listed"))
    X = np.random.default_rng(0).standard_normal((30, 9))
    told = OrbitProducts(X, group, base=Gaussian(0.1)).explain(X, WeightedMean())
    few = OrbitProducts(X, group, base=Gaussian(0.1), elements=group.sample(512, 0))
    each = few.explain(X, WeightedMean()).operations / 512
    assert told.way == "product" and 0 < told.seconds
    assert_allclose(told.operations, 362_880 * each, rtol=1e-12)


def test_explain_knows_slow_kernels_and_one_triangle_and_reads_as_a_line(monkeypatch):
    class Slow(Laplacian):
        def _gram(self, X, Y):
            x = time.process_time()
            while time.process_time() < x + 2e-3:
                pass
            return super()._gram(X, Y)

    X = points(40)
    assert OrbitProducts(X, CYCLIC, base=Slow(0.1)).explain(X, WeightedMean()).seconds > 2e-3
    # Every look at this clock finds a second more, so that equal trials take equal times.
    monkeypatch.setattr(time, "process_time", count().__next__)
    X, kernel = np.ones((600, 64)), Average(Gaussian(0.1), G.CyclicShifts(64))
    whole = kernel.explain(X, X.copy()).seconds
    # One triangle of eight tiles a side has 36 of their 64 tiles.
    assert_allclose(kernel.explain(X).seconds, whole * 36 / 64)
    X = np.ones((5, 144))
    text = str(OrbitProducts(X, G.CyclicTranslations((12, 12))).explain(X, Extremes()))
    assert text.startswith("correlation: ") and "instead of product" in text


class Steps:
    """A clock that moves in steps of so many seconds; None stands still."""

    def __init__(self, clock, step):
        self.clock, self.step = clock, step

    def __call__(self):
        return 7.0 if self.step is None else self.clock() // self.step * self.step


@pytest.mark.parametrize("step", [None, 1e-3, 0.016])
@pytest.mark.parametrize("n", [3, 300])
def test_explain_measures_by_coarse_clocks_and_by_one_that_stands_still(n, step, monkeypatch):
    """The processor's time stands still in WebAssembly, and on Windows."""
    X, group = points(n), G.Permutations(4, block=9)
    orbits = OrbitProducts(X, group, base=Gaussian(0.1))
    orbits.reduce(X, WeightedMean())
    start = time.process_time()
    orbits.reduce(X, WeightedMean())
    once = time.process_time() - start
    monkeypatch.setattr(time, "process_time", Steps(time.process_time, step))
    if step is not None:
        monkeypatch.setattr(time, "perf_counter", Steps(time.perf_counter, step / 10))
    told = orbits.explain(X, WeightedMean()).seconds
    assert once / 20 < told < 20 * max(once, 2e-4)  # on a machine that does other things as well


def test_the_rate_of_products_is_measured_by_a_coarse_clock(monkeypatch):
    """The clock here is the processor's, which other programs do not slow down."""
    rate.cache_clear()
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    expected = rate("float64")
    monkeypatch.setattr(time, "perf_counter", Steps(time.process_time, 0.016))
    rate.cache_clear()
    try:
        assert expected / 10 < rate("float64") < 10 * expected
    finally:
        rate.cache_clear()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_explain_counts_the_result(dtype):
    X = np.random.default_rng(0).random((700, 12)).astype(dtype)
    group = G.CyclicShifts(12)
    gram = Average(Gaussian(0.1), group)(X)
    told = [Average(Gaussian(0.1), group).explain(X), BestFit(Gaussian(0.1), group).explain(X)]
    told.append(SetKernel(Gaussian(0.1), n_coordinates=3).explain(X))
    features = GroupCDF(group, 40, n_bins=10, random_state=0).fit(X)
    assert all(gram.nbytes <= each.n_bytes < gram.nbytes + 2**28 for each in told)
    assert features.explain(X).n_bytes >= features.transform(X).nbytes


# -- templates are kept between calls, whichever side the group transforms  ------------------------

KEPT = {
    "shifts": G.CyclicShifts(9),
    "grid": G.Translations((3, 3), max_shift=1, boundary="zero"),
    "circle": G.CircleAction([0, 1, 1, 2, 2, 3, 3, 0, 0], n_nodes=8),
    "signs": G.Negation().then(G.CyclicShifts(9)),
}
REDUCTIONS = [
    WeightedMean(),
    WeightedMean([np.cos]),
    WeightedMean([np.tanh], raw=True),
    JointMeans(lambda values: [np.tanh(values), np.cos(values)], 2),
    Extremes(),
    Histogram(3, 2.0),
    Histogram(5, 1.0),
]


@pytest.mark.parametrize("side", ["first", "second"])
@pytest.mark.parametrize("base", [None, Gaussian(0.1), Laplacian(0.1)], ids=repr)
@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_kept_of_the_points_of_an_earlier_call(name, base, side):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((4, 9))
    how = {"base": base, "side": side}
    kept = OrbitProducts(Z, KEPT[name], keep=True, **how)
    for dtype in (float, np.float32):
        for n in (5, 3):
            X = rng.standard_normal((n, 9)).astype(dtype)
            for reduction in REDUCTIONS:
                fresh = OrbitProducts(Z, KEPT[name], **how).reduce(X, reduction)
                for one, other in zip(kept.reduce(X, reduction), fresh, strict=True):
                    assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", KEPT)
def test_tensors_meet_what_was_prepared_before(name, monkeypatch):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((4, 9)), rng.standard_normal((5, 9))
    orbits, some = OrbitProducts(Z, KEPT[name], keep=True), [REDUCTIONS[0], *REDUCTIONS[4:]]
    for reduction in some:
        fresh = OrbitProducts(Z, KEPT[name]).reduce(X, reduction)[0]
        assert_allclose(orbits.reduce(torch.from_numpy(X), reduction)[0], fresh, atol=1e-12)
    graded = torch.from_numpy(X).requires_grad_()
    orbits.reduce(graded, some[0])[0].sum().backward()
    slopes = [orbits.reduce(np.eye(9), some[0])[0].sum(axis=1)] * len(X)
    assert_allclose(graded.grad, slopes, atol=1e-12)
    monkeypatch.setattr(type(KEPT[name]), "act", lambda *_: pytest.fail("transformed anew"))
    for reduction in some:
        orbits.reduce(torch.from_numpy(X[:2]), reduction)
    orbits.reduce(graded, some[0])


@pytest.mark.parametrize("kind", [GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem])
@pytest.mark.parametrize("name", ["shifts", "grid", "circle"])
def test_a_lower_bound_on_memory_after_a_first_transform(name, kind):
    X = np.random.default_rng(0).standard_normal((40, 9))
    model = kind(KEPT[name], 30, random_state=0).fit(X)
    Z = model.transform(X)
    for block_bytes in (4000, 20_000, 2**28):
        with config_context(block_bytes=block_bytes):
            assert_allclose(model.transform(X), Z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("r", [1, 16, 33, 50, 128, 1100])
def test_extremes_of_a_tile_are_those_of_numpy_to_the_last_bit(r, dtype):
    values = np.random.default_rng(0).standard_normal((1, 6, r, 1024 // r + 1)).astype(dtype)
    weights = np.full((1, r), 1 / r)
    (largest,) = Extremes().of(values.copy(), weights, None)
    both = Extremes(smallest=True).of(values.copy(), weights, None)
    assert_array_equal(largest, values[0].max(axis=1))
    assert_array_equal(both, [values[0].max(axis=1), values[0].min(axis=1)])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("n", [3, 200])
def test_no_result_depends_on_earlier_calls(keep, n):
    group, Z, X = GROUPS["turn, shift"], points(90, seed=1), points(n)
    fresh = OrbitProducts(Z, group, keep=keep).reduce(X, WeightedMean([np.cos]))[0]
    used = OrbitProducts(Z, group, keep=keep)
    for earlier in (1, 50, 400):
        used.reduce(points(earlier, seed=2), WeightedMean([np.sin]))
        used.reduce(points(earlier, seed=2), Extremes())
    assert_array_equal(used.reduce(X, WeightedMean([np.cos]))[0], fresh)
