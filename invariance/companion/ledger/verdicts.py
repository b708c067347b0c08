"""From the numbers that a notebook records to a verdict: one pure function, `judge`.

===========  ==============================  ==================================================
kind         verdicts                        rule
===========  ==============================  ==================================================
value        matched, better, short          distance to the paper's number within the slack:
                                             two standard errors, the ledger's tolerance or half
                                             a unit of the last printed digit, whichever is most
order        matched, short, violated        each gap of means against twice its standard error
bound        matched, violated               fraction of trials that violate, against `allowed`
rate         matched, better, short          stated exponent inside the confidence interval or
                                             within the tolerance
identity     matched, violated               largest difference against the tolerance
===========  ==============================  ==================================================

In a list of several numbers one ``short`` makes the claim ``short``; all ``better`` make it
``better``; anything else is ``matched``.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from invariance.companion.ledger.claims import Claim

__all__ = ["VERDICTS", "Verdict", "at_fault", "judge", "judge_again"]

VERDICTS = ("matched", "better", "short", "violated")


class Verdict(NamedTuple):
    """Outcome for one claim: the verdict, why, and our result as text."""

    verdict: str
    reason: str
    ours: str

    def _ipython_display_(self) -> None:
        """Nothing: ``Run.claim`` has shown it, and a cell that ends with it must not again."""


def judge(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    """Verdict on a claim from the recorded numbers alone.

    Parameters
    ----------
    claim : Claim
        The ledger's entry.
    recorded : mapping
        What `invariance.companion.notebook.recording.record` made of the notebook's numbers.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from invariance.companion.ledger.claims import Claim
    >>> claim = Claim("p/c", "value", "table 1", "full", paper=("98.97",), better="higher")
    >>> judge(claim, {"value": [98.8], "se": [0.1], "repetitions": 20})
    Verdict(verdict='matched', reason='98.80 ± 0.10 against 98.97: -0.17 within ± 0.2 (two standard
    errors)', ours='98.80 ± 0.10')
    """
    return _JUDGES[claim.kind](claim, recorded)


def judge_again(claim: Claim, recorded: Mapping[str, Any]) -> Verdict | None:
    """Verdict on numbers read from disk; None if they are not what `judge` needs."""
    try:
        return judge(claim, recorded)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None


def at_fault(reason: str) -> str:
    """The parts of a reason for ``short`` or ``violated`` without those that hold.

    >>> at_fault("a > b holds: gap 3, standard error 1; b > c is reversed: gap -4, paired ...")
    'b > c is reversed: gap -4, paired ...'
    """
    holds = (
        " holds: ", " within ", " better by more than ", " inside the interval", " a faster decay",
    )  # fmt: skip
    parts = reason.split("; ")
    return "; ".join([part for part in parts if not any(h in part for h in holds)] or parts)


def _all_of(verdicts: list[str]) -> str:
    for worst in ("violated", "short"):
        if worst in verdicts:
            return worst
    return "better" if all(v == "better" for v in verdicts) else "matched"


def _plain(number: float) -> str:
    return f"{number:.4g}"


def _with_se(value: float, se: float, decimals: int = 0) -> str:
    if se > 0:
        # two digits of the error, once it is rounded to two: 0.0999 is 0.10
        decimals = max(decimals, 1 - math.floor(math.log10(float(f"{se:.1e}"))))
        decimals = min(decimals, 12)
        return f"{value:.{decimals}f} ± {se:.{decimals}f}"
    if decimals or float(value).is_integer():
        # a deterministic result shows one digit more than the paper when it has one
        more = f"{value:.{decimals + 1}f}"
        return more[:-1].rstrip(".") if more.endswith("0") else more
    return _plain(value)


def _value(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    verdicts, reasons, ours = [], [], []
    sign = 1 if claim.better == "higher" else -1
    rows = zip(recorded["value"], recorded["se"], claim.paper, claim.decimals, strict=True)
    for value, se, printed, decimals in rows:
        slack, origin = max(
            (2 * se, "two standard errors"),
            (claim.tolerance, "stated tolerance"),
            (0.5 * 10.0**-decimals, "half a unit of the last printed digit"),
        )
        difference = value - float(printed)
        # differences of decimal fractions carry rounding: 89.25 - 89.23 is 0.02 and a little
        if abs(difference) <= slack * (1 + 1e-9) + 1e-12 * abs(value):
            verdict, relation = "matched", "within"
        else:
            verdict = "better" if sign * difference > 0 else "short"
            relation = f"{verdict} by more than"
        text = _with_se(value, se, decimals)
        verdicts.append(verdict)
        ours.append(text)
        reasons.append(
            f"{text} against {printed}: {difference:+.{max(decimals, 2)}f} {relation} "
            f"± {_plain(slack)} ({origin})"
        )
    return Verdict(_all_of(verdicts), "; ".join(reasons), ", ".join(ours))


def _order(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    scores = recorded["scores"]
    verdicts, reasons = [], []
    for pair in recorded["pairs"]:
        gap, se = pair["gap"], pair["se"]
        greater, smaller = scores[pair["greater"]]["mean"], scores[pair["smaller"]]["mean"]
        if abs(gap) <= 1e-12 * max(abs(greater), abs(smaller)):
            gap = 0.0  # equal up to rounding
        strict = pair["relation"] == ">"
        if (gap > 0 and gap >= 2 * se) if strict else gap >= -2 * se:
            verdict, relation = "matched", "holds"
        elif gap < 0 and gap <= -2 * se:
            verdict, relation = "violated", "is reversed"
        else:
            verdict, relation = "short", "is under two standard errors"
        verdicts.append(verdict)
        how = "paired " if pair["paired"] else ""
        reasons.append(
            f"{pair['greater']} {pair['relation']} {pair['smaller']} {relation}: "
            f"gap {_plain(gap)}, {how}standard error {_plain(se)}"
        )
    # in the order of the chains, whatever the order of the keys in results.json
    named = [name for pair in recorded["pairs"] for name in (pair["greater"], pair["smaller"])]
    names = dict.fromkeys([*named, *sorted(scores)])
    ours = ", ".join(f"{n} {_with_se(scores[n]['mean'], scores[n]['se'])}" for n in names)
    return Verdict(_all_of(verdicts), "; ".join(reasons), ours)


def _bound(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    trials, violations = recorded["trials"], recorded["violations"]
    allowed, margin = recorded["allowed"], recorded["smallest_margin"]
    verdict = "matched" if violations <= allowed * trials else "violated"
    at_most = f" (at most {allowed:.3g} of them allowed)" if allowed else ""
    ours = f"{violations} of {trials} trials violate"
    reason = f"{ours}{at_most}; smallest margin {_plain(margin)}"
    return Verdict(verdict, reason, f"{ours}; smallest margin {_plain(margin)}")


def _rate(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    tolerance = recorded["tolerance"]
    verdicts, reasons, ours = [], [], []
    for name, fit in sorted(recorded["rates"].items()):
        slope, expected = fit["slope"], fit["expected"]
        interval = f"{slope:.3f} [{fit['low']:.3f}, {fit['high']:.3f}]"
        inside = fit["low"] <= expected <= fit["high"]
        near = abs(slope - expected) <= tolerance * (1 + 1e-9)
        if inside or near:
            verdict = "matched"
            relation = "inside the interval" if inside else f"within ± {tolerance:g}"
        elif slope < expected and not recorded["two_sided"] and expected < 0:
            verdict, relation = "better", "a faster decay than stated"
        else:
            verdict, relation = "short", f"outside the interval and ± {tolerance:g}"
        label = f"{name}: " if name else ""
        verdicts.append(verdict)
        ours.append(f"{label}{interval}")
        reasons.append(f"{label}slope {interval}, stated {expected:g}: {relation}")
    return Verdict(_all_of(verdicts), "; ".join(reasons), ", ".join(ours))


def _identity(claim: Claim, recorded: Mapping[str, Any]) -> Verdict:
    largest, tolerance = recorded["largest"], recorded["tolerance"]
    verdict = "matched" if largest <= tolerance else "violated"
    relation = "within" if verdict == "matched" else "above"
    reason = (
        f"largest difference {largest:.2e} over {recorded['count']} comparisons, "
        f"{relation} the tolerance {tolerance:.0e}"
    )
    return Verdict(verdict, reason, f"largest difference {largest:.2e}")


_JUDGES: dict[str, Callable[[Claim, Mapping[str, Any]], Verdict]] = {
    "value": _value,
    "order": _order,
    "bound": _bound,
    "rate": _rate,
    "identity": _identity,
}
