"""`load_fsdd`, `load_synthetic_speech` and `load_recordings`: spoken words as waveforms."""

from __future__ import annotations

import io
import json
import struct
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import wavfile

from ..core.parameters import Array, ParameterError, Whole, arguments, short
from .catalogue import CATALOGUE
from .dataset import Dataset
from .files import RECORDING, decoded, fetch, recordings

#: Samples a second of every data set here.
SAMPLE_RATE = 8000


@arguments(sample_rate=Whole(1))
def read_wav(
    file: str | Path | IO[bytes], sample_rate: int = SAMPLE_RATE, *, name: str | None = None
) -> NDArray[np.float32]:
    """One mono recording as float32 in [-1, 1].

    Raises
    ------
    ValueError
        For another sampling rate, several channels, no samples, or a file that ends before its
        samples do; names the file.

    Examples
    --------
    >>> import io
    >>> from scipy.io import wavfile
    >>> wavfile.write(file := io.BytesIO(), 8000, np.array([0, 16384], dtype=np.int16))
    >>> read_wav(file)
    array([0. , 0.5], dtype=float32)
    """
    name = name or str(file)
    # In memory, so that a header cannot ask for more of it than the file has.
    stream = io.BytesIO(Path(file).read_bytes()) if isinstance(file, (str, Path)) else file
    try:
        with warnings.catch_warnings():
            # Some recorders write further chunks after the samples; the end must be the last one's.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            warnings.filterwarnings("error", "Reached EOF prematurely", wavfile.WavFileWarning)
            rate, samples = wavfile.read(stream)
    except (ValueError, EOFError, struct.error, wavfile.WavFileWarning) as error:
        raise ValueError(f"{name} is not a WAV file that can be read: {error}") from error
    if rate != sample_rate:
        raise ValueError(
            f"{name} has {rate} samples a second, {sample_rate} are needed: resample it, for "
            f"example with scipy.signal.resample_poly(samples, {sample_rate}, {rate})"
        )
    if samples.ndim != 1:
        raise ValueError(f"{name} has {samples.shape[1]} channels; mix them down to one")
    if not len(samples):
        raise ValueError(f"{name} holds no samples (length zero): remove it from the set")
    if np.issubdtype(samples.dtype, np.floating):
        return samples.astype(np.float32)
    if samples.dtype == np.uint8:
        return ((samples.astype(np.float32) - 128) / 128).astype(np.float32)
    return (samples / np.float32(-float(np.iinfo(samples.dtype).min))).astype(np.float32)


def ragged(waves: Iterable[NDArray[Any]]) -> NDArray[Any]:
    listed = list(waves)
    ragged = np.empty(len(listed), dtype=object)
    ragged[:] = listed
    return ragged


def _dataset(named: dict[str, NDArray[Any]], description: str, sources: dict[str, str]) -> Dataset:
    parts = [found.groups() for name in named if (found := RECORDING.fullmatch(name))]
    return Dataset(
        ragged(named.values()),
        np.array([int(word) for word, _, _ in parts]),
        description=description,
        sources=sources,
        details={
            "speaker": np.array([speaker for _, speaker, _ in parts]),
            "repetition": np.array([int(index) for _, _, index in parts]),
            "sample_rate": SAMPLE_RATE,
        },
    )


@arguments(n_samples=Whole(1))
def fixed_length(waves: Iterable[NDArray], n_samples: int) -> NDArray[np.float32]:
    """Waveforms of any length as rows of one array, centred; silence around, or ends cut off.

    Raises
    ------
    ValueError
        For a waveform of length zero.

    Examples
    --------
    >>> fixed_length([np.ones(2), np.arange(1, 6)], 4)
    array([[0., 1., 1., 0.],
           [1., 2., 3., 4.]], dtype=float32)
    """
    if not isinstance(waves, Iterable) or isinstance(waves, (str, bytes)):
        raise ParameterError(
            f"fixed_length needs waves to be a sequence of waveforms, got {short(waves)}"
        )
    waves = list(waves)
    rows = np.zeros((len(waves), n_samples), dtype=np.float32)
    for i, (row, wave) in enumerate(zip(rows, waves, strict=True)):
        if not Array(1, empty=True).accepts(wave):
            raise ParameterError(
                f"fixed_length needs waves to be rows of finite numbers, but recording {i} is "
                f"{short(wave)}"
            )
        if not len(wave):
            raise ParameterError(f"recording {i} holds no samples (length zero) in waves")
        surplus = len(wave) - n_samples
        if surplus >= 0:
            row[...] = wave[surplus // 2 : surplus // 2 + n_samples]
        else:
            start = -surplus // 2
            row[start : start + len(wave)] = wave
    return rows


def load_recordings(folder: str | Path, sample_rate: int = SAMPLE_RATE) -> Dataset:
    """Recordings of your own: WAV files named ``<label>_<speaker>_<index>.wav``.

    Returns
    -------
    Dataset
        ``data``: object array of float32 waveforms; ``target``: labels; ``speaker``,
        ``repetition`` and ``sample_rate``.

    Raises
    ------
    ValueError
        For a folder without such files, a file of another rate, of length zero, or with
        several channels.
    """
    files = sorted(p for p in Path(folder).glob("*.wav") if RECORDING.fullmatch(p.name))
    if not files:
        raise ValueError(f"{folder} holds no WAV files named <label>_<speaker>_<index>.wav")
    named = {p.name: read_wav(p, sample_rate) for p in files}
    return _dataset(named, f"recordings in {Path(folder).name}", {})


def _fsdd(path: Path) -> dict[str, NDArray[Any]]:
    content = recordings(path)
    waves = [read_wav(io.BytesIO(wave), name=f"{path}:{name}") for name, wave in content.items()]
    return {
        "names": np.array(list(content)),
        "samples": np.concatenate(waves),
        "offsets": np.cumsum([0, *map(len, waves)]),
    }


def load_fsdd(download_if_missing: bool = True) -> Dataset:
    """Free Spoken Digit Dataset: 3,000 recordings, 6 speakers x 10 digits x 50, 8 kHz.

    Returns
    -------
    Dataset
        ``data``: object array of 3,000 float32 waveforms in [-1, 1]; ``target``: digits;
        ``speaker``: names; ``repetition``: 0..49 (the data set's authors test on 0..4);
        ``sample_rate``.
    """
    (file,) = CATALOGUE["fsdd"].files
    found = fetch(file, download_if_missing)
    arrays = decoded({"fsdd": found}, lambda: _fsdd(found.path))
    waves = np.split(arrays["samples"], arrays["offsets"][1:-1])
    return _dataset(
        dict(zip(arrays["names"], waves, strict=True)),
        CATALOGUE["fsdd"].description,
        {found.source.path: found.sha256},
    )


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
    (file,) = CATALOGUE["synthetic_speech"].files
    found = fetch(file, download_if_missing)
    with np.load(found.path, allow_pickle=False) as arrays:
        samples = arrays["samples"].astype(np.float32) / 32768
        return Dataset(
            ragged(np.split(samples, arrays["offsets"][1:-1])),
            arrays["digit"].astype(np.int64),
            description=CATALOGUE["synthetic_speech"].description,
            sources={found.source.path: found.sha256},
            details={
                "speaker": arrays["speaker"].astype(np.int64),
                "group": np.array(["man", "woman", "child"])[arrays["group"]],
                "repetition": arrays["repetition"].astype(np.int64),
                "sample_rate": int(arrays["sample_rate"]),
                "voices": json.loads(str(arrays["speakers"])),
            },
        )
