"""Data files with checksums: found in a folder, in the cache, or downloaded; unpacked with a bound.

A file is looked for under ``$INVARIANCE_DATA``, then in the cache (`cache_folder`), then at its
official address. Whatever is found must have one of the known
checksums, of its bytes or, where these vary, of what it unpacks to; nothing is read on trust, and
whatever a header promises, no more than a bound is unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core.extras import need
from ..core.parameters import Flag, arguments

#: More than any file of the catalogue has, in bytes: larger ones are neither read nor downloaded.
MOST = 2**30
#: More than any of them unpacks to.
MOST_UNPACKED = 256 * 2**20

#: <label>_<speaker>_<index>.wav
RECORDING = re.compile(r"(\d+)_(\w+)_(\d+)\.wav")

# Python in a browser has no lzma, nor has one that was built without it
try:
    import lzma
except ImportError:
    _OPEN: dict[str, Any] = {".gz": gzip.open}
    _LZMA_ERRORS: tuple[type[Exception], ...] = ()
else:
    _OPEN = {".gz": gzip.open, ".xz": lzma.open}
    _LZMA_ERRORS = (lzma.LZMAError,)
_DAMAGED: tuple[type[BaseException], ...] = (
    *(EOFError, KeyError, OSError, ValueError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error),
    *_LZMA_ERRORS,
)


class DataError(OSError):
    """A data file is missing, damaged, or cannot be downloaded."""


@dataclass(frozen=True)
class Source:
    """One file that holds the data."""

    #: ``<data set>/<file>``, below a data folder.
    path: str
    #: ``sha256:...`` or ``md5:...`` of the file, or ``content:...`` for an archive whose bytes vary
    #: while its recordings do not: SHA-256 over their names and bytes.
    checksum: str
    #: Official address, where there is one.
    url: str | None = None

    def checked(self, path: Path) -> tuple[bool, str]:
        """Whether the file has the checksum, and which it has."""
        kind, _, expected = self.checksum.partition(":")
        try:
            if (size := path.stat().st_size) > MOST:
                return False, f"{size:,} bytes, more than any data file here has"
            found = _digest_of(path, kind)
        except OSError as error:  # also what cannot be unpacked
            return False, f"a file that cannot be read ({error})"
        return found == expected, f"{kind}:{found}"


@dataclass(frozen=True)
class DataFile:
    """A file that a data set needs, and every source that holds it."""

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
    """Where downloads are kept: ``$INVARIANCE_CACHE``, or ``~/.cache/invariance``."""
    if named := os.environ.get("INVARIANCE_CACHE"):
        return Path(named)
    home = os.path.expanduser("~")
    home = tempfile.gettempdir() if home == "~" else home  # nobody knows whose process this is
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(home, ".cache"), "invariance")


def _folders() -> list[Path]:
    named = os.environ.get("INVARIANCE_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


@cache
def _digest(path: Path, kind: str, state: tuple[int, ...]) -> str:
    if kind != "content":
        with path.open("rb") as file:
            return hashlib.file_digest(file, kind).hexdigest()
    digest = hashlib.sha256()
    for name, content in recordings(path).items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def _digest_of(path: Path, kind: str) -> str:
    """Computed anew when the file changes, which the time of its last change alone may not tell."""
    stat = path.stat()
    return _digest(path, kind, (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino))


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


@arguments(download_if_missing=Flag())
def fetch(file: DataFile, download_if_missing: bool = True) -> Found:
    """Path and checksum of the file, downloaded when it is nowhere on this machine.

    A `DataError` names the file, the expected and the found checksum, and how to get the file.
    """
    here = locate(file)
    if here is not None and here.holds:
        return here
    official = next((source for source in file.sources if source.url), None)
    folder = "the folder that INVARIANCE_DATA names"
    if official is None:
        places = " or ".join(dict.fromkeys(source.path for source in file.sources))
        remedy = f"put {places} into {folder}; there is no public download."
    else:
        remedy = f"run 'invariance data --download {official.path.split('/')[0]}', or save "
        remedy += f"{official.url} ({official.checksum}) as {official.path} in {folder}."
    if here is not None:
        expected = " or ".join(s.checksum for s in file.sources if s.path == here.source.path)
        wrong = f"expected checksum {expected}, found {here.found}. Remove it, then {remedy}"
        raise DataError(f"{here.path} is damaged or another file: {wrong}")
    expected = " or ".join(f"{s.path} ({s.checksum})" for s in file.sources)
    missing = f"data file {expected} is not in {', '.join(map(str, _folders()))}: {remedy}"
    if official is None or not download_if_missing:
        raise DataError(missing)
    try:
        _download(need("pooch", "data"), official)
    except ImportError as error:
        raise ImportError(f"{missing} To download it, {error}", name=error.name) from None
    except Exception as error:  # the chain of the network library says no more than its last
        raise DataError(f"{missing} Downloading failed: {error}") from None
    return fetch(file, download_if_missing=False)


def _download(pooch: Any, official: Source) -> None:
    """The official file, checked before it takes its place in the cache."""

    def bounded(url: str, output: str, caller: Any) -> None:
        with open(output, "wb") as file:
            pooch.HTTPDownloader()(url, _Bounded(file, url, MOST), caller)

    place = cache_folder() / official.path
    place.parent.mkdir(parents=True, exist_ok=True)
    known = None if official.checksum.startswith("content:") else official.checksum
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        pooch.retrieve(official.url, known, fname=place.name, path=scratch, downloader=bounded)
        arrived = Path(scratch) / place.name
        holds, found = official.checked(arrived)
        if not holds:
            raise DataError(f"{official.url} sent {found}, not {official.checksum}")
        os.replace(arrived, place)


class _Bounded(io.BufferedIOBase):
    """A stream that takes or hands out a bounded number of bytes and refuses to go on beyond."""

    def __init__(self, stream: Any, name: Any, most: int):
        self._stream, self._name, self._most, self._left = stream, name, most, most

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._left + 1 if size is None or size < 0 else min(size, self._left + 1)
        chunk: bytes = self._stream.read(wanted)
        self._count(chunk)
        return chunk

    def write(self, chunk: Any, /) -> int:
        self._count(chunk)
        return int(self._stream.write(chunk))

    def _count(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._left < 0:
            most = f"more than {self._most:,} bytes, larger than any data file here"
            raise DataError(f"{self._name} holds or unpacks to {most}: another or damaged file")


@contextmanager
def _unpacked(path: Path, member: str, most: int) -> Iterator[_Bounded]:
    """The file behind its compression, which its name tells."""
    if path.suffix == ".xz" and ".xz" not in _OPEN:
        raise DataError(f"{path} cannot be unpacked: this Python has no module lzma")
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(member) as packed:
                yield _Bounded(gzip.open(packed) if member.endswith(".gz") else packed, path, most)
        else:
            with _OPEN.get(path.suffix, open)(path, "rb") as stream:
                yield _Bounded(stream, path, most)
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def unpack(path: Path, member: str = "", *, most: int = MOST_UNPACKED) -> bytes:
    """Contents of a file, behind ``.gz`` or ``.xz``; of a ``.zip``, of its ``member``.

    A `DataError` where the file is damaged, or unpacks to more than ``most`` bytes.
    """
    with _unpacked(path, member, most) as stream:
        return stream.read()


def tar_members(
    path: Path, names: re.Pattern[str], *, most: int = MOST_UNPACKED
) -> dict[str, bytes]:
    """Files of a tar archive whose name, without folders, matches; sorted by that name."""
    found = {}
    # As a stream: a member's announced size is never allocated, and skipping counts as reading.
    with (
        _unpacked(path, "", most) as stream,
        tarfile.open(fileobj=stream, mode="r|", bufsize=2**20) as archive,
    ):
        for member in archive:
            name = member.name.rsplit("/", 1)[-1]
            if member.isfile() and names.fullmatch(name):
                found[name] = archive.extractfile(member).read()  # type: ignore[union-attr]
    return dict(sorted(found.items()))


def recordings(path: Path) -> dict[str, bytes]:
    """WAV files of an archive, by name; no archive of the catalogue unpacks to 128 MiB."""
    return tar_members(path, RECORDING, most=128 * 2**20)
