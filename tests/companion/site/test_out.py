"""The output folder of the site: only an earlier site is ever replaced."""

import json
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
    (folder / "index.html").write_text("old", "utf-8")
    (folder / MARKER).write_text(
        json.dumps({"made by": "invariance", "files": ["index.html"]}), "utf-8"
    )
    return folder


def test_what_is_not_ours_is_refused_and_stays(project, tmp_path):
    folder = tmp_path / "here"
    real = _site(folder / "site")
    for name in ("thesis/index.html", "thesis/chapters/one.tex", "thesis/.git/HEAD", "file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("years of work", "utf-8")
    (folder / "other").mkdir()
    (folder / "other" / MARKER).symlink_to(real / MARKER)
    (folder / "link").symlink_to(real, target_is_directory=True)
    (folder / "nowhere").symlink_to(folder / "missing")
    before = _tree(folder)
    for name, fault in {"thesis": "was not made by this command", "file": "is a file",
                        "link": "is a link", "nowhere": "is a link",
                        "other": "not made by this command"}.items():  # fmt: skip
        with pytest.raises(SiteError, match=fault):
            build_site(project, folder / name)
    assert _tree(folder) == before


def test_what_was_put_into_an_earlier_site_stays(tmp_path):
    out = _site(tmp_path / "site")
    refuse_foreign(out)
    (out / "notes.txt").write_text("mine", "utf-8")
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
    (tmp_path / "site" / MARKER).write_text(content, "utf-8")
    with pytest.raises(SiteError, match="not made by this command"):
        refuse_foreign(tmp_path / "site")


def test_a_free_an_empty_and_our_own_folder_are_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "free", tmp_path / "empty", _site(tmp_path / "ours" / "site")):
        refuse_foreign(out)


def _sphinx(out: Path, added: str = "", fails: bool = False) -> type:
    """Return a stand-in for Sphinx: it writes one page, and then fails, or a user adds a file."""

    class Sphinx:
        def __init__(self, outdir: Path, **_) -> None:
            self.outdir = outdir

        def build(self, force_all: bool) -> None:
            self.outdir.mkdir()
            (self.outdir / "index.html").write_text("new", "utf-8")
            if added:
                (out / added).write_text("mine", "utf-8")
            if fails:
                raise ZeroDivisionError

    return Sphinx


def test_an_earlier_site_is_replaced_as_a_whole_or_stays_with_what_came(
    project, tmp_path, monkeypatch
):
    out = _site(tmp_path / "site")
    sphinx = "sphinx.application.Sphinx"
    monkeypatch.setattr(sphinx, _sphinx(out, fails=True))
    with pytest.raises(ZeroDivisionError):
        build_site(project, out)
    assert _tree(out)["index.html"] == b"old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".site")] == []
    monkeypatch.setattr(sphinx, _sphinx(out))
    build_site(project, out)
    assert _tree(out).keys() == {"index.html", MARKER} and _tree(out)["index.html"] == b"new"
    (out / "index.html").write_text("old", "utf-8")
    monkeypatch.setattr(sphinx, _sphinx(out, "notes.txt"))
    with pytest.raises(SiteError, match=r"notes\.txt"):
        build_site(project, out)
    assert _tree(out)["notes.txt"] == b"mine" and _tree(out)["index.html"] == b"old"
