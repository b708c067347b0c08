"""What lies where the site is to go: only our own folder is ever replaced."""

import json
import subprocess
from pathlib import Path

import pytest

from invariance.companion.site.build import MARKER, build_site, refuse_foreign
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
    with pytest.raises(SiteError, match=r"holds notes\.txt and an earlier site"):
        refuse_foreign(out)
    (out / "notes.txt").unlink()
    (out / "kept").symlink_to(tmp_path)
    with pytest.raises(SiteError, match="kept"):
        refuse_foreign(out)


FOREIGN = ("", "[]", "{}", "\0", '{"made by": "me", "files": []}',
           '{"made by": "invariance", "files": 3}', "[" * 100_000)  # fmt: skip


@pytest.mark.parametrize("content", FOREIGN)
def test_a_marker_of_someone_else_is_none(tmp_path, content):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MARKER).write_text(content)
    with pytest.raises(SiteError, match="not made by this command"):
        refuse_foreign(tmp_path / "site")


def test_a_file_or_a_link_is_refused(project, tmp_path):
    real = _site(tmp_path / "site")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / MARKER).symlink_to(real / MARKER)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(real, target_is_directory=True)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    for name, fault in {"file": "is a file", "link": "is a link", "nowhere": "is a link",
                        "other": "not made by this command"}.items():  # fmt: skip
        with pytest.raises(SiteError, match=fault):
            build_site(project, tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_free_an_empty_and_our_own_folder_are_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "free", tmp_path / "empty", _site(tmp_path / "ours" / "site")):
        refuse_foreign(out)


def _sphinx(out: Path, more: str = ""):
    """In place of Sphinx: one page, and what a user puts into `out` in the meantime."""

    def write(book, source, draft):
        draft.mkdir()
        (draft / "index.html").write_text("new")
        if more:
            (out / more).write_text("mine")
        return []

    return write


def test_an_earlier_site_is_replaced_as_a_whole(project, tmp_path, monkeypatch):
    out = _site(tmp_path / "site")
    monkeypatch.setattr("invariance.companion.site.build._sphinx", _sphinx(out))
    build_site(project, out)
    assert _tree(out).keys() == {"index.html", MARKER} and _tree(out)["index.html"] == b"new"


def test_what_came_while_the_site_was_built_stays(project, tmp_path, monkeypatch):
    out = _site(tmp_path / "site")
    monkeypatch.setattr("invariance.companion.site.build._sphinx", _sphinx(out, "notes.txt"))
    with pytest.raises(SiteError, match=r"notes\.txt"):
        build_site(project, out)
    assert _tree(out)["notes.txt"] == b"mine" and _tree(out)["index.html"] == b"old"


def test_an_earlier_site_stays_when_the_new_one_fails(project, tmp_path, monkeypatch):
    out = _site(tmp_path / "site")
    monkeypatch.setattr("invariance.companion.site.build._sphinx", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_site(project, out)
    assert (out / "index.html").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".site")] == []
