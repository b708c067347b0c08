"""The companion contains no name of a paper, group, kernel or data set of the project."""

import re
from functools import cache
from pathlib import Path

from invariance import groups, kernels
from invariance.companion.ledger.claims import load_ledger, read_papers
from invariance.companion.paths import Paths
from invariance.datasets import available

ROOT = Path(__file__).parents[2]
PATHS = Paths(ROOT)
COMPANION = ROOT / "invariance/companion"


@cache
def _names() -> set[str]:
    papers = read_papers(PATHS)["papers"]
    names = {claim.paper_key for claim in load_ledger(PATHS.ledger).values()} | {*papers}
    names |= {name for paper in papers.values() for name in paper["authors"].split(", ")}
    names |= {key.rstrip("0123456789") for key in papers}
    names |= {entry.name for entry in available()}
    return names | {*groups.__all__} | {*kernels.__all__}


#: Names that are also English words, topics of the site, or names in click and PyTorch.
WORDS = {"digits", "lines", "Group", "Linear", "Product", "base", "Kernel"}


def test_no_file_names_one():
    names = {}
    for path in COMPANION.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            words = {*re.findall(r"[\w-]+", path.read_text(encoding="utf-8", errors="replace"))}
            words |= {part for word in words for part in word.split("_")}
            names[path.relative_to(COMPANION).as_posix()] = sorted(words & (_names() - WORDS))
    assert len(names) > 50
    assert {file: found_names for file, found_names in names.items() if found_names} == {}
