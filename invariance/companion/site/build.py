"""`build_site`: the book written by Sphinx in a folder of its own, then put in place at once."""

import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import OutputError
from ..paths import Paths
from . import reference
from .cells import page_of
from .extension import Book
from .material import Material, SiteError, collect
from .uses import public

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
            book = _write_source(material, source)
            warnings = _sphinx(book, source, draft, Path(place) / "doctrees")
            _prune(draft)
            problems = material.all_problems() + warnings + dead_links(draft)
            files = sorted(p.relative_to(draft).as_posix() for p in _files(draft))
            (draft / MARKER).write_text(json.dumps({"made by": "invariance", "files": files}))
            _put(draft, out, Path(place))
    except OSError as error:
        raise OutputError(
            f"cannot write the site to {out}: {error.strerror or error}. An earlier one is "
            "untouched; free some space or name a folder that can be written to"
        ) from error
    return out / "index.html", problems


def refuse_foreign(out: Path) -> None:
    """Raise unless `out` is free, empty, or an earlier site with nothing put into it since."""
    if not os.path.lexists(out):
        return
    remedy = "Nothing was changed. Name another folder, or move away what is there yourself"
    mode = out.lstat().st_mode
    if not stat.S_ISDIR(mode):
        what = "a link" if stat.S_ISLNK(mode) else "a file"
        raise SiteError(f"{out} is {what}, not a folder of an earlier site. {remedy}")
    found = sorted(p.relative_to(out).as_posix() for p in _files(out))
    if not found and not any(out.iterdir()):
        return
    known = _marked(out)
    if known is None:
        raise SiteError(f"{out} holds {_some(found)} and was not made by this command. {remedy}")
    foreign = [name for name in found if name not in known and name != MARKER]
    if foreign:
        raise SiteError(f"{out} holds {_some(foreign)} beside an earlier site. {remedy}")


def _marked(folder: Path) -> set[str] | None:
    marker = folder / MARKER
    if marker.is_symlink() or not marker.is_file():
        return None
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
        return set(content["files"]) if content["made by"] == "invariance" else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    """Everything below a folder but folders; a link counts as a file and is not followed."""
    for place, folders, files in os.walk(folder):
        yield from (Path(place) / name for name in files)
        yield from (Path(place) / name for name in folders if (Path(place) / name).is_symlink())


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more if names else "folders"


def _put(draft: Path, out: Path, place: Path) -> None:
    """`draft` in the place of `out`, which goes with the temporary folder."""
    refuse_foreign(out)  # an hour may have passed
    aside = place / "earlier"
    draft.chmod(0o755)
    if out.exists():
        os.rename(out, aside)
    try:
        os.rename(draft, out)
    except OSError:
        if aside.exists():
            os.rename(aside, out)
        raise


# ---------------------------------------------------------------------------- the Sphinx project


def _write_source(material: Material, source: Path) -> Book:
    shutil.copytree(_HERE / "pages", source)
    shutil.copytree(_HERE / "static", source / "static")
    pages = {notebook.name: page_of(notebook) for notebook in material.notebooks.values()}
    book = Book(material, pages, source / "pictures")
    for name, page in pages.items():
        _write(source / f"{name}.ipynb", page.ipynb)
    for paper in material.papers:
        title = f"{paper.short}: {paper.title}" if paper.title else paper.short
        notebooks = [name for name in pages if name.startswith(f"{paper.key}/")]
        shown = f"```{{gallery}} {paper.key}/\n```\n\n{_contents(notebooks)}"
        text = f"# {title}\n\n```{{paper}} {paper.key}\n```\n\n## Notebooks\n\n{shown}"
        _write(source / "papers" / f"{paper.key}.md", text)
    _append(source / "papers/index.md", _contents([f"papers/{p.key}" for p in material.papers]))
    for group in ("compare", "guides"):
        found = [name for name in pages if name.startswith(f"{group}/")]
        _append(source / group / "index.md", _contents(found))
    known = {"compare", "guides", *(paper.key for paper in material.papers)}
    others = [name for name in pages if name.split("/")[0] not in known]
    _append(source / "about.md", _contents(others))
    for address, text in reference.pages():
        _write(source / f"{address}.rst", text)
    _append(source / "api/index.md", _contents([f"api/{module}" for module in public()]))
    return book


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")


def _append(path: Path, text: str) -> None:
    _write(path, (path.read_text(encoding="utf-8") if path.exists() else "") + "\n" + text)


def _contents(pages: list[str]) -> str:
    listed = "\n".join(f"/{page}" for page in pages)
    return f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n" if pages else ""


def _configuration(book: Book) -> dict[str, Any]:
    """What would stand in a ``conf.py``."""
    from invariance import __version__

    return {
        "project": "invariance",
        "release": __version__,
        "html_title": f"invariance {__version__}",
        "extensions": [
            "myst_nb",
            "sphinx.ext.autodoc",
            "sphinx.ext.autosummary",
            "sphinx.ext.napoleon",
            "sphinx.ext.mathjax",
            "sphinx.ext.viewcode",
            "sphinx_copybutton",
            "invariance.companion.site.extension",
        ],
        "invariance_book": book,
        "exclude_patterns": ["static"],
        "nb_execution_mode": "off",
        "nb_code_prompt_show": "Show the code",
        "nb_code_prompt_hide": "Hide the code",
        "myst_enable_extensions": ["dollarmath", "amsmath"],
        "myst_disable_syntax": ["html_block", "html_inline"],
        "myst_heading_anchors": 3,
        # a cell may begin with any level of heading; a word in a type may name many attributes
        "suppress_warnings": ["myst.header", "ref.python"],
        "default_role": "name",
        "autodoc_typehints": "none",
        "autodoc_member_order": "bysource",
        "autosummary_generate": False,
        "napoleon_use_rtype": False,
        "napoleon_use_ivar": True,
        "mathjax_path": "mathjax/tex-chtml.js",
        # what a formula may do is to be a formula: no links, no loading of further parts
        "mathjax3_config": {
            "tex": {"packages": {"[-]": ["autoload", "require"]}},
            "options": {"enableMenu": False},
        },
        "html_theme": "pydata_sphinx_theme",
        "html_static_path": ["static"],
        "html_css_files": ["site.css"],
        "html_search_scorer": str(_HERE / "scorer.js"),
        "html_copy_source": False,
        "html_show_search_summary": False,  # it fetches pages, which a browser refuses from disk
        "html_use_index": False,
        "html_domain_indices": False,
        "html_show_sourcelink": False,
        "html_show_sphinx": False,
        "html_theme_options": {
            "navigation_with_keys": True,
            "show_nav_level": 1,
            "navigation_depth": 2,
            "collapse_navigation": True,
            "show_prev_next": True,
            "secondary_sidebar_items": ["page-toc"],
            "navbar_align": "left",
            "footer_start": [],
            "footer_end": [],
            "use_edit_page_button": False,
        },
        "html_sidebars": {"index": []},
        "html_context": {"default_mode": "auto"},
        "copybutton_prompt_text": r">>> |\.\.\. ",
        "copybutton_prompt_is_regexp": True,
    }


def _sphinx(book: Book, source: Path, out: Path, doctrees: Path) -> list[str]:
    """Run Sphinx; its warnings, one line each."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    warning = io.StringIO()
    jobs = min(2, os.cpu_count() or 1) if sys.platform != "win32" else 1
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            source, None, out, doctrees, "html", _configuration(book), status=None,
            warning=warning, freshenv=True, parallel=jobs,
        )  # fmt: skip
        app.build(force_all=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", warning.getvalue())
    return [line.replace(f"{source}/", "") for line in plain.splitlines() if line.strip()]


# names, punctuation and blanks, which have no colour of their own: half of the markup of code
_UNCOLOURED = re.compile(r'<span class="(?:n|p|o|w|pre)">([^<]*)</span>')
_TOOLTIP = re.compile(r' title="invariance\.[\w.]*"')

_METHOD = re.compile(r'(href="[^"#]*/api/invariance[\w.]*\.[A-Z]\w*\.html)#[^"]*(?=")')


def _prune(site: Path) -> None:
    """Bring in the one part of MathJax that is used, and drop what no page asks for."""
    spec = find_spec(_MATHJAX)
    assert spec is not None and spec.origin is not None
    mathjax = Path(spec.origin).parent / "static" / "mathjax"
    target = site / "_static" / "mathjax"
    target.mkdir(parents=True)
    shutil.copy(mathjax / "tex-chtml.js", target)
    fonts = Path("output/chtml/fonts/woff-v2")
    shutil.copytree(mathjax / fonts, target / fonts)
    for pattern in ("**/*.map", "_static/webpack-macros.html", "**/fa-brands*", ".buildinfo*"):
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in site.rglob("*.html"):
        parts = re.split(r"(<pre.*?</pre>)", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        parts[::2] = [re.sub(r"\s*\n\s*", "\n", part) for part in parts[::2]]
        page = _UNCOLOURED.sub(r"\1", "".join(parts))
        page = _TOOLTIP.sub("", re.sub(r'</span>(\n+ *)<span class="sd">', r"\1", page))
        if "_modules" in path.parts:  # viewcode gives methods the module that inherits them
            page = _METHOD.sub(r"\1", page)
        path.write_text(page, encoding="utf-8")


# ------------------------------------------------------------------------------------------ links


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found: Mapping[str, str | None] = dict(attrs)
        self.ids |= {v for k, v in attrs if k in ("id", "name") and v}
        self.links += [v for k in ("href", "src") if (v := found.get(k))]


def dead_links(site: Path) -> list[str]:
    """Links of the site's pages to files and places that are not there."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = _Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    dead = []
    for path, page in pages.items():
        for address in dict.fromkeys(page.links):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (
                path
                if not parts.path
                else Path(os.path.normpath(path.parent / unquote(parts.path)))
            )
            there = target in pages or target.is_file()
            at = unquote(parts.fragment)
            if not there or (at and target in pages and at not in pages[target].ids | {"top"}):
                dead.append(f"{path.relative_to(site)}: {address} leads nowhere")
    return dead
