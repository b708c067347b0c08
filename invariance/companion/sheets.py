"""Exercise sheets: lessons without their solutions, and a table of the answers of students.

A lesson has cells with the tag ``exercise``, each followed by a cell with a call of `check`. Its
solutions are folded text.
"""

import asyncio
import re
import signal
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_markdown_cell
from traitlets.config import Config

from .errors import NotebookError
from .files import write_bytes
from .paths import Paths
from .source import read_notebook

_SOLUTION = re.compile(r"^<details><summary>Solution</summary>\n.+?^</details>\n*", re.S | re.M)
#: The beginning of a slide inside a text.
_BEGINNING = re.compile(r"\n+(?=## |\*\*Exercise )")
_SECONDS_PER_CELL = 300
#: Messages to and from a kernel are encrypted if it can do that: it warns if they are not.
_ENCRYPTED = Config({"KernelManager": {"transport_encryption": "auto"}})


#: Before each check: an answer may have given the name to something else.
_OWN_CHECK = "from invariance.companion import check\n"


class _Client(NotebookClient):
    """A client whose execution ends in good order when a signal comes; it then `is_interrupted`."""

    is_interrupted = False

    async def async_start_new_kernel(self, **options: Any) -> None:
        # The client's own handlers, which are set by now, would end the kernel while it is in use.
        task = asyncio.current_task()
        assert task is not None

        def interrupt() -> None:
            self.is_interrupted = True
            self.shutdown_kernel = "immediate"  # else the kernel prints where it was interrupted
            task.cancel()

        with suppress(RuntimeError):  # on Windows, and outside the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, interrupt)
        await super().async_start_new_kernel(**options)


class Answer(NamedTuple):
    """The outcome of one exercise, and what its check printed."""

    outcome: str  # right, wrong, none or error
    printed: str


def is_exercise(cell: Any) -> bool:
    return "exercise" in cell.metadata.get("tags", [])


def lessons_of(paths: Paths, names: Sequence[str] = ()) -> list[str]:
    """Return the notebooks that have exercises, among those with the given names."""
    lessons = []
    for name in paths.select(names):
        if any(map(is_exercise, read_notebook(paths.source(name)).cells)):
            lessons.append(name)
    if not lessons:
        raise NotebookError(f"no notebook with exercises among {', '.join(names) or 'all'}")
    return lessons


def sheet_of(paths: Paths, lesson: str) -> Any:
    """Return a lesson as a notebook without its solutions, whose cells know their place on slides.

    Nbconvert's ``--to slides`` reads these places.
    """
    notebook = deepcopy(read_notebook(paths.source(lesson)))
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cells.append(cell)
            continue
        text = _SOLUTION.sub("", f"{cell.source}\n").strip()
        cells += [new_markdown_cell(part) for part in _BEGINNING.split(text) if part]
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
        cell.metadata["slideshow"] = {"slide_type": _place_on_slides(cell)}
    notebook.cells = cells
    return notebook


def _place_on_slides(cell: Any) -> str:
    """Return "slide" for headings, "subslide" for exercises, "skip" for settings, or else "-"."""
    if cell.cell_type == "code":
        is_setting = {"parameters", "settings"} & set(cell.metadata.get("tags", []))
        return "skip" if is_setting else "-"
    if cell.source.startswith("#"):
        return "slide"
    if cell.source.startswith("**Exercise"):
        return "subslide"
    return "-"


def write_sheets(paths: Paths, out: Path, names: Sequence[str] = ()) -> list[Path]:
    """Write the sheets of lessons as notebook files; return their paths."""
    written = []
    for lesson in lessons_of(paths, names):
        path = out / f"{lesson.partition('/')[2]}.ipynb"
        write_bytes(path, nbformat.writes(sheet_of(paths, lesson), version=4).encode())
        written.append(path)
    return written


def grade(paths: Paths, lesson: str, file: Path) -> list[Answer]:
    """Run a lesson with the answers of a student's file, and return the outcome of each exercise.

    Only the exercise cells are taken from the file; all other code is the lesson's. Cells that have
    kept their ids of the sheet may stand in another order. The answers run with the rights of the
    caller: use a container for files that you do not trust. Ctrl-C and SIGTERM raise
    KeyboardInterrupt.

    A `NotebookError` if the file cannot be read, has another lesson's title, or has another number
    of exercises.
    """
    notebook = sheet_of(paths, lesson)
    sheet = _read(file)
    title = _title(notebook)
    its_title = _title(sheet)
    if its_title not in (title, ""):
        raise NotebookError(f"{file} is the sheet {its_title!r}, and {lesson} is {title!r}")
    answers = [cell for cell in sheet.cells if is_exercise(cell)]
    places = [i for i, cell in enumerate(notebook.cells) if is_exercise(cell)]
    if len(answers) != len(places):
        fault = f"{file} has {len(answers)} exercise cells, and {lesson} has {len(places)}"
        raise NotebookError(f"{fault}: are they from the same lesson, with their tags?")
    ids = [notebook.cells[place].id for place in places]
    if {cell.get("id") for cell in answers} == set(ids):  # cells of a sheet that may have moved
        answers.sort(key=lambda cell: ids.index(cell.id))
    for place, answer in zip(places, answers, strict=True):
        notebook.cells[place].source = answer.source
        notebook.cells[place + 1].source = _OWN_CHECK + notebook.cells[place + 1].source
    with TemporaryDirectory() as folder:
        client = _Client(
            notebook,
            timeout=_SECONDS_PER_CELL,
            allow_errors=True,
            kernel_name="python3",
            config=_ENCRYPTED,
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
        except (CellTimeoutError, DeadKernelError, asyncio.CancelledError) as error:
            if client.is_interrupted:
                raise KeyboardInterrupt from None
            reason = f"stopped: {type(error).__name__}"
            return [Answer("error", reason) for _ in places]
    return [_answer(notebook.cells[place + 1]) for place in places]


def _read(file: Path) -> Any:
    if file.suffix != ".ipynb":
        return read_notebook(file)
    try:
        return nbformat.reads(file.read_text(encoding="utf-8-sig"), as_version=4)
    except (OSError, ValueError) as error:
        raise NotebookError(f"{file} cannot be read as a notebook: {error}") from error


def _title(notebook: Any) -> str:
    """Return the first heading of a notebook, or an empty text."""
    for cell in notebook.cells:
        for line in cell.source.splitlines():
            if cell.cell_type == "markdown" and line.startswith("# "):
                return str(line[2:].strip())
    return ""


def _answer(cell: Any) -> Answer:
    """Return the outcome of an executed cell with a check."""
    outcomes = {"Right": "right", "Not yet": "wrong", "Not answered": "none"}
    answer = Answer("error", "the check printed nothing")
    for output in cell.outputs:
        if output.output_type == "error":
            return Answer("error", f"{output.ename}: {output.evalue}")
        for line in output.get("text", "").splitlines():
            for start, outcome in outcomes.items():
                # The last such line counts: a function that is checked may print lines before.
                if line.startswith(start):
                    answer = Answer(outcome, line)
    return answer
