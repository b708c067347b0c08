"""``invariance new`` starts a companion to a paper, from text to site, that knows no other."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main


def command(folder: Path, *arguments: str) -> str:
    line = [sys.executable, "-m", "invariance.companion", *arguments]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.notebooks
def test_a_new_companion_runs_and_has_a_site(tmp_path, monkeypatch):
    monkeypatch.delenv("INVARIANCE_ROOT", raising=False)
    folder = tmp_path / "companion"
    command(tmp_path, "new", "miller1999", "--out", str(folder))
    assert "agree" in command(folder, "check")
    assert "1 of 1 notebooks succeeded" in command(folder, "run", "--profile", "full")
    command(folder, "scoreboard")
    command(folder, "pages")
    assert "agree" in command(folder, "check")
    command(folder, "run", "--profile", "quick")
    command(folder, "report", "--profile", "quick")
    page = (folder / "build/report/miller1999/first.html").read_text()
    assert "roots of unity" in page and "matched" in page
    index = (folder / "build/report/index.html").read_text()
    assert "A companion to miller1999" in index
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert subprocess.run(tests, cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["Miller 1999"], "cannot be a paper's key"), (["miller1999", "--out", "."], "is not empty")],
)
def test_what_cannot_be_started_is_named(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    result = CliRunner().invoke(main, ["new", *arguments])
    assert result.exit_code in (1, 2) and message in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
