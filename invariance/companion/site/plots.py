"""Small plots drawn in HTML, places in percent: dots of a paper's claims, a chart of a finding."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..ledger.claims import Claim
from ..ledger.scoreboard import Row
from ..ledger.verdicts import FAILED, UNREADABLE

#: Low end, middle and high end of one measured thing, where the paper stands at zero.
Dot = tuple[float, float, float]

_PANELS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yml").read_text("utf-8")
)


def _dots(claim: Claim, recorded: Mapping[str, Any]) -> Iterator[Dot]:
    match claim.kind:
        case "value":
            sign = -1 if claim.better == "lower" else 1
            rows = zip(claim.values, recorded["value"], recorded["se"], strict=True)
            for printed, ours, se in rows:
                unit = abs(printed) or 1.0
                off, error = sign * (ours - printed) / unit, 2 * abs(se or 0.0) / unit
                yield off - error, off, off + error
        case "rate":
            for rate in recorded["rates"].values():
                sign = -1 if rate["expected"] < 0 else 1
                ends = (rate[end] - rate["expected"] for end in ("low", "slope", "high"))
                low, at, high = sorted(sign * end for end in ends)
                yield low, at, high
        case "order":
            for pair in recorded["pairs"]:
                gap, se = pair["gap"], pair["se"]
                at = gap / se if se else math.copysign(1000, gap) if gap else 0.0
                yield at, at, at
        case "identity":
            at = math.log10(recorded["tolerance"] / max(recorded["largest"], 1e-17))
            yield at, at, at
        case "same":
            at, reach = (recorded[key][0] / claim.margins[0] for key in ("value", "se"))
            yield at - 2 * reach, at, at + 2 * reach
        case "bound":
            tight, median = (math.log10(recorded[k]) for k in ("tightness", "median_tightness"))
            yield tight, tight, median


def dot_plot(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """A panel for each kind of claim: title, ticks, claims with their dots, failed ones first."""
    rows, panels = sorted(rows, key=lambda row: row.verdict not in FAILED), []
    for kind, panel in _PANELS.items():
        lines = [(row, *_places(panel, row)) for row in rows if row.claim.kind == kind]
        if lines := [line for line in lines if line[1]]:
            ticks = [(_at(panel, value), words) for value, words in panel["ticks"].items()]
            panels.append({"title": panel["title"], "lines": lines, "ticks": ticks})
    return panels


def _at(panel: Mapping[str, Any], value: float) -> float:
    """Where a value stands, in percent of the width."""
    most, unit = panel["most"], panel.get("unit")
    share = math.asinh(value / unit) / math.asinh(most / unit) if unit else value / most
    return round(50 + 48 * max(-1.0, min(1.0, share)), 2)


def _places(panel: Mapping[str, Any], row: Row) -> tuple[list[Dot], Dot | None]:
    """The dots and the margin of a claim; none where it is not recorded in numbers."""
    claim, band = row.claim, float(row.claim.kind == "same")
    try:
        dots = [*_dots(claim, (row.result or {})["recorded"])]
    except UNREADABLE:
        return [], None
    if claim.kind == "value":
        band = claim.margins[0] / (abs(claim.values[0]) or 1.0)
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
