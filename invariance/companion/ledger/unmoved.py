"""Changes of code that moved no number of quick runs: ``notebooks/unmoved.yml``.

A full run takes hours, a quick one seconds. If a notebook's quick run gives the same numbers with
the code before a change and after it, this is evidence, and no proof, that the change has not moved
its published numbers. `compare_quick_runs` compares; `record_unmoved` keeps the outcome.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import NotebookError
from ..files import AS_PRINTED, read_yaml, write_bytes
from ..paths import Paths
from .registration import commit_of
from .repository import Repository
from .results import Results, read_results


@dataclass(frozen=True)
class Unmoved:
    """The notebooks whose quick numbers are the same with the code of two commits."""

    before: str
    after: str
    notebooks: Sequence[str]


@dataclass
class Comparison:
    """The outcome for each notebook of comparing quick runs with the code of two commits.

    ``moved`` holds a sentence for each notebook with a different number, and for each without a
    number to compare.
    """

    before: str
    after: str
    unmoved: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)


def recorded_changes(paths: Paths) -> list[Unmoved]:
    """Return the recorded changes, oldest first."""
    if not paths.unmoved.is_file():
        return []
    # As printed: a commit whose name has digits alone is no number.
    content = read_yaml(paths.unmoved, AS_PRINTED) or []
    changes = []
    for entry in content:
        # A change that moved the numbers of all notebooks has an empty list.
        changes.append(Unmoved(entry["before"], entry["after"], entry["notebooks"] or []))
    return changes


def compare_quick_runs(paths: Paths, earlier: Sequence[Path]) -> Comparison:
    """Compare the quick runs of this checkout with those of checkouts of an earlier commit.

    Numbers that differ between two checkouts of the earlier commit are measured times, sizes of
    memory and the like, and are not compared. Raises `NotebookError` if the runs of a checkout are
    not those of one commit.
    """
    others = [Paths(folder.absolute()) for folder in earlier]
    commits = {_commit(other) for other in others}
    if len(commits) != 1:
        names = ", ".join(sorted(commits))
        raise NotebookError(f"the earlier checkouts have runs of different commits: {names}")
    comparison = Comparison(before=commits.pop(), after=_commit(paths))
    if Repository(paths).unknown(comparison.before):
        raise NotebookError(f"{comparison.before} is not in the history of {paths.root}")
    for notebook in paths.all_notebooks():
        before = [_numbers(other, notebook) for other in others]
        difference = _difference(before, _numbers(paths, notebook))
        if difference:
            comparison.moved[notebook] = difference
        else:
            comparison.unmoved.append(notebook)
    return comparison


def record_unmoved(paths: Paths, comparison: Comparison) -> None:
    """Add a comparison to ``notebooks/unmoved.yml``."""
    entry = Unmoved(comparison.before, comparison.after, comparison.unmoved)
    lines = ["# Written by `invariance unmoved`: quick runs gave the same numbers at both commits."]
    for change in [*recorded_changes(paths), entry]:
        lines += [f"- before: {change.before}", f"  after: {change.after}", "  notebooks:"]
        lines += [f"    - {notebook}" for notebook in change.notebooks]
    write_bytes(paths.unmoved, ("\n".join(lines) + "\n").encode())


def _commit(paths: Paths) -> str:
    """Return the commit that made all quick results of a checkout."""
    versions = set()
    for notebook in paths.all_notebooks():
        results, _ = read_results(paths.output(notebook, "quick"), notebook)
        if results is not None:
            versions.add(results["provenance"]["code"])
    if len(versions) != 1:
        there = ", ".join(sorted(versions)) or "none"
        remedy = "run 'invariance run --profile quick' there, at one commit"
        raise NotebookError(f"{paths.root} has quick results of these versions: {there}; {remedy}")
    version = versions.pop()
    commit, is_clean = commit_of(version)
    if not commit or not is_clean:
        raise NotebookError(
            f"the quick results of {paths.root} are of {version}: commit the code, and run it again"
        )
    return commit


def _numbers(paths: Paths, notebook: str) -> dict[str, Any]:
    """Return the numbers and words of a quick run by their places; empty without a run."""
    folder = paths.output(notebook, "quick")
    results, _ = read_results(folder, notebook)
    if results is None:
        return {}
    return dict(_leaves(results, folder))


def _leaves(results: Results, folder: Path) -> Iterator[tuple[str, Any]]:
    for claim, entry in sorted(results["claims"].items()):
        yield from _flat(f"claim {claim}", entry["recorded"])
    for i, sentence in enumerate(results["says"]):
        yield from _flat(f"sentence {i + 1}", sentence["numbers"])
    for table in results["tables"]:
        with (folder / table["file"]).open(newline="", encoding="utf-8") as stream:
            for i, row in enumerate(csv.DictReader(stream)):
                yield from _flat(f"table {table['name']}, row {i + 1}", row)


def _flat(place: str, content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and words of nested lists and mappings with their places."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from _flat(f"{place}, {key}", value)
    elif isinstance(content, list):
        for i, value in enumerate(content):
            yield from _flat(f"{place}, {i + 1}", value)
    else:
        yield place, content


def _difference(before: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> str:
    """Return where a run differs from the earlier ones, in words; empty if it is the same.

    Numbers that differ between the earlier runs are measured, as are all of their column: short
    times may be the same by chance.
    """
    first, *rest = before
    places = sorted(set(first).union(now, *rest))
    measured = set()
    for place in places:
        if any(numbers.get(place) != first.get(place) for numbers in rest):
            measured.add(_column(place))
    compared = 0
    for place in places:
        if _column(place) in measured:
            continue
        if first.get(place) != now.get(place):
            return f"{place}: {first.get(place)} before, {now.get(place)} now"
        compared += 1
    return "" if compared else "no number to compare"


def _column(place: str) -> str:
    """Return the place of a whole column of a table, or the place itself.

    >>> _column("table cost, row 3, seconds")
    'table cost, seconds'
    """
    return re.sub(r", row \d+, ", ", ", place)
