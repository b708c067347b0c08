"""The companion knows no paper, no group, no kernel and no data set: these are the project's."""

import re
from functools import cache
from pathlib import Path

import pytest

from invariance import groups, kernels
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.ledger.papers import read_papers
from invariance.companion.paths import Paths
from invariance.datasets import available

ROOT = Path(__file__).parents[2]
PATHS = Paths(ROOT)
COMPANION = ROOT / "invariance/companion"
FILES = sorted(p for p in COMPANION.rglob("*") if p.is_file() and p.suffix != ".pyc")


@cache
def _names() -> set[str]:
    papers = read_papers(PATHS)["papers"]
    names = {claim.paper_key for claim in load_ledger(PATHS.ledger).values()} | {*papers}
    names |= {name for paper in papers.values() for name in paper["authors"].split(", ")}
    names |= {key.rstrip("0123456789") for key in papers}
    names |= {entry.name for entry in available()}
    return names | {*groups.__all__} | {*kernels.__all__}


#: English as well, what a section of the site may be about, or of click and PyTorch.
WORDS = {"digits", "lines", "Group", "Linear", "Product", "base", "Kernel"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(COMPANION).as_posix())
def test_no_file_names_one(path):
    words = {*re.findall(r"[\w-]+", path.read_text(encoding="utf-8", errors="replace"))}
    words |= {part for word in words for part in word.split("_")}
    assert sorted(words & (_names() - WORDS)) == []
