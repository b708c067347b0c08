"""The report on a small project: what its pages say, that they need nothing else, how they look."""

import base64
import io
import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import matplotlib.pyplot as plt
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from invariance.companion.errors import LedgerError, OutputError
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.notebook.figures import to_png, to_svg
from invariance.companion.report import ReportError, build_report
from invariance.companion.report.prose import clean, rich, typeset

LEDGER = Path(__file__).parents[2] / "notebooks" / "claims.yml"
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)> & \"quoted\""
FORBIDDEN = ["cdnjs", "cdn.", "unpkg", "googleapis", "MathJax", "require.js", "ns0:", "xmlns",
             "No description has been provided", "<script src", "<link rel=\"stylesheet",
             "@import", "url("]  # fmt: skip

PROSE = r"""# Sorting words: $X_{\mathrm{perm}}$

The sandwich $\varepsilon - \delta_2 \le K_s(x, z) - (1 - d_G(x, z)) \le \varepsilon + \delta_1$ and

$$K(x, z) = \frac{1}{|G|}\sum_{g \in G} k(x, gz) + \int_G \lVert gx - z\rVert_2\,d\mu(g) \tag{1}$$

## A wide one

\begin{align}
\hat f &= \operatorname*{arg\,min}_{w} \frac1N\sum_{i=1}^N (y_i - w^\top\Phi(x_i))^2 + \lambda\lVert w\rVert^2 + \lambda\lVert w\rVert^2 + \lambda\lVert w\rVert^2 \\
&= \begin{cases} \mathbf{A}^{-1} b & \text{if invertible} \\ \begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix} \tilde b & \text{otherwise} \end{cases}
\end{align}

#### Too deep

| method | a | b | c | d | e | f | g | h | i |
|---|---|---|---|---|---|---|---|---|---|
| averaged | 0.9876 | 0.9876 | 0.9876 | 0.9876 | 0.9876 | 0.9876 | 0.9876 | 0.9876 | 0.9876 |

<script>fetch("https://example.org")</script><a href="javascript:alert(1)">here</a>
"""  # noqa: E501


def _figure(folder: Path, name: str, alt: str) -> dict:
    figure, axes = plt.subplots(figsize=(6, 5.5))
    axes.plot([1, 2, 3], [3, 1, 2], label=name)
    axes.set(xlabel="training points a class", ylabel="accuracy")
    (folder / f"{name}.png").write_bytes(to_png(figure))
    (folder / f"{name}.svg").write_bytes(to_svg(figure, alt))
    plt.close(figure)
    return {
        "name": name,
        "files": [f"{name}.svg", f"{name}.png"],
        "alt": alt,
        "caption": f"Accuracy against $N$, `{name}`.",
    }


def _claim(verdict: str, ours: str, **more) -> dict:
    return {
        "kind": "value",
        "recorded": {},
        "verdict": verdict,
        "ours": ours,
        "reason": f"{ours} against the paper >= -0.5",
        "data": None,
        "note": None,
    } | more


def _results(folder: Path, name: str, profile: str, claims: dict, figures: list, tables=()) -> dict:
    content = {
        "schema": 1, "notebook": name, "profile": profile, "seed": 0,
        "parameters": {"profile": profile, "seed": 0}, "claims": claims,
        "figures": figures, "tables": list(tables),
        "provenance": {"code": "0.1.0+gabc", "packages": {"numpy": "2.0", "python": "3.11"},
                       "seed": 0, "parameters": {}, "data": {}},
        "volatile": {"started": "2026-01-31T11:59:00+00:00",
                     "finished": "2026-01-31T12:00:00+00:00", "wall_s": 61.5,
                     "peak_memory_mb": 321.4, "timings": {},
                     "hardware": {"processor": "a processor", "cores": 2}},
    }  # fmt: skip
    (folder / "results.json").write_text(json.dumps(content))
    return content


def _status(folder: Path, name: str, status: str, failure=None, executed="executed.ipynb") -> None:
    (folder / "status.json").write_text(
        json.dumps({"schema": 1, "notebook": name, "profile": "quick", "status": status,
                    "failure": failure, "duration_s": 75.0, "executed": executed})
    )  # fmt: skip


def _display(data: dict, **names: str) -> nbformat.NotebookNode:
    return new_output("display_data", data=data, metadata={"invariance": names} if names else {})


def make_project(root: Path) -> Path:
    """One notebook that completed, one that failed half-way, one that is committed only."""
    (root / "notebooks").mkdir(parents=True)
    shutil.copyfile(LEDGER, root / "notebooks" / "claims.yml")

    (root / "CITATION.cff").write_text(
        'references:\n  - title: "Features <b>"\n    year: 2015\n'
        "    authors: [{family-names: Mroueh}, {family-names: Voinea}]\n"
    )
    good = root / "build/quick/mroueh2015/xperm"
    good.mkdir(parents=True)
    figure = _figure(good, "accuracy", "Accuracy against training size; the average is on top.")
    (good / "scores.csv").write_text("method,score\nhaar,0.99\n")
    claims = {
        "mroueh2015/theorem1-sandwich": _claim("matched", "0 of 500 trials violate"),
        "mroueh2015/fig1-rls-order": _claim("matched", "a 0.9 ± 0.1, b 0.8 ± 0.1, c 0.7 ± 0.1"),
        "mroueh2015/fig2-10-per-class": _claim("short", "86.1 ± 0.4", data="bundled digits",
                                               note=f"fewer pixels, $8 \\times 8$ {HOSTILE}"),
        "mroueh2015/theorem1-psd": _claim("violated", "largest difference 1e-3"),
    }  # fmt: skip
    tables = [{"name": "scores", "file": "scores.csv", "caption": "Scores, $\\pm$ one error."}]
    _results(good, "mroueh2015/xperm", "quick", claims, [figure], tables)
    _status(good, "mroueh2015/xperm", "ok")
    png = base64.b64encode((good / "accuracy.png").read_bytes()).decode()
    outputs = [
        new_output("stream", name="stdout", text="10%\r100%\nnoise of the run\n"),
        _display({"image/png": png, "text/plain": "Figure"}, figure="accuracy"),
        _display({"text/markdown": figure["caption"]}),
        _display({"text/markdown": tables[0]["caption"]}),
        _display({"text/html": "<table border='1'><tr><th>method</th></tr><tr><td>haar</td></tr>"
                               f"</table>{HOSTILE}<style>td{{color:red}}</style>"}, table="scores"),
        _display({"application/vnd.jupyter.widget-view+json": "{}"}),
        new_output("execute_result", data={"text/plain": "Verdict(verdict='matched')"}),
        *[_display({"text/html": "<p>as the notebook shows it</p>"}, claim=c) for c in claims],
    ]  # fmt: skip
    notebook = new_notebook(
        cells=[
            new_markdown_cell(PROSE),
            new_code_cell('profile: str = "quick"\nseed: int = 0',
                          metadata={"tags": ["parameters"]}),
            new_code_cell('profile = "quick"', metadata={"tags": ["injected-parameters"]}),
            new_code_cell("print('<b>bold</b>')  # " + "x" * 200, outputs=outputs),
        ]
    )  # fmt: skip
    nbformat.write(notebook, good / "executed.ipynb")

    bad = root / "build/quick/soleymani2025/spectral"
    (bad / "failed").mkdir(parents=True)
    _results(bad / "failed", "soleymani2025/spectral", "quick",
             {"soleymani2025/weyl-law": _claim("better", "1.02")}, [])  # fmt: skip
    traceback = f"\x1b[31mRuntimeError\x1b[0m: {HOSTILE}"
    error = new_output("error", ename="RuntimeError", evalue=HOSTILE, traceback=[traceback])
    cell = new_code_cell("raise RuntimeError", outputs=[error])
    pointer = new_markdown_cell(
        "<span>An Exception was encountered</span>", metadata={"tags": ["papermill-error-cell-tag"]}
    )
    text = new_markdown_cell("# Spectral averaging\n\nUntil then.")
    half = new_notebook(cells=[pointer, text, cell])
    nbformat.write(half, bad / "failed" / "executed.ipynb")
    failure = {"kind": "exception", "message": f"RuntimeError: {HOSTILE}", "traceback": traceback,
               "cell_index": 3, "cell_source": f"raise RuntimeError({HOSTILE!r})"}  # fmt: skip
    _status(bad, "soleymani2025/spectral", "failed", failure, "failed/executed.ipynb")

    full = root / "figures/liu2022/few_samples"
    full.mkdir(parents=True)
    _results(
        full,
        "liu2022/few_samples",
        "full",
        {
            "liu2022/table2-mnist-svm": _claim("matched", "68.16, 78.67, 87.14"),
            "liu2022/table1-mnist": _claim("better", "60, 400"),
        },
        [_figure(full, "gram", "Smallest eigenvalue against the number of rows.")],
    )
    return root


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return make_project(tmp_path_factory.mktemp("project"))


def _build(project: Path, out: Path, **more) -> Path:
    return build_report(project / "build", project / "figures", out, **more)


@pytest.fixture(scope="module")
def report(project) -> Path:
    return _build(project, project / "report").parent


class _Page(HTMLParser):
    """Elements in order, with attributes and the text inside each."""

    void = {"meta", "link", "img", "br", "hr", "input", "wbr", "col"}

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.elements, self._open = path, [], []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self._open, f"{path.name}: unclosed {self._open[-1]['tag']}"

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in self.void:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        assert tag in self.void, f"{self.path.name}: <{tag}/>"
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self._open and self._open[-1]["tag"] == tag, f"{self.path.name}: stray </{tag}>"
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, *tags):
        return [e for e in self.elements if e["tag"] in tags]

    @property
    def ids(self):
        return [e["id"] for e in self.elements if "id" in e]


@pytest.fixture(scope="module")
def pages(report) -> dict[str, _Page]:
    return {p.relative_to(report).as_posix(): _Page(p) for p in sorted(report.rglob("*.html"))}


def test_one_page_a_notebook_and_an_index(pages):
    own = {name for name in pages if not name.startswith("reference/")}
    assert own == {"index.html", "mroueh2015/xperm.html", "liu2022/few_samples.html",
                          "soleymani2025/spectral.html"}  # fmt: skip


def test_every_claim_of_the_ledger_stands_on_the_index(pages):
    ledger = load_ledger(LEDGER)
    rows = [e for e in pages["index.html"].all("tr") if "data-verdict" in e]
    assert [row["id"] for row in rows] == list(ledger)
    verdicts = {row["id"]: row["data-verdict"] for row in rows}
    recorded = {
        "mroueh2015/theorem1-sandwich": "matched", "mroueh2015/fig1-rls-order": "matched",
        "mroueh2015/theorem1-psd": "violated",
        "liu2022/table2-mnist-svm": "matched", "liu2022/table1-mnist": "better",
    }  # fmt: skip
    # what a failed attempt had recorded does not count, nor what a stand-in gave
    assert verdicts == {claim: recorded.get(claim, "open") for claim in ledger}
    text = {row["id"]: " ".join(row["text"].split()) for row in rows}
    assert "✕ Violated" in text["mroueh2015/theorem1-psd"]
    assert "Not yet reproduced" in text["soleymani2025/weyl-law"]
    assert "68.16, 78.67, 87.14 % accuracy" in text["liu2022/table2-mnist-svm"]
    assert "on bundled digits" in text["mroueh2015/fig2-10-per-class"]
    titles = {e["id"]: e["text"] for e in pages["index.html"].all("h3") if "id" in e}
    assert titles["mroueh2015"] == "Features <b>" and titles["raj2017"] == "Raj 2017"
    heading = next(e for e in pages["index.html"].all("h2") if e["id"] == "found")
    assert heading["text"] == f"4 of {len(ledger)} claims reproduced"


def test_links_and_anchors_lead_somewhere(pages, report):
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), f"{name}: repeated ids"
        for link in page.all("a"):
            address = link.get("href")
            if address is None:  # a refused address
                continue
            target, _, anchor = address.partition("#")
            path = (report / name).parent / unquote(target) if target else report / name
            assert path.is_file(), f"{name}: {address}"
            if anchor and path.suffix == ".html":
                reached = pages[path.resolve().relative_to(report.resolve()).as_posix()]
                assert anchor in reached.ids, f"{name}: {address}"
    index = pages["index.html"]
    assert any(a.get("href") == "mroueh2015/xperm.html#claim-theorem1-sandwich"
               for a in index.all("a"))  # fmt: skip


def test_pages_hold_everything_themselves(pages, report):
    for name, page in pages.items():
        source = page.path.read_text(encoding="utf-8")
        for words in FORBIDDEN:
            assert words not in source, f"{name}: {words}"
        for element in page.elements:
            for attribute in ("src", "srcset", "poster", "data"):
                assert str(element.get(attribute, "data:")).startswith("data:"), name
        assert len(source) < 1_000_000


def test_pages_are_accessible(pages):
    for page in pages.values():
        assert page.all("html")[0]["lang"] == "en"
        assert len(page.all("main")) == 1 and len(page.all("h1")) == 1
        levels = [int(e["tag"][1]) for e in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
        assert levels[0] == 1
        assert all(b - a <= 1 for a, b in pairwise(levels)), levels
        assert all(image["alt"].strip() for image in page.all("img"))
        labelled = [e["aria-labelledby"] for e in page.elements if "aria-labelledby" in e]
        assert set(labelled) <= set(page.ids)


def test_hostile_text_is_shown_and_not_run(pages):
    for page in pages.values():
        assert len(page.all("script")) == 1  # our own
        assert "alert" not in page.all("script")[0]["text"]
        assert not [e for e in page.elements if any(a.startswith("on") for a in e)]
        assert not [e for e in page.all("a") if "javascript:" in (e.get("href") or "")]
    for name in ("mroueh2015/xperm.html", "soleymani2025/spectral.html", "index.html"):
        text = "".join(e["text"] for e in pages[name].all("body"))
        assert "<script>alert('x')</script>" in text
    assert "\x1b" not in "".join(p.path.read_text(encoding="utf-8") for p in pages.values())


def test_notebook_page(pages):
    page = pages["mroueh2015/xperm.html"]
    text = " ".join(page.all("main")[0]["text"].split())
    assert len([m for m in page.all("math") if m.get("display") == "block"]) == 2
    assert "$" not in page.all("article")[0]["text"]
    code = [e for e in page.all("details") if e.get("class") == "code"]
    assert [("open" in e) for e in code] == [True, True]
    printed = next(e for e in page.all("details") if e.get("class") == "printed")
    assert "open" not in printed and "10%" not in printed["text"]
    cards = [e for e in page.all("aside")]
    assert [e["id"] for e in cards] == [
        "claim-theorem1-sandwich",
        "claim-fig1-rls-order",
        "claim-fig2-10-per-class",
        "claim-theorem1-psd",
    ]
    assert "as the notebook shows it" not in text and "Verdict(" not in text
    assert text.count("Accuracy against") == 1 and text.count("one error") == 1
    assert "In this run: profile = quick, seed = 0" in text
    assert "An interactive element stands here" in text
    assert "against the paper ≥ −0.5" in text
    figure = next(e for e in page.all("figure") if e.get("id") == "figure-accuracy")
    assert "Accuracy against" in figure["text"]


def test_failed_notebook_shows_what_it_had(pages):
    page = pages["soleymani2025/spectral.html"]
    text = " ".join(page.all("main")[0]["text"].split())
    assert "did not complete" in text and "✕ Failed after 75 s" in text
    assert "Until then." in text and "raise RuntimeError" in text
    assert page.all("h1")[0]["text"] == "Spectral averaging"
    assert "An Exception was encountered" not in text
    index = pages["index.html"]
    section = next(e for e in index.all("section") if e.get("aria-labelledby") == "failures")
    assert "Spectral averaging" in text and "Traceback" in section["text"]


def test_committed_results_have_a_page_without_an_executed_notebook(pages):
    page = pages["liu2022/few_samples.html"]
    text = " ".join(page.all("main")[0]["text"].split())
    assert "committed; not run on this machine" in text and "At full scale" in text
    assert {"figure-gram", "claim-table2-mnist-svm", "claim-table1-mnist"} <= set(page.ids)


def test_same_results_give_the_same_bytes(project, report, tmp_path):
    again = _build(project, tmp_path / "again").parent
    files = sorted(p.relative_to(report) for p in report.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    for file in files:
        assert (again / file).read_bytes() == (report / file).read_bytes(), file


def test_formula_not_understood_is_marked_listed_and_refused_when_strict(tmp_path):
    project = make_project(tmp_path / "project")
    path = project / "build/quick/mroueh2015/xperm/executed.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[0].source += "\nSee $\\eqref{haar} <b>$."
    nbformat.write(notebook, path)
    index = _build(project, tmp_path / "report")
    assert "mroueh2015/xperm</a>, cell 1: formula not understood" in index.read_text()
    assert r"\eqref{haar} &lt;b&gt;" in (index.parent / "mroueh2015/xperm.html").read_text()
    before = index.read_bytes()
    with pytest.raises(ReportError, match=r"mroueh2015/xperm, cell 1: formula not understood"):
        _build(project, tmp_path / "report", strict=True)
    assert index.read_bytes() == before
    assert not list(tmp_path.glob(".report*"))


def test_nothing_to_report(tmp_path):
    (tmp_path / "notebooks").mkdir()
    shutil.copyfile(LEDGER, tmp_path / "notebooks/claims.yml")
    with pytest.raises(ReportError, match="invariance run --profile quick"):
        _build(tmp_path, tmp_path / "report")
    with pytest.raises(LedgerError):
        _build(tmp_path, tmp_path / "report", ledger=tmp_path / "none.yml")
    assert not (tmp_path / "report").exists()


def test_a_folder_that_is_no_report_is_left_alone(project, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ReportError, match="Name another folder"):
        _build(project, tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        _build(project, tmp_path / "file" / "report")


def test_results_of_another_profile_are_not_mixed_in(project, tmp_path):
    index = _Page(_build(project, tmp_path / "report", profile="full"))
    found = {row["id"] for row in index.all("tr") if row.get("data-verdict", "open") != "open"}
    assert found == {"liu2022/table2-mnist-svm", "liu2022/table1-mnist"}


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("|w|_inf <= C/m", "|w|<sub>∞</sub> ≤ C/m"),
        ("falls as n^(-s/(s + d/2)), the rate", "falls as n<sup>−s/(s + d/2)</sup>, the rate"),
        ("D^lambda(g) is orthogonal", "D<sup>λ</sup>(g) is orthogonal"),
        ("T_g I = |J_g|^(-1/2) I(g^-1 x)",
         "T<sub>g</sub> I = |J<sub>g</sub>|<sup>−1/2</sup> I(g<sup>−1</sup> x)"),
        ("eps0 + eps1 with K_s -> s - d_G",
         "ε<sub>0</sub> + ε<sub>1</sub> with K<sub>s</sub> → s − d<sub>G</sub>"),
        ("steps and positive definite pi", "steps and positive definite π"),
        ("<b> & x^", "&lt;b&gt; &amp; x^"),
    ],
)  # fmt: skip
def test_typeset(plain, shown):
    assert typeset(plain) == shown


def test_typeset_loses_no_claim():
    for claim in load_ledger(LEDGER).values():
        words = re.findall(r"[a-z]{6,}", claim.says)
        shown = re.sub(r"<[^>]+>", "", typeset(claim.says))
        assert all(word in shown for word in words if word not in ("lambda",)), claim.id


def test_rich_and_clean_keep_text_and_drop_danger():
    assert rich("price $5 <i>") == "price $5 &lt;i&gt;"
    assert clean('<a href="http://a.b/c">x</a><svg onload="f()"><b>y</b></svg>') == (
        '<a href="http://a.b/c">x</a>'
    )
    assert clean('<form action="x"><p>gone</p></form><p style="color:red">kept</p>') == (
        "<p>kept</p>"
    )


# ------------------------------------------------------------------------------ in a browser

BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("no chromium on this machine: install Debian's `chromium` to test the pages")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=BROWSER)
        yield chromium
        chromium.close()


_CLIPPED = """() => [...document.querySelectorAll('figure.picture img, .gallery img')].filter(i => {
  const box = i.getBoundingClientRect(), card = i.closest('.card').getBoundingClientRect();
  return !i.complete || !i.naturalWidth || box.width < 20 || box.height < 20
    || box.left < card.left - 1 || box.right > card.right + 1
    || box.top < card.top - 1 || box.bottom > card.bottom + 1
    || Math.abs(box.width / box.height - i.naturalWidth / i.naturalHeight) > 0.05;
}).length"""
_UNSEEN_MATH = """() => [...document.querySelectorAll('math')].filter(m => {
  const box = m.getBoundingClientRect();
  return box.width < 2 || box.height < 4;
}).map(m => m.outerHTML)"""
_ESCAPING = """() => [...document.querySelectorAll('body *')].filter(e => {
  if (e.closest('.unseen, .skip, .scroll, .formula, pre')) return false;
  const box = e.getBoundingClientRect();
  return box.width && box.right > document.documentElement.clientWidth + 1
    && !e.closest('p, li')?.matches('.prose p, .prose li');
}).map(e => e.outerHTML.slice(0, 120))"""


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1280, "light")])
def test_in_a_browser(browser, report, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    formulas = 0
    for path in sorted(report.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="load")
        size = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        assert size[0] <= size[1], f"{path.name} scrolls sideways at {width} px"
        assert page.evaluate(_ESCAPING) == [], path.name
        assert page.evaluate(_CLIPPED) == 0, path.name
        assert page.evaluate(_UNSEEN_MATH) == [], path.name
        formulas += page.locator("math").count()
    assert formulas >= 6
    assert complaints == []
    assert {url.split(":")[0] for url in requests} <= {"file", "data"}
    assert all(report.as_posix() in url for url in requests if url.startswith("file"))
    context.close()


@pytest.mark.browser
def test_filter(browser, report):
    page = browser.new_page()
    page.goto((report / "index.html").as_uri())
    rows = page.locator("tr[data-verdict]:visible")
    total = len(load_ledger(LEDGER))
    assert rows.count() == total
    page.select_option("[name=verdict]", "violated")
    assert [rows.nth(i).get_attribute("id") for i in range(rows.count())] == [
        "mroueh2015/theorem1-psd"
    ]
    assert page.locator("section.paper:visible").count() == 1
    page.locator("#filter button").click()
    page.wait_for_function("document.querySelectorAll('tr[data-verdict][hidden]').length == 0")
    page.fill("[name=words]", "emnist TABLE 2")
    assert 0 < rows.count() < 20
    page.close()


@pytest.mark.browser
def test_without_scripts_all_claims_show(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((report / "index.html").as_uri())
    assert page.locator("tr[data-verdict]:visible").count() == len(load_ledger(LEDGER))
    assert page.locator("#filter:visible").count() == 0
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_ground(browser, report, scheme):
    """WCAG AA: contrast 4.5 of text, on what is really drawn under it."""
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    script = """() => {
      const light = c => { const v = c.map(x => (x /= 255) <= .03928 ? x / 12.92
        : ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
      const parse = s => s.match(/[\\d.]+/g).map(Number);
      const bad = new Set();
      for (const e of document.querySelectorAll('body *')) {
        const words = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
        if (!words || !e.getClientRects().length) continue;
        let under = e, ground;
        do { ground = parse(getComputedStyle(under).backgroundColor); under = under.parentElement; }
        while (under && ground.length == 4 && ground[3] == 0);
        const a = light(parse(getComputedStyle(e).color).slice(0, 3));
        const b = light(ground.slice(0, 3));
        const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (contrast < 4.5) bad.add(e.tagName + '.' + e.className + ' ' + contrast.toFixed(2));
      }
      return [...bad];
    }"""
    for path in sorted(report.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate(script) == [], path.name
    context.close()


@pytest.mark.browser
def test_printed(browser, report, tmp_path):
    page = browser.new_page()
    page.goto((report / "mroueh2015/xperm.html").as_uri())
    content = page.pdf(format="A4")
    assert io.BytesIO(content).read(5) == b"%PDF-"
    page.emulate_media(media="print")
    assert page.locator("nav.turn:visible").count() == 0
    page.close()


# ------------------------------------------------------------------------- API reference


def test_reference_holds_every_public_name(pages):
    """Each name in a documented module's ``__all__`` that has a docstring has its section."""
    from importlib import import_module

    from invariance.companion.report.reference import MODULES

    index = pages["reference/index.html"]
    addresses = {a.get("href") for a in index.all("a")}
    for name in MODULES:
        module = import_module(name)
        address = f"{name.removeprefix('invariance.')}.html"
        page = pages[f"reference/{address}"]
        for public in module.__all__:
            if callable(getattr(module, public)):
                assert public in page.ids, f"{name}: {public}"
                assert f"{address}#{public}" in addresses
    assert any(a.get("href") == "reference/index.html" for a in pages["index.html"].all("a"))


def test_reference_shows_formulas_examples_and_links(pages):
    from invariance.companion.report.reference import reference_pages

    page = pages["reference/features.html"]
    text = " ".join(page.all("main")[0]["text"].split())
    assert len([m for m in page.all("math") if m.get("display") == "block"]) >= 3
    for unread in ("$", ":math:", ".. math", "``", "######", "&lt;", "-----"):
        assert unread not in text, unread
    assert ">>> features = GroupCDF(CyclicShifts(6)" in text
    assert "GroupCDF.transform" in page.ids and "GroupCDF.get_params" not in page.ids
    assert "set_fit_request" not in text
    assert "GroupCDF(group: Transformations | None = None" in text
    linked = {a.get("href") for a in page.all("a")}
    assert "features.html#draw_templates" in linked
    assert [p.problems for p in reference_pages() if p.problems] == []


@pytest.mark.parametrize(
    ("docstring", "shown"),
    [
        ("k(x, z) = <x, z>.", "k(x, z) = &lt;x, z&gt;."),
        ("See ``a < b``.", "See `a < b`."),
        (".. math:: a\n          < b\n\nand", "\n$$a\n          < b$$\n"),
        ("X\n\nRaises\n------\nValueError\n    If x < 0.", "**Raises**"),
        ("One::\n\n    x = 1", "One:\n\n    x = 1"),
    ],
)
def test_docstrings_become_markdown(docstring, shown):
    from invariance.companion.report.reference import to_markdown

    assert shown in to_markdown(docstring)


def test_guides_have_a_section_of_their_own(tmp_path):
    project = make_project(tmp_path / "project")
    folder = project / "build/quick/guides/own"
    folder.mkdir(parents=True)
    _results(folder, "guides/own", "quick", {}, [])
    _status(folder, "guides/own", "ok")
    view = "application/vnd.jupyter.widget-view+json"
    widget = {view: "{}", "text/plain": "interactive(children"}
    cells = [new_markdown_cell("# Your own data"), new_code_cell("x", outputs=[_display(widget)])]
    nbformat.write(new_notebook(cells=cells), folder / "executed.ipynb")
    index = _Page(_build(project, tmp_path / "report"))
    section = next(e for e in index.all("section") if e.get("aria-labelledby") == "guides")
    assert "guides/own" in section["text"] and "xperm" not in section["text"]
    page = (tmp_path / "report/guides/own.html").read_text()
    assert "An interactive element stands here" in page and "interactive(children" not in page


def test_names_of_notebooks_lead_to_their_pages(tmp_path):
    project = make_project(tmp_path / "project")
    table = (
        "<table><tr><td>mroueh2015/xperm, accuracy</td><td>liu2022/few_samples, gram</td>"
        "<td>mroueh2015/xperm, elsewhere</td><td>no/notebook, accuracy</td>"
        "<td>guides/all</td></tr></table>"
    )
    cells = [
        new_markdown_cell("# All\n\nSee `mroueh2015/xperm` and [`liu2022/few_samples`](#a)."),
        new_code_cell("x", outputs=[_display({"text/html": table})]),
    ]
    folder = project / "build/quick/guides/all"
    folder.mkdir(parents=True)
    _results(folder, "guides/all", "quick", {}, [])
    _status(folder, "guides/all", "ok")
    nbformat.write(new_notebook(cells=cells), folder / "executed.ipynb")
    _build(project, tmp_path / "report")
    page = (tmp_path / "report/guides/all.html").read_text()
    article = page.partition("<article>")[2].partition("</article>")[0]
    links = re.findall(r'<a href="([^"]*)">(.*?)</a>', article)
    assert links == [
        ("../mroueh2015/xperm.html", "mroueh2015/xperm"),
        ("#a", "<code>liu2022/few_samples</code>"),
        ("../mroueh2015/xperm.html#figure-accuracy", "mroueh2015/xperm, accuracy"),
        ("../liu2022/few_samples.html#figure-gram", "liu2022/few_samples, gram"),
        ("../mroueh2015/xperm.html", "mroueh2015/xperm, elsewhere"),
    ]  # fmt: skip
    assert "<td>no/notebook, accuracy</td>" in article and "<td>guides/all</td>" in article
