"""Each runner has a folder for what it has under way, and a lock on it as long as it lives.

Runners may share ``build/`` (containers, two terminals): what a dead one left is told from what a
living one is writing by its lock, which the system releases when the process ends, however it
ends. A process id could not tell: two containers have the same ones.
"""

import fcntl
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from ..files import locked, writing
from ..paths import Paths
from .worker import end_all, processes_of

_AT_ONCE = fcntl.LOCK_EX | fcntl.LOCK_NB
_PATIENCE = 10.0  # seconds for the notebooks of a dead runner, which end by themselves


@contextmanager
def runner_folder(paths: Paths) -> Iterator[Path]:
    """A folder for this runner's attempts, on the file system of the results.

    What dead runners left behind is removed first: their folders, half-published copies, and the
    processes that would go on writing to them.
    """
    home = paths.build / ".runners"
    mine = home / uuid.uuid4().hex[:16]
    with writing(mine):
        home.mkdir(parents=True, exist_ok=True)
        with open(home / "turn", "w") as turn:  # nobody meets a folder that is not locked yet
            locked(turn)
            for folder in home.iterdir():
                if folder.is_dir():
                    _sweep(folder, paths)
            mine.mkdir()
            alive = open(mine / "alive", "w")
            locked(alive, _AT_ONCE)
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)
        alive.close()


def _sweep(folder: Path, paths: Paths) -> None:
    """Remove a runner's folder if the runner is dead."""
    with suppress(FileNotFoundError), open(folder / "alive") as alive:
        if not locked(alive, _AT_ONCE):
            return
    end_all(partial(processes_of, folder))
    end = time.monotonic() + _PATIENCE
    for job in [*folder.rglob(".work/job.json")]:
        # held by worker and kernel; once it is ours, a worker on its way finds its job gone
        with suppress(FileNotFoundError), open(job) as held:
            while not locked(held, _AT_ONCE) and time.monotonic() < end:
                time.sleep(0.02)
            shutil.rmtree(job.parents[1], ignore_errors=True)
    for copy in paths.figures.glob(f"*/.*.{folder.name}"):
        shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
