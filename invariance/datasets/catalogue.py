"""What data sets there are: ``catalogue.json`` has their files, checksums and official addresses.

Of each file, a rebuilt one comes before the official one where that is slow or gone. A loader is a
function on an entry: ``entry.fetched()`` has the files, ``entry.dataset(files, data, target)`` is
what it returns.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import Any

from numpy.typing import NDArray

from ..core.parameters import OneOf, arguments
from .dataset import Dataset
from .files import DataError, DataFile, Found, Source, fetch, locate


@dataclass(frozen=True)
class Entry:
    """A data set: name, what it is, where it officially comes from, and its files."""

    name: str
    description: str
    origin: str
    files: tuple[DataFile, ...]

    def fetched(self, download_if_missing: bool = True) -> dict[str, Found]:
        """Every file, by name."""
        return {file.name: fetch(file, download_if_missing) for file in self.files}

    def dataset(
        self, found: dict[str, Found], data: NDArray[Any], target: NDArray[Any], **more: Any
    ) -> Dataset:
        """What a loader returns, with this description and the checksums of the files."""
        for file in found.values():
            if not file.source.checked(file.path)[0]:
                raise DataError(f"{file.path} changed while it was read: put it back")
        sources = {f.source.path: f.sha256 for f in found.values()}
        return Dataset(data, target, description=self.description, sources=sources, **more)


@dataclass(frozen=True)
class DatasetInfo:
    """State of a data set on this machine."""

    name: str
    description: str
    #: Paths where present, names where not.
    files: list[str]
    #: Official origin.
    source: str
    #: Whether every file is here.
    present: bool
    #: Whether every file that is here has a known checksum; None where none is here.
    checksum_ok: bool | None


def _entries() -> dict[str, Entry]:
    text = (package_files(__package__) / "catalogue.json").read_text(encoding="utf-8")
    entries = {}
    for name, entry in json.loads(text).items():
        listed = entry.pop("files").items()
        files = (DataFile(file, tuple(Source(*s) for s in sources)) for file, sources in listed)
        entries[name] = Entry(name, **entry, files=tuple(files))
    return entries


CATALOGUE = _entries()


def available() -> list[DatasetInfo]:
    """Every data set, whether it is here, and whether its checksums hold; downloads nothing.

    >>> [info.name for info in available()]
    ['mnist', 'emnist', 'cifar10', 'qm7', 'fsdd', 'synthetic_speech', 'ucr', 'mutag']
    """
    infos = []
    for entry in CATALOGUE.values():
        found = {file.name: locate(file) for file in entry.files}
        here = [f for f in found.values() if f is not None]
        paths = [str(f.path) if f else name for name, f in found.items()]
        state = len(here) == len(found), all(f.holds for f in here) if here else None
        infos.append(DatasetInfo(entry.name, entry.description, paths, entry.origin, *state))
    return infos


@arguments(name=OneOf(*CATALOGUE))
def download(name: str) -> None:
    """Make sure that every file of a data set is here, downloading what is missing."""
    CATALOGUE[name].fetched()
