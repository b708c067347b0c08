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


@arguments(n_bands=kinds.Whole(1, 1_000_000), low=kinds.Number(0), high=kinds.Positive())
def mel_frequencies(n_bands: int, low: float, *, high: float) -> NDArray[np.float64]:
    """Centres in Hz of ``n_bands`` bands between two frequencies, equally spaced in mel.

    >>> mel_frequencies(3, 0.0, high=1000.0).round(0)
    array([174., 391., 662.])
    """
    _check_range("mel_frequencies", low, high)
    edges = np.linspace(_mel(low), _mel(high), n_bands + 2)
    return np.asarray(700 * np.expm1(edges[1:-1] / 1127.01048))


def _check_range(owner: str, low: float, high: float) -> None:
    if not low < high:
        raise ParameterError(f"{owner} needs 0 <= low < high, got low={low}, high={high}")


def _mel(hertz: ArrayLike) -> NDArray[Any]:
    return np.asarray(1127.01048 * np.log1p(np.asarray(hertz, dtype=float) / 700))


#: Changes of pitch, ten octaves at most: twice what anybody hears; and of speed.
_CENTS = kinds.Array(1, least=-12_000, most=12_000) | kinds.Number(-12_000, 12_000)
_SPEEDS = kinds.Array(1, above=0) | kinds.Positive()


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
        mirrored = self.inverse(pairs)
        return all(bool(np.isclose(pairs, m).all(axis=1).any()) for m in mirrored)

    def _listed(self) -> NDArray[Any]:
        """All pairs (cents, speed), shape (r, 2), the speed varying fastest."""
        sides = (np.asarray(v, dtype=float).ravel() for v in (self.cents, self.speeds))
        return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Opposite cents and reciprocal speeds; undone up to what the frame cut off."""
        pairs = np.atleast_2d(np.asarray(elements, dtype=float))
        return np.stack([-pairs[:, 0], 1 / pairs[:, 1]], axis=1)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        pairs = self._batch(elements, "pairs (cents, speed > 0)", 2).astype(float)
        if np.any(np.abs(pairs[:, 0]) > 12_000) or np.any(pairs[:, 1] <= 0):
            self._refuse(elements, "pairs (cents, speed > 0), of ten octaves at most")
        return pairs


@stores_parameters
class PitchSpeed(_PitchSpeed):
    """Waveforms with another pitch, played at another speed, centred in a frame of fixed length.

    Pitch and speed are independent: at double speed a word takes half the time at the same pitch.
    Rubber Band (Pedalboard, the extra ``audio``) stretches; a change of pitch is a stretch
    followed by resampling. Neither linear nor unitary, and undone only approximately.

    Parameters
    ----------
    shape : tuple (n_samples,)
    cents : sequence of float
        Changes of pitch; 100 cents are a semitone.
    speeds : sequence of float
        Factors on the speed; 2 is twice as fast.
    sample_rate : float
        Samples a second.
    high_quality : bool
        Rubber Band's finer engine, some five times slower.

    >>> sounds = PitchSpeed((8000,), cents=(-400, 0, 400), speeds=(0.5, 1, 2))
    >>> sounds.order, sounds.symmetric
    (9, True)
    """

    shape: Annotated[tuple[int], kinds.Shape(1)]
    _: KW_ONLY
    sample_rate: Annotated[float, kinds.Positive()] = 8000
    high_quality: Annotated[bool, kinds.Flag()] = True

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        time_stretch = need("pedalboard", "audio").time_stretch
        from scipy.signal import resample_poly  # slow to import, and needed here alone

        n_samples = X.shape[1]
        moved = np.zeros((len(elements), *X.shape), dtype=X.dtype)
        for (cents, speed), results in zip(elements, moved, strict=True):
            if cents == 0 and speed == 1:
                results[...] = X
                continue
            # The pitch rises by resampling, which also shortens; stretching first makes up for it.
            ratio = Fraction(2 ** (cents / 1200)).limit_denominator(200)
            for wave, result in zip(X, results, strict=True):
                stretched, factor = wave.astype(np.float32)[None], speed / float(ratio)
                if factor != 1:
                    how = {"stretch_factor": factor, "high_quality": self.high_quality}
                    stretched = time_stretch(stretched, self.sample_rate, **how)
                sound = resample_poly(stretched[0], ratio.denominator, ratio.numerator)
                sound = sound[: 4 * n_samples]
                surplus = len(sound) - n_samples
                middle, start = sound[max(0, surplus // 2) :][:n_samples], max(0, -surplus // 2)
                result[start : start + len(middle)] = middle
        return moved


@stores_parameters
class SpectrogramPitchSpeed(_PitchSpeed):
    """Log-mel spectrograms stretched about their middle frame and displaced along frequency.

    Band and frame positions are interpolated linearly; what comes from outside the frame is zero,
    the level of silence (see `invariance.features.LogMel`). Linear, but not unitary.

    Parameters
    ----------
    shape : tuple (n_frames, n_bands)
    cents, speeds : sequence of float
        As in `PitchSpeed`.
    low, high : float
        Range of the mel bands in Hz, as in `LogMel`.

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

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        n_frames, n_bands = self.shape
        frames = np.arange(n_frames)
        centres = mel_frequencies(n_bands, self.low, high=self.high)
        spacing = (_mel(self.high) - _mel(self.low)) / (n_bands + 1)
        images = X.reshape(len(X), n_frames, n_bands)
        moved = np.empty((len(elements), *images.shape), dtype=X.dtype)
        middle = (n_frames - 1) / 2
        for (cents, speed), result in zip(elements, moved, strict=True):
            in_time = _linear((frames - middle) * speed + middle, n_frames)
            source = (_mel(centres * 2 ** (-cents / 1200)) - _mel(self.low)) / spacing - 1
            in_band = _linear(source, n_bands) if cents else np.eye(n_bands)
            result[...] = np.einsum("st,ntb,cb->nsc", in_time, images, in_band, optimize=True)
        return moved.reshape(len(elements), *X.shape)


def _linear(positions: NDArray[Any], length: int) -> NDArray[Any]:
    """Linear interpolation at these positions of a sequence that is zero outside, as a matrix."""
    distance = np.abs(positions[:, None] - np.arange(length))
    return np.asarray(np.maximum(1 - distance, 0))
