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


def test_without_the_folder_there_is_no_button(project):
    index, _ = build_site(project)
    assert "Run in your browser" not in (index.parent / "doe2031/first.html").read_text("utf-8")
    assert not (index.parent / "lite").exists()
