"""Data files with checksums: found in a folder, in the cache, or downloaded.

A file is looked for under ``$INVARIANCE_DATA``, then in the cache (``$INVARIANCE_CACHE``, or the
system's cache folder), then at its official address. Whatever is found must have one of the known
checksums; nothing is ever read on trust.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pooch
from numpy.typing import NDArray

__all__ = ["DataError", "DataFile", "Found", "Source", "cache_folder", "decoded", "fetch", "locate"]


class DataError(OSError):
    """A data file is missing, damaged, or cannot be downloaded."""


@dataclass(frozen=True)
class Source:
    """One file that holds the data.

    Attributes
    ----------
    path : str
        ``<data set>/<file>``, below a data folder.
    checksum : str
        ``sha256:...`` or ``md5:...`` of the file, or ``content:...`` for an archive whose bytes
        vary while its contents do not: the reader then checks what it reads.
    url : str or None
        Official address, where there is one.
    """

    path: str
    checksum: str
    url: str | None = None


@dataclass(frozen=True)
class DataFile:
    """A file that a data set needs, with every source that holds it."""

    name: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Found:
    """A file on this machine; ``holds`` says whether its checksum is the expected one."""

    path: Path
    source: Source
    sha256: str
    holds: bool
    found: str


def cache_folder() -> Path:
    """Where downloads are kept: ``$INVARIANCE_CACHE`` or the system's cache folder."""
    named = os.environ.get("INVARIANCE_CACHE")
    return Path(named) if named else Path(pooch.os_cache("invariance"))


def _folders() -> list[Path]:
    named = os.environ.get("INVARIANCE_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


@cache
def _digest(path: Path, algorithm: str, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _digest_of(path: Path, algorithm: str) -> str:
    stat = path.stat()
    return _digest(path, algorithm, stat.st_size, stat.st_mtime_ns)


def locate(file: DataFile) -> Found | None:
    """The file on this machine: the first whose checksum holds, else the first of that name."""
    wrong = None
    for folder in _folders():
        for source in file.sources:
            path = folder / source.path
            if not path.is_file():
                continue
            kind, expected = source.checksum.split(":")
            sha256 = _digest_of(path, "sha256")
            found = sha256 if kind in ("sha256", "content") else _digest_of(path, kind)
            holds = kind == "content" or found == expected
            if holds:
                return Found(path, source, sha256, True, found)
            wrong = wrong or Found(path, source, sha256, False, f"{kind}:{found}")
    return wrong


def fetch(file: DataFile, download_if_missing: bool = True) -> Found:
    """Path and checksum of the file, downloaded when it is nowhere on this machine.

    Raises
    ------
    DataError
        Names the file, the expected and the found checksum, and how to get the file.
    """
    here = locate(file)
    if here is not None and here.holds:
        return here
    if here is not None:
        expected = " or ".join(s.checksum for s in file.sources if s.path == here.source.path)
        raise DataError(
            f"{here.path} is damaged or another file: expected checksum {expected}, found "
            f"{here.found}. Remove it, then {_remedy(file)}"
        )
    official = next((s for s in file.sources if s.url), None)
    if official is None or not download_if_missing:
        raise DataError(_missing(file))
    folder = cache_folder()
    path = folder / official.path
    known = None if official.checksum.startswith("content:") else official.checksum
    try:
        pooch.retrieve(official.url, known, fname=path.name, path=path.parent)
    except Exception as error:
        path.unlink(missing_ok=True)
        # The chain of the network library says nothing that its last message does not.
        raise DataError(f"{_missing(file)} Downloading failed: {error}") from None
    return fetch(file, download_if_missing=False)


def _remedy(file: DataFile) -> str:
    name = file.sources[0].path.split("/")[0]
    addresses = [s for s in file.sources if s.url]
    if not addresses:
        return (
            f"put {' or '.join(s.path for s in file.sources)} into the folder that "
            "INVARIANCE_DATA names; there is no public download."
        )
    one = addresses[0]
    return (
        f"run 'invariance data --download {name}', or save {one.url} ({one.checksum}) as "
        f"{one.path} in the folder that INVARIANCE_DATA names."
    )


def _missing(file: DataFile) -> str:
    places = ", ".join(str(f) for f in _folders())
    expected = " or ".join(f"{s.path} ({s.checksum})" for s in file.sources)
    return f"data file {expected} is not in {places}: {_remedy(file)}"


def decoded(
    found: dict[str, Found], decode: Callable[[], dict[str, NDArray]]
) -> dict[str, NDArray]:
    """Arrays decoded once from slow containers, then kept uncompressed in the cache.

    The kept file is named after the sources' checksums, so other data never come back, and is
    written whole or not at all.
    """
    key = hashlib.sha256(" ".join(f.sha256 for f in found.values()).encode()).hexdigest()[:16]
    first = next(iter(found.values()))
    kept = cache_folder() / "decoded" / f"{first.source.path.split('/')[0]}-{key}.npz"
    try:
        with np.load(kept) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        arrays = decode()
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=kept.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
        os.replace(name, kept)
    except OSError:
        # A cache that cannot be written costs time, not results.
        return arrays
    return arrays
