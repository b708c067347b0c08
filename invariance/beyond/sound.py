"""Pitch and speed: `PitchSpeed` of waveforms, `SpectrogramPitchSpeed` of log-mel spectrograms."""

from __future__ import annotations

from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import parameters as kinds
from ..core.extras import need
from ..core.parameters import ParameterError, arguments, stores_parameters
from ..groups.base import Transformations

Array = NDArray[Any]

#: Scale of mel, so that 1,000 Hz are 1,000 mel.
_MEL_SCALE = 1127.01048


@arguments(n_bands=kinds.Whole(1, 1_000_000), low=kinds.Number(0), high=kinds.Positive())
def mel_frequencies(n_bands: int, low: float, *, high: float) -> NDArray[np.float64]:
    """Return the centres in Hz of bands between two frequencies, equally spaced in mel.

    >>> mel_frequencies(3, 0.0, high=1000.0).round(0)
    array([174., 391., 662.])
    """
    _check_range("mel_frequencies", low, high)
    edges = np.linspace(_mel(low), _mel(high), n_bands + 2)
    centres = edges[1:-1]
    return np.asarray(700 * np.expm1(centres / _MEL_SCALE))


def _check_range(owner: str, low: float, high: float) -> None:
    if not low < high:
        raise ParameterError(f"{owner} needs 0 <= low < high, got low={low}, high={high}")


def _mel(hertz: ArrayLike) -> Array:
    return np.asarray(_MEL_SCALE * np.log1p(np.asarray(hertz, dtype=float) / 700))


#: Changes of pitch by at most ten octaves, the range of hearing.
_CENTS = kinds.Array(1, least=-12_000, most=12_000) | kinds.Number(-12_000, 12_000)
#: Factors on the speed.
_SPEEDS = kinds.Array(1, least=0.01, most=100) | kinds.Number(0.01, 100)
#: Largest factor by which sound is stretched. A factor of 10,000 ended the process.
_LARGEST_STRETCH = 2000


@stores_parameters
class _PitchSpeed(Transformations):
    """A finite set of pairs (cents, speed), equally likely."""

    unitary = False
    shape: Any
    cents: Annotated[ArrayLike, _CENTS] = (-400, 0, 400)
    _: KW_ONLY
    speeds: Annotated[ArrayLike, _SPEEDS] = (0.5, 1, 2)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        pairs = self.elements()
        inverses = self.inverse(pairs)
        is_equal = np.all(np.isclose(pairs[None, :, :], inverses[:, None, :]), axis=2)
        return bool(np.all(np.any(is_equal, axis=1)))

    def _listed(self) -> Array:
        """Return all pairs (cents, speed), shape (r, 2), the speed varying fastest."""
        cents = np.asarray(self.cents, dtype=float).ravel()
        speeds = np.asarray(self.speeds, dtype=float).ravel()
        grid = np.meshgrid(cents, speeds, indexing="ij")
        return np.stack(grid, axis=-1).reshape(-1, 2)

    def inverse(self, elements: ArrayLike) -> Array:
        """Return opposite cents and reciprocal speeds; sound that the frame cut off is lost."""
        pairs = np.atleast_2d(np.asarray(elements, dtype=float))
        return np.stack([-pairs[:, 0], 1 / pairs[:, 1]], axis=1)

    def _check_elements(self, elements: Array) -> Array:
        pairs = self._batch(elements, "pairs (cents, speed > 0)", 2).astype(float)
        is_slow_or_fast = (pairs[:, 1] < 0.01) | (pairs[:, 1] > 100)
        if np.any(np.abs(pairs[:, 0]) > 12_000) or np.any(is_slow_or_fast):
            self._refuse(
                elements,
                "pairs (cents, speed), cents of ten octaves at most and speeds from 0.01 to 100",
            )
        return pairs


@stores_parameters
class PitchSpeed(_PitchSpeed):
    """Waveforms with another pitch, played at another speed, centred in a frame of fixed length.

    Pitch and speed are independent: at double speed a word takes half the time at the same pitch.
    Rubber Band (Pedalboard, the extra ``audio``) stretches; a change of pitch is a stretch followed
    by resampling. The transformation is neither linear nor unitary, and its inverse is approximate.

    Parameters
    ----------
    shape : tuple (n_samples,)
    cents : sequence of float
        Changes of pitch; 100 cents are a semitone.
    speeds : sequence of float
        Factors on the speed, 0.01 to 100; 2 is twice as fast.
    sample_rate : float
        Samples per second.
    high_quality : bool
        Use Rubber Band's finer engine, which is about five times slower.

    Examples
    --------
    >>> sounds = PitchSpeed((8000,), cents=(-400, 0, 400), speeds=(0.5, 1, 2))
    >>> sounds.order, sounds.symmetric
    (9, True)
    """

    shape: Annotated[tuple[int], kinds.Shape(1)]
    _: KW_ONLY
    sample_rate: Annotated[float, kinds.Positive()] = 8000
    high_quality: Annotated[bool, kinds.Flag()] = True

    def _act(self, elements: Array, X: Array) -> Array:
        need("pedalboard", "audio")
        sounds = np.zeros((len(elements), *X.shape), dtype=X.dtype)
        for (cents, speed), results in zip(elements, sounds, strict=True):
            if cents == 0 and speed == 1:
                results[...] = X
                continue
            for wave, result in zip(X, results, strict=True):
                _write_centred(self._changed(wave, cents, speed), result)
        return sounds

    def _changed(self, wave: Array, cents: float, speed: float) -> Array:
        """Return a waveform with another pitch and speed, of any length."""
        from pedalboard import time_stretch
        from scipy.signal import resample_poly  # it is slow to import, and only needed here

        # Resampling raises the pitch and also shortens; stretching first compensates for that.
        ratio = Fraction(2 ** (cents / 1200)).limit_denominator(200)
        if cents < -4800:  # smaller ratios need larger denominators
            ratio = 1 / Fraction(2 ** (-cents / 1200)).limit_denominator(10)
        stretched = wave.astype(np.float32)[None]
        factor = speed / float(ratio)
        if factor * _LARGEST_STRETCH < 1:
            raise ParameterError(
                f"PitchSpeed cannot stretch sound by a factor of {1 / factor:.3g}, as "
                f"cents={cents:g} and speed={speed:g} need: take smaller changes"
            )
        if factor != 1:
            stretched = time_stretch(
                stretched,
                self.sample_rate,
                stretch_factor=factor,
                high_quality=self.high_quality,
            )
        sound = resample_poly(stretched[0], ratio.denominator, ratio.numerator)
        return np.asarray(sound)


def _write_centred(sound: Array, frame: Array) -> None:
    """Write a sound into the middle of a frame of zeros; cut off both ends of a longer one."""
    surplus = len(sound) - len(frame)
    if surplus >= 0:
        start = surplus // 2
        frame[...] = sound[start : start + len(frame)]
    else:
        start = -surplus // 2
        frame[start : start + len(sound)] = sound


@stores_parameters
class SpectrogramPitchSpeed(_PitchSpeed):
    """Log-mel spectrograms stretched about their middle frame and displaced along frequency.

    Band and frame positions are interpolated linearly. Values from outside the frame are zero, the
    level of silence (see `invariance.beyond.LogMel`). The action is linear, but not unitary.

    Parameters
    ----------
    shape : tuple (n_frames, n_bands)
    cents, speeds : sequence of float
        As in `PitchSpeed`.
    low, high : float
        Range of the mel bands in Hz, as in `LogMel`.

    Examples
    --------
    >>> sounds = SpectrogramPitchSpeed((60, 24), cents=range(-400, 401, 100))
    >>> sounds.order, sounds.n_features
    (27, 1440)
    """

    shape: Annotated[tuple[int, int], kinds.Shape(2)]
    _: KW_ONLY
    low: Annotated[float, kinds.Number(0)] = 100.0
    high: Annotated[float, kinds.Positive()] = 4000.0

    def _check_together(self) -> None:
        _check_range(type(self).__name__, self.low, self.high)

    def _act(self, elements: Array, X: Array) -> Array:
        n_frames, n_bands = self.shape
        frames = np.arange(n_frames)
        centres = mel_frequencies(n_bands, self.low, high=self.high)
        low_mel = _mel(self.low)
        spacing = (_mel(self.high) - low_mel) / (n_bands + 1)
        images = X.reshape(len(X), n_frames, n_bands)
        sounds = np.empty((len(elements), *images.shape), dtype=X.dtype)
        middle = (n_frames - 1) / 2
        for (cents, speed), result in zip(elements, sounds, strict=True):
            in_time = _linear((frames - middle) * speed + middle, n_frames)
            in_band = np.eye(n_bands)
            if cents:
                source_mel = _mel(centres * 2 ** (-cents / 1200))
                in_band = _linear((source_mel - low_mel) / spacing - 1, n_bands)
            result[...] = np.einsum("st,ntb,cb->nsc", in_time, images, in_band, optimize=True)
        return sounds.reshape(len(elements), *X.shape)


def _linear(positions: Array, length: int) -> Array:
    """Return the matrix that interpolates a sequence at these positions; it is zero outside."""
    distance = np.abs(positions[:, None] - np.arange(length))
    return np.asarray(np.maximum(1 - distance, 0))
