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


def _value(claim: Claim, value: Any = None, se: Any = None, samples: Any = None) -> dict[str, Any]:
    if (value is None) == (samples is None):
        raise RecordError(f"{claim.id}: pass either value= (and se=) or samples=, not both")
    count = len(claim.paper)
    repetitions = None
    if samples is not None:
        if se is not None:
            raise RecordError(f"{claim.id}: se= goes with value=; samples= brings its own")
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
    return {"value": means.tolist(), "se": errors.tolist(), "repetitions": repetitions}


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
    claim: Claim, order: Any = None, scores: Any = None, paired: bool = False
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
    }


def _bound(claim: Claim, lhs: Any = None, rhs: Any = None, allowed: float = 0.0) -> dict[str, Any]:
    if lhs is None or rhs is None:
        raise RecordError(f"{claim.id}: needs {KINDS['bound']}")
    if not 0 <= allowed < 1:
        raise RecordError(f"{claim.id}: allowed={allowed} is not a fraction in [0, 1)")
    left, right = np.broadcast_arrays(_numbers(claim, "lhs", lhs), _numbers(claim, "rhs", rhs))
    return {
        "trials": int(left.size),
        "violations": int((left > right).sum()),
        "smallest_margin": float((right - left).min()),
        "allowed": float(allowed),
    }


def _rate(
    claim: Claim,
    rates: Any = None,
    expected: Any = None,
    tolerance: float | None = None,
    two_sided: bool | None = None,
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
        numbers = {"slope": fit.slope, "low": fit.low, "high": fit.high, "expected": expected[name]}
        fits[name] = {
            key: float(_numbers(claim, f"rates[{name!r}] {key}", number))
            for key, number in numbers.items()
        } | {"confidence": fit.confidence, "points": fit.points, "method": fit.method}
    allowed = claim.tolerance if tolerance is None else tolerance
    tolerance = float(_numbers(claim, "tolerance", allowed))
    return {
        "rates": fits,
        "tolerance": tolerance,
        "two_sided": bool(claim.two_sided if two_sided is None else two_sided),
    }


def _identity(
    claim: Claim, difference: Any = None, tolerance: float | None = None
) -> dict[str, Any]:
    tolerance = claim.tolerance if tolerance is None else tolerance
    if difference is None or not tolerance > 0:
        raise RecordError(f"{claim.id}: needs {KINDS['identity']} (a positive tolerance)")
    array = np.abs(_numbers(claim, "difference", difference))
    return {
        "largest": float(array.max()),
        "count": int(array.size),
        "tolerance": float(_numbers(claim, "tolerance", tolerance)),
    }


_RECORDERS: dict[str, tuple[Callable[..., dict[str, Any]], set[str]]] = {
    "value": (_value, {"value", "se", "samples"}),
    "order": (_order, {"order", "scores", "paired"}),
    "bound": (_bound, {"lhs", "rhs", "allowed"}),
    "rate": (_rate, {"rates", "expected", "tolerance", "two_sided"}),
    "identity": (_identity, {"difference", "tolerance"}),
}
