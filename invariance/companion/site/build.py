"""`build_site` writes the pages with Sphinx in a temporary folder, then puts them in place.

`write_pdf` prints question, method, each paper's claims and the failures as a paper.
"""

import gc
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from codecs import BOM_UTF16_BE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import yaml

from ...core.extras import how_to_install
from ..errors import OutputError
from ..files import replace_folder
from ..paths import Paths
from .book import SETTINGS, Book
from .cells import as_notebook, cells_of
from .material import Material, Notebook, SiteError, collect

#: The file that marks a folder as an earlier site; only such a folder is ever replaced.
MARKER = ".invariance-site.json"

_HERE = Path(__file__).parent
#: Elements in which white space is shown or belongs to code.
_WITH_WHITE_SPACE = re.compile(r"(<(pre|script|textarea)\b.*?</\2>)", re.DOTALL)
_MATHJAX = "sphinx-mathjax-offline"  # a package with a name that Python cannot import
_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_PRINT_S = 300  # seconds to print
_FEED_LENGTH = 2000  # characters of a version's changes in the feed
#: What the theme and its extensions write, and what stands there instead.
_REPAIRS = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    "<summary><span": '<summary aria-label="Pages below"><span',
    'title="Search" aria-label="Search"': 'aria-label="Search Ctrl+K"',
    '<meta name="viewport" content="width=device-width, initial-scale=1.0" />': "",
    '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n': "",
    '<meta name="docsearch:language" content="en"/>\n': "",
    '<meta name="docsearch:version" content="" />\n': "",
    "<!--\nthis give us a css class that will be invisible only if js is disabled\n-->\n": "",
    ' docutils container"': ' container"',
}
# Files that no page asks for; one font has all the icons that are shown.
_UNUSED_FILES = (
    "**/*.map",
    "_static/webpack-macros.html",
    ".buildinfo*",
    "objects.inv",
    "**/fontawesome.*",
    "**/fa-[br]*.woff2",
)


def build_site(
    paths: Paths, out: Path | str | None = None, *, profile: str | None = None
) -> tuple[Path, list[str]]:
    """Write the site: pages that open from disk and fetch nothing from the web.

    An earlier site in `out` (default: ``build/report``) is replaced as a whole, once the new one is
    finished. With a `profile`, this machine's runs are shown beside the published results. Return
    the first page, and a list of what could not be shown, with every warning of Sphinx.

    Raises a `SiteError` if `out` holds anything else, an `OutputError` if it cannot be written.
    """
    out = Path(os.path.abspath(out or paths.build / "report"))
    refuse_foreign(out)
    material = collect(paths, profile)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
            draft = Path(folder) / "site"
            source = Path(folder) / "source"
            book = _write_source(material, paths, source)
            warnings = _run_sphinx(book, source, draft)
            if book.about["address"]:
                pages = sorted(path.relative_to(draft).as_posix() for path in draft.rglob("*.html"))
                (draft / "sitemap.xml").write_text(sitemap(pages, book.about["address"]), "utf-8")
            if book.in_browser:
                shutil.copytree(paths.lite, draft / "lite", copy_function=_link)
            marker = {"made by": "invariance", "files": sorted(_files(draft))}
            (draft / MARKER).write_text(json.dumps(marker), "utf-8")
            refuse_foreign(out)  # something may have been put there during the build
            replace_folder(draft, out)
    except OSError as error:
        remedy = "free some space, or name a folder that can be written to"
        reason = f"{error.strerror or error}. An earlier one is untouched; {remedy}"
        raise OutputError(f"cannot write the site to {out}: {reason}") from error
    return out / "index.html", material.all_problems() + warnings


def _link(source: str, target: str) -> None:
    """Make a second name for a file or, on a file system without them, a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


# --------------------------------------------------------------------------- the output folder


def refuse_foreign(out: Path) -> None:
    """Raise unless `out` is free, empty, or an earlier site without any later addition."""
    fault = _foreign_content(out)
    if fault:
        remedy = "Nothing was changed. Name another folder, or move away what is there"
        raise SiteError(f"{out} {fault}. {remedy}")


def _foreign_content(out: Path) -> str:
    """Return why a folder must not be replaced, or an empty text."""
    if out.is_symlink():
        return "is a link, not a folder of an earlier site"
    if out.is_file():
        return "is a file, not a folder of an earlier site"
    if not out.exists() or not any(out.iterdir()):
        return ""
    written = _written_files(out / MARKER)
    added = sorted(_files(out) - {MARKER} - (written or set()))
    listed = ", ".join(added[:3]) or "folders"
    if written is None:
        return f"holds {listed} and was not made by this command"
    if added:
        return f"holds {listed} and an earlier site beside it"
    return ""


def _written_files(marker: Path) -> set[str] | None:
    """Return the names of the files of an earlier site; None for any other folder."""
    if marker.is_symlink():
        return None
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
        if content["made by"] != "invariance":
            return None
        return set(content["files"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _files(folder: Path) -> set[str]:
    """Return everything below a folder except folders; a link counts as a file."""
    files = set()
    for place, folder_names, file_names in os.walk(folder):
        for name in [*folder_names, *file_names]:
            path = Path(place, name)
            if path.is_symlink() or not path.is_dir():
                files.add(path.relative_to(folder).as_posix())
    return files


# ---------------------------------------------------------------------------- the Sphinx project


def _write_source(material: Material, paths: Paths, source: Path) -> Book:
    """Write the pages that Sphinx reads, and in ``extra`` the files that it copies unchanged."""
    shutil.copytree(_HERE / "static", source / "static")
    extra = source / "extra"
    book = Book(material, paths, extra / "pictures")
    files = dict(book.sphinx_pages())
    for name, text in book.plain_pages():
        files[f"extra/{name}.html"] = text
    for notebook in material.notebooks.values():
        files |= _downloads(book, notebook, extra / "downloads")
    entries = json.dumps(book.search_entries(), ensure_ascii=False, separators=(",", ":"))
    files["static/entries.js"] = f"const searchEntries = {entries};\n"
    files["extra/claims/claims.csv"] = book.claims_csv()
    files["extra/claims/claims.json"] = json.dumps(book.claims_table(), indent=1)
    if book.has_feed:
        changes = (paths.root / "CHANGELOG.md").read_text("utf-8")
        files["extra/changelog.xml"] = feed(changes, book.about)
    files["static/glossary.js"] = f"const glossary = {json.dumps(book.about['glossary'])};\n"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8", errors="replace")
    bring_mathjax(extra / "_static/mathjax")
    return book


def feed(changelog: str, about: Mapping[str, Any]) -> str:
    """Return an RSS feed of the changelog, one item per version with the start of its text.

    >>> text = "# Changes\\n## [0.2.0]\\nA group.\\n## [0.1.0]\\nThe first."
    >>> feed(text, {"name": "lab", "address": "https://lab.example"}).count("<item>")
    2
    """
    items = []
    for section in changelog.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        name = f"{about['name']} {title.strip('[] ')}"
        digest = sha256(section.encode()).hexdigest()[:16]
        items.append(
            f"<item><title>{escape(name)}</title><link>{about['address']}/changelog.html</link>"
            f'<guid isPermaLink="false">{digest}</guid>'
            f"<description>{escape(text.strip()[:_FEED_LENGTH])}</description></item>"
        )
    head = f"<title>{escape(about['name'])}: changes</title><link>{about['address']}</link>"
    head += "<description>What changed in each version</description>"
    content = "\n".join([head, *items])
    return f'<?xml version="1.0"?>\n<rss version="2.0"><channel>{content}</channel></rss>\n'


def sitemap(pages: Sequence[str], address: str) -> str:
    """Return the list of pages that search engines read; it needs the site's address.

    >>> print(sitemap(["index.html"], "https://lab.example"))
    <?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc>https://lab.example/index.html</loc></url>
    </urlset>
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">')
    for page in pages:
        if page != "search.html":
            lines.append(f"<url><loc>{escape(f'{address}/{page}')}</loc></url>")
    return "\n".join([*lines, "</urlset>"])


def _downloads(book: Book, notebook: Notebook, folder: Path) -> dict[str, str]:
    """Return the files of a notebook for readers: texts by name.

    A notebook that imports modules beside it is in one archive with them, which is written here;
    the archive holds the notebook for Jupyter, and its text only if it cannot be converted.
    """
    texts = {f"{notebook.name}.py": notebook.source}
    if notebook.readable:
        texts[f"{notebook.name}.ipynb"] = as_notebook(cells_of(notebook.source))
    helpers = book.helpers(notebook)
    if not helpers:
        return {f"extra/downloads/{name}": text for name, text in texts.items()}
    if notebook.readable:
        del texts[f"{notebook.name}.py"]
    for name, text in helpers.items():
        texts[f"{notebook.paper}/{name}"] = text
    path = folder / f"{notebook.name}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            member = ZipInfo(name)  # dated 1980, so that equal texts give equal archives
            member.compress_type = ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, text.encode("utf-8", errors="replace"), compresslevel=9)
    return {}


def _run_sphinx(book: Book, source: Path, out: Path) -> list[str]:
    """Run Sphinx; return its warnings, one line each."""
    from sphinx.application import Sphinx
    from sphinx.util.console import strip_escape_sequences
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    from invariance import __version__

    name = book.about["name"]
    settings = dict(SETTINGS)
    settings["project"] = name
    settings["release"] = __version__
    settings["html_title"] = f"{name} {__version__}"
    settings["companion_book"] = book
    settings["templates_path"] = [str(_HERE / "templates")]
    settings["html_search_scorer"] = str(_HERE / "scorer.js")
    warnings = io.StringIO()
    # Twice the cores, since one process mostly hands out work, and small chunks end together.
    n_processes = 1 if sys.platform == "win32" else 2 * (os.cpu_count() or 1)
    with _without_garbage_collection(), patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=source,
            confdir=None,
            outdir=out,
            doctreedir=source.with_name("doctrees"),
            buildername="html",
            confoverrides=settings,
            status=None,
            warning=warnings,
            freshenv=True,
            parallel=n_processes,
        )
        app.build(force_all=True)
    for pattern in _UNUSED_FILES:
        for path in out.glob(pattern):
            path.unlink()
    for path in out.rglob("*.html"):
        path.write_text(repaired(without_indentation(path.read_text("utf-8"))), "utf-8")
    lines = strip_escape_sequences(warnings.getvalue()).splitlines()
    return [line.replace(f"{source}/", "") for line in lines if line.strip()]


def without_indentation(html: str) -> str:
    r"""Return a page without empty lines and indentation, which are an eightieth of a site.

    >>> without_indentation("<p>\n\n  one\n</p>\n<pre>\n  two</pre>")
    '<p>\none\n</p>\n<pre>\n  two</pre>'
    """
    pieces = []
    end = 0
    for element in _WITH_WHITE_SPACE.finditer(html):
        pieces += [_in_short_lines(html[end : element.start()]), element[0]]
        end = element.end()
    return "".join([*pieces, _in_short_lines(html[end:])])


def repaired(html: str) -> str:
    """Return a page of Sphinx with its extensions' faults in accessibility mended.

    Names of buttons contain the words that they show, and a menu's arrow has a name. Attributes
    that say a thing twice are left out.

    >>> repaired('<summary aria-label="Toggle hidden content">Show the code</summary>')
    '<summary>Show the code</summary>'

    The class `container` stays, since the style of hidden cells asks for it.

    >>> repaired('<div class="cell docutils container">')
    '<div class="cell container">'
    """
    for fault, remedy in _REPAIRS.items():
        html = html.replace(fault, remedy)
    return html


def _in_short_lines(html: str) -> str:
    return re.sub(r"\s*\n\s*", "\n", html)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Save a fifth of a build: collections search the trees of all documents, and free nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def bring_mathjax(target: Path) -> None:
    """Copy the parts of MathJax that are used, with their settings and fonts."""
    spec = find_spec(_MATHJAX)
    if spec is None or spec.origin is None:
        raise SiteError(f"the site needs {_MATHJAX}: {how_to_install('companion')}")
    source = Path(spec.origin).parent / "static/mathjax"
    fonts = Path("output/chtml/fonts")
    unused = shutil.ignore_patterns("*Fraktur*", "*SansSerif*", "*Script*", "*Calligraphic-B*")
    shutil.copytree(source / fonts / "woff-v2", target / fonts / "woff-v2", ignore=unused)
    settings = yaml.safe_load((_HERE / "mathjax.yml").read_text("utf-8"))
    components = [f"{fonts}/tex"]
    for name in settings["loader"]["load"]:
        components.append(name.replace("[tex]", "input/tex/extensions"))
    for name in components:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / f"{name}.js", target / f"{name}.js")
    startup = (source / "startup.js").read_text(encoding="utf-8")
    configured = f"window.MathJax = {json.dumps(settings)};\n{startup}"
    (target / "startup.js").write_text(configured, encoding="utf-8")


# ------------------------------------------------------------------------------------ the report


def find_chromium() -> str:
    """Return the path of Chromium: the program named in ``CHROMIUM``, or one of its usual names.

    A `SiteError` with the remedy if there is none.
    """
    chosen = os.environ.get("CHROMIUM")
    for name in [chosen] if chosen else _CHROMIUM_NAMES:
        path = shutil.which(name)
        if path:
            return path
    fault = f"no program {chosen!r} (CHROMIUM)" if chosen else "no Chromium on this machine"
    remedy = "install it (Debian: apt install chromium), or name the program in CHROMIUM"
    raise SiteError(f"{fault}: {remedy}")


def write_pdf(paths: Paths, out: Path | str | None = None) -> Path:
    """Print the published results with headless Chromium; default: to ``build/report.pdf``.

    A `SiteError` if Chromium or a package is missing, an `OutputError` if nothing was printed.
    """
    chromium = find_chromium()
    out = Path(os.path.abspath(out or paths.build / "report.pdf"))
    material = collect(paths)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book = Book(material, paths, folder / "pictures")
        text = book.render("report.html", "report", edition=book.edition)
        (folder / "report.html").write_text(text, encoding="utf-8")
        shutil.copy(_HERE / "static/report.css", folder)
        bring_mathjax(folder / "_static/mathjax")
        printed = with_metadata(
            _print(chromium, folder),
            {
                "Title": book.about["title"],
                "Author": book.edition["authors"],
                "Subject": "; ".join(paper.title for paper in material.papers),
                "Keywords": f"version {book.edition['version']}",
                "CreationDate": f"D:{book.edition['day'].replace('-', '')}",
            },
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(f"{out}.part")
        partial.write_bytes(printed)
        os.replace(partial, out)
    return out


def with_metadata(pdf: bytes, words: Mapping[str, str]) -> bytes:
    """Return a PDF whose properties are these words, by name, in place of those of its printer.

    They are appended as a new version of the document, as the format allows; nothing else changes.
    A document without a plain table of its objects is returned as it is.
    """
    start = re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", pdf)
    trailer = re.search(rb"trailer\s*<<.*?/Size (\d+).*?/Root (\d+ \d+ R).*?>>", pdf, re.DOTALL)
    if start is None or trailer is None:
        return pdf
    n_objects = int(trailer[1])
    entries = []
    for name, text in words.items():
        if text.isascii():
            coded = text.encode().hex()
        else:
            coded = (BOM_UTF16_BE + text.encode("utf-16-be")).hex()
        entries.append(f"/{name} <{coded}>")
    properties = f"{n_objects} 0 obj\n<<{' '.join(entries)}>>\nendobj\n".encode()
    table = f"xref\n{n_objects} 1\n{len(pdf):010} 00000 n \n"
    table += f"trailer\n<</Size {n_objects + 1} /Root {trailer[2].decode()} "
    table += f"/Info {n_objects} 0 R /Prev {start[1].decode()}>>\n"
    table += f"startxref\n{len(pdf) + len(properties)}\n%%EOF\n"
    return pdf + properties + table.encode()


def _print(chromium: str, folder: Path) -> bytes:
    """Print ``report.html`` of a folder, and return the PDF."""
    made = folder / "report.pdf"
    command = [chromium, "--headless", "--disable-gpu", "--no-pdf-header-footer"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in a container
        command += ["--no-sandbox", "--disable-dev-shm-usage"]
    command += [
        "--virtual-time-budget=60000",
        f"--user-data-dir={folder / 'profile'}",
        f"--print-to-pdf={made}",
        (folder / "report.html").as_uri(),
    ]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", timeout=_PRINT_S
    )
    printed = made.read_bytes() if made.is_file() else b""
    if not printed.startswith(b"%PDF-"):
        raise OutputError(f"Chromium printed nothing: {done.stderr.strip()[-300:]}")
    if b"/Font" not in printed:
        fault = "Chromium printed pages without words, as if without fonts"
        raise OutputError(f"{fault}: install some (Debian: apt install fonts-dejavu-extra)")
    return printed
