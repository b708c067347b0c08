"""The site has buttons and a copy of the folder for browsers where that folder was built."""

import pytest

from invariance.companion.new import start_companion
from invariance.companion.paths import Paths
from invariance.companion.site.build import build_site
from invariance.companion.site.material import SiteError

BUTTON = 'href="../lite/run.html?notebook=doe2031/first"'


@pytest.fixture
def project(tmp_path):
    start_companion("doe2031", tmp_path / "project")
    return Paths(tmp_path / "project")


def test_the_button_leads_to_the_copy_in_the_site(project):
    for name in ("run.html", "files/doe2031/first.ipynb"):
        path = project.lite / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("built", "utf-8")
    index, _ = build_site(project)
    assert BUTTON in (index.parent / "doe2031/first.html").read_text("utf-8")
    assert (index.parent / "lite/run.html").read_text("utf-8") == "built"
    (project.lite / "run.html").write_text("built again", "utf-8")
    build_site(project)  # the earlier site, with its copy, is recognised and replaced
    assert (index.parent / "lite/run.html").read_text("utf-8") == "built again"
    (index.parent / "lite/mine.txt").write_text("mine", "utf-8")
    with pytest.raises(SiteError, match=r"lite/mine\.txt"):
        build_site(project)


def test_a_page_gives_the_reason_if_its_notebook_does_not_run_there(project):
    path = project.lite / "files/doe2031/other.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("built", "utf-8")
    with project.papers.open("a", encoding="utf-8") as papers:
        papers.write("not_in_browser: {doe2031/first: starts processes}\n")
    index, _ = build_site(project)
    page = (index.parent / "doe2031/first.html").read_text("utf-8")
    assert "Not in a browser: it starts processes." in page and BUTTON not in page


def test_without_the_folder_there_is_no_button(project):
    index, _ = build_site(project)
    assert "Run in your browser" not in (index.parent / "doe2031/first.html").read_text("utf-8")
    assert not (index.parent / "lite").exists()
