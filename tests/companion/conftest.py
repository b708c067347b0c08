"""A small project with a ledger and tiny notebooks, independent of the real one."""

import fcntl
import os
import re
import shutil
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from invariance.companion.ledger.results import read_status
from invariance.companion.paths import Paths
from invariance.companion.runner.worker import processes_of

LEDGER = """\
claims:
  - {id: demo/number, kind: value, source: t1, paper: 98.90, margin: 0.5, better: higher,
     data: full, protocol: "one draw"}
  - {id: demo/pair, kind: value, source: t1, paper: [14.01, 13.7], margin: 10 %, better: lower,
     data: full, protocol: "one draw"}
  - {id: demo/near, kind: value, source: t1, paper: 90, margin: 1, better: higher, data: full}
  - {id: demo/order, kind: order, source: f1, says: "a beats b", data: generated,
     protocol: "ten draws", note: "b is ours",
     history: [{protocol: "two draws", gave: "1 against 2", verdict: violated}]}
  - {id: demo/bound, kind: bound, source: th1, data: generated, protocol: "all trials"}
  - {id: demo/rate, kind: rate, source: th2, data: generated}
  - {id: demo/law, kind: rate, source: th3, data: generated}
  - {id: demo/same, kind: identity, source: l1, data: generated}
  - {id: demo/alike, kind: same, source: s4, margin: 1, data: generated}
"""

HEADER = """\
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A small notebook

"""

PARAMETERS = """\
# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
width: float = 1.5  # of the line
"""


class Project(Paths):
    """The paths of a small project, into which notebooks can be written."""

    def write(self, name: str, *cells: str, parameters: str = PARAMETERS) -> str:
        path = self.source(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        start = "from invariance.companion import Run\n"
        names = ", ".join(f"{n}={n}" for n in re.findall(r"(?m)^(\w+):", parameters))
        start += f'run = Run("{name}", {names})'
        code = [start, *map(textwrap.dedent, cells)] if parameters else cells
        path.write_text(
            HEADER + parameters + "".join(f"\n# %%\n{cell.strip()}\n" for cell in code), "utf-8"
        )
        return name

    def status(self, name: str, profile: str = "quick") -> dict | None:
        return read_status(self.output(name, profile), name)[0]

    def hidden(self) -> list[Path]:
        """Return folders of running or abandoned attempts, and half-published copies."""
        left = [*self.build.glob(".runners/*"), *self.build.glob("*/*/.*")]
        return [path for path in [*left, *self.figures.glob("*/.*")] if path.is_dir()]

    def processes(self) -> list[psutil.Process]:
        """Return workers and kernels, which hold their job open, and their child processes."""
        related = processes_of(self.root)
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                held = [file.path for file in process.open_files()]
                if any(path.startswith(str(self.build / ".runners")) for path in held):
                    related.append(process)
        return [process for process in related if process.pid != os.getpid()]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "claims.yml").write_text(LEDGER, "utf-8")
    monkeypatch.setenv("INVARIANCE_ROOT", str(tmp_path))
    monkeypatch.delenv("INVARIANCE_RUN_DIR", raising=False)
    return Project(tmp_path)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the library that tests can edit and that new processes import."""
    library = Path(__file__).resolve().parents[2] / "invariance"
    folder = tmp_path / "copy"
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(library, folder / "invariance", ignore=left_out)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder / "invariance"


@pytest.fixture(scope="session")
def made_once(tmp_path_factory) -> Callable[[str, Callable[[Path], object]], Path]:
    """A folder that pytest's processes share: the first one makes it, and the others wait."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # The folder that the processes of this test run share.

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder = base / name
        finished = base / f"{name}.made"
        with open(base / f"{name}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                finished.touch()
        return folder

    return made
