"""The site in headless Chromium, opened from disk: it shows all, asks for nothing, finds things."""

import re
import sys
from pathlib import Path

import pytest

from invariance.companion.errors import OutputError
from invariance.companion.site.build import with_metadata, write_pdf

from .conftest import open_page

pytestmark = pytest.mark.browser


#: Pages of runs on this machine, damaged and hostile ones; all others are seen in `test_whole`.
PAGES = ("about", "mroueh2015/xperm", "soleymani2025/attack", "soleymani2025/evil",
         "raj2017/failed")  # fmt: skip

#: Width of the page, width of the window, height of the page, and elements that are cut.
CUT = """() => {
  const free = 'pre, .scroll, .pst-scrollable-table-container, mjx-container, details, svg';
  const most = document.documentElement.clientWidth + 1;
  const cut = [...document.querySelectorAll('.bd-article *')].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width && box.right > most && !e.closest(free + ', .headerlink');
  });
  const page = document.documentElement;
  const words = cut.map(e => e.outerHTML.slice(0, 120));
  return [page.scrollWidth, innerWidth, page.scrollHeight, words];
}"""
#: Formulas in red, and pictures that do not show.
BROKEN = """() => [document.querySelectorAll('mjx-merror, [data-mjx-error]').length,
  [...document.images].filter(i => i.complete && !i.naturalWidth).length]"""


def wrong_with(page, name: str, tallest: int = 10**6) -> list[str]:
    """Return the faults of the open page: cut elements, red formulas, missing pictures."""
    page.evaluate("() => window.MathJax?.startup?.promise")
    across, width, height, cut = page.evaluate(CUT)
    faults = [f"{name} has {height} pixels"] * (height > tallest)
    faults += [f"{name} scrolls sideways at {width} pixels"] * (across > width)
    faults += [f"{name} at {width} pixels is cut: {element}" for element in cut]
    formulas, pictures = page.evaluate(BROKEN)
    faults += [f"{name} has a formula in red"] * bool(formulas)
    return faults + [f"{name} has a picture that does not show"] * bool(pictures)


def test_pages_fit_ask_for_nothing_and_complain_of_nothing(browser, small):
    page, complaints = open_page(browser)
    for name in PAGES:
        page.goto((small.site / f"{name}.html").as_uri(), wait_until="load")
        for width, height, scheme in (375, 800, "dark"), (1280, 900, "light"), (640, 800, "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            faults = wrong_with(page, name)
            hostile = "soleymani2025" in name  # its \href is a command that is not there
            assert [w for w in faults if not (hostile and "in red" in w)] == []
        page.wait_for_function("() => document.documentElement.dataset.theme == 'dark'")
        assert page.locator("mjx-container a[href]").count() == 0
    assert complaints == []
    page.context.close()


#: Widths of the page, and the number of formulas within sentences with punctuation after them. For
#: each width at which such a mark starts another line than its formula, an entry.
WRAPPED = """widths => {
  const after = node =>
    node.nextSibling ?? (node.parentElement.matches('span') ? after(node.parentElement) : null);
  const marks = [];
  for (const formula of document.querySelectorAll('mjx-container:not([display="true"])')) {
    const text = after(formula);
    if (!/^[,.;:)]/.test(text?.data ?? '')) continue;
    const mark = document.createRange();
    mark.setStart(text, 0);
    mark.setEnd(text, 1);
    marks.push([formula, mark]);
  }
  const wrapped = [];
  const shown = new Set();
  for (const width of widths) {
    document.body.style.width = width + 'px';
    shown.add(document.querySelector('.bd-article').clientWidth);
    for (const [formula, mark] of marks) {
      const end = formula.getBoundingClientRect().right;
      if (mark.getBoundingClientRect().right < end) wrapped.push(width);
    }
  }
  return [marks.length, shown.size, wrapped];
}"""


def test_a_comma_stays_in_the_line_of_its_formula(browser, small):
    """See a phone's page at 160 widths, by the width of its body: a window changes slowly."""
    page, _ = open_page(browser, viewport={"width": 460, "height": 800})
    page.goto((small.site / "mroueh2015/xperm.html").as_uri())
    page.evaluate("() => window.MathJax.startup.promise")
    widths = list(range(300, 460))
    n_marks, n_shown, wrapped = page.evaluate(WRAPPED, widths)
    assert n_marks >= 2  # in the prose, and in a caption
    assert n_shown == len(widths)  # the text has followed each of them
    assert wrapped == []
    page.context.close()


def test_the_orbit_moves_unless_asked_not_to(browser, page, small):
    page.goto((small.site / "index.html").as_uri())
    slider = "figure.widget input"
    page.wait_for_timeout(300)  # it would move after 250 milliseconds
    assert page.locator(slider).input_value() == "0"
    page.locator("figure.widget button").click()  # a reader who asks for it gets it
    page.wait_for_function(f"() => document.querySelector('{slider}').value > 0")
    moving = browser.new_context(reduced_motion="no-preference").new_page()
    moving.goto((small.site / "index.html").as_uri())
    moving.wait_for_function(f"() => document.querySelector('{slider}').value > 1")
    moving.context.close()


def test_a_figure_is_a_link_to_its_full_size(page, small):
    page.goto((small.site / "mroueh2015/xperm.html").as_uri())
    page.evaluate("() => [...document.querySelectorAll('details')].forEach(d => d.open = true)")
    links = page.locator("a.full-size")
    assert links.count() >= 1
    for i in range(links.count()):
        image = links.nth(i).locator("img")
        width, shown = image.evaluate("e => [Number(e.getAttribute('width')), e.width]")
        assert 0 < shown <= width
        assert image.get_attribute("alt")
    links.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/pictures/*.webp")
    assert page.evaluate("() => document.images[0].naturalWidth") >= 2 * shown


def test_sliders_move_the_pictures(browser, page, small):
    for paper in ("mroueh2015", "raj2017", "liu2022", "soleymani2025"):
        page.goto((small.site / f"papers/{paper}.html").as_uri())
        svg, slider = page.locator("figure.widget svg"), page.locator("figure.widget input")
        before, label = svg.inner_html(), page.locator("figure.widget output").inner_text()
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert svg.inner_html() != before
        assert page.locator("figure.widget output").inner_text() != label
    plain, _ = open_page(browser, java_script_enabled=False)
    plain.goto((small.site / "papers/liu2022.html").as_uri())
    assert plain.locator("figure.widget svg").is_visible()
    assert not plain.locator("figure.widget .controls").is_visible()
    assert plain.locator("table.claims tbody tr:visible").count() > 40  # and nothing is hidden
    plain.context.close()


def test_claims_are_filtered_by_what_they_are_and_by_words(page, small):
    page.goto((small.site / "claims/index.html").as_uri())
    rows, box = page.locator("table.claims tbody tr:visible"), page.locator(".filtered")
    every = rows.count()
    box.get_by_label("verdict").select_option("violated")
    assert rows.count() == 1 and "1 of" in box.locator("output").inner_text()
    box.get_by_label("verdict").select_option("")
    box.get_by_label("paper").select_option("raj2017")
    box.get_by_label("kind").select_option("rate")
    assert 1 < rows.count() < 10
    box.get_by_label("paper").select_option("")
    box.get_by_label("kind").select_option("")
    box.get_by_label("weak").select_option("weakly tested")
    assert 0 < rows.count() < every
    box.get_by_label("weak").select_option("")
    box.locator("input").fill("sandwich")
    assert rows.count() >= 1 and "sandwich" in rows.first.inner_text()


def test_a_word_of_the_glossary_is_explained(page, small):
    page.goto((small.site / "claims/index.html").as_uri())
    word = page.locator("abbr[data-meaning]").first
    assert "the number of the paper" in word.get_attribute("data-meaning")  # margin
    word.hover()
    shown = "e => getComputedStyle(e, '::after').content"
    assert "the number of the paper" in word.evaluate(shown)
    assert page.locator("a abbr, code abbr, .math abbr").count() == 0


def search(page, site: Path, words: str) -> list[str]:
    """Addresses of the results of the site's own search, best first.

    The page is loaded once. If it is open, its address alone changes and its search starts anew,
    without reading the index again.
    """
    address = (site / "search.html").as_uri()
    asked = "?q=" + words.replace(" ", "+")
    if page.url.partition("?")[0] == address:
        page.evaluate(
            """([asked, words]) => {
              history.replaceState(null, '', asked);
              document.querySelector('#search-results').replaceChildren();
              Search.performSearch(words);
            }""",
            [asked, words],
        )
    else:
        page.goto(address + asked)
    # The summary comes after the last result; until then, a search adds results one by one.
    summary = "document.querySelector('#search-results .search-summary')?.innerText"
    ended = f"() => /found|did not match/.test({summary})"
    page.wait_for_function(ended)
    links = page.locator("#search-results ul.search > li > a")
    addresses: list[str] = links.evaluate_all("some => some.map(a => a.getAttribute('href'))")
    return addresses


def test_the_report_is_printed(chromium, project, tmp_path):
    made = write_pdf(project, tmp_path / "report.pdf").read_bytes()
    assert made[:5] == b"%PDF-" and len(re.findall(rb"/Type\s*/Page\b", made)) >= 5


def test_the_report_names_itself_and_nothing_else_of_it_changes(chromium, project, tmp_path, page):
    made = write_pdf(project, tmp_path / "report.pdf").read_bytes()
    start = int(re.findall(rb"startxref\s+(\d+)", made)[-1])
    trailer = made[start:]
    assert trailer.startswith(b"xref\n")
    number, offset = map(int, re.search(rb"xref\n(\d+) 1\n(\d{10}) 00000 n ", trailer).groups())
    properties = made[offset:start]
    assert properties.startswith(f"{number} 0 obj".encode())
    assert re.search(rb"/Info (\d+) 0 R", trailer)[1] == str(number).encode()
    coded = dict(re.findall(rb"/(\w+) <(\w+)>", properties))
    words = {name.decode(): bytes.fromhex(text.decode()) for name, text in coded.items()}
    assert {"Title", "Author", "Subject", "CreationDate"} <= set(words) and all(words.values())
    assert re.fullmatch(rb"D:\d{8}", words["CreationDate"])
    earlier = int(re.search(rb"/Prev (\d+)", trailer)[1])
    assert made[earlier:].startswith(b"xref")


def test_a_document_without_a_table_of_objects_keeps_its_properties():
    assert with_metadata(b"%PDF-1.7 other", {"Title": "a"}) == b"%PDF-1.7 other"


@pytest.mark.skipif(sys.platform != "linux", reason="fonts come from fontconfig on Linux alone")
def test_a_report_without_words_is_refused(chromium, project, tmp_path, monkeypatch):
    fonts = tmp_path / "fonts.conf"
    fonts.write_text(f"<fontconfig><dir>{tmp_path / 'none'}</dir></fontconfig>", "utf-8")
    monkeypatch.setenv("FONTCONFIG_FILE", str(fonts))
    with pytest.raises(OutputError, match="without fonts: install some"):
        write_pdf(project, tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()
