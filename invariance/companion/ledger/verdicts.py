"""Verdicts on claims, computed from recorded numbers by one pure function: `judge`.

The rules for each kind of claim stand at the head of ``notebooks/claims.yml``. An interval is the
mean with two standard errors on either side. A number without a standard error is inconclusive,
unless the notebook explains why it is exact. If a claim has several numbers, gaps or fits, each of
them is judged by itself (`judge_parts`), and the worst one decides (`combined`).

Where the head leaves something open, it is read as follows:

- *near* is between *inconclusive* and *matched*: the mean of an inconclusive number lies outside
  the margin.
- A margin is a part of the claim, so it has no band. The band belongs to a threshold that the
  protocol names and the notebook passes as ``thresholds=``: a gap to it holds, or is reversed, if
  the whole interval lies beyond a fifth of the threshold.
- "Where the source says O(...), or 'at most'" refers to the claim's own words; ``upper_bound=True``
  is the notebook's declaration for a source that says so elsewhere.
- A claim whose precondition fails is not testable, whatever its numbers are.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...evaluation.means import with_error
from ..numbers import TINY, difference, number, without_rounding
from .claims import Claim

VERDICTS = (
    "matched",
    "better",
    "near",
    "short",
    "differs",
    "violated",
    "inconclusive",
    "vacuous",
    "not testable",
)

#: The numbers recorded for a claim, or a part of them.
Recorded = Mapping[str, Any]
#: Mean, standard error and repetitions, by name.
Scores = Mapping[str, Recorded]

#: Verdicts on claims that are reproduced.
KEPT = ("matched", "better")
#: Verdicts on claims that were measured and are not reproduced.
FAILED = ("near", "short", "differs", "violated", "inconclusive", "vacuous")
#: The verdict on a claim whose precondition fails: neither reproduced nor not reproduced.
NOT_TESTABLE = "not testable"
#: Largest half-width of a fitted exponent's interval, and largest distance from the stated one.
WIDEST = 0.1
#: The band around a threshold of ours, as a share of the threshold on either side.
BAND = 0.2
#: A difference above this, relative to the compared numbers, is more than rounding.
ROUNDING = 1e-6


class Verdict(NamedTuple):
    """The verdict on one claim, its reason, and our result as text."""

    verdict: str
    reason: str
    ours: str

    def _ipython_display_(self) -> None:
        """Display nothing: ``Run.claim`` has displayed the verdict already."""


def judge(claim: Claim, recorded: Recorded) -> Verdict:
    """Return the verdict on a claim of the ledger, from the recorded numbers alone.

    `recorded` holds the numbers that `invariance.companion.run.recording.record` returned.

    >>> claim = Claim("p/c", "value", "t", "full", paper=("98.97",), better="higher", margin="0.5")
    >>> judge(claim, {"value": [98.8], "se": [0.1], "repetitions": 20})
    Verdict(verdict='matched', reason='98.80 ± 0.10 against 98.97: [98.60, 99.00] within the margin
    of 0.5', ours='98.80 ± 0.10')
    """
    parts = judge_parts(claim, recorded)
    verdict = combined([part.verdict for part in parts])
    reason = "; ".join(part.reason for part in parts)
    ours = ", ".join(part.ours for part in parts)
    precondition = recorded.get("precondition")
    if precondition is not None and not precondition["holds"]:
        verdict = NOT_TESTABLE
        reason = f"a precondition fails: {precondition['because']}; {reason}"
    return Verdict(verdict, reason, ours)


def judge_parts(claim: Claim, recorded: Recorded) -> list[Verdict]:
    """Return the verdict on each printed number of a claim, or on each fit of a rate, by itself.

    For a claim of another kind, the only entry is the verdict on its numbers as a whole.
    """
    return list(_JUDGES[claim.kind](claim, recorded))


#: Errors of reading recorded numbers that have another form than expected.
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def judge_again(claim: Claim, recorded: Recorded) -> Verdict | None:
    """Return the verdict on numbers read from disk, or None if they cannot be judged."""
    try:
        return judge(claim, recorded)
    except UNREADABLE:
        return None


def reached(claim: Claim, recorded: Recorded) -> list[bool | None]:
    """Return whether the numbers of a counterfactual reach the printed ones, in their order.

    A number reaches the printed one if it lies within the claim's margin, or beyond it on the
    better side; the entry of a number that was not measured is None. For a claim without printed
    numbers, the only entry is whether the statement holds.

    >>> claim = Claim("p/c", "value", "t", "full", paper=("61.02", "62.79"), margin="1")
    >>> reached(claim, {"value": [61.9, None], "se": [0.1, None]})
    [True, None]
    """
    if claim.kind != "value":
        return [judge(claim, recorded).verdict in KEPT]
    results: list[bool | None] = []
    numbers = zip(recorded["value"], claim.values, claim.margins, strict=True)
    for value, printed, margin in numbers:
        if value is None:
            results.append(None)
            continue
        verdict, _ = _against_paper(claim, value - printed, 0.0, margin, abs(value))
        results.append(verdict in KEPT)
    return results


def counterfactual_numbers(claim: Claim, recorded: Recorded) -> str:
    """Return the numbers of a counterfactual as text.

    >>> claim = Claim("p/c", "value", "t", "full", paper=("61.02", "62.79"), margin="1")
    >>> counterfactual_numbers(claim, {"value": [61.9, None], "se": [0.1, None]})
    '61.90 ± 0.10, not measured'
    """
    if claim.kind != "value":
        return judge(claim, recorded).ours
    texts = []
    for value, se, decimals in zip(recorded["value"], recorded["se"], claim.decimals, strict=True):
        text = "not measured"
        if value is not None:
            text = _with_se(value, se, decimals)
        texts.append(text)
    return ", ".join(texts)


def in_words(claim: Claim, counterfactual: Recorded) -> str:
    """Return a counterfactual of ``results.json`` in one line.

    >>> claim = Claim("p/c", "value", "t", "full", paper=("61.02", "62.79"), margin="1",
    ...               better="higher")
    >>> recorded = {"value": [61.9, 60.0], "se": [0.1, 0.1]}
    >>> in_words(claim, {"change": "mirrored", "recorded": recorded})
    'mirrored: 61.90 ± 0.10 reaches 61.02, 60.00 ± 0.10 does not reach 62.79'
    """
    recorded = counterfactual["recorded"]
    reaches = reached(claim, recorded)
    change = counterfactual["change"]
    if claim.kind != "value":
        holds = "holds" if reaches[0] else "does not hold"
        return f"{change}: the statement {holds}: {counterfactual_numbers(claim, recorded)}"
    parts = []
    for i, reaches_number in enumerate(reaches):
        if reaches_number is None:
            continue
        text = _with_se(recorded["value"][i], recorded["se"][i], claim.decimals[i])
        verb = "reaches" if reaches_number else "does not reach"
        parts.append(f"{text} {verb} {claim.paper[i]}")
    return f"{change}: {', '.join(parts)}"


def at_fault(reason: str) -> str:
    """Return the parts of a reason that do not hold, or all parts if each one holds.

    >>> at_fault("a > b holds: gap 3, standard error 1; b > c is reversed: gap -4, paired ...")
    'b > c is reversed: gap -4, paired ...'
    """
    holds = r" (holds: |within the |within ± |inside the interval|undercuts)|, on the better side"
    parts = reason.split("; ")
    failing = [part for part in parts if not re.search(holds, part)]
    return "; ".join(failing or parts)


def combined(verdicts: Sequence[str]) -> str:
    """Return the worst of several verdicts; ``better`` only if all are better.

    >>> combined(["better", "matched"]), combined(["better", "near"]), combined(["near", "short"])
    ('matched', 'near', 'short')
    """
    for worst in ("violated", "short", "differs", "inconclusive", "near", "vacuous"):
        if worst in verdicts:
            return worst
    if "matched" in verdicts:
        return "matched"
    return "better"


def in_brief(entry: Recorded) -> str:
    """Return our result in a line; for an order, how many gaps hold, and the weakest one."""
    try:
        recorded = entry["recorded"]
        pairs = recorded["pairs"]
        scores = recorded["scores"]
        verdicts = [_gap(pair, scores, recorded).verdict for pair in pairs]
        weakest = min(pairs, key=lambda pair: pair["gap"] / (pair["se"] or 1e-9))
        greater = _named_score(weakest["greater"], scores)
        smaller = _named_score(weakest["smaller"], scores)
    except UNREADABLE:
        return entry.get("ours", "")
    text = f"{verdicts.count('matched')} of {len(pairs)} gaps hold"
    n_reversed = verdicts.count("violated")
    if n_reversed:
        text += f", {n_reversed} reversed"
    return f"{text}; the weakest, as stated: {greater} {weakest['relation']} {smaller}"


def _named_score(name: str, scores: Scores) -> str:
    mean = scores[name]["mean"]
    se = scores[name]["se"]
    if se <= TINY:
        se = 0.0  # An error of the size of rounding is not shown.
    score = without_rounding(_with_se(mean, se))
    if score == name:
        return score
    return f"{name} ({score})"


def beside(claim: Claim, recorded: Recorded) -> str:
    """Return the evidence for a verdict in a few words: margin, tightness, repetitions."""
    parts = []
    if claim.margin:
        parts.append(f"margin {claim.margin}")
    try:
        parts += _evidence(claim, recorded)
    except UNREADABLE:
        return ""
    if recorded.get("spread"):
        parts.append(f"spread over {recorded['spread']}")
    if recorded.get("exact"):
        parts.append(f"exact: {recorded['exact']}")
    return "; ".join(parts)


def _evidence(claim: Claim, recorded: Recorded) -> list[str]:
    if claim.kind == "bound":
        return [_tightness(recorded)]
    if claim.kind == "rate":
        widths = [(fit["high"] - fit["low"]) / 2 for fit in recorded["rates"].values()]
        return [f"95 % interval within ± {max(widths):.2f}"]
    if claim.kind == "identity":
        return [f"tolerance {recorded['tolerance']:.0e}; {recorded['count']} comparisons"]
    if claim.kind == "order":
        return _evidence_of_order(claim, recorded)
    repetitions = recorded.get("repetitions")
    if not repetitions:
        return []
    if repetitions == 1:
        return ["1 repetition"]
    return [f"{repetitions} repetitions"]


def _evidence_of_order(claim: Claim, recorded: Recorded) -> list[str]:
    parts = [f"{len(recorded['pairs'])} gaps"]
    if claim.share:
        parts.append(f"{float(claim.share):.0%} of them claimed")
    counts = [score["repetitions"] for score in recorded["scores"].values()]
    smallest = min((count for count in counts if count), default=0)
    if smallest:
        parts.append(f"{smallest} repetitions")
    else:
        parts.append("no repetitions counted")
    return parts


def _with_se(value: float, se: float, decimals: int = 0) -> str:
    if se > 0:
        return with_error(value, se, decimals)
    if not decimals and not float(value).is_integer():
        return f"{value:.4g}"
    # A deterministic result shows one digit more than the paper, unless this digit is zero.
    text = f"{value:.{decimals + 1}f}"
    if text.endswith("0"):
        return text[:-1].rstrip(".")
    return text


def _interval(mean: float, se: float, text: str) -> str:
    """Return the mean with two standard errors, with as many digits as `text` shows."""
    value, _, _ = text.partition(" ")
    _, _, decimals = value.partition(".")
    digits = len(decimals)
    return f"[{mean - 2 * se:.{digits}f}, {mean + 2 * se:.{digits}f}]"


def _has_error(se: float, recorded: Recorded) -> bool:
    """Return whether an error, even of zero, was measured or explained."""
    repetitions = recorded.get("repetitions") or 0
    return bool(se or recorded.get("exact") or repetitions > 1)


#: Verdicts on the numbers, gaps or fits of a claim.
Parts = Iterator[Verdict]


def _value(claim: Claim, recorded: Recorded) -> Parts:
    numbers = zip(
        recorded["value"], recorded["se"], claim.paper, claim.margins, claim.decimals, strict=True
    )
    for value, se, printed, margin, decimals in numbers:
        text = _with_se(value, se, decimals)
        if _has_error(se, recorded):
            difference_to_paper = value - float(printed)
            verdict, relation = _against_paper(claim, difference_to_paper, se, margin, abs(value))
        else:
            verdict = "inconclusive"
            relation = "has no standard error"
        interval = text
        if se:
            interval = _interval(value, se, text)
        reason = f"{text} against {printed}: {interval} {relation} of {margin:.4g}"
        yield Verdict(verdict, reason, text)


def _against_paper(
    claim: Claim, difference_to_paper: float, se: float, margin: float, size: float
) -> tuple[str, str]:
    """Return the verdict on a difference from the paper, and its relation to the margin."""
    # Differences of decimal fractions carry rounding: 89.25 - 89.23 is slightly more than 0.02.
    limit = margin * (1 + 1e-9) + 1e-12 * size
    distance = abs(difference_to_paper)
    if distance + 2 * se <= limit:
        return "matched", "within the margin"
    if distance <= limit:
        return "near", "has its mean, but not both ends, inside the margin"
    if distance - 2 * se <= limit:
        return "inconclusive", "lies partly inside, with its mean outside the margin"
    if claim.better == "neither":
        return "differs", "outside the margin"
    if (difference_to_paper > 0) == (claim.better == "higher"):
        return "better", "outside the margin, on the better side"
    return "short", "outside the margin, on the worse side"


def _same(claim: Claim, recorded: Recorded) -> Parts:
    (value,) = recorded["value"]
    (se,) = recorded["se"]
    (margin,) = claim.margins
    if not _has_error(se, recorded):
        verdict = "inconclusive"
        relation = "has no standard error; the margin is"
    elif abs(value) + 2 * se <= margin * (1 + 1e-9):
        verdict = "matched"
        relation = "within the margin of"
    elif abs(value) - 2 * se > margin:
        verdict = "violated"
        relation = "outside the margin of"
    else:
        verdict = "inconclusive"
        relation = "straddles the margin of"
    text = without_rounding(_with_se(value, se))
    reason = f"difference {text}: {_interval(value, se, text)} {relation} {margin:.4g}"
    yield Verdict(verdict, reason, text)


class _GapVerdict(NamedTuple):
    verdict: str
    reason: str


def _order(claim: Claim, recorded: Recorded) -> Parts:
    scores = recorded["scores"]
    pairs = recorded["pairs"]
    gaps = [_gap(pair, scores, recorded) for pair in pairs]
    verdict = combined([gap.verdict for gap in gaps])
    reasons = [gap.reason for gap in gaps]
    if claim.share:
        verdict, summary = _share_of_gaps(float(claim.share), gaps)
        reasons.insert(0, summary)
    # Scores are listed in the order of the chains, whatever the order of keys in results.json.
    names: dict[str, None] = {}
    for pair in pairs:
        names |= {pair["greater"]: None, pair["smaller"]: None}
    names |= dict.fromkeys(sorted(scores))
    texts = [f"{name}: {_with_se(scores[name]['mean'], scores[name]['se'])}" for name in names]
    yield Verdict(verdict, "; ".join(reasons), without_rounding("; ".join(texts)))


def _share_of_gaps(share: float, gaps: Sequence[_GapVerdict]) -> tuple[str, str]:
    """Return the verdict on a claim that a share of the gaps holds, and its reason."""
    verdicts = [gap.verdict for gap in gaps]
    n_holding = verdicts.count("matched")
    n_reversed = verdicts.count("violated")
    n_needed = share * len(gaps) - 1e-9
    if n_holding >= n_needed:
        verdict = "matched"
    elif len(gaps) - n_reversed < n_needed:
        verdict = "violated"
    else:
        verdict = "inconclusive"
    counts = f"{n_holding} of {len(gaps)} gaps hold, {n_reversed} are reversed"
    return verdict, f"{counts}, {share:.0%} are claimed"


def _gap(pair: Recorded, scores: Scores, recorded: Recorded) -> _GapVerdict:
    """Return the verdict on one gap of an order, and its reason."""
    gap = _without_rounding_error(pair, scores)
    relation = _relation_of_gap(gap, pair, scores, recorded)
    verdicts = {"holds": "matched", "is reversed": "violated"}
    kind_of_error = "standard error"
    if pair["paired"]:
        kind_of_error = "paired standard error"
    shown_se = number(pair["se"])
    if pair["se"] <= TINY:
        shown_se = "0"
    sizes = f"gap {number(gap)}, {kind_of_error} {shown_se}"
    reason = f"{pair['greater']} {pair['relation']} {pair['smaller']} {relation}: {sizes}"
    return _GapVerdict(verdicts.get(relation, "inconclusive"), reason)


def _without_rounding_error(pair: Recorded, scores: Scores) -> float:
    """Return a gap, or zero if the two scores are equal up to rounding."""
    greater = scores[pair["greater"]]["mean"]
    smaller = scores[pair["smaller"]]["mean"]
    if abs(pair["gap"]) <= 1e-12 * max(abs(greater), abs(smaller)):
        return 0.0
    return pair["gap"]


def _band(pair: Recorded, scores: Scores, recorded: Recorded) -> float:
    """Return the half-width of the band around a threshold of ours; zero for other gaps."""
    thresholds = recorded.get("thresholds", ())
    sizes = [abs(scores[name]["mean"]) for name in _ends(pair) if name in thresholds]
    return BAND * max(sizes, default=0.0)


def _ends(pair: Recorded) -> tuple[str, str]:
    return pair["greater"], pair["smaller"]


def _relation_of_gap(
    gap: float,
    pair: Recorded,
    scores: Scores,
    recorded: Recorded,
) -> str:
    se = pair["se"]
    band = _band(pair, scores, recorded)
    repetitions = [scores[name]["repetitions"] for name in _ends(pair)]
    if not (se or any(repetitions) or recorded.get("exact")):
        return "has no standard error"
    if band:
        if abs(gap) - 2 * se <= band:
            return "is in the band of a fifth around a threshold of ours"
        return "holds" if gap > 0 else "is reversed"
    if gap > 2 * se:
        return "holds"
    level = 0.0
    if pair["relation"] == ">=":
        level = recorded.get("level", 0.0)
        if gap - 2 * se >= -level:
            return "holds"
    if gap < -2 * se - level:
        return "is reversed"
    return "is under two standard errors"


def _bound(claim: Claim, recorded: Recorded) -> Parts:
    verdict, reason = _one_bound(recorded)
    reasons = [reason]
    sharper_verdicts = []
    for reading in recorded.get("sharper") or ():
        sharper_verdict, sharper_reason = _one_bound(reading)
        sharper_verdicts.append(sharper_verdict)
        title = f"sharper reading, {reading['says']}"
        reasons.append(f"{title}: {sharper_verdict}, {sharper_reason}")
    if verdict == "vacuous" and sharper_verdicts and set(sharper_verdicts) == {"matched"}:
        verdict = "matched"
        reasons[0] += ", and so vacuous as stated"
    violations = f"{recorded['violations']} of {recorded['trials']} trials violate"
    yield Verdict(verdict, "; ".join(reasons), f"{violations}; {_tightness(recorded)}")


def _one_bound(recorded: Recorded) -> tuple[str, str]:
    """Return the verdict on one inequality, and its reason."""
    trials = recorded["trials"]
    violations = recorded["violations"]
    allowed = recorded["allowed"]
    biting = recorded["biting"]
    counts = f"{violations} of {trials} trials violate"
    if allowed:
        counts += f" (at most {allowed:.3g} of them allowed)"
    reason = f"{counts}, {_tightness(recorded)}"
    if violations > allowed * trials:
        return "violated", reason
    if biting is None:
        return "inconclusive", f"{reason}; the largest possible value was not given (ceiling)"
    if not biting:
        return "vacuous", f"{reason}, 0 of them could have"
    return "matched", f"{reason}, {biting} of them could have"


def _tightness(recorded: Recorded) -> str:
    smallest = recorded["tightness"]
    median = recorded["median_tightness"]
    if smallest is None:
        return "tightness not defined"
    return f"bound / observed {number(smallest)} at the tightest, {number(median)} in the median"


def _rate(claim: Claim, recorded: Recorded) -> Parts:
    is_bound = recorded["upper_bound"] or bool(_BOUND_IN_WORDS.search(claim.says))
    for name, fit in sorted(recorded["rates"].items()):
        slope = fit["slope"]
        expected = fit["expected"]
        verdict, relation = _exponent(fit, is_bound)
        label = ""
        if name:
            label = f"{name}: "
        interval = f"{slope:.3f} [{fit['low']:.3f}, {fit['high']:.3f}]"
        reason = f"{label}slope {interval}, stated {expected:g}: {relation}"
        yield Verdict(verdict, reason, f"{label}{interval}")


#: Words by which a claim states an upper bound of a rate.
_BOUND_IN_WORDS = re.compile(r"\bO\(|\bat most\b|\bupper bound")


def _exponent(fit: Recorded, upper_bound: bool) -> tuple[str, str]:
    """Return the verdict on a fitted exponent, and its relation to the stated one."""
    slope = fit["slope"]
    expected = fit["expected"]
    widest = WIDEST * (1 + 1e-9)
    if (fit["high"] - fit["low"]) / 2 > widest:
        return "inconclusive", f"an interval wider than ± {WIDEST:g}"
    # The interval of an exact power law is a point, up to rounding.
    rounding = 1e-9 * max(1.0, abs(expected))
    if fit["low"] - rounding <= expected <= fit["high"] + rounding:
        return "matched", "inside the interval"
    if abs(slope - expected) <= widest:
        return "matched", f"within ± {WIDEST:g}"
    if slope < expected and upper_bound:
        return "better", "undercuts the stated upper bound"
    return "short", f"outside the interval and ± {WIDEST:g}"


def _identity(claim: Claim, recorded: Recorded) -> Parts:
    largest = recorded["largest"]
    tolerance = recorded["tolerance"]
    if largest > tolerance:
        verdict = "violated"
        relation = "above the tolerance"
    elif largest > ROUNDING:
        verdict = "inconclusive"
        relation = f"more than rounding ({ROUNDING:.0e}), within"
    else:
        verdict = "matched"
        relation = "within the tolerance"
    ours = f"largest difference {difference(largest)}"
    noun = "comparison" if recorded["count"] == 1 else "comparisons"
    reason = f"{ours} over {recorded['count']} {noun}, {relation} {tolerance:.0e}"
    yield Verdict(verdict, reason, ours)


_JUDGES: dict[str, Callable[[Claim, Recorded], Parts]] = {
    "value": _value,
    "order": _order,
    "bound": _bound,
    "rate": _rate,
    "identity": _identity,
    "same": _same,
}
