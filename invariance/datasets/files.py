"""Data files with checksums: found in a folder, in the cache, or downloaded.

A file is looked for under ``$INVARIANCE_DATA``, then in the cache (``$INVARIANCE_CACHE``, or the
system's cache folder), then at its official address. Whatever is found must have one of the known
checksums, of its bytes or, where these vary, of what it unpacks to; nothing is read on trust.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as code_of
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.extras import need
from ..core.parameters import Flag, check_values

__all__ = ["DataError", "DataFile", "Found", "Source", "cache_folder", "decoded", "fetch", "locate"]

#: More than any file of the catalogue has, in bytes: larger ones are neither read nor downloaded.
MOST = 2**30


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
        vary while its contents do not.
    url : str or None
        Official address, where there is one.
    content : callable or None
        For ``content:...``: the checksum of what the file at a path unpacks to.
    """

    path: str
    checksum: str
    url: str | None = None
    content: Callable[[Path], str] | None = None

    def checked(self, path: Path) -> tuple[bool, str]:
        """Whether the file has the checksum, and which it has."""
        kind, _, expected = self.checksum.partition(":")
        try:
            if (size := path.stat().st_size) > MOST:
                return False, f"{size:,} bytes, more than any data file here has"
            found = _digest_of(path, kind, self.content)
        except OSError as error:  # also what cannot be unpacked
            return False, f"a file that cannot be read ({error})"
        return found == expected, f"{kind}:{found}"


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
    holds: bool
    found: str

    @property
    def sha256(self) -> str:
        """Of the file itself, whichever checksum it was recognised by."""
        return _digest_of(self.path, "sha256")


def cache_folder() -> Path:
    """Where downloads are kept: ``$INVARIANCE_CACHE`` or the system's cache folder."""
    if named := os.environ.get("INVARIANCE_CACHE"):
        return Path(named)
    home = Path.home()
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        return local / "invariance" / "invariance" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "invariance"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "invariance"


def _folders() -> list[Path]:
    named = os.environ.get("INVARIANCE_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


@cache
def _digest(
    path: Path, kind: str, content: Callable[[Path], str] | None, state: tuple[int, ...]
) -> str:
    if content is not None:
        return content(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _digest_of(path: Path, kind: str, content: Callable[[Path], str] | None = None) -> str:
    """Computed anew when the file changes, which the time of its last change alone may not tell."""
    stat = path.stat()
    state = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    return _digest(path, kind, content, state)


def locate(file: DataFile) -> Found | None:
    """The file on this machine: the first whose checksum holds, else the first of that name."""
    wrong = None
    for folder in _folders():
        for source in file.sources:
            path = folder / source.path
            if path.is_file():
                found = Found(path, source, *source.checked(path))
                if found.holds:
                    return found
                wrong = wrong or found
    return wrong


def fetch(file: DataFile, download_if_missing: bool = True) -> Found:
    """Path and checksum of the file, downloaded when it is nowhere on this machine.

    Raises
    ------
    DataError
        Names the file, the expected and the found checksum, and how to get the file.
    """
    given = {"download_if_missing": download_if_missing}
    check_values("a loader", {"download_if_missing": Flag()}, given)
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
    try:
        pooch = need("pooch", "data")
    except ImportError as error:
        raise ImportError(f"{_missing(file)} To download it, {error}", name=error.name) from None
    try:
        _download(pooch, official)
    except Exception as error:
        # The chain of the network library says nothing that its last message does not.
        raise DataError(f"{_missing(file)} Downloading failed: {error}") from None
    return fetch(file, download_if_missing=False)


class _Limited:
    """A file that takes a bounded number of bytes."""

    def __init__(self, file: IO[bytes], most: int):
        self._file, self._left, self.flush = file, most, file.flush

    def write(self, chunk: bytes) -> int:
        self._left -= len(chunk)
        if self._left < 0:
            raise DataError("it is larger than any data file here")
        return self._file.write(chunk)


def _download(pooch: Any, official: Source) -> None:
    """The official file, checked before it takes its place in the cache."""

    def bounded(url: str, output: str, caller: Any) -> None:
        with open(output, "wb") as file:
            pooch.HTTPDownloader()(url, _Limited(file, MOST), caller)

    place = cache_folder() / official.path
    place.parent.mkdir(parents=True, exist_ok=True)
    known = None if official.content else official.checksum
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        pooch.retrieve(official.url, known, fname=place.name, path=scratch, downloader=bounded)
        arrived = Path(scratch) / place.name
        holds, found = official.checked(arrived)
        if not holds:
            raise DataError(f"{official.url} sent {found}, not {official.checksum}")
        os.replace(arrived, place)


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


@cache
def _decoder() -> str:
    """Version of what decodes: a digest of the code of this folder, which nobody has to raise."""
    code = sorted(
        (f.name, f.read_bytes()) for f in code_of("invariance.datasets").iterdir() if f.is_file()
    )
    return hashlib.sha256(repr(code).encode()).hexdigest()[:8]


def decoded(
    found: dict[str, Found], decode: Callable[[], dict[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    """Arrays decoded once from slow containers, then kept uncompressed in the cache.

    A kept file is named after the sources' checksums, the decoder's version and the checksum of
    its own bytes, so that it is read only where it is what was written; else it is made again. It
    is written whole or not at all.
    """
    first = next(iter(found.values()))
    key = hashlib.sha256(" ".join(f.sha256 for f in found.values()).encode()).hexdigest()[:16]
    folder, stem = cache_folder() / "decoded", f"{first.source.path.split('/')[0]}-{key}"
    for kept in sorted(folder.glob(f"{stem}-{_decoder()}-*.npz")):
        arrays = _verified(kept)
        if arrays is not None:
            return arrays
    arrays = decode()
    with suppress(OSError):  # a cache that cannot be written costs time, not results
        _keep(arrays, folder, stem)
    return arrays


def _verified(kept: Path) -> dict[str, NDArray[Any]] | None:
    """Arrays of a kept file, or None where its bytes are not those that its name tells."""
    try:
        with kept.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != kept.stem.rpartition("-")[2]:
                return None
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def _keep(arrays: dict[str, NDArray[Any]], folder: Path, stem: str) -> None:
    """Write the arrays, and remove what older decoders kept of the same sources."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        written = Path(scratch) / "arrays.npz"
        np.savez(written, **arrays)  # type: ignore[arg-type]
        with written.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        place = folder / f"{stem}-{_decoder()}-{digest}.npz"
        os.replace(written, place)
    for older in folder.glob(f"{stem}*.npz"):
        if older != place:
            older.unlink(missing_ok=True)
