"""Costs of a call: machine instructions, repeatable to seven digits, and processor seconds."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_LOOP = """
import gc, os, sys
gc.disable()
for _size in {sizes!r}:
    for _calls in (1, 2):
        _child = os.fork()
        if _child == 0:
            _work = prepare(_size)
            for _ in range(_calls):
                _work()
            open(os.path.join({folder!r}, f"{{_size}}.{{_calls}}"), "w").write(str(os.getpid()))
            os._exit(0)
        if os.waitpid(_child, 0)[1]:
            sys.exit(f"the program failed at size {{_size}}")
"""


def instructions(program: str, sizes: Sequence[Any]) -> list[int] | None:
    """Count the instructions of one call at each size, under valgrind on one thread.

    `program` is Python source that defines ``prepare(size)``, which returns the work: a function
    without arguments. Each size is prepared in two processes, which call the work once and twice:
    the difference is the cost of the second call.

    Returns None, after printing a sentence, if valgrind is not installed. Raises `RuntimeError`
    with the last lines of the program's output if it fails.

    >>> instructions("def prepare(size): return lambda: sum(range(size))", [])
    []
    """
    if not len(sizes):
        return []
    if shutil.which("valgrind") is None:
        print("not counted: valgrind is not installed (apt install valgrind)")
        return None
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(program + _LOOP.format(sizes=list(sizes), folder=folder), "utf-8")
        _count(script, Path(folder))
        return [
            _instructions_of(Path(folder), size, calls=2)
            - _instructions_of(Path(folder), size, calls=1)
            for size in sizes
        ]


def _count(script: Path, folder: Path) -> None:
    """Run a script under valgrind, which writes one count per process into `folder`."""
    line = ["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=no"]
    line += [f"--cachegrind-out-file={folder}/out.%p", sys.executable, str(script)]
    environment = {
        **os.environ,
        # Always the same kernels of the linear algebra, whatever the processor.
        "OPENBLAS_CORETYPE": "Haswell",
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    run = subprocess.run(line, env=environment, capture_output=True, encoding="utf-8")
    if run.returncode != 0:
        raise RuntimeError(f"counting instructions failed: {run.stderr.strip()[-400:]}")


def _instructions_of(folder: Path, size: Any, calls: int) -> int:
    """Return the instructions of the process that called the work so many times."""
    process = (folder / f"{size}.{calls}").read_text("utf-8")
    counts = (folder / f"out.{process}").read_text("utf-8", "replace")
    totals = re.findall(r"(?m)^summary: (\d+)", counts)
    return int(totals[-1])


def processor_seconds(program: str, sizes: Sequence[Any]) -> list[float]:
    """Return the processor seconds of one call at each size, the least of three.

    `program` and `sizes` are those of `instructions`; the program runs in this process. A call that
    takes no time by a coarse clock, such as that of a browser, is repeated.

    >>> len(processor_seconds("def prepare(size): return lambda: sum(range(size))", [10, 20]))
    2
    """
    names: dict[str, Any] = {}
    exec(program, names)
    seconds = []
    for size in sizes:
        work = names["prepare"](size)
        number = 1
        least = _least_seconds(work, number)
        while least == 0:
            number *= 10
            least = _least_seconds(work, number)
        seconds.append(least / number)
    return seconds


def _least_seconds(work: Callable[[], Any], number: int) -> float:
    return min(timeit.repeat(work, timer=time.process_time, number=number, repeat=3))
