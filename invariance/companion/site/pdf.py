"""`write_pdf`: question, method, each paper's claims and the failures, printed as a paper."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..errors import OutputError
from ..paths import Paths
from .book import Book
from .build import bring_mathjax
from .material import SiteError, collect

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_HERE = Path(__file__).parent
_SECONDS = 300


def write_pdf(paths: Paths, out: Path | str | None = None) -> Path:
    """Print the published results with headless Chromium; default: to ``build/report.pdf``.

    A `SiteError` if Chromium or a package is missing, an `OutputError` if nothing was printed.
    """
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if chromium is None or shutil.which(chromium) is None:
        remedy = "install it (Debian: apt install chromium), or name the program in CHROMIUM"
        what = f"the report is printed with Chromium, and {chromium or 'none'} was found"
        raise SiteError(f"{what}: {remedy}")
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
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        made = place / "report.pdf"
        if not made.is_file() or made.read_bytes()[:5] != b"%PDF-":
            raise OutputError(f"Chromium printed nothing: {done.stderr.strip()[-300:]}")
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, f"{out}.part")
        os.replace(f"{out}.part", out)
    return out
