"""The counts on the first page: `tallies`, `sentence`, `turns`.

Claims are counted by what they are about; of claims about printed numbers, every number counts by
itself. Claims that the ledger does not score are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .rows import Row
from .settings import REWORDED
from .verdicts import KEPT, NOT_TESTABLE

#: What claims are about, with the nouns for one and for several.
TOPICS = {
    "theorem": ("theorem", "theorems"),
    "cost": ("cost", "costs"),
    "finding": ("finding", "findings"),
    "number": ("printed number", "printed numbers"),
}
#: The outcomes that are counted, with their verdicts. All other results wait for a run.
OUTCOMES = {
    "reproduced": KEPT,
    "near": ("near",),
    "undecided": ("inconclusive", "vacuous"),
    "not reproduced": ("short", "differs", "violated"),
    "not testable": (NOT_TESTABLE,),
}
WAITING = "waiting for a run"


def outcome_of(verdict: str) -> str:
    """Return the outcome that counts a verdict.

    >>> outcome_of("better"), outcome_of("differs"), outcome_of("another wording")
    ('reproduced', 'not reproduced', 'waiting for a run')
    """
    for outcome, verdicts in OUTCOMES.items():
        if verdict in verdicts:
            return outcome
    return WAITING


@dataclass
class Tally:
    """The outcomes of all claims about one topic, or of all their printed numbers.

    ``weak`` counts the reproduced ones that are weakly tested, ``program`` those that repeat the
    authors' own program.
    """

    topic: str
    outcomes: Counter[str] = field(default_factory=Counter)
    weak: int = 0
    program: int = 0

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())

    @property
    def reproduced(self) -> int:
        return self.outcomes["reproduced"]

    @property
    def noun(self) -> str:
        """The topic as a noun, in the number of the total."""
        one, several = TOPICS[self.topic]
        return one if self.total == 1 else several


def tallies(rows: Iterable[Row]) -> list[Tally]:
    """Return the counts of each topic that has scored claims."""
    by_topic = {topic: Tally(topic) for topic in TOPICS}
    for row in rows:
        if not row.claim.is_scored:
            continue
        tally = by_topic[row.claim.topic]
        verdicts = [row.verdict]
        if row.claim.topic == "number" and row.claim.paper:
            verdicts = row.verdicts_of_numbers
        for verdict in verdicts:
            outcome = outcome_of(verdict)
            tally.outcomes[outcome] += 1
            if outcome == "reproduced":
                tally.weak += bool(row.claim.limits)
                tally.program += bool(row.claim.program)
    return [tally for tally in by_topic.values() if tally.total]


def used_outcomes(counted: Sequence[Tally]) -> list[str]:
    """Return the outcomes in the table's columns; rare ones have a column only if they occur."""
    always = ("reproduced", "near", "undecided", "not reproduced")
    every = [*OUTCOMES, WAITING]
    return [name for name in every if name in always or any(t.outcomes[name] for t in counted)]


def sentence(rows: Sequence[Row]) -> str:
    """Return a paragraph with the counts of reproduced claims, weak tests and turned verdicts."""
    counted = tallies(rows)
    if not counted:
        return "The ledger holds no claims yet."
    parts = [f"{tally.reproduced} of {tally.total} {tally.noun}" for tally in counted]
    text = f"**Reproduced at the papers' own scale: {_listed(parts)}**, as printed or better."
    n_program = sum(tally.program for tally in counted)
    if n_program:
        verb = "repeats" if n_program == 1 else "repeat"
        text += f" Of the numbers, {n_program} {verb} the authors' own program."
    if any(tally.reproduced for tally in counted):
        scored = [row for row in rows if row.claim.is_scored]
        reproduced = [row for row in scored if row.verdict in KEPT]
        n_weak = sum(bool(row.claim.limits) for row in reproduced)
        verb = "is" if n_weak == 1 else "are"
        text += f" These are {len(reproduced)} of {len(scored)} claims, some of several numbers;"
        text += f" {n_weak} of the {len(reproduced)} {verb} weakly tested"
        n_stand_ins = sum(row.has_stand_in for row in reproduced)
        if n_stand_ins:
            verb = "was" if n_stand_ins == 1 else "were"
            text += f", and {n_stand_ins} {verb} tested on data that stand in for the paper's"
        text += "."
    for_us, against_us = turns(rows)
    if for_us or against_us:
        noun = "verdict" if len(for_us) == 1 else "verdicts"
        text += f" Protocols changed after a first result turned {len(for_us)} {noun} from "
        text += f"unfavourable to favourable, and {len(against_us)} the other way."
    return text


def _listed(parts: Sequence[str]) -> str:
    """Return the parts with commas, and "and" before the last one.

    >>> _listed(["one", "two", "three"]), _listed(["one"])
    ('one, two and three', 'one')
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def verdicts_over_time(row: Row) -> list[str]:
    """Return the verdicts of a claim, oldest first, and the present one at the end.

    For a claim whose words have changed, the last one is that of its result at the time.
    """
    verdicts = [earlier.verdict for earlier in row.claim.history if earlier.verdict]
    if row.counts:
        verdicts.append(row.verdict)
    elif row.verdict == REWORDED:
        verdicts.append(row.verdict_at_run)
    return verdicts


def turns(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Return the claims whose verdict a changed protocol turned: to favourable, to unfavourable.

    A claim that turned twice stands there twice. Claims that the ledger does not score are left
    out.
    """
    for_us = []
    against_us = []
    for row in rows:
        if not row.claim.is_scored:
            continue
        favourable = [verdict in KEPT for verdict in verdicts_over_time(row)]
        for before, after in pairwise(favourable):
            if after and not before:
                for_us.append(row)
            elif before and not after:
                against_us.append(row)
    return for_us, against_us


def waiting(rows: Iterable[Row]) -> list[Row]:
    """Return the scored claims that wait for a run."""
    return [row for row in rows if row.claim.is_scored and not row.counts]


@dataclass(frozen=True)
class NumbersOff:
    """The printed numbers that are missed, by what their counterfactual gives.

    For some of those without a result the ledger names a change that no run has tried (`untried`).
    """

    reaching: int
    not_reaching: int
    without: int
    untried: int

    @property
    def total(self) -> int:
        return self.reaching + self.not_reaching + self.without


def numbers_off(rows: Iterable[Row]) -> NumbersOff:
    """Return how many of the missed printed numbers a counterfactual reaches.

    A number is missed if its verdict is neither favourable nor near, and if it does not wait for a
    run.
    """
    counts: Counter[bool | None] = Counter()
    untried = 0
    for row in rows:
        if row.claim.topic != "number" or not row.claim.is_scored:
            continue
        for verdict, reaches in zip(row.verdicts_of_numbers, row.reached, strict=True):
            if outcome_of(verdict) in ("undecided", "not reproduced"):
                counts[reaches] += 1
                untried += reaches is None and bool(row.claim.counterfactual)
    return NumbersOff(counts[True], counts[False], counts[None], untried)
