"""A small project of its own: a ledger, tiny notebooks, and nothing of the real one."""

import re
import textwrap
from pathlib import Path

import pytest

from invariance.companion.paths import Paths

LEDGER = """\
claims:
  - {id: demo/number, kind: value, source: t1, paper: 98.90, better: higher, data: full}
  - {id: demo/pair, kind: value, source: t1, paper: [14.01, 13.7], better: lower, data: full}
  - {id: demo/near, kind: value, source: t1, paper: 90, tolerance: 1, better: higher, data: full}
  - {id: demo/order, kind: order, source: f1, says: "a beats b", data: generated}
  - {id: demo/bound, kind: bound, source: th1, data: generated}
  - {id: demo/rate, kind: rate, source: th2, data: generated}
  - {id: demo/law, kind: rate, source: th3, two_sided: true, tolerance: 0.02, data: generated}
  - {id: demo/same, kind: identity, source: l1, tolerance: 1e-10, data: generated}
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
    """Paths of a small project that notebooks can be written into."""

    def write(self, name: str, *cells: str, parameters: str = PARAMETERS) -> str:
        path = self.source(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        start = "from invariance.companion import Run\n"
        names = ", ".join(f"{n}={n}" for n in re.findall(r"(?m)^(\w+):", parameters))
        start += f'run = Run("{name}", {names})'
        code = [start, *map(textwrap.dedent, cells)] if parameters else cells
        path.write_text(HEADER + parameters + "".join(f"\n# %%\n{cell.strip()}\n" for cell in code))
        return name


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "claims.yml").write_text(LEDGER)
    monkeypatch.setenv("INVARIANCE_ROOT", str(tmp_path))
    monkeypatch.delenv("INVARIANCE_RUN_DIR", raising=False)
    return Project(tmp_path)
