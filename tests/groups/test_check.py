"""`check_group` accepts every set of the package and names the fault of a broken one."""

import numpy as np
import pytest

from invariance import beyond
from invariance import groups as G

ROTATED = [0, 1, 1, 2, 2]
CORRECT = [
    G.AtomPermutations(5),
    G.CircleAction(ROTATED),
    G.CircleAction(ROTATED, G.VonMises(2.0, loc=0.5)),
    G.CircleAction(ROTATED, G.Normal(0.3)),
    G.CircleAction(ROTATED, n_nodes=32),
    G.CircleAction(ROTATED, G.VonMises(2.0), n_nodes=32),
    G.CircleAction(ROTATED, G.VonMises(2.0, loc=0.5), n_nodes=500),
    G.CircleAction([0, 0], n_nodes=4),                 # all elements act alike
    G.CyclicShifts(64),
    G.CyclicTranslations((64, 64)),
    G.GeneratedPermutations([np.roll(np.arange(20), 1), [1, 0, *range(2, 20)]]),
    G.LinearMaps(np.arange(6.0).reshape(3, 1, 2)),
    G.OrthogonalMatrices([np.roll(np.eye(3), 1, axis=0), np.diag([-1.0, -1, 1])]),
    G.Permutations(30),
    G.CyclicShifts(3).then(G.LinearMaps(np.eye(3)[None, :2])),
    G.SignFlips(100),
    G.SignedPermutations(8),
    G.Affine((8, 8)),                                  # draws nothing but the identity
    G.Affine((8, 8), rotation=G.VonMises(9), scaling=G.LogNormal(0.3)),
    G.Affine((8, 8), maps=G.affine_maps(degrees=[0, 20, 50])),
    G.Rotations((8, 8), density=G.VonMises(2.0)),
    G.Rotations((8, 8), degrees=range(-10, 10), density=G.VonMises(2.0)),
    G.Rotations((8, 8), degrees=[0, 90, 360]),         # lists one element twice
    G.Affine((8, 8), scaling=G.LogNormal(0.3)),
    beyond.SpectrogramPitchSpeed((10, 6)),
    G.Translations((8, 8), 2, boundary="zero"),
    G.Translations((9, 9), 3),
    G.Rotations((8, 8), degrees=range(-5, 6)).then(G.Translations((8, 8), 2)),
    G.CyclicShifts(50).then(G.CyclicShifts(50)),
]  # fmt: skip


def test_check_group_accepts_correct_sets():
    for group in CORRECT:
        G.check_group(group)


def test_check_group_accepts_correct_samples_for_every_seed():
    for group in (
        G.CyclicShifts(2),
        G.Permutations(4),
        G.CircleAction(ROTATED),
        G.SignFlips(12),
        G.Rotations((8, 8), degrees=range(-10, 10), density=G.VonMises(2.0)),
    ):
        for seed in range(12):
            G.check_group(group, random_state=seed)


def broken(group, **methods):
    """A copy of the group with some methods or attributes replaced."""
    return type("Broken", (type(group),), methods)(**group.get_params(deep=False))


def is_18(elements, value, default):
    """Return `value` for the shift [18 19 ...], and `default` for all other elements."""
    first = np.asarray(elements)[:, :1]
    return np.where(
        first == 18 if np.ndim(default) < 3 else first[:, :, None] == 18, value, default
    )


SMALL = G.CyclicShifts(64)
act = G.CyclicShifts._act
ONE_WEAK = broken(SMALL, _act=lambda self, g, X: is_18(g, 0.9 * act(self, g, X), act(self, g, X)))
WRONG_INVERSE = broken(SMALL, inverse=lambda self, g: is_18(g, g, SMALL.inverse(g)))
BENT = broken(SMALL, unitary=False, _act=lambda self, g, X: act(self, g, X) ** 3)
DIVIDES_BY_ZERO = broken(SMALL, _act=lambda self, g, X: is_18(g, np.nan, act(self, g, X)))
GENERATES_HALF = broken(SMALL, generators=lambda self: np.roll(self.identity(), 2, axis=1))
OVERSTATED = broken(SMALL, order=5000, elements=lambda self: SMALL.elements())


def wrong_product(self, first, second):
    product = SMALL.compose(first, second)
    return is_18(product, self.identity(), product)


def lists_one_twice(self):
    listed = SMALL.elements()
    listed[18] = listed[19]
    return listed


#: Shifts whose sums are not reduced modulo 16.
NEVER_REDUCES = broken(
    G.TorusTranslations([16]),
    identity=lambda self: np.array([[0]]),
    generators=lambda self: np.array([[1]]),
    compose=lambda self, first, second: first + second,
    inverse=lambda self, elements: -elements,
    elements=G.FiniteGroup.elements,
)


@pytest.mark.parametrize(("group", "message"), [
    (ONE_WEAK, r"unitary is claimed, .* for \[18 19"),
    (WRONG_INVERSE, r"inverse: g\^-1 \(g x\) = x fails by .* for \[18 19"),
    (broken(SMALL, compose=wrong_product), r"\(gh\)x = g\(hx\) fails by .* for \["),
    (broken(SMALL, elements=lists_one_twice), r"only 63 elements act differently.* for \["),
    (GENERATES_HALF, "order says 64, but the generators give only 32 elements"),
    (OVERSTATED, "of 2000 draws of sample only 64 differ, .* 5000 elements are equally likely"),
    (BENT, "linearity of the action fails"),
    (DIVIDES_BY_ZERO, r"nan or infinite values for \[18 19"),
    (NEVER_REDUCES, "order says 16, but closing the generators .* passed 16 elements"),
])  # fmt: skip
def test_one_wrong_element_is_named(group, message):
    with pytest.raises(AssertionError, match=f"(?s){message}"):
        G.check_group(group)


def rng(seed):
    return np.random.RandomState(seed) if isinstance(seed, int) else seed


def only_the_identity(self, n, seed=None):
    return np.repeat(self.identity(), n, axis=0)


def one_draw_repeated(self, n, seed=None):
    return np.repeat(type(self).mro()[1].sample(self, 1, seed), n, axis=0)


def first_half(self, n, seed=None):
    return self.elements()[np.random.RandomState(0).randint(self.order // 2, size=n)]


def all_but_the_last(self, n, seed=None):
    return self.elements()[rng(seed).randint(self.order - 1, size=n)]


def near_the_identity(self, n, seed=None):
    return rng(seed).normal(size=n)


def quarter_turns(self, n, seed=None):
    return rng(seed).randint(4, size=n) * np.pi / 2


LARGE = G.Permutations(30)
CIRCLE = G.CircleAction(ROTATED)
NODES = G.CircleAction(ROTATED, n_nodes=8)
UNFOLLOWED = "does not follow the weights: of"


@pytest.mark.parametrize(("group", "sample", "message"), [
    (SMALL, only_the_identity, rf"{UNFOLLOWED} 1920 draws 1920 instead of 30 .* for \[ 1  2"),
    (SMALL, one_draw_repeated, UNFOLLOWED),
    (SMALL, first_half, rf"{UNFOLLOWED} 1920 draws \d+ instead of 30"),
    (SMALL, all_but_the_last, rf"{UNFOLLOWED} 1920 draws 0 instead of 30 .* for \[ 2  3"),
    (NODES, only_the_identity, f"{UNFOLLOWED} 1000 draws 1000 instead of 125 .* for 0"),
    (NODES, near_the_identity, "sample draws what elements.. does not list"),
    (G.Translations((8, 8), 1), lambda self, n, seed=None: np.zeros((n, 2), int), UNFOLLOWED),
    (LARGE, only_the_identity, r"only 1 differ, .* for \[ 1  2"),
    (LARGE, one_draw_repeated, "only 1 differ"),
    (CIRCLE, only_the_identity, "only 1 differ"),
    (CIRCLE, quarter_turns, "only 4 differ"),
])  # fmt: skip
def test_a_sample_from_another_measure_is_refused(group, sample, message):
    with pytest.raises(AssertionError, match=f"(?s){message}"):
        G.check_group(broken(group, sample=sample))


@pytest.mark.parametrize(("weights", "message"), [
    (np.full(4, 0.3), "4 probabilities; .* sum 1.2"),
    (np.array([1.2, -0.2, 0, 0]), "4 probabilities; the least is -0.2"),
    (np.array([1.0, np.nan, 0, 0]), "4 probabilities; the least is nan"),
    (np.full(5, 0.2), r"4 probabilities; got \(5,\)"),
    ([0.25, 0.25, 0.25, 0.25], r"4 probabilities; got \[0.25"),
])  # fmt: skip
def test_weights_must_be_the_probabilities_of_sample(weights, message):
    with pytest.raises(AssertionError, match=message):
        G.check_group(broken(G.CyclicShifts(4), weights=lambda self: weights))


def test_draws_must_follow_the_weights():
    shifts = G.CyclicShifts(4)
    parts = {"weights": lambda self: np.array([0.7, 0.1, 0.1, 0.1]), "symmetric": False}
    G.check_group(broken(shifts, **parts))
    with pytest.raises(AssertionError, match=UNFOLLOWED):
        G.check_group(
            broken(shifts, **parts, sample=lambda self, n, seed=None: shifts.sample(n, seed))
        )


def test_departure_from_unitary_has_no_unit():
    X = np.random.default_rng(0).standard_normal((4, 12))
    shifts = G.Translations((3, 4), max_shift=1, boundary="zero")
    expected = G.departure_from_unitary(shifts, X)
    for unit in (1e-300, 1e-160, 1e140):
        assert G.departure_from_unitary(shifts, unit * X) == pytest.approx(expected, rel=1e-9)


def test_uniform_densities_of_any_width_know_whether_they_are_symmetric():
    for unit in (1e-300, 1e-9, 1.0, 1e9):
        assert G.Uniform(-unit, unit).symmetric
        assert not G.Uniform(0.0, unit).symmetric
        assert not G.Uniform(-unit, unit / 2).symmetric


def test_a_measure_that_is_not_symmetric():
    weights = np.array([0.7, 0.2, 0.1])

    def sample(self, n, seed=None):
        return self.elements()[rng(seed).choice(3, size=n, p=weights)]

    parts = {"weights": lambda self: weights, "sample": sample}
    with pytest.raises(AssertionError, match=r"weights 0.2 and, of the inverse, 0.1 differ for"):
        G.check_group(broken(G.CyclicShifts(3), **parts))
    G.check_group(broken(G.CyclicShifts(3), **parts, symmetric=False))


def test_wrong_lists_of_elements_and_samples_that_ignore_the_seed_are_named():
    with pytest.raises(AssertionError, match=r"order says 3, but elements\(\) lists 1"):
        G.check_group(broken(G.CyclicShifts(3), elements=lambda self: np.array([[1, 2, 3]])))
    with pytest.raises(AssertionError, match=r"sample\(4, 7\) differs between calls"):
        G.check_group(broken(SMALL, sample=lambda self, n, seed=None: SMALL.sample(n, None)))
