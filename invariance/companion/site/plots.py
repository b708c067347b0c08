"""Small plots drawn in HTML, places in percent: dots of a paper's claims, a chart of a finding."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..ledger.claims import Claim
from ..ledger.rows import Row
from ..ledger.verdicts import FAILED

__all__ = ["chart", "dot_plot"]

#: Low end, middle and high end of one measured thing, where the paper stands at zero.
Dot = tuple[float, float, float]
_MOST_DEVIATIONS = 1000.0


def _values(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    sign = -1 if claim.better == "lower" else 1
    for printed, ours, se in zip(claim.values, recorded["value"], recorded["se"], strict=True):
        unit = abs(printed) or 1.0
        off, error = sign * (ours - printed) / unit, 2 * abs(se or 0.0) / unit
        yield off - error, off, off + error


def _rates(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    for rate in recorded["rates"].values():
        sign = -1 if rate["expected"] < 0 else 1
        ends = sorted(sign * (rate[end] - rate["expected"]) for end in ("low", "high"))
        yield ends[0], sign * (rate["slope"] - rate["expected"]), ends[1]


def _orders(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    for pair in recorded["pairs"]:
        gap, se = pair["gap"], pair["se"]
        at = gap / se if se else math.copysign(_MOST_DEVIATIONS, gap) if gap else 0.0
        yield (at,) * 3


def _identities(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    yield (math.log10(recorded["tolerance"] / max(recorded["largest"], 1e-17)),) * 3


def _alike(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    at, reach = (recorded[key][0] / claim.margins[0] for key in ("value", "se"))
    yield at - 2 * reach, at, at + 2 * reach


def _bounds(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    tight, median = (math.log10(recorded[key]) for key in ("tightness", "median_tightness"))
    yield tight, tight, median


def _log(unit: float, most: float) -> Callable[[float], float]:
    """Even near zero, logarithmic beyond `unit`; -1 to 1 for -`most` to `most`."""
    return lambda value: math.asinh(value / unit) / math.asinh(most / unit)


def _linear(most: float) -> Callable[[float], float]:
    return lambda value: value / most


class _Panel(NamedTuple):
    """Claims of one kind on one axis: what it measures, its scale and its ticks."""

    title: str
    dots: Callable[[Claim, Mapping[str, Any]], Iterable[Dot]]
    scale: Callable[[float], float]
    ticks: Mapping[float, str]
    band: Callable[[Claim], float] = lambda claim: 0.0


_PANELS = {
    "value": _Panel(
        "values: ours relative to the printed one (right: better); bar: two standard errors",
        _values, _log(0.01, 1.2), {-0.1: "−10 %", -0.01: "−1 %", 0: "paper", 0.01: "1 %",
                                   0.1: "10 %"},
        lambda claim: claim.margins[0] / (abs(claim.values[0]) or 1.0),
    ),
    "order": _Panel(
        "orders: each gap in its standard errors (right: as stated)", _orders,
        _log(2, _MOST_DEVIATIONS), {-100: "−100", -10: "−10", 0: "tie", 10: "10", 100: "100"},
    ),
    "rate": _Panel(
        "rates: fitted exponent against the stated one (right: steeper); bar: 95 %", _rates,
        _linear(1.5), {-1: "−1", -0.5: "−0.5", 0: "stated", 0.5: "0.5", 1: "1"},
    ),
    "identity": _Panel("identities: digits to spare below the tolerance", _identities,
                       _linear(10), {-5: "−5", 0: "tolerance", 5: "5"}),
    "same": _Panel("alike: difference in margins; bar: two standard errors", _alike, _linear(2),
                   {-1: "−1", 0: "none", 1: "1"}, lambda claim: 1.0),
    "bound": _Panel("bounds: bound over observed, tightest trial; bar: to the median", _bounds,
                    _linear(3), {0: "reached", 1: "10", 2: "100"}),
}  # fmt: skip


def dot_plot(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """A panel for each kind of claim: what it measures, its ticks, and its claims with their dots.

    What did not come out stands first.
    """
    rows = sorted(rows, key=lambda row: row.verdict not in FAILED)
    panels = []
    for kind, panel in _PANELS.items():
        lines = [(row, *_places(panel, row)) for row in rows if row.claim.kind == kind]
        if lines := [line for line in lines if line[1]]:
            ticks = [(_at(panel, value), words) for value, words in panel.ticks.items()]
            panels.append({"title": panel.title, "lines": lines, "ticks": ticks})
    return panels


def _at(panel: _Panel, value: float) -> float:
    """Where a value stands, in percent of the width."""
    return round(50 + 48 * max(-1.0, min(1.0, panel.scale(value))), 2)


def _places(panel: _Panel, row: Row) -> tuple[list[Dot], Dot | None]:
    """The dots and the margin of a claim; none where it is not recorded in numbers."""
    try:
        dots = [*panel.dots(row.claim, (row.result or {})["recorded"])]
    except (LookupError, TypeError, ValueError, AttributeError):
        return [], None
    band = panel.band(row.claim)
    margin = (_at(panel, -band), _at(panel, 0), _at(panel, band)) if band else None
    finite = [dot for dot in dots if all(map(math.isfinite, dot))]
    return [(_at(panel, a), _at(panel, b), _at(panel, c)) for a, b, c in finite], margin


def _power(exponent: float) -> str:
    """``"0.1"``, ``"1,000"``, or as a power what is longer."""
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] if d.isdigit() else "⁻" for d in f"{exponent:.0f}")
    return f"{10.0**exponent:,.10g}" if -3 <= exponent <= 4 else f"10{raised}"


def chart(rows: Mapping[str, Mapping[str, Any]], *, log: bool = False) -> dict[str, Any]:
    """Numbers by row and by name, on one axis: where each stands, and ticks; see `chart.html`."""
    scale = math.log10 if log else float
    found = {
        label: {name: float(value) for name, value in values.items() if value or not log}
        for label, values in rows.items()
    }
    every = [scale(value) for values in found.values() for value in values.values()]
    low, high = (math.floor(min(every)), math.ceil(max(every))) if log else (0.0, max(every))
    unit = 100 / ((high - low) or 1)
    names = dict.fromkeys(name for values in found.values() for name in values)
    placed = [
        (label, [(n, [*names].index(n), round(unit * (scale(v) - low), 2), v)
                 for n, v in values.items()])
        for label, values in found.items()
    ]  # fmt: skip
    step = max(1, round((high - low) / 4)) if log else 10 ** math.floor(math.log10(high or 1))
    at = [low + step * i for i in range(int((high - low) / step + 1e-9) + 1)]
    ticks = [(round(unit * (t - low), 2), _power(t) if log else f"{t:g}") for t in at]
    return {"names": [*names], "rows": placed, "ticks": ticks if len(ticks) < 8 else ticks[::2]}
