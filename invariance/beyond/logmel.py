"""`LogMel`: log-mel spectrograms of waveforms."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from ..core.parameters import Number, Whole, stores_parameters
from ..features.feature_map import ONE_CHANNEL, FeatureMap
from .sound import mel_frequencies

#: Decibels below the loudest band that count as silence.
_RANGE = 50.0


@stores_parameters
class LogMel(FeatureMap):
    """Decibels above silence in mel bands, frame by frame.

    Each value is 10 log10 of the energy in a triangular band relative to the loudest band of the
    same recording, cut at -50, plus 50, divided by 50: silence is zero, the loudest band one,
    however loud the recording is.

    Parameters
    ----------
    sample_rate : float, samples a second
    n_bands : int, triangular mel bands from 100 Hz to half the sample rate
    frame, hop : int, samples a frame (Hann window) and from one frame to the next

    Attributes
    ----------
    shape_ : tuple (n_frames, n_bands)
    filters_ : ndarray of shape (n_bands, frame // 2 + 1)

    Examples
    --------
    >>> tone = np.sin(2 * np.pi * 1000 * np.arange(4000) / 8000)
    >>> spectrogram = LogMel().fit_transform(tone[None])
    >>> mel = LogMel().fit(tone[None])
    >>> mel.shape_, round(float(mel.frequencies_[spectrogram.reshape(mel.shape_)[9].argmax()]))
    ((32, 24), 1044)
    """

    _as_rows = ONE_CHANNEL
    sample_rate: Annotated[float, Number(above=200)] = 8000
    n_bands: Annotated[int, Whole(1, 10_000)] = 24
    _: KW_ONLY
    frame: Annotated[int, Whole(1, 2**20)] = 256
    hop: Annotated[int, Whole(1)] = 128

    def fit(self, X: ArrayLike, y=None) -> LogMel:
        """Lay out frames and bands for waveforms X of shape (n, n_samples)."""
        X = self._points_to_fit(X)
        low, high = 100.0, self.sample_rate / 2
        self.frequencies_ = mel_frequencies(self.n_bands, low, high=high)
        edges = np.r_[low, self.frequencies_, high]
        hertz = fft.rfftfreq(self.frame, 1 / self.sample_rate)
        self.filters_ = np.array(
            [np.interp(hertz, edges[i : i + 3], [0.0, 1.0, 0.0]) for i in range(self.n_bands)]
        )
        # A band narrower than the spacing of the spectrum would hear nothing.
        for band in np.flatnonzero(self.filters_.sum(axis=1) == 0):
            self.filters_[band, np.abs(hertz - self.frequencies_[band]).argmin()] = 1
        n_frames = -(-X.shape[1] // self.hop)
        self.shape_ = (n_frames, self.n_bands)
        self._n_features_out = n_frames * self.n_bands
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Spectrograms of shape (n, n_frames n_bands), frame after frame, of X's floating type."""
        X = self._points_to_transform(X)
        n_frames, given = self.shape_[0], self._fitted
        # Frames are centred on multiples of the hop, the recording padded with silence.
        lead = given.frame // 2
        length = lead + max(X.shape[1], (n_frames - 1) * given.hop + given.frame)
        padded = np.zeros((len(X), length), dtype=X.dtype)
        # A power of two, which rounds nothing, keeps energies from overflowing.
        _, exponents = np.frexp(np.abs(X).max(axis=1, keepdims=True))
        np.ldexp(X, -exponents, out=padded[:, lead : lead + X.shape[1]])
        from scipy.signal import get_window  # slow to import, and needed here alone

        window = get_window("hann", given.frame).astype(X.dtype)
        spectrograms = np.empty((len(X), *self.shape_), dtype=X.dtype)
        for wave, result in zip(padded, spectrograms, strict=True):
            frames = np.lib.stride_tricks.sliding_window_view(wave, given.frame)[:: given.hop]
            power = np.square(np.abs(fft.rfft(frames[:n_frames] * window, axis=1)))
            energy = power @ self.filters_.T
            # Silence stays silence.
            decibels = 10 * np.log10(np.maximum(energy / (energy.max() or 1.0), 1e-30))
            result[...] = np.maximum(1 + decibels / _RANGE, 0)
        return spectrograms.reshape(len(X), -1)
