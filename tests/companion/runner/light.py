"""A runner and a worker without Jupyter: all of the companion's processes, at a tenth of the time.

``python light.py run ROOT`` runs every notebook of a project with ``--resume``;
``python light.py work JOB`` is the worker: under the real guard, it starts a "kernel" that writes
results step by step and starts two processes that would sleep for ever.
What it writes follows from the notebook's text, so that it can be told from anything else.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from invariance.companion.files import write_bytes, write_json
from invariance.companion.runner.processes import die_with_parent, guarded

STEP = 0.03


def truth(text: str, notebook: str, parameters: dict) -> dict[str, bytes]:
    """Outputs of a notebook of that text."""
    mark = hashlib.sha256(text.encode()).hexdigest()
    results = {
        "schema": 1,
        "notebook": notebook,
        "profile": parameters["profile"],
        "parameters": parameters,
        "seed": parameters["seed"],
        "claims": {
            "demo/same": {
                "kind": "identity",
                "recorded": {"largest": 0.0, "count": 1, "tolerance": 1e-10},
                "verdict": "matched",
                "reason": "largest difference 0.00e+00 over 1 comparisons, "
                "within the tolerance 1e-10",
                "ours": "largest difference 0.00e+00",
                "data": None,
                "note": None,
            }
        }
        if notebook.endswith("/a")
        else {},
        "figures": [
            {"name": "walk", "files": ["walk.svg", "walk.png"], "alt": mark, "caption": ""}
        ],
        "tables": [{"name": "numbers", "file": "numbers.csv", "caption": ""}],
        "provenance": {"code": "0", "packages": {}, "data": {}, "parameters": parameters},
        "volatile": {"wall_s": 1.0, "cached_s": 0.0},
    }
    cell = {"cell_type": "code", "source": text, "outputs": [], "metadata": {}}
    executed = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    return {
        "walk.svg": f"<svg>{mark}</svg>".encode() * 50,
        "walk.png": b"\x89PNG" + mark.encode() * 50,
        "numbers.csv": f"x\n{mark}\n".encode() * 50,
        "results.json": (
            json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        ).encode(),
        "executed.ipynb": json.dumps(executed).encode(),
    }


def kernel(job: dict) -> None:
    folder = Path(job["folder"])
    for environment in ({}, None):  # one that cannot be told by its environment, one that can
        subprocess.Popen(
            ["sleep", os.environ["LIGHT_SLEEP"]], env=environment, start_new_session=True
        )
    outputs = truth(Path(job["source"]).read_text(), job["notebook"], job["parameters"])
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


def work(path: str) -> None:
    job = json.loads(Path(path).read_text())
    work = Path(path).parent
    guarded(Path(job["folder"]))
    worker = os.getpid()
    write_json(work / "progress.json", {"cell_index": 0, "cell_source": "x = 1"})
    child = os.fork()
    if not child:
        die_with_parent(worker)
        kernel(job)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    outcome = {"status": "ok", "failure": None}
    if code:
        failure = {"kind": "kernel died", "message": "the kernel died while it ran this cell"}
        outcome = {"status": "killed", "failure": failure}
    write_json(work / "outcome.json", outcome)


def run(root: str) -> None:
    from invariance.companion.paths import Paths
    from invariance.companion.runner.batch import run_notebooks
    from invariance.companion.runner.places import Here

    paths = Paths(Path(root))
    place = Here(2, worker=(__file__, "work"))
    summary = run_notebooks(paths, paths.all_notebooks(), profile="full", place=place, resume=True)
    for outcome in summary.outcomes:
        state = "kept" if outcome.resumed else outcome.status
        print(state, outcome.notebook, (outcome.failure or {}).get("message", ""))
    sys.exit(summary.exit_code)


if __name__ == "__main__":
    {"run": run, "work": work}[sys.argv[1]](sys.argv[2])
