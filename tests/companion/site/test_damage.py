"""Bad artefacts: each is its own notebook's problem, by name; everything else is shown."""

import base64
import json
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from invariance.companion.site.build import build_site

from .conftest import (
    CUNNING,
    HOSTILE,
    NOTEBOOK,
    claim,
    code_cell,
    make_project,
    shown,
    write_executed,
    write_results,
)

EVIL = HOSTILE + CUNNING


def _huge_png() -> bytes:
    """A picture of 100,000 by 100,000 pixels in a hundred bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        sum_ = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + sum_

    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0" * 100)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", data), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _spoil(paths) -> dict[str, str]:
    """A notebook for each sort of damage; what its page must say."""
    built = lambda name: paths.output(name, "quick")  # noqa: E731
    says = {}

    def one(name: str, complaint: str) -> Path:
        says[f"raj2017/{name}"] = complaint
        source = paths.source(f"raj2017/{name}")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(NOTEBOOK.format(title=f"The one called {name}"))
        folder = built(f"raj2017/{name}")
        folder.mkdir(parents=True)
        return folder

    folder = one("truncated", "damaged")
    write_executed(folder, [code_cell("x = 1")])
    text = (folder / "executed.ipynb").read_text()
    (folder / "executed.ipynb").write_text(text[: len(text) // 2])
    write_executed(one("cells", "is no notebook of format 4"), ["no cell", 3])
    one("latin", "latin.py cannot be read")
    paths.source("raj2017/latin").write_bytes("# %% [markdown]\n# # Schölkopf".encode("latin-1"))
    (one("status", "[1] is no mapping") / "status.json").write_text("[1]")
    write_results(one("claims", "'claims' is [1], not a mapping"), "raj2017/claims", "quick", [1])
    write_results(one("noverdict", "malformed entries: raj2017/fig1"), "raj2017/noverdict", "quick",
                  {"raj2017/fig1": [1]})  # fmt: skip
    (one("results", "results.json: not readable as results") / "results.json").write_text(
        '{"claims": '
    )
    (one("deep", "results.json: not readable as results") / "results.json").write_text(
        "[" * 200_000
    )
    folder = one("huge", "figure accuracy: not a PNG picture, or too large a one")
    write_results(folder, "raj2017/huge", "quick", {})
    (folder / "accuracy.png").write_bytes(_huge_png())
    png = base64.b64encode(_huge_png()).decode()
    write_executed(
        one("output", "a picture in an output"), [code_cell("p", shown({"image/png": png}))]
    )
    folder = one("table", "scores.csv cannot be read")
    write_results(folder, "raj2017/table", "quick", {})
    (folder / "scores.csv").write_bytes(b"\xff\xfe\x00")
    folder = one("folder", "no file accuracy.png")
    write_results(folder, "raj2017/folder", "quick", {})
    (folder / "accuracy.png").unlink()
    (folder / "accuracy.png").mkdir()
    (built("raj2017/folder.html")).mkdir()  # a folder named like a page
    failure = {"message": f"RuntimeError: {EVIL}", "cell_source": EVIL}
    (one("failed", "RuntimeError") / "status.json").write_text(
        json.dumps({"status": "failed", "failure": failure})
    )
    return says


def _attack(paths) -> None:
    """Markup in every place that takes text."""
    name = "soleymani2025/attack"
    paths.source(name).parent.mkdir(parents=True, exist_ok=True)
    body = NOTEBOOK.format(title=EVIL)
    body += f"\n# %% [markdown]\n# ## {EVIL}\n# {EVIL}\n#\n# [here](javascript:alert(6))\n"
    body += "# ```{raw} html\n# <script>alert(7)</script>\n# ```\n"
    body += "#\n# ```{eval-rst}\n# .. raw:: html\n#\n#    <script>alert(8)</script>\n# ```\n"
    body += "#\n# $\\href{javascript:alert(9)}{x}$\n"
    paths.source(name).write_text(body)
    claims = {
        "soleymani2025/weyl-law": claim("violated", EVIL, note=EVIL, reason=EVIL, data=EVIL),
        EVIL: claim("matched", EVIL),
        "soleymani2025/example5.2": claim(EVIL, "1"),
    }
    folder = paths.published(name)
    write_results(folder, name, "full", claims)
    content = json.loads((folder / "results.json").read_text())
    content["figures"][0] |= {"alt": EVIL, "caption": EVIL + " $\\href{javascript:alert(1)}{a}$"}
    content["tables"][0]["caption"] = EVIL
    content["tables"].append({"name": EVIL, "file": "x.csv", "caption": EVIL})
    content["says"] = [{"text": EVIL, "said": EVIL}, {"text": "x", "said": "[a](javascript:b)"}]
    content["provenance"] |= {"code": EVIL, "packages": {EVIL: EVIL}}
    content["volatile"]["hardware"] = {EVIL: EVIL}
    (folder / "results.json").write_text(json.dumps(content))
    (folder / "scores.csv").write_text(f'"{EVIL.replace(chr(34), chr(34) * 2)}",b\n1,2\n')
    html = {"text/html": f"<table><tr><td>{EVIL}</td></tr></table>{EVIL}", "text/plain": EVIL}
    error = {"output_type": "error", "ename": "E", "evalue": EVIL, "traceback": [EVIL]}
    stream = {"output_type": "stream", "name": "stdout", "text": EVIL}
    write_executed(paths.output("soleymani2025/evil", "quick"), [
        {"cell_type": "markdown", "metadata": {}, "source": f"# {EVIL}\n\n{EVIL}"},
        code_cell(EVIL, stream, error, shown(html), shown({"text/html": EVIL, "text/plain": EVIL}),
                  shown({"image/svg+xml": EVIL, "text/plain": EVIL}),
                  shown({"text/markdown": f"{EVIL} [x](javascript:alert(1))"}),
                  shown({"application/javascript": "alert(1)"}), shown({"text/latex": EVIL})),
    ])  # fmt: skip
    write_results(paths.output("soleymani2025/evil", "quick"), "soleymani2025/evil", "quick", {})
    # a cell that the compiler cannot take: it ended the whole report once
    minus = "guides/minus"
    paths.source(minus).write_text(
        "# %% [markdown]\n# # Minus\n\n# %%\nx = " + "-" * 20_000 + "1\n"
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    paths = make_project(tmp_path_factory.mktemp("hostile"))
    says = _spoil(paths)
    _attack(paths)
    index, problems = build_site(paths, profile="quick")
    return index.parent, problems, says


class _Elements(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.scripts: list[dict] = []
        self.inline: list[str] = []
        self.bad: list[str] = []
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self._script = tag == "script"
        if tag == "script":
            self.scripts.append(found)
        for name, value in attrs:
            if name.startswith("on"):
                self.bad.append(f"{tag} {name}")
            if name in ("href", "src") and (value or "").strip().lower().startswith(
                ("javascript:", "data:text", "vbscript:")
            ):
                self.bad.append(f"{tag} {name}={value}")
        if tag in ("iframe", "object", "embed", "base", "form") and not found.get("class"):
            self.bad.append(tag)

    def handle_data(self, data):
        if self._script:
            self.inline.append(data)

    def handle_endtag(self, tag):
        self._script = False


def test_every_page_is_there(built):
    site, _, says = built
    for name in [*says, "mroueh2015/xperm", "liu2022/few_samples", "soleymani2025/attack",
                 "soleymani2025/evil", "guides/minus"]:  # fmt: skip
        assert (site / f"{name}.html").is_file(), name


def test_each_problem_stands_on_its_own_page_and_in_the_list(built):
    site, problems, says = built
    about = (site / "about.html").read_text()
    for name, complaint in says.items():
        page = (site / f"{name}.html").read_text()
        assert complaint in page.replace("&#39;", "'"), name
        assert f"{name}: " in about, name
        if name != "raj2017/failed":  # a notebook that failed is no fault of the site
            assert any(p.startswith(f"{name}: ") and complaint in p for p in problems), name
    good = (site / "mroueh2015/xperm.html").read_text()
    assert "cannot be shown" not in good and "published, full scale" in good


def test_no_script_gets_through(built):
    site, _, _ = built
    for path in sorted(site.rglob("*.html")):
        text = path.read_text()
        page = _Elements(text)
        assert page.bad == [], path.name
        assert [s for s in page.inline if "alert(" in s] == [], path.name
        for script in page.scripts:
            assert not script.get("src", "").startswith(("http", "//")), path.name
    evil = (site / "soleymani2025/evil.html").read_text()
    assert "&lt;script&gt;alert" in evil and "<![CDATA[" not in evil and "<![if" not in evil


def test_minus_signs(built):
    site, _, _ = built
    assert "-" * 1000 in (site / "guides/minus.html").read_text()


def test_a_byte_order_mark_is_read_over(tmp_path):
    from invariance.companion.site.cells import page_of
    from invariance.companion.site.material import collect

    paths = make_project(tmp_path)
    text = paths.source("guides/own_data").read_text()
    paths.source("guides/own_data").write_text(text, encoding="utf-8-sig")
    notebook = collect(paths).notebooks["guides/own_data"]
    assert page_of(notebook).title == "On own_data" and notebook.problems == []
