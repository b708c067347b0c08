"""`build_site`: the book written by Sphinx in a folder of its own, then put in place at once."""

import gc
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from ..errors import OutputError
from ..files import replace_folder
from ..paths import Paths
from .book import Book
from .material import Material, SiteError, collect

__all__ = ["MARKER", "build_site"]

#: The file that makes a folder ours: only a folder that holds it is ever replaced.
MARKER = ".invariance-site.json"

_HERE = Path(__file__).parent
_NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme", "sphinx_copybutton")
_MATHJAX = "sphinx-mathjax-offline"  # a package whose name is no Python name


def build_site(
    paths: Paths, out: Path | str | None = None, *, profile: str | None = None
) -> tuple[Path, list[str]]:
    """Write the site: pages that open from disk and fetch nothing.

    Parameters
    ----------
    paths : Paths
        The project.
    out : path, optional
        Where the site goes; default: ``build/report``. What an earlier call put there is replaced,
        as a whole and when the new site is finished; anything else is refused.
    profile : str, optional
        Runs of this machine to show beside the published results; default: published ones alone.

    Returns
    -------
    index : Path
        The first page.
    problems : list of str
        What could not be shown, by notebook, and every warning of Sphinx.

    Raises
    ------
    SiteError
        If `out` holds anything else than an earlier site, if there is nothing to show, or if a
        package is missing.
    LedgerError
        If the ledger cannot be read.
    OutputError
        If the site cannot be written.
    """
    out = Path(out or paths.build / "report")
    out = out.parent.absolute() / out.name
    refuse_foreign(out)
    missing = [name for name in (*_NEEDED, _MATHJAX) if find_spec(name) is None]
    if missing:
        raise SiteError(f"the site needs {', '.join(missing)}: pip install 'invariance[companion]'")
    material = collect(paths, profile)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as place:
            draft, source = Path(place) / "site", Path(place) / "source"
            book = _write_source(material, paths, source)
            warnings = _sphinx(book, source, draft)
            _bring_mathjax(draft)
            files = sorted(p.relative_to(draft).as_posix() for p in _files(draft))
            (draft / MARKER).write_text(json.dumps({"made by": "invariance", "files": files}))
            _put(draft, out)
    except OSError as error:
        raise OutputError(
            f"cannot write the site to {out}: {error.strerror or error}. An earlier one is "
            "untouched; free some space or name a folder that can be written to"
        ) from error
    return out / "index.html", material.all_problems() + warnings


def refuse_foreign(out: Path) -> None:
    """Raise unless `out` is free, empty, or an earlier site with nothing put into it since."""
    if not os.path.lexists(out):
        return
    remedy = "Nothing was changed. Name another folder, or move away what is there yourself"
    if out.is_symlink() or not out.is_dir():
        what = "a link" if out.is_symlink() else "a file"
        raise SiteError(f"{out} is {what}, not a folder of an earlier site. {remedy}")
    found = [p.relative_to(out).as_posix() for p in _files(out)]
    known = _marked(out)
    if known is None and any(out.iterdir()):
        some = ", ".join(sorted(found)[:3]) or "folders"
        raise SiteError(f"{out} holds {some} and was not made by this command. {remedy}")
    if foreign := sorted({*found} - {MARKER} - (known or set())):
        raise SiteError(f"{out} holds {', '.join(foreign[:3])} beside an earlier site. {remedy}")


def _put(draft: Path, out: Path) -> None:
    refuse_foreign(out)  # a minute has passed
    replace_folder(draft, out)


def _marked(folder: Path) -> set[str] | None:
    """Names of the files that an earlier call wrote; None for a folder of someone else."""
    marker = folder / MARKER
    try:
        content = {} if marker.is_symlink() else json.loads(marker.read_text(encoding="utf-8"))
        return set(content["files"]) if content["made by"] == "invariance" else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    """Everything below a folder but folders; a link counts as a file and is not followed."""
    for place, folders, files in os.walk(folder):
        yield from (Path(place) / name for name in files)
        yield from (Path(place) / name for name in folders if (Path(place) / name).is_symlink())


# ---------------------------------------------------------------------------- the Sphinx project


def _write_source(material: Material, paths: Paths, source: Path) -> Book:
    """The pages as Sphinx reads them; every one but the first stands in a table of contents."""
    shutil.copytree(_HERE / "static", source / "static")
    book = Book(material, paths, source / "pictures")
    for name, text in book.texts():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8", errors="replace")
    return book


def _configuration(book: Book) -> dict[str, Any]:
    """What would stand in a ``conf.py``: ``sphinx.yml``, and what is known only now."""
    from invariance import __version__

    return yaml.safe_load((_HERE / "sphinx.yml").read_text(encoding="utf-8")) | {
        "project": book.about["name"],
        "release": __version__,
        "html_title": f"{book.about['name']} {__version__}",
        "companion_book": book,
        "templates_path": [str(_HERE / "templates")],
        "html_search_scorer": str(_HERE / "scorer.js"),
    }


def _sphinx(book: Book, source: Path, out: Path) -> list[str]:
    """Run Sphinx; its warnings, one line each."""
    from sphinx.application import Sphinx
    from sphinx.util.console import strip_escape_sequences
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    warning = io.StringIO()
    # twice the cores: one process reads or hands out, and none waits long for the last to end
    jobs = 2 * (os.cpu_count() or 1) if sys.platform != "win32" else 1
    collected = gc.isenabled()
    gc.disable()  # trees of documents are read and written as wholes: going over them finds nothing
    try:
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                source, None, out, source.with_name("doctrees"), "html", _configuration(book),
                status=None, warning=warning, freshenv=True, parallel=jobs,
            )  # fmt: skip
            app.build(force_all=True)
    finally:
        if collected:
            gc.enable()
    lines = strip_escape_sequences(warning.getvalue()).splitlines()
    return [line.replace(f"{source}/", "") for line in lines if line.strip()]


def _bring_mathjax(site: Path) -> None:
    """The one part of MathJax that is used, and the fonts it needs; what no page asks for goes."""
    spec = find_spec(_MATHJAX)
    assert spec is not None and spec.origin is not None
    mathjax, target = Path(spec.origin).parent / "static/mathjax", site / "_static/mathjax"
    fonts = "output/chtml/fonts/woff-v2"
    unused = shutil.ignore_patterns("*Fraktur*", "*SansSerif*", "*Script*")
    shutil.copytree(mathjax / fonts, target / fonts, ignore=unused)
    shutil.copy(mathjax / "tex-chtml.js", target)
    for pattern in ("**/*.map", "_static/webpack-macros.html", "**/fa-brands*", ".buildinfo*"):
        for path in site.glob(pattern):
            path.unlink()
