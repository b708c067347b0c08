"""Ways in which a cached function reaches edited code or data, and a kernel to execute them.

A way is a few cells of a notebook, in ``followed.txt`` and ``refused.txt``. The cells end with the
call of a cached function, ``answer``. ``python ways.py`` executes the ways that are followed.
"""

import linecache
import re
import sys
import types
from pathlib import Path

#: Placeholders in the cells, each with its text before and after the edit.
EDITS = {
    "ATTRIBUTE": ("real", "imag"),
    "METHOD": ("upper", "lower"),
    "NAME": ("add", "mul"),
    "UFUNC": ("add", "multiply"),
    "VALUE": ("1", "2"),
}


def _read(file: str) -> dict[str, str]:
    text = Path(__file__).with_name(file).read_text("utf-8")
    sections = [section.partition("\n") for section in text.split("\n# %% ")[1:]]
    return {name: cells for name, _, cells in sections}


FOLLOWED = _read("followed.txt")
#: For each way, a pattern of the error message, and the cells.
REFUSED = {
    name.partition(" (")[0]: (re.search(r"\((.*)\)", name).group(1), cells)
    for name, cells in _read("refused.txt").items()
}


def edited(text: str, version: int) -> str:
    """Return the cells before the edit (0) or after it (1)."""
    for word, versions in EDITS.items():
        text = text.replace(word, versions[version])
    return text


def execute(source: str, run, main: types.ModuleType | None = None) -> types.ModuleType:
    """Execute cells as a kernel does, in ``__main__``, with their text available to tracebacks."""
    before = sys.modules["__main__"]
    main = main or types.ModuleType("__main__")
    main.run = run
    sys.modules["__main__"] = main
    name = f"<cell {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    try:
        exec(compile(source, name, "exec"), vars(main))
    finally:
        sys.modules["__main__"] = before
    return main


def truth(source: str):
    """Return the answer without a cache."""
    return execute(source, types.SimpleNamespace(cache=lambda function: function)).answer


if __name__ == "__main__":
    from invariance.companion import Run

    run = Run("p/d")
    for way in FOLLOWED.values():
        execute(edited(way, 0), run)
