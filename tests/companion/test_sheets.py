"""Sheets for students, and the table of their answers."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbconvert import SlidesExporter

from invariance.companion.cli import main
from invariance.companion.errors import NotebookError
from invariance.companion.paths import Paths
from invariance.companion.sheets import grade, lessons_of, write_sheets
from invariance.companion.source import read_notebook

ROOT = Path(__file__).parents[2]
LESSON = """\
# %% [markdown]
# # A lesson

# %% tags=["exercise"]
seven = ...

# %% jupyter={"source_hidden": true} tags=["hide-input"]
from invariance.companion import check

check(seven, lambda n: n == 7, "a prime", why="it is")

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# seven = 3 + 4
# ```
# </details>
#
# ## Next
"""

DRAWING = """\
# %% [markdown]
# # A drawing

# %% tags=["parameters"]
profile: str = "quick"  # quick or full

# %%
import matplotlib.pyplot as plt

from invariance.companion import Run

run = Run("course/drawn", profile=profile)

# %%
fig, axes = plt.subplots()
axes.plot([1, 2, 3], [3, 7, 5], label="numbers")
axes.set(title="Seven is the largest", xlabel="place", ylabel="number")
run.figure(fig, "numbers")
run.say("The largest is {largest}.", largest=7)
"""


@pytest.fixture
def paths(tmp_path) -> Paths:
    paths = Paths(tmp_path)
    paths.ledger.parent.mkdir(parents=True)
    paths.ledger.write_text("claims: []\n", "utf-8")
    lesson = paths.source("course/sums")
    lesson.parent.mkdir(parents=True)
    lesson.write_text(LESSON, "utf-8")
    return paths


def test_a_sheet_has_the_exercise_and_its_check_but_no_solution(paths, tmp_path):
    (path,) = write_sheets(paths, tmp_path / "sheets")
    text = path.read_text("utf-8")
    assert "seven = ..." in text and "check(seven" in text and "## Next" in text
    assert "3 + 4" not in text and "Solution" not in text
    hidden = [cell for cell in json.loads(text)["cells"] if "jupyter" in cell["metadata"]]
    assert len(hidden) == 1 and hidden[0]["metadata"]["jupyter"] == {"source_hidden": True}


def test_all_six_lessons_have_sheets_without_solutions(tmp_path):
    paths = Paths(ROOT)
    assert len(lessons_of(paths, ["course"])) == 6
    for path in write_sheets(paths, tmp_path, ["course"]):
        text = path.read_text("utf-8")
        assert "<summary>" not in text and text.count('"exercise"') == 3, path.name


def test_headings_and_exercises_of_a_sheet_begin_slides(tmp_path):
    for path in write_sheets(Paths(ROOT), tmp_path, ["course"]):
        html, _ = SlidesExporter().from_filename(path)
        body = html.partition('class="slides"')[2]
        slides = [re.sub("<[^>]*>", " ", part) for part in re.split("<section>\\s*<section>", body)]
        starts = [" ".join(slide.split())[:40] for slide in slides[1:]]
        lesson = read_notebook(Paths(ROOT).source(f"course/{path.stem}"))
        text = "\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")
        headings = re.findall("^##? (.{5})", text, re.M)
        assert len(starts) == len(headings) > 4, path.name
        for start, heading in zip(starts, headings, strict=True):
            assert heading in start
        assert len(re.findall("<section>(?:(?!section>).)*<strong>Exercise", body, re.S)) == 3
        assert "profile: str" not in body, "settings are on no slide"


def test_answers_are_graded_by_the_lesson_s_own_checks(paths, tmp_path, monkeypatch, capfd):
    for name, answer in {"good": "seven = 7", "bad": "seven = 8", "torn": "seven = ("}.items():
        text = LESSON.replace("seven = ...", answer)
        text = text.replace("lambda n: n == 7", "lambda n: True")  # a changed check has no effect
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    files = [tmp_path / f"{name}.py" for name in ("good", "bad", "torn")]
    outcomes = [grade(paths, "course/sums", file)[0].outcome for file in files]
    assert outcomes[:2] == ["right", "wrong"] and outcomes[2] == "error"
    (sheet,) = write_sheets(paths, tmp_path / "sheets")
    assert grade(paths, "course/sums", sheet)[0].outcome == "none"
    assert "Kernel" not in capfd.readouterr().err, "kernels have nothing to warn about"
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["grade", "course/sums", "good.py", "bad.py"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == ["good.py  1 of 1  right", "bad.py   0 of 1  wrong"]


def test_an_answer_that_redefines_check_is_graded_by_the_package_s_own(paths, tmp_path):
    forged = "seven = 8\ncheck = lambda *_, **__: print('Right')"
    lesson = LESSON.replace("from invariance.companion import check\n\n", "")
    first = "# %%\nfrom invariance.companion import check\n\n# %% tags"
    paths.source("course/sums").write_text(lesson.replace("# %% tags", first, 1), "utf-8")
    (tmp_path / "forged.py").write_text(lesson.replace("seven = ...", forged), "utf-8")
    assert grade(paths, "course/sums", tmp_path / "forged.py")[0].outcome == "wrong"


FUNCTION = """
# %% tags=["exercise"]
square = ...

# %%
check(square, lambda f: f(3) == 9, "three times three")
"""


def test_lines_that_an_answer_prints_are_no_outcome(paths, tmp_path):
    paths.source("course/sums").write_text(LESSON + FUNCTION, "utf-8")
    printing = "def square(n):\n    print('Right so far')\n    return 2 * n"
    text = (LESSON + FUNCTION).replace("square = ...", printing)
    (tmp_path / "printing.py").write_text(text, "utf-8")
    _, answer = grade(paths, "course/sums", tmp_path / "printing.py")
    assert answer.outcome == "wrong" and answer.printed.startswith("Not yet: three times three")


def test_exercises_in_another_order_behind_a_byte_order_mark_are_graded(paths, tmp_path):
    paths.source("course/sums").write_text(LESSON + FUNCTION, "utf-8")
    (sheet,) = write_sheets(paths, tmp_path / "sheets")
    content = json.loads(sheet.read_text("utf-8"))
    cells = content["cells"]
    first, second = [i for i, cell in enumerate(cells) if cell["source"][0].endswith("= ...")]
    cells[first]["source"] = "seven = 7"
    cells[second]["source"] = "square = lambda n: n**2"
    cells[first], cells[second] = cells[second], cells[first]
    sheet.write_text(json.dumps(content), "utf-8-sig")
    outcomes = [answer.outcome for answer in grade(paths, "course/sums", sheet)]
    assert outcomes == ["right", "right"]


def test_a_refused_file_gives_an_exit_status_and_hides_no_other(paths, tmp_path, monkeypatch):
    (tmp_path / "other.py").write_text("# %%\nx = 1\n", "utf-8")
    (tmp_path / "good.py").write_text(LESSON.replace("seven = ...", "seven = 7"), "utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["grade", "course/sums", "other.py", "good.py"])
    assert done.exit_code == 1 and "good.py   1 of 1  right" in done.output
    assert "1 of 2 files could not be graded" in done.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_grading_ends_with_one_line(paths, tmp_path, number):
    started = tmp_path / "started"
    answer = f"import pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(600)"
    (tmp_path / "slow.py").write_text(LESSON.replace("seven = ...", answer), "utf-8")
    command = [sys.executable, "-m", "invariance.companion", "grade", "course/sums", "slow.py"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as process:
        while not started.exists() and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert output == "Interrupted at slow.py: name it and the files after it to go on.\n"


def test_a_file_of_another_lesson_is_refused(paths, tmp_path):
    (tmp_path / "other.py").write_text("# %%\nx = 1\n", "utf-8")
    with pytest.raises(NotebookError, match="has 0 exercise cells, and course/sums has 1"):
        grade(paths, "course/sums", tmp_path / "other.py")
    renamed = LESSON.replace("# # ", "# # Another lesson: ", 1)
    (tmp_path / "renamed.py").write_text(renamed, "utf-8")
    with pytest.raises(
        NotebookError, match="renamed.py is the sheet 'Another lesson: .*', and course"
    ):
        grade(paths, "course/sums", tmp_path / "renamed.py")


def test_a_run_lists_its_figures_with_their_numbers_and_files(paths, tmp_path, monkeypatch):
    notebook = paths.source("course/drawn")
    notebook.write_text(DRAWING, "utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["run", "course/drawn"])
    assert done.exit_code == 0, done.output
    assert "Seven is the largest: number against place" in done.output
    assert "The largest is 7." in done.output
    files = [line.strip() for line in done.output.splitlines() if line.endswith(".png")]
    assert len(files) == 1 and Path(files[0]).is_file()
