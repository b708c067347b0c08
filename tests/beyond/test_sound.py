"""Changes of pitch and speed, on waveforms and on spectrograms."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance.beyond import LogMel, PitchSpeed, SpectrogramPitchSpeed, mel_frequencies
from invariance.core.parameters import ParameterError
from invariance.datasets import make_vowels
from invariance.features import draw_windowed_templates

RATE = 8000


def tone(hertz, seconds=0.5, n_samples=8000):
    """A tone in the middle of a silent frame."""
    n = int(seconds * RATE)
    wave = np.zeros(n_samples)
    start = (n_samples - n) // 2
    wave[start : start + n] = np.sin(2 * np.pi * hertz * np.arange(n) / RATE) * np.hanning(n)
    return wave


def pitch_and_length(wave):
    spectrum = np.abs(np.fft.rfft(wave))
    loud = np.flatnonzero(np.abs(wave) > 0.1 * np.abs(wave).max())
    return np.fft.rfftfreq(len(wave), 1 / RATE)[spectrum.argmax()], np.ptp(loud) / RATE


@pytest.mark.parametrize("cents", [-400, 0, 250])
@pytest.mark.parametrize("speed", [0.5, 1, 2])
def test_pitch_and_speed_of_a_tone_change_as_requested(cents, speed):
    pytest.importorskip("pedalboard", reason="needs the extra `audio`")
    wave = tone(500)
    (changed,) = PitchSpeed((8000,)).act([[cents, speed]], wave[None])[0]
    hertz, seconds = pitch_and_length(changed)
    assert abs(hertz / (500 * 2 ** (cents / 1200)) - 1) < 0.01
    assert abs(seconds * speed / pitch_and_length(wave)[1] - 1) < 0.15
    if cents == 0 and speed == 1:
        assert_array_equal(changed, wave)


def test_waves_longer_than_the_frame_are_cut_in_the_middle():
    pytest.importorskip("pedalboard", reason="needs the extra `audio`")
    wave = tone(500, seconds=0.25, n_samples=2000)
    changed = PitchSpeed((2000,), sample_rate=RATE).act([[0, 0.5]], wave[None].astype(np.float32))
    assert changed.shape == (1, 1, 2000) and changed.dtype == np.float32
    assert np.abs(changed[0, 0, 900:1100]).max() > 0.5


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pedalboard", None)
    with pytest.raises(ImportError, match=r"pip install \"\.\[audio\]\""):
        PitchSpeed((8000,)).act([[100, 1]], np.zeros((1, 8000)))


def test_changes_are_pairs_of_pitch_and_speed():
    sounds = PitchSpeed((8000,), cents=[-400, 0, 400], speeds=[0.5, 1, 2])
    assert sounds.order == 9 and sounds.symmetric and not sounds.unitary
    assert not PitchSpeed((8000,), cents=[0, 400]).symmetric
    drawn = sounds.sample(50, 0)
    assert {tuple(p) for p in drawn} <= {tuple(p) for p in sounds.elements()}
    assert_array_equal(drawn, sounds.sample(50, 0))
    assert_allclose(sounds.inverse(sounds.inverse(drawn)), drawn)


def test_spectrogram_changes_agree_with_their_definition():
    shape = (21, 10)
    X = np.random.default_rng(0).random((2, *shape))
    pairs = [[0, 1], [150, 0.5], [-400, 2]]
    changed = SpectrogramPitchSpeed(shape, low=100, high=3000).act(pairs, X)
    assert_allclose(changed[0], X)
    centres = mel_frequencies(10, 100, high=3000)

    def at(sequence, position):
        if not -1 < position < len(sequence):
            return 0.0
        i = int(np.floor(position))
        left = sequence[i] if i >= 0 else 0.0
        right = sequence[i + 1] if i + 1 < len(sequence) else 0.0
        return left + (position - i) * (right - left)

    mel = 1127.01048 * np.log1p(centres / 700)
    for (cents, speed), result in zip(pairs[1:], changed[1:], strict=True):
        wanted = 1127.01048 * np.log1p(centres * 2 ** (-cents / 1200) / 700)
        source = (wanted - mel[0]) / (mel[1] - mel[0])
        for t in range(shape[0]):
            frame = np.array([at(X[1, :, b], (t - 10) * speed + 10) for b in range(10)])
            assert_allclose(result[1, t], [at(frame, p) for p in source], atol=1e-10)


def test_spectrograms_of_changed_waves_are_changed_spectrograms():
    pytest.importorskip("pedalboard", reason="needs the extra `audio`")
    vowels = make_vowels(n_speakers=2, repetitions=1, random_state=0)
    waves = np.zeros((7, 8000))
    for row, wave in zip(waves, vowels.data[::3], strict=True):
        row[4000 - len(wave) // 2 :][: len(wave)] = wave
    mel = LogMel().fit(waves)
    on_waves = PitchSpeed((8000,))
    on_spectrograms = SpectrogramPitchSpeed(mel.shape_)
    still = mel.transform(waves)
    for pair in ([200, 1], [-200, 1], [0, 2], [0, 0.5]):
        by_wave = mel.transform(on_waves.act([pair], waves)[0])
        by_image = on_spectrograms.act([pair], still)[0]
        likeness = [np.corrcoef(a, b)[0, 1] for a, b in zip(by_wave, by_image, strict=True)]
        unmoved = [np.corrcoef(a, b)[0, 1] for a, b in zip(by_wave, still, strict=True)]
        assert np.mean(likeness) > 0.85 and np.mean(likeness) > np.mean(unmoved)


def test_log_mel_features_of_tones_and_silence():
    waves = np.stack([tone(700), 0.01 * tone(700), np.zeros(8000)])
    mel = LogMel().fit(waves)
    spectrograms = mel.transform(waves).reshape(3, *mel.shape_)
    loudest = np.unravel_index(spectrograms[0].argmax(), mel.shape_)
    assert loudest[1] == np.abs(mel.frequencies_ - 700).argmin()
    assert abs(loudest[0] * mel.hop - 4000) < 1000
    # Loudness is normalized, and silence is zero.
    assert_allclose(spectrograms[0], spectrograms[1], atol=1e-6)
    assert not spectrograms[2].any() and spectrograms.max() == 1
    assert not spectrograms[0, :5].any()


@pytest.mark.parametrize(("dtype", "loud"), [(np.float32, 2.0**67), (np.float64, 2.0**700)])
def test_loudness_does_not_overflow(dtype, loud):
    waves = np.sin(np.arange(3000) ** np.array([[1.1], [1.2]])).astype(dtype)
    expected = LogMel().fit_transform(waves)
    assert np.isfinite(expected).all() and expected.max() == 1
    assert_array_equal(LogMel().fit_transform(waves * dtype(loud)), expected)


def test_windowed_templates_stay_in_their_window():
    templates = draw_windowed_templates(200, (28, 20), width=(2.0, 1.0), random_state=0)
    energy = np.square(templates.reshape(-1, 28, 20))
    assert_allclose(energy.sum(axis=(1, 2)), 1)
    for axis, (length, width) in enumerate(((28, 2.0), (20, 1.0))):
        share = energy.sum(axis=2 - axis)
        place = share @ np.arange(length)
        spread = np.sqrt((share * (np.arange(length) - place[:, None]) ** 2).sum(axis=1))
        assert spread.mean() < 1.2 * width
        assert place.min() > width - 1 and place.max() < length - width
    flat = draw_windowed_templates(200, (28, 20), width=np.inf, random_state=0)
    assert_allclose(np.square(flat).mean(axis=0), 1 / 560, rtol=0.6)


@pytest.mark.parametrize("cents", [0, 200])
def test_very_slow_sound_keeps_its_middle(cents):
    pytest.importorskip("pedalboard", reason="needs the extra `audio`")
    wave = tone(500, seconds=0.1, n_samples=2000)
    (changed,) = PitchSpeed((2000,)).act([[cents, 0.05]], wave[None])[0]
    assert np.abs(changed[:200]).max() > 0.3 and np.abs(changed[-200:]).max() > 0.3


def test_pitch_changes_by_up_to_ten_octaves_and_speed_a_hundredfold():
    pytest.importorskip("pedalboard", reason="needs the extra `audio`")
    wave = tone(500, seconds=0.1, n_samples=2000)[None]
    for cents in (-12_000, 12_000):
        assert np.isfinite(PitchSpeed((2000,)).act([[cents, 1]], wave)).all()
    with pytest.raises(ParameterError, match="cents=12000 and speed=0.1 need: take smaller"):
        PitchSpeed((2000,)).act([[12_000, 0.1]], wave)
    for speed in (1e-3, 1e3):
        with pytest.raises(ParameterError, match="speeds from 0.01 to 100"):
            PitchSpeed((2000,)).act([[0, speed]], wave)
        with pytest.raises(ParameterError, match="needs speeds to be .* 0.01 and <= 100"):
            PitchSpeed((2000,), speeds=[speed]).elements()
