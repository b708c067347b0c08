"""What lies where the site is to go: only our own folder is ever replaced."""

import json
import subprocess
from pathlib import Path

import pytest

from invariance.companion.site.build import MARKER, _put, build_site, refuse_foreign
from invariance.companion.site.material import SiteError


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def _site(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("old")
    (folder / MARKER).write_text(json.dumps({"made by": "invariance", "files": ["index.html"]}))
    return folder


def test_a_thesis_and_its_history_stay(project, tmp_path):
    """An ``index.html`` does not make a folder ours: in a trial, this one was deleted."""
    thesis = tmp_path / "thesis"
    (thesis / "chapters").mkdir(parents=True)
    (thesis / "index.html").write_text("<h1>My thesis</h1>")
    (thesis / "chapters" / "one.tex").write_text("years of work")
    subprocess.run(["git", "init", "-q", str(thesis)], check=True)
    before = _tree(thesis)
    with pytest.raises(SiteError, match="was not made by this command"):
        build_site(project, thesis)
    assert _tree(thesis) == before and (thesis / ".git").is_dir()


def test_what_was_put_into_an_earlier_site_stays(tmp_path):
    out = _site(tmp_path / "site")
    refuse_foreign(out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(SiteError, match=r"holds notes\.txt beside an earlier site"):
        refuse_foreign(out)
    (out / "notes.txt").unlink()
    (out / "kept").symlink_to(tmp_path)
    with pytest.raises(SiteError, match="kept"):
        refuse_foreign(out)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "\0",
        '{"made by": "me", "files": []}',
        '{"made by": "invariance", "files": 3}',
        "[" * 100_000,
    ],
)
def test_a_marker_of_someone_else_is_none(tmp_path, content):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MARKER).write_text(content)
    with pytest.raises(SiteError, match="not made by this command"):
        refuse_foreign(tmp_path / "site")


def test_a_link_as_marker_is_none(tmp_path):
    real = _site(tmp_path / "site")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / MARKER).symlink_to(real / MARKER)
    with pytest.raises(SiteError, match="not made by this command"):
        refuse_foreign(tmp_path / "other")


def test_a_file_or_a_link_is_refused(project, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(SiteError, match="is a file"):
        build_site(project, file)
    assert file.read_text() == "mine"
    link = tmp_path / "link"
    link.symlink_to(_site(tmp_path / "site"), target_is_directory=True)
    with pytest.raises(SiteError, match="is a link"):
        build_site(project, link)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    with pytest.raises(SiteError, match="is a link"):
        build_site(project, tmp_path / "nowhere")


def test_a_free_an_empty_and_our_own_folder_are_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    for number, out in enumerate(
        [tmp_path / "free", tmp_path / "empty", _site(tmp_path / "ours" / "site")]
    ):
        place = out.parent / f"place{number}"
        (place / "site").mkdir(parents=True)
        (place / "site" / "index.html").write_text("new")
        _put(place / "site", out)
        assert _tree(out) == {"index.html": b"new"}


def test_what_came_while_the_site_was_built_stays(tmp_path):
    out = _site(tmp_path / "site")
    (tmp_path / "place" / "site").mkdir(parents=True)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(SiteError, match=r"notes\.txt"):
        _put(tmp_path / "place" / "site", out)
    assert (out / "notes.txt").read_text() == "mine"


def test_an_earlier_site_stays_when_the_new_one_fails(project, tmp_path, monkeypatch):
    out = _site(tmp_path / "site")
    monkeypatch.setattr("invariance.companion.site.build._sphinx", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_site(project, out)
    assert (out / "index.html").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".site")] == []
