"""One notebook with sixty combinations of parameters: a sweep, plain papermill, and a shell loop.

    python tests/slow_checks/sixty_combinations.py [--combinations 60] [--killed 8] [--turns 2]

`mroueh2015/xperm` (quick) runs with half as many seeds as combinations and with both groups, in
three ways: by `invariance sweep`; by the command `papermill`, two at a time; and by a shell loop
over `invariance run`, which has one output folder, so that each result has to be copied before the
next run. Each way is a script that a user would write, and ends with one table of all numbers. The
ways take turns, each turn with a part of the combinations, each way in a project of its own with an
empty cache.

Then each way runs once more, and all its processes are killed when half of its combinations are
finished. The same script runs again. The results that were finished are compared before and after:
kept means that the same bytes are there and were not written again.

Processor seconds are those of all processes that a script has started, also of servers that
outlive their parents: this process adopts and awaits them (Linux only). On two idle cores the
defaults take about twenty minutes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pandas as pd
import psutil

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "mroueh2015/xperm"
GROUPS = ("permutations", "cyclic shifts")
#: Seconds until processes that have lost their parent must have ended.
PATIENCE = 60.0
_PR_SET_CHILD_SUBREAPER = 36

SWEEP = """\
invariance sweep mroueh2015/xperm -p seed {first}..{last} -p group "permutations,cyclic shifts"
"""

PAPERMILL = """\
mkdir -p out
jupytext --quiet --to ipynb notebooks/mroueh2015/xperm.py -o xperm.ipynb
run() {{
  papermill --cwd notebooks/mroueh2015 --no-progress-bar \\
    xperm.ipynb "$PWD/out/seed=$1,group=$2.ipynb" -p seed "$1" -p group "$2"
}}
export -f run
for seed in $(seq {first} {last}); do
  for group in "permutations" "cyclic shifts"; do printf '%s\\0' "$seed" "$group"; done
done | xargs -0 -n 2 -P 2 bash -c 'run "$0" "$1"'
python - << 'END'
import json
import pandas as pd
from pathlib import Path
tables = []
for path in sorted(Path("out").glob("*.results")):
    parameters = json.loads((path / "results.json").read_text())["parameters"]
    tables.append(pd.read_csv(path / "accuracy.csv").assign(**parameters))
pd.concat(tables).to_csv("out/table.csv", index=False)
END
"""

LOOP = """\
mkdir -p kept
for seed in $(seq {first} {last}); do
  for group in "permutations" "cyclic shifts"; do
    invariance run mroueh2015/xperm -p seed "$seed" -p group "$group" || continue
    rm -rf "kept/seed=$seed,group=$group"
    cp -r build/quick/mroueh2015/xperm "kept/seed=$seed,group=$group"
  done
done
python - << 'END'
import json
import pandas as pd
from pathlib import Path
tables = []
for path in sorted(Path("kept").iterdir()):
    parameters = json.loads((path / "results.json").read_text())["parameters"]
    tables.append(pd.read_csv(path / "accuracy.csv").assign(**parameters))
pd.concat(tables).to_csv("kept/table.csv", index=False)
END
"""


@dataclass
class Way:
    """A way to run all combinations, and its measured times."""

    name: str
    script: str
    results: str  #: glob of the results files, in the project
    table: str  #: glob of the table of all numbers
    seconds: float = 0.0  # of the clock
    cpu_seconds: float = 0.0
    n_runs: int = 0
    kept: list[str] = field(default_factory=list)  # files of one combination
    killed: dict[str, object] = field(default_factory=dict)

    @property
    def n_lines(self) -> int:
        return len(self.script.splitlines())


def ways() -> list[Way]:
    """Return the three ways, with nothing measured."""
    return [
        Way("sweep", SWEEP, "build/sweeps/*/*/*/*/*/results.json", "build/sweeps/**/sweep.csv"),
        Way("papermill", PAPERMILL, "out/*.results/results.json", "out/table.csv"),
        Way("shell loop", LOOP, "kept/*/results.json", "kept/table.csv"),
    ]


class Project:
    """A copy of the notebooks in a folder of its own, with an empty cache."""

    def __init__(self, parent: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=parent))
        shutil.copytree(ROOT / "notebooks", self.folder / "notebooks")
        shutil.copy(ROOT / "README.md", self.folder)

    def start(self, way: Way, first: int, last: int) -> subprocess.Popen[bytes]:
        """Start the script of a way for a range of seeds."""
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "INVARIANCE_ROOT": str(self.folder),
            "INVARIANCE_CACHE": str(self.folder / "cache"),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        with open(self.folder / "log.txt", "ab") as log:
            return subprocess.Popen(
                ["bash", "-c", way.script.format(first=first, last=last)],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def finished(self, way: Way) -> dict[str, tuple[int, bytes]]:
        """Return the time of the last change and the bytes of each finished results file."""
        files = {}
        for path in self.folder.glob(way.results):
            name = path.relative_to(self.folder).as_posix()
            if "/." in name:  # of a running attempt
                continue
            with suppress(OSError, ValueError):
                content = path.read_bytes()
                json.loads(content)
                if way.name == "papermill" and not _has_ended(path):
                    continue
                files[name] = (path.stat().st_mtime_ns, content)
        return files


def _has_ended(results: Path) -> bool:
    """Return whether papermill has executed the last cell of the notebook with these results."""
    executed = results.parent.with_suffix(".ipynb")
    metadata = json.loads(executed.read_text(encoding="utf-8"))["metadata"]
    return bool(metadata["papermill"]["end_time"])


def adopt_orphans() -> None:
    """Let this process become the parent of all descendants whose own parent has ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def await_descendants() -> None:
    """Wait until all descendants have ended, and end those that do not."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if time.monotonic() > deadline:
                kill_descendants()
            time.sleep(0.05)


def kill_descendants() -> None:
    """Kill all processes that were started here, as a loss of power would."""
    while descendants := psutil.Process().children(recursive=True):
        for process in descendants:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        running = [process for process in descendants if _is_running(process)]
        if not running:
            return
        time.sleep(0.01)


def _is_running(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def cpu_of_descendants() -> float:
    """Return the processor seconds of all descendants that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(
    project: Project, way: Way, first: int, last: int, stop: Callable[[], bool] | None = None
) -> tuple[float, float]:
    """Run the script of a way, or kill it as soon as `stop` holds; return clock and CPU seconds."""
    cpu_before = cpu_of_descendants()
    started = time.monotonic()
    process = project.start(way, first, last)
    while process.poll() is None:
        if stop is not None and stop():
            kill_descendants()
            process.wait()
            break
        time.sleep(0.02)
    seconds = time.monotonic() - started
    await_descendants()
    if stop is None and process.returncode != 0:
        log = (project.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        raise SystemExit(f"{way.name} failed:\n{log[-3000:]}")
    return seconds, cpu_of_descendants() - cpu_before


def measure_cost(way: Way, parent: Path, first: int, last: int) -> None:
    """Run a way with a range of seeds in a new project, and add what it took."""
    project = Project(parent)
    seconds, cpu_seconds = run(project, way, first, last)
    finished = project.finished(way)
    n_expected = len(GROUPS) * (last - first + 1)
    if len(finished) != n_expected:
        raise SystemExit(f"{way.name}: {len(finished)} of {n_expected} combinations have results")
    (table,) = project.folder.glob(way.table)
    print(
        f"{way.name}: {n_expected} runs, {cpu_seconds:.1f} CPU s, {seconds:.1f} s of the clock, "
        f"{len(pd.read_csv(table))} rows in {table.name}",
        flush=True,
    )
    way.seconds += seconds
    way.cpu_seconds += cpu_seconds
    way.n_runs += n_expected
    if not way.kept:
        of_first = project.folder / min(finished)
        way.kept = kept_files(of_first.parent)
    shutil.rmtree(project.folder)


def kept_files(folder: Path) -> list[str]:
    """Return the names of the files that are kept of one combination."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    if folder.suffix == ".results":
        names.append(folder.with_suffix(".ipynb").name)
    return sorted(names)


def measure_kill(way: Way, parent: Path, n_combinations: int) -> None:
    """Kill a way when half of its combinations are finished, run it again, and compare."""
    project = Project(parent)
    last = max(1, n_combinations // len(GROUPS))
    n_expected = last * len(GROUPS)

    def is_half_finished() -> bool:
        return len(project.finished(way)) >= n_expected // 2

    _, killed_cpu = run(project, way, 1, last, stop=is_half_finished)
    before = project.finished(way)
    seconds, again_cpu = run(project, way, 1, last)
    after = project.finished(way)
    same = [name for name, state in before.items() if after.get(name) == state]
    lost = [name for name in before if name not in after]
    undisturbed_cpu = n_expected * way.cpu_seconds / way.n_runs
    way.killed = {
        "finished at the kill": f"{len(before)} of {n_expected}",
        "kept": len(same),
        "run again": len(before) - len(same) - len(lost),
        "lost": len(lost),
        "complete at the end": f"{len(after)} of {n_expected}",
        "clock s of the second call": round(seconds, 1),
        "CPU s lost": round(killed_cpu + again_cpu - undisturbed_cpu, 1),
    }
    print(f"{way.name}, killed: {way.killed}", flush=True)
    shutil.rmtree(project.folder)


def seeds_of_turns(n_combinations: int, n_turns: int) -> list[tuple[int, int]]:
    """Return the first and the last seed of each turn.

    >>> seeds_of_turns(60, 2), seeds_of_turns(4, 1)
    ([(1, 15), (16, 30)], [(1, 2)])
    """
    n_seeds = max(1, n_combinations // len(GROUPS))
    n_turns = min(n_turns, n_seeds)
    edges = [n_seeds * turn // n_turns for turn in range(n_turns + 1)]
    return [(start + 1, stop) for start, stop in pairwise(edges)]


def report(measured: list[Way]) -> str:
    """Return the table of all measurements as Markdown."""
    rows = []
    for way in measured:
        row = {
            "way": way.name,
            "lines": way.n_lines,
            "runs": way.n_runs,
            "CPU s per run": f"{way.cpu_seconds / way.n_runs:.2f}",
            "clock s per run": f"{way.seconds / way.n_runs:.2f}",
            "files kept per run": len(way.kept),
        }
        rows.append(row | way.killed)
    # One column per way: there are more numbers than ways.
    table = pd.DataFrame(rows).set_index("way").T
    lines = ["| | " + " | ".join(table.columns) + " |", "|---" * (1 + len(table.columns)) + "|"]
    for name, values in table.iterrows():
        lines.append(f"| {name} | " + " | ".join(str(value) for value in values) + " |")
    lines += [f"\n{way.name} keeps of each run: {', '.join(way.kept)}" for way in measured]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--combinations", type=int, default=60, help="an even number")
    parser.add_argument("--killed", type=int, default=8, help="combinations of the runs to kill")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("only Linux lets a process adopt the descendants of its children")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is cleaned up
    adopt_orphans()
    measured = ways()
    with tempfile.TemporaryDirectory(prefix="sixty-", ignore_cleanup_errors=True) as folder:
        parent = Path(folder)
        try:
            for first, last in seeds_of_turns(options.combinations, options.turns):
                for way in measured:
                    measure_cost(way, parent, first, last)
            for way in measured:
                measure_kill(way, parent, options.killed)
        finally:
            kill_descendants()
            await_descendants()
    print(report(measured))


if __name__ == "__main__":
    main()
