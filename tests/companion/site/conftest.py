"""A small project with one notebook of each sort, and the site built from it."""

import json
import os
import shutil
from contextlib import suppress
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from matplotlib.figure import Figure

from invariance.companion.files import AS_PRINTED, read_yaml
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.ledger.settings import protocol_digest
from invariance.companion.ledger.verdicts import judge
from invariance.companion.paths import Paths
from invariance.companion.run.recording import record
from invariance.companion.run.style import to_png
from invariance.companion.site.build import build_site, find_chromium
from invariance.companion.site.material import SiteError
from invariance.evaluation.rates import RateFit

ROOT = Path(__file__).parents[3]
LEDGER = ROOT / "notebooks" / "claims.yml"

BROWSER = "--no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-sync"
BROWSER += " --disable-background-networking --disable-component-update"

NOTEBOOK = """\
# %% [markdown]
# # {title}
#
# The sandwich $\\varepsilon - \\delta_2 \\le K_s(x, z)$, and `mroueh2015/xperm` has more.
#
# $$K(x, z) = \\frac{{1}}{{|G|}} \\sum_{{g \\in G}} k(x, g z)$$

# %% tags=["parameters"]
profile: str = "quick"  # quick or full

# %%
from invariance.companion import Run
from invariance.features import GroupCDF

run = Run("demo/x", profile=profile)

# %%
run.figure(fig, "accuracy", alt="An alternative text", caption="A caption")
run.table(rows, "scores")

# %% [markdown]
# ## What it shows
#
# <details><summary>Solution</summary>
#
# ```python
# bags = 792
# ```
# </details>
#
# <details><summary>none</summary>

# %%
run.say("{{best:.1f}} % are right", best=best)
run.claim("mroueh2015/fig1-rls-order", scores=scores)
for name in names:
    run.claim(f"mroueh2015/theorem1-{{name}}", difference=0)
"""


class Page(HTMLParser):
    """Ids, links, text and scripts of a page, and any traces of a hostile notebook."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str] = {"top"}
        self.links: list[str] = []
        self.words: list[str] = []
        self.scripts: list[str] = []  # addresses, and code between the tags
        self.bad: list[str] = []
        self.feed(path.read_text("utf-8"))
        self.text = " ".join("".join(self.words).split())
        self.words.clear()  # a site has millions of them

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {value for key, value in attrs if key in ("id", "name") and value}
        links = [value for key, value in attrs if key in ("href", "src") and value]
        self.links += links
        self.scripts += [found.get("src") or ""] if tag == "script" else []
        self.bad += [f"{tag} {key}" for key in found if key.startswith("on")]
        worst = ("javascript:", "data:text", "vbscript:")
        self.bad += [link for link in links if link.strip().lower().startswith(worst)]
        search = found.get("class") or found.get("action", "").endswith("search.html")
        if tag in ("iframe", "object", "embed", "base", "form") and not search:
            self.bad.append(tag)

    def handle_data(self, data):
        if self.lasttag == "script" and self.cdata_elem:
            self.scripts.append(data)
        self.words.append(data)


def target(page: Path, address: str) -> tuple[Path, str]:
    """File and anchor that a link on a page leads to."""
    parts = urlsplit(address)
    file = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
    return file, unquote(parts.fragment)


def dead_links(pages: dict[Path, Page], site: Path) -> list[str]:
    """Links of the site's pages to files and places that are not there."""
    dead = []
    for path, page in pages.items():
        for address in dict.fromkeys(page.links):
            if not urlsplit(address).scheme and not urlsplit(address).netloc:
                file, at = target(path, address)
                if not file.is_file() or (at and file in pages and at not in pages[file].ids):
                    dead.append(f"{path.relative_to(site)}: {address} leads nowhere")
    return dead


@cache
def picture() -> bytes:
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([1, 2, 3], [3, 1, 2])
    return to_png(figure)


def claim(verdict: str, ours: str, **more) -> dict:
    entry = {"kind": "value", "recorded": {}, "verdict": verdict, "ours": ours}
    return entry | {"reason": f"{ours} against the paper", "data": None, "note": None} | more


def write_results(folder: Path, notebook: str, profile: str, claims: dict, **more) -> Path:
    """A folder with ``results.json``, a figure and a table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "accuracy.png").write_bytes(picture())
    (folder / "scores.csv").write_text("method,score\nhaar,0.99\n", "utf-8")
    content = {
        "schema": 1, "notebook": notebook, "profile": profile, "seed": 0, "claims": claims,
        "figures": [{"name": "accuracy", "files": ["accuracy.png"],
                     "alt": "Accuracy against size", "caption": "Accuracy against $N$, `x`."}],
        "tables": [{"name": "scores", "file": "scores.csv", "caption": "Scores, $\\pm$ an error."}],
        "says": [{"text": "{best:.1f} % are right", "said": f"{some} % are *right*"}
                 for some in (91.5, 97.3)],
        "provenance": {"code": "0.1.0+gabc", "packages": {"numpy": "2.0"}, "parameters": {}},
        "volatile": {"finished": "2026-01-31T12:00:00+00:00", "wall_s": 61.5},
    }  # fmt: skip
    (folder / "results.json").write_text(json.dumps(content | more), "utf-8")
    return folder


def executed(*cells: object) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def code_cell(source: str, *outputs: dict) -> dict:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": list(outputs)}


def shown(data: dict, **ours: str) -> dict:
    return {"output_type": "display_data", "data": data, "metadata": {"invariance": ours}}


def make_project(root: Path) -> Paths:
    """One notebook published and run here, one published only, one with its text alone."""
    paths = Paths(root)
    paths.notebooks.mkdir(parents=True)
    claims = read_yaml(LEDGER, AS_PRINTED)
    for entry in claims["claims"]:
        entry.setdefault("protocol", "ten draws")  # some have no registered protocol yet
    paths.ledger.write_text(yaml.dump(claims, Dumper=yaml.CSafeDumper), "utf-8")
    shutil.copytree(ROOT / "notebooks/pages", paths.notebooks / "pages")
    for name in ("errata.yml", "figures.yml", "tables.yml"):
        shutil.copy(ROOT / "notebooks" / name, paths.notebooks)
    about = read_yaml(ROOT / "notebooks/papers.yml")
    about["reference"] = ["invariance.features"]  # the rest is alike
    about["repository"] = "https://github.com/some/one"
    paths.papers.write_text(yaml.safe_dump(about, sort_keys=False), "utf-8")
    for name in ("mroueh2015/xperm", "liu2022/few_samples", "guides/own_data"):
        paths.source(name).parent.mkdir(parents=True, exist_ok=True)
        paths.source(name).write_text(NOTEBOOK.format(title=f"On {name.split('/')[1]}"), "utf-8")
    fit = RateFit(-1.0, -1.01, -0.99, 0.0, 0.005, 9, "repetitions")
    numbers = {
        "mroueh2015/fig1-rls-order": {"order": "a > b", "scores": {"a": [0.9, 1], "b": [0.1, 0.2]}},
        "mroueh2015/theorem1-psd": {"difference": 1e-3, "tolerance": 1e-7},
        "mroueh2015/theorem1-limit": {"rates": fit, "expected": -1.0},
        "mroueh2015/fig2-10-per-class": {"value": 76.1, "se": 0.4},
    }
    notes = {"mroueh2015/theorem1-psd": "too few", "mroueh2015/fig2-10-per-class": "fewer pixels"}
    claims, ledger = {}, load_ledger(paths.ledger)
    for name, given in numbers.items():
        recorded = record(ledger[name], given)
        entry = {"kind": ledger[name].kind, "recorded": recorded, "note": notes.get(name)}
        entry |= {"protocol": protocol_digest(ledger[name]), "data": None}
        claims[name] = entry | judge(ledger[name], recorded)._asdict()
    write_results(paths.published("mroueh2015/xperm"), "mroueh2015/xperm", "full", claims)
    write_results(paths.published("liu2022/few_samples"), "liu2022/few_samples", "full", {})
    built = paths.output("mroueh2015/xperm", "quick")
    write_results(built, "mroueh2015/xperm", "quick", claims)
    (built / "executed.ipynb").write_text(executed(
        {"cell_type": "markdown", "metadata": {}, "source": "# On xperm\n\nWith words."},
        code_cell("print(1)", {"output_type": "stream", "name": "stdout", "text": "10%\r100%\n"}),
        code_cell("run.figure(f, 'accuracy')", shown({"text/plain": "F"}, figure="accuracy"),
                  shown({"text/markdown": "Accuracy against $N$, `x`."}),
                  shown({"text/plain": "T"}, table="scores")),
        code_cell("table", shown({"text/html": "<table><tr><th>way</th></tr><tr><td>by hand</td>"
                                               "</tr></table>", "text/plain": "way"})),
        code_cell("for c in claims: c", *[shown({"text/plain": c}, claim=c) for c in claims]),
    ), "utf-8")  # fmt: skip
    return paths


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; without it or without fonts, every test that needs it is skipped."""
    try:
        path = find_chromium()
    except SiteError as error:
        pytest.skip(str(error))
    api = pytest.importorskip("playwright.sync_api", reason="needs the extra `test`")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=BROWSER.split())
        with suppress(api.Error):  # without fonts a page may crash
            page = launched.new_page()
            page.set_content("<p>word")
            if b"/Font" in page.pdf():
                return path
    pytest.skip("Chromium shows no words: install fonts (Debian: apt install fonts-dejavu-extra)")


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=BROWSER.split())
        yield launched
        launched.close()


def open_page(browser, **options):
    """Open a page; return it and the list of its errors, requests and dialogs."""
    context = browser.new_context(reduced_motion="reduce", **options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    ours = ("file:", "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(ours) else complaints.append(r.url))
    return page, complaints


@pytest.fixture(scope="module")
def page(browser):
    """One page for all tests that only read; it must end without errors."""
    made, complaints = open_page(browser)
    yield made
    made.context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def small(made_once) -> SimpleNamespace:
    """The site of the small project with damaged and hostile notebooks, and its problems."""

    def make(folder: Path) -> None:
        from .hostile import attack, spoil

        paths = make_project(folder / "project")
        complaints = spoil(paths)
        attack(paths)
        _, problems = build_site(paths, folder / "site", profile="quick")
        (folder / "said.json").write_text(
            json.dumps({"problems": problems, "says": complaints}), "utf-8"
        )

    folder = made_once("small", make)
    noted = json.loads((folder / "said.json").read_text("utf-8"))
    return SimpleNamespace(site=folder / "site", **noted)


@pytest.fixture(scope="session")
def pages(small) -> dict[str, Page]:
    return {
        path.relative_to(small.site).as_posix(): Page(path) for path in small.site.rglob("*.html")
    }


@pytest.fixture
def project(tmp_path: Path, made_once) -> Paths:
    made = made_once("project", lambda folder: make_project(folder / "of"))
    return Paths(shutil.copytree(made / "of", tmp_path / "p"))
