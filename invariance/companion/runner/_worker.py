"""Execute one notebook in a process of its own and say how it ended.

Started by `invariance.companion.runner.places` with the path of a job's description. Beside the
notebook's own outputs it writes, in the run's folder, ``executed.ipynb`` (saved after every cell),
``.work/progress.json`` (the cell under way) and ``.work/outcome.json``.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from invariance.companion.files import read_json, write_bytes, write_json
from invariance.companion.lean import skip_iri_grammar
from invariance.companion.ledger.results import read_executed
from invariance.companion.runner._kernel import Spare, keep_one_ready
from invariance.companion.runner.processes import guarded
from invariance.companion.source import read_notebook

# kernels that may die before the first cell
_STARTS = 3

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def _own_kernel(work: Path) -> None:
    """Make ``python3`` mean this interpreter, whatever kernels are installed elsewhere."""
    argv = [
        sys.executable,
        "-P",
        "-Xfrozen_modules=off",
        "-m",
        "invariance.companion.runner._kernel",
        "-f",
        "{connection_file}",
    ]
    spec = {"argv": argv, "display_name": "Python 3 (ipykernel)", "language": "python"}
    write_json(work / "jupyter" / "kernels" / "python3" / "kernel.json", spec)
    os.environ["JUPYTER_PATH"] = str(work / "jupyter")
    os.environ["JUPYTER_RUNTIME_DIR"] = str(work / "runtime")
    os.environ["IPYTHONDIR"] = str(work / "ipython")
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"


def _failure(kind: str, message: str, progress: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "kind": kind,
        "message": message,
        "exception": None,
        "traceback": None,
        "cell_index": (progress or {}).get("cell_index"),
        "cell_source": (progress or {}).get("cell_source"),
    }


def _incomplete(path: Path, progress: dict[str, Any] | None) -> str | None:
    """Why an executed notebook did not run to its last cell; None if it did.

    papermill takes ``sys.exit(0)`` for a good end and leaves out the cells after it.
    """
    executed, problems = read_executed(path)
    if executed is None:
        return problems[0] if problems else f"{path.name} was not written"
    code = [(i, cell) for i, cell in enumerate(executed["cells"]) if cell["cell_type"] == "code"]
    for i, cell in code:
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                return (
                    f"cell {i} ended the notebook early: {output.get('ename')}"
                    f"({output.get('evalue')}); leave cells by a condition, not by sys.exit"
                )
    last = max((i for i, _ in code), default=None)
    if last is not None and (progress or {}).get("cell_index") != last:
        return "its last cell did not run"
    return None


def _write_atomically() -> None:
    """Have papermill write a notebook whole or not at all: a kill never leaves half of one."""
    from papermill.iorw import LocalHandler, papermill_io

    class Whole(LocalHandler):
        def write(self, buf: str, path: str) -> None:
            write_bytes(Path(path), buf.encode())

    papermill_io.register("/", Whole())


def start_again(run: Callable[[], None], progress: Path, starts: int = _STARTS) -> None:
    """Call `run` again when its kernel dies before the first cell.

    A kernel is told its five ports before it takes them. Another process may take one in between,
    and the kernel dies: about once in a thousand starts where many start side by side. Nothing of
    the notebook has run then, as long as the file `progress` is not there.
    """
    for left in reversed(range(starts)):
        try:
            return run()
        except RuntimeError:
            if not left or progress.exists():
                raise


def _begin_with(spare: Spare) -> None:
    """Have the first kernel that Jupyter asks for be the one kept ready."""
    from jupyter_client.provisioning import local_provisioner as jupyter

    launch = jupyter.launch_kernel

    def first(command: list[str], env: dict[str, str], **options: Any) -> Spare:
        setattr(jupyter, "launch_kernel", launch)  # noqa: B010
        spare.begin(command, env, options.get("cwd") or os.getcwd())
        return spare

    setattr(jupyter, "launch_kernel", first)  # noqa: B010


def execute(job: dict[str, Any], spare: Spare | None = None) -> dict[str, Any]:
    """Execute the job's notebook, in the kernel kept ready where there is one.

    Returns
    -------
    dict
        ``{"status": ..., "failure": ...}`` as in ``status.json``.
    """
    folder = Path(job["folder"])
    work = folder / ".work"
    _own_kernel(work)

    # only now: the Jupyter stack reads its folders when it is imported
    skip_iri_grammar()
    import nbformat
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.engines import NBClientEngine, papermill_engines
    from papermill.exceptions import PapermillExecutionError

    class Engine(NBClientEngine):
        """papermill's engine; notes which code cell is under way."""

        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **options):
            start = nb_man.cell_start

            def cell_start(cell, cell_index=None, **kwargs):
                if cell.cell_type == "code":
                    under_way = {"cell_index": cell_index, "cell_source": cell.source}
                    write_json(work / "progress.json", under_way)
                return start(cell, cell_index, **kwargs)

            nb_man.cell_start = cell_start
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    if spare is not None:
        _begin_with(spare)
    papermill_engines.register("invariance", Engine)
    _write_atomically()
    source = Path(job["source"])
    notebook = read_notebook(source)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    # given the node instead of a file, papermill copies all of it into the output's metadata
    nbformat.write(notebook, work / source.with_suffix(".ipynb").name)

    def run() -> None:
        papermill.execute_notebook(
            work / source.with_suffix(".ipynb").name,
            folder / "executed.ipynb",
            parameters=job["parameters"],
            engine_name="invariance",
            kernel_name="python3",
            progress_bar=False,
            cwd=source.parent,
            start_timeout=120,
            iopub_timeout=120,
            execution_timeout=job["cell_timeout"],
        )

    try:
        start_again(run, work / "progress.json")
    except PapermillExecutionError as error:
        traceback = _ANSI.sub("", "\n".join(error.traceback))
        return {
            "status": "failed",
            "failure": {
                "kind": "cell",
                "message": f"{error.ename}: {_ANSI.sub('', error.evalue)}",
                "exception": error.ename,
                "traceback": traceback,
                "cell_index": error.cell_index,
                "cell_source": error.source,
            },
        }
    except CellTimeoutError:
        message = f"the cell ran longer than {job['cell_timeout']} s (--cell-timeout)"
        progress = read_json(work / "progress.json")
        return {"status": "timeout", "failure": _failure("cell timeout", message, progress)}
    except DeadKernelError:
        message = (
            "the kernel died while it ran this cell: killed for want of memory, by a signal, or "
            "by a crash in compiled code"
        )
        progress = read_json(work / "progress.json")
        return {"status": "killed", "failure": _failure("kernel died", message, progress)}
    progress = read_json(work / "progress.json")
    if reason := _incomplete(folder / "executed.ipynb", progress):
        return {"status": "failed", "failure": _failure("incomplete", reason, progress)}
    return {"status": "ok", "failure": None}


def main(path: str, *, forked: bool = False) -> None:
    """Do the job described in a file; `forked` with everything imported, it forks its kernel."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    guarded(Path(job["folder"]))
    spare = keep_one_ready() if forked else None
    if forked and spare is None:
        return  # this was the kernel
    outcome_file = Path(job["folder"]) / ".work" / "outcome.json"
    try:
        outcome = execute(job, spare)
    except Exception as error:
        progress = read_json(outcome_file.with_name("progress.json"))
        message = f"{type(error).__name__}: {error}"
        outcome = {"status": "failed", "failure": _failure("runner", message, progress)}
    write_json(outcome_file, outcome)


if __name__ == "__main__":
    main(sys.argv[1])
