"""The imports of notebooks work without the modules that Windows or a browser lacks.

The modules are refused by a finder in a process of its own, as if they were not there.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: Modules of the standard library that are missing in Pyodide or Windows, and packages that are
#: not needed for computing and drawing.
SYSTEM = ("_lzma", "lzma", "fcntl", "resource", "termios", "pwd")
PACKAGES = (
    "psutil", "yaml", "pandas", "jupytext", "nbformat", "nbclient", "papermill", "click",
    "fastjsonschema", "sphinx", "jinja2", "markdown_it",
)  # fmt: skip
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
for name in [name for name in sys.modules if name.partition(".")[0] in ABSENT]:
    del sys.modules[name]
"""


def run(code: str, root: Path, absent=(*SYSTEM, *PACKAGES)) -> str:
    """Return the output of code in a process without some modules, in a project at `root`."""
    script = WITHOUT.replace("ABSENT", repr(set(absent))) + code
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=root,
        env=os.environ | {"INVARIANCE_ROOT": str(root), "MPLBACKEND": "Agg"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def root(tmp_path):
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    return tmp_path


@pytest.mark.parametrize("lesson", ["orbit", "best_fit"])
def test_a_lesson_runs_and_records(lesson, root):
    path = ROOT / "notebooks" / "course" / f"{lesson}.py"
    printed = run(f"exec(compile(open({str(path)!r}, 'rb').read(), 'lesson', 'exec'), {{}})", root)
    assert "Not answered yet." in printed
    folder = root / "build/interactive/quick/course" / lesson
    stored = json.loads((folder / "results.json").read_text("utf-8"))
    assert stored["figures"] and stored["volatile"]["hardware"]["system"]
    for figure in stored["figures"]:
        assert (folder / figure["files"][0]).read_bytes()[:4] == b"\x89PNG"


def test_a_guide_runs_outside_a_checkout_with_a_method_of_the_reader(tmp_path):
    text = (ROOT / "notebooks/guides/own_data.py").read_text("utf-8")
    text = text.replace('("raw", SVC(', '("my machine", SVC(')
    guide = tmp_path / "own_data.py"
    guide.write_text(text, "utf-8")
    code = f"exec(compile(open({str(guide)!r}, 'rb').read(), 'guide', 'exec'), {{}})"
    printed = run(code, tmp_path, absent=())
    assert "SVC, Gaussian kernel from" in printed and "largest change" in printed
    assert (tmp_path / "build/interactive/quick/guides/own_data/waveforms.png").is_file()


def test_what_a_notebook_calls_is_imported_and_recorded_and_what_is_missing_is_named(root):
    """One process for all three, since the imports take most of the time."""
    everything = """
import invariance.companion as companion
from invariance import datasets, evaluation, features, groups, kernels, linear, spectral, theory
for name in companion.__all__:
    assert callable(getattr(companion, name)), name
data = datasets.make_vowels(10, random_state=0)
print(len(data.data), companion.look("haar").marker, companion.look("BOW") == companion.look("bow"))
"""
    records = """
import matplotlib.pyplot as plt
from invariance.companion import Run, panel
run = Run("guides/own_data", profile="quick")
run.table([{"a": 1.5, "b": "x, y"}, {"b": "<z>", "c": 2}], "numbers")
run.claim("mroueh2015/theorem1-psd", difference=0.0, tolerance=1e-9)
fig, axes = plt.subplots()
panel(axes, [1, 2], {"Haar": ("haar", [1.0, 2.0]), "raw": ("raw", [1.0, 1.5])})
run.figure(fig, "answer")
run.say("{n} rows", n=2)
"""
    unpacks = """
from pathlib import Path
from invariance.datasets.files import DataError, unpack
Path("numbers.xz").write_bytes(b"x")
try:
    unpack(Path("numbers.xz"))
except DataError as error:
    print(error)
"""
    printed = run(everything + records + unpacks, root)
    assert printed.splitlines()[0].split() == ["200", "D", "True"]
    assert "numbers.xz cannot be unpacked: this Python has no module lzma" in printed
    assert "not judged" in printed and "<z>" in printed and "2 rows" in printed
    folder = root / "build/interactive/quick/guides/own_data"
    assert (folder / "numbers.csv").read_text("utf-8") == 'a,b,c\n1.5,"x, y",\n,<z>,2\n'
    stored = json.loads((folder / "results.json").read_text("utf-8"))
    assert [t["name"] for t in stored["tables"]] == ["numbers"] and len(stored["figures"]) == 1


def test_check_panel_and_look_need_numpy_and_matplotlib_alone(root):
    code = """
from matplotlib.figure import Figure
from invariance.companion import check, colour, curve, family, label_ends, look, panel, rows
from invariance.companion import shades, ticks
panel(Figure().subplots(), [1, 2], {"Haar": ("haar", [1.0, 2.0])})
check(7, lambda n: n == 7, "")
"""
    absent = (*SYSTEM, *PACKAGES, "scipy", "sklearn", "joblib", "threadpoolctl", "tqdm")
    assert run(code, root, absent) == "Right.\n"
