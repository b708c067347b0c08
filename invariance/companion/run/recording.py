"""Arguments of ``Run.claim`` and ``Run.counterfactual``, checked and reduced to plain numbers.

The recorded numbers are all that `invariance.companion.ledger.verdicts.judge` needs. So a verdict
can be computed again from ``results.json``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...evaluation.means import Score, mean_se
from ...evaluation.rates import RateFit
from ..errors import RecordError, hint
from ..ledger.claims import KINDS, Claim

#: The numbers recorded for a claim.
Recorded = dict[str, Any]


def record(claim: Claim, arguments: Mapping[str, Any]) -> Recorded:
    """Reduce the arguments of ``Run.claim``, except note and data, to numbers for JSON.

    Raises `RecordError`, which names the claim and the argument, for an argument that does not suit
    the kind, has the wrong length, or is not finite.
    """
    numbers = dict(arguments)
    try:
        precondition = _precondition(numbers.pop("precondition", None), numbers.pop("because", ""))
        if not numbers:
            raise ValueError("got no numbers")
        return {**_RECORDERS[claim.kind](claim, **numbers), **precondition}
    except RecordError as error:
        raise RecordError(f"{claim.id}: {error}") from error
    except (TypeError, ValueError) as error:
        # Python's message for an unknown argument begins with the name of a private function.
        problem = re.sub(r"^_\w+\(\) ", "", str(error))
        needed = KINDS[claim.kind]
        message = f"{claim.id} is of kind {claim.kind}: {problem}; needs {needed}"
        raise RecordError(message) from error


def _precondition(holds: Any, because: str) -> Recorded:
    """Return whether a stated precondition of the claim holds, and the measured reason."""
    if holds is None:
        if because:
            raise RecordError("because= explains precondition=, which is missing")
        return {}
    if not isinstance(holds, bool | np.bool_):
        raise RecordError(f"precondition={holds!r:.40} is neither True nor False")
    if not isinstance(because, str) or not because.strip():
        raise RecordError("precondition= needs because=, its measured reason in a few words")
    return {"precondition": {"holds": bool(holds), "because": because}}


def record_counterfactual(
    claim: Claim, value: Any = None, se: Any = None, **numbers: Any
) -> Recorded:
    """Reduce the arguments of ``Run.counterfactual`` to numbers for JSON, as `record` does.

    `value` holds one entry for each printed number, None for a number that was not measured.

    >>> claim = Claim("p/c", "value", "t", "full", paper=("61.02", "62.79"), margin="1")
    >>> record_counterfactual(claim, [61.9, None], se=0.1)
    {'value': [61.9, None], 'se': [0.1, None]}
    """
    if value is None:
        return record(claim, numbers)
    if claim.kind == "same":
        return record(claim, {"value": value, "se": se, **numbers})
    if claim.kind != "value":
        problem = f"{claim.id} has no printed number that value={value!r:.40} could reach"
        remedy = f"pass {KINDS[claim.kind]}, as to run.claim"
        raise RecordError(f"{problem}; {remedy}")
    if numbers:
        raise RecordError(f"{claim.id}: {', '.join(numbers)} does not go with value=")
    values = _entries(claim, "value", value)
    errors = _entries(claim, "se", se)
    for i, entry in enumerate(values):
        if entry is None:
            errors[i] = None
        elif errors[i] is None:
            errors[i] = 0.0
    if all(entry is None for entry in values):
        raise RecordError(f"{claim.id}: value={value!r:.40} holds no number")
    if any(error is not None and error < 0 for error in errors):
        raise RecordError(f"{claim.id}: se={se!r:.40} is negative")
    return {"value": values, "se": errors}


def _entries(claim: Claim, name: str, value: Any) -> list[float | None]:
    """Return one number, or None, for each printed number of a claim."""
    count = len(claim.paper)
    entries = [value] * count if name == "se" and np.ndim(value) == 0 else np.ravel(value).tolist()
    if len(entries) != count:
        printed = f"the paper has {count} number(s), {claim.printed}"
        raise RecordError(f"{claim.id}: {printed}; {name} has {len(entries)}")
    try:
        return [None if entry is None else _number(name, entry) for entry in entries]
    except RecordError as error:
        raise RecordError(f"{claim.id}: {error}") from error


def _real(name: str, value: Any) -> np.ndarray:
    # `asarray` would return what lies below a mask, and drop imaginary parts.
    if np.ma.is_masked(value):
        count = np.ma.count_masked(value)
        raise RecordError(f"{name} has {count} masked entries: fill them, or leave them out")
    if np.iscomplexobj(value):
        raise RecordError(f"{name} is complex: pass real numbers, such as absolute values")
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise RecordError(f"{name} is not numeric: {value!r:.80}") from None


def _numbers(name: str, value: Any) -> np.ndarray:
    array = _real(name, value)
    if array.size == 0:
        raise RecordError(f"{name} is empty")
    not_finite = np.argwhere(~np.isfinite(array))
    if len(not_finite):
        index = not_finite[0].tolist()
        first = array[tuple(index)]
        count = f"{len(not_finite)} of {array.size} not finite"
        if index:
            name = f"{name}{index}"
        raise RecordError(f"{name} is {first} ({count}): a verdict needs finite numbers")
    return array


def _number(name: str, value: object) -> float:
    return float(_numbers(name, value))


def _value(
    claim: Claim,
    value: Any = None,
    se: Any = None,
    samples: Any = None,
    repetitions: int | None = None,
    exact: str = "",
    spread: str = "",
) -> Recorded:
    if (value is None) == (samples is None):
        raise RecordError("pass either value= (and se=) or samples=, not both")
    if samples is not None:
        if not (se is None and repetitions is None):
            raise RecordError("se= and repetitions= go with value=; samples= brings its own")
        array = np.atleast_1d(_numbers("samples", samples))
        repetitions = len(array)
        value, se = mean_se(array)
    means = np.atleast_1d(_numbers("value", value))
    count = max(1, len(claim.paper))
    if means.shape != (count,):
        printed = f"the paper has {count} number(s), {claim.printed}"
        raise RecordError(f"{printed}; got shape {means.shape}")
    repetitions = _count(repetitions)
    if se is None:
        if repetitions is not None and repetitions > 1 and not exact:
            problem = f"repetitions={repetitions} without se="
            raise RecordError(f"{problem}: pass the mean's standard error, or all samples=")
        se = 0.0
    errors = np.broadcast_to(_numbers("se", se), means.shape)
    if (errors < 0).any():
        raise RecordError(f"se is negative: {errors.tolist()}")
    return {
        "value": means.tolist(),
        "se": errors.tolist(),
        "repetitions": repetitions,
        **_texts(exact=exact, spread=spread),
    }


def _count(repetitions: Any) -> int | None:
    if repetitions is None:
        return None
    is_whole = isinstance(repetitions, int | np.integer) and not isinstance(repetitions, bool)
    if not is_whole or repetitions < 1:
        raise RecordError(f"repetitions={repetitions!r:.40}: expected a whole number >= 1")
    return int(repetitions)


def _texts(**texts: str) -> dict[str, str]:
    """Return the explanations that are not empty."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise RecordError(f"{name}={text!r} is not text: explain it in a few words")
    return {name: text for name, text in texts.items() if text}


class _Relation(NamedTuple):
    """One gap of an order; `sign` is ">" or ">="."""

    greater: str
    sign: str
    smaller: str


def _relations(order: str | Sequence[str]) -> list[_Relation]:
    """Return the relations of one chain or of several."""
    if isinstance(order, str):
        order = [order]
    chains = [str(chain) for chain in order]
    if not any(re.search("[<>]", chain) for chain in chains):
        chains = [" > ".join(chains)]
    relations = []
    for chain in chains:
        parts = [part.strip() for part in re.split(r"(>=|<=|>|<)", chain)]
        if len(parts) < 3 or not all(parts):
            raise RecordError(f"{chain!r} is not a chain such as 'a >= b > c'")
        for left, sign, right in zip(parts[0:-2:2], parts[1::2], parts[2::2], strict=True):
            if sign.startswith(">"):
                relations.append(_Relation(left, sign, right))
            else:
                relations.append(_Relation(right, sign.replace("<", ">"), left))
    return relations


def _summary(name: str, score: object) -> Recorded:
    """Return mean, standard error and repetitions of samples, of a `Score` or of a number."""
    array = _numbers(f"scores[{name!r}]", score)
    if array.ndim == 0:
        return {"mean": float(array), "se": 0.0, "repetitions": None}
    if isinstance(score, Score):
        mean, se = array.tolist()
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
    thresholds: Any = None,
) -> Recorded:
    if order is None or not isinstance(scores, Mapping) or not scores:
        raise ValueError("no order, or no scores by name")
    if _number("level", level) < 0:
        raise RecordError(f"level={level!r:.40} is negative: it is a distance between two scores")
    own_thresholds = _thresholds(claim, thresholds, scores)
    scores = {**scores, **own_thresholds}
    summaries = {name: _summary(name, score) for name, score in scores.items()}
    pairs = []
    for relation in _relations(order):
        for name in (relation.greater, relation.smaller):
            if name not in summaries:
                problem = f"the chain names {name!r}, which has no score"
                raise RecordError(f"{problem}. {hint(name, summaries, 'scores')}")
        pairs.append(_pair(relation, scores, summaries, paired))
    return {
        "order": order if isinstance(order, str) else list(order),
        "scores": summaries,
        "pairs": pairs,
        "level": _number("level", level),
        **({"thresholds": sorted(own_thresholds)} if own_thresholds else {}),
        **_texts(exact=exact),
    }


def _thresholds(claim: Claim, thresholds: Any, scores: Mapping[str, Any]) -> dict[str, float]:
    """Return the thresholds of ours by name; the claim's protocol has to name each of them."""
    if thresholds is None:
        return {}
    if not isinstance(thresholds, Mapping):
        raise RecordError(f"thresholds={thresholds!r:.60} is no mapping of names to numbers")
    numbers = {}
    for name, value in thresholds.items():
        if name in scores:
            raise RecordError(f"{name!r} is a score and a threshold")
        if claim.protocol and name not in claim.protocol:
            remedy = "a threshold of ours is declared by its name in the protocol"
            raise RecordError(f"the protocol does not name the threshold {name!r}: {remedy}")
        numbers[name] = _number(f"thresholds[{name!r}]", value)
    return numbers


def _pair(
    relation: _Relation,
    scores: Mapping[str, Any],
    summaries: Mapping[str, Recorded],
    paired: bool,
) -> Recorded:
    """Return one gap and its standard error."""
    greater = summaries[relation.greater]
    smaller = summaries[relation.smaller]
    repetitions = greater["repetitions"]
    has_pairs = paired and repetitions is not None and repetitions == smaller["repetitions"]
    if has_pairs:
        # Sample i of each, whatever the labels of a pandas.Series.
        samples = [
            np.asarray(scores[name], dtype=float) for name in (relation.greater, relation.smaller)
        ]
        gap, se = mean_se(samples[0] - samples[1])
    else:
        gap = greater["mean"] - smaller["mean"]
        se = float(np.hypot(greater["se"], smaller["se"]))
    return {
        "greater": relation.greater,
        "relation": relation.sign,
        "smaller": relation.smaller,
        "gap": gap,
        "se": se,
        "paired": has_pairs,
    }


def _bound(claim: Claim, sharper: Any = (), **sides: Any) -> Recorded:
    if isinstance(sharper, Mapping):
        sharper = [sharper]
    inequality = _inequality(**sides)
    sharper_inequalities = []
    for reading in sharper:
        if not isinstance(reading, Mapping) or not reading.get("says"):
            raise RecordError("a sharper reading is dict(says=..., lhs=..., rhs=..., ceiling=...)")
        sharper_sides = {name: value for name, value in reading.items() if name != "says"}
        entry = {"says": str(reading["says"]), **_inequality(**sharper_sides)}
        sharper_inequalities.append(entry)
    if sharper_inequalities:
        inequality["sharper"] = sharper_inequalities
    return inequality


def _inequality(
    lhs: Any = None, rhs: Any = None, allowed: float = 0.0, ceiling: Any = None, trials: Any = None
) -> Recorded:
    """Return how often lhs <= rhs is violated, how tight it is, and how often it could fail.

    It could fail in a trial if the ceiling, the largest possible lhs, exceeds rhs.
    """
    if trials is not None:
        lhs, rhs, ceiling = _joined(trials)
    if lhs is None or rhs is None:
        raise ValueError("a side is missing")
    if not 0 <= allowed < 1:
        raise RecordError(f"allowed={allowed} is not a fraction in [0, 1)")
    left, right = _together(lhs=_numbers("lhs", lhs), rhs=_numbers("rhs", rhs))
    biting = None
    if ceiling is not None:
        largest = _real("ceiling", ceiling)
        if np.isnan(largest).any() or (largest < left - 1e-12 * np.abs(left)).any():
            raise RecordError(f"lhs exceeds the ceiling {ceiling!r:.60}, or it is NaN")
        biting = int((right < np.broadcast_to(largest, left.shape)).sum())
    positive = left > 0
    ratios = right[positive] / left[positive]
    tightness = None
    median_tightness = None
    if ratios.size:
        tightness = float(ratios.min())
        median_tightness = float(np.median(ratios))
    return {
        "trials": int(left.size),
        "violations": int((left > right).sum()),
        "smallest_margin": float((right - left).min()),
        "allowed": float(allowed),
        "biting": biting,
        "tightness": tightness,
        "median_tightness": median_tightness,
    }


def _together(**sides: np.ndarray) -> list[np.ndarray]:
    """Return arrays in one shape, that of one of them: others would be compared each with each."""
    arrays = np.broadcast_arrays(*sides.values())
    shapes = [side.shape for side in sides.values()]
    if arrays[0].shape not in shapes:
        listed = " and ".join(f"{name} of shape {side.shape}" for name, side in sides.items())
        raise RecordError(f"{listed}: give them the same shape, entry by entry")
    return list(arrays)


def _joined(trials: Any) -> list[np.ndarray]:
    """Return left sides, right sides and ceilings of all trials, each as one array."""
    flat = []
    for trial in trials:
        names = ("lhs", "rhs", "ceiling")
        sides = {name: _real(name, side) for name, side in zip(names, trial, strict=True)}
        flat.append([np.ravel(side) for side in _together(**sides)])
    lhs, rhs, ceiling = zip(*flat, strict=True)
    return [np.concatenate(parts) for parts in (lhs, rhs, ceiling)]


def _rate(
    claim: Claim, rates: Any = None, expected: Any = None, upper_bound: bool = False
) -> Recorded:
    if isinstance(rates, RateFit):
        rates = {"": rates}
        expected = {"": expected}
    if not isinstance(rates, Mapping) or not isinstance(expected, Mapping) or not rates:
        raise ValueError("no fits and exponents by name, nor one of each")
    unmatched = sorted(set(rates) ^ set(expected))
    if unmatched:
        raise RecordError(f"rates and expected name different things: {unmatched}")
    fits = {}
    for name, fit in rates.items():
        label = f"rates[{name!r}]"
        if not isinstance(fit, RateFit):
            raise RecordError(f"{label} is {fit!r:.60}, not a fit_rate(x, y)")
        fits[name] = {
            "slope": _number(f"{label} slope", fit.slope),
            "low": _number(f"{label} low", fit.low),
            "high": _number(f"{label} high", fit.high),
            "expected": _number(f"{label} expected", expected[name]),
            "confidence": 0.95,
            "points": fit.points,
            "method": fit.method,
        }
    return {"rates": fits, "upper_bound": bool(upper_bound)}


def _identity(
    claim: Claim, difference: Any = None, tolerance: Any = 0.0, scale: Any = 1.0
) -> Recorded:
    largest_allowed = _number("tolerance", tolerance)
    sizes = _numbers("scale", scale)
    if difference is None or not largest_allowed > 0 or not (sizes > 0).all():
        raise ValueError("no difference, or no positive tolerance, or no positive scale")
    differences, sizes = _together(difference=_numbers("difference", difference), scale=sizes)
    differences = np.abs(differences) / sizes
    return {
        "largest": float(differences.max()),
        "count": int(differences.size),
        "tolerance": largest_allowed,
    }


_RECORDERS: dict[str, Callable[..., Recorded]] = {
    "value": _value,
    "same": _value,
    "order": _order,
    "bound": _bound,
    "rate": _rate,
    "identity": _identity,
}
