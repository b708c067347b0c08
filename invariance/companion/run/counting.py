"""What a call costs: machine instructions, which two runs repeat to seven digits, and seconds."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Sequence
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
    the difference is what a second call costs. None, after a printed sentence, where valgrind is
    not installed. A `RuntimeError` ends with what a program that failed printed last.

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
        # a fixed kernel of the linear algebra, whatever processor this is
        fixed = {"OPENBLAS_CORETYPE": "Haswell", "PYTHONHASHSEED": "0"}
        one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        line = ["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=no"]
        line += [f"--cachegrind-out-file={folder}/out.%p", sys.executable, str(script)]
        environment = os.environ | fixed | one
        run = subprocess.run(line, env=environment, capture_output=True, encoding="utf-8")
        if run.returncode:
            raise RuntimeError(f"counting instructions failed: {run.stderr.strip()[-400:]}")

        def total(size: Any, calls: int) -> int:
            process = Path(folder, f"{size}.{calls}").read_text("utf-8")
            text = Path(folder, f"out.{process}").read_text("utf-8", "replace")
            return int(re.findall(r"(?m)^summary: (\d+)", text)[-1])

        return [total(size, 2) - total(size, 1) for size in sizes]


def processor_seconds(program: str, sizes: Sequence[Any]) -> list[float]:
    """Time the same work by the clock: processor seconds of one call, the least of three.

    `program` and `sizes` are those of `instructions`; the program runs in this process.

    >>> len(processor_seconds("def prepare(size): return lambda: sum(range(size))", [10, 20]))
    2
    """
    names: dict[str, Any] = {}
    exec(program, names)
    works = (names["prepare"](size) for size in sizes)
    return [min(timeit.repeat(w, timer=time.process_time, number=1, repeat=3)) for w in works]
