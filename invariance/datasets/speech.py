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
from .dataset import Dataset
from .files import RECORDING, recordings

#: Samples a second of every data set here.
SAMPLE_RATE = 8000


def ragged(waves: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """An object array of arrays of any lengths."""
    listed = list(waves)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


@arguments(n_samples=Whole(1))
def fixed_length(waves: Iterable[NDArray], n_samples: int) -> NDArray[np.float32]:
    """Waveforms of any length as rows of one array, centred; silence around, or ends cut off.

    Raises
    ------
    ValueError
        For a waveform of length zero.

    >>> fixed_length([np.ones(2), np.arange(1, 6)], 4)
    array([[0., 1., 1., 0.],
           [1., 2., 3., 4.]], dtype=float32)
    """
    due = "fixed_length needs waves to be rows of finite numbers, at least one each"
    if not isinstance(waves, Iterable) or isinstance(waves, (str, bytes)):
        raise ParameterError(f"{due}, got {short(waves)}")
    waves = list(waves)
    rows = np.zeros((len(waves), n_samples), dtype=np.float32)
    for i, (row, wave) in enumerate(zip(rows, waves, strict=True)):
        if not Array(1).accepts(wave):
            raise ParameterError(f"{due}, but recording {i} is {short(wave)}")
        surplus = len(wave) - n_samples
        middle, start = wave[max(0, surplus // 2) :][:n_samples], max(0, -surplus // 2)
        row[start : start + len(middle)] = middle
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
    found = entry.fetched(download_if_missing)
    (file,) = found.values()
    waves, labels = [], []
    for name, content in recordings(file.path).items():
        word, speaker, repetition = RECORDING.fullmatch(name).groups()  # type: ignore[union-attr]
        labels.append((int(word), speaker, int(repetition)))
        waves.append(wavfile.read(io.BytesIO(content))[1] / np.float32(32768))
    words, speakers, repetitions = map(np.array, zip(*labels, strict=True))
    details = {"speaker": speakers, "repetition": repetitions, "sample_rate": SAMPLE_RATE}
    return entry.dataset(found, ragged(waves), words, details=details)


def load_synthetic_speech(download_if_missing: bool = True) -> Dataset:
    """Synthetic spoken digits: 90 voices x 10 digits x 2, men, women and "children", 8 kHz.

    Made with espeak-ng. The children are women's voices with a vocal tract shortened by 1.12 to
    1.28: a substitute wherever the paper splits by gender or age, to be named as such.

    Returns
    -------
    Dataset
        ``data``: object array of 1,800 float32 waveforms; ``target``: digits; ``speaker``: 0..89;
        ``group``: "man", "woman" or "child"; ``repetition``; ``sample_rate``; ``voices``: a
        description of every speaker.
    """
    entry = CATALOGUE["synthetic_speech"]
    found = entry.fetched(download_if_missing)
    (file,) = found.values()
    with np.load(file.path, allow_pickle=False) as arrays:
        samples = arrays["samples"].astype(np.float32) / 32768
        details = {name: arrays[name].astype(np.int64) for name in ("speaker", "repetition")}
        details |= {
            "group": np.array(["man", "woman", "child"])[arrays["group"]],
            "sample_rate": int(arrays["sample_rate"]),
            "voices": json.loads(str(arrays["speakers"])),
        }
        waves = ragged(np.split(samples, arrays["offsets"][1:-1]))
        return entry.dataset(found, waves, arrays["digit"].astype(np.int64), details=details)
