"""Kills at random moments and corrupted files: nothing lost, nothing stale, nothing done in name.

Short here; ``INVARIANCE_KILLS=200 INVARIANCE_CORRUPTIONS=200`` is the long version, and
``INVARIANCE_CHAOS_SEED`` another sequence.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.files import file_digest, write_bytes, write_json
from invariance.companion.ledger import consistency
from invariance.companion.ledger.results import read_results, read_status
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here
from invariance.companion.runner.processes import MARK

LIGHT = Path(__file__).with_name("light.py")
_spec = spec_from_file_location("light", LIGHT)
light = module_from_spec(_spec)
_spec.loader.exec_module(light)

KILLS = int(os.environ.get("INVARIANCE_KILLS", 10))
CORRUPTIONS = int(os.environ.get("INVARIANCE_CORRUPTIONS", 60))
SEED = int(os.environ.get("INVARIANCE_CHAOS_SEED", 0))

HEADER = """\
# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   invariance: {READS}
# ---
# %% tags=["parameters"]
profile: str = "quick"
seed: int = 0
# %%
"""
NAMES = ("p/a", "p/b", "p/reader")


class Chaos:
    """A project of tiny notebooks, and what each of them has to have written."""

    def __init__(self, project, seed: int) -> None:
        self.project, self.random = project, random.Random(seed)
        self.version = 0
        # of each notebook, every truth that it ever had
        self.truths: dict[str, list[dict[str, bytes]]] = {name: [] for name in NAMES}
        for name in NAMES:
            self.rewrite(name)

    def rewrite(self, name: str) -> None:
        """Another text, hence other results."""
        self.version += 1
        header = HEADER.replace("READS", "reads: [p/a]" if name == "p/reader" else "")
        write_bytes(self.project.source(name), f"{header}x = {self.version}\n".encode())
        self.truths[name].append(
            light.truth(self.project.source(name).read_text(), name, {"profile": "full", "seed": 0})
        )

    def folder(self, name: str) -> Path:
        return self.project.output(name, "full")

    def holds(self, folder: Path, outputs: dict[str, bytes]) -> bool:
        return all(
            (folder / name).is_file() and (folder / name).read_bytes() == content
            for name, content in outputs.items()
        )

    def assert_all_done(self, altered: Path | None = None) -> None:
        """Every notebook has its latest results; `altered` may be published as other results."""
        for name in NAMES:
            status, problems = read_status(self.folder(name), name)
            assert problems == [] and status["status"] == "ok", (name, status, problems)
            assert self.holds(self.folder(name), self.truths[name][-1]), name
            if altered is not None and altered.parent == self.project.published(name):
                assert read_results(altered.parent, name)[1] == []
                continue
            published = dict(self.truths[name][-1])
            del published["executed.ipynb"]
            assert self.holds(self.project.published(name), published), name
        hidden = [*self.project.build.glob("*/*/.*"), *self.project.figures.glob("*/.*")]
        assert hidden == []


# corrupted files


class Writer:
    """A place that runs no process: a notebook writes its truth at once."""

    slots = 2

    def __init__(self, chaos: Chaos) -> None:
        self.chaos, self.started = chaos, []

    def start(self, description, environment):
        folder, name = Path(description["folder"]), description["notebook"]
        for file, content in self.chaos.truths[name][-1].items():
            write_bytes(folder / file, content)
        write_json(folder / ".work" / "outcome.json", {"status": "ok", "failure": None})
        self.started.append(name)
        return SimpleNamespace(returncode=0, poll=lambda: 0)

    def end(self, process, folder):
        pass


def _zeros(content, _):
    return bytes(len(content))


def _truncated(content, chaos):
    return content[: chaos.random.randrange(len(content))]


def _garbage(content, chaos):
    place = chaos.random.randrange(len(content))
    return content[:place] + chaos.random.randbytes(40) + content[place + 40 :]


def _deep(content, _):
    return b"[" * 50_000


def _other_type(content, chaos):
    """A JSON file in which one value is of another type; anything else becomes a list."""
    wrong = chaos.random.choice([[1], 1, None, "text", {}, 1e308, -1, [[]], {"status": [1]}])
    try:
        whole = json.loads(content)
    except ValueError:
        return b"[1]"
    node = whole
    while isinstance(node, dict) and node:
        key = chaos.random.choice(sorted(node))
        below = node[key]
        if not isinstance(below, dict) or not below or chaos.random.random() < 0.4:
            node[key] = wrong
            return json.dumps(whole).encode()
        node = below
    return json.dumps(wrong).encode()


def _marked(content, _):
    return b"\xef\xbb\xbf" + content


CORRUPT = (_zeros, _truncated, _garbage, _deep, _other_type, _other_type, _marked)


def _harm(chaos: Chaos, path: Path) -> str:
    """Corrupt one file in one of many ways."""
    others = [other for name in NAMES if (other := chaos.folder(name) / path.name) != path]
    how = chaos.random.choice([*CORRUPT, "deleted", "another's", "a folder"])
    if how == "deleted":
        path.unlink()
    elif how == "another's":
        path.write_bytes(chaos.random.choice(others).read_bytes())
    elif how == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(how(path.read_bytes() or b"{}", chaos))
    return how if isinstance(how, str) else how.__name__


def test_corrupted_files_are_never_believed(project, monkeypatch):
    chaos = Chaos(project, SEED)
    done, kept = Counter(), 0

    def resume() -> list[str]:
        place = Writer(chaos)
        # outcomes name every notebook; none is left out
        summary = run_notebooks(project, NAMES, profile="full", place=place, resume=True)
        assert sorted(o.notebook for o in summary.outcomes) == sorted(NAMES)
        return place.started

    assert sorted(resume()) == sorted(NAMES)
    assert resume() == []
    chaos.assert_all_done()
    for _ in range(CORRUPTIONS):
        name = chaos.random.choice(NAMES)
        folders = [chaos.folder(name), chaos.folder(name), project.published(name)]
        files = sorted(path for path in chaos.random.choice(folders).iterdir() if path.is_file())
        path = chaos.random.choice(files)
        how = _harm(chaos, path)
        done[how] += 1
        if chaos.random.random() < 0.2:
            chaos.rewrite(name)
        for other in NAMES:  # whatever a clock says
            moment = chaos.random.choice([0, 1, 2**31, 2**32])
            if (chaos.folder(other) / "results.json").is_file():
                os.utime(chaos.folder(other) / "results.json", (moment, moment))

        for folder in folders:
            for problem in (read_results(folder, name)[1], read_status(folder, name)[1]):
                assert all(isinstance(sentence, str) for sentence in problem)
        assert all(isinstance(sentence, str) for sentence in consistency.problems(project))
        for command in (["list"], ["check"], ["scoreboard"]):
            result = CliRunner().invoke(main, command)
            assert isinstance(result.exception, SystemExit | None), (how, path, result.exception)
        started = resume()
        assert set(started) <= ({name} if name != "p/a" else {"p/a", "p/reader"})
        kept += started == []
        # a published number that was changed for another is a result from elsewhere
        sound = how == "_other_type" and path.name == "results.json" and started == []
        try:
            chaos.assert_all_done(path if sound else None)
        except AssertionError as error:
            raise AssertionError(f"{how} of {path}, then started {started}") from error
        assert resume() == []
        if sound:
            write_bytes(path, chaos.truths[name][-1][path.name])
    print(f"{CORRUPTIONS} corruptions, {dict(done)}; {kept} touched nothing that matters")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "byte-order mark"),
        (b"# %%\nx = '\xe9'\n", "not UTF-8 text"),
        (HEADER.encode() + b"\0\0", "null bytes"),
        (HEADER.encode() + b"x = " + b"-" * 20_000 + b"1\n", "nested too deeply"),
        (HEADER.encode() + b"x = " + b"(" * 20_000 + b"\n", "not Python|nested too deeply"),
        (HEADER.encode() + b"x = (\n", "is not Python"),
        (HEADER.replace("0\n", "-" * 20_000 + "1\n").encode(), "nested too deeply"),
        (b"", "0 parameters cells"),
    ],
)
def test_a_bad_source_is_its_own_failure(project, content, message):
    chaos = Chaos(project, SEED)
    project.source("p/b").write_bytes(content)
    summary = run_notebooks(project, NAMES, profile="full", place=Writer(chaos))
    failed = {o.notebook: o for o in summary.outcomes if o.status != "ok"}
    assert set(failed) == {"p/b"} and len(summary.outcomes) == 3
    told = failed["p/b"].failure["message"]
    assert any(part in told for part in message.split("|")) and len(told) < 500
    assert any("p/b" in problem for problem in consistency.problems(project))
    result = CliRunner().invoke(main, ["list"])
    assert result.exit_code == 0 and "p/a" in result.output


def test_resume_says_why_it_runs_something_again(project, capfd):
    chaos = Chaos(project, SEED)

    def again(**options) -> str:
        run_notebooks(project, NAMES, profile="full", place=Writer(chaos), resume=True, **options)
        return capfd.readouterr().out

    assert again() == "" and again() == ""
    chaos.rewrite("p/b")
    assert "p/b" in (told := again()) and "its text has changed" in told and "p/a" not in told
    (chaos.folder("p/b") / "walk.svg").unlink()
    assert "walk.svg is missing" in again()
    (chaos.folder("p/b") / "results.json").write_text("{")
    assert "results.json is not what the run wrote" in again()
    (chaos.folder("p/b") / "status.json").write_text("[1]")
    assert "status.json: not readable as results" in again()
    assert "threads was 1, is 2" in again(threads=2)
    assert "threads was 2, is 1" in again()
    chaos.rewrite("p/a")
    told = again()
    assert "it reads p/a, which runs again" in told
    table = project.published("p/a") / "numbers.csv"
    table.write_text("x\n3\n")
    assert "published copy was damaged" in again()


def test_a_result_is_of_the_data_that_are_here(project, capfd, monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATA", str(project.root / "data"))
    chaos = Chaos(project, SEED)
    data = project.root / "data" / "own" / "points.bin"
    write_bytes(data, b"1 2 3")
    outputs = chaos.truths["p/b"][-1]
    results = json.loads(outputs["results.json"])
    results["provenance"]["data"] = {"own/points.bin": file_digest(data)}
    outputs["results.json"] = json.dumps(results).encode()

    def again() -> str:
        run_notebooks(project, NAMES, profile="full", place=Writer(chaos), resume=True)
        return capfd.readouterr().out

    assert again() == "" and again() == ""
    stat = data.stat()
    data.write_bytes(b"1 2 4")
    os.utime(data, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "p/b" in (told := again()) and "the data file own/points.bin has changed" in told
    data.write_bytes(b"1 2 3")
    assert again() == ""
    data.unlink()  # what is not here has not changed
    assert again() == ""


def test_half_an_executed_notebook_is_dropped_with_a_failure(project):
    chaos = Chaos(project, SEED)

    class Cut(Writer):
        """The worker dies while it writes."""

        def start(self, description, environment):
            process = super().start(description, environment)
            folder = Path(description["folder"])
            (folder / "executed.ipynb").write_bytes(b'{"cells": [')
            (folder / ".work" / "outcome.json").write_bytes(b"[1]")
            (folder / ".work" / "worker.log").write_text("out of luck")
            process.returncode = 3
            return process

    run_notebooks(project, NAMES, profile="full", place=Writer(chaos))
    chaos.rewrite("p/b")
    summary = run_notebooks(project, ["p/b"], profile="full", place=Cut(chaos))
    assert "ended with code 3: out of luck" in summary.outcomes[0].failure["message"]
    status, problems = read_status(chaos.folder("p/b"), "p/b")
    assert problems == [] and status["status"] == "failed" and status["executed"] is None
    assert not (chaos.folder("p/b") / "failed" / "executed.ipynb").exists()
    assert chaos.holds(chaos.folder("p/b"), chaos.truths["p/b"][-2])
    run_notebooks(project, NAMES, profile="full", place=Writer(chaos), resume=True)
    chaos.assert_all_done()


# kills


def _processes(project, sleep: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            ours = process.environ().get(MARK, "").startswith(str(project.root))
            if (ours or sleep in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _by_role(runner: subprocess.Popen) -> dict[str, list[psutil.Process]]:
    """Guards, workers and kernels below a runner."""
    roles: dict[str, list[psutil.Process]] = {"runner": [], "guard": [], "worker": [], "kernel": []}
    try:
        roles["runner"] = [psutil.Process(runner.pid)]
        for role, above in (("guard", "runner"), ("worker", "guard"), ("kernel", "worker")):
            roles[role] = [c for p in roles[above] for c in p.children()]
    except psutil.Error:
        pass
    return roles


def test_random_kills_lose_nothing(project, monkeypatch):
    chaos = Chaos(project, SEED)
    sleep = f"{random.SystemRandom().randrange(10**8, 10**9)}.5"
    environment = {**os.environ, "LIGHT_SLEEP": sleep, "TQDM_DISABLE": "1"}
    told = Counter()

    def start() -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, str(LIGHT), "run", str(project.root)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def alone() -> None:
        end = time.monotonic() + 15
        while living := _processes(project, sleep):
            assert time.monotonic() < end, [p.cmdline() for p in living]
            time.sleep(0.02)

    monkeypatch.setenv("LIGHT_SLEEP", sleep)
    place = Here(2, worker=(str(LIGHT), "work"))

    def complete() -> None:
        summary = run_notebooks(project, NAMES, profile="full", place=place, resume=True)
        assert summary.exit_code == 0, summary
        alone()
        chaos.assert_all_done()

    clock = time.monotonic()
    runner = start()
    output = runner.communicate(timeout=120)[0]
    assert runner.returncode == 0, output
    whole = time.monotonic() - clock
    complete()
    for _ in range(KILLS):
        changed = chaos.random.choice([["p/a"], ["p/b"], ["p/a", "p/b"], ["p/b", "p/reader"]])
        for name in changed:
            chaos.rewrite(name)
        runner = start()
        role = chaos.random.choice(["runner", "runner", "guard", "worker", "kernel", "all"])
        number = chaos.random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
        time.sleep(chaos.random.uniform(0, 1.1 * whole))
        while role != "runner" and runner.poll() is None:
            roles = _by_role(runner)
            victims = roles.get(role) or [*roles["kernel"], *roles["worker"], *roles["guard"]]
            if victims:
                break
            time.sleep(0.01)
        roles = _by_role(runner)
        victims = [p for ps in roles.values() for p in ps] if role == "all" else roles[role][:1]
        chaos.random.shuffle(victims)
        for victim in victims:
            try:
                victim.send_signal(number)
            except psutil.Error:
                continue
        output = runner.communicate(timeout=120)[0]
        told[role, signal.Signals(number).name] += 1
        if number == signal.SIGKILL and role in ("guard", "all"):
            # what nobody is left to know of: the guard's orphans without a mark, and, if the
            # runner is gone as well, the others until the next run
            for process in _processes(project, sleep):
                if role == "all" or MARK not in process.environ():
                    process.kill()
        alone()
        statuses = {name: read_status(chaos.folder(name), name) for name in NAMES}
        what = (role, number, output, {n: s and s["status"] for n, (s, _) in statuses.items()})
        for name, (status, problems) in statuses.items():
            # the earlier success or the new one, whole
            truths = chaos.truths[name][-2 if name in changed else -1 :]
            assert any(chaos.holds(chaos.folder(name), truth) for truth in truths), (name, what)
            assert problems == [] and status["success"] is not None, (name, what)
            if status["status"] == "ok":
                continue
            assert status["failure"]["message"], what
            if status["status"] == "interrupted":
                assert role in ("runner", "all"), what
            else:  # only what was killed itself, or killed with everything else before the runner
                assert role != "runner", what
                assert role != "all" or number == signal.SIGKILL, what
                assert "kill" in str(status["failure"]) or "died" in str(status["failure"]), what
        if role == "runner" and number == signal.SIGKILL and runner.returncode != 0:
            assert runner.returncode == -number, what
        complete()
    print(f"{KILLS} kills, {dict(told)}")
