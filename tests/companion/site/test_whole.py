"""The site of this project's published results: what a reader of a fresh clone sees.

Building it takes a minute. `INVARIANCE_SITE` may name a folder that ``make site`` has just written.
"""

import os
import re
from pathlib import Path

import pytest

from invariance.companion.ledger.papers import read_papers
from invariance.companion.paths import Paths
from invariance.companion.site.book import Book
from invariance.companion.site.build import build_site
from invariance.companion.site.material import collect
from invariance.companion.site.reference import Reference
from invariance.companion.site.text import anchor

from .conftest import ROOT, Page, dead_links, target
from .test_browser import CUT, open_page, search

pytestmark = pytest.mark.browser


def _build(folder: Path) -> None:
    for name in ("notebooks", "figures"):
        (folder / name).symlink_to(ROOT / name)
    assert build_site(Paths(folder), folder / "site")[1] == []


@pytest.fixture(scope="module")
def site(made_once) -> Path:
    if built := os.environ.get("INVARIANCE_SITE"):
        return Path(built)
    return made_once("whole", _build) / "site"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_it_is_small_and_no_link_is_dead(site):
    assert dead_links(site) == []
    assert sum(p.stat().st_size for p in site.rglob("*") if p.is_file()) < 15e6


def test_from_every_claim_to_its_evidence_the_paper_the_function_and_back(site, pages):
    """One click each way, for every claim that has a result."""
    material = collect(Paths(ROOT))
    book = Book(material, Paths(ROOT), site)
    walked = 0
    for paper in material.papers:
        home = site / f"papers/{paper.key}.html"
        assert paper.links, paper.key
        sections = {
            found[1]: section
            for section in home.read_text().split("<section")
            if (found := re.search(r'id="(claim-[^"]+)"', section))
        }
        for row in paper.rows:
            at, measured = (anchor(row.claim.id, what) for what in ("claim", "measured"))
            assert at in sections and at in pages[home].ids
            if row.result is None:
                continue
            links = [a for a in re.findall(r'href="([^"]+)"', sections[at])]
            for address in paper.links.values():
                assert address in links, row.claim.id
            leads = [target(home, a) for a in links if not a.startswith("https")]
            evidence = site / f"{row.notebook}.html"
            assert (evidence, measured) in leads and measured in pages[evidence].ids
            back = {target(evidence, a) for a in pages[evidence].links}
            assert (home, at) in back, f"{row.claim.id}: no way back from its run"
            for name in book.mathematics(material.notebooks[row.notebook]):
                entry, place = next(lead for lead in leads if lead[1] == name)
                assert place in pages[entry].ids
                returns = {target(entry, a) for a in pages[entry].links}
                assert (home, at) in returns, f"{row.claim.id}: no way back from {name}"
                assert (evidence, "") in returns
            walked += 1
    assert walked == sum(row.result is not None for row in material.rows) > 100


def test_every_public_name_leads_to_its_source(site, pages):
    sources = {name for path in site.glob("_modules/**/*.html") for name in pages[path].ids}
    entries = {name for path in site.glob("api/*.html") for name in pages[path].ids}
    public = Reference(read_papers(Paths(ROOT))["reference"]).modules
    names = [f"{module}.{name}" for module, short in public.items() for name in short]
    assert [name for name in names if name not in entries] == []
    assert [name for name in names if name.rpartition(".")[2] not in sources] == []


PHONE, DESK, LARGE = (375, 800), (1280, 900), (640, 450)  # the last: 1280 pixels at 200 %
SIZES = [(PHONE, "dark"), (DESK, "light"), (LARGE, "dark")]
PARTS = 4  # of the pages, for several processes


def wrong_with(page, name: str, sizes) -> list[str]:
    """What is cut, red or missing on the page that is open."""
    wrong = []
    page.evaluate("() => window.MathJax?.startup?.promise")
    for (width, height), scheme in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        across = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        if across[0] > across[1]:
            wrong.append(f"{name} scrolls sideways at {width} pixels")
        wrong += [f"{name} at {width} pixels is cut: {cut}" for cut in page.evaluate(CUT)]
    if page.locator("mjx-merror, [data-mjx-error]").count():
        wrong.append(f"{name} has a formula in red")
    if page.evaluate("() => [...document.images].some(i => i.complete && !i.naturalWidth)"):
        wrong.append(f"{name} has a picture that does not show")
    return wrong


@pytest.mark.parametrize("part", range(PARTS))
def test_no_page_complains_asks_for_anything_or_is_cut(browser, site, part):
    """On a phone in the dark, on a desk in the light, and on a desk at 200 %."""
    page, complaints = open_page(browser, device_scale_factor=2)
    wrong = []
    pages = [p for p in sorted(site.rglob("*.html")) if not {"_modules", "api"} & {*p.parts}]
    assert len(pages) > 70
    for path in pages[part::PARTS]:
        page.goto(path.as_uri(), wait_until="load")
        wrong += wrong_with(page, path.relative_to(site).as_posix(), SIZES)
    assert wrong == [] and complaints == []
    page.context.close()


ARTICLE = re.compile(r'<article class="bd-article">.*?</article>', re.DOTALL)


def test_no_entry_of_the_reference_complains_asks_for_anything_or_is_cut(browser, site, tmp_path):
    """All articles on one page, in the frame of one: they are alike, and loading is slow."""
    pages = sorted((site / "api").glob("*.html"))
    texts = [path.read_text() for path in pages]
    articles = "".join(ARTICLE.search(text)[0] for text in texts)
    frame = next(text for text in texts if "MathJax" in text)
    frame = frame.replace("<head>", f'<head><base href="{(site / "api").as_uri()}/">', 1)
    start, end = ARTICLE.search(frame).span()
    (tmp_path / "all.html").write_text(frame[:start] + articles + frame[end:])
    page, complaints = open_page(browser)
    page.goto((tmp_path / "all.html").as_uri(), wait_until="load")
    assert page.locator("article.bd-article").count() == len(pages) > 70
    assert wrong_with(page, "the reference", SIZES) == [] and complaints == []
    assert page.locator("mjx-container").count() > 70
    page.context.close()


def test_without_script_and_printed_all_is_there(browser, site):
    page, _ = open_page(browser, java_script_enabled=False)
    for path in sorted(site.glob("papers/*.html")):
        page.goto(path.as_uri())
        shown = page.locator("section.claim:visible").count()
        assert shown == path.read_text().count('<section class="claim"')
    page.context.close()
    page, _ = open_page(browser)
    page.goto((site / "papers/raj2017.html").as_uri())
    page.emulate_media(media="print")
    assert not page.locator(".bd-sidebar-primary, .controls").first.is_visible()
    folded = page.locator("details:not([open]) > p")
    assert folded.count() > 20 and folded.first.bounding_box()["height"] > 5  # nothing is hidden
    assert page.pdf(format="A4")[:5] == b"%PDF-"
    page.context.close()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("GroupCDF", r"api/invariance\.features\.GroupCDF\.html"),
        ("theorem 3", r"(papers/mroueh2015\.html#claim-mroueh2015-theorem3|mroueh2015/theorem3)"),
        ("QM7", r"(raj2017/quantum_machine|compare/molecules|beyond/qm7|papers/raj2017)"),
    ],
)
def test_search_finds_the_right_page_first(browser, site, words, first):
    page, complaints = open_page(browser)
    assert re.match(first, search(page, site, words)[0].removeprefix("./"))
    assert complaints == []
    page.context.close()
