"""From the numbers that a notebook records to a verdict: one pure function, `judge`.

The rules are those of the head of ``notebooks/claims.yml``, kind by kind. An interval is the mean
with two standard errors on either side. A number without a standard error is inconclusive, unless
the notebook says why it is exact. Of several numbers, gaps or fits the worst decides (`combined`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...evaluation.means import with_error
from ..numbers import TINY, difference, number, without_rounding
from .claims import Claim

VERDICTS = ("matched", "better", "short", "differs", "violated", "inconclusive", "vacuous")

#: A claim is reproduced, or it is measured and not reproduced.
KEPT, FAILED = VERDICTS[:2], VERDICTS[2:]
#: A fitted exponent's interval and its distance from the stated one, at most.
WIDEST = 0.1
#: A difference above this, relative to the numbers compared, is more than rounding.
ROUNDING = 1e-6


class Verdict(NamedTuple):
    """Outcome for one claim: the verdict, why, and our result as text."""

    verdict: str
    reason: str
    ours: str

    def _ipython_display_(self) -> None:
        """Nothing: ``Run.claim`` has shown it, and a cell that ends with it must not again."""


def judge(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    """Verdict on a claim of the ledger from the recorded numbers alone.

    `recorded` is what `invariance.companion.run.recording.record` made of the notebook's numbers.

    >>> claim = Claim("p/c", "value", "t", "full", paper=("98.97",), better="higher", margin="0.5")
    >>> judge(claim, {"value": [98.8], "se": [0.1], "repetitions": 20})
    Verdict(verdict='matched', reason='98.80 ± 0.10 against 98.97: [98.60, 99.00] within the margin
    of 0.5', ours='98.80 ± 0.10')
    """
    verdicts, reasons, ours = zip(*_JUDGES[claim.kind](claim, recorded), strict=True)
    return Verdict(combined(verdicts), "; ".join(reasons), ", ".join(ours))


#: What comes of numbers that are not what was expected.
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def judge_again(claim: Claim, recorded: Mapping[str, Any]) -> Verdict | None:
    """Verdict on numbers read from disk; None if they are not what `judge` needs."""
    try:
        return judge(claim, recorded)
    except UNREADABLE:
        return None


def at_fault(reason: str) -> str:
    """The parts of a reason without those that hold.

    >>> at_fault("a > b holds: gap 3, standard error 1; b > c is reversed: gap -4, paired ...")
    'b > c is reversed: gap -4, paired ...'
    """
    holds = r" (holds: |within |inside the interval|a faster decay|undercuts)|, on the better side"
    parts = reason.split("; ")
    return "; ".join([part for part in parts if not re.search(holds, part)] or parts)


def combined(verdicts: Sequence[str]) -> str:
    """One verdict of several rows, gaps or fits: the worst; ``better`` only if all are.

    >>> combined(["better", "matched"]), combined(["better", "inconclusive", "short"])
    ('matched', 'short')
    """
    for worst in ("violated", "short", "differs", "inconclusive", "vacuous"):
        if worst in verdicts:
            return worst
    return "better" if all(v == "better" for v in verdicts) else "matched"


def in_brief(entry: Mapping[str, Any]) -> str:
    """Our result in a line: of an order how many of its gaps hold, and the weakest."""
    try:
        pairs, scores = (entry["recorded"][key] for key in ("pairs", "scores"))
        found = [_gap(pair, scores, entry["recorded"])[0] for pair in pairs]
        weakest = min(pairs, key=lambda pair: pair["gap"] / (pair["se"] or 1e-9))
        # an error of rounding is none
        text = {n: _with_se(s["mean"], s["se"] * (s["se"] > TINY)) for n, s in scores.items()}
        text = {name: without_rounding(score) for name, score in text.items()}
        text |= {name: f"{name} ({score})" for name, score in text.items() if name != score}
        ends = (text[weakest["greater"]], text[weakest["smaller"]])
    except UNREADABLE:
        return entry.get("ours", "")
    said = f"{found.count('matched')} of {len(pairs)} gaps hold"
    said += f", {n} reversed" if (n := found.count("violated")) else ""
    return f"{said}; the weakest, as stated: " + f" {weakest['relation']} ".join(ends)


def beside(claim: Claim, recorded: Mapping[str, Any]) -> str:
    """What a verdict rests on, in a few words: margin, tightness, repetitions."""
    said = [f"margin {claim.margin}"] if claim.margin else []
    try:
        match claim.kind:
            case "bound":
                said.append(_tightness(recorded))
            case "rate":
                widths = [(fit["high"] - fit["low"]) / 2 for fit in recorded["rates"].values()]
                said.append(f"95 % interval within ± {max(widths):.2f}")
            case "identity":
                tolerance, count = recorded["tolerance"], recorded["count"]
                said.append(f"tolerance {tolerance:.0e}; {count} comparisons")
            case "order":
                counts = [score["repetitions"] for score in recorded["scores"].values()]
                least = min(filter(None, counts), default=0)
                said += [f"{len(recorded['pairs'])} gaps"]
                said += [f"{float(claim.share):.0%} of them claimed"] if claim.share else []
                said += [f"{least} repetitions" if least else "no repetitions counted"]
            case _ if times := recorded.get("repetitions"):
                said.append(f"{times} repetition{'s' * (times > 1)}")
    except UNREADABLE:
        return ""  # read from disk, and not what `judge` needs
    said += [f"spread over {recorded['spread']}"] if recorded.get("spread") else []
    said += [f"exact: {recorded['exact']}"] if recorded.get("exact") else []
    return "; ".join(said)


def _with_se(value: float, se: float, decimals: int = 0) -> str:
    if se > 0:
        return with_error(value, se, decimals)
    if decimals or float(value).is_integer():
        # a deterministic result shows one digit more than the paper when it has one
        more = f"{value:.{decimals + 1}f}"
        return more[:-1].rstrip(".") if more.endswith("0") else more
    return f"{value:.4g}"


def _interval(mean: float, se: float, text: str) -> str:
    """Two standard errors around a mean, with as many digits as it has as text."""
    digits = len(text.partition(" ")[0].partition(".")[2])
    return f"[{mean - 2 * se:.{digits}f}, {mean + 2 * se:.{digits}f}]"


def _has_error(se: float, recorded: Mapping[str, Any]) -> bool:
    """Whether an error, even of zero, was measured or explained."""
    return bool(se or recorded.get("exact") or (recorded.get("repetitions") or 0) > 1)


#: Verdict, reason and our result as text: of each number, gap or fit, or of the whole.
Parts = Iterator[tuple[str, str, str]]


def _value(claim: Claim, recorded: Mapping[str, Any]) -> Parts:
    rows = zip(
        recorded["value"], recorded["se"], claim.paper, claim.margins, claim.decimals, strict=True
    )
    for value, se, printed, margin, decimals in rows:
        verdict, relation = _against(claim, value - float(printed), 2 * se, margin, abs(value))
        if not _has_error(se, recorded):
            verdict, relation = "inconclusive", "has no standard error"
        text = _with_se(value, se, decimals)
        where = _interval(value, se, text) if se else text
        yield verdict, f"{text} against {printed}: {where} {relation} of {margin:.4g}", text


def _against(
    claim: Claim, difference: float, reach: float, margin: float, size: float
) -> tuple[str, str]:
    """Verdict on an interval around a difference from the paper, and in words."""
    # differences of decimal fractions carry rounding: 89.25 - 89.23 is 0.02 and a little
    most = margin * (1 + 1e-9) + 1e-12 * size
    if abs(difference) + reach <= most:
        return "matched", "within the margin"
    if abs(difference) - reach <= most:
        return "inconclusive", "lies partly in the margin"
    if claim.better == "neither":
        return "differs", "outside the margin"
    if (difference > 0) == (claim.better == "higher"):
        return "better", "outside the margin, on the better side"
    return "short", "outside the margin, on the worse side"


def _same(claim: Claim, recorded: Mapping[str, Any]) -> Parts:
    (value,), (se,), (margin,) = recorded["value"], recorded["se"], claim.margins
    if not _has_error(se, recorded):
        verdict, relation = "inconclusive", "has no standard error; the margin is"
    elif abs(value) + 2 * se <= margin * (1 + 1e-9):
        verdict, relation = "matched", "within the margin of"
    elif abs(value) - 2 * se > margin:
        verdict, relation = "violated", "outside the margin of"
    else:
        verdict, relation = "inconclusive", "straddles the margin of"
    text = without_rounding(_with_se(value, se))
    reason = f"difference {text}: {_interval(value, se, text)} {relation} {margin:.4g}"
    yield verdict, reason, text


def _order(claim: Claim, recorded: Mapping[str, Any]) -> Parts:
    scores, pairs = recorded["scores"], recorded["pairs"]
    gaps = [_gap(pair, scores, recorded) for pair in pairs]
    verdicts, reasons = [verdict for verdict, _ in gaps], [reason for _, reason in gaps]
    verdict = combined(verdicts)
    if claim.share:  # that share of the gaps is claimed to hold
        holding, reversed_ = verdicts.count("matched"), verdicts.count("violated")
        asked = float(claim.share) * len(gaps) - 1e-9
        could = "violated" if len(gaps) - reversed_ < asked else "inconclusive"
        verdict = "matched" if holding >= asked else could
        words = f"{holding} of {len(gaps)} gaps hold, {reversed_} are reversed"
        reasons.insert(0, f"{words}, {float(claim.share):.0%} are claimed")
    # in the order of the chains, whatever the order of the keys in results.json
    named = [name for pair in pairs for name in (pair["greater"], pair["smaller"])]
    names = dict.fromkeys([*named, *sorted(scores)])
    ours = "; ".join(f"{n}: {_with_se(scores[n]['mean'], scores[n]['se'])}" for n in names)
    yield verdict, "; ".join(reasons), without_rounding(ours)


def _gap(
    pair: Mapping[str, Any], scores: Mapping[str, Any], recorded: Mapping[str, Any]
) -> tuple[str, str]:
    """Verdict on one gap of an order, and in words."""
    gap, se, weak = pair["gap"], pair["se"], pair["relation"] == ">="
    one, other = scores[pair["greater"]], scores[pair["smaller"]]
    if abs(gap) <= 1e-12 * max(abs(one["mean"]), abs(other["mean"])):
        gap = 0.0  # equal up to rounding
    level = recorded.get("level", 0.0) if weak else 0.0
    if not (se or one["repetitions"] or other["repetitions"] or recorded.get("exact")):
        verdict, relation = "inconclusive", "has no standard error"
    elif gap > 2 * se or (weak and gap - 2 * se >= -level):
        verdict, relation = "matched", "holds"
    elif gap < -2 * se - level:
        verdict, relation = "violated", "is reversed"
    else:
        verdict, relation = "inconclusive", "is under two standard errors"
    how = "paired " if pair["paired"] else ""
    error = f"gap {number(gap)}, {how}standard error {number(se if se > TINY else 0.0)}"
    return verdict, f"{pair['greater']} {pair['relation']} {pair['smaller']} {relation}: {error}"


def _bound(claim: Claim, recorded: Mapping[str, Any]) -> Parts:
    verdict, reason = _one_bound(recorded)
    sharper = [(one["says"], *_one_bound(one)) for one in recorded.get("sharper") or ()]
    if verdict == "vacuous" and sharper and all(v == "matched" for _, v, _ in sharper):
        verdict, reason = "matched", f"{reason}, and so vacuous as stated"
    reasons = [reason, *(f"sharper reading, {says}: {v}, {why}" for says, v, why in sharper)]
    violate = f"{recorded['violations']} of {recorded['trials']} trials violate"
    yield verdict, "; ".join(reasons), f"{violate}; {_tightness(recorded)}"


def _one_bound(recorded: Mapping[str, Any]) -> tuple[str, str]:
    """Verdict on one inequality, and why."""
    trials, violations = recorded["trials"], recorded["violations"]
    allowed, biting = recorded["allowed"], recorded["biting"]
    at_most = f" (at most {allowed:.3g} of them allowed)" if allowed else ""
    reason = f"{violations} of {trials} trials violate{at_most}, {_tightness(recorded)}"
    if violations > allowed * trials:
        return "violated", reason
    if biting is None:
        return "inconclusive", f"{reason}; what the quantity can ever be was not said (ceiling)"
    if not biting:
        return "vacuous", f"{reason}, none of them could have"
    return "matched", f"{reason}, {biting} of them could have"


def _tightness(recorded: Mapping[str, Any]) -> str:
    low, median = recorded["tightness"], recorded["median_tightness"]
    if low is None:
        return "tightness not defined"
    return f"bound / observed {number(low)} at the tightest, {number(median)} in the median"


def _rate(claim: Claim, recorded: Mapping[str, Any]) -> Parts:
    most = WIDEST * (1 + 1e-9)
    for name, fit in sorted(recorded["rates"].items()):
        slope, expected = fit["slope"], fit["expected"]
        inside = fit["low"] <= expected <= fit["high"]
        if (fit["high"] - fit["low"]) / 2 > most:
            verdict, relation = "inconclusive", f"an interval wider than ± {WIDEST:g}"
        elif inside or abs(slope - expected) <= most:
            verdict = "matched"
            relation = "inside the interval" if inside else f"within ± {WIDEST:g}"
        elif slope < expected and recorded["upper_bound"]:
            verdict, relation = "better", "undercuts the stated upper bound"
        else:
            verdict, relation = "short", f"outside the interval and ± {WIDEST:g}"
        label = f"{name}: " if name else ""
        interval = f"{slope:.3f} [{fit['low']:.3f}, {fit['high']:.3f}]"
        reason = f"{label}slope {interval}, stated {expected:g}: {relation}"
        yield verdict, reason, f"{label}{interval}"


def _identity(claim: Claim, recorded: Mapping[str, Any]) -> Parts:
    largest, tolerance = recorded["largest"], recorded["tolerance"]
    verdict, relation = "matched", "within the tolerance"
    if largest > tolerance:
        verdict, relation = "violated", "above the tolerance"
    elif largest > ROUNDING:
        verdict, relation = "inconclusive", f"more than rounding ({ROUNDING:.0e}), within"
    found = f"largest difference {difference(largest)}"
    reason = f"{found} over {recorded['count']} comparisons, {relation} {tolerance:.0e}"
    yield verdict, reason, found


_JUDGES: dict[str, Callable[[Claim, Mapping[str, Any]], Parts]] = {
    "value": _value,
    "order": _order,
    "bound": _bound,
    "rate": _rate,
    "identity": _identity,
    "same": _same,
}
