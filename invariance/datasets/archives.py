"""Packed files, read with a bound: whatever a header promises, no more than that is unpacked."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .files import DataError

__all__ = ["content_digest", "tar_members", "unpack"]

#: More than any file of the catalogue unpacks to, in bytes.
MOST = 256 * 2**20

_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


class _Bounded(io.BufferedIOBase):
    """A stream that hands out a bounded number of bytes and refuses to go on beyond."""

    def __init__(self, stream: Any, path: Path, most: int):
        self._stream, self._path, self._most, self._left = stream, path, most, most

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._left + 1 if size is None or size < 0 else min(size, self._left + 1)
        chunk = self._stream.read(wanted)
        self._left -= len(chunk)
        if self._left < 0:
            raise DataError(
                f"{self._path} unpacks to more than {self._most:,} bytes, which no file of this "
                "data set does: another file, or a damaged one"
            )
        return chunk


@contextmanager
def _unpacked(path: Path, most: int) -> Iterator[_Bounded]:
    """The file behind its compression, which its name tells."""
    try:
        with _OPEN.get(path.suffix, open)(path, "rb") as stream:
            yield _Bounded(stream, path, most)
    except DataError:
        raise
    except (EOFError, OSError, ValueError, lzma.LZMAError, tarfile.TarError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def unpack(path: Path, member: str = "", *, most: int = MOST) -> bytes:
    """Contents of a file, behind ``.gz`` or ``.xz``; of a ``.zip``, of its gzipped ``member``.

    Raises
    ------
    DataError
        When the file is damaged, or unpacks to more than ``most`` bytes.
    """
    if path.suffix != ".zip":
        with _unpacked(path, most) as stream:
            return stream.read()
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as packed:
            with gzip.open(packed) as stream:
                return _Bounded(stream, path, most).read()
    except DataError:
        raise
    except (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def tar_members(path: Path, names: re.Pattern[str], *, most: int = MOST) -> dict[str, bytes]:
    """Files of a tar archive whose name, without folders, matches; sorted by that name.

    Raises
    ------
    DataError
        When the archive is damaged, or unpacks to more than ``most`` bytes.
    """
    found = {}
    # As a stream: a member's announced size is never allocated, and skipping counts as reading.
    with (
        _unpacked(path, most) as stream,
        tarfile.open(fileobj=stream, mode="r|", bufsize=2**20) as archive,
    ):
        for member in archive:
            name = member.name.rsplit("/", 1)[-1]
            if member.isfile() and names.fullmatch(name):
                content = archive.extractfile(member)
                if content is not None:
                    found[name] = content.read()
    return dict(sorted(found.items()))


def content_digest(members: dict[str, bytes]) -> str:
    """SHA-256 over names and contents, the same however they were packed.

    >>> content_digest({"a": b"1"}) == hashlib.sha256(b"a" + bytes(1) + b"1").hexdigest()
    True
    """
    digest = hashlib.sha256()
    for name, content in members.items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()
