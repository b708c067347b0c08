"""Catalogue of the data sets; ``catalogue.json`` lists files, checksums and official addresses.

Each file may have several sources. A rebuilt file comes before the official one if the official
source is slow or has disappeared. A loader works on an entry: ``entry.fetched()`` returns the
files, and ``entry.dataset(files, data, target)`` makes the data set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import Any

from numpy.typing import NDArray

from ..core.parameters import OneOf, arguments
from .dataset import Dataset
from .files import DataError, DataFile, LocalFile, Source, fetch, locate


@dataclass(frozen=True)
class Entry:
    """A data set: its name, description, official origin and files."""

    name: str
    description: str
    origin: str
    files: tuple[DataFile, ...]

    def fetched(self, download_if_missing: bool = True) -> dict[str, LocalFile]:
        """Return every file, by name."""
        return {file.name: fetch(file, download_if_missing) for file in self.files}

    def dataset(
        self,
        files: Mapping[str, LocalFile],
        data: NDArray[Any],
        target: NDArray[Any],
        n_train: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Return the data set with this description and the checksums of its files."""
        sources = {}
        for file in files.values():
            unchanged, _ = file.source.checked(file.path)
            if not unchanged:
                raise DataError(f"{file.path} changed while it was read: put it back")
            sources[file.source.path] = file.sha256
        return Dataset(
            data,
            target,
            description=self.description,
            n_train=n_train,
            sources=sources,
            details=details or {},
        )


@dataclass(frozen=True)
class DatasetInfo:
    """State of a data set on this machine."""

    name: str
    description: str
    #: Paths of the files that are present, and names of those that are missing.
    files: list[str]
    #: Official origin.
    source: str
    #: Whether every file is present.
    present: bool
    #: Whether every file that is present has a valid checksum; None if no file is present.
    checksum_ok: bool | None


def _read_entries() -> dict[str, Entry]:
    text = (package_files(__package__) / "catalogue.json").read_text(encoding="utf-8")
    entries = {}
    for name, fields in json.loads(text).items():
        data_files = []
        for file_name, sources in fields["files"].items():
            data_files.append(DataFile(file_name, tuple(Source(*source) for source in sources)))
        entries[name] = Entry(name, fields["description"], fields["origin"], tuple(data_files))
    return entries


CATALOGUE = _read_entries()


def available() -> list[DatasetInfo]:
    """Return the state of every data set on this machine; nothing is downloaded.

    >>> [info.name for info in available()]
    ['mnist', 'emnist', 'cifar10', 'qm7', 'fsdd', 'synthetic_speech', 'ucr', 'mutag']
    """
    return [_info(entry) for entry in CATALOGUE.values()]


def _info(entry: Entry) -> DatasetInfo:
    paths = []
    checks = []
    for file in entry.files:
        local = locate(file)
        if local is None:
            paths.append(file.name)
        else:
            paths.append(str(local.path))
            checks.append(local.holds)
    return DatasetInfo(
        entry.name,
        entry.description,
        files=paths,
        source=entry.origin,
        present=len(checks) == len(entry.files),
        checksum_ok=all(checks) if checks else None,
    )


@arguments(name=OneOf(*CATALOGUE))
def download(name: str) -> None:
    """Make sure that every file of a data set is on this machine; download missing files."""
    CATALOGUE[name].fetched()
