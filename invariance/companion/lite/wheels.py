"""Wheels of pure Python: of this package with its notebooks' files, and of installed packages."""

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ...core.extras import how_to_install
from ..files import AS_PRINTED, AS_VALUES, read_yaml
from ..ledger.claims import ledger_files
from ..paths import Paths
from .pyodide import LiteError

_PACKAGE = Path(__file__).parents[2]
#: The packages of this machine that a notebook needs in a browser, with their dependencies.
INSTALLED: dict[str, list[str]] = {
    "comm": [],
    "ipywidgets": ["comm", "ipython"],
    "mpmath": [],
    "sympy": ["mpmath"],
    "tqdm": [],
}
_WHEEL = "Wheel-Version: 1.0\nGenerator: invariance\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def package_wheel(paths: Paths, folder: Path) -> Path:
    """Write the wheel of this package, with the files that a project's notebooks read.

    These files are its ledger and its texts, as JSON, which is YAML that needs no PyYAML, and the
    modules beside the notebooks. They lie beside the package, where `Paths.find` looks for them.
    """
    files: dict[str, bytes] = {}
    for path in sorted(_PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[path.relative_to(_PACKAGE.parent).as_posix()] = path.read_bytes()
    for path in sorted(paths.notebooks.glob("*/_*.py")):
        files[path.relative_to(paths.root).as_posix()] = path.read_bytes()
    for path in ledger_files(paths.ledger):
        if path.is_file():
            files[f"notebooks/{path.name}"] = _as_json(path, AS_PRINTED)
    if paths.papers.is_file():
        files["notebooks/papers.yml"] = _as_json(paths.papers, AS_VALUES)
    settings = paths.notebooks / "settings"
    for path in sorted(settings.glob("*/*.yml")):
        files[path.relative_to(paths.root).as_posix()] = _as_json(path, AS_VALUES)
    return _write(distribution("invariance"), files, folder)


def _as_json(path: Path, scalars: str) -> bytes:
    return json.dumps(read_yaml(path, scalars), ensure_ascii=False).encode()


def installed_wheel(name: str, folder: Path) -> Path:
    """Write the wheel of an installed package of pure Python."""
    try:
        source = distribution(name)
    except PackageNotFoundError as error:
        raise LiteError(f"{name} is not installed: {how_to_install('lite')}") from error
    files = {}
    for path in source.files or []:
        outside = path.parts[0] == ".."
        metadata = path.parts[0].endswith(".dist-info")
        if not outside and not metadata and "__pycache__" not in path.parts:
            files[path.as_posix()] = Path(str(path.locate())).read_bytes()
    return _write(source, files, folder)


def _write(source: Distribution, files: Mapping[str, bytes], folder: Path) -> Path:
    """Write a wheel; its bytes depend on nothing but the files' content and names."""
    name = re.sub(r"[-_.]+", "_", source.metadata["Name"]).lower()
    label = f"{name}-{source.version}"
    metadata = source.read_text("METADATA") or source.read_text("PKG-INFO") or ""
    content = dict(files)
    content[f"{label}.dist-info/METADATA"] = metadata.encode()
    content[f"{label}.dist-info/WHEEL"] = _WHEEL.encode()
    content[f"{label}.dist-info/RECORD"] = b""
    path = folder / f"{label}-py3-none-any.whl"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for file_name, data in content.items():
            archive.writestr(ZipInfo(file_name), data, ZIP_DEFLATED)
    return path


def lock_entry(wheel: Path, depends: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the name of a wheel's package, and its entry in the lock file of Pyodide."""
    module, version = wheel.name.split("-")[:2]
    name = module.replace("_", "-")
    entry = {
        "name": name,
        "version": version,
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": [module],
        "depends": depends,
        "unvendored_tests": False,
    }
    return name, entry
