"""The site in headless Chromium, opened from disk: it shows all, asks for nothing, finds things."""

from pathlib import Path

import pytest

from invariance.companion.ledger.claims import load_ledger
from invariance.companion.site.build import build_site

from .conftest import LEDGER, make_project
from .test_damage import _attack, _spoil

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Good notebooks and hostile ones: nothing of these may run."""
    paths = make_project(tmp_path_factory.mktemp("project"))
    _spoil(paths)
    _attack(paths)
    return build_site(paths, profile="quick")[0].parent


def open_page(browser, **options):
    """A page, and the list of what it complains of, asks for or pops up."""
    context = browser.new_context(reduced_motion="reduce", **options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on(
        "request",
        lambda r: (
            None if r.url.startswith(("file:", "data:", "blob:")) else complaints.append(r.url)
        ),
    )
    return page, complaints


PAGES = [
    "index.html",
    "about.html",
    "papers/mroueh2015.html",
    "papers/liu2022.html",
    "mroueh2015/xperm.html",
    "soleymani2025/attack.html",
    "soleymani2025/evil.html",
    "raj2017/failed.html",
    "api/invariance.features.GroupCDF.html",
    "guides/index.html",
]

CUT = """() => [...document.querySelectorAll('.bd-article *')].filter(e => {
  if (e.closest('pre, .scroll, mjx-container, details, svg, .headerlink')) return false;
  const box = e.getBoundingClientRect();
  return box.width && box.right > document.documentElement.clientWidth + 1;
}).map(e => e.outerHTML.slice(0, 120))"""


def test_pages_fit_ask_for_nothing_and_complain_of_nothing(browser, site):
    page, complaints = open_page(browser)
    for name in PAGES:
        page.goto((site / name).as_uri(), wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        for width, scheme in ((375, "dark"), (1280, "light"), (640, "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            across = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
            assert across[0] <= across[1], f"{name} scrolls sideways at {width} pixels"
            assert page.evaluate(CUT) == [], name
            page.wait_for_function(f"() => document.documentElement.dataset.theme == '{scheme}'")
    assert complaints == []
    page.context.close()


def test_formulas_are_set(browser, site):
    page, complaints = open_page(browser)
    page.goto((site / "mroueh2015/xperm.html").as_uri())
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-container").count() >= 2
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    page.goto((site / "soleymani2025/attack.html").as_uri())
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-container a[href]").count() == 0  # \href makes no link
    assert complaints == []
    page.context.close()


def test_the_orbit_moves_unless_asked_not_to(browser, site):
    still, complaints = open_page(browser)
    still.goto((site / "index.html").as_uri())
    slider = "figure.widget input"
    still.wait_for_timeout(1000)
    assert still.locator(slider).input_value() == "0"
    still.locator("figure.widget button").click()  # a reader who asks for it gets it
    still.wait_for_function(f"() => document.querySelector('{slider}').value > 0")
    still.context.close()
    page = browser.new_context(reduced_motion="no-preference").new_page()
    page.goto((site / "index.html").as_uri())
    page.wait_for_function(f"() => document.querySelector('{slider}').value > 1")
    page.context.close()
    assert complaints == []


def test_sliders_move_the_pictures(browser, site):
    page, complaints = open_page(browser)
    for paper in ("mroueh2015", "raj2017", "liu2022", "soleymani2025"):
        page.goto((site / f"papers/{paper}.html").as_uri())
        svg, slider = page.locator("figure.widget svg"), page.locator("figure.widget input")
        before, said = svg.inner_html(), page.locator("figure.widget output").inner_text()
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert svg.inner_html() != before
        assert page.locator("figure.widget output").inner_text() != said
    assert complaints == []
    page.context.close()
    page, _ = open_page(browser, java_script_enabled=False)
    page.goto((site / "papers/liu2022.html").as_uri())
    assert page.locator("figure.widget svg").is_visible()
    assert not page.locator("figure.widget .controls").is_visible()
    page.context.close()


def search(page, site: Path, words: str) -> list[str]:
    """Addresses of the results of the site's own search, best first."""
    page.goto((site / "search.html").as_uri() + "?q=" + words.replace(" ", "+"))
    page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
    page.wait_for_timeout(1500)
    links = page.locator("#search-results ul.search > li > a")
    return [links.nth(i).get_attribute("href") for i in range(links.count())]


def test_search_finds_a_class_and_a_claim(browser, site):
    page, complaints = open_page(browser)
    assert "invariance.features.GroupCDF" in search(page, site, "GroupCDF")[0]
    # numbers count, a page comes before an object that merely contains the word
    assert "claim-mroueh2015-theorem3" in search(page, site, "theorem 3")[0]
    assert search(page, site, "own_data")[0].startswith("guides/own_data.html")
    # a page that speaks of it comes before a function whose name contains it
    assert not search(page, site, "rls")[0].startswith("api/")
    assert complaints == []
    page.context.close()


def test_without_scripts_and_printed(browser, site):
    page, _ = open_page(browser, java_script_enabled=False)
    page.goto((site / "papers/mroueh2015.html").as_uri())
    claims = [c for c in load_ledger(LEDGER).values() if c.paper_key == "mroueh2015"]
    assert page.locator("section.claim:visible").count() == len(claims)
    page.context.close()
    page, _ = open_page(browser)
    page.goto((site / "mroueh2015/xperm.html").as_uri())
    assert page.pdf(format="A4")[:5] == b"%PDF-"
    page.context.close()
