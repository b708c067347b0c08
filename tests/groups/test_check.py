"""`check_group` lets every set of the package pass and names what is wrong with a broken one."""

import numpy as np
import pytest

from invariance.groups import (
    Affine,
    AtomPermutations,
    CircleAction,
    CyclicShifts,
    CyclicTranslations,
    FiniteGroup,
    GeneratedPermutations,
    LinearMaps,
    LogNormal,
    Negation,
    Normal,
    OrthogonalMatrices,
    Permutations,
    Rotations,
    SignedPermutations,
    SignFlips,
    SpectrogramPitchSpeed,
    Translations,
    VonMises,
    affine_maps,
    check_group,
)

ROTATED = [0, 1, 1, 2, 2]
CORRECT = [
    AtomPermutations(5),
    CircleAction(ROTATED),
    CircleAction(ROTATED, VonMises(2.0, loc=0.5)),
    CircleAction(ROTATED, Normal(0.3)),
    CircleAction(ROTATED, n_nodes=32),
    CircleAction(ROTATED, VonMises(2.0), n_nodes=32),
    CircleAction(ROTATED, VonMises(2.0, loc=0.5), n_nodes=500),
    CircleAction([0, 0], n_nodes=4),                 # all elements act alike
    CyclicShifts(64),
    CyclicTranslations((28, 28)),
    CyclicTranslations((64, 64)),
    GeneratedPermutations([np.roll(np.arange(20), 1), [1, 0, *range(2, 20)]]),
    LinearMaps(np.arange(6.0).reshape(3, 1, 2)),
    OrthogonalMatrices([np.roll(np.eye(3), 1, axis=0), np.diag([-1.0, -1, 1])]),
    Permutations(6),
    Permutations(30),
    CyclicShifts(3).then(LinearMaps(np.eye(3)[None, :2])),
    SignFlips(10),
    SignFlips(100),
    SignedPermutations(8),
    Affine((8, 8)),                                  # only ever draws the identity
    Affine((8, 8), rotation=VonMises(9), scaling=LogNormal(0.3)),
    Affine((8, 8), maps=affine_maps(degrees=[0, 20, 50])),
    Rotations((8, 8), density=VonMises(2.0)),
    Rotations((8, 8), degrees=range(-10, 10), density=VonMises(2.0)),
    Rotations((8, 8), degrees=[0, 90, 360]),         # one of them twice
    Affine((8, 8), scaling=LogNormal(0.3)),
    SpectrogramPitchSpeed((10, 6)),
    Translations((8, 8), 2, boundary="zero"),
    Translations((9, 9), 3),
    Rotations((8, 8), degrees=range(-5, 6)).then(Translations((8, 8), 2)),
    CyclicShifts(50).then(CyclicShifts(50)),
]  # fmt: skip


def test_correct_sets_pass():
    for group in CORRECT:
        check_group(group)


def test_no_seed_calls_a_correct_sample_wrong():
    for group in (
        CyclicShifts(2),
        Permutations(4),
        CircleAction(ROTATED),
        SignFlips(12),
        Rotations((8, 8), degrees=range(-10, 10), density=VonMises(2.0)),
    ):
        for seed in range(12):
            check_group(group, random_state=seed)


class OneWeakElement(CyclicShifts):
    """One of the shifts loses energy."""

    def _act(self, elements, X):
        weak = elements[:, 0] == 18
        return np.where(weak[:, None, None], 0.9, 1.0) * super()._act(elements, X)


class OneWrongInverse(CyclicShifts):
    def inverse(self, elements):
        return np.where(elements[:, :1] == 18, elements, super().inverse(elements))


class OneWrongProduct(CyclicShifts):
    def compose(self, first, second):
        product = super().compose(first, second)
        return np.where(product[:, :1] == 18, self.identity(), product)


class ListsOneTwice(CyclicShifts):
    def elements(self):
        listed = super().elements()
        listed[18] = listed[19]
        return listed


class GeneratesHalf(CyclicShifts):
    def generators(self):
        return np.roll(self.identity(), 2, axis=1)


class Overstated(CyclicShifts):
    order = 5000

    def elements(self):
        return super().elements()[: self.n]


class Bent(CyclicShifts):
    unitary = False

    def _act(self, elements, X):
        return super()._act(elements, X) ** 3


class DividesByZero(CyclicShifts):
    def _act(self, elements, X):
        return np.where(elements[:, :1, None] == 18, np.nan, super()._act(elements, X))


class NeverReduces(FiniteGroup):
    """Shifts whose sums grow for ever."""

    order = 16
    shape = (16,)

    def identity(self):
        return np.array([[0]])

    def generators(self):
        return np.array([[1]])

    def compose(self, first, second):
        return first + second

    def inverse(self, elements):
        return -elements

    def _act(self, elements, X):
        return np.stack([np.roll(X, int(s), axis=1) for s in elements[:, 0]])


@pytest.mark.parametrize(("group", "message"), [
    (OneWeakElement(64), r"unitary is claimed, .* for \[18 19"),
    (OneWrongInverse(64), r"inverse: g\^-1 \(g x\) = x fails by .* for \[18 19"),
    (OneWrongProduct(64), r"\(gh\)x = g\(hx\) fails by .* for \["),
    (ListsOneTwice(64), r"only 63 elements act differently.* for \["),
    (GeneratesHalf(64), "order says 64, but the generators give only 32 elements"),
    (Overstated(64), "of 2000 draws of sample only 64 differ, .* 5000 elements are equally likely"),
    (Bent(64), "linearity of the action fails"),
    (DividesByZero(64), r"nan or infinite values for \[18 19"),
    (NeverReduces(), "order says 16, but closing the generators .* passed 16 elements"),
])  # fmt: skip
def test_one_wrong_element_is_named(group, message):
    with pytest.raises(AssertionError, match=f"(?s){message}"):
        check_group(group)


def sampling(group, sample, **attributes):
    """The group with another `sample`."""
    kind = type("Sampling", (type(group),), {"sample": sample, **attributes})
    return kind(**group.get_params(deep=False))


def only_the_identity(self, n_samples, random_state=None):
    return np.repeat(self.identity(), n_samples, axis=0)


def one_draw_repeated(self, n_samples, random_state=None):
    return np.repeat(type(self).mro()[1].sample(self, 1, random_state), n_samples, axis=0)


def first_half(self, n_samples, random_state=None):
    listed = self.elements()[: self.order // 2]
    return listed[np.random.RandomState(0).randint(len(listed), size=n_samples)]


def all_but_the_last(self, n_samples, random_state=None):
    rng = np.random.RandomState(random_state) if isinstance(random_state, int) else random_state
    return self.elements()[rng.randint(self.order - 1, size=n_samples)]


def near_the_identity(self, n_samples, random_state=None):
    rng = np.random.RandomState(random_state) if isinstance(random_state, int) else random_state
    return rng.normal(size=n_samples)


def quarter_turns(self, n_samples, random_state=None):
    rng = np.random.RandomState(random_state) if isinstance(random_state, int) else random_state
    return rng.randint(4, size=n_samples) * np.pi / 2


SMALL, LARGE, CIRCLE = CyclicShifts(64), Permutations(30), CircleAction(ROTATED)
NODES = CircleAction(ROTATED, n_nodes=8)
UNFOLLOWED = "does not follow the weights: of"


@pytest.mark.parametrize(("group", "sample", "message"), [
    (SMALL, only_the_identity, rf"{UNFOLLOWED} 1920 draws 1920 instead of 30 .* for \[ 1  2"),
    (SMALL, one_draw_repeated, UNFOLLOWED),
    (SMALL, first_half, rf"{UNFOLLOWED} 1920 draws \d+ instead of 30"),
    (SMALL, all_but_the_last, rf"{UNFOLLOWED} 1920 draws 0 instead of 30 .* for \[ 2  3"),
    (NODES, only_the_identity, f"{UNFOLLOWED} 1000 draws 1000 instead of 125 .* for 0"),
    (NODES, near_the_identity, "sample draws what elements.. does not list"),
    (Translations((8, 8), 1), lambda self, n, random_state=None: np.zeros((n, 2), int), UNFOLLOWED),
    (LARGE, only_the_identity, r"only 1 differ, .* for \[ 1  2"),
    (LARGE, one_draw_repeated, "only 1 differ"),
    (CIRCLE, only_the_identity, "only 1 differ"),
    (CIRCLE, quarter_turns, "only 4 differ"),
])  # fmt: skip
def test_a_sample_from_another_measure_is_found(group, sample, message):
    with pytest.raises(AssertionError, match=f"(?s){message}"):
        check_group(sampling(group, sample))


@pytest.mark.parametrize(("weights", "message"), [
    (np.full(4, 0.3), "4 probabilities; .* sum 1.2"),
    (np.array([1.2, -0.2, 0, 0]), "4 probabilities; the least is -0.2"),
    (np.array([1.0, np.nan, 0, 0]), "4 probabilities; the least is nan"),
    (np.full(5, 0.2), r"4 probabilities; got \(5,\)"),
    ([0.25, 0.25, 0.25, 0.25], r"4 probabilities; got \[0.25"),
    (np.array([0.7, 0.1, 0.1, 0.1]), UNFOLLOWED),
])  # fmt: skip
def test_weights_must_be_the_probabilities_of_sample(weights, message):
    kind = type("Weighted", (CyclicShifts,), {"weights": lambda self: weights})
    with pytest.raises(AssertionError, match=message):
        check_group(kind(4))


def test_a_measure_that_is_not_symmetric():
    weights = np.array([0.7, 0.2, 0.1])

    def sample(self, n_samples, random_state=None):
        rng = np.random.RandomState(random_state) if isinstance(random_state, int) else random_state
        return self.elements()[rng.choice(3, size=n_samples, p=weights)]

    parts = {"weights": lambda self: weights, "sample": sample}
    with pytest.raises(AssertionError, match=r"weights 0.2 and, of the inverse, 0.1 differ for"):
        check_group(type("Weighted", (CyclicShifts,), parts)(3))
    check_group(type("Weighted", (CyclicShifts,), {**parts, "symmetric": False})(3))


def test_what_is_listed_and_drawn_is_counted():
    parts = {"elements": lambda self: np.array([[1, 2, 3]])}
    with pytest.raises(AssertionError, match=r"order says 3, but elements\(\) lists 1"):
        check_group(type("Wrong", (CyclicShifts,), parts)(3))
    parts = {"sample": lambda self, n, random_state=None: CyclicShifts.sample(self, n, None)}
    with pytest.raises(AssertionError, match=r"sample\(4, 7\) differs between calls"):
        check_group(type("Wrong", (CyclicShifts,), parts)(64))


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (Negation, r"an instance of .*, got the class Negation: pass Negation\(...\)"),
        (3, "an instance of Transformations, got 3"),
    ],
)
def test_what_is_no_group_at_all(group, message):
    with pytest.raises(TypeError, match=message):
        check_group(group)
