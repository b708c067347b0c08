"""A process that runs notebooks on another machine, one after the other (see `cluster`).

``python -m invariance.companion.runner.host`` first prints a description of its machine. For each
line of its input, a job in JSON, it runs a notebook and prints how the process ended. It ends when
its input ends, or after some minutes without a job.
"""

import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import IO, Any

import joblib

from ..provenance import architecture, package_versions
from .places import Here

_IDLE_S = 600.0


def _read_jobs(jobs: "queue.Queue[str]") -> None:
    """Pass on the lines of the input; end this process, and with it its notebook, at their end."""
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)


def _answer(stream: IO[str], **content: Any) -> None:
    stream.write(json.dumps(content) + "\n")
    stream.flush()


def main() -> None:
    # What else is printed, by this process or the server that it starts, goes to the error stream.
    answers = open(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Other hosts use the other cores, so that n_jobs=-1 in a notebook means one.
    place = Here(joblib.cpu_count())
    _answer(answers, packages=package_versions(), architecture=architecture())
    jobs: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_jobs, args=[jobs], daemon=True).start()
    while True:
        try:
            job = json.loads(jobs.get(timeout=_IDLE_S))
        except queue.Empty:
            os._exit(0)
        process = place.start(job["description"], job["environment"])
        process.join()
        place.end(process, Path(job["description"]["folder"]))
        _answer(answers, exitcode=process.exitcode)


if __name__ == "__main__":
    main()
