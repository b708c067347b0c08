"""`OverlapFit` agrees with its definition, also for signals."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from invariance.beyond import OverlapFit, SetKernel, pad_sets
from invariance.groups import CyclicShifts, Translations, check_group
from invariance.kernels import BestFit, Gaussian, Linear, Polynomial


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 1


def definition(base, group, X, Z, scale):
    """The largest value over all shifts, for each pair."""
    height, width, channels = (*group.shape, 1)[:3]
    A, B = (M.reshape(len(M), height, width, channels) for M in (X, Z))
    values = np.full((len(X), len(Z)), -np.inf)
    for down, right in group.elements():
        rows = (
            slice(max(down, 0), height + min(down, 0)),
            slice(max(right, 0), width + min(right, 0)),
        )
        back = (
            slice(max(-down, 0), height + min(-down, 0)),
            slice(max(-right, 0), width + min(-right, 0)),
        )
        for i, a in enumerate(A[:, *rows]):
            for j, b in enumerate(B[:, *back]):
                u = a.reshape(-1, channels)
                v = b.reshape(-1, channels)
                if scale == "size":
                    u, v = (w * np.sqrt(height * width / len(w)) for w in (u, v))
                if scale == "standard":
                    u = u - u.mean(axis=0)
                    v = v - v.mean(axis=0)
                    u, v = (w / np.linalg.norm(w) for w in (u, v))
                values[i, j] = max(values[i, j], base(u.reshape(1, -1), v.reshape(1, -1))[0, 0])
    return values


@pytest.mark.parametrize("shape", [12, (4, 5), (1, 9, 2)], ids=str)
@pytest.mark.parametrize("scale", ["size", "standard"])
def test_the_best_overlap_agrees_with_the_definition(shape, scale):
    group = Translations(shape, max_shift=3, boundary="zero")
    X = points(5, group.n_features)
    Z = points(4, group.n_features, seed=1)
    for base in (Gaussian(0.05), Linear(), Polynomial(3, 0.2), RBF(2.0)):
        kernel = OverlapFit(base, group, scale=scale)
        assert_allclose(kernel(X, Z), definition(base, group, X, Z, scale), rtol=1e-9, atol=1e-12)
        assert_allclose(kernel(X), kernel(X, X), rtol=1e-9)
        assert_array_equal(kernel(X), kernel(X).T)
        assert_allclose(clone(kernel).set_params(block_bytes=1)(X, Z), kernel(X, Z), rtol=1e-12)
        assert kernel(X.astype(np.float32)).dtype == np.float32


def test_gram_matrices_over_shifts_without_their_opposites_are_not_symmetric():
    X = points(4, 5)
    ahead = Translations(5, shifts=[(0, s) for s in range(5)])
    assert ahead.symmetric  # up to turns, as a shift by 4 is one by -1 there
    expected = definition(Gaussian(0.05), ahead, X, X, "size")
    assert np.abs(expected - expected.T).max() > 0.01
    for group in (ahead, CyclicShifts(5)):
        assert_allclose(OverlapFit(Gaussian(0.05), group)(X), expected, rtol=1e-9)


def test_overlapping_windows_of_a_signal_are_similar_whatever_its_level():
    long = np.cumsum(points(1, 40)[0])
    X = np.stack([long[s : s + 30] for s in range(6)])
    group = Translations(30, max_shift=8, boundary="zero")
    assert_allclose(OverlapFit(Gaussian(0.1), group)(X), 1, atol=1e-10)
    assert BestFit(Gaussian(0.1), group)(X).min() < 1e-3  # zeros are treated like measurements
    assert_allclose(OverlapFit(Gaussian(0.1), group, scale="standard")(X, 3 * X - 7), 1, atol=1e-10)
    flat = OverlapFit(Linear(), group, scale="standard")(np.ones((1, 30)), X)
    assert_array_equal(flat, 0)  # a constant signal is similar to no other signal


@pytest.mark.parametrize("base", [Linear(), Gaussian(0.1)], ids=repr)
def test_standard_overlaps_do_not_depend_on_the_units_of_the_images(base):
    X = points(4, 12)
    kernel = OverlapFit(base, Translations(12, max_shift=3), scale="standard")
    units = np.ldexp(1.0, [-1000, -550, 550, 1000])
    assert_array_equal(kernel(units[:, None] * X, X), kernel(X, X))
    assert_array_equal(kernel(units[:, None] * X), kernel(X))


def test_signals_of_a_set_are_compared_on_their_overlaps():
    sets = [points(m, 5, seed=m) for m in (1, 4, 2)]
    base = OverlapFit(Gaussian(0.3), Translations(5, max_shift=1))
    expected = [[base(a, b).mean() for b in sets] for a in sets]
    padded = pad_sets(sets)
    assert_allclose(SetKernel(base)(padded), expected, rtol=1e-12)
    assert (
        SetKernel(base).explain(padded).operations > base.explain(np.concatenate(sets)).operations
    )


def test_overlap_announces_long_computations_and_has_a_gradient():
    X = points(5, 12)
    kernel = OverlapFit(Gaussian(0.1), Translations(12, max_shift=3))
    assert "overlaps" in str(kernel.explain(X))
    images = np.zeros((3000, 4096))
    slow = OverlapFit(Gaussian(0.1), Translations((64, 64), max_shift=20))
    message = "OverlapFit: 3000 x 3000 pairs .* minutes .* Cheaper"
    with warnings.catch_warnings(), pytest.raises(UserWarning, match=message):
        warnings.simplefilter("error")
        slow(images)
    gram, gradient = kernel(X, eval_gradient=True)
    assert_allclose(gradient[:, :, 0], gram * np.log(gram), atol=1e-9)


def test_signals_are_images_with_one_row():
    X = points(5, 16)
    for boundary in ["cyclic", "zero"]:
        signals = Translations(16, max_shift=4, boundary=boundary)
        image = Translations((1, 16), max_shift=4, boundary=boundary)
        assert signals.order == 9 and signals.n_features == 16
        assert_array_equal(signals.act(signals.elements(), X), image.act(image.elements(), X))
        check_group(signals)
        twin = clone(signals)
        assert twin.shape == (1, 16) and twin.set_params(shape=20).shape == (1, 20)
        channels = Translations((1, 8, 2), max_shift=2, boundary=boundary)
        one_channel = Translations(8, max_shift=2, boundary=boundary)
        first_channel = channels.act(channels.elements(), X)[:, :, ::2]
        assert_array_equal(first_channel, one_channel.act(channels.elements(), X[:, ::2]))
