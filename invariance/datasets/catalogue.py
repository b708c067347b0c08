"""What data sets there are: ``catalogue.json`` has their files, checksums and official addresses.

Of each file, a rebuilt one comes before the official one where that is slow or gone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files as package_files

from ..core.parameters import OneOf, arguments
from .files import DataFile, Found, Source, fetch, locate


@dataclass(frozen=True)
class Entry:
    """A data set: name, what it is, where it officially comes from, and its files."""

    name: str
    description: str
    origin: str
    files: tuple[DataFile, ...]

    def fetched(self, download_if_missing: bool) -> dict[str, Found]:
        """Every file, by name."""
        return {file.name: fetch(file, download_if_missing) for file in self.files}


@dataclass(frozen=True)
class DatasetInfo:
    """State of a data set on this machine.

    Attributes
    ----------
    name, description : str
    files : list of str
        Paths where present, names where not.
    source : str
        Official origin.
    present : bool
        Whether every file is here.
    checksum_ok : bool or None
        Whether every file that is here was read and has a known checksum, of its bytes or of what
        it unpacks to; None where none is here.
    """

    name: str
    description: str
    files: list[str]
    source: str
    present: bool
    checksum_ok: bool | None


def _entries(text: str) -> dict[str, Entry]:
    return {
        name: Entry(
            name,
            entry["description"],
            entry["origin"],
            tuple(
                DataFile(file, tuple(Source(*source) for source in sources))
                for file, sources in entry["files"].items()
            ),
        )
        for name, entry in json.loads(text).items()
    }


CATALOGUE = _entries((package_files(__package__) / "catalogue.json").read_text(encoding="utf-8"))


def available() -> list[DatasetInfo]:
    """Every data set, whether it is here, and whether its checksums hold; downloads nothing.

    Examples
    --------
    >>> [info.name for info in available()]
    ['mnist', 'emnist', 'cifar10', 'qm7', 'fsdd', 'synthetic_speech']
    """
    infos = []
    for entry in CATALOGUE.values():
        found = [locate(file) for file in entry.files]
        here = [f for f in found if f is not None]
        infos.append(
            DatasetInfo(
                entry.name,
                entry.description,
                [
                    file.name if f is None else str(f.path)
                    for file, f in zip(entry.files, found, strict=True)
                ],
                entry.origin,
                present=len(here) == len(found),
                checksum_ok=all(f.holds for f in here) if here else None,
            )
        )
    return infos


@arguments(name=OneOf(*CATALOGUE))
def download(name: str) -> None:
    """Make sure that every file of a data set is here, downloading what is missing."""
    for file in CATALOGUE[name].files:
        fetch(file)
