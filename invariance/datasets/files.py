"""Data files with checksums: in a folder, in the cache, or downloaded; unpacked with a bound.

A file is looked for under ``$INVARIANCE_DATA``, then in the cache (`cache_folder`), then at its
official address. It must have one of the known checksums, of its bytes or, if these vary, of its
unpacked contents. No file is trusted unread, and no more than a bound is unpacked, whatever a
header promises.
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
from typing import Any, BinaryIO

from ..core.extras import need
from ..core.parameters import Flag, arguments

#: Files above this number of bytes are neither read nor downloaded; all of the catalogue's are
#: smaller.
MAX_BYTES = 2**30
#: Bound on unpacked contents, in bytes.
MAX_UNPACKED_BYTES = 256 * 2**20
#: Bound on unpacked archives of recordings, in bytes.
MAX_RECORDINGS_BYTES = 128 * 2**20

#: <label>_<speaker>_<index>.wav
RECORDING = re.compile(r"(\d+)_(\w+)_(\d+)\.wav")

# Python in a browser has no lzma, and neither has a Python that was built without it.
try:
    import lzma
except ImportError:
    _OPEN: dict[str, Any] = {".gz": gzip.open}
    _LZMA_ERRORS: tuple[type[Exception], ...] = ()
else:
    _OPEN = {".gz": gzip.open, ".xz": lzma.open}
    _LZMA_ERRORS = (lzma.LZMAError,)
#: Errors that unpacking a damaged file raises.
_DAMAGED: tuple[type[BaseException], ...] = (
    EOFError,
    KeyError,
    OSError,
    ValueError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    *_LZMA_ERRORS,
)


class DataError(OSError):
    """A data file is missing, damaged, or cannot be downloaded."""


@dataclass(frozen=True)
class Source:
    """A file that holds the data."""

    #: ``<data set>/<file>``, below a data folder.
    path: str
    #: ``sha256:...`` or ``md5:...`` of the file. ``content:...`` is for an archive whose bytes vary
    #: while its recordings do not: SHA-256 over their names and bytes.
    checksum: str
    #: Official address, if there is one.
    url: str | None = None

    def checked(self, path: Path) -> tuple[bool, str]:
        """Return whether the file has the expected checksum, and its actual checksum."""
        kind, _, expected = self.checksum.partition(":")
        try:
            size = path.stat().st_size
            if size > MAX_BYTES:
                return False, f"{size:,} bytes, more than any data file here has"
            digest = _digest_of(path, kind)
        except OSError as error:  # includes files that cannot be unpacked
            return False, f"a file that cannot be read ({error})"
        return digest == expected, f"{kind}:{digest}"


@dataclass(frozen=True)
class DataFile:
    """A file that a data set needs, with every source that holds it."""

    name: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class LocalFile:
    """A file on this machine, with its checksum; ``holds``: whether it is the expected one."""

    path: Path
    source: Source
    holds: bool
    checksum: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the file itself, whichever checksum recognised it."""
        return _digest_of(self.path, "sha256")


def cache_folder() -> Path:
    """Return the folder of downloads: ``$INVARIANCE_CACHE``, or ``~/.cache/invariance``."""
    folder = os.environ.get("INVARIANCE_CACHE")
    if folder:
        return Path(folder)
    home = os.path.expanduser("~")
    if home == "~":  # the process belongs to an unknown user
        home = tempfile.gettempdir()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(home, ".cache"), "invariance")


def _folders() -> list[Path]:
    data_folder = os.environ.get("INVARIANCE_DATA")
    if data_folder:
        return [Path(data_folder), cache_folder()]
    return [cache_folder()]


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
    """Return the digest of a file, computed again if the file has changed.

    The time of the last change alone does not show every change, so size, inode and change of
    status count too.
    """
    stat = path.stat()
    return _digest(path, kind, (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino))


def locate(file: DataFile) -> LocalFile | None:
    """Return the first file with a valid checksum, else the first of that name, else None."""
    damaged = None
    for folder in _folders():
        for source in file.sources:
            path = folder / source.path
            if not path.is_file():
                continue
            holds, checksum = source.checked(path)
            local = LocalFile(path, source, holds, checksum)
            if holds:
                return local
            if damaged is None:
                damaged = local
    return damaged


@arguments(download_if_missing=Flag())
def fetch(file: DataFile, download_if_missing: bool = True) -> LocalFile:
    """Return path and checksum of the file; download it if it is not on this machine.

    A `DataError` names the file, the expected and the actual checksum, and how to get the file.
    """
    local = locate(file)
    if local is not None and local.holds:
        return local
    official = next((source for source in file.sources if source.url), None)
    remedy = _remedy(file, official)
    if local is not None:
        expected = " or ".join(s.checksum for s in file.sources if s.path == local.source.path)
        raise DataError(
            f"{local.path} is damaged or another file: expected checksum {expected}, found "
            f"{local.checksum}. Remove it, then {remedy}"
        )
    expected = " or ".join(f"{source.path} ({source.checksum})" for source in file.sources)
    folders = ", ".join(str(folder) for folder in _folders())
    missing = f"data file {expected} is not in {folders}: {remedy}"
    if official is None or not download_if_missing:
        raise DataError(missing)
    try:
        _download(need("pooch", "data"), official)
    except ImportError as error:
        raise ImportError(f"{missing} To download it, {error}", name=error.name) from None
    except Exception as error:  # earlier errors of the network library add no information
        raise DataError(f"{missing} Downloading failed: {error}") from None
    return fetch(file, download_if_missing=False)


def _remedy(file: DataFile, official: Source | None) -> str:
    folder = "the folder that INVARIANCE_DATA names"
    if official is None:
        paths = " or ".join(dict.fromkeys(source.path for source in file.sources))
        return f"put {paths} into {folder}; there is no public download."
    dataset_name = official.path.split("/")[0]
    return (
        f"run 'invariance data --download {dataset_name}', or save {official.url} "
        f"({official.checksum}) as {official.path} in {folder}."
    )


def _download(pooch: Any, official: Source) -> None:
    """Download the official file, and check it before it takes its place in the cache."""

    def bounded_download(url: str, output: str, caller: Any) -> None:
        with open(output, "wb") as file:
            pooch.HTTPDownloader()(url, _Bounded(file, url, MAX_BYTES), caller)

    target = cache_folder() / official.path
    target.parent.mkdir(parents=True, exist_ok=True)
    known_hash: str | None = official.checksum
    if official.checksum.startswith("content:"):
        known_hash = None  # pooch cannot compute it; it is checked below
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        pooch.retrieve(
            official.url, known_hash, fname=target.name, path=scratch, downloader=bounded_download
        )
        downloaded = Path(scratch) / target.name
        holds, checksum = official.checked(downloaded)
        if not holds:
            raise DataError(f"{official.url} sent {checksum}, not {official.checksum}")
        os.replace(downloaded, target)


class _Bounded(io.BufferedIOBase):
    """A stream that reads or writes a bounded number of bytes and raises an error beyond it."""

    def __init__(self, stream: BinaryIO, name: Path | str, max_bytes: int):
        self._stream = stream
        self._name = name
        self._max_bytes = max_bytes
        self._bytes_left = max_bytes

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        n_bytes = self._bytes_left + 1
        if size is not None and size >= 0:
            n_bytes = min(size, n_bytes)
        chunk = self._stream.read(n_bytes)
        self._count(chunk)
        return chunk

    def write(self, chunk: Any, /) -> int:
        self._count(chunk)
        return int(self._stream.write(chunk))

    def _count(self, chunk: bytes) -> None:
        self._bytes_left -= len(chunk)
        if self._bytes_left < 0:
            raise DataError(
                f"{self._name} holds or unpacks to more than {self._max_bytes:,} bytes, larger "
                "than any data file here: another or damaged file"
            )


@contextmanager
def _unpacked(path: Path, member: str, max_bytes: int) -> Iterator[_Bounded]:
    """Open the contents of a file; its name determines the compression."""
    if path.suffix == ".xz" and ".xz" not in _OPEN:
        raise DataError(f"{path} cannot be unpacked: this Python has no module lzma")
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(member) as packed:
                stream: Any = packed
                if member.endswith(".gz"):
                    stream = gzip.open(packed)
                yield _Bounded(stream, path, max_bytes)
        else:
            with _OPEN.get(path.suffix, open)(path, "rb") as stream:
                yield _Bounded(stream, path, max_bytes)
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def unpack(path: Path, member: str = "", *, max_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """Return the contents of a ``.gz`` or ``.xz`` file, or of the ``member`` of a ``.zip``.

    Raises a `DataError` if the file is damaged, or unpacks to more than ``max_bytes`` bytes.
    """
    with _unpacked(path, member, max_bytes) as stream:
        return stream.read()


def tar_members(
    path: Path, names: re.Pattern[str], *, max_bytes: int = MAX_UNPACKED_BYTES
) -> dict[str, bytes]:
    """Return the files of a tar archive whose name, without folders, matches; sorted by name."""
    contents = {}
    # As a stream: a member's announced size is never allocated, and skipping counts as reading.
    with (
        _unpacked(path, "", max_bytes) as stream,
        tarfile.open(fileobj=stream, mode="r|", bufsize=2**20) as archive,
    ):
        for member in archive:
            name = member.name.rsplit("/", 1)[-1]
            if member.isfile() and names.fullmatch(name):
                contents[name] = archive.extractfile(member).read()  # type: ignore[union-attr]
    return dict(sorted(contents.items()))


def recordings(path: Path) -> dict[str, bytes]:
    """Return the WAV files of an archive, by name."""
    return tar_members(path, RECORDING, max_bytes=MAX_RECORDINGS_BYTES)
