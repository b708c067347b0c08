"""The text of the pages, and their links from and to the claims."""

import csv
import html
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

from invariance.companion.ledger.errata import NOT_MEASURED
from invariance.companion.ledger.rows import OPEN
from invariance.companion.ledger.verdicts import FAILED, VERDICTS
from invariance.companion.paths import Paths
from invariance.companion.site import book, cells
from invariance.companion.site.build import MARKER, build_site, write_pdf
from invariance.companion.site.cells import as_notebook, page_of
from invariance.companion.site.material import Material, Notebook, SiteError, collect
from invariance.companion.site.plots import chart, dot_plot
from invariance.companion.site.reference import Reference
from invariance.companion.site.text import prose

from .conftest import LEDGER, NOTEBOOK, ROOT, claim, dead_links, target, write_results
from .hostile import ODD, UNREADABLE


def test_nothing_is_wrong_with_a_good_project(small, pages):
    # this small project lacks the results of the findings; damaged notebooks report it
    bad = (*small.says, "soleymani2025/", "guides/minus")
    problems = [p for p in small.problems if "is left out" not in p and not p.startswith(bad)]
    assert problems == []
    assert dead_links({small.site / name: page for name, page in pages.items()}, small.site) == []


def test_what_a_notebook_folds_is_folded_and_other_markup_is_text(pages, small):
    text = (small.site / "guides/own_data.html").read_text("utf-8")
    head, solution = text.split("<details><summary>Solution</summary>")
    assert "bags = 792" in solution.partition("</details>")[0] and "bags = 792" not in head
    assert "&lt;details&gt;&lt;summary&gt;none" in solution and "<summary>none" not in text


def test_links_of_a_text_lead_to_pages_to_the_repository_or_nowhere(project, tmp_path):
    links = "[a](notebooks/guides/own_data.py) [b](Makefile) [c](https://some.one/x)"
    links += " [d](CHANGELOG.md) [e](CONTRIBUTING.md)"
    (project.root / "CHANGELOG.md").write_text(f"# Changes\n{links}", "utf-8")
    made = book.Book(collect(project), project, tmp_path)
    texts = dict(made.sphinx_pages())
    assert "[a](/guides/own_data.ipynb)" in texts["changelog.md"]
    assert "[b](https://github.com/some/one/blob/HEAD/Makefile)" in texts["changelog.md"]
    assert "[c](https://some.one/x) [d](/changelog.md) [e](https" in texts["changelog.md"]
    made.about["repository"] = ""
    assert " b [c]" in dict(made.sphinx_pages())["changelog.md"]


def test_a_claim_s_page_has_its_protocol_and_its_verdict(pages):
    text = pages["claims/mroueh2015/theorem1-psd.html"].text
    assert "violated" in text and "largest difference 1.00e-03" in text and "too few" in text
    assert "Protocol" in text and "registered before the run" in text and "..." not in text
    assert "K_s \\succeq 0" in text
    assert "too few" in pages["claims/failures.html"].text


def test_a_notebook_can_be_run_from_its_page(small, pages):
    page, text = pages["guides/own_data.html"], NOTEBOOK.format(title="On own_data")
    files = {target(small.site / "guides/own_data.html", a)[0] for a in page.links}
    folder = small.site / "downloads/guides"
    assert {folder / "own_data.py", folder / "own_data.ipynb"} <= files
    assert (folder / "own_data.py").read_text("utf-8") == text
    cells_ = json.loads((folder / "own_data.ipynb").read_text("utf-8"))["cells"]
    assert [c["source"] for c in cells_] == [c.source for c in cells.cells_of(text)]
    assert "invariance run guides/own_data" in page.text
    binder = "https://mybinder.org/v2/gh/some/one/HEAD?urlpath=lab/tree/notebooks/guides/"
    assert f"{binder}own_data.py" in page.links


def test_published_results_stand_first_and_are_labelled(small, pages):
    page = (small.site / "mroueh2015/xperm.html").read_text("utf-8")
    assert page.index("published, full scale") < page.index("The same, quick run on this machine")
    text = pages["mroueh2015/xperm.html"].text
    assert "Printed by a quick run; the figures and tables are from the full run 100%" in text
    assert "10%\r" not in text and "way" in text
    assert text.count("Accuracy against") >= 1
    only = pages["liu2022/few_samples.html"].text
    assert (
        "published, full scale 91.5 % are right 97.3 % are right" in only
    )  # as printed by the run
    assert "quick run" not in only


def test_front_page(small, pages):
    text = (small.site / "index.html").read_text("utf-8")
    assert "<svg" in text and 'class="widget" data-plays' in text
    words = pages["index.html"].text
    assert "0 of 12 costs, 1 of 45 findings" in words
    assert " 2 claims are not reproduced" in words
    assert "Your data" in words and "Check a claim" in words
    assert json.loads((small.site / MARKER).read_text("utf-8"))["made by"] == "invariance"


def test_same_results_give_the_same_pages(project, tmp_path):
    shutil.copytree(project.root, tmp_path / "two")
    first, second = (
        [*made.sphinx_pages(), *made.plain_pages(), made.parts]
        for paths in (project, Paths(tmp_path / "two"))
        for made in [book.Book(collect(paths, "quick"), paths, tmp_path / "pictures")]
    )
    assert first == second


def test_nothing_to_show(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/claims.yml").write_bytes(LEDGER.read_bytes())
    with pytest.raises(SiteError, match="nothing to show"):
        collect(Paths(tmp_path))


def test_a_quick_result_on_a_stand_in_is_no_verdict(project):
    claims = {"raj2017/table2-gicdf": claim("matched", "95", data="bundled digits")}
    write_results(project.output("raj2017/r", "quick"), "raj2017/r", "quick", claims)
    row = collect(project, "quick").row("raj2017/table2-gicdf")
    assert row.verdict == row.result["verdict"] == OPEN
    assert collect(project).row("raj2017/table2-gicdf").result is None


# ------------------------------------------------------------------------------- the parts


def test_results_stand_where_the_text_names_them(project):
    notebook = collect(project).notebooks["mroueh2015/xperm"]
    page = page_of(notebook)
    placed = [[(o.kind, o.value) for o in outputs] for outputs in page.outputs]
    assert [("figure", "accuracy"), ("table", "scores")] in placed
    claims = next(
        outputs for outputs in placed if ("claim", "mroueh2015/fig1-rls-order") in outputs
    )
    # an f-string stands for every claim that fits it
    assert ("claim", "mroueh2015/theorem1-psd") in claims
    assert placed[-1] == [("claim", "mroueh2015/fig2-10-per-class")]  # named nowhere: at the end


def test_the_answer_is_the_figure_of_the_paper():
    """An example that a notebook draws before it comes second."""
    names = ("examples", "table2", "figure1")
    drawn = SimpleNamespace(figures={n: SimpleNamespace(name=n) for n in names})
    assert book.answer([drawn]).name == "table2"
    drawn.figures = {"examples": SimpleNamespace(name="examples")}
    assert book.answer([drawn]).name == "examples" and book.answer([]) is None


def test_a_claim_stands_beside_the_figure_that_its_notebook_shows_above_it():
    outputs = [[("claim", "a")], [("figure", "f")], [("claim", "b"), ("figure", "g")]]
    made = [cells.Cell("", outputs=[cells.Output(*o) for o in some]) for some in outputs]
    page = cells.Page("", made, [cells.Output("claim", "c")])
    assert [page.figure_beside(name) for name in "abc"] == ["f", "f", "g"]
    assert cells.Page("", [], []).figure_beside("a") == ""


def test_cells_are_those_that_jupytext_reads():
    import jupytext

    for path in sorted(ROOT.glob("notebooks/*/[a-z]*.py"))[::9]:
        text = path.read_text("utf-8")
        expected = jupytext.reads(text, fmt="py:percent")["cells"]
        read = cells.cells_of(text)
        assert [c.source for c in read] == [c["source"] for c in expected], path.name
        assert [[*c.tags] for c in read] == [c["metadata"].get("tags", []) for c in expected]
        assert [c.code for c in read] == [c["cell_type"] == "code" for c in expected]


def shown_of(*written: dict) -> str:
    """Return the notebook file of a page with these cells."""
    content = {"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return as_notebook(page_of(Notebook("p/a", executed=content)).cells)


def test_code_between_fences_keeps_its_comments():
    prose = "# A title\n\n# A section\n```python\n# %%\nx = 1  # one\n```\n# Another\n"
    prose += "~~~~\n# two\n```\n# three\n~~~~\n# A third\n"
    cell = {"cell_type": "markdown", "metadata": {}, "source": prose}
    (made,) = json.loads(shown_of(cell))["cells"]
    headings = [line for line in made["source"].splitlines() if line.startswith("#")]
    assert headings == ["## A section", "# %%", "## Another", "# two", "# three", "## A third"]


@pytest.mark.parametrize("printed", [
    "\x1b]8;;https://a.b/c\x1b\\word\x1b]8;;\x1b\\",  # a link that ends as by the standard
    "\x1b]8;id=1;https://a.b\x07word\x1b]8;;\x07",  # a link that ends with a bell
    "\x1b]0;a title\x07word",
    "\x1b[1;31mword\x1b[0m\x1b[K\x1b[?25h",
    "\x1b[38:2::255:0:0mword\x1b[m",
    "\x1b(Bword\x1b=\x1b7",
    "\x1bP1$r0m\x1b\\word",
    "\x9b31mword\x9b0m",
])  # fmt: skip
def test_nothing_that_only_a_terminal_understands_stays_in_a_page(printed):
    stream = {"output_type": "stream", "name": "stdout", "text": f"[{printed}]"}
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": [f"[{printed}]"]}
    cell = {"cell_type": "code", "metadata": {}, "source": "f()", "outputs": [stream, error]}
    (made,) = json.loads(shown_of(cell))["cells"]
    assert [output["text"] for output in made["outputs"]] == ["[word]"] * 2


def test_fences_in_any_language_are_shown(project, tmp_path):
    path = project.source("guides/own_data")
    fences = "".join(
        f"# ```{n}\n# a -> b; {{\n# ```\n#\n" for n in ("mermaid", "json", "no-such", "")
    )
    path.write_text(f"{path.read_text('utf-8')}\n# %% [markdown]\n{fences}", "utf-8")
    index, problems = build_site(project, tmp_path / "site")
    assert [p for p in problems if "is left out" not in p] == []
    page = (index.parent / "guides/own_data.html").read_text("utf-8")
    assert re.sub("<[^>]+>", "", page).count("a -&gt; b; {") == 4


def test_a_chart_places_numbers_on_one_axis():
    drawn = chart({"a": {"x": 1, "y": 100}, "b": {"x": 10}}, log=True)
    assert drawn["names"] == ["x", "y"]
    assert drawn["rows"][0] == ("a", [("x", 0, 0.0, 1.0), ("y", 1, 100.0, 100.0)])
    assert drawn["rows"][1] == ("b", [("x", 0, 50.0, 10.0)])
    assert drawn["ticks"] == [(0.0, "1"), (50.0, "10"), (100.0, "100")]
    assert chart({"a": {"x": 40}})["ticks"][-1] == (100.0, "40")


def test_uses_reads_names_and_modules():
    modules = ["invariance.features", "invariance.theory.mroueh2015", "invariance.companion"]
    reference = Reference(modules)
    source = NOTEBOOK + "\nfrom invariance.features.cdf import GroupCDF as G\n"
    source += "from invariance.theory import mroueh2015\nmroueh2015.theorem1_sandwich(3)\n"
    names = reference.uses(source)
    assert "invariance.features.GroupCDF" in names and len(names) == len(set(names))
    assert "invariance.theory.mroueh2015.theorem1_sandwich" in names
    assert reference.uses("import (") == () == reference.uses("x = " + "-" * 20_000 + "1")


def test_prose_is_its_few_kinds_of_markup_alone():
    text = "a **b** `c<d` $x<y|z$ [e](https://f.g) [h](javascript:i) <script> 3 | 4"
    assert prose(text) == (
        'a <strong>b</strong> <code>c&lt;d</code> <span class="math inline">\\(x&lt;y|z\\)</span> '
        '<a href="https://f.g">e</a> [h](javascript:i) &lt;script&gt; 3 | 4'
    )


def test_a_formula_of_a_sentence_is_kept_with_its_punctuation():
    formula = '<span class="math inline">\\(x\\)</span>'
    assert prose("($x$), $x$.") == (
        f'(<span class="unbroken">{formula}),</span> <span class="unbroken">{formula}.</span>'
    )
    assert prose("$x$ or `$x$,`") == f"{formula} or <code>$x$,</code>"


def test_a_table_of_a_paper_has_both_numbers_in_a_cell_with_the_shade_of_its_verdict(small):
    text = (small.site / "claims/tables.html").read_text("utf-8")
    cell = re.search(r'<td class="cell-off">(.*?)</td>', text, re.S)
    assert cell and re.sub(r"<[^>]+>", "", cell[1]).split() == "90 / 76.1 ± 0.4 ✗".split()
    assert 'href="../claims/mroueh2015/fig2-10-per-class.html"' in cell[1]
    # A number that no run has recorded stands alone.
    assert "<td>98.97</td>" in text


def test_errata_have_formulas_and_lead_to_the_claim(small, pages):
    page = pages["claims/errata.html"]
    assert page.text.count(NOT_MEASURED) == 10  # Two sentences of each of the five errata.
    assert r"\(\mathbb{E}\," in (small.site / "claims/errata.html").read_text("utf-8")
    assert "../claims/liu2022/appendixB-mgf.html" in page.links


def test_the_report_has_every_paper_its_claims_and_its_failures(project, tmp_path):
    material = collect(project)
    text = book.Book(material, project, tmp_path / "pictures").render("report.html", "report")
    assert all(paper.title in text for paper in material.papers) and "too few" in text
    assert text.count("<tr><td>") >= len(material.rows)


def test_printing_without_chromium_says_what_to_do(project, monkeypatch):
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(SiteError, match="no program 'no-such-browser'.*install it"):
        write_pdf(project)


@pytest.fixture(scope="module")
def published() -> Material:
    return collect(Paths(ROOT))


def test_findings_follow_from_published_results(published):
    findings = list(book.findings_of(published))
    texts = {finding["title"]: " ".join(finding["text"].split()) for finding in findings}
    assert list(texts) == [finding["title"] for finding in published.about["findings"]]
    results = published.row("soleymani2025/exact-invariance").result["recorded"]
    assert f"{results['largest']:.0e}" in texts["Exactness for free"]
    fallen = sum(r.verdict in FAILED for r in published.rows)
    counted = sum(r.verdict in VERDICTS for r in published.rows)
    first = f"{fallen} of {counted} claims are not reproduced."
    assert texts["Where the papers fall short"].startswith(first)
    for finding in findings:
        assert finding["chart"]["rows"] and not re.search(r"\d", finding["title"])


#: What breaks a finding of the first page: numbers of some claims, or a column of a table.
BREAKS = {
    "A lucky split": ("liu2022/few_samples", "table2-emnist", "n = 100", "0.0"),
    "How loose the bounds are": ("", {"median_tightness": 1.0}),
    "What beats what": ("compare/which_one_when", "answer", "plain kernel", "0.001"),
    "Exactness for free": ("soleymani2025/exact-invariance", {"largest": 0.1}),
    "Where the papers fall short": ("liu2022/table1-", {"value": [500.0, 20000.0]}),
}


def test_a_finding_that_results_no_longer_bear_out_is_left_out(published):
    for title, (where, *changed) in BREAKS.items():
        material = deepcopy(published)
        if isinstance(changed[0], dict):
            for row in material.rows:
                if row.result and row.claim.id.startswith(where) and "order" not in row.claim.id:
                    row.result["recorded"].update(changed[0])
        else:
            (name, column, value), tables = changed, material.notebooks[where].published.tables
            names, *rows = tables[name].rows
            at = names.index(column)
            rows = [(*row[:at], value, *row[at + 1 :]) for row in rows]
            tables[name] = tables[name]._replace(rows=[names, *rows])
        titles = [finding["title"] for finding in book.findings_of(material)]
        assert titles == [other for other in BREAKS if other != title]
        (problem,) = material.all_problems()
        assert f"the finding {title!r} is left out" in problem


def test_papers_are_those_that_the_citation_names(published):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    assert [paper["title"] for paper in cited] == [paper.title for paper in published.papers]
    for paper, entry in zip(published.papers, cited, strict=True):
        assert paper.authors == ", ".join(a["family-names"] for a in entry["authors"])
        assert entry["url"] == paper.links["paper"]
        assert paper.figure in published.notebooks[paper.notebook].published.figures


def test_the_code_of_the_first_page_is_the_readme_s(published):
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"```python\n{published.about['start']['code'].rstrip()}\n```" in readme
    assert f"    {published.about['start']['install']} " in readme


def test_words_for_the_search_belong_to_pages_or_public_names(published, tmp_path):
    made = book.Book(published, Paths(ROOT), tmp_path)
    homes = Reference(published.about["reference"]).homes
    assert {*published.about["search"]} <= made.page_titles().keys() | homes.keys()
    entries = {title for _, _, title, words in made.search_entries() if words}
    assert {"OrbitFourier", "find_symmetry", "Install"} <= entries


def test_what_the_project_says_of_its_pages_is_there(published):
    about, names = published.about, {*published.notebooks}
    homes = Reference(about["reference"]).homes
    assert [name for task in about["tasks"].values() for name in task if name not in homes] == []
    assert {*about["statements"]} <= {row.claim.id for row in published.rows}
    assert {*about["ideas"], *about["pictures"], *about["pictures"].values()} <= names
    doors = [door["page"] for door in about["doors"]]
    assert len(doors) == 5 and {*doors} - {"claims/index", "claims/ledger", "course/index"} <= names
    for folder, section in {**about["papers"], **about["sections"]}.items():
        assert {f"{folder}/{name}" for name in section.get("first", [])} <= names


def test_every_paper_has_a_dot_plot(published):
    for paper in published.papers:
        names = {row.claim.id for panel in dot_plot(paper.rows) for row, *_ in panel["lines"]}
        shown = [r for r in paper.rows if r.result and r.result["kind"] == r.claim.kind]
        # where nothing was ever above zero a bound has no tightness
        bare = {r.claim.id for r in shown if r.result["recorded"].get("tightness") is None}
        bare &= {r.claim.id for r in shown if r.claim.kind == "bound"}
        assert names == {r.claim.id for r in shown} - bare


def test_every_published_result_has_one_place(published):
    for notebook in published.notebooks.values():
        outputs = page_of(notebook).outputs
        placed = [(o.kind, o.value) for cell in outputs for o in cell]
        outcome = notebook.published
        if outcome is None:  # new: it shows its code until it has been run at full scale
            assert placed == []
            continue
        expected = [("figure", n) for n in outcome.figures] + [("table", n) for n in outcome.tables]
        expected += [("claim", n) for n in outcome.claims] + [("says", n) for n in outcome.says]
        assert sorted(placed) == sorted(expected), notebook.name
        # results that a changed notebook makes no more are at the end until the next run
        source = notebook.source.replace('tags=["settings"]', "")
        assert [o.value for o in outputs[-1] if f'"{o.value}"' in source] == [], notebook.name


def test_binder_opens_notebooks_as_make_lab_does():
    installed = (ROOT / ".binder/requirements.txt").read_text("utf-8")
    assert "--editable .[all,companion,guides,lab]" in installed
    assert "--constraint ../constraints.txt" in installed
    script = ROOT / ".binder/postBuild"
    assert "set-default-viewer python" in script.read_text("utf-8") and os.access(script, os.X_OK)


def test_of_what_was_printed_warnings_are_shown_once_without_their_place_and_no_progress():
    def printed(*text: str):
        return cells.printed_output(
            {"output_type": "stream", "name": "stderr", "text": [*text]}, set()
        )

    raised = "".join(
        f"/home/someone/lib/python/some.py:{line}: UserWarning: few points\n  kernel(X)\n"
        for line in (3, 30)
    )
    indefinite = "/tmp/kernel_7/2.py:1: IndefiniteWarning: 2 of 9 eigenvalues\nare negative\n"
    expected = "UserWarning: few points\nIndefiniteWarning: 2 of 9 eigenvalues\nare negative"
    assert printed(raised, indefinite)["text"].strip() == expected
    assert printed("\n") is None and printed("\rfits:  50%|#####     | 5/10") is None


# -- bad artefacts: each is its own problem, by name; everything else is shown ---------------------


def test_each_problem_stands_on_its_own_page_and_in_the_list(small):
    about = (small.site / "about.html").read_text("utf-8")
    for name, complaint in small.says.items():
        page = (small.site / f"{name}.html").read_text("utf-8")
        assert complaint in html.unescape(page), name
        assert f"{name}: " in about, name
        if name != "raj2017/failed":  # a notebook that failed is no fault of the site
            listed = [p for p in small.problems if p.startswith(f"{name}: ") and complaint in p]
            assert listed, name
    for name in ("liu2022/few_samples", "soleymani2025/attack", "soleymani2025/evil"):
        assert (small.site / f"{name}.html").is_file(), name
    # a byte order mark is read over, and is no problem
    assert "On few_samples" in (small.site / "liu2022/few_samples.html").read_text("utf-8")
    for name in (*UNREADABLE, *ODD):  # one without cells has no notebook to take along
        folder = small.site / "downloads" / ("guides" if name in ODD else "raj2017")
        assert (folder / f"{name}.py").is_file(), name
        assert (folder / f"{name}.ipynb").is_file() == (name in ODD), name
    good = (small.site / "mroueh2015/xperm.html").read_text("utf-8")
    assert "cannot be shown" not in good and "published, full scale" in good
    assert "-" * 1000 in (small.site / "guides/minus.html").read_text("utf-8")


def test_no_script_gets_through(small, pages):
    for name, page in pages.items():
        assert page.bad == [], name
        bad = [s for s in page.scripts if "alert(" in s or s.startswith(("http", "//"))]
        assert bad == [], name
    evil = (small.site / "soleymani2025/evil.html").read_text("utf-8")
    assert "&lt;script&gt;alert" in evil and "<![CDATA[" not in evil and "<![if" not in evil


def test_every_page_has_the_same_header_an_icon_and_a_link_to_cite_it(small, pages):
    entries = [a for a in pages["index.html"].links if a.endswith(".html")]
    menu = {target(small.site / "index.html", a)[0] for a in entries}
    for name in ("claims/mroueh2015/theorem1-psd.html", "api/invariance.features.GroupCDF.html",
                 "code/invariance.features.cdf.html"):  # fmt: skip
        page, text = pages[name], (small.site / name).read_text("utf-8")
        header = text[text.index("<header") : text.index("</header>")]
        labels = re.findall(r'<a href="[^"]+">([^<]+)</a>', header)
        assert labels[0] == "Papers" and labels[-1] == "About"
        assert {"Guides", "Install", "Cheat sheet", "Claims", "Reference"} <= {*labels}
        assert "Skip to main content" in page.text and 'aria-label="Color mode"' in header
        leads = {target(small.site / name, a)[0] for a in page.links}
        assert small.site / "_static/favicon.svg" in leads
        assert small.site / "cite.html" in leads or name.startswith("code/")
        assert len(leads & menu) >= len(labels)
    for name in ("index.html", "claims/index.html"):
        text = (small.site / name).read_text("utf-8")
        assert re.search(r'<meta name="description" content="[^"<>]{30,}', text), name


def test_the_claims_can_be_taken_along_as_a_table(small):
    lines = (small.site / "claims/claims.csv").read_text("utf-8").splitlines()
    assert lines[0].startswith("claim,paper,source,kind,statement,printed")
    assert any(line.startswith("mroueh2015/theorem1-psd,") and "violated" in line for line in lines)
    rows = json.loads((small.site / "claims/claims.json").read_text("utf-8"))
    assert list(csv.DictReader(lines)) == rows


def test_a_card_names_the_objects_that_the_notebook_uses(small):
    cards = (small.site / "guides/index.html").read_text("utf-8")
    card = cards.partition('href="../guides/own_data.html"')[2].partition('class="tile"')[0]
    assert "<code>GroupCDF</code>" in card and "<code>Run</code>" not in card


def test_the_citation_has_the_software_and_the_four_papers(pages):
    text = pages["cite.html"].text
    assert text.count("@inproceedings{") == 4 and "@software{invariance," in text
    assert "author = {Raj and Kumar and Mroueh" in text


def test_a_download_runs_in_an_empty_folder_with_its_modules(project, tmp_path):
    folder = project.notebooks / "guides"
    (folder / "_more.py").write_text("seven = 7\n", "utf-8")
    (folder / "_tools.py").write_text("from _more import seven\n", "utf-8")
    (folder / "_unused.py").write_text("eight = 8\n", "utf-8")
    text = "# %% [markdown]\n# # On tools\n#\n"
    text += '# A sentence that tells readers of this page "more" & less.\n'
    text += "\n# %%\nfrom _tools import seven\n\nprint(seven)\n"
    project.source("guides/own_data").write_text(text, "utf-8")
    about = yaml.safe_load(project.papers.read_text("utf-8")) | {"address": "https://lab.example"}
    project.papers.write_text(yaml.safe_dump(about, sort_keys=False), "utf-8")
    (project.root / "CHANGELOG.md").write_text(
        "# Changes\n\n## [0.1.0]\n\nA <first> one.\n", "utf-8"
    )
    site = build_site(project, tmp_path / "site")[0].parent

    with zipfile.ZipFile(site / "downloads/guides/own_data.zip") as archive:
        names = {Path(name).name for name in archive.namelist()}
        assert names == {"own_data.ipynb", "_tools.py", "_more.py"}
        archive.extractall(tmp_path / "empty")
    notebook = json.loads((tmp_path / "empty/guides/own_data.ipynb").read_text("utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    script = [sys.executable, "-c", "\n".join(cells)]
    done = subprocess.run(
        script, cwd=tmp_path / "empty/guides", capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "7\n"

    page = (site / "guides/own_data.html").read_text("utf-8")
    assert "downloads/guides/own_data.zip" in page and "own_data.ipynb" not in page
    assert '<meta name="description" content="A sentence that tells readers of this page' in page
    assert "https://github.com/some/one/edit/HEAD/notebooks/guides/own_data.py" in page
    assert "https://github.com/some/one/issues/new" in page
    assert '<link rel="canonical" href="https://lab.example/guides/own_data.html">' in page
    preview = re.search(r'og:image" content="https://lab.example/([^"]+)"', page)
    assert preview and (site / preview[1]).is_file()
    named = {entry.text for entry in ElementTree.parse(site / "sitemap.xml").iter() if entry.text}
    assert "https://lab.example/guides/own_data.html" in named
    assert "https://lab.example/search.html" not in named
    feed = ElementTree.parse(site / "changelog.xml").getroot()
    assert feed.findtext(".//item/title") == "invariance 0.1.0"
    assert feed.findtext(".//item/description") == "A <first> one."
