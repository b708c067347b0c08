"""Files are written completely, imports followed, and parameters read as intended."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from invariance.companion.errors import NotebookError, OutputError
from invariance.companion.files import ensure_writable, replace_folder, write_bytes, write_json
from invariance.companion.paths import Paths
from invariance.companion.provenance import closure, digest, modules_of
from invariance.companion.source import (
    Parameter,
    calls_of,
    notebook_code,
    read_notebook,
    read_parameters,
    resolve,
)
from invariance.core.parameters import ParameterError


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"b": 1, "a": 2.5})
    assert path.read_text("utf-8") == '{\n "a": 2.5,\n "b": 1\n}\n'
    with pytest.raises(ValueError, match="NaN|nan|JSON"):
        write_json(path, float("nan"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match=r"cannot write .*a.json: No space left on device"):
        write_bytes(path, b"new")
    assert json.loads(path.read_text("utf-8")) == {"a": 2.5, "b": 1}
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_the_old_folder_stays_when_the_new_one_cannot_come(tmp_path):
    final = tmp_path / "final"
    final.mkdir()
    (final / "old").touch()
    with pytest.raises(OutputError):
        replace_folder(tmp_path / "missing", final)
    ensure_writable(final)  # No file is left behind.
    assert [path.name for path in final.iterdir()] == ["old"]


def test_imports_are_followed_through_the_package(tmp_path):
    package = tmp_path / "pack"
    (package / "sub").mkdir(parents=True)
    files = {"__init__.py": "", "a.py": "from pack import b\nimport numpy",
             "b.py": "from .sub import c", "sub/__init__.py": "", "sub/c.py": "from ..d import x",
             "d.py": "x = 1", "sub/e.py": "from . import c",
             "unused.py": "import pack.a"}  # fmt: skip
    for name, text in files.items():
        (package / name).write_text(text, "utf-8")
    modules = closure("def f():\n    from pack.a import thing", package)
    assert list(modules) == ["pack", "pack.a", "pack.b", "pack.d", "pack.sub", "pack.sub.c"]
    inside = ["pack", "pack.d", "pack.sub", "pack.sub.c", "pack.sub.e"]
    assert list(closure("import pack.sub.e", package)) == inside
    before = digest(modules)
    (package / "unused.py").write_text("changed", "utf-8")
    assert digest(closure("import pack.a", package)) == before
    (package / "d.py").write_text("x = 2", "utf-8")
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
    files = closure(EVERYWHERE.replace("pack", tmp_path.name), tmp_path)
    assert list(files) == [tmp_path.name, *(f"{tmp_path.name}.{name}" for name in "abcdefgh")]


def test_the_closure_of_a_notebook_reaches_what_it_computes_with_and_nothing_of_the_runner():
    """Code that runs notebooks can change without making their results outdated."""
    files = closure("from invariance.companion import Run, fit_rate")
    assert {"invariance.companion.run.run", "invariance.evaluation.rates"} <= set(files)
    assert not {name for name in files if ".runner" in name or ".site" in name or ".cli" in name}


def test_a_name_that_a_package_finds_on_first_use_leads_to_its_module(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("def __getattr__(name):\n    ...", "utf-8")
    (package / "a.py").write_text("import pack.b\nclass Thing: ...", "utf-8")
    (package / "b.py").touch()
    assert list(closure("from pack import Thing", package)) == ["pack", "pack.a", "pack.b"]
    assert list(closure("from pack import other", package)) == ["pack"]
    assert "invariance.evaluation.rates" in closure("from invariance.evaluation import fit_rate")


def test_selecting_notebooks(project):
    for name in ("p/a", "p/b", "q/a"):
        project.write(name)
    assert project.select([]) == ["p/a", "p/b", "q/a"]
    assert project.select(["q", "notebooks/p/b.py", "q/a"]) == ["q/a", "p/b"]
    project.write("paper/xperm")
    with pytest.raises(NotebookError, match=r"'paper/xprm'.*Did you mean 'paper/xperm'"):
        project.select(["paper/xprm"])
    with pytest.raises(NotebookError, match="Did you mean 'paper/xperm'") as caught:
        project.select(["xperm"])
    assert str(project.notebooks) in str(caught.value)
    with pytest.raises(NotebookError, match="papers and notebooks are: p, p/a, "):
        project.select(["zzz"])


def test_the_project_is_found_from_anywhere_inside(project, monkeypatch):
    project.write("p/a")
    assert Paths.find(project.notebooks / "p").root == project.root
    monkeypatch.delenv("INVARIANCE_ROOT")
    monkeypatch.chdir(project.notebooks / "p")
    assert Paths.find().root == project.root
    # Elsewhere, the checkout around the package counts.
    assert (Paths.find(Path("/")).root / "notebooks" / "claims.yml").is_file()


def test_command_line_starts_without_the_numerical_stack():
    code = (
        "import sys, invariance.companion.cli\n"
        "heavy = {'matplotlib', 'pandas', 'scipy', 'sklearn', 'papermill', 'jupytext', 'sphinx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- parameters cells ------------------------------------------------------------------------------

CELL = """\
# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
sizes: list[int] = [1, 2]
ridge: float | None = None
"""


def test_names_types_defaults_and_comments(project):
    source = project.source(project.write("p/a", parameters=CELL))
    parameters = read_parameters(source)
    assert list(parameters) == ["profile", "seed", "sizes", "ridge"]
    assert parameters["profile"] == Parameter("profile", "str", "quick", "quick or full")
    assert parameters["sizes"].type == "list[int]" and parameters["ridge"].default is None


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("int", "3", 3),
        ("float", "3", 3.0),
        ("float", "1e-3", 1e-3),
        ("bool", "True", True),
        ("str", "12", "12"),
        ("list[float]", "[1, 2.5]", [1.0, 2.5]),
        ("int | None", "None", None),
        ("int | None", "4", 4),
        ("list[str]", '["x"]', ["x"]),
        ("float", "-2E5", -2e5),
        # Values that are no Python literals are texts.
        ("str | None", "1:30", "1:30"),
    ],
)
def test_values_from_the_command_line(annotation, text, value):
    parsed = Parameter("p", annotation, None).parse(text)
    assert parsed == value and type(parsed) is type(value)


WRONG = {
    "int": ["3.5", "true", "1:30", "010", "7" * 5000, ""],
    "bool": ["1", "yes"],
    "float": [".nan", "inf", "1e400"],
    "list[int]": ["3", "[1, x]", "[1", "[" * 20000, "&a [*a]"],
    "list[float]": ["[1, 1e400]"],
}


@pytest.mark.parametrize(
    ("annotation", "text"), [(kind, text) for kind, texts in WRONG.items() for text in texts]
)
def test_values_of_the_wrong_type_are_refused(annotation, text):
    with pytest.raises(ParameterError, match="parameter p: ") as caught:
        Parameter("p", annotation, None).parse(text)
    assert len(str(caught.value)) < 300


def test_unknown_names_are_refused(project):
    parameters = read_parameters(project.source(project.write("p/a", parameters=CELL)))
    with pytest.raises(ParameterError, match=r"p/a has no parameter 'sed'. Did you mean 'seed'"):
        resolve("p/a", parameters, {"sed": 1})
    with pytest.raises(ParameterError, match=r"It has: profile \(str\), seed \(int\), sizes"):
        resolve("p/a", parameters, {"zzz": 1})
    values = resolve("p/a", parameters, {"seed": "7", "ridge": 1})
    assert values == {"profile": "quick", "seed": 7, "sizes": [1, 2], "ridge": 1.0}


LIMITED = (
    CELL
    + """\
noise: float = 0.1  # standard deviation; of the samples; from 0 to 1e0
draws: int | None = 5  # at least 2
widths: list[float] = [0.5]  # at most 1
group: str = "turns"  # of the places; one of turns, cyclic shifts
order: int = 8  # one of 8, 12
prose: str = "x"  # from a to b; at least in prose
"""
)


def test_ranges_and_choices_of_the_parameters_cell_hold(project):
    parameters = read_parameters(project.source(project.write("p/a", parameters=LIMITED)))
    allowed = {"noise": ["0", "1"], "draws": ["2", "None"], "widths": ["[]", "[1, -2]"]}
    allowed |= {"group": ["cyclic shifts"], "order": ["12"], "prose": ["y"]}
    for name, texts in allowed.items():
        for text in texts:
            parameters[name].parse(text)
    refused = {
        "noise": ("1.5", "noise: 1.5 is not from 0 to 1e0 .default: 0.1."),
        "draws": ("1", "draws: 1 is not at least 2"),
        "widths": ("[0.5, 1.5]", "widths: 1.5 is not at most 1"),
        "group": (
            "cyclic shift",
            "group: 'cyclic shift' is no choice. Did you mean 'cyclic shifts",
        ),
        "order": ("9", "order: 9 is no choice. The choices are: 12, 8"),
    }
    for name, (text, message) in refused.items():
        with pytest.raises(ParameterError, match=message):
            parameters[name].parse(text)


def test_values_of_a_sweep(project):
    parameters = read_parameters(project.source(project.write("p/a", parameters=LIMITED)))
    for name, text, values in (
        ("seed", "1..3", [1, 2, 3]),
        ("seed", "-1..1, 5,7..8", [-1, 0, 1, 5, 7, 8]),
        ("noise", "0,0.5, 1", [0.0, 0.5, 1.0]),
        ("group", "turns,cyclic shifts", ["turns", "cyclic shifts"]),
        ("prose", '"a,b",c, 1..3', ["a,b", "c", "1..3"]),
        ("prose", "", [""]),
        ("prose", "a,", ["a", ""]),
        ("sizes", "[1, 2],[3]", [[1, 2], [3]]),
        ("draws", "None,2", [None, 2]),
    ):
        assert parameters[name].parse_values(text) == values
    for name, text, message in (
        ("seed", "1,2,1", "seed: 1 is listed twice"),
        ("noise", "1,1.0", "noise: 1.0 is listed twice"),
        ("seed", "3..1", "seed: 3..1 is empty"),
        ("seed", "1..10000000", "seed: 1..10000000 has 10,000,000 values, at most 10,000"),
        ("seed", "1..2.5", "'1..2.5' is not of type int"),
        ("seed", "1,,2", "'' is not of type int"),
        ("noise", "0..2", "noise: 2.0 is not from 0 to 1e0"),
        ("sizes", "1,2", "sizes: 1 is not of type list"),
        ("sizes", "[1,[2]", "is not of type list"),
    ):
        with pytest.raises(ParameterError, match=message):
            parameters[name].parse_values(text)


TAGGED = '# %% tags=["parameters"]\n'
QUICK = TAGGED + 'profile: str = "quick"\n'


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", "p/a has 0 parameters cells"),
        (CELL + "\n" + CELL, "has 2 parameters cells"),
        (QUICK + "seed: int = 0  # default = 0", "second equals"),
        (QUICK + "seed = 0", "expected 'name: type = value'"),
        (QUICK + "seed: int = f(0)", "not a literal"),
        (QUICK + "seed: int = 0.5", "0.5 is not of type int"),
        (QUICK + "seed: tuple = 0", "type is not one of"),
        (QUICK + "sizes: list = [0]", "type is not one of"),
        (TAGGED + "seed: int = 0", "first parameter must be 'profile"),
        (TAGGED + 'profile: str = "full"', "first parameter must be 'profile"),
        (TAGGED + "profile: str = ", "expected 'name: type = value'"),
        (QUICK + "noise: float = 2  # from 0 to 1", "noise: 2.0 is not from 0 to 1"),
        (QUICK + "order: int = 8  # one of 8, twelve", "order: 'twelve' is not of type int"),
    ],
)
def test_malformed_parameters_cells_are_named(project, cell, message):
    source = project.source("p/a")
    source.parent.mkdir(parents=True)
    source.write_text(f"# %%\n1\n\n{cell}\n", "utf-8")
    with pytest.raises(NotebookError, match=message):
        read_parameters(source)


def test_code_is_python_without_magics(project):
    name = project.write("p/a", "%matplotlib inline\n!ls\nx = 1")
    code = notebook_code(project.source(name))
    assert "matplotlib" not in code and "ls" not in code.split("\n") and "x = 1" in code


@pytest.mark.parametrize(("cell", "expected"), [
    ("%%bash\necho hi there\n", []),
    ("%%html\n<b>f(1)</b>", []),
    ("files = !ls *.py\nf(1)", ["f"]),
    ("x = %time f(1)", ["f"]),
    ("%%time\nx = f(1)\ny = !ls", ["f"]),
    ("%%capture out\n%timeit -n 10 -r 3 f(1)", ["f"]),
    ("if True:\n    %time f(1)", ["f"]),
    ("f?\n?f\nf??\nf(1)", ["f"]),
    ("!echo a\n%load_ext x\nf(1)", ["f"]),
    ('f("a\u2028b\x85c\x1cd\x0ce")', ["f"]),
    ("await f(1)", ["f"]),
    ("for x in range(2):\n    !echo {x}", ["range"]),
])  # fmt: skip
def test_what_ipython_takes_is_read_as_python(project, cell, expected):
    name = project.write("p/a", cell, parameters="")
    assert [called for called, _ in calls_of(project.source(name))] == expected


@pytest.mark.parametrize(
    "cell", ["x = 1\nx = = 2", "%matplotlib inline\nx = = 2", "%%time\nx = = 2", "f(\n!ls"]
)
def test_what_neither_takes_is_named_with_its_place(project, cell):
    source = project.source(project.write("p/a", "x = 1", cell, parameters=""))
    for read in (notebook_code, modules_of):
        with pytest.raises(NotebookError, match=r"p/a\.py, cell 3, line \d, is not Python"):
            read(source)


def test_a_module_beside_notebooks_is_named_if_it_is_not_python(project):
    source = project.source(project.write("p/a", "from _shared import x"))
    source.with_name("_shared.py").write_text("x = 1\n\ny = = 2\n", "utf-8")
    with pytest.raises(NotebookError, match=r"_shared\.py is not Python.* line 3"):
        modules_of(source)


def test_modules_beside_a_notebook_count_if_it_reaches_them(project):
    source = project.source(project.write("p/a", "from _one import x"))
    texts = {
        "_one": "from importlib import import_module\n\nx = import_module('_two').x\n",
        "_two": "x = 1\n",
        "_other": "x = = 1, which nobody reads\n",
    }
    for name, text in texts.items():
        source.with_name(f"{name}.py").write_text(text, "utf-8")
    helpers = [name for name in modules_of(source) if name.startswith("_")]
    assert sorted(helpers) == ["_one.py", "_two.py"]


def test_texts_keep_the_breaks_that_are_no_line_ends_for_python(project):
    text = 's = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei"'
    source = project.source(project.write("p/a", text, parameters=""))
    assert read_notebook(source).cells[-1].source == text
