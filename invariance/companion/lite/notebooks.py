"""The notebooks that a reader's browser can run, as notebook files for JupyterLite."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..ledger.claims import read_papers
from ..paths import Paths
from ..source import notebook_code, read_notebook

_KERNEL = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
# In the first cell of a notebook that measures processor time, which stands still in a browser.
_CLOCK = """\
# A browser does not tell the processor's time. The seconds that pass take its place.
import time
time.process_time = time.perf_counter"""
_MEASURES = re.compile(r"\bprocess(?:_time|or_seconds)\b")
# The same of a notebook that imports modules beside it.
_SETUP = """\
# In a browser, the modules beside this notebook come with the installed package.
import sys
from invariance.companion.paths import Paths
sys.path.append(str(Paths.find().notebooks / {folder!r}))"""


def names_for_browsers(paths: Paths) -> list[str]:
    """Return the notebooks with a button: all except those that ``papers.yml`` excludes."""
    excluded = read_papers(paths)["not_in_browser"]
    return [name for name in paths.all_notebooks() if name not in excluded]


def names_in(folder: Path) -> set[str]:
    """Return the names of the notebooks in a folder for browsers; empty without the folder."""
    files = folder / "files"
    return {path.relative_to(files).with_suffix("").as_posix() for path in files.glob("*/*.ipynb")}


def notebook_for_browsers(paths: Paths, name: str) -> str:
    """Return the text of the notebook file of a text notebook.

    Code that the page of the site folds is folded, too. If the notebook imports modules beside it,
    a first cell makes them importable. Pyodide loads the packages that a cell imports, so this cell
    also imports packages that modules need. If the notebook measures processor time, this cell lets
    the seconds that pass take its place.
    """
    import nbformat

    source = paths.source(name)
    # A function of the companion reads tables with pandas; other names are the project's.
    late_packages = {"pandas": ["saved"], **read_papers(paths)["late_packages"]}
    setup = _setup(source, late_packages)
    cells = []
    if setup:
        cells.append(nbformat.v4.new_code_cell(setup, metadata=_folded({})))
    for cell in read_notebook(source).cells:
        metadata = dict(cell.metadata)
        if cell.cell_type == "code":
            if "hide-input" in metadata.get("tags", []):
                metadata = _folded(metadata)
            cells.append(nbformat.v4.new_code_cell(cell.source, metadata=metadata))
        else:
            cells.append(nbformat.v4.new_markdown_cell(cell.source, metadata=metadata))
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": _KERNEL})
    return nbformat.writes(notebook)


def _folded(metadata: dict) -> dict:
    return {**metadata, "jupyter": {"source_hidden": True}}


def _setup(source: Path, late_packages: Mapping[str, Sequence[str]]) -> str:
    """Return the code that a notebook needs before its own, or an empty text.

    `late_packages` maps packages to the names that import them when they are used.
    """
    code = notebook_code(source)
    imported = _imported(code)
    beside = {}
    for path in sorted(source.parent.glob("_*.py")):
        beside[path.stem] = path.read_text(encoding="utf-8")
    lines = []
    texts = [code]
    if not imported.isdisjoint(beside):
        lines.append(_SETUP.format(folder=source.parent.name))
        texts += beside.values()
    if any(_MEASURES.search(text) for text in texts):
        lines.append(_CLOCK)
    packages = []
    for package, names in late_packages.items():
        pattern = re.compile(rf"\b({'|'.join(names)})\b")
        needed = any(package in _imported(text) or pattern.search(text) for text in texts)
        if needed and package not in imported:
            packages.append(package)
    if packages:
        lines.append(f"import {', '.join(packages)}  # needed below, and loaded by this line")
    return "\n".join(lines)


def _imported(code: str) -> set[str]:
    """Return the top-level names of the modules that code imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names
