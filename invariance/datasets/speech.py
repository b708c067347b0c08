"""`load_fsdd`, `load_synthetic_speech` and `load_recordings`: spoken words as waveforms."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import wavfile

from .catalogue import CATALOGUE, FSDD_CONTENT
from .dataset import Dataset
from .files import DataError, decoded, fetch

__all__ = [
    "SAMPLE_RATE",
    "fixed_length",
    "load_fsdd",
    "load_recordings",
    "load_synthetic_speech",
    "read_wav",
]

#: Samples a second of every data set here.
SAMPLE_RATE = 8000

_NAME = re.compile(r"(\d+)_(\w+)_(\d+)\.wav")


def read_wav(
    file: str | Path | io.IOBase, sample_rate: int = SAMPLE_RATE, name: str | None = None
) -> NDArray[np.float32]:
    """One mono recording as float32 in [-1, 1].

    Raises
    ------
    ValueError
        For another sampling rate, several channels, or no samples; names the file.

    Examples
    --------
    >>> import io
    >>> from scipy.io import wavfile
    >>> wavfile.write(file := io.BytesIO(), 8000, np.array([0, 16384], dtype=np.int16))
    >>> read_wav(file)
    array([0. , 0.5], dtype=float32)
    """
    name = name or str(file)
    try:
        with warnings.catch_warnings():
            # Some recorders write further chunks after the samples.
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, samples = wavfile.read(file)
    except (ValueError, EOFError) as error:
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


def _ragged(waves: Iterable[NDArray]) -> NDArray:
    waves = list(waves)
    ragged = np.empty(len(waves), dtype=object)
    ragged[:] = waves
    return ragged


def _recordings(named: dict[str, NDArray], description: str, sources: dict[str, str]) -> Dataset:
    parts = [_NAME.fullmatch(name).groups() for name in named]
    return Dataset(
        _ragged(named.values()),
        np.array([int(word) for word, _, _ in parts]),
        description,
        sources=sources,
        details={
            "speaker": np.array([speaker for _, speaker, _ in parts]),
            "repetition": np.array([int(index) for _, _, index in parts]),
            "sample_rate": SAMPLE_RATE,
        },
    )


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
    waves = list(waves)
    rows = np.zeros((len(waves), n_samples), dtype=np.float32)
    for i, (row, wave) in enumerate(zip(rows, waves, strict=True)):
        if not len(wave):
            raise ValueError(f"recording {i} holds no samples (length zero)")
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
    files = sorted(p for p in Path(folder).glob("*.wav") if _NAME.fullmatch(p.name))
    if not files:
        raise ValueError(f"{folder} holds no WAV files named <label>_<speaker>_<index>.wav")
    named = {p.name: read_wav(p, sample_rate) for p in files}
    return _recordings(named, f"recordings in {Path(folder).name}", {})


def _fsdd(path: Path) -> dict[str, NDArray]:
    content = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if member.isfile() and _NAME.fullmatch(name):
                    content[name] = archive.extractfile(member).read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(name.encode() + b"\0" + content[name])
    if digest.hexdigest() != FSDD_CONTENT:
        raise DataError(
            f"{path} holds {len(content)} recordings with content checksum "
            f"sha256:{digest.hexdigest()}, expected 3000 with sha256:{FSDD_CONTENT}: another "
            "release or a damaged archive. Remove it and get release 1.0.10."
        )
    waves = [read_wav(io.BytesIO(content[n]), name=f"{path}:{n}") for n in sorted(content)]
    return {
        "names": np.array(sorted(content)),
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

    Raises
    ------
    DataError
        Names the file, the expected and found checksum, and how to get it.
    """
    (file,) = CATALOGUE["fsdd"].files
    found = fetch(file, download_if_missing)
    arrays = decoded({"fsdd": found}, lambda: _fsdd(found.path))
    waves = np.split(arrays["samples"], arrays["offsets"][1:-1])
    return _recordings(
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

    Raises
    ------
    DataError
    """
    (file,) = CATALOGUE["synthetic_speech"].files
    found = fetch(file, download_if_missing)
    with np.load(found.path) as arrays:
        samples = arrays["samples"].astype(np.float32) / 32768
        return Dataset(
            _ragged(np.split(samples, arrays["offsets"][1:-1])),
            arrays["digit"].astype(np.int64),
            CATALOGUE["synthetic_speech"].description,
            sources={found.source.path: found.sha256},
            details={
                "speaker": arrays["speaker"].astype(np.int64),
                "group": np.array(["man", "woman", "child"])[arrays["group"]],
                "repetition": arrays["repetition"].astype(np.int64),
                "sample_rate": int(arrays["sample_rate"]),
                "voices": json.loads(str(arrays["speakers"])),
            },
        )
