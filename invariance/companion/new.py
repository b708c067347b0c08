"""The command ``invariance new``: `start_companion`."""

import re
from pathlib import Path
from string import Template

import yaml

from .errors import NotebookError, OutputError
from .files import write_bytes
from .ledger.scoreboard import write_scoreboard
from .paths import Paths


def start_companion(name: str, folder: Path) -> list[Path]:
    """Write the smallest companion to a paper into a new folder: one claim, one notebook, one test.

    `name` is the paper's key, such as ``miller1999``. Returns the paths of the new files.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        form = "a small letter, then small letters, digits, _ or -"
        raise NotebookError(f"{name!r} cannot be a paper's key: {form}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} is not empty: choose a folder that does not exist yet")
    texts = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    written = []
    for path, text in texts.items():
        target = folder / Template(path).substitute(name=name)
        # Variables of make and formulas in the notebook contain dollars too, and stay unchanged.
        content = Template(text).safe_substitute(name=name)
        write_bytes(target, content.encode())
        written.append(target)
    write_scoreboard(Paths(folder.absolute()))
    return written
