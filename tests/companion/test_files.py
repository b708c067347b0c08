import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from invariance.companion.errors import NotebookError, OutputError
from invariance.companion.files import ensure_writable, replace_folder, write_bytes, write_json
from invariance.companion.paths import Paths
from invariance.companion.provenance import closure, digest


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"b": 1, "a": 2.5})
    assert path.read_text() == '{\n "a": 2.5,\n "b": 1\n}\n'
    with pytest.raises(ValueError, match="NaN|nan|JSON"):
        write_json(path, float("nan"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match=r"cannot write .*a.json: No space left on device"):
        write_bytes(path, b"new")
    assert json.loads(path.read_text()) == {"a": 2.5, "b": 1}
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_the_old_folder_stays_when_the_new_one_cannot_come(tmp_path):
    final = tmp_path / "final"
    final.mkdir()
    (final / "old").touch()
    with pytest.raises(OutputError):
        replace_folder(tmp_path / "missing", final)
    ensure_writable(final)  # leaves nothing
    assert [path.name for path in final.iterdir()] == ["old"]


def test_imports_are_followed_through_the_package(tmp_path):
    package = tmp_path / "pack"
    (package / "sub").mkdir(parents=True)
    files = {"__init__.py": "", "a.py": "from pack import b\nimport numpy",
             "b.py": "from .sub import c", "sub/__init__.py": "", "sub/c.py": "from ..d import x",
             "d.py": "x = 1", "sub/e.py": "from . import c",
             "unused.py": "import pack.a"}  # fmt: skip
    for name, text in files.items():
        (package / name).write_text(text)
    found = closure("def f():\n    from pack.a import thing", package)
    assert list(found) == ["pack", "pack.a", "pack.b", "pack.d", "pack.sub", "pack.sub.c"]
    inside = ["pack", "pack.d", "pack.sub", "pack.sub.c", "pack.sub.e"]
    assert list(closure("import pack.sub.e", package)) == inside
    before = digest(found)
    (package / "unused.py").write_text("changed")
    assert digest(closure("import pack.a", package)) == before
    (package / "d.py").write_text("x = 2")
    assert digest(closure("import pack.a", package)) != before


EVERYWHERE = """
try: import pack.a
except ImportError: import pack.b
else: import pack.c
finally: import pack.d
if 1: 1
elif 2: import pack.e
for i in []: 1
else: import pack.f
class A:
    async def f(self):
        with self: import pack.g
match 1:
    case 1: import pack.h
"""


def test_an_import_is_found_wherever_it_stands(tmp_path):
    for name in ("__init__", *"abcdefgh"):
        (tmp_path / f"{name}.py").touch()
    found = closure(EVERYWHERE.replace("pack", tmp_path.name), tmp_path)
    assert list(found) == [tmp_path.name, *(f"{tmp_path.name}.{name}" for name in "abcdefgh")]


def test_the_closure_of_a_notebook_reaches_what_it_computes_with_and_nothing_of_the_runner():
    """What runs notebooks can change without their results counting as old."""
    found = closure("from invariance.companion import Run, fit_rate")
    assert {"invariance.companion.run.run", "invariance.evaluation.rates"} <= set(found)
    assert not {name for name in found if ".runner" in name or ".site" in name or ".cli" in name}


def test_a_name_that_a_package_finds_on_first_use_leads_to_its_module(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("def __getattr__(name):\n    ...")
    (package / "a.py").write_text("import pack.b\nclass Thing: ...")
    (package / "b.py").touch()
    assert list(closure("from pack import Thing", package)) == ["pack", "pack.a", "pack.b"]
    assert list(closure("from pack import other", package)) == ["pack"]
    assert "invariance.evaluation.symmetry" in closure("from invariance.evaluation import built_in")


def test_selecting_notebooks(project):
    for name in ("p/a", "p/b", "q/a"):
        project.write(name)
    assert project.select([]) == ["p/a", "p/b", "q/a"]
    assert project.select(["q", "notebooks/p/b.py", "q/a"]) == ["q/a", "p/b"]
    project.write("paper/xperm")
    with pytest.raises(NotebookError, match=r"'paper/xprm'.*Did you mean 'paper/xperm'"):
        project.select(["paper/xprm"])
    with pytest.raises(NotebookError, match="papers and notebooks are: p, p/a, "):
        project.select(["zzz"])


def test_the_project_is_found_from_anywhere_inside(project, monkeypatch):
    project.write("p/a")
    assert Paths.find(project.notebooks / "p").root == project.root
    monkeypatch.delenv("INVARIANCE_ROOT")
    monkeypatch.chdir(project.notebooks / "p")
    assert Paths.find().root == project.root
    # elsewhere: the checkout that the package lies in
    assert (Paths.find(Path("/")).root / "notebooks" / "claims.yml").is_file()


def test_command_line_starts_without_the_numerical_stack():
    code = (
        "import sys, invariance.companion.cli\n"
        "heavy = {'matplotlib', 'pandas', 'scipy', 'sklearn', 'papermill', 'jupytext', 'sphinx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
