"""A runner and a worker without Jupyter: all of the companion's processes, at a tenth of the time.

``python light.py ROOT`` runs every notebook of a project with ``--resume``, and ``python light.py
ROOT VALUES`` sweeps the notebook p/a over these seeds. Its worker is the real
one, but that its "kernel" writes results step by step and starts two processes that would sleep for
ever. Its outputs are determined by the notebook's text, so that every other file is recognized.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from math import inf
from pathlib import Path

from invariance.companion.files import write_bytes, write_json
from invariance.companion.ledger.results import read_results, read_status
from invariance.companion.paths import Paths
from invariance.companion.provenance import architecture
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here
from invariance.companion.runner.sweep import Sweep
from invariance.companion.runner.worker import work

STEP = 0.03
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


def truth(text: str, notebook: str, parameters: dict) -> dict[str, bytes]:
    """Outputs of a notebook of that text."""
    mark = hashlib.sha256(text.encode()).hexdigest()
    claim = {
        "kind": "identity",
        "recorded": {"largest": 0.0, "count": 1, "tolerance": 1e-10},
        **{"verdict": "matched", "reason": "", "ours": ""},
    }
    results = {
        **{"schema": 1, "notebook": notebook, "profile": parameters["profile"]},
        **{"parameters": parameters, "seed": parameters["seed"]},
        "claims": {"demo/same": claim} if notebook.endswith("/a") else {},
        "figures": [{"name": "walk", "files": ["walk.png"], "alt": mark, "caption": ""}],
        "tables": [{"name": "numbers", "file": "numbers.csv", "caption": ""}],
        "provenance": {"code": "0", "packages": {}, "data": {}, "parameters": parameters},
        "volatile": {"wall_s": 1.0, "cached_s": 0.0},
    }
    cell = {"cell_type": "code", "source": text, "outputs": [], "metadata": {}}
    executed = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    return {
        "walk.png": b"\x89PNG" + mark.encode() * 50,
        "numbers.csv": f"x\n{mark}\n".encode() * 50,
        "results.json": json.dumps(results).encode(),
        "executed.ipynb": json.dumps(executed).encode(),
    }


def write_truth(project, folder: Path, description: dict) -> None:
    """Write the outputs of a notebook without running it."""
    text = project.source(description["notebook"]).read_text("utf-8")
    outputs = truth(text, description["notebook"], description["parameters"])
    for name, content in outputs.items():
        write_bytes(folder / name, content)


class Chaos:
    """A project of tiny notebooks, and the outputs that each must have written."""

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
            truth(
                self.project.source(name).read_text("utf-8"), name, {"profile": "full", "seed": 0}
            )
        )

    def write(self, folder: Path, description: dict) -> None:
        for file, content in self.truths[description["notebook"]][-1].items():
            write_bytes(folder / file, content)

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
        assert self.project.hidden() == []

    def resume(self, names: tuple[str, ...] = NAMES, **options) -> list[str]:
        """Run all notebooks that are not up to date, without processes; return their names."""
        place = Writer(self.write)
        options = {"profile": "full", "place": place, "resume": True} | options
        summary = run_notebooks(self.project, names, **options)
        # there is an outcome for every notebook
        assert sorted(o.notebook for o in summary.outcomes) == sorted(names)
        return place.started


class Writer:
    """A place that runs no process: a notebook writes at once, and ends after some glances."""

    memory_mb = inf
    glance_s = 0.0005  # no test waits for the runner
    architecture = architecture()

    def __init__(self, write, slots: int = 2, failing: tuple[str, ...] = (), glances: int = 1):
        self.write, self.slots, self.failing, self.glances = write, slots, failing, glances
        self.events: list[tuple[str, str]] = []  # ("start" or "end", notebook)

    @property
    def started(self) -> list[str]:
        return [notebook for what, notebook in self.events if what == "start"]

    def start(self, description, environment):
        folder, notebook = Path(description["folder"]), description["notebook"]
        self.write(folder, description)
        failed = notebook in self.failing
        failure = {"message": "as asked", "cell_source": None} if failed else None
        outcome = {"status": "failed" if failed else "ok", "failure": failure}
        write_json(folder / ".work" / "outcome.json", outcome)
        self.events.append(("start", notebook))
        return Glanced(notebook, self.glances)

    def end(self, process, folder):
        if process is not None:
            self.events.append(("end", process.notebook))


class Glanced:
    """A process that has ended, with code 0, at the n-th glance."""

    def __init__(self, notebook: str, glances: int) -> None:
        self.notebook, self.glances, self.code = notebook, glances, 0

    @property
    def exitcode(self) -> int | None:
        self.glances -= 1
        return self.code if self.glances <= 0 else None


def statuses(summary) -> dict[str, str]:
    return {o.notebook: "kept" if o.resumed else o.status for o in summary.outcomes}


class Kernel:
    """A fork that writes the outputs of the job that lies beside the file for its ports."""

    def __init__(self, ports: Path, _: Path) -> None:
        worker = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            threading.Thread(target=end_with, args=[worker], daemon=True).start()
            write_outputs(json.loads(ports.with_name("job.json").read_text("utf-8")))
            os._exit(0)


def end_with(parent: int) -> None:
    """End this process once its parent has died, as ipykernel does."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)


def write_outputs(job: dict) -> None:
    folder = Path(job["folder"])
    for environment in ({}, None):  # one without the mark of the run, one with it
        subprocess.Popen(
            ["sleep", os.environ["LIGHT_SLEEP"]], env=environment, start_new_session=True
        )
    outputs = truth(Path(job["source"]).read_text("utf-8"), job["notebook"], job["parameters"])
    for name, content in outputs.items():
        time.sleep(STEP)
        # in pieces, as a careless library would
        with open(folder / name, "wb") as file:
            file.write(content[:100])
            file.flush()
            time.sleep(STEP)
            file.write(content[100:])
    for name, content in outputs.items():
        write_bytes(folder / name, content)


def execute(job: dict, kernel: Kernel) -> dict:
    under_way = {"cell_index": 0, "cell_source": "x = 1"}
    write_json(Path(job["folder"], ".work", "progress.json"), under_way)
    if os.waitpid(kernel.pid, 0)[1]:
        failure = {"message": "the kernel died while it ran this cell"}
        return {"status": "killed", "failure": failure}
    return {"status": "ok", "failure": None}


def work_light(path: Path) -> None:
    work(path, Kernel, execute)


def run(root: str) -> None:
    paths = Paths(Path(root))
    place = Here(2, work=work_light)
    summary = run_notebooks(paths, paths.all_notebooks(), profile="full", place=place, resume=True)
    for outcome in summary.outcomes:
        state = "kept" if outcome.resumed else outcome.status
        print(state, outcome.notebook, (outcome.failure or {}).get("message", ""))
    sys.exit(summary.exit_code)


def run_sweep(root: str, values: str) -> None:
    paths = Paths(Path(root))
    sweep = Sweep.read(paths, "p/a", "quick", [("seed", values)])
    summary = sweep.run(place=Here(2, work=work_light))
    for outcome in summary.outcomes:
        print("kept" if outcome.resumed else outcome.status, outcome.notebook)
    sys.exit(summary.exit_code)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run_sweep(*sys.argv[1:])
    run(sys.argv[1])
