"""`LogMel`: log-mel spectrograms of waveforms."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from ..core.dask_arrays import over_blocks
from ..core.parameters import Number, Whole, stores_parameters
from ..features.feature_map import ONE_CHANNEL, FeatureMap
from .sound import mel_frequencies

#: Decibels below the loudest band that count as silence.
_RANGE = 50.0


@stores_parameters
class LogMel(FeatureMap):
    """Decibels above silence in mel bands, frame by frame.

    Each value is 10 log10 of the energy in a triangular band relative to the loudest band of the
    same recording, cut at -50, plus 50, divided by 50. Silence is thus zero and the loudest band
    one, whatever the volume of the recording.

    Parameters
    ----------
    sample_rate : float
        Samples per second.
    n_bands : int
        Number of triangular mel bands from 100 Hz to half the sample rate.
    frame, hop : int
        Samples per frame (Hann window), and from one frame to the next.

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
        low = 100.0
        high = self.sample_rate / 2
        self.frequencies_ = mel_frequencies(self.n_bands, low, high=high)
        edges = np.r_[low, self.frequencies_, high]
        hertz = fft.rfftfreq(self.frame, 1 / self.sample_rate)
        filters = []
        for band in range(self.n_bands):
            filters.append(np.interp(hertz, edges[band : band + 3], [0.0, 1.0, 0.0]))
        self.filters_ = np.array(filters)
        # A band narrower than the spacing of the spectrum would contain no frequency.
        for empty_band in np.flatnonzero(self.filters_.sum(axis=1) == 0):
            nearest = np.abs(hertz - self.frequencies_[empty_band]).argmin()
            self.filters_[empty_band, nearest] = 1
        n_frames = -(-X.shape[1] // self.hop)
        self.shape_ = (n_frames, self.n_bands)
        self._n_features_out = n_frames * self.n_bands
        return self

    @over_blocks
    def transform(self, X: ArrayLike) -> NDArray:
        """Spectrograms of shape (n, n_frames n_bands), frame after frame, of X's floating type."""
        X = self._points_to_transform(X)
        frame = self._fitted.frame
        hop = self._fitted.hop
        n_frames = self.shape_[0]
        # Frames are centred on multiples of the hop, and the recording is padded with silence.
        lead = frame // 2
        length = lead + max(X.shape[1], (n_frames - 1) * hop + frame)
        padded = np.zeros((len(X), length), dtype=X.dtype)
        # A power of two, which rounds nothing, keeps energies from overflowing.
        _, exponents = np.frexp(np.abs(X).max(axis=1, keepdims=True))
        np.ldexp(X, -exponents, out=padded[:, lead : lead + X.shape[1]])
        from scipy.signal import get_window  # it is slow to import, and only this method needs it

        window = get_window("hann", frame).astype(X.dtype)
        spectrograms = np.empty((len(X), *self.shape_), dtype=X.dtype)
        for wave, spectrogram in zip(padded, spectrograms, strict=True):
            frames = np.lib.stride_tricks.sliding_window_view(wave, frame)[::hop]
            spectrum = fft.rfft(frames[:n_frames] * window, axis=1)
            energy = np.square(np.abs(spectrum)) @ self.filters_.T
            # Silence stays silence.
            relative_energy = energy / (energy.max() or 1.0)
            decibels = 10 * np.log10(np.maximum(relative_energy, 1e-30))
            spectrogram[...] = np.maximum(1 + decibels / _RANGE, 0)
        return spectrograms.reshape(len(X), -1)
