"""The exercises of the course: right answers pass, and near misses do not."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

from invariance.companion.run.teaching import check
from invariance.companion.source import read_notebook

COURSE = Path(__file__).parents[3] / "notebooks/course"
LESSONS = "orbit averaging features best_fit spectral when_it_hurts".split()
SOLUTION = re.compile(r"<summary>Solution</summary>\s+```python\n(.*?)```", re.DOTALL)


def lesson_cells(name: str) -> list:
    return read_notebook(COURSE / f"{name}.py").cells


def answer(lesson: str, number: int, answer_code: str, names: dict) -> str:
    """Return what the check of an exercise prints about an answer."""
    cells = lesson_cells(lesson)
    exercises = [i for i, cell in enumerate(cells) if "exercise" in cell.metadata.get("tags", [])]
    place = exercises[number - 1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(answer_code, names)
        exec(cells[place + 1].source, names)
    return printed.getvalue()


def orbit_names() -> dict:
    from invariance.groups import CyclicShifts, Permutations

    x = np.array([5.0, 3.0, 0.0, 1.0, 0.0, 0.0])
    shifts = CyclicShifts(6)
    return {"np": np, "check": check, "shifts": shifts, "Permutations": Permutations, "x": x}


def averaging_names() -> dict:
    from invariance.groups import CyclicShifts, Negation

    names = {"np": np, "check": check, "CyclicShifts": CyclicShifts, "Negation": Negation}
    names["averaged"] = "to be replaced"
    with contextlib.redirect_stdout(io.StringIO()):
        cells = lesson_cells("averaging")
        exec(next(c.source for c in cells if c.source.startswith("ring = ")), names)
    return names


@pytest.mark.parametrize(
    ("reading", "is_right"),
    [
        ("[0.1 + 0.2, 1, 2, 0.3, 1, 2]", True),  # differs from 0.3 by rounding alone
        ("[1, 2, 3, 1, 2, 3]", True),
        ("[1e-30, 0, 0, 1e-30, 0, 0]", True),
        ("[1, 2, 1, 2, 1, 2]", False),
        ("[0, 0, 0, 0, 0, 0]", False),
        ("[1, 2, 3, 1.001, 2, 3]", False),
    ],
)
def test_a_reading_with_three_images_is_right_up_to_rounding(reading, is_right):
    printed = answer("orbit", 1, f"reading = {reading}", orbit_names())
    assert printed.startswith("Right: it repeats" if is_right else "Not yet")


@pytest.mark.parametrize(
    ("code", "is_right"),
    [
        ("neighbours = lambda x: np.sum(x * np.roll(x, 1))", True),
        ("neighbours = lambda x: np.sum(x**2)", False),
        ("neighbours = lambda x: 1e-12 * x[0]", False),
        ("neighbours = lambda x: 3.0", False),
    ],
)
def test_a_function_of_neighbours_is_told_from_others(code, is_right):
    printed = answer("orbit", 3, code, orbit_names())
    assert printed.startswith("Right" if is_right else "Not yet")


@pytest.mark.parametrize(
    ("weights", "is_right"),
    [
        ("[1, -1, 0, 0, 0, 0]", True),
        ("[1e-9, -1e-9, 0, 0, 0, 0]", True),
        ("[1e-9, 0, 0, 0, 0, 0]", False),
        ("[0, 0, 0, 0, 0, 0]", False),
    ],
)
def test_weights_that_average_to_zero_do_so_at_any_scale(weights, is_right):
    printed = answer("averaging", 2, f"w = {weights}", averaging_names())
    assert printed.startswith("Right: the weights sum to zero" if is_right else "Not yet")


def test_an_average_that_ignores_its_arguments_is_not_right():
    constant = "averaged = lambda f, group, X: (X**3).mean(axis=1)"
    assert answer("averaging", 1, constant, averaging_names()).startswith("Not yet")
    proper = "averaged = lambda f, g, X: np.mean([f(B) for B in g.act(g.elements(), X)], axis=0)"
    assert answer("averaging", 1, proper, averaging_names()).startswith("Right")


def test_a_function_that_prints_gets_a_hint_about_return(capsys):

    def prints(x):
        print(x)

    check(prints, lambda f: f(1) + 1 > 0, "a number above 0")
    assert "returns nothing: does it end with `return`?" in capsys.readouterr().out


def test_hints_come_in_steps_and_a_question_has_one_mark(capsys):
    for _ in range(3):
        check(1, lambda n: n == 2, "is it even?", "it is 2")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Not yet: is it even? (The next")
    assert lines[1:] == ["Not yet: it is 2."] * 2


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_check_is_folded_and_has_hints_and_a_reason(lesson):
    cells = lesson_cells(lesson)
    checks = [cell for cell in cells if re.search(r"^check\(", cell.source, re.MULTILINE)]
    assert len(checks) == 3
    for cell in checks:
        assert cell.metadata["jupyter"] == {"source_hidden": True}
        assert "why=" in cell.source
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert len(SOLUTION.findall(text)) == 3
