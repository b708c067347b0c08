"""The site of this project's published results, as a reader of a fresh clone sees it.

Building it takes half a minute. `INVARIANCE_SITE` may name a folder that ``make site`` has just
written.
"""

import os
import re
import zipfile
from pathlib import Path

import pytest

from invariance.companion.ledger.claims import read_papers
from invariance.companion.paths import Paths
from invariance.companion.site.book import DOCUMENTS
from invariance.companion.site.build import build_site
from invariance.companion.site.material import collect
from invariance.companion.site.reference import Reference
from invariance.companion.site.text import anchor

from .conftest import ROOT, Page, dead_links, open_page, target
from .test_browser import search, wrong_with

pytestmark = pytest.mark.browser


def _build(folder: Path) -> None:
    for name in ("notebooks", "figures", *DOCUMENTS):
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


def test_it_is_small_and_no_link_is_dead(site, pages):
    assert dead_links(pages, site) == []
    # A reader loads pages, and every notebook adds some: 40 kB each, with pictures and downloads.
    assert sum(p.stat().st_size for p in site.rglob("*") if p.is_file()) < 40e3 * len(pages)
    assert max(path.stat().st_size for path in pages) < 250e3
    nested_link = re.compile(r"<a [^>]*>(?:(?!</a>).)*<a ", re.DOTALL)
    for path in pages:
        text = path.read_text("utf-8")
        assert not nested_link.search(text), path
        assert "example.org" not in text and "bool(x) -&gt; bool" not in text, path
        if 'class="math' in text:  # even if all formulas are on lines of their own
            assert "mathjax/startup.js" in text, path


def test_from_every_claim_to_its_evidence_the_paper_the_function_and_back(site, pages):
    material = collect(Paths(ROOT))
    reference = Reference(material.about["reference"])
    leads = {
        path: {target(path, a) for a in page.links if not a.startswith("https")}
        for path, page in pages.items()
        if "_modules" not in path.parts
    }
    walked = 0
    for row in material.rows:
        start = site / f"claims/{row.claim.id}.html"
        at, measured = (anchor(row.claim.id, what) for what in ("claim", "measured"))
        assert (site / "claims/ledger.html", at) in leads[start]
        paper = next(p for p in material.papers if p.key == row.claim.paper_key)
        for lists in ("claims/index", f"papers/{paper.key}"):
            assert (start, "") in leads[site / f"{lists}.html"]
        assert {*paper.links.values()} <= {*pages[start].links}
        if row.result is None:
            continue
        evidence = site / f"{row.notebook}.html"
        assert (evidence, measured) in leads[start] and measured in pages[evidence].ids
        assert (start, "") in leads[evidence], f"{row.claim.id}: no way back from its run"
        for name in reference.uses(material.notebooks[row.notebook].source):
            page, _, place = reference.address(name).partition("#")
            assert (site / page, place) in leads[evidence]
        walked += 1
    assert walked == sum(row.result is not None for row in material.rows) > 100


def test_every_public_name_leads_to_its_source_and_the_notebooks_that_use_it(site, pages):
    public = Reference(read_papers(Paths(ROOT))["reference"])
    sources = {name for path in site.glob("code/*.html") for name in pages[path].ids}
    for module, names in public.modules.items():
        for name in names:
            page, _, place = public.address(f"{module}.{name}").partition("#")
            target_page = pages[site / page]
            assert f"{module}.{name}" in target_page.ids and (not place or place in target_page.ids)
            leads = [target(site / page, a) for a in target_page.links if "/code/" in a]
            assert any(at.rpartition(".")[2] == name for _, at in leads) and name in sources, name
    page = site / "api/invariance.features.GroupCDF.html"
    text = page.read_text("utf-8")  # examples stand above the methods
    assert 0 < text.index('class="gallery"') < text.index("GroupCDF.transform")
    assert site / "mroueh2015/xperm.html" in {target(page, a)[0] for a in pages[page].links}


#: Clicks from the first page: parts of the links' addresses, and words of the last page.
WALKS = {
    "theorem 2's evidence": (["claims/index", "mroueh2015/theorem2.html#measured"], "Theorem 2"),
    "the code of BestFit": (["api/index", "code/.*#BestFit$"], "class BestFit"),
    "why a claim failed": (["claims/failures"], "The numbers"),
    "my own data": (["guides/own_data"], "Run this"),
    "the ledger": (["claims/ledger"], "seed"),
    "a lesson": (["course/index", "course/orbit"], "Exercise 3"),
    "what changed": (["about", "changelog"], "0.1.0 will be the first release"),
    "how to add a group": (["about", "contributing", "guides/own_group"], "The class"),
}


VISIBLE = "some => some.map(a => a.checkVisibility() ? a.getAttribute('href') : '')"


@pytest.mark.parametrize("name", WALKS)
def test_clicks_from_the_first_page(name, page, site):
    page.goto((site / "index.html").as_uri())
    clicks, words = WALKS[name]
    for wanted in clicks:
        links = page.locator("a").evaluate_all(VISIBLE)
        at = next(i for i, href in enumerate(links) if re.search(wanted, href or ""))
        page.evaluate(f"() => document.querySelectorAll('a')[{at}].click()")
        page.wait_for_url(re.compile(wanted))
    page.wait_for_load_state("load")
    assert words in page.locator("main").inner_text()


#: A difference between the heads of similar pages.
OWN = re.compile(
    r"<title>.*?</title>|<meta name=.description.*?>|pagename = '.*?'|root=\"\S*|\.\./|\s+"
    r"|<link rel=.(next|prev|author).*?>",
    re.DOTALL,
)
#: Another page in place of the one that is open: scripts, formulas, pictures as when it loads.
SWAP = """async ([address, body]) => {
  document.querySelector('base')?.remove();
  document.head.append(Object.assign(document.createElement('base'), { href: address }));
  document.body.innerHTML = body;
  document.dispatchEvent(new Event('DOMContentLoaded'));
  window.MathJax?.typesetClear();
  await window.MathJax?.typesetPromise();
  const shown = [...document.images].filter(image => image.loading != 'lazy');
  await Promise.all(shown.map(image => image.decode().catch(() => null)));
}"""


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(375, 800, "dark"), (1280, 900, "light"), (640, 450, "dark")]
)
def test_no_page_complains_asks_for_anything_or_is_cut(browser, site, width, height, scheme):
    """Check a phone in the dark, a desk in the light, and a desk at 200 %.

    Of the claims' pages, which are alike, every tenth; of those of the reference every third, and
    on a phone alone. Of pages with one head the first is loaded, of the others the body alone: a
    tenth of the work.
    """
    viewport = {"width": width, "height": height}
    page, complaints = open_page(browser, viewport=viewport, color_scheme=scheme)
    claims = sorted(site.glob("claims/*/*.html"))
    reference = sorted(site.glob("api/*.html"))
    chosen = claims[::10] + (reference[::3] if width == 375 else [])
    alike = {*claims, *reference, *site.glob("code/*.html")}
    pages = [p for p in site.rglob("*.html") if p not in alike]
    assert len(pages) > 80 and len(chosen) > (50 if width == 375 else 15)
    faults, heads = [], {}
    for path in sorted([*pages, *chosen]):
        head, body = re.split("<body.*?>", path.read_text("utf-8"), maxsplit=1)
        heads.setdefault(OWN.sub("", head), []).append((path, body.partition("</body>")[0]))
    assert len(heads) < 5
    for alike in heads.values():
        for path, body in alike:
            if path == alike[0][0]:
                page.goto(path.as_uri(), wait_until="load")
            else:
                page.evaluate(SWAP, [path.as_uri(), body])
            tallest = 900 if path in claims else 4 * 900 if path == site / "index.html" else 10**6
            name = path.relative_to(site).as_posix()
            faults += wrong_with(page, name, tallest if width == 1280 else 10**6)
    assert faults == [] and complaints == []
    page.context.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, which checks a page for accessibility."""
    path = os.environ.get("INVARIANCE_AXE")
    if not path:
        pytest.skip("INVARIANCE_AXE names no axe.min.js (in the npm package axe-core)")
    return Path(path).read_text("utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (375, "light")])
def test_axe_finds_no_fault(browser, site, axe, width, scheme):
    """Check all pages but most of those that are alike: claims, the reference and the code."""
    viewport = {"width": width, "height": 900}
    page, _ = open_page(browser, viewport=viewport, color_scheme=scheme)
    paths = sorted(site.rglob("*.html"))
    claims = {*site.glob("claims/*/*.html")}
    alike = [path for path in paths if path in claims or {"api", "code"} & {*path.parts}]
    faults = []
    for path in sorted({*paths} - {*alike} | {*alike[::25]}):
        if "lite" in path.relative_to(site).parts:
            continue
        page.goto(path.as_uri(), wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        page.evaluate(f"{axe}; 0")
        found = page.evaluate(
            "async () => (await axe.run({ resultTypes: ['violations'] })).violations"
        )
        for rule in found:
            elements = [node["html"][:100] for node in rule["nodes"]]
            faults.append((path.relative_to(site).as_posix(), rule["id"], elements))
    assert faults == []
    page.context.close()


def test_printed_nothing_is_hidden(browser, site):
    page, _ = open_page(browser)
    page.goto((site / "claims/failures.html").as_uri())
    page.emulate_media(media="print")
    assert not page.locator(".bd-sidebar-primary, .controls, .filtered").first.is_visible()
    folded = page.locator("details:not([open]) > p")
    assert folded.count() > 20 and folded.first.bounding_box()["height"] > 5
    assert page.pdf(format="A4")[:5] == b"%PDF-"
    page.context.close()


#: Search words and the first result; a claim is among the first six.
FOUND = {
    "GroupCDF": r"api/invariance\.features\.GroupCDF\.html",
    "theorem 3": r"(claims/)?mroueh2015/theorem3",
    "QM7": r"(raj2017/quantum_machine|compare/(molecules|atoms)|beyond/qm7|papers/|claims/raj2017)",
    "own data": r"guides/own_data\.html",
    # a page that speaks of it comes before a function whose name contains it
    "rls": r"(?!api/)",
    "sandwich": r"claims/mroueh2015/theorem1",
    # as practitioners ask
    "quadratic program": r"api/invariance\.spectral|soleymani2025/",
    "Table 3 CIFAR": r"(claims/)?raj2017/(cifar|table3|tables)",
    "graph kernel": r"compare/graphs",
    "scikit-learn pipeline": r"guides/model_selection",
    "BibTeX": r"cite",
    "Gaussian process": r"compare/own_problems|guides/(own_kernel|in_gpytorch)|cheatsheet",
    "Haar kernel": r"course/averaging|api/invariance\.kernels\.Average",
    "GPU PyTorch": r"install",
    "save model pickle": r"guides/production",
    "3D point cloud rotation": r"cheatsheet|api/invariance\.beyond\.Rotations3D",
    "how to add a group": r"guides/own_group",
    "permutation invariant kernel": r"guides/sets|api/.*\.(Average|SetKernel)\.html",
    "random Fourier features": r"api/invariance\.features\.OrbitFourier",
    "which group does my data have": r"guides/which_group",
    "rotation invariant SVM": r"compare/rotated_digits|api/invariance\.kernels",
    "time series shift": r"compare/(series|signals)",
    "memory limit large data": r"guides/many_points",
    "install": r"install",
    "uncertainty of a prediction": r"cheatsheet|guides/",
    "molecules": r"compare/(atoms|molecules)|guides/sets",
    "data augmentation": r"course/averaging",
    "cite": r"cite",
}


def test_search_finds_the_right_page_first(page, site):
    missed = {}
    for words, wanted in FOUND.items():
        places = 6 if wanted.startswith("claims") else 1
        pages_found = [address.removeprefix("./") for address in search(page, site, words)[:places]]
        if not any(re.match(wanted, address) for address in pages_found):
            missed[words] = pages_found
    assert missed == {}


def test_every_download_comes_with_the_modules_that_it_imports(site):
    checked = 0
    for path in site.glob("downloads/*/*"):
        texts = {path.name: path.read_text("utf-8")} if path.suffix != ".zip" else {}
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                texts = {Path(n).name: archive.read(n).decode() for n in archive.namelist()}
        for name, text in texts.items():
            imported = re.findall(r'^(?:\s*")?(?:from|import) (_[a-z]\w*)', text, re.MULTILINE)
            imported = [module for module in imported if module != "__future__"]
            assert {f"{module}.py" for module in imported} <= texts.keys(), (path, name)
            checked += len(imported)
    assert checked > 20


def test_the_cheat_sheet_fits_two_screens_and_is_readable_on_a_phone(page, site):
    address = (site / "cheatsheet.html").as_uri()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollHeight") < 2 * 900
    linked = page.locator(".page-cheatsheet td code a")
    assert linked.count() > 100 and "api/" in linked.first.get_attribute("href")
    page.set_viewport_size({"width": 375, "height": 800})
    widths = page.locator(".page-cheatsheet td").evaluate_all("c => c.map(e => e.clientWidth)")
    assert min(widths) > 250
    page.set_viewport_size({"width": 1280, "height": 720})


#: Words of commands, between two spaces, that are broken into two lines.
BROKEN_WORDS = """() => {
  const words = [...document.querySelectorAll('.page-install code .pre')];
  return words.filter(word => word.getClientRects().length > 1).map(word => word.textContent);
}"""


def test_commands_on_a_phone_break_at_their_spaces(page, site):
    page.set_viewport_size({"width": 375, "height": 800})
    page.goto((site / "install.html").as_uri())
    assert page.evaluate(BROKEN_WORDS) == []
    fits = "t => t.scrollWidth <= t.closest('.bd-article').clientWidth"
    assert page.locator(".page-install table").evaluate(fits)
    page.set_viewport_size({"width": 1280, "height": 720})


def test_a_filter_of_claims_is_in_the_address(page, site):
    page.goto((site / "claims/index.html").as_uri() + "#paper=liu2022&kind=rate")
    page.reload()
    rows = page.locator("table.claims tbody tr:visible")
    n_rows = rows.count()
    assert 0 < n_rows < 20
    page.locator(".filtered input").fill("theorem")
    address = page.evaluate("location.href")
    assert "words=theorem" in address and "paper=liu2022" in address
    page.locator(".filtered").get_by_label("paper").select_option("")
    assert "paper" not in page.evaluate("location.href")
