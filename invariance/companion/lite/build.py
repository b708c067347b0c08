"""`build_lite` writes a folder that any static server can serve, in which notebooks run."""

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from ...core.extras import how_to_install, need
from ..files import replace_folder
from ..paths import Paths
from .notebooks import names_for_browsers, notebook_for_browsers
from .pyodide import LOCK, LiteError, locked_packages, pyodide_folder, release
from .wheels import INSTALLED, installed_wheel, lock_entry, package_wheel

_KERNEL = "@jupyterlite/pyodide-kernel-extension"
_WIDGETS = "@jupyter-widgets/jupyterlab-manager"
#: The wheels of the kernel and of its dependencies.
_KERNEL_WHEELS: dict[str, list[str]] = {
    "ipykernel": [],
    "piplite": ["micropip"],
    "pyodide_kernel": ["comm", "ipykernel", "ipython", "jedi"],
}
_NEEDS = ["joblib", "numpy", "scikit-learn", "scipy", "threadpoolctl", "tqdm"]
# Loaded while Pyodide starts, all at a time. A notebook that imports pandas loads it itself. The
# kernel asks for each package of the second line that is not in this list, one after the other.
_LOADED_AT_START = [
    *["invariance", "ipywidgets", "matplotlib", "micropip", "numpy", "scikit-learn", "scipy"],
    *["comm", "ipykernel", "ipython", "jedi", "piplite", "pyodide_kernel", "sqlite3", "ssl"],
]
_PAGES = Path(__file__).parent


@dataclass(frozen=True)
class Lite:
    """A built folder for browsers: its size in bytes, and the notebooks in it."""

    folder: Path
    n_bytes: int
    notebooks: list[str]


def build_lite(paths: Paths) -> Lite:
    """Write ``build/lite``: JupyterLite, Pyodide, this package and the project's notebooks.

    An earlier folder is replaced as a whole. `site.build.build_site` links it into the site. Raises
    a `LiteError` if JupyterLite or Pyodide is missing, or if JupyterLite cannot be built.
    """
    need("jupyterlite_core", "lite")
    need("jupyterlite_pyodide_kernel", "lite")
    source = pyodide_folder()
    names = names_for_browsers(paths)
    paths.build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.build, prefix=".lite.") as scratch:
        draft = Path(scratch) / "lite"
        contents = Path(scratch) / "contents"
        for name in names:
            target = contents / f"{name}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(notebook_for_browsers(paths, name), encoding="utf-8")
        _run_jupyterlite(Path(scratch), contents, draft)
        _add_pyodide(paths, source, draft / "pyodide")
        shutil.copy(_PAGES / "run.html", draft / "run.html")
        replace_folder(draft, paths.lite)
    n_bytes = sum(path.stat().st_size for path in paths.lite.rglob("*") if path.is_file())
    return Lite(paths.lite, n_bytes, names)


def _run_jupyterlite(scratch: Path, contents: Path, out: Path) -> None:
    """Build JupyterLite with one application, the notebook, and two extensions."""
    settings = scratch / "settings"
    settings.mkdir()
    (settings / "jupyter-lite.json").write_text(json.dumps(_configuration()), "utf-8")
    shutil.copy(_PAGES / "overrides.json", settings)
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    command += ["--lite-dir", str(settings), "--output-dir", str(out)]
    command += ["--contents", str(contents), "--apps", "notebooks"]
    command += ["--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"]
    # Other extensions of this environment, such as one for text notebooks, need a Jupyter server.
    command += ["--LiteBuildConfig.ignore_sys_prefix=True"]
    extensions = {_KERNEL: "jupyterlite-pyodide-kernel", _WIDGETS: "jupyterlab_widgets"}
    for extension, package in extensions.items():
        folder = _extension(extension, package)
        command += [f"--LiteBuildConfig.federated_extensions={folder}"]
    done = subprocess.run(
        command, cwd=scratch, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode or not (out / "notebooks/index.html").is_file():
        raise LiteError(f"JupyterLite was not built: {(done.stdout + done.stderr)[-600:]}")


def _configuration() -> dict[str, Any]:
    kernel = {
        "pyodideUrl": "./pyodide/pyodide.js",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": _LOADED_AT_START},
    }
    # The page around the notebook sees when Python is ready, and runs the cells.
    data = {
        "appName": "invariance",
        "exposeAppInBrowser": True,
        "litePluginSettings": {f"{_KERNEL}:kernel": kernel},
    }
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}


def _extension(name: str, package: str) -> Path:
    """Return the folder of an installed extension of JupyterLab."""
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        files = []
    ending = f"labextensions/{name}/package.json"
    for path in files:
        if path.as_posix().endswith(ending):
            return Path(str(path.locate())).resolve().parent
    raise LiteError(f"{package} with its extension is not installed: {how_to_install('lite')}")


def _add_pyodide(paths: Paths, source: Path, target: Path) -> None:
    """Copy the files of Pyodide, and add the wheels that are made here, with their lock file."""
    target.mkdir()
    lock = locked_packages(source)
    for name in release().files:
        shutil.copy(source / name, target / name)
    wheels = {package_wheel(paths, target): _NEEDS}
    for name, needs in INSTALLED.items():
        wheels[installed_wheel(name, target)] = needs
    kernel = _extension(_KERNEL, "jupyterlite-pyodide-kernel")
    for name, needs in _KERNEL_WHEELS.items():
        (wheel,) = kernel.glob(f"static/pypi/{name}-*.whl")
        wheels[Path(shutil.copy(wheel, target))] = needs
    for wheel, needs in wheels.items():
        name, entry = lock_entry(wheel, needs)
        lock["packages"][name] = entry
    (target / LOCK).write_text(json.dumps(lock), encoding="utf-8")
