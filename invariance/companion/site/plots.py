"""Small plots in HTML, with positions in percent: dots for claims, charts for findings."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..ledger.claims import Claim
from ..ledger.rows import Row
from ..ledger.verdicts import FAILED, UNREADABLE

#: Low end, centre and high end of one measurement, on an axis with the paper's value at zero.
Dot = tuple[float, float, float]

_PANELS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yml").read_text("utf-8")
)
_SMALLEST = 1e-17  # the error that stands for zero on a logarithmic axis
_FAR = 1000  # standard errors that stand for a gap without any error
_MAX_TICKS = 7


# ----------------------------------------------------------------------------- dots of claims


def _value_dots(claim: Claim, recorded: Mapping[str, Any]) -> list[Dot]:
    """Relative differences from the printed values, better ones positive, with two errors."""
    sign = -1 if claim.better == "lower" else 1
    dots = []
    for printed, ours, se in zip(claim.values, recorded["value"], recorded["se"], strict=True):
        unit = abs(printed) or 1.0
        difference = sign * (ours - printed) / unit
        error = 2 * abs(se or 0.0) / unit
        dots.append((difference - error, difference, difference + error))
    return dots


def _rate_dots(claim: Claim, recorded: Mapping[str, Any]) -> list[Dot]:
    """Differences of fitted from expected exponents, steeper ones positive."""
    dots = []
    for rate in recorded["rates"].values():
        sign = -1 if rate["expected"] < 0 else 1
        differences = [sign * (rate[end] - rate["expected"]) for end in ("low", "slope", "high")]
        low, centre, high = sorted(differences)
        dots.append((low, centre, high))
    return dots


def _order_dots(claim: Claim, recorded: Mapping[str, Any]) -> list[Dot]:
    """Gaps in units of their standard errors."""
    dots = []
    for pair in recorded["pairs"]:
        gap = pair["gap"]
        if pair["se"]:
            ratio = gap / pair["se"]
        elif gap:
            ratio = math.copysign(_FAR, gap)
        else:
            ratio = 0.0
        dots.append((ratio, ratio, ratio))
    return dots


def _identity_dots(claim: Claim, recorded: Mapping[str, Any]) -> list[Dot]:
    """Digits between the largest error and the tolerance."""
    digits = math.log10(recorded["tolerance"] / max(recorded["largest"], _SMALLEST))
    return [(digits, digits, digits)]


def _same_dots(claim: Claim, recorded: Mapping[str, Any]) -> list[Dot]:
    """The difference in units of the margin."""
    margin = claim.margins[0]
    difference = recorded["value"][0] / margin
    error = 2 * recorded["se"][0] / margin
    return [(difference - error, difference, difference + error)]


def _bound_dots(claim: Claim, recorded: Mapping[str, Any]) -> list[Dot]:
    """Logarithm of bound over observed value, from the tightest trial to the median."""
    tightest = math.log10(recorded["tightness"])
    median = math.log10(recorded["median_tightness"])
    return [(tightest, tightest, median)]


_DOTS_OF = {
    "value": _value_dots,
    "rate": _rate_dots,
    "order": _order_dots,
    "identity": _identity_dots,
    "same": _same_dots,
    "bound": _bound_dots,
}


def dot_plot(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a panel for each kind of claim: title, ticks, and claims with their dots.

    Failed claims come first.
    """
    failed_first = sorted(rows, key=lambda row: row.verdict not in FAILED)
    panels = []
    for kind, panel in _PANELS.items():
        lines = []
        for row in failed_first:
            if row.claim.kind == kind:
                dots = _placed_dots(panel, row)
                if dots:
                    lines.append((row, dots, _placed_margin(panel, row.claim)))
        if lines:
            ticks = [(_percent(panel, value), label) for value, label in panel["ticks"].items()]
            panels.append({"title": panel["title"], "lines": lines, "ticks": ticks})
    return panels


def _percent(panel: Mapping[str, Any], value: float) -> float:
    """Return the position of a value, in percent of the width."""
    unit = panel.get("unit")
    if unit:
        share = math.asinh(value / unit) / math.asinh(panel["most"] / unit)
    else:
        share = value / panel["most"]
    return round(50 + 48 * max(-1.0, min(1.0, share)), 2)


def _placed_dots(panel: Mapping[str, Any], row: Row) -> list[Dot]:
    """Return the dots of a claim in percent; an empty list if its record has no numbers."""
    try:
        dots = _DOTS_OF[row.claim.kind](row.claim, (row.result or {})["recorded"])
    except UNREADABLE:
        return []
    placed = []
    for low, centre, high in dots:
        if all(map(math.isfinite, (low, centre, high))):
            dot = (_percent(panel, low), _percent(panel, centre), _percent(panel, high))
            placed.append(dot)
    return placed


def _placed_margin(panel: Mapping[str, Any], claim: Claim) -> Dot | None:
    """Return the margin of a claim around the paper's value, in percent, or None."""
    if claim.kind == "value":
        margin = claim.margins[0] / (abs(claim.values[0]) or 1.0)
    else:
        margin = float(claim.kind == "same")
    if not margin:
        return None
    return _percent(panel, -margin), _percent(panel, 0), _percent(panel, margin)


# ----------------------------------------------------------------------------------- charts


def _power(exponent: float) -> str:
    """Return a power of ten: ``"0.1"``, ``"1,000"``, or with an exponent if that is shorter."""
    if -3 <= exponent <= 4:
        return f"{10.0**exponent:,.10g}"
    raised = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
    return "10" + f"{exponent:.0f}".translate(raised)


def chart(rows: Mapping[str, Mapping[str, Any]], *, log: bool = False) -> dict[str, Any]:
    """Return positions and ticks for numbers by row and name, on one axis; see ``macros.html``.

    On a logarithmic axis, zeros are left out.
    """
    scale = math.log10 if log else float
    names: list[str] = []
    numbers: list[tuple[str, str, float]] = []  # row, name, value
    for label, values in rows.items():
        for name, value in values.items():
            if log and not value:
                continue
            if name not in names:
                names.append(name)
            numbers.append((label, name, float(value)))
    scaled = [scale(value) for _, _, value in numbers]
    if log:
        low = float(math.floor(min(scaled)))
        high = float(math.ceil(max(scaled)))
        step = max(1, round((high - low) / 4))
    else:
        low = 0.0
        high = max(scaled)
        step = 10 ** math.floor(math.log10(high or 1))
    unit = 100 / ((high - low) or 1)
    marks: dict[str, list[tuple[str, int, float, float]]] = {label: [] for label in rows}
    for label, name, value in numbers:
        position = round(unit * (scale(value) - low), 2)
        marks[label].append((name, names.index(name), position, value))
    n_ticks = int((high - low) / step + 1e-9) + 1
    ticks = []
    for i in range(n_ticks):
        value = low + step * i
        label = _power(value) if log else f"{value:g}"
        ticks.append((round(unit * (value - low), 2), label))
    if n_ticks > _MAX_TICKS:
        ticks = ticks[::2]
    return {"names": names, "rows": list(marks.items()), "ticks": ticks}
