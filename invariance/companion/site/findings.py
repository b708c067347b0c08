"""What was learnt, in five findings: each sentence takes its numbers from published results."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..ledger.verdicts import FAILED, KEPT, VERDICTS
from .material import Material, Result

__all__ = ["FINDINGS", "Finding", "found"]


@dataclass(frozen=True)
class Finding:
    """A title, a figure of a notebook that shows it, and a sentence made of published numbers."""

    title: str
    notebook: str
    figure: str
    says: Callable[["Published"], str]


class Published:
    """Published claims and tables; asking for what is not there is a KeyError."""

    def __init__(self, material: Material):
        self.material = material

    def claims(self, prefix: str = "") -> dict[str, Result]:
        """Published claims whose id begins so."""
        rows = [row for row in self.material.rows if row.profile == "full" and row.result]
        found = {r.claim.id: r.result for r in rows if r.result and r.claim.id.startswith(prefix)}
        if not found:
            raise KeyError(prefix)
        return found

    def verdicts(self, prefix: str = "") -> list[str]:
        """What counts of these claims."""
        return [row.verdict for row in self.material.rows if row.claim.id.startswith(prefix)]

    def recorded(self, claim: str) -> Mapping[str, Any]:
        """The numbers that a published claim rests on."""
        return self.claims(claim).popitem()[1].recorded

    def table(self, notebook: str, name: str) -> list[dict[str, str]]:
        """Rows of a published table by the names of its columns."""
        outcome = self.material.notebooks[notebook].published
        if outcome is None:
            raise KeyError(notebook)
        names, *rows = outcome.tables[name].rows
        return [dict(zip(names, row, strict=True)) for row in rows]


def found(material: Material) -> Iterator[tuple[Finding, str]]:
    """The findings that the published results bear out; the others are problems of the material."""
    published = Published(material)
    for finding in FINDINGS:
        try:
            yield finding, finding.says(published)
        except (KeyError, ValueError, TypeError, IndexError, ZeroDivisionError) as error:
            if notebook := material.notebooks.get(finding.notebook):
                notebook.problems.append(
                    f"the finding {finding.title!r} is left out: {type(error).__name__}: {error}"
                )


def _mean(text: str) -> float:
    return float(text.partition(" ±")[0])


def _lucky_split(published: Published) -> str:
    rows = published.table("liu2022/few_samples", "table2-emnist")
    rows = [row for row in rows if row["n = 100"] and row["further splits, 100"]]
    verdicts = published.verdicts("liu2022/table2-emnist")
    kept = sum(verdict in KEPT for verdict in verdicts)
    of_the_table = f"{kept} of the table's {len(verdicts)} rows are reproduced; " if kept else ""
    gap = {r["method"]: float(r["n = 100"]) - _mean(r["further splits, 100"]) for r in rows}
    luckiest = max(gap, key=lambda name: gap[name])
    row = next(r for r in rows if r["method"] == luckiest)
    return (
        f"With 100 letters of EMNIST, {luckiest} reaches {row['n = 100']} % on the paper's split; "
        f"the paper prints {row['paper, 100']}. On further random splits the same method reaches "
        f"{row['further splits, 100']} %. {of_the_table}{sum(g > 0 for g in gap.values())} of "
        f"{len(gap)} methods do better on the paper's split than on the others."
    )


def _loose_bounds(published: Published) -> str:
    bounds = [r.recorded for r in published.claims().values() if "violations" in r.recorded]
    trials = sum(b["trials"] for b in bounds)
    violations = sum(b["violations"] for b in bounds)
    could = sum(b.get("biting", 0) for b in bounds)
    loosest = max(published.table("mroueh2015/theorem2", "uniform"), key=lambda r: r["budget"])
    margin = published.recorded("mroueh2015/theorem3-risk")["smallest_margin"]
    return (
        f"The papers' inequalities were broken in {violations} of {trials:,} trials, of which "
        f"{could:,} could have broken them. They leave much room: theorem 2 of Mroueh et al. "
        f"allows an error of {loosest['budget']} where 19 draws in 20 err by less than "
        f"{loosest['95 % quantile']}, and their theorem 3 allows a risk that is {margin:.0f} "
        "larger than the one measured, where always predicting zero costs 1."
    )


def _what_beats_what(published: Published) -> str:
    answers = published.table("compare/which_one_when", "answer")
    largest: dict[str, dict[str, str]] = {}
    for row in answers:
        largest[row["task, figure"]] = row
    shares = [_number(row["error"]) / _number(row["plain kernel"]) for row in largest.values()]
    winners = list(dict.fromkeys(row["take"] for row in largest.values()))
    return (
        f"On {len(largest)} tasks with a known symmetry, the best invariant method makes "
        f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the plain kernel's errors, and "
        f"{len(winners)} different methods win: {'; '.join(winners)}."
    )


def _number(text: str) -> float:
    match = re.match(r"[-+0-9.e]+", text)
    if not match:
        raise ValueError(f"{text!r} is not a number")
    return float(match[0])


def _exactness(published: Published) -> str:
    exact = published.recorded("soleymani2025/exact-invariance")
    scores = published.recorded("soleymani2025/example5.2")["scores"]
    plain, averaged = (scores[name]["mean"] for name in ("krr at 30", "krr-sampled at 30"))
    return (
        f"Spectral averaging is invariant to {exact['largest']:.0e} in {exact['count']} models, "
        "under groups as large as all permutations of 30 coordinates, and needs only their two "
        f"generators. Kernel ridge regression changes its answer by {100 * plain:.0f} % when "
        f"coordinates change places; averaged over sampled permutations, it still changes by "
        f"{100 * averaged:.0f} %."
    )


def _short(published: Published) -> str:
    verdicts = published.verdicts()
    counted = [verdict for verdict in verdicts if verdict in VERDICTS]
    fallen = sum(verdict in FAILED for verdict in counted)
    said = f"{fallen} of {len(counted)} claims are not reproduced. " if counted else ""
    row = published.material.row("liu2022/table1-translated-mnist")
    if row is None or row.result is None:
        raise KeyError("liu2022/table1-translated-mnist")
    printed, ours = row.claim.printed.split(", ")[-1], row.result.recorded["value"][-1]
    return (
        f"{said}The widest gap: best-fit kernels are said to stay positive definite up to "
        f"{int(float(printed)):,} translated digits; with the constants of the paper's other table "
        f"we find {ours:,.0f}. Each failure below names its reason, as far as we could measure it."
    )


FINDINGS = (
    Finding("A lucky split", "liu2022/few_samples", "table2", _lucky_split),
    Finding("Bounds that hold, loosely", "mroueh2015/theorem2", "joint", _loose_bounds),
    Finding("What beats what", "compare/which_one_when", "errors", _what_beats_what),
    Finding("Exactness for free", "soleymani2025/sphere_permutations", "comparison", _exactness),
    Finding("Where the papers fall short", "liu2022/positive_definite_samples", "gamma", _short),
)
