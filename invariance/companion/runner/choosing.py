"""Run the choosing stage of notebooks: `choose`.

A notebook is executed as a script, with seed 0 and without test data, until its ``run.measure()``.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import perf_counter

from ..errors import NotebookError
from ..files import write_bytes
from ..ledger.guard import record_digests
from ..ledger.settings import CHOOSING_SEED
from ..parameters import read_parameters
from ..paths import Paths
from ..run.choosing import STAGE
from ..source import calls_of, code_cells
from .worker import MARK


def chooses(paths: Paths, notebook: str) -> bool:
    """Whether a notebook has a stage of choosing: ``Run(..., chooses=True)``."""
    return any(
        name == "Run" and any(keyword.arg == "chooses" for keyword in call.keywords)
        for name, call in calls_of(paths.source(notebook))
    )


def choose(
    paths: Paths, notebooks: Sequence[str], profile: str = "full", jobs: int = 1, threads: int = 1
) -> Iterator[tuple[str, float, str]]:
    """Choose the settings of notebooks and keep them.

    In the full profile they become ``notebooks/settings/<paper>/<name>.yml``; a quick one leaves
    them in its folder under ``build/choosing/``, beside what it printed. Yields, as they end,
    notebook, seconds and, if it failed, the end of what it printed.
    """
    for notebook in notebooks:
        if not chooses(paths, notebook):
            raise NotebookError(f"{notebook} chooses nothing: it has no Run(..., chooses=True)")
    with ThreadPoolExecutor(jobs) as pool:
        stages = [pool.submit(_choose, paths, name, profile, threads) for name in notebooks]
        for stage in as_completed(stages):
            notebook, seconds, fault = stage.result()
            if profile == "full" and not fault:
                target = paths.choosing(notebook, profile) / "settings.yml"
                write_bytes(paths.settings(notebook), target.read_bytes())
                record_digests(paths, paths.settings(notebook))
            yield notebook, seconds, fault


def _choose(paths: Paths, notebook: str, profile: str, threads: int) -> tuple[str, float, str]:
    """Execute one stage: notebook, seconds, and what went wrong, or nothing."""
    start, folder = perf_counter(), paths.choosing(notebook, profile)
    folder.mkdir(parents=True, exist_ok=True)
    target, script, log = (folder / name for name in ("settings.yml", "notebook.py", "output.txt"))
    target.unlink(missing_ok=True)
    write_bytes(script, _script(paths.source(notebook), profile).encode())
    environment = {
        **os.environ,
        **{STAGE: str(target), MARK: str(folder), "INVARIANCE_ROOT": str(paths.root)},
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads)),
        "MPLBACKEND": "agg",
    }
    with log.open("wb") as output:
        ended = subprocess.run(
            [sys.executable, "-P", str(script)],
            env=environment,
            cwd=paths.source(notebook).parent,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    fault = ""
    if ended.returncode or not target.is_file():
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-12:]
        why = f"exit status {ended.returncode}" if ended.returncode else "no run.measure() came"
        fault = "\n".join([f"{why}; the end of {log}:", *said])
    return notebook, perf_counter() - start, fault


def _script(source: Path, profile: str) -> str:
    """The notebook's code with the choosing seed in place of its own."""
    own = read_parameters(source)
    given = {"profile": profile, "seed": CHOOSING_SEED, "seeds": [CHOOSING_SEED]}
    lines = "\n".join(f"{name} = {value!r}" for name, value in given.items() if name in own)
    cells = (f"{code}\n\n{lines * ('parameters' in tags)}" for code, tags in code_cells(source))
    return "\n\n".join(cells) + "\n"
