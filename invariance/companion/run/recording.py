"""What a notebook hands to ``Run.claim``, checked and reduced to plain numbers.

The result holds everything that `invariance.companion.ledger.verdicts.judge` needs and nothing
else, so that a verdict can be computed again from ``results.json``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from invariance.companion.errors import RecordError, hint
from invariance.companion.ledger.claims import KINDS, Claim
from invariance.evaluation.means import Score, mean_se
from invariance.evaluation.rates import RateFit

__all__ = ["record"]


def record(claim: Claim, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Check the arguments for a claim's kind and reduce them to plain numbers.

    Parameters
    ----------
    claim : Claim
    arguments : mapping
        Keyword arguments of ``Run.claim`` other than note and data.

    Returns
    -------
    dict
        JSON-ready.

    Raises
    ------
    RecordError
        Naming the claim and the argument: wrong for the kind, of the wrong length, not finite.
    """
    function, allowed = _RECORDERS[claim.kind]
    wrong = sorted(set(arguments) - allowed)
    if wrong or not arguments:
        got = f"got {', '.join(wrong)}" if wrong else "got nothing"
        raise RecordError(f"{claim.id} is of kind {claim.kind}: {got}, needs {KINDS[claim.kind]}")
    try:
        return function(claim, **arguments)
    except RecordError:
        raise
    except (TypeError, ValueError) as error:
        raise RecordError(
            f"{claim.id} (kind {claim.kind}): {error}. It needs {KINDS[claim.kind]}"
        ) from error


def _numbers(claim: Claim, name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise RecordError(f"{claim.id}: {name} is not numeric: {value!r:.80}") from None
    if array.size == 0:
        raise RecordError(f"{claim.id}: {name} is empty")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        at = f"{name}{where}" if where else name
        bad = array[tuple(where)]
        raise RecordError(
            f"{claim.id}: {at} is {bad} ({int((~np.isfinite(array)).sum())} of {array.size} "
            "not finite). Find out where it comes from: a verdict needs finite numbers"
        )
    return array


def _value(
    claim: Claim,
    value: Any = None,
    se: Any = None,
    samples: Any = None,
    repetitions: int | None = None,
    exact: str = "",
    spread: str = "",
) -> dict[str, Any]:
    if (value is None) == (samples is None):
        raise RecordError(f"{claim.id}: pass either value= (and se=) or samples=, not both")
    count = max(1, len(claim.paper))
    if samples is not None:
        if not (se is None and repetitions is None):
            raise RecordError(
                f"{claim.id}: se= and repetitions= go with value=; samples= brings its own"
            )
        array = _numbers(claim, "samples", samples)
        repetitions = int(array.shape[0]) if array.ndim else 1
        value, se = mean_se(array)
    means = np.atleast_1d(_numbers(claim, "value", value))
    errors = np.atleast_1d(_numbers(claim, "se", 0.0 if se is None else se))
    if means.ndim != 1 or len(means) != count:
        raise RecordError(
            f"{claim.id}: the paper has {count} number(s), {claim.printed}; got shape {means.shape}"
        )
    if errors.shape != means.shape:
        if errors.size != 1:
            raise RecordError(f"{claim.id}: se has shape {errors.shape}, value {means.shape}")
        errors = np.full_like(means, errors[0])
    if (errors < 0).any():
        raise RecordError(f"{claim.id}: se is negative: {errors.tolist()}")
    numbers = {"value": means.tolist(), "se": errors.tolist(), "repetitions": repetitions}
    return numbers | _reasons(claim, exact=exact, spread=spread)


def _reasons(claim: Claim, **given: str) -> dict[str, str]:
    """Texts that stand beside the numbers; what is empty is left out."""
    for name, text in given.items():
        if not isinstance(text, str):
            raise RecordError(f"{claim.id}: {name}={text!r} is not text: say why, in a few words")
    return {name: text for name, text in given.items() if text}


def _pairs(claim: Claim, order: str | Sequence[str]) -> list[tuple[str, str, str]]:
    """Relations (greater, ">" or ">=", smaller) of one chain or several."""
    chains = [order] if isinstance(order, str) else list(order)
    if not all(isinstance(chain, str) for chain in chains):
        raise RecordError(f"{claim.id}: order is a chain such as 'a >= b > c', got {order!r}")
    if not any(re.search("[<>]", chain) for chain in chains):
        chains = [" > ".join(chains)]
    pairs = []
    for chain in chains:
        parts = [part.strip() for part in re.split(r"(>=|<=|>|<)", chain)]
        if len(parts) < 3 or not all(parts):
            raise RecordError(f"{claim.id}: {chain!r} is not a chain such as 'a >= b > c'")
        for left, relation, right in zip(parts[0:-2:2], parts[1::2], parts[2::2], strict=True):
            pairs.append(
                (left, relation, right)
                if relation[0] == ">"
                else (right, relation.replace("<", ">"), left)
            )
    return pairs


def _order(
    claim: Claim,
    order: Any = None,
    scores: Any = None,
    paired: bool = False,
    exact: str = "",
    level: float = 0.0,
) -> dict[str, Any]:
    if order is None or not isinstance(scores, Mapping) or not scores:
        raise RecordError(f"{claim.id}: needs {KINDS['order']}")
    samples: dict[str, np.ndarray] = {}
    summary: dict[str, dict[str, Any]] = {}
    for name, score in scores.items():
        if isinstance(score, Score):
            mean, se = _numbers(claim, f"scores[{name!r}]", score).tolist()
            if se < 0:
                raise RecordError(f"{claim.id}: scores[{name!r}] has a negative error {se}")
            summary[name] = {"mean": mean, "se": se, "repetitions": None}
            continue
        array = _numbers(claim, f"scores[{name!r}]", score)
        if array.ndim == 0:
            summary[name] = {"mean": float(array), "se": 0.0, "repetitions": None}
            continue
        if array.ndim > 1 or len(array) < 2:
            raise RecordError(
                f"{claim.id}: scores[{name!r}] has shape {array.shape}: expected at least two "
                "repetitions in one dimension, a Score(mean, se), or a plain number for a "
                "deterministic result"
            )
        mean, se = mean_se(array)
        samples[name] = array
        summary[name] = {"mean": mean, "se": se, "repetitions": len(array)}
    pairs = []
    for greater, relation, smaller in _pairs(claim, order):
        for name in (greater, smaller):
            if name not in summary:
                raise RecordError(
                    f"{claim.id}: the chain names {name!r}, which has no score. "
                    + hint(name, summary, "scores")
                )
        together = (
            paired
            and greater in samples
            and smaller in samples
            and len(samples[greater]) == len(samples[smaller])
        )
        if together:
            gap, se = mean_se(samples[greater] - samples[smaller])
        else:
            gap = summary[greater]["mean"] - summary[smaller]["mean"]
            se = float(np.hypot(summary[greater]["se"], summary[smaller]["se"]))
        pairs.append(
            {
                "greater": greater,
                "relation": relation,
                "smaller": smaller,
                "gap": gap,
                "se": se,
                "paired": bool(together),
            }
        )
    return {
        "order": order if isinstance(order, str) else list(order),
        "scores": summary,
        "pairs": pairs,
        "level": float(_numbers(claim, "level", level)),
    } | _reasons(claim, exact=exact)


def _bound(
    claim: Claim,
    lhs: Any = None,
    rhs: Any = None,
    allowed: float = 0.0,
    ceiling: Any = None,
    sharper: Any = (),
) -> dict[str, Any]:
    readings = [sharper] if isinstance(sharper, Mapping) else list(sharper)
    found = []
    for reading in readings:
        if not isinstance(reading, Mapping) or not reading.get("says"):
            raise RecordError(
                f"{claim.id}: a sharper reading is dict(says=..., lhs=..., rhs=..., ceiling=...)"
            )
        numbers = {name: value for name, value in reading.items() if name != "says"}
        found.append({"says": str(reading["says"])} | _inequality(claim, **numbers))
    numbers = _inequality(claim, lhs=lhs, rhs=rhs, allowed=allowed, ceiling=ceiling)
    return numbers | ({"sharper": found} if found else {})


def _inequality(
    claim: Claim, lhs: Any = None, rhs: Any = None, allowed: float = 0.0, ceiling: Any = None
) -> dict[str, Any]:
    """lhs <= rhs: how often not, how tightly, and in how many trials it could have failed."""
    if lhs is None or rhs is None:
        raise RecordError(f"{claim.id}: needs {KINDS['bound']}")
    if not 0 <= allowed < 1:
        raise RecordError(f"{claim.id}: allowed={allowed} is not a fraction in [0, 1)")
    left, right = np.broadcast_arrays(_numbers(claim, "lhs", lhs), _numbers(claim, "rhs", rhs))
    biting = None
    if ceiling is not None:
        most = np.asarray(ceiling, dtype=float)
        if np.isnan(most).any() or (most < left * (1 - 1e-12)).any():
            raise RecordError(f"{claim.id}: lhs exceeds the ceiling {ceiling!r:.60}, or it is NaN")
        biting = int((right < np.broadcast_to(most, left.shape)).sum())
    ratios = right[left > 0] / left[left > 0]
    return {
        "trials": int(left.size),
        "violations": int((left > right).sum()),
        "smallest_margin": float((right - left).min()),
        "allowed": float(allowed),
        "biting": biting,
        "tightness": float(ratios.min()) if ratios.size else None,
        "median_tightness": float(np.median(ratios)) if ratios.size else None,
    }


def _rate(
    claim: Claim, rates: Any = None, expected: Any = None, upper_bound: bool = False
) -> dict[str, Any]:
    if rates is None or expected is None:
        raise RecordError(f"{claim.id}: needs {KINDS['rate']}")
    if isinstance(rates, RateFit):
        rates, expected = {"": rates}, {"": expected}
    if not isinstance(rates, Mapping) or not isinstance(expected, Mapping) or not rates:
        raise RecordError(f"{claim.id}: needs {KINDS['rate']}, or one fit and one number")
    if set(rates) != set(expected):
        odd = sorted(set(rates) ^ set(expected))
        raise RecordError(f"{claim.id}: rates and expected name different things: {odd}")
    fits = {}
    for name, fit in rates.items():
        if not isinstance(fit, RateFit):
            raise RecordError(f"{claim.id}: rates[{name!r}] is {fit!r:.60}, not a fit_rate(x, y)")
        if fit.confidence != 0.95:
            raise RecordError(f"{claim.id}: rates[{name!r}] has confidence {fit.confidence}: 0.95")
        numbers = {"slope": fit.slope, "low": fit.low, "high": fit.high, "expected": expected[name]}
        fits[name] = {
            key: float(_numbers(claim, f"rates[{name!r}] {key}", number))
            for key, number in numbers.items()
        } | {"confidence": fit.confidence, "points": fit.points, "method": fit.method}
    return {"rates": fits, "upper_bound": bool(upper_bound)}


def _identity(
    claim: Claim, difference: Any = None, tolerance: Any = 0.0, scale: Any = 1.0
) -> dict[str, Any]:
    tolerance = float(_numbers(claim, "tolerance", tolerance))
    size = _numbers(claim, "scale", scale)
    if difference is None or not tolerance > 0 or not (size > 0).all():
        raise RecordError(
            f"{claim.id}: needs {KINDS['identity']} (a positive tolerance, a positive scale)"
        )
    array = np.abs(_numbers(claim, "difference", difference)) / size
    return {"largest": float(array.max()), "count": int(array.size), "tolerance": tolerance}


_NUMBER = {"value", "se", "samples", "repetitions", "exact", "spread"}
_RECORDERS: dict[str, tuple[Callable[..., dict[str, Any]], set[str]]] = {
    "value": (_value, _NUMBER),
    "same": (_value, _NUMBER),
    "order": (_order, {"order", "scores", "paired", "exact", "level"}),
    "bound": (_bound, {"lhs", "rhs", "allowed", "ceiling", "sharper"}),
    "rate": (_rate, {"rates", "expected", "upper_bound"}),
    "identity": (_identity, {"difference", "tolerance", "scale"}),
}
