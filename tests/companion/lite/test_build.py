"""The folder for browsers: its notebooks, its wheels, and the checks of Pyodide's files."""

import functools
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from importlib.metadata import version
from zipfile import ZipFile

import nbformat
import pytest
import yaml
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.files import AS_PRINTED, read_yaml
from invariance.companion.ledger.claims import ledger_files, load_ledger
from invariance.companion.lite import pyodide as pyodide_module
from invariance.companion.lite.notebooks import (
    names_for_browsers,
    names_in,
    notebook_for_browsers,
)
from invariance.companion.lite.pyodide import (
    LOCK,
    LiteError,
    Release,
    faults,
    locked_packages,
    pyodide_folder,
    release,
)
from invariance.companion.lite.wheels import installed_wheel, lock_entry, package_wheel
from invariance.companion.paths import Paths

from .conftest import ROOT

HERE = Paths(ROOT)


def code_of(text: str) -> list[str]:
    return [cell.source for cell in nbformat.reads(text, 4).cells if cell.cell_type == "code"]


# ------------------------------------------------------------------------------ notebooks


def test_a_lesson_is_a_valid_notebook_for_the_kernel_in_the_browser():
    text = notebook_for_browsers(HERE, "course/orbit")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python"
    assert "from invariance.companion import" in "".join(code_of(text))
    folded = [cell for cell in notebook.cells if cell.metadata.get("jupyter")]
    assert folded and all("check(" in cell.source for cell in folded)
    assert text == notebook_for_browsers(HERE, "course/orbit")


def test_modules_beside_a_notebook_are_made_importable_first():
    first = code_of(notebook_for_browsers(HERE, "compare/sphere"))[0]
    assert "sys.path" in first and "'compare'" in first and "import pandas" in first
    assert "sys.path" not in code_of(notebook_for_browsers(HERE, "course/orbit"))[0]


def test_packages_that_the_library_imports_late_are_loaded_first():
    first = code_of(notebook_for_browsers(HERE, "course/averaging"))[0]
    assert first.startswith("import sympy") and "OrthogonalMatrices" not in first
    assert "sympy" not in "".join(code_of(notebook_for_browsers(HERE, "course/orbit")))


def test_seconds_that_pass_stand_in_for_processor_time(monkeypatch):
    monkeypatch.setattr(time, "process_time", lambda: 0.0)  # as in a browser
    setup = code_of(notebook_for_browsers(HERE, "guides/many_points"))[0]
    names = {}
    exec(setup, names)
    exec("from time import process_time\nstart = process_time()", names)
    time.sleep(0.01)
    exec("seconds = process_time() - start", names)
    assert names["seconds"] >= 0.01
    # The modules beside a notebook measure as well.
    assert "process_time" in code_of(notebook_for_browsers(HERE, "compare/digits"))[0]
    assert "process_time" not in "".join(code_of(notebook_for_browsers(HERE, "course/orbit")))


def test_papers_yml_excludes_notebooks_with_a_reason():
    excluded = yaml.safe_load(HERE.papers.read_text("utf-8"))["not_in_browser"]
    assert set(excluded) <= set(HERE.all_notebooks()) and all(excluded.values())
    offered = names_for_browsers(HERE)
    assert set(offered) == set(HERE.all_notebooks()) - set(excluded)
    assert {name for name in HERE.all_notebooks() if name.startswith("course/")} <= set(offered)


def test_a_folder_that_was_not_built_has_no_notebooks(tmp_path):
    assert names_in(tmp_path / "none") == set()


# --------------------------------------------------------------------------------- wheels


def test_the_wheel_holds_the_package_and_the_ledger_as_json(tmp_path):
    wheel = package_wheel(HERE, tmp_path)
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        for file in ledger_files(HERE.ledger):
            assert json.loads(archive.read(f"notebooks/{file.name}")) == read_yaml(file, AS_PRINTED)
    assert {"invariance/py.typed", "invariance/groups/base.py"} <= set(names)
    assert f"invariance-{version('invariance')}.dist-info/METADATA" in names
    assert "notebooks/compare/_comparison.py" in names
    # A text notebook beside the package would be read with Jupytext, which a browser lacks.
    assert "notebooks/course/orbit.py" not in names
    first = wheel.read_bytes()
    assert package_wheel(HERE, tmp_path).read_bytes() == first


#: Code that a notebook runs where modules are missing or empty as they are in a browser.
AS_IN_A_BROWSER = """
import json, sys, types
sys.modules |= {"fcntl": types.ModuleType("fcntl"), "resource": None, "psutil": None, "yaml": None}
from invariance.companion import Run, recorded
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.paths import Paths
run = Run("mroueh2015/theorem1", profile="quick")
verdict = run.claim("mroueh2015/theorem1-psd", difference=0.0, tolerance=1e-9)
found = recorded("mroueh2015/theorem2", "mroueh2015/theorem2-bound", "quick")
ledger = load_ledger(Paths.find().ledger)
claims = {name: [claim.paper, claim.protocol] for name, claim in ledger.items()}
sys.stderr.write(json.dumps([verdict.verdict, found, claims]))
"""


def test_the_wheel_judges_claims_without_the_modules_that_a_browser_lacks(tmp_path):
    with ZipFile(package_wheel(HERE, tmp_path)) as archive:
        archive.extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", AS_IN_A_BROWSER],
        cwd=tmp_path / "site",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    verdict, found, claims = json.loads(done.stderr)
    ledger = load_ledger(HERE.ledger)
    assert (verdict, found) == ("matched", None)
    assert claims == {name: [list(claim.paper), claim.protocol] for name, claim in ledger.items()}


def test_an_installed_package_becomes_a_wheel_with_its_entry_in_the_lock(tmp_path):
    wheel = installed_wheel("tqdm", tmp_path)
    with ZipFile(wheel) as archive:
        assert "tqdm/__init__.py" in archive.namelist()
    name, entry = lock_entry(wheel, ["numpy"])
    assert (name, entry["version"], entry["imports"]) == ("tqdm", version("tqdm"), ["tqdm"])
    assert entry["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()


# ------------------------------------------------------------------------ Pyodide's files


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A release of one file, on a server of this machine, with an empty cache."""
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "core.wasm").write_bytes(b"core")
    entry = {"name": "core", "file_name": "core.wasm", "depends": []}
    entry["sha256"] = hashlib.sha256(b"core").hexdigest()
    lock = json.dumps({"info": {"version": "1"}, "packages": {"core": entry}}).encode()
    (origin / LOCK).write_bytes(lock)
    monkeypatch.delenv("INVARIANCE_PYODIDE", raising=False)
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path / "cache"))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=origin)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    small = Release(
        version="1",
        address=f"http://127.0.0.1:{server.server_port}/",
        carrier=str(tmp_path / "carrier-1-py3-none-any.whl"),
        lock=hashlib.sha256(lock).hexdigest(),
        packages=["core"],
        files={"core.wasm": entry["sha256"]},
    )
    monkeypatch.setattr(pyodide_module, "release", lambda: small)
    yield origin
    server.shutdown()
    server.server_close()


def test_files_are_downloaded_once_into_the_cache(small, tmp_path):
    folder = pyodide_folder()
    assert folder == tmp_path / "cache/pyodide-1"
    assert (folder / "core.wasm").read_bytes() == b"core" and faults(folder) == []
    (small / "core.wasm").unlink()
    assert pyodide_folder() == folder
    assert list(locked_packages(folder)["packages"]) == ["core"]


def test_a_damaged_download_is_refused_and_leaves_nothing(small, tmp_path):
    (small / "core.wasm").write_bytes(b"evil")
    with pytest.raises(LiteError, match="INVARIANCE_PYODIDE"):
        pyodide_folder()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_package_that_contains_the_files_stands_in_for_the_distribution(small, tmp_path):
    pytest.importorskip("pip", reason="pip unpacks the package")
    with ZipFile(tmp_path / "carrier-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("carrier/assets/core.wasm", b"core")
        wheel.write(small / LOCK, f"carrier/assets/{LOCK}")
        wheel.writestr(
            "carrier-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1\n"
        )
        wheel.writestr(
            "carrier-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("carrier-1.dist-info/RECORD", "")
    (small / "core.wasm").unlink()
    assert faults(pyodide_folder()) == []


def test_a_folder_of_the_reader_is_checked_and_its_damaged_file_named(small, monkeypatch):
    monkeypatch.setenv("INVARIANCE_PYODIDE", str(small))
    assert pyodide_folder() == small
    (small / "core.wasm").write_bytes(b"cor")
    with pytest.raises(LiteError, match=r"core\.wasm missing, or not of Pyodide 1"):
        pyodide_folder()


def test_the_command_names_the_damaged_file_of_a_folder(small, monkeypatch):
    pytest.importorskip("jupyterlite_core", reason="needs the extra `lite`")
    monkeypatch.setenv("INVARIANCE_PYODIDE", str(small))
    (small / "core.wasm").write_bytes(b"cor")
    done = CliRunner().invoke(main, ["lite"])
    assert done.exit_code == 1 and "core.wasm" in done.output


def test_a_lock_file_of_other_files_is_refused(small):
    lock = json.loads((small / LOCK).read_text("utf-8"))
    lock["packages"]["core"]["sha256"] = "0" * 64
    (small / LOCK).write_text(json.dumps(lock), "utf-8")
    with pytest.raises(LiteError, match=r"another core\.wasm"):
        locked_packages(small)


def test_the_pins_are_the_sums_of_the_lock_file(pyodide):
    lock = locked_packages(pyodide)
    assert lock["info"]["version"] == release().version
    locked = {entry["file_name"]: entry["sha256"] for entry in lock["packages"].values()}
    core = {"pyodide.asm.js", "pyodide.asm.wasm", "pyodide.js", "python_stdlib.zip"}
    assert locked.keys() | core == release().files.keys()
    assert locked.items() <= release().files.items()
