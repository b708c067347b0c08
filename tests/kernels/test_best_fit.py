"""Best-fit kernels agree with their definition, the base kernel for every transformation."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from invariance import groups as G
from invariance.kernels import Average, BestFit, Gaussian, Laplacian, Linear, Locality, Polynomial

SHAPE = (7, 6)
CYCLIC = G.Translations(SHAPE, max_shift=2)
TURNS = G.Rotations(SHAPE, degrees=[-12, 0, 5])
SCALES = G.Affine(SHAPE, maps=G.affine_maps(factor=[0.9, 1.1]))
SETS = {
    "cyclic": CYCLIC,
    "zero": G.Translations(SHAPE, max_shift=2, boundary="zero"),
    "asymmetric": G.Translations(SHAPE, shifts=[[0, 0], [1, -2], [3, 1]]),
    "group": G.CyclicTranslations(SHAPE),
    "one axis": G.CyclicTranslations(SHAPE, axes=(1,)),
    "turns": TURNS,
    "turn, shift": TURNS.then(CYCLIC),
    "shift, turn": CYCLIC.then(TURNS),
    "shift and lose, turn": G.Translations(SHAPE, max_shift=1, boundary="zero").then(TURNS),
    "turn, shift, scale": TURNS.then(G.Translations(SHAPE, max_shift=1)).then(SCALES),
}
BASES = {
    "linear": Linear(),
    "polynomial": Polynomial(8, gamma=1 / 42),
    "odd": Polynomial(3, gamma=1 / 10),
    "non-monotone": Polynomial(2, gamma=3.0),
    "gaussian": Gaussian(0.1),
    "laplacian": Laplacian(0.1),
    "locality": Locality(SHAPE, window=3, powers=(2, 4)),
    "strided": Locality(SHAPE, window=5, powers=(2, 3), padding="valid", stride=2),
    "deep": Locality(SHAPE, window=3, powers=(2, 2, 2)),
    "cubic": Locality(SHAPE, window=3, powers=(3, 2)),
}


def definition(base, group, X, Z):
    return np.max([base(X, transformed) for transformed in group.act(group.elements(), Z)], axis=0)


def small(base, group):
    """A memory bound that needs several blocks, but not thousands."""
    is_expensive = isinstance(base, Locality) and isinstance(group, G.Composition)
    return 400_000 if is_expensive else 20_000


def points(n, seed=0, shape=SHAPE, low=0.0):
    return np.random.default_rng(seed).uniform(low, 1, (n, int(np.prod(shape))))


#: Each base with every second set; neighbours in these lists are computed in the same ways.
PAIRS = [(b, g) for i, b in enumerate(BASES) for j, g in enumerate(SETS) if (i + j) % 2 == 0]


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize(("base", "group"), PAIRS)
def test_best_fit_is_the_largest_value_over_all_transformations(base, group):
    base = BASES[base]
    group = SETS[group]
    X = points(5, low=-1)
    Z = points(4, seed=1)
    expected = definition(base, group, X, Z)
    assert_allclose(BestFit(base, group)(X, Z), expected, rtol=1e-9, atol=1e-11)
    assert_allclose(BestFit(base, group, method="definition")(X, Z), expected, rtol=1e-12)
    assert_allclose(BestFit(base, group, side="first")(Z, X).T, expected, rtol=1e-9, atol=1e-11)
    gram = BestFit(base, group)(X)
    assert_allclose(gram, definition(base, group, X, X), rtol=1e-9, atol=1e-11)
    if group in (CYCLIC, SETS["group"]) and base.unitary_invariant:
        assert_array_equal(gram, gram.T)


BLANK_BASES = [Polynomial(3, 0.1), Gaussian(0.1), Locality(SHAPE, window=3, powers=(2, 3))]


@pytest.mark.parametrize("name", ["cyclic", "zero", "asymmetric", "shift, turn", "turns"])
@pytest.mark.parametrize("base", BLANK_BASES, ids=repr)
def test_images_with_blank_rows_or_columns_keep_their_order_in_the_gram_matrix(base, name):
    """Blocks skip blank pixels, which may reorder the points; the result is not reordered."""
    narrow = (BLANK_BASES.index(base) + len(name)) % 2
    rng = np.random.default_rng(narrow)
    group = SETS[name]
    X = np.zeros((36, *SHAPE))
    for image in np.moveaxis(X, 1 + narrow, 1):
        start = rng.integers(image.shape[0])
        image[start : start + rng.integers(3)] = rng.random()
    X = X.reshape(36, -1)
    Z = points(7, seed=1)
    expected = definition(base, group, X, Z)
    for block_bytes in (small(base, group), 2**30):
        values = BestFit(base, group, block_bytes=block_bytes)(X, Z)
        assert_allclose(values, expected, rtol=1e-9, atol=1e-11)
    assert_allclose(BestFit(base, group)(X), definition(base, group, X, X), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "base",
    [Polynomial(8, gamma=1 / 42), Gaussian(0.1), Locality(SHAPE, window=3, powers=(2, 4))],
    ids=repr,
)
@pytest.mark.parametrize("group", [CYCLIC, TURNS, TURNS.then(CYCLIC), CYCLIC.then(TURNS)], ids=repr)
def test_single_precision_blocks_and_threads_do_not_change_best_fits(base, group):
    single = BestFit(base, group, precision="single")
    X = points(70)
    Z = points(20, seed=1)
    while (operations := single.explain(X, Z).operations) < 5e8:  # enough work for threads
        factor = (6e8 / operations) ** 0.5
        X = points(int(len(X) * factor))
        Z = points(int(len(Z) * factor), seed=1)
    assert_allclose(single(X, Z), BestFit(base, group)(X, Z), rtol=1e-5)
    few_X = X[:16]
    few_Z = Z[:12]
    blocks = BestFit(base, group, block_bytes=small(base, group))
    assert_allclose(blocks(few_X, few_Z), BestFit(base, group)(few_X, few_Z), rtol=1e-12)
    with threadpool_limits(1, "blas"):  # each of the three threads has one BLAS thread
        assert_array_equal(clone(single).set_params(n_jobs=3)(X, Z), single(X, Z))


FULL_GROUPS = [G.CyclicTranslations((4, 3), axes=axes) for axes in ((0, 1), (0,))]
FULL_GROUPS += [G.CyclicShifts(12), G.Permutations(4, block=3)]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([Linear(), Polynomial(3, 0.1), Polynomial(4, 0.01), Gaussian(0.2)]),
    st.sampled_from(FULL_GROUPS),
    st.integers(0, 10**6),
)
def test_lemma1_best_fit_over_a_group_is_symmetric_and_invariant(base, group, seed):
    X, Z = np.random.default_rng(seed).standard_normal((2, 4, 12))
    kernel = BestFit(base, group)
    g, h = (group.act(group.sample(1, seed + i), P)[0] for i, P in enumerate((X, Z)))
    assert_allclose(kernel(g, h), kernel(X, Z), rtol=1e-9, atol=1e-11)
    assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-9, atol=1e-11)
    assert_allclose(kernel(X), kernel(X, X.copy()), rtol=1e-9, atol=1e-11)
    assert np.all(kernel(X, Z) >= base(X, Z) - 1e-9)


def test_an_even_power_of_negative_values_uses_the_minimum_and_the_maximum():
    X = points(5, low=-1)
    Z = points(4, seed=1, low=-1)
    base = Polynomial(2, gamma=3.0)
    values = BestFit(base, CYCLIC)(X, Z)
    largest = BestFit(Linear(), CYCLIC)(X, Z)
    assert np.any((1 + 3 * largest) ** 2 < values - 1e-9)
    # Blocks of points with small norms never reach the turning point; the others do.
    mixed = np.concatenate([0.01 * points(40, low=-1), points(40, low=-1)])
    with pytest.warns(UserWarning, match="for [0-9]+ of 320 pairs: maximum and power do not comm"):
        values = BestFit(base, CYCLIC)(mixed, Z)
    assert_allclose(values, definition(base, CYCLIC, mixed, Z))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BestFit(Polynomial(2, gamma=1e-3), CYCLIC)(X, Z)
        BestFit(Polynomial(3, gamma=3.0), CYCLIC)(X, Z)


def test_pairs_of_a_gram_matrix_with_values_at_the_smallest_product_are_all_counted(monkeypatch):
    X = points(30, low=-1)
    base = Polynomial(2, gamma=3.0)
    largest = BestFit(Linear(), CYCLIC)(X)
    smallest = -BestFit(Linear(), CYCLIC)(X, -X)
    n_reversed = np.sum((1 + 3 * smallest) ** 2 > (1 + 3 * largest) ** 2)
    empty = np.empty

    def empty_with_nan(*arguments, **options):
        """Return memory that holds NaN, as memory that is not written may do by chance."""
        array = empty(*arguments, **options)
        if array.dtype.kind == "f":
            array.fill(np.nan)
        return array

    monkeypatch.setattr(np, "empty", empty_with_nan)
    kernel = BestFit(base, CYCLIC, block_bytes=small(base, CYCLIC))
    with pytest.warns(UserWarning, match=f"for {n_reversed} of 900 pairs"):
        gram = kernel(X)
    assert_allclose(gram, definition(base, CYCLIC, X, X))


def test_an_even_power_that_overflows_is_refused_with_the_remedy():
    X = np.full((2, 42), 1e90) * [[1.0], [-1.0]]
    with pytest.raises(ValueError, match="scale them down"):
        BestFit(Polynomial(4), CYCLIC)(X)


def test_best_fit_of_colour_images_and_over_sampled_transformations():
    shape = (5, 4, 3)
    group = G.Translations(shape, max_shift=1)
    X = points(4, shape=shape)
    Z = points(3, seed=1, shape=shape)
    for base in (Polynomial(4, 0.05), Locality((5, 4), window=3, powers=(2, 2), channels=3)):
        assert_allclose(BestFit(base, group)(X, Z), definition(base, group, X, Z))
    X = points(4)
    Z = points(3, seed=1)
    turns = G.Rotations(SHAPE)
    values = [Gaussian(0.1)(X, transformed) for transformed in turns.act(turns.sample(9, 3), Z)]
    options = {"n_transforms": 9, "random_state": 3, "side": "second"}
    assert_allclose(BestFit(Gaussian(0.1), turns, **options)(X, Z), np.max(values, axis=0))
    assert_allclose(Average(Gaussian(0.1), turns, **options)(X, Z), np.mean(values, axis=0))


@pytest.mark.parametrize(
    "options", [{"max_shift": 2}, {"max_shift": 2, "boundary": "zero"}], ids=repr
)
def test_shifts_of_flattened_points_differ_from_shifts_of_images(options):
    X = points(4)
    Z = points(3, seed=1)
    flat = (1, 42)
    twice = G.Translations(flat, max_shift=1).then(G.Translations(flat, shifts=[[0, 0], [0, 4]]))
    for group in (G.Translations(flat, **options), G.CyclicTranslations(flat), twice):
        for base in (Locality(SHAPE, window=3), Locality((42,), window=3), Gaussian(0.1)):
            assert_allclose(BestFit(base, group)(X, Z), definition(base, group, X, Z))


def test_memory_of_transposed_transformations_is_bounded():
    shape = (16, 16)
    X = points(8, shape=(16, 16))
    group = G.Translations(shape, max_shift=1).then(G.Rotations(shape, degrees=range(0, 180, 5)))
    peaks = []
    values = []
    for block_bytes in (2**30, 2**21):
        tracemalloc.start()
        values.append(BestFit(Linear(), group, block_bytes=block_bytes)(X))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert_array_equal(*values)
    all_matrices = len(range(0, 180, 5)) * 256**2 * 8
    assert peaks[0] > all_matrices and peaks[1] < all_matrices / 4


@pytest.mark.parametrize("family", [BestFit, Average])
def test_sampled_transformations_are_the_same_in_every_call(family):
    for seed in (None, np.random.RandomState(0), np.random.default_rng(0), 1.5):
        with pytest.raises(ValueError, match="fit and predict would use two kernels; give an inte"):
            family(Gaussian(0.1), TURNS, n_transforms=2, random_state=seed)(points(3))
        family(Gaussian(0.1), TURNS, random_state=seed)(points(3))  # draws nothing
    kernel = family(Gaussian(0.1), TURNS, n_transforms=2, random_state=np.int64(1))
    assert_array_equal(kernel(points(3)), kernel(points(3)))
