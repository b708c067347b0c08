"""`build_site`: the book written by Sphinx in a folder of its own, then put in place at once.

`write_pdf`: question, method, each paper's claims and the failures, printed as a paper.
"""

import gc
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import yaml

from ...core.extras import how_to_install
from ..errors import OutputError
from ..files import replace_folder
from ..paths import Paths
from .book import SETTINGS, Book
from .cells import as_notebook, cells_of
from .material import Material, SiteError, collect

#: The file that makes a folder ours: only a folder that holds it is ever replaced.
MARKER = ".invariance-site.json"

_HERE = Path(__file__).parent
_MATHJAX = "sphinx-mathjax-offline"  # a package whose name is no Python name
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_SECONDS = 300  # to print


def build_site(
    paths: Paths, out: Path | str | None = None, *, profile: str | None = None
) -> tuple[Path, list[str]]:
    """Write the site: pages that open from disk and fetch nothing.

    What an earlier call put into `out` (default: ``build/report``) is replaced, as a whole and when
    the new site is finished. With a `profile`, this machine's runs stand beside the published
    results. Returns the first page; and what could not be shown, with every warning of Sphinx. A
    `SiteError` if `out` holds anything else, an `OutputError` if it cannot be written.
    """
    out = Path(os.path.abspath(out or paths.build / "report"))
    refuse_foreign(out)
    material = collect(paths, profile)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as place:
            draft, source = Path(place) / "site", Path(place) / "source"
            book = _write_source(material, paths, source)
            warnings = _sphinx(book, source, draft)
            mark = {"made by": "invariance", "files": sorted(_files(draft))}
            (draft / MARKER).write_text(json.dumps(mark), "utf-8")
            refuse_foreign(out)  # half a minute has passed
            replace_folder(draft, out)
    except OSError as error:
        remedy = "free some space, or name a folder that can be written to"
        why = f"{error.strerror or error}. An earlier one is untouched; {remedy}"
        raise OutputError(f"cannot write the site to {out}: {why}") from error
    return out / "index.html", material.all_problems() + warnings


def refuse_foreign(out: Path) -> None:
    """Raise unless `out` is free, empty, or an earlier site with nothing put into it since."""
    if out.is_symlink() or out.is_file():
        what = "link" if out.is_symlink() else "file"
        fault = f"is a {what}, not a folder of an earlier site"
    elif not out.exists() or not any(out.iterdir()):
        return
    else:
        known = _marked(out / MARKER)
        more = sorted(_files(out) - {MARKER} - (known or set()))
        if known is not None and not more:
            return
        beside = "was not made by this command" if known is None else "an earlier site beside it"
        fault = f"holds {', '.join(more[:3]) or 'folders'} and {beside}"
    remedy = "Nothing was changed. Name another folder, or move away what is there"
    raise SiteError(f"{out} {fault}. {remedy}")


def _marked(marker: Path) -> set[str] | None:
    """Names of the files that an earlier call wrote; None for a folder of someone else."""
    try:
        content = {} if marker.is_symlink() else json.loads(marker.read_text(encoding="utf-8"))
        return set(content["files"]) if content["made by"] == "invariance" else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _files(folder: Path) -> set[str]:
    """Everything below a folder but folders; a link counts as a file and is not followed."""
    found = (Path(place, name) for place, *some in os.walk(folder) for name in chain(*some))
    return {p.relative_to(folder).as_posix() for p in found if p.is_symlink() or not p.is_dir()}


# ---------------------------------------------------------------------------- the Sphinx project


def _write_source(material: Material, paths: Paths, source: Path) -> Book:
    """The pages as Sphinx reads them, and, in ``extra``, what it copies as it stands."""
    shutil.copytree(_HERE / "static", source / "static")
    extra = source / "extra"
    book = Book(material, paths, extra / "pictures")
    files = dict(book.texts())
    files |= {f"extra/{name}.html": text for name, text in book.whole()}
    for notebook in material.notebooks.values():
        files[f"extra/downloads/{notebook.name}.py"] = notebook.source
        if notebook.readable:
            files[f"extra/downloads/{notebook.name}.ipynb"] = as_notebook(cells_of(notebook.source))
    files["static/glossary.js"] = f"const glossary = {json.dumps(book.about['glossary'])};\n"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8", errors="replace")
    bring_mathjax(extra / "_static/mathjax")
    return book


def _sphinx(book: Book, source: Path, out: Path) -> list[str]:
    """Run Sphinx; its warnings, one line each."""
    from sphinx.application import Sphinx
    from sphinx.util.console import strip_escape_sequences
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    from invariance import __version__

    name, warning = book.about["name"], io.StringIO()
    settings = SETTINGS | {
        "project": name, "release": __version__, "html_title": f"{name} {__version__}",
        "companion_book": book, "templates_path": [str(_HERE / "templates")],
        "html_search_scorer": str(_HERE / "scorer.js"),
    }  # fmt: skip
    # twice the cores: one process reads or hands out, and none waits long for the last to end
    jobs = 2 * (os.cpu_count() or 1) if sys.platform != "win32" else 1
    gc.disable()  # trees of documents are read and written as wholes: going over them finds nothing
    try:
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                source, None, out, source.with_name("doctrees"), "html", settings,
                status=None, warning=warning, freshenv=True, parallel=jobs,
            )  # fmt: skip
            app.build(force_all=True)
    finally:
        gc.enable()
    icons = ("**/fontawesome.*", "**/fa-[br]*.woff2")  # but the font that has all that are shown
    others = ("**/*.map", "_static/webpack-macros.html", ".buildinfo*", "objects.inv")
    for pattern in (*others, *icons):
        for path in out.glob(pattern):
            path.unlink()  # no page asks for it
    lines = strip_escape_sequences(warning.getvalue()).splitlines()
    return [line.replace(f"{source}/", "") for line in lines if line.strip()]


def bring_mathjax(target: Path) -> None:
    """The parts of MathJax that are used, what they are set to, and the fonts they need."""
    spec = find_spec(_MATHJAX)
    if spec is None or spec.origin is None:
        raise SiteError(f"the site needs {_MATHJAX}: {how_to_install('companion')}")
    source, fonts = Path(spec.origin).parent / "static/mathjax", "output/chtml/fonts"
    unused = shutil.ignore_patterns("*Fraktur*", "*SansSerif*", "*Script*", "*Calligraphic-B*")
    shutil.copytree(source / fonts / "woff-v2", target / fonts / "woff-v2", ignore=unused)
    config = yaml.safe_load((_HERE / "mathjax.yml").read_text("utf-8"))
    parts = [name.replace("[tex]", "input/tex/extensions") for name in config["loader"]["load"]]
    for name in (f"{fonts}/tex", *parts):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / f"{name}.js", target / f"{name}.js")
    startup = (source / "startup.js").read_text(encoding="utf-8")
    config = f"window.MathJax = {json.dumps(config)};\n"
    (target / "startup.js").write_text(config + startup, encoding="utf-8")


def find_chromium() -> str:
    """Return the path of Chromium: the program named in ``CHROMIUM``, or one of its usual names.

    A `SiteError` says what to do if there is none.
    """
    named = os.environ.get("CHROMIUM")
    for name in [named] if named else _CHROMIUM:
        if path := shutil.which(name):
            return path
    remedy = "install it (Debian: apt install chromium), or name the program in CHROMIUM"
    absent = f"no program {named!r} (CHROMIUM)" if named else "no Chromium on this machine"
    raise SiteError(f"{absent}: {remedy}")


def write_pdf(paths: Paths, out: Path | str | None = None) -> Path:
    """Print the published results with headless Chromium; default: to ``build/report.pdf``.

    A `SiteError` if Chromium or a package is missing, an `OutputError` if nothing was printed.
    """
    chromium = find_chromium()
    out = Path(os.path.abspath(out or paths.build / "report.pdf"))
    material = collect(paths)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        book = Book(material, paths, place / "pictures")
        (place / "report.html").write_text(book.write("report.html", "report"), encoding="utf-8")
        shutil.copy(_HERE / "static/report.css", place)
        bring_mathjax(place / "_static/mathjax")
        command = [
            chromium, "--headless", "--disable-gpu", "--no-pdf-header-footer",
            "--virtual-time-budget=60000", f"--user-data-dir={place / 'profile'}",
            f"--print-to-pdf={place / 'report.pdf'}", (place / "report.html").as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command[1:1] = ["--no-sandbox", "--disable-dev-shm-usage"]  # a container's only user
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_SECONDS
        )
        made = place / "report.pdf"
        printed = made.read_bytes() if made.is_file() else b""
        if not printed.startswith(b"%PDF-"):
            raise OutputError(f"Chromium printed nothing: {done.stderr.strip()[-300:]}")
        if b"/Font" not in printed:
            remedy = "install some (Debian: apt install fonts-dejavu-extra)"
            raise OutputError(
                f"Chromium printed pages without words, as if without fonts: {remedy}"
            )
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, f"{out}.part")
        os.replace(f"{out}.part", out)
    return out
