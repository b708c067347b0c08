"""One dot plot per paper: the printed values on a line and ours beside it."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from ..ledger.rows import Row
from ..ledger.verdicts import FAILED, VERDICTS
from .ideas import drawn
from .material import Paper
from .text import anchor

__all__ = ["dot_plot"]

_DOTS = Path(__file__).parent / "templates/svg/dots.svg"
_MOST_DEVIATIONS = 1000.0


@dataclass(frozen=True)
class _Dot:
    """One measured thing on an axis where the paper stands at zero."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class _Panel:
    """Claims of one kind on one axis: what it measures, its scale and its ticks."""

    title: str
    kind: str
    dots: Callable[[Row], Iterable[_Dot]]
    scale: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]
    band: Callable[[Row], float] = lambda row: 0.0


def _values(row: Row) -> Iterator[_Dot]:
    recorded = row.result["recorded"] if row.result else {}
    sign = -1 if row.claim.better == "lower" else 1
    for printed, ours, se in zip(
        row.claim.values, recorded["value"], recorded.get("se") or (), strict=True
    ):
        unit = abs(printed) or 1.0
        off, error = sign * (ours - printed) / unit, 2 * abs(se or 0.0) / unit
        yield _Dot(off, off - error, off + error)


def _rates(row: Row) -> Iterator[_Dot]:
    recorded = row.result["recorded"] if row.result else {}
    for rate in recorded["rates"].values():
        sign = -1 if rate["expected"] < 0 else 1
        low, high = sorted(sign * (rate[end] - rate["expected"]) for end in ("low", "high"))
        yield _Dot(sign * (rate["slope"] - rate["expected"]), low, high)


def _orders(row: Row) -> Iterator[_Dot]:
    recorded = row.result["recorded"] if row.result else {}
    for pair in recorded["pairs"]:
        gap, se = pair["gap"], pair["se"]
        at = math.copysign(_MOST_DEVIATIONS, gap) if not se and gap else gap / se if se else 0.0
        at = max(-_MOST_DEVIATIONS, min(_MOST_DEVIATIONS, at))
        yield _Dot(at, at, at)


def _identities(row: Row) -> Iterator[_Dot]:
    recorded = row.result["recorded"] if row.result else {}
    digits = math.log10(recorded["tolerance"] / max(recorded["largest"], 1e-17))
    yield _Dot(digits, digits, digits)


def _alike(row: Row) -> Iterator[_Dot]:
    recorded = row.result["recorded"] if row.result else {}
    at, reach = (recorded[key][0] / row.claim.margins[0] for key in ("value", "se"))
    yield _Dot(at, at - 2 * reach, at + 2 * reach)


def _bounds(row: Row) -> Iterator[_Dot]:
    recorded = row.result["recorded"] if row.result else {}
    tight, median = (math.log10(recorded[key]) for key in ("tightness", "median_tightness"))
    yield _Dot(tight, tight, median)


def _log(unit: float, most: float) -> Callable[[float], float]:
    """Even near zero, logarithmic beyond `unit`; -1 to 1 for -`most` to `most`."""
    end = math.asinh(most / unit)
    return lambda value: max(-1.0, min(1.0, math.asinh(value / unit) / end))


_PANELS = (
    _Panel("values: ours relative to the printed one (right: better); bar: two standard errors",
           "value", _values, _log(0.01, 1.2),
           [(-1, "−100 %"), (-0.1, "−10 %"), (-0.01, "−1 %"), (0, "paper"), (0.01, "+1 %"),
            (0.1, "+10 %")],
           lambda row: row.claim.margins[0] / (abs(row.claim.values[0]) or 1.0)),
    _Panel("orders: each gap in its standard errors (right: as stated)", "order", _orders,
           _log(2, _MOST_DEVIATIONS),
           [(-100, "−100"), (-10, "−10"), (0, "tie"), (10, "10"), (100, "100"), (1000, "≥ 1000")]),
    _Panel("rates: fitted exponent against the stated one (right: steeper); bar: 95 %", "rate",
           _rates, lambda v: max(-1.0, min(1.0, v / 1.5)),
           [(-1, "−1"), (-0.5, "−0.5"), (0, "stated"), (0.5, "+0.5"), (1, "+1")]),
    _Panel("identities: digits to spare below the tolerance", "identity", _identities,
           lambda v: max(-1.0, min(1.0, v / 10)), [(-5, "−5"), (0, "tolerance"), (5, "5")]),
    _Panel("alike: difference in margins; bar: two standard errors", "same", _alike,
           lambda v: max(-1.0, min(1.0, v / 2)), [(-1, "−1"), (0, "none"), (1, "1")],
           lambda row: 1.0),
    _Panel("bounds: bound over observed, tightest trial; bar: to the median", "bound", _bounds,
           lambda v: max(-1.0, min(1.0, v / 3)), [(0, "reached"), (1, "10"), (2, "100")]),
)  # fmt: skip


def _measured(panel: _Panel, row: Row) -> list[_Dot]:
    try:
        return [dot for dot in panel.dots(row) if math.isfinite(dot.at + dot.low + dot.high)]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # not recorded in numbers: the table beside the plot says what is known


def dot_plot(paper: Paper, home: str = "") -> Element | None:
    """The paper's numbers on one line each and ours beside them; None if nothing was measured.

    Names lead to the claims on the page `home`; by default on the same one.
    """
    panels, lines = [], 0
    for panel in _PANELS:
        measured = [(r, _measured(panel, r)) for r in paper.rows if r.claim.kind == panel.kind]
        # failures first
        rows = sorted(
            (pair for pair in measured if pair[1]), key=lambda pair: pair[0].verdict not in FAILED
        )
        if rows:
            ticks = [(panel.scale(value), words, value == 0) for value, words in panel.ticks]
            panels.append((panel.title, [_line(panel, *pair) for pair in rows], ticks))
            lines += len(rows) + 3
    return drawn(_DOTS, panels=panels, lines=lines, home=home) if panels else None


def _line(panel: _Panel, row: Row, dots: list[_Dot]) -> tuple[Any, ...]:
    """Place on the page, name, verdict, margin and dots of a claim; these from -1 to 1."""
    band = panel.band(row)
    margin = (panel.scale(-band), panel.scale(band)) if band else None
    places = [tuple(map(panel.scale, (dot.low, dot.at, dot.high))) for dot in dots]
    known = row.verdict if row.verdict in VERDICTS else "open"
    name = row.claim.id.split("/")[1]
    return anchor(row.claim.id, "claim"), name, known, margin, places
