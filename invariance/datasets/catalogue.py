"""What data sets there are, their files, checksums and official addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..core.parameters import OneOf, arguments
from .archives import content_digest, tar_members
from .files import DataFile, Source, fetch, locate

__all__ = ["CATALOGUE", "RECORDING", "DatasetInfo", "Entry", "available", "download", "recordings"]


@dataclass(frozen=True)
class Entry:
    """A data set: name, what it is, where it officially comes from, and its files."""

    name: str
    description: str
    origin: str
    files: tuple[DataFile, ...]


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


_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_MNIST_FILES = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
_EMNIST = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
_EMNIST_FILES = {
    "train-images-idx3.xz": "af4949a196eab6aa677612b8c41fa1ab1d5428a165bfef836b51208feafed735",
    "train-labels-idx1.gz": "9759af91ea6bccdf07a6040fd085861f2ec88e37f7c3f5760f6feb57106fbe5c",
    "test-images-idx3.gz": "0ff953ff9b40055e564b38607ad0f4fc75118181d9ad38bd065387c2ca171337",
    "test-labels-idx1.gz": "924955c31fe7fd809b7303b5c0141282955f4b8390c74cdfd5d80435e0f4b4cb",
}


def _mnist(stem: str, sha256: str) -> DataFile:
    name = f"{stem}-ubyte.gz"
    return DataFile(name, (Source(f"mnist/{name}", f"sha256:{sha256}", f"{_MNIST}/{name}"),))


def _emnist(packed: str, sha256: str) -> DataFile:
    stem, _, suffix = packed.partition(".")
    name = f"emnist-letters-{stem}-ubyte"
    whole = Source("emnist/gzip.zip", "md5:58c8d27c78d21e728a6bc7b3cc06412e", _EMNIST)
    return DataFile(name, (Source(f"emnist/{name}.{suffix}", f"sha256:{sha256}"), whole))


def _single(name: str, *sources: Source) -> tuple[DataFile, ...]:
    return (DataFile(name, sources),)


RECORDING = re.compile(r"(\d+)_(\w+)_(\d+)\.wav")


def recordings(path: Path) -> dict[str, bytes]:
    """WAV files of an archive, by name; no archive of the catalogue unpacks to 128 MiB."""
    return tar_members(path, RECORDING, most=128 * 2**20)


def _content_of_recordings(path: Path) -> str:
    return content_digest(recordings(path))


#: sha256 over the names and bytes of the 3,000 recordings, in the order of their names.
_FSDD_CONTENT = "6b1a8e30f4df78a933fe25cf1ca0140c8c6f169c0a83649a15b70a5ae7407014"

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry(
            "mnist",
            "70,000 handwritten digits, 28 x 28 (LeCun, Cortes, Burges 1998)",
            _MNIST,
            tuple(_mnist(*item) for item in _MNIST_FILES.items()),
        ),
        Entry(
            "emnist",
            "EMNIST letters: 145,600 handwritten letters, 28 x 28 (Cohen et al. 2017)",
            _EMNIST,
            tuple(_emnist(*item) for item in _EMNIST_FILES.items()),
        ),
        Entry(
            "cifar10",
            "CIFAR-10: 60,000 colour photographs, 32 x 32, ten classes (Krizhevsky 2009)",
            "https://www.cs.toronto.edu/~kriz/cifar.html",
            _single(
                "cifar-10 binary version",
                Source(
                    "cifar10/cifar-10-batches-bin.tar.xz",
                    "sha256:95db050de3a8ae691bc89254479b52da1d403ae77362b73b43cd60d370e1d720",
                ),
                Source(
                    "cifar10/cifar-10-binary.tar.gz",
                    "md5:c32a1d4ab5d03f1284b67883e8d87530",
                    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                ),
            ),
        ),
        Entry(
            "qm7",
            "QM7: 7,165 molecules with atomisation energies (Blum and Reymond 2009, Rupp 2012)",
            "http://quantum-machine.org/datasets",
            _single(
                "qm7.mat",
                Source(
                    "qm7/qm7.mat",
                    "sha256:557f7e1f0c1949b1cfa9bc2e76debf00a9f6c08c0638881f0fec1e21f70e39d7",
                ),
                Source(
                    "qm7/qm7.mat",
                    "sha256:fd6c26c1086887310518e6a6da778253bc5d3ceb8166007a679a740fff9ee6ea",
                    "http://quantum-machine.org/data/qm7.mat",
                ),
            ),
        ),
        Entry(
            "fsdd",
            "Free Spoken Digit Dataset: 3,000 recordings, six speakers, 8 kHz (CC BY-SA 4.0)",
            "https://github.com/Jakobovski/free-spoken-digit-dataset",
            _single(
                "fsdd",
                Source(
                    "fsdd/fsdd.tar.xz",
                    "sha256:ee8e92d2bd66fc2012836c72182ba14b2c68b2fbf83a43a5a5070ac980639291",
                ),
                Source(
                    "fsdd/fsdd.tar.gz",
                    f"content:{_FSDD_CONTENT}",
                    "https://github.com/Jakobovski/free-spoken-digit-dataset/archive/"
                    "refs/tags/v1.0.10.tar.gz",
                    content=_content_of_recordings,
                ),
            ),
        ),
        Entry(
            "synthetic_speech",
            "1,800 digits by 90 synthetic voices (men, women, shortened vocal tracts), 8 kHz",
            "made for this project with espeak-ng; no public download",
            _single(
                "synthetic_digits.npz",
                Source(
                    "synthetic_speech/synthetic_digits.npz",
                    "sha256:4a787dd842778c3d725cd62b5356f53a25137973674825a859e9124f5f77a2db",
                ),
            ),
        ),
    )
}


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
    """Make sure that every file of a data set is here, downloading what is missing.

    Raises
    ------
    ParameterError
        For an unknown name.
    DataError
        When a file is damaged, cannot be downloaded, or has no public download.
    """
    for file in CATALOGUE[name].files:
        fetch(file)
