"""No kill loses results or leaves processes, and the next run removes its remains.

`make chaos` runs the test that kills at random moments (marker `chaos`), ``INVARIANCE_KILLS`` of
them; ``INVARIANCE_CHAOS_SEED`` is another sequence.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import psutil
import pytest

from invariance.companion import files
from invariance.companion.ledger.results import read_status
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.sweep import Sweep
from invariance.companion.runner.worker import MARK

from .light import NAMES, Writer, statuses, truth, write_truth

LIGHT = Path(__file__).with_name("light.py")
KILLS = int(os.environ.get("INVARIANCE_KILLS", 10))


def _in_a_child(work) -> int:
    """Do something in a fork of this process; its exit status."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _die_at(step: int) -> None:
    """Have this process kill itself before its n-th change to the file system."""
    left = count(step, -1)

    def counted(change):
        def first(*arguments, **options):
            if not next(left):
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **options)

        return first

    for name in ("mkdir", "rename", "replace", "rmdir", "unlink"):
        setattr(os, name, counted(getattr(os, name)))


def test_a_runner_that_dies_between_any_two_steps_loses_nothing(chaos):
    """The results have another name between two renames; the next run restores or replaces them."""
    chaos.resume()
    for step in count(1):
        chaos.rewrite("p/b")

        def work(step=step) -> None:
            _die_at(step)
            chaos.resume(("p/b",))

        code = _in_a_child(work)
        folder, truths = chaos.folder("p/b"), chaos.truths["p/b"][-2:]
        aside = folder.with_name(".b.previous")  # between two renames
        results = folder if folder.exists() else aside
        assert any(chaos.holds(results, truth) for truth in truths), step
        chaos.resume(("p/b",))
        chaos.assert_all_done()
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step > 20


def _sweep_results(chaos, seeds: range) -> set[int]:
    """Return the seeds whose combinations are finished; their results have to be whole."""
    text = chaos.project.source("p/a").read_text("utf-8")
    finished = set()
    for seed in seeds:
        folder = chaos.project.sweep("p/a", "quick", ["seed"]) / f"seed={seed}"
        status, problems = read_status(folder, "p/a")
        assert problems == []
        if status is not None and status["status"] == "ok":
            assert chaos.holds(folder, truth(text, "p/a", {"profile": "quick", "seed": seed}))
            finished.add(seed)
    return finished


def test_a_sweep_that_dies_between_any_two_steps_repeats_nothing_finished(chaos, project):
    kept = 0
    for step in count(1):
        seeds = range(2 * step, 2 * step + 2)
        sweep = Sweep.read(project, "p/a", "quick", [("seed", f"{seeds[0]}..{seeds[-1]}")])
        place = Writer(partial(write_truth, project), slots=1)

        def work(step=step, sweep=sweep, place=place) -> None:
            _die_at(step)
            sweep.run(place=place)

        code = _in_a_child(work)
        finished = _sweep_results(chaos, seeds)
        states = statuses(sweep.run(place=place))
        for seed in seeds:
            assert states[f"p/a/seed={seed}"] == ("kept" if seed in finished else "ok"), step
        assert _sweep_results(chaos, seeds) == {*seeds} and project.hidden() == []
        kept += len(finished)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step > 20 and kept > 10


def test_runners_that_replace_the_same_folder_do_not_disturb_each_other(tmp_path):
    final = tmp_path / "final"

    def replace(number: int) -> None:
        for attempt in range(30):
            fresh = tmp_path / f"{number}.{attempt}"
            for name in "ab":
                files.write_bytes(fresh / name, fresh.name.encode())
            files.replace_folder(fresh, final)
            files.repair_folder(final)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(replace, number) for number in range(4)]:
            future.result()
    assert [path.name for path in tmp_path.iterdir()] == ["final"]
    assert len({path.read_bytes() for path in final.iterdir()}) == 1


def _end(folder: Path, status: str, message: str) -> None:
    outcome = {"status": status, "failure": None if status == "ok" else {"message": message}}
    files.write_json(folder / ".work" / "outcome.json", outcome)


def _vanish(folder: Path) -> None:
    """Remove the folder while the notebook goes on, writes its last outputs and succeeds."""
    contents = {name: (folder / name).read_bytes() for name in ("executed.ipynb", "results.json")}
    shutil.rmtree(folder)
    for name, content in contents.items():
        files.write_bytes(folder / name, content.replace(b'"figures"', b'"drawn"'))
    _end(folder, "ok", "")


def _print_a_lot(folder: Path, status: str) -> None:
    os.truncate(folder / "executed.ipynb", 500 * 10**6)
    _end(folder, status, "the notebook's output takes 500 MB, as it says itself")


def _die_while_writing(folder: Path) -> int:
    (folder / "executed.ipynb").write_bytes(b'{"cells": [')
    (folder / ".work" / "outcome.json").write_bytes(b"[1]")
    (folder / ".work" / "worker.log").write_text("out of luck", "utf-8")
    return 3


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_vanish, "was removed while it ran"),
        (shutil.rmtree, "was removed while it ran"),
        (partial(_print_a_lot, status="ok"), "output takes 500 MB"),
        (partial(_print_a_lot, status="failed"), "output takes 500 MB"),
        (_die_while_writing, "ended with code 3: out of luck"),
    ],
)
def test_what_befalls_a_folder_is_a_failure_and_takes_nothing(chaos, project, harm, said):
    """An enormous or truncated notebook is not kept."""

    class Harmed(Writer):
        def start(self, description, environment):
            process = super().start(description, environment)
            process.code = harm(Path(description["folder"])) or 0
            return process

    chaos.resume()
    chaos.rewrite("p/b")
    place = Harmed(chaos.write)
    (outcome,) = run_notebooks(project, ["p/b"], profile="full", place=place).outcomes
    status, problems = read_status(chaos.folder("p/b"), "p/b")
    assert outcome.status == status["status"] == "failed" and problems == []
    assert said in outcome.failure["message"]
    assert chaos.holds(chaos.folder("p/b"), chaos.truths["p/b"][-2])
    partial_notebook = chaos.folder("p/b") / "failed/executed.ipynb"
    assert not partial_notebook.exists() or json.loads(partial_notebook.read_bytes())["cells"]
    chaos.resume()
    chaos.assert_all_done()


def _processes(project, sleep: str) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            ours = process.environ().get(MARK, "").startswith(str(project.root))
            if (ours or sleep in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
    return processes


def _by_role(runner: subprocess.Popen) -> dict[str, list[psutil.Process]]:
    """Workers and kernels below a runner."""
    roles: dict[str, list[psutil.Process]] = {"runner": [], "worker": [], "kernel": []}
    with suppress(psutil.Error):
        roles["runner"] = [psutil.Process(runner.pid)]
        roles["worker"] = roles["runner"][0].children()
        roles["kernel"] = [kernel for worker in roles["worker"] for kernel in worker.children()]
    return roles


_APART: dict = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8",
                "errors": "replace", "start_new_session": True}  # fmt: skip


def test_a_runner_that_is_killed_takes_its_notebooks_along_and_the_next_sweeps_up(chaos, project):
    """The folder's name cannot be read in the locale of the runner."""
    renamed = type(project)(project.root / os.fsdecode("pr\u00fcfung".encode()))
    shutil.copytree(project.notebooks, renamed.notebooks)
    chaos.project = renamed
    for name in NAMES:
        chaos.rewrite(name)
    line = [sys.executable, str(LIGHT), str(renamed.root)]
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "LIGHT_SLEEP": "1000"}
    environment = os.environ | bare | {"INVARIANCE_ROOT": str(renamed.root)}
    runner = subprocess.Popen(line, env=environment, **_APART)
    end = time.monotonic() + 100
    while not [*renamed.build.rglob("walk.png")]:
        assert time.monotonic() < end and runner.poll() is None
        time.sleep(0.005)
    runner.kill()
    runner.communicate()
    while renamed.processes():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert len(renamed.hidden()) == 1
    done = subprocess.run(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    assert renamed.processes() == []
    chaos.assert_all_done()


@pytest.mark.chaos
def test_random_kills_lose_nothing(chaos, project):
    sleep = f"{random.SystemRandom().randrange(10**8, 10**9)}.5"
    environment = os.environ | {"LIGHT_SLEEP": sleep, "TQDM_DISABLE": "1"}
    line, kills = [sys.executable, str(LIGHT), str(project.root)], Counter()

    def start() -> subprocess.Popen:
        return subprocess.Popen(line, env=environment, **_APART)

    def alone() -> None:
        end = time.monotonic() + 100
        while living := _processes(project, sleep):
            assert time.monotonic() < end, [p.cmdline() for p in living]
            time.sleep(0.02)

    def complete() -> float:
        """A run that is not disturbed, and its seconds."""
        clock = time.monotonic()
        runner = start()
        output = runner.communicate(timeout=300)[0]
        assert runner.returncode == 0, output
        seconds = time.monotonic() - clock
        alone()
        chaos.assert_all_done()
        return seconds

    run_seconds = complete()
    complete()
    for _ in range(KILLS):
        changed = chaos.random.choice([["p/a"], ["p/b"], ["p/a", "p/b"], ["p/b", "p/reader"]])
        for name in changed:
            chaos.rewrite(name)
        runner = start()
        role = chaos.random.choice(["runner", "runner", "worker", "kernel", "all"])
        number = chaos.random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
        time.sleep(chaos.random.uniform(0, 1.1 * run_seconds))
        while role != "runner" and runner.poll() is None:
            roles = _by_role(runner)
            victims = roles.get(role) or [*roles["kernel"], *roles["worker"]]
            if victims:
                break
            time.sleep(0.01)
        roles = _by_role(runner)
        victims = [p for ps in roles.values() for p in ps] if role == "all" else roles[role][:1]
        chaos.random.shuffle(victims)
        for victim in victims:
            with suppress(psutil.Error):
                victim.send_signal(number)
        output = runner.communicate(timeout=300)[0]
        kills[role, signal.Signals(number).name] += 1
        if number == signal.SIGKILL and role in ("worker", "all"):
            # nothing is left that could end the worker's orphans without a mark, nor, if the runner
            # is gone as well, the others before the next run
            for process in _processes(project, sleep):
                if role == "all" or MARK not in process.environ():
                    process.kill()
        alone()
        statuses = {name: read_status(chaos.folder(name), name) for name in NAMES}
        context = (role, number, output, {n: s and s["status"] for n, (s, _) in statuses.items()})
        for name, (status, problems) in statuses.items():
            # the earlier success or the new one, whole
            truths = chaos.truths[name][-2 if name in changed else -1 :]
            assert any(chaos.holds(chaos.folder(name), truth) for truth in truths), (name, context)
            assert problems == [] and status["success"] is not None, (name, context)
            if status["status"] == "ok":
                continue
            assert status["failure"]["message"], context
            if status["status"] == "interrupted":
                assert role in ("runner", "all"), context
            else:  # only a notebook that was killed itself, or together with everything else
                assert role != "runner", context
                assert role != "all" or number == signal.SIGKILL, context
                assert "kill" in str(status["failure"]) or "died" in str(status["failure"]), context
        if role == "runner" and number == signal.SIGKILL and runner.returncode != 0:
            assert runner.returncode == -number, context
        complete()
    print(f"{KILLS} kills, {dict(kills)}")


@pytest.mark.chaos
def test_a_sweep_that_is_killed_goes_on_with_what_it_had_not_finished(chaos, project):
    sleep = f"{random.SystemRandom().randrange(10**8, 10**9)}.5"
    environment = os.environ | {"LIGHT_SLEEP": sleep, "TQDM_DISABLE": "1"}
    finished = partial(_sweep_results, chaos)
    folder = project.sweep("p/a", "quick", ["seed"])
    kept = 0
    for kill in range(KILLS):
        seeds = range(6 * kill, 6 * kill + 6)
        line = [sys.executable, str(LIGHT), str(project.root), f"{seeds[0]}..{seeds[-1]}"]
        runner = subprocess.Popen(line, env=environment, **_APART)
        before = chaos.random.randrange(6)  # this many combinations, and some time more
        while len(finished(seeds)) < before and runner.poll() is None:
            time.sleep(0.01)
        time.sleep(chaos.random.uniform(0, 1))
        number = chaos.random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
        with suppress(ProcessLookupError):
            runner.send_signal(number)
        runner.communicate(timeout=300)
        present = finished(seeds)
        assert len(present) >= before
        written = {seed: folder / f"seed={seed}/status.json" for seed in present}
        times = {file: file.stat().st_mtime_ns for file in written.values()}
        done = subprocess.run(line, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout + done.stderr
        for seed in seeds:
            state = "kept" if seed in present else "ok"
            assert f"{state} p/a/seed={seed}\n" in done.stdout
        assert finished(seeds) == {*seeds} and project.hidden() == []
        assert all(file.stat().st_mtime_ns == time_ns for file, time_ns in times.items())
        kept += len(present)
    for process in _processes(project, sleep):  # orphans of workers that were killed
        process.kill()
    print(f"{KILLS} kills, {kept} of {6 * KILLS} combinations were finished then and ran once")
