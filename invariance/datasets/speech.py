"""`load_fsdd` and `load_synthetic_speech`: spoken words as waveforms."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import wavfile

from ..core.parameters import Array, ParameterError, Whole, arguments, short
from .catalogue import CATALOGUE
from .dataset import Dataset, apply_filter
from .files import RECORDING, recordings

#: Samples per second of every data set in this module.
SAMPLE_RATE = 8000


def ragged(waves: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return an object array of arrays of any lengths."""
    arrays = list(waves)
    result = np.empty(len(arrays), dtype=object)
    result[:] = arrays
    return result


@arguments(n_samples=Whole(1))
def fixed_length(waves: Iterable[NDArray[Any]], n_samples: int) -> NDArray[np.float32]:
    """Return waveforms as centred rows of one array, padded with silence or cut at both ends.

    Raises
    ------
    ValueError
        If a waveform has length zero.

    Examples
    --------
    >>> fixed_length([np.ones(2), np.arange(1, 6)], 4)
    array([[0., 1., 1., 0.],
           [1., 2., 3., 4.]], dtype=float32)
    """
    requirement = "fixed_length needs waves to be rows of finite numbers, at least one each"
    if not isinstance(waves, Iterable) or isinstance(waves, (str, bytes)):
        raise ParameterError(f"{requirement}, got {short(waves)}")
    waves = list(waves)
    rows = np.zeros((len(waves), n_samples), dtype=np.float32)
    waveform = Array(1)
    for i, wave in enumerate(waves):
        if not waveform.accepts(wave):
            raise ParameterError(f"{requirement}, but recording {i} is {short(wave)}")
        surplus = len(wave) - n_samples
        if surplus >= 0:
            first_sample = surplus // 2
            rows[i] = wave[first_sample : first_sample + n_samples]
        else:
            silence = -surplus // 2
            rows[i, silence : silence + len(wave)] = wave
    return rows


def load_fsdd(download_if_missing: bool = True) -> Dataset:
    """Free Spoken Digit Dataset: 3,000 recordings, 6 speakers x 10 digits x 50, 8 kHz.

    Returns
    -------
    Dataset
        ``data``: object array of 3,000 float32 waveforms in [-1, 1]; ``target``: digits;
        ``speaker``: names; ``repetition``: 0..49 (the data set's authors test on 0..4);
        ``sample_rate``.
    """
    entry = CATALOGUE["fsdd"]
    files = entry.fetched(download_if_missing)
    (file,) = files.values()
    waves = []
    digits = []
    speakers = []
    repetitions = []
    for name, content in recordings(file.path).items():
        digit, speaker, repetition = RECORDING.fullmatch(name).groups()  # type: ignore[union-attr]
        digits.append(int(digit))
        speakers.append(speaker)
        repetitions.append(int(repetition))
        _, samples = wavfile.read(io.BytesIO(content))
        waves.append(samples / np.float32(32768))
    details = {
        "speaker": np.array(speakers),
        "repetition": np.array(repetitions),
        "sample_rate": SAMPLE_RATE,
    }
    return apply_filter(entry.dataset(files, ragged(waves), np.array(digits), details=details))


def load_synthetic_speech(download_if_missing: bool = True) -> Dataset:
    """Synthetic spoken digits: 90 voices x 10 digits x 2, men, women and "children", 8 kHz.

    The recordings were made with espeak-ng. The children are women's voices with a vocal tract
    shortened by 1.12 to 1.28: a substitute for the paper's splits by gender or age, to be named as
    such.

    Returns
    -------
    Dataset
        ``data``: object array of 1,800 float32 waveforms; ``target``: digits; ``speaker``: 0..89;
        ``group``: "man", "woman" or "child"; ``repetition``; ``sample_rate``; ``voices``: a
        description of every speaker.
    """
    entry = CATALOGUE["synthetic_speech"]
    files = entry.fetched(download_if_missing)
    (file,) = files.values()
    with np.load(file.path, allow_pickle=False) as arrays:
        samples = arrays["samples"].astype(np.float32) / 32768
        waves = ragged(np.split(samples, arrays["offsets"][1:-1]))
        digits = arrays["digit"].astype(np.int64)
        details = {
            "speaker": arrays["speaker"].astype(np.int64),
            "repetition": arrays["repetition"].astype(np.int64),
            "group": np.array(["man", "woman", "child"])[arrays["group"]],
            "sample_rate": int(arrays["sample_rate"]),
            "voices": json.loads(str(arrays["speakers"])),
        }
    return apply_filter(entry.dataset(files, waves, digits, details=details))
