"""What a notebook hands to ``Run.claim``, checked and reduced to plain numbers: `record`.

The result holds everything that `invariance.companion.ledger.verdicts.judge` needs and nothing
else, so that a verdict can be computed again from ``results.json``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...evaluation.means import Score, mean_se
from ...evaluation.rates import RateFit
from ..errors import RecordError, hint
from ..ledger.claims import KINDS, Claim


def record(claim: Claim, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce the arguments of ``Run.claim``, but for note and data, to numbers that JSON keeps.

    A `RecordError` names claim and argument: wrong for the kind, of the wrong length, not finite.
    """
    try:
        if not arguments:
            raise ValueError("got nothing")
        return _RECORDERS[claim.kind](claim, **arguments)
    except RecordError as error:
        raise RecordError(f"{claim.id}: {error}") from error
    except (TypeError, ValueError) as error:
        why = re.sub(r"^_\w+\(\) ", "", str(error))  # Python's own words for a wrong name
        needed = KINDS[claim.kind]
        raise RecordError(f"{claim.id} is of kind {claim.kind}: {why}; needs {needed}") from error


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise RecordError(f"{name} is not numeric: {value!r:.80}") from None
    if array.size == 0:
        raise RecordError(f"{name} is empty")
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        where = wrong[0].tolist()
        found = f"{array[tuple(where)]} ({len(wrong)} of {array.size} not finite)"
        raise RecordError(f"{name}{where or ''} is {found}: a verdict needs finite numbers")
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
        raise RecordError("pass either value= (and se=) or samples=, not both")
    if samples is not None:
        if not (se is None and repetitions is None):
            raise RecordError("se= and repetitions= go with value=; samples= brings its own")
        array = np.atleast_1d(_numbers("samples", samples))
        repetitions = len(array)
        value, se = mean_se(array)
    means, count = np.atleast_1d(_numbers("value", value)), max(1, len(claim.paper))
    if means.shape != (count,):
        printed = f"the paper has {count} number(s), {claim.printed}"
        raise RecordError(f"{printed}; got shape {means.shape}")
    errors = np.broadcast_to(_numbers("se", 0.0 if se is None else se), means.shape)
    if (errors < 0).any():
        raise RecordError(f"se is negative: {errors.tolist()}")
    numbers = {"value": means.tolist(), "se": errors.tolist(), "repetitions": repetitions}
    return numbers | _reasons(exact=exact, spread=spread)


def _reasons(**given: str) -> dict[str, str]:
    """Texts that stand beside the numbers; what is empty is left out."""
    for name, text in given.items():
        if not isinstance(text, str):
            raise RecordError(f"{name}={text!r} is not text: say why, in a few words")
    return {name: text for name, text in given.items() if text}


def _pairs(order: str | Sequence[str]) -> list[tuple[str, str, str]]:
    """Relations (greater, ">" or ">=", smaller) of one chain or several."""
    chains = [order] if isinstance(order, str) else [str(chain) for chain in order]
    if not any(re.search("[<>]", chain) for chain in chains):
        chains = [" > ".join(chains)]
    pairs = []
    for chain in chains:
        parts = [part.strip() for part in re.split(r"(>=|<=|>|<)", chain)]
        if len(parts) < 3 or not all(parts):
            raise RecordError(f"{chain!r} is not a chain such as 'a >= b > c'")
        for left, relation, right in zip(parts[0:-2:2], parts[1::2], parts[2::2], strict=True):
            ends = (left, right) if relation[0] == ">" else (right, left)
            pairs.append((ends[0], relation.replace("<", ">"), ends[1]))
    return pairs


def _summary(name: str, score: Any) -> dict[str, Any]:
    """Mean, standard error and repetitions of samples, a `Score` or a plain number."""
    array = _numbers(f"scores[{name!r}]", score)
    if isinstance(score, Score) or array.ndim == 0:
        mean, se = array.tolist() if array.ndim else (float(array), 0.0)
        if se < 0:
            raise RecordError(f"scores[{name!r}] has a negative error {se}")
        return {"mean": mean, "se": se, "repetitions": None}
    if array.ndim > 1 or len(array) < 2:
        expected = "at least two repetitions in one dimension, a Score(mean, se), or a number"
        raise RecordError(f"scores[{name!r}] has shape {array.shape}: expected {expected}")
    mean, se = mean_se(array)
    return {"mean": mean, "se": se, "repetitions": len(array)}


def _order(
    claim: Claim,
    order: Any = None,
    scores: Any = None,
    paired: bool = False,
    exact: str = "",
    level: float = 0.0,
) -> dict[str, Any]:
    if order is None or not isinstance(scores, Mapping) or not scores:
        raise ValueError("no order, or no scores by name")
    summary = {name: _summary(name, score) for name, score in scores.items()}
    pairs = []
    for greater, relation, smaller in _pairs(order):
        for name in (greater, smaller):
            if name not in summary:
                said = hint(name, summary, "scores")
                raise RecordError(f"the chain names {name!r}, which has no score. {said}")
        one, other = summary[greater], summary[smaller]
        together = paired and one["repetitions"] == other["repetitions"] is not None
        if together:
            gap, se = mean_se(np.subtract(scores[greater], scores[smaller], dtype=float))
        else:
            gap, se = one["mean"] - other["mean"], float(np.hypot(one["se"], other["se"]))
        ends = {"greater": greater, "relation": relation, "smaller": smaller}
        pairs.append(ends | {"gap": gap, "se": se, "paired": together})
    chains = order if isinstance(order, str) else list(order)
    found = {"order": chains, "scores": summary, "pairs": pairs}
    return found | {"level": float(_numbers("level", level))} | _reasons(exact=exact)


def _bound(claim: Claim, sharper: Any = (), **numbers: Any) -> dict[str, Any]:
    found = []
    for reading in [sharper] if isinstance(sharper, Mapping) else list(sharper):
        if not isinstance(reading, Mapping) or not reading.get("says"):
            raise RecordError("a sharper reading is dict(says=..., lhs=..., rhs=..., ceiling=...)")
        sides = {name: value for name, value in reading.items() if name != "says"}
        found.append({"says": str(reading["says"])} | _inequality(**sides))
    return _inequality(**numbers) | ({"sharper": found} if found else {})


def _inequality(
    lhs: Any = None, rhs: Any = None, allowed: float = 0.0, ceiling: Any = None, trials: Any = None
) -> dict[str, Any]:
    """lhs <= rhs: how often not, how tightly, and in how many trials it could have failed."""
    if trials is not None:
        flat = [[np.ravel(part) for part in np.broadcast_arrays(*trial)] for trial in trials]
        lhs, rhs, ceiling = map(np.concatenate, zip(*flat, strict=True))
    if lhs is None or rhs is None:
        raise ValueError("a side is missing")
    if not 0 <= allowed < 1:
        raise RecordError(f"allowed={allowed} is not a fraction in [0, 1)")
    left, right = np.broadcast_arrays(_numbers("lhs", lhs), _numbers("rhs", rhs))
    biting = None
    if ceiling is not None:
        most = np.asarray(ceiling, dtype=float)
        if np.isnan(most).any() or (most < left * (1 - 1e-12)).any():
            raise RecordError(f"lhs exceeds the ceiling {ceiling!r:.60}, or it is NaN")
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
    if isinstance(rates, RateFit):
        rates, expected = {"": rates}, {"": expected}
    if not isinstance(rates, Mapping) or not isinstance(expected, Mapping) or not rates:
        raise ValueError("no fits and exponents by name, nor one of each")
    if odd := sorted(set(rates) ^ set(expected)):
        raise RecordError(f"rates and expected name different things: {odd}")
    fits = {}
    for name, fit in rates.items():
        if not isinstance(fit, RateFit):
            raise RecordError(f"rates[{name!r}] is {fit!r:.60}, not a fit_rate(x, y)")
        numbers = {"slope": fit.slope, "low": fit.low, "high": fit.high, "expected": expected[name]}
        found = {key: float(_numbers(f"rates[{name!r}] {key}", n)) for key, n in numbers.items()}
        fits[name] = found | {"confidence": 0.95, "points": fit.points, "method": fit.method}
    return {"rates": fits, "upper_bound": bool(upper_bound)}


def _identity(
    claim: Claim, difference: Any = None, tolerance: Any = 0.0, scale: Any = 1.0
) -> dict[str, Any]:
    tolerance, size = float(_numbers("tolerance", tolerance)), _numbers("scale", scale)
    if difference is None or not tolerance > 0 or not (size > 0).all():
        raise ValueError("no difference, or no positive tolerance, or no positive scale")
    array = np.abs(_numbers("difference", difference)) / size
    return {"largest": float(array.max()), "count": int(array.size), "tolerance": tolerance}


_RECORDERS: dict[str, Callable[..., dict[str, Any]]] = {
    "value": _value,
    "same": _value,
    "order": _order,
    "bound": _bound,
    "rate": _rate,
    "identity": _identity,
}
