"""What the pages say, and that from any claim all else is one click away."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from invariance.companion.ledger.claims import load_ledger
from invariance.companion.ledger.rows import OPEN
from invariance.companion.ledger.verdicts import FAILED, VERDICTS
from invariance.companion.paths import Paths
from invariance.companion.site import book, cells
from invariance.companion.site.build import MARKER, build_site
from invariance.companion.site.cells import page_of
from invariance.companion.site.forge import pages as forge_pages
from invariance.companion.site.material import Material, SiteError, collect
from invariance.companion.site.plots import dot_plot
from invariance.companion.site.reference import Reference
from invariance.companion.site.text import anchor, code, escaped, prose, table

from .conftest import (
    LEDGER,
    NOTEBOOK,
    ROOT,
    Page,
    claim,
    dead_links,
    make_project,
    target,
    write_results,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    paths = make_project(tmp_path_factory.mktemp("project"))
    index, problems = build_site(paths, profile="quick")
    return index.parent, problems


def test_nothing_is_wrong_with_a_good_project(site):
    folder, problems = site
    # the five findings need results that this small project has not
    assert [p for p in problems if "is left out" not in p] == []
    assert dead_links(folder) == []


def test_every_claim_has_its_place_and_every_verdict_its_word(site):
    folder, _ = site
    ledger = load_ledger(LEDGER)
    for paper in {one.paper_key for one in ledger.values()}:
        page = Page(folder / f"papers/{paper}.html")
        for one in ledger.values():
            if one.paper_key == paper:
                assert anchor(one.id, "claim") in page.ids, one.id
    text = Page(folder / "papers/mroueh2015.html").text
    assert "violated" in text and "largest difference 1.00e-03" in text and "too few" in text


def test_from_every_claim_to_evidence_paper_function_and_back(site):
    """One click each way, and the places clicked on are there."""
    folder, _ = site
    start = folder / "papers/mroueh2015.html"
    opened: dict[Path, Page] = {}
    measured = [s for s in re.split(r"<section", start.read_text()) if "Evidence: " in s]
    assert len(measured) == 4
    for section in measured:
        at = re.search(r'id="(claim-[^"]+)"', section)[1]
        links = re.findall(r'href="([^"]+)"', section)
        assert "https://doi.org/10.48550/arXiv.1506.02544" in links
        measured_at = at.replace("claim-", "measured-", 1)
        evidence = next(a for a in links if f"xperm.html#{measured_at}" in a)
        function = next(a for a in links if a.endswith("#invariance.features.GroupCDF"))
        for address in (evidence, function):
            file, anchored = target(start, address)
            page = opened.setdefault(file, Page(file))
            assert anchored in page.ids
            assert any(a.endswith(f"papers/mroueh2015.html#{at}") for a in page.links)
    entry = Page(folder / "api/invariance.features.GroupCDF.html")
    assert any("_modules/invariance/features/cdf.html#" in a for a in entry.links)
    assert any(a.endswith("mroueh2015/xperm.html") for a in entry.links)
    notebook = Page(folder / "mroueh2015/xperm.html")
    assert any(a.endswith("api/invariance.features.GroupCDF.html#invariance.features.GroupCDF")
               for a in notebook.links)  # fmt: skip


def test_published_results_stand_first_and_are_labelled(site):
    folder, _ = site
    page = (folder / "mroueh2015/xperm.html").read_text()
    assert page.index("published, full scale") < page.index("The same, quick run on this machine")
    text = Page(folder / "mroueh2015/xperm.html").text
    assert "100%" in text and "10%\r" not in text and "way" in text
    assert text.count("Accuracy against") >= 1
    only = Page(folder / "liu2022/few_samples.html").text
    assert "published, full scale 91.5 % are right 97.3 % are right" in only  # as the run said
    assert "published, full scale" in only and "quick run" not in only


def test_front_page(site):
    folder, _ = site
    text = (folder / "index.html").read_text()
    assert "<svg" in text and 'class="widget" data-plays' in text
    words = Page(folder / "index.html").text
    assert "2 come out as printed or better, by a protocol registered before the run" in words
    assert "and 2 do not" in words
    assert words.index("What fell short") < words.index("Mroueh 2015, figure 2 right")


def test_the_site_fetches_nothing_and_is_small(site):
    folder, _ = site
    for path in folder.rglob("*.html"):
        for src in re.findall(r'(?:src|href)="((?:https?:)?//[^"]+)"', path.read_text()):
            assert not re.search(r"\.(js|css|woff2?|png|svg)(\?|$)", src), (path.name, src)
    assert (folder / "_static/mathjax/tex-chtml.js").is_file()
    assert json.loads((folder / MARKER).read_text())["made by"] == "invariance"


def test_same_results_give_the_same_pages(site, tmp_path):
    folder, _ = site
    other, _ = build_site(make_project(tmp_path / "again"), tmp_path / "out", profile="quick")
    first, second = (
        {p.relative_to(f).as_posix(): p.read_bytes() for p in f.rglob("*.html")}
        for f in (folder, other.parent)
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


def test_a_typed_verdict_changes_nothing(project):
    name = "mroueh2015/xperm"
    path = project.published(name) / "results.json"
    path.write_text(path.read_text().replace('"violated"', '"matched"'))
    row = collect(project).row("mroueh2015/theorem1-psd")
    assert row.verdict == row.result["verdict"] == "violated"


# ------------------------------------------------------------------------------- the parts


def test_results_stand_where_the_text_names_them(project):
    notebook = collect(project).notebooks["mroueh2015/xperm"]
    page = page_of(notebook)
    found = [[(o.kind, o.value) for o in outputs] for outputs in page.outputs]
    assert [("figure", "accuracy"), ("table", "scores")] in found
    claims = next(outputs for outputs in found if ("claim", "mroueh2015/fig1-rls-order") in outputs)
    # an f-string stands for every claim that fits it
    assert ("claim", "mroueh2015/theorem1-psd") in claims
    assert found[-1] == [("claim", "mroueh2015/fig2-10-per-class")]  # named nowhere: at the end


def test_the_answer_is_the_figure_of_the_paper():
    """An example that a notebook draws before it comes second."""
    names = ("examples", "table2", "figure1")
    drawn = SimpleNamespace(figures={n: SimpleNamespace(name=n) for n in names})
    assert book.answer([drawn]).name == "table2"
    drawn.figures = {"examples": SimpleNamespace(name="examples")}
    assert book.answer([drawn]).name == "examples" and book.answer([]) is None


def test_uses_reads_names_and_modules():
    modules = ["invariance.features", "invariance.theory.mroueh2015", "invariance.companion"]
    reference = Reference(modules)
    source = NOTEBOOK + "\nfrom invariance.features.cdf import GroupCDF as G\n"
    source += "from invariance.theory import mroueh2015\nmroueh2015.theorem1_sandwich(3)\n"
    found = reference.uses(source)
    assert "invariance.features.GroupCDF" in found and len(found) == len(set(found))
    assert "invariance.theory.mroueh2015.theorem1_sandwich" in found
    assert reference.uses("import (") == () == reference.uses("x = " + "-" * 20_000 + "1")


def test_a_text_is_never_markup():
    """As MyST reads it, it is the text again, on one line."""
    from docutils.core import publish_doctree
    from myst_parser.parsers.docutils_ import Parser

    for text in (
        "1. x", "- y", "# z", ":::{raw} html", "`a` {x}`y` [a](b) <b>&amp;</b> $x$ | **s** _t_",
        "% comment", "(name)=", "{#id .x}", "+++", "    code", "a\\b", "[x]: y", "=== ", "***",
        "2) x", "~~u~~", "a\nb",
    ):  # fmt: skip
        shown = publish_doctree(
            str(escaped(text)), parser=Parser(),
            settings_overrides={"myst_enable_extensions": ["dollarmath", "colon_fence",
                                                           "attrs_block", "attrs_inline"]},
        )  # fmt: skip
        assert shown.astext() == " ".join(text.split()), text
        assert [type(n).__name__ for n in shown.children] == ["paragraph"], text


def test_prose_is_its_few_kinds_of_markup_alone():
    said = prose("a **b** `c<d` $x<y|z$ [e](https://f.g) [h](javascript:i) <script> 3 | 4")
    assert said == (
        r"a **b** `c<d` $x<y\vert z$ [e](<https://f.g>) \[h\](javascript:i) &lt;script&gt; 3 \| 4"
    )
    assert code("a`b|c") == "``a`b\\|c``"
    assert table([["a", "b|"], ["1\n2", "<"]]) == "| a | b\\| |\n|---|---|\n| 1 2 | &lt; |"


@pytest.fixture(scope="module")
def published() -> Material:
    return collect(Paths(ROOT))


def test_every_published_result_can_be_read(published):
    assert published.all_problems() == []


def test_findings_follow_from_published_results(published, tmp_path):
    made = book.Book(published, Paths(ROOT), tmp_path)._jinja.globals["findings"]
    said = {finding["title"]: " ".join(finding["said"].split()) for finding in made}
    assert list(said) == [finding["title"] for finding in published.about["findings"]]
    results = published.row("soleymani2025/exact-invariance").result["recorded"]
    assert f"{results['largest']:.0e}" in said["Exactness for free"]
    fallen = sum(r.verdict in FAILED for r in published.rows)
    counted = sum(r.verdict in VERDICTS for r in published.rows)
    first = f"{fallen} of {counted} claims are not reproduced."
    assert said["Where the papers fall short"].startswith(first)
    for finding in made:
        assert finding["drawn"] and not re.search(r"\d", finding["title"])


def test_papers_are_those_that_the_citation_names(published):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    assert [paper["title"] for paper in cited] == [paper.title for paper in published.papers]
    for paper, entry in zip(published.papers, cited, strict=True):
        assert paper.authors == ", ".join(a["family-names"] for a in entry["authors"])
        assert entry["url"] == paper.links["paper"]
        assert paper.figure in published.notebooks[paper.notebook].published.figures


def test_every_paper_has_a_dot_plot(published):
    for paper in published.papers:
        svg = dot_plot(paper)
        names = {text.text for text in svg.iter("text") if text.get("class") == "name"}
        # where nothing was ever above zero a bound has no tightness
        ours = {
            r.claim.id.split("/")[1]
            for r in paper.rows
            if r.result
            if r.result["kind"] == r.claim.kind
            if r.claim.kind != "bound" or r.result["recorded"].get("tightness") is not None
        }
        assert names == ours


def test_every_published_result_has_one_place(published):
    """Each figure, table and claim is shown once, and most where the code names them."""
    rest = total = 0
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
        total += len(placed)
        # what has moved to another notebook is shown there once that one is published
        others = [n.source for n in published.notebooks.values() if n is not notebook]
        rest += sum(not any(o.value in text for text in others) for o in outputs[-1])
    assert rest <= total / 20


def test_pages_for_a_forge_are_those_of_the_published_results():
    """``invariance pages`` has been run since the results were published."""
    for path, text in forge_pages(Paths(ROOT)).items():
        assert path.read_text(encoding="utf-8") == text, f"run `invariance pages`: {path.name}"


def test_pages_for_a_forge_lead_somewhere_and_hold_no_markup_of_results():
    found = forge_pages(Paths(ROOT))
    for path, text in found.items():
        assert "<script" not in text
        for address in re.findall(r"\]\(([^)\s]+)\)", text):
            if not address.startswith("https://"):
                target = (path.parent / address).resolve()
                assert target.exists() or target in found, address


def test_binder_opens_notebooks_as_make_lab_does():
    installed = (ROOT / ".binder/requirements.txt").read_text()
    assert "--editable .[all,companion,guides,lab]" in installed
    assert "--constraint ../constraints.txt" in installed
    script = ROOT / ".binder/postBuild"
    assert "set-default-viewer python" in script.read_text() and os.access(script, os.X_OK)


def test_importing_the_command_line_brings_no_sphinx():
    code = "import sys, invariance.companion.cli; print('sphinx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_progress_bars_are_not_shown():
    bar = {"output_type": "stream", "name": "stderr", "text": ["\rfits:  50%|#####     | 5/10"]}
    warning = {"output_type": "stream", "name": "stderr", "text": ["UserWarning: few points\n"]}
    assert cells._printed(bar, set()) is None
    assert "few points" in cells._printed(warning, set())["text"]


def test_warnings_are_shown_once_and_without_the_place_on_a_machine():
    raised = "".join(
        f"/home/someone/lib/python/some.py:{line}: UserWarning: few points\n  kernel(X)\n"
        for line in (3, 30)
    )
    other = "/tmp/kernel_7/2.py:1: IndefiniteWarning: 2 of 9 eigenvalues\nare negative\n"
    output = {"output_type": "stream", "name": "stderr", "text": [raised, other]}
    shown = cells._printed(output, set())["text"]
    assert shown.splitlines() == [
        "UserWarning: few points",
        "IndefiniteWarning: 2 of 9 eigenvalues",
        "are negative",
    ]
    output["text"] = "\n"
    assert cells._printed(output, set()) is None
