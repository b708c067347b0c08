"""DilatedCDF: its definition, its symmetry, and its thresholds."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from invariance.beyond import DilatedCDF, LogMel
from invariance.core.parameters import ParameterError

RNG = np.random.default_rng(0)
SERIES = RNG.standard_normal((12, 60)).cumsum(axis=1)


def definition(model, x):
    """Return 1 / |G| sum_g 1[<g t, x> <= h] for each template, dilation and threshold."""
    d = len(x)
    features = []
    for j, dilation in enumerate(model.dilations_):
        at = np.arange(d)[:, None] + dilation * (np.arange(9) - 4)  # shifts times entries
        inside = (at >= 0) & (at < d)
        below_template = x[at % d]
        if model.boundary == "zero":
            below_template = np.where(inside, below_template, 0.0)
        reaches_series = inside.any(axis=1) & (8 * dilation < d)
        for i, peaks in enumerate(combinations(range(9), 3)):
            t = np.full(9, -1.0)
            t[list(peaks)] = 2.0
            values = below_template @ t
            if model.boundary == "zero" and (i + j) % 2 == 1:
                values = values[inside.all(axis=1) | ~reaches_series]
            features += [np.mean(values <= h) for h in model.thresholds_[j][i]]
    return np.array(features)


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
@pytest.mark.parametrize(("n", "d"), [(5, 1), (5, 2), (5, 8), (5, 9), (5, 10), (2, 31), (1, 300)])
def test_dilated_cdf_agrees_with_the_definition(boundary, n, d):
    """Counts in long series exceed one byte."""
    # Inner products of integers are exact, also if they equal thresholds.
    X = np.random.default_rng(d).integers(-9, 9, (n, d)).astype(float)
    sizes = {"n_features": 400} if d < 300 else {"n_features": 84, "n_dilations": 1}
    model = DilatedCDF(**sizes, boundary=boundary, random_state=1).fit(X)
    assert_allclose(model.transform(X), [definition(model, x) for x in X], rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 90),
    st.integers(-100, 100),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 10**6),
)
def test_shifts_of_a_series_have_equal_features(d, shift, dtype, seed):
    """They agree to the last bit, also if inner products equal thresholds."""
    X = np.random.default_rng(seed).standard_normal((4, d)).astype(dtype)
    model = DilatedCDF(n_features=200, random_state=seed).fit(X)
    features = model.transform(X)
    assert features.dtype == X.dtype
    assert_array_equal(model.transform(np.roll(X, shift, axis=1)), features)


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
def test_offsets_have_no_effect_unless_zeros_are_padded(boundary):
    """The templates sum to zero, so that only padded zeros reveal an added constant."""
    X = np.round(SERIES)
    cyclic = boundary == "cyclic"
    model = DilatedCDF(n_features=84, boundary=boundary, random_state=0).fit(X)
    features = model.transform(X)
    assert np.array_equal(model.transform(X + 64), features) == cyclic
    assert (np.abs(model.transform(np.roll(X, 9, axis=1)) - features).max() > 0.1) != cyclic
    blocked = DilatedCDF(n_features=84, boundary=boundary, random_state=0, block_bytes=30_000)
    assert_array_equal(blocked.fit(X).transform(X), features)


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("largest", [1e-8, 1.0, 1e8])
def test_inner_products_equal_to_thresholds_do_not_depend_on_rounding(largest, dtype, boundary):
    """Constant series have inner products and thresholds of zero, whatever their level."""
    rng = np.random.default_rng(5)
    levels = np.array([largest, *rng.uniform(-largest, largest, 40), 0])
    flat = np.repeat(levels[:, None], 50, axis=1).astype(dtype)
    for trained in (flat, flat[:1], flat[-1:]):
        model = DilatedCDF(n_features=420, random_state=0, boundary=boundary).fit(trained)
        features = model.transform(flat)
        if boundary == "cyclic":
            assert_array_equal(features, np.ones_like(features))
        # With padded zeros, only the sign of the level matters if all thresholds are zero.
        elif not trained.any():
            assert len(np.unique(features, axis=0)) == 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("scale", "offset"), [(0.1, 0), (1, 0.3), (1e-8, 1e-7), (1e8, 1e9)])
def test_scaled_and_shifted_integers_have_the_same_features(scale, offset, dtype):
    X = np.random.default_rng(6).integers(-9, 9, (12, 60))
    model = DilatedCDF(n_features=840, random_state=0)
    expected = model.fit_transform(X.astype(float))
    assert_allclose(model.fit_transform((scale * X + offset).astype(dtype)), expected, atol=1e-6)


def test_channels_of_a_spectrogram_are_not_concatenated():
    X = np.random.default_rng(7).standard_normal((4, 60, 3))
    with pytest.raises(ParameterError, match="X\\[:, :, 0\\].*np.hstack") as refusal:
        LogMel().fit(X)
    assert "reshape" not in str(refusal.value)
    rows = np.hstack([LogMel().fit_transform(X[:, :, c]) for c in range(3)])
    assert rows.shape[0] == 4


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
def test_a_template_acts_on_the_sum_of_some_channels(boundary):
    """Integers are exact; the definition of a template applies to the sum."""
    X = np.random.default_rng(0).integers(-9, 9, (6, 4, 20)).astype(float)
    rows = X.reshape(6, -1)
    model = DilatedCDF(n_features=84 * 6, boundary=boundary, channels=4, random_state=2).fit(rows)
    features = model.transform(rows)
    start = 0
    sets = set()
    for j, channels in enumerate(model.channels_):
        sets.add(tuple(channels))
        assert 0 <= channels.min() and channels.max() < 4 and len(set(channels)) == len(channels)
        one_channel = DilatedCDF(n_features=84, boundary=boundary)
        one_channel.dilations_ = model.dilations_[: j + 1]
        one_channel.thresholds_ = model.thresholds_[: j + 1]
        stop = start + model.thresholds_[j].size
        for i in range(6):
            expected = definition(one_channel, X[i, channels].sum(axis=0))[start:stop]
            assert_allclose(features[i, start:stop], expected, rtol=0, atol=1e-12)
        start = stop
    assert start == features.shape[1] == 84 * 6
    assert len(sets) > 1 and len({len(each) for each in sets}) > 1


def test_shifts_of_all_channels_together_have_equal_features():
    X = np.random.default_rng(0).standard_normal((6, 3, 30))
    model = DilatedCDF(n_features=84 * 6, channels=3, random_state=0).fit(X.reshape(6, -1))
    features = model.transform(X.reshape(6, -1))
    together = np.roll(X, 7, axis=2).reshape(6, -1)
    assert_array_equal(model.transform(together), features)
    alone = np.concatenate([np.roll(X[:, :1], 7, axis=2), X[:, 1:]], axis=1).reshape(6, -1)
    assert np.abs(model.transform(alone) - features).max() > 0.05


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
@pytest.mark.parametrize("channels", [1, 2])
def test_padded_series_have_the_features_of_their_entries(boundary, channels):
    """Shares are over the shifts of the entries that are there."""
    rng = np.random.default_rng(3)
    lengths = [40, 1, 17, 40, 9, 30, 17]
    series = [rng.integers(-9, 9, (channels, length)).astype(float) for length in lengths]
    X = np.full((7, channels, 40), np.nan)
    for i, entries in enumerate(series):
        X[i, :, : lengths[i]] = entries
    X = X.reshape(7, -1)
    sizes = {"n_features": 84 * 5, "boundary": boundary, "channels": channels}
    model = DilatedCDF(**sizes, random_state=0).fit(X)
    features = model.transform(X)
    for i, entries in enumerate(series):
        assert_array_equal(model.transform(X[i : i + 1])[0], features[i])
        if channels == 1:
            assert_allclose(features[i], definition(model, entries[0]), rtol=0, atol=1e-12)
    # The first threshold of each dilation is a value of the training series without padding.
    assert all(np.isfinite(thresholds).all() for thresholds in model.thresholds_)
    short = DilatedCDF(**sizes, random_state=0).fit(X[[1, 2]])
    entries = X[[1, 2]].reshape(2, channels, 40)[:, :, :17]
    unpadded = DilatedCDF(**sizes, random_state=0).fit(entries.reshape(2, -1))
    for longer, shorter in zip(short.thresholds_, unpadded.thresholds_, strict=True):
        assert_array_equal(longer, shorter)


@pytest.mark.parametrize("boundary", ["cyclic", "zero"])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_list_has_series_of_any_length(boundary, channels):
    """Shorter and longer ones than in the fit have the features of the definition."""
    rng = np.random.default_rng(4)
    fitted = rng.integers(-9, 9, (6, channels, 40)).astype(float)
    model = DilatedCDF(n_features=84 * 3, boundary=boundary, channels=channels, random_state=0)
    model.fit(fitted.reshape(6, -1))
    series = [rng.integers(-9, 9, (channels, n)).astype(float) for n in (1, 9, 40, 90)]
    features = model.transform(series)
    for values, row in zip(series, features, strict=True):
        one_channel = DilatedCDF(n_features=84, boundary=boundary)
        start = 0
        for j, chosen in enumerate(model.channels_):
            one_channel.dilations_ = model.dilations_[: j + 1]
            one_channel.thresholds_ = model.thresholds_[: j + 1]
            stop = start + model.thresholds_[j].size
            expected = definition(one_channel, values[chosen].sum(axis=0))[start:stop]
            assert_allclose(row[start:stop], expected, rtol=0, atol=1e-12)
            start = stop
        assert start == row.size
    flat = [values.ravel() for values in series]
    assert_array_equal(model.transform(flat), features)
    assert_array_equal(model.transform(list(fitted)), model.transform(fitted.reshape(6, -1)))
    single = model.transform([values.astype(np.float32) for values in series])
    assert single.dtype == np.float32
    assert_allclose(single, features, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 2])
def test_a_fit_of_a_list_is_that_of_padded_rows(channels):
    rng = np.random.default_rng(5)
    lengths = [30, 12, 1, 22]
    series = [rng.standard_normal((channels, length)) for length in lengths]
    padded = np.full((4, channels, 30), np.nan)
    for i, values in enumerate(series):
        padded[i, :, : lengths[i]] = values
    rows = padded.reshape(4, -1)
    model = DilatedCDF(n_features=84 * 5, channels=channels, random_state=0)
    expected = model.fit(rows).transform(rows)
    assert_array_equal(model.fit(series).transform(series), expected)
    assert_array_equal(model.transform(rows), expected)


def test_cyclic_shifts_of_longer_series_have_equal_features():
    model = DilatedCDF(n_features=84 * 8, random_state=0).fit(SERIES)
    longer = np.random.default_rng(6).standard_normal((3, 101))
    shifted = np.roll(longer, 17, axis=1)
    assert_array_equal(model.transform(list(shifted)), model.transform(list(longer)))


def test_rows_of_another_length_are_refused_with_both_lengths_and_the_remedy():
    X = np.random.default_rng(0).standard_normal((4, 3, 20))
    model = DilatedCDF(n_features=84, channels=3, random_state=0).fit(X.reshape(4, -1))
    shorter = X[:, :, :15].reshape(4, -1)
    with pytest.raises(ParameterError, match=r"have length 15.* 20\. Take transform\(list\(X\)\)"):
        model.transform(shorter)
    assert_array_equal(model.transform(list(shorter)), model.transform(list(X[:, :, :15])))
    with pytest.raises(ValueError, match="61 features.*expecting 60"):
        model.transform(np.ones((4, 61)))
    with pytest.raises(ParameterError, match=r"series 1 of X has shape \(2, 9\).*\(3, length\)"):
        model.transform([X[0], np.ones((2, 9))])
    with pytest.raises(ParameterError, match=r"series 0 of X has shape \(20,\)"):
        model.transform([X[0, 0]])
    with pytest.raises(ParameterError, match="leave out empty series"):
        model.transform([X[0], np.ones((3, 0))])
    with pytest.raises(ParameterError, match="empty list"):
        model.transform([])
    missing = X[0].copy()
    missing[1, 4] = np.nan
    with pytest.raises(ParameterError, match="row 1 of X has NaN"):
        model.transform([X[0], missing])


def test_tensors_of_another_length_are_refused_with_the_remedy():
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    model = DilatedCDF(n_features=84, random_state=0).fit(SERIES)
    with pytest.raises(ParameterError, match="have length 50, and the fitted ones 60"):
        model.transform(torch.asarray(SERIES[:, :50]))


def test_invalid_channels_and_missing_entries_are_refused():
    X = np.random.default_rng(0).standard_normal((4, 20))
    with pytest.raises(ParameterError, match="20 columns.*channels=3"):
        DilatedCDF(n_features=84, channels=3).fit(X)
    with pytest.raises(ParameterError, match="channels"):
        DilatedCDF(n_features=84, channels=0).fit(X)
    for columns in ([3], [9], slice(0, 20), slice(15, 20)):
        missing = X.copy()
        missing[2, columns] = np.nan
        with pytest.raises(ParameterError, match="row 2 of X has NaN"):
            DilatedCDF(n_features=84, channels=2).fit(missing)
    with pytest.raises(ParameterError, match=r"channels=X\.shape\[1\]"):
        DilatedCDF(n_features=84).fit(X[:, None])
    with pytest.raises(ParameterError, match="different shapes.*series by NaN at the end"):
        DilatedCDF(n_features=84).fit([X[0].tolist(), X[1, :15].tolist()])
    with pytest.raises(ParameterError, match="channels"):
        DilatedCDF(n_features=84, channels=0).fit(list(X))


def test_thresholds_are_evenly_spaced_quantiles():
    """The features of the only training series are the levels of the quantiles."""
    model = DilatedCDF(n_features=84 * 40, n_dilations=1, random_state=0).fit(SERIES[:1])
    levels = np.sort(model.transform(SERIES[:1]).ravel())
    even = (np.arange(levels.size) + 0.5) / levels.size
    assert np.abs(levels - even).max() < 2 / SERIES.shape[1]


@pytest.mark.parametrize(("requested", "expected"), [(84, 84), (1000, 924), (10_000, 9996)])
def test_the_number_of_features_and_the_dilations_follow_the_length(requested, expected):
    model = DilatedCDF(n_features=requested, random_state=0).fit(SERIES)
    assert model.transform(SERIES).shape == (12, expected)
    assert sum(t.size for t in model.thresholds_) == expected
    assert model.dilations_[0] == 1 and 8 * model.dilations_[-1] < SERIES.shape[1]
    assert DilatedCDF(n_features=requested, n_dilations=1).fit(SERIES).dilations_.tolist() == [1]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_series_far_from_zero_have_the_features_of_series_near_it(library):
    as_array = pytest.importorskip(library, reason="needs the extra `torch`").asarray
    entries = np.random.default_rng(0).integers(-16, 17, (6, 40)) / 8
    near_zero = entries.astype(np.float32)
    far_from_zero = near_zero + np.float32(2**16)  # Exact: no entry is rounded.
    model = DilatedCDF(n_features=168, random_state=0)
    expected = model.fit(near_zero).transform(as_array(near_zero))
    features = model.fit(far_from_zero).transform(as_array(far_from_zero))
    assert_array_equal(features, expected)
