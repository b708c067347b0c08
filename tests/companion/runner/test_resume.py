"""A stored result is kept only if a run would give the same."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.files import file_digest, write_bytes
from invariance.companion.ledger import consistency
from invariance.companion.ledger.results import read_results, read_status
from invariance.companion.runner import resume
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here

from .light import HEADER, NAMES, Writer

CORRUPTIONS = int(os.environ.get("INVARIANCE_CORRUPTIONS", 30))


def _garbage(content, dice):
    place = dice.randrange(len(content))
    return content[:place] + dice.randbytes(40) + content[place + 40 :]


def _other_type(content, dice):
    """A JSON file in which one value is of another type; anything else becomes a list."""
    value = dice.choice([[1], 1, None, "text", {}, 1e308, -1, [[]], {"status": [1]}])
    try:
        document = json.loads(content)
    except ValueError:
        return b"[1]"
    node = document
    while isinstance(node, dict) and node:
        key = dice.choice(sorted(node))
        below = node[key]
        if not isinstance(below, dict) or not below or dice.random() < 0.4:
            node[key] = value
            return json.dumps(document).encode()
        node = below
    return json.dumps(value).encode()


CORRUPT = {
    "zeros": lambda content, _: bytes(len(content)),
    "truncated": lambda content, dice: content[: dice.randrange(len(content))],
    "garbage": _garbage,
    "deep": lambda content, _: b"[" * 50_000,
    "another type": _other_type,
    "marked": lambda content, _: b"\xef\xbb\xbf" + content,
}


def _harm(chaos, path: Path) -> str:
    """Corrupt one file in one of many ways."""
    same_file_elsewhere = [
        other for name in NAMES if (other := chaos.folder(name) / path.name) != path
    ]
    harm = chaos.random.choice([*CORRUPT, "another type", "deleted", "another's", "a folder"])
    content = path.read_bytes() or b"{}"
    if harm in CORRUPT:
        path.write_bytes(CORRUPT[harm](content, chaos.random))
    elif harm == "another's":
        path.write_bytes(chaos.random.choice(same_file_elsewhere).read_bytes())
    else:
        path.unlink()
        path.mkdir() if harm == "a folder" else None
    return harm


def test_corrupted_files_are_never_believed(chaos, project):
    done, n_harmless = Counter(), 0
    assert sorted(chaos.resume()) == sorted(NAMES)
    assert chaos.resume() == []
    chaos.assert_all_done()
    for _ in range(CORRUPTIONS):
        name = chaos.random.choice(NAMES)
        folders = [chaos.folder(name), chaos.folder(name), project.published(name)]
        files = sorted(path for path in chaos.random.choice(folders).iterdir() if path.is_file())
        path = chaos.random.choice(files)
        harm = _harm(chaos, path)
        done[harm] += 1
        if chaos.random.random() < 0.2:
            chaos.rewrite(name)
        for other in NAMES:  # time stamps do not count
            moment = chaos.random.choice([0, 1, 2**31, 2**32])
            if (chaos.folder(other) / "results.json").is_file():
                os.utime(chaos.folder(other) / "results.json", (moment, moment))

        for folder in folders:
            for problem in (read_results(folder, name)[1], read_status(folder, name)[1]):
                assert all(isinstance(sentence, str) for sentence in problem)
        assert all(isinstance(sentence, str) for sentence in consistency.problems(project))
        result = CliRunner().invoke(main, [chaos.random.choice(["list", "check", "scoreboard"])])
        assert isinstance(result.exception, SystemExit | None), (harm, path, result.exception)
        started = chaos.resume()
        assert set(started) <= ({name} if name != "p/a" else {"p/a", "p/reader"})
        n_harmless += started == []
        # a published number that was changed for another is a result from elsewhere
        sound = harm == "another type" and path.name == "results.json" and started == []
        try:
            chaos.assert_all_done(path if sound else None)
        except AssertionError as error:
            raise AssertionError(f"{harm} of {path}, then started {started}") from error
        assert chaos.resume() == []
        if sound:
            write_bytes(path, chaos.truths[name][-1][path.name])
    print(f"{CORRUPTIONS} corruptions, {dict(done)}; {n_harmless} touched nothing that matters")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# %%\nx = '\xe9'\n", "not UTF-8 text"),
        (b"{HEADER}\0\0", "null bytes"),
        (b"{HEADER}x = " + b"-" * 20_000 + b"1\n", "nested too deeply"),
        (b"{HEADER}x = " + b"(" * 20_000 + b"\n", "not Python|nested too deeply"),
        (b"{HEADER}x = (\n", "is not Python"),
        (b"{LONG}", "not a literal"),
        (b"", "0 parameters cells"),
        (b"# ---\n# a: " + b"[" * 100_000 + b"\n# ---\n", "0 parameters cells"),
    ],
)
def test_a_bad_source_is_its_own_failure(chaos, project, content, message):
    long = HEADER.replace("0\n", "-" * 20_000 + "1\n")
    content = content.replace(b"{HEADER}", HEADER.encode()).replace(b"{LONG}", long.encode())
    project.source("p/b").write_bytes(content)
    summary = run_notebooks(project, NAMES, profile="full", place=Writer(chaos.write))
    failed = {o.notebook: o for o in summary.outcomes if o.status != "ok"}
    assert set(failed) == {"p/b"} and len(summary.outcomes) == 3
    reported = failed["p/b"].failure["message"]
    assert any(part in reported for part in message.split("|")) and len(reported) < 500
    assert any("p/b" in problem for problem in consistency.problems(project))
    result = CliRunner().invoke(main, ["list"])
    assert result.exit_code == 0 and "p/a" in result.output


def test_resume_says_why_it_runs_something_again(chaos, project, capfd, monkeypatch):
    capfd.readouterr()

    def again(**options) -> str:
        chaos.resume(**options)
        return capfd.readouterr().out

    assert again() == "" and again() == ""
    chaos.rewrite("p/b")
    assert "p/b" in (output := again()) and "text has changed" in output and "p/a" not in output
    with project.source("p/b").open("a", encoding="utf-8") as stream:
        stream.write("\n# %%\nMODULE = '_helper'  # imported by name\n")
    assert "text has changed" in again()
    (project.notebooks / "p/_helper.py").write_text("x = 1", "utf-8")
    assert "code (_helper.py) has changed" in (output := again()) and "p/a" not in output
    (chaos.folder("p/b") / "walk.png").unlink()
    assert "walk.png is missing" in again()
    (chaos.folder("p/b") / "results.json").write_text("{", "utf-8")
    assert "results.json is not what the run wrote" in again()
    (chaos.folder("p/b") / "status.json").write_text("[1]", "utf-8")
    assert "status.json: not readable as results" in again()
    assert "threads has changed" in again(threads=2)
    monkeypatch.setattr(resume, "package_versions", lambda: {"numpy": "0"})
    assert "packages (" in again()
    monkeypatch.undo()
    again()
    chaos.rewrite("p/a")
    output = again()
    assert "it reads p/a, which runs again" in output
    table = project.published("p/a") / "numbers.csv"
    table.write_text("x\n3\n", "utf-8")
    again()
    assert table.read_bytes() == chaos.truths["p/a"][-1]["numbers.csv"]


@pytest.mark.notebooks
def test_a_package_of_ones_own_is_followed(project, capfd):
    project.write("p/own", 'import own_package\n\nrun.say("{n} points", n=own_package.N)')
    module = project.notebooks / "p" / "own_package" / "__init__.py"
    write_bytes(module, b"N = 10")

    def number() -> int:
        capfd.readouterr()
        assert run_notebooks(project, ["p/own"], place=Here(1), resume=True).exit_code == 0
        results, _ = read_results(project.output("p/own", "quick"))
        return results["says"][0]["numbers"]["n"]

    assert number() == 10
    write_bytes(module, b"N = 20")
    assert number() == 20
    name = "notebooks/p/own_package/__init__.py"
    assert f"code ({name}) has changed" in capfd.readouterr().out
    assert number() == 20 and "again" not in capfd.readouterr().out


@pytest.mark.parametrize("ending", ["interrupted", "failed"])
def test_a_first_attempt_without_success_is_the_reason(chaos, project, capfd, ending):
    folder = chaos.folder("p/a")
    folder.mkdir(parents=True)
    status = {"notebook": "p/a", "status": ending, "success": None}
    (folder / "status.json").write_text(json.dumps(status), "utf-8")
    chaos.resume(("p/a",))
    output = capfd.readouterr().out
    assert f"its latest attempt ended as {ending}" in output and "text has changed" not in output


def test_a_run_under_another_name_is_told_the_expected_call(chaos, project):
    outputs = chaos.truths["p/b"][-1]
    outputs["results.json"] = outputs["results.json"].replace(b'"p/b"', b'"p/old"')
    summary = run_notebooks(project, ["p/b"], profile="full", place=Writer(chaos.write))
    message = summary.outcomes[0].failure["message"]
    assert message == "calls Run with ['p/old']; expected one Run('p/b', ...)"


def test_a_result_is_of_the_data_that_are_here(chaos, project, capfd, monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATA", str(project.root / "data"))
    capfd.readouterr()
    data = project.root / "data" / "own" / "points.bin"
    write_bytes(data, b"1 2 3")
    outputs = chaos.truths["p/b"][-1]
    results = json.loads(outputs["results.json"])
    results["provenance"]["data"] = {"own/points.bin": file_digest(data)}
    outputs["results.json"] = json.dumps(results).encode()

    def again() -> str:
        chaos.resume()
        return capfd.readouterr().out

    assert again() == "" and again() == ""
    stat = data.stat()
    data.write_bytes(b"1 2 4")
    os.utime(data, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "p/b" in (output := again()) and "the data file own/points.bin has changed" in output
    data.write_bytes(b"1 2 3")
    assert again() == ""
    own = project.root / "own" / "points.bin"  # named by `uses_data`, with a copy among the data
    write_bytes(own, b"1 2 4")
    assert "the data file own/points.bin has changed" in again()
    own.unlink()
    again()
    data.unlink()  # an absent file has not changed
    assert again() == ""
    write_bytes(project.root / "own/points.bin", b"1 2 4")  # a file of the project
    assert "the data file own/points.bin has changed" in again()
