"""The folder of a notebook's results: `take_folder`.

It is, in this order:

- the folder that ``INVARIANCE_RUN_DIR`` names. The runner sets this variable, and anybody else may;
- for plain papermill, the folder ``out.results`` beside its output file ``out.ipynb``;
- the default of the caller, ``build/interactive/<profile>/<paper>/<name>``.

If another process that still runs has taken the folder, its name gets a number: ``out.results-2``.
"""

import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from ..files import held_elsewhere, writing

try:
    import psutil
except ImportError:  # Python in a browser
    psutil = None

#: Environment variable with the folder of the results of the notebook that runs.
VARIABLE = "INVARIANCE_RUN_DIR"


class Hold:
    """A folder that no other process takes as long as this object, or its process, lives."""

    def __init__(self, folder: Path, descriptor: int | None) -> None:
        self.folder = folder
        if descriptor is not None:
            weakref.finalize(self, os.close, descriptor)


# A cell that is executed again makes another `Run`, which writes to the same folder.
_holds: "weakref.WeakValueDictionary[Path, Hold]" = weakref.WeakValueDictionary()


def take_folder(default: Path, parameters: Mapping[str, Any]) -> Hold:
    """Take the folder of the results of this process, and make it.

    Braces in the name of papermill's output file stand for `parameters`, as they do for papermill.
    """
    by_environment = os.environ.get(VARIABLE)
    output = None
    if not by_environment:
        output = _papermill_output(parameters)
    if by_environment:
        folder = Path(by_environment).absolute()
    elif output is not None:
        folder = output.with_name(output.name.removesuffix(".ipynb") + ".results")
    else:
        folder = default
    for number in count(1):
        candidate = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        hold = _holds.get(candidate) or _try_to_hold(candidate)
        if hold is not None:
            _holds[candidate] = hold
            return hold
    raise AssertionError("unreachable")


def _try_to_hold(folder: Path) -> Hold | None:
    """Make a folder and hold it; None if another process holds it."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open a folder.
        return Hold(folder, None)
    if held_elsewhere(descriptor):
        os.close(descriptor)
        return None
    return Hold(folder, descriptor)


# ----------------------------------------------------------------------------------- papermill


def _papermill_output(parameters: Mapping[str, Any]) -> Path | None:
    """Return the output file of the papermill that executes this notebook, or None.

    Papermill does not tell the notebook, except with its option ``--inject-output-path``. Without
    it, the command line of the parent process is read.
    """
    injected = getattr(sys.modules.get("__main__"), "PAPERMILL_OUTPUT_PATH", None)
    arguments, folders = _papermill_process()
    name = injected or _output_argument(arguments, parameters)
    if not name or name == "-" or "://" in name:
        return None
    # Papermill has written the file before it executes the first cell.
    candidates = [folder / name for folder in folders]
    for path in candidates:
        if path.is_file():
            return path
    return candidates[0]


def _papermill_process() -> tuple[list[str], list[Path]]:
    """Return papermill's arguments and the folders that its paths may be relative to.

    The arguments are empty if no papermill has started this process.
    """
    folders = [Path.cwd()]
    if psutil is None:
        return [], folders
    with suppress(psutil.Error, OSError, ValueError):
        parent = psutil.Process(int(os.environ.get("JPY_PARENT_PID", os.getppid())))
        line = parent.cmdline()
        for position, word in enumerate(line[:-1]):
            if Path(word).stem == "papermill":
                # With --cwd, papermill has left the folder that its paths are relative to.
                started_in = [parent.cwd(), os.environ.get("PWD", "")]
                folders = [Path(folder) for folder in started_in if folder]
                return line[position + 1 :], folders
    return [], folders


def _output_argument(arguments: Sequence[str], parameters: Mapping[str, Any]) -> str:
    """Return the output file in papermill's arguments, or an empty text."""
    if not arguments:
        return ""
    try:
        from papermill.cli import papermill
        from papermill.exceptions import PapermillMissingParameterException
        from papermill.parameterize import add_builtin_parameters, parameterize_path
    except ImportError:  # papermill runs in another environment than its kernel
        return ""
    context = papermill.make_context("papermill", list(arguments), resilient_parsing=True)
    path = context.params.get("output_path") or ""
    with suppress(PapermillMissingParameterException):
        return str(parameterize_path(path, add_builtin_parameters(dict(parameters))))
    return ""
