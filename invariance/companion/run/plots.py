"""What many figures draw: a curve with its errors, rows of a table, measured values as ticks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

from ..words import without_tex
from .style import label_ends, look, shades


def curve(axes: Any, x: Any, y: Any, method: str, error: Any = None, **how: Any) -> Any:
    """Draw a mean against x in the method's colour and marker, with bars of two standard errors.

    `y` holds the means, of shape (k,), with standard errors in `error`, or the samples themselves,
    of shape (repetitions, k). `how` goes to matplotlib's ``errorbar``: ``label``, ``color``,
    ``linestyle``, ``marker``. The means, of shape (k,).

    >>> from matplotlib.figure import Figure
    >>> curve(Figure().subplots(), [10, 20], [[1.0, 2.0], [3.0, 4.0]], "haar", label="Haar")
    array([2., 3.])
    """
    mean = np.asarray(y, dtype=float)
    if mean.ndim == 2:
        mean, error = mean.mean(axis=0), mean.std(axis=0, ddof=1) / np.sqrt(len(mean))
    bars: Any = None if error is None else 2 * np.asarray(error, dtype=float)
    if bars is not None and axes.get_yscale() == "log":
        bars = [np.minimum(bars, 0.9 * mean), bars]  # no bar down to zero
    axes.errorbar(x[: len(mean)], mean, bars, **(look(method)._asdict() | how))
    return mean


def panel(
    axes: Any,
    x: Sequence[Any],
    curves: Mapping[str, tuple],
    *,
    log: str = "",
    ends: float | None = 0.35,
    **labels: Any,
) -> None:
    """Draw curves over the same x, each with its words at its end.

    `curves` maps words to ``(method, y)`` or ``(method, y, how)``, as of `curve`; ``how["x"]``
    replaces `x`; one with fewer values ends earlier. `log` says which axes are logarithmic ("x",
    "y", "xy"), `ends` how much room the words take at the right (None leaves them to the caller).
    `labels` go to ``axes.set``: ``xlabel``, ``ylabel``, ``title``, ``ylim``.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> panel(axes, [10, 20], {"Haar": ("haar", [1.0, 2.0]), "plain": ("raw", [1.0, 1.5])}, log="x")
    >>> [text.get_text() for text in axes.texts], axes.get_xscale()
    (['plain', 'Haar'], 'log')
    """
    axes.set(**{f"{axis}scale": "log" for axis in log})
    for label, (method, y, *more) in curves.items():
        how = {"x": x, **(more[0] if more else {})}
        curve(axes, how.pop("x"), y, method, label=label, **how)
    ticks(axes, x)
    axes.set(**labels)
    if ends is not None:
        label_ends(axes, room=ends)


def rows(
    axes: Any,
    scores: Iterable[Any] | Mapping[str, Any],
    methods: Iterable[str],
    paper: Sequence[Any] = (),
) -> None:
    """Draw one row for each score, the first on top, and the paper's values as stars.

    `scores` are pairs of a mean and its standard error; the keys of a mapping are written beside
    the rows. `methods` give colours and markers, `paper` holds printed values, or None, by row.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> rows(axes, {"Haar": (97.0, 0.1), "raw": (96.0, 0.2)}, ["haar", "raw"], paper=[97.1, None])
    >>> described(axes.figure)
    'Haar 97, raw 96.'
    """
    at, pairs = -1, list(scores.values() if isinstance(scores, Mapping) else scores)
    for at, ((mean, error), method) in enumerate(zip(pairs, methods, strict=True)):
        axes.errorbar(mean, at, xerr=2 * error, linestyle="none", **look(method)._asdict())
    for i, value in enumerate(paper):
        if value is not None:
            axes.plot(value, i, linestyle="none", zorder=1, **look("published")._asdict())
    if isinstance(scores, Mapping):
        axes.set_yticks(range(len(scores)), list(scores))
        axes.rows = [f"{label} {mean:.3g}" for label, (mean, _) in scores.items()]  # `described`
    axes.set_ylim(at + 0.6, -0.6)


def ticks(axes: Any, values: Sequence[Any], most: int = 6) -> None:
    """Label the measured values themselves on the horizontal axis, every other one of many.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> ticks(axes, [100, 1000])
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['100', '1,000']
    """
    shown = list(values)[:: -(-len(values) // most)]
    axes.set_xticks(shown, [f"{v:,.3g}" if isinstance(v, float) else f"{v:,}" for v in shown])
    axes.xaxis.set_minor_locator(NullLocator())


def family(method: str, values: Mapping[str, Any]) -> dict[str, tuple[str, Any, dict[str, str]]]:
    """Entries for `panel`, one for each value of a parameter: shades of one method, own markers.

    >>> family("raw", {"few": [1.0], "many": [2.0]})["many"]
    ('raw', [2.0], {'color': '#414141', 'marker': 's'})
    """
    looks = zip(shades(method, len(values)), "os^Dvphd", strict=False)
    return {
        label: (method, y, {"color": color, "marker": marker})
        for (label, y), (color, marker) in zip(values.items(), looks, strict=True)
    }


def described(figure: Any) -> str:
    """What a figure shows: titles, axes, values of `rows`, where labelled curves start and end.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.set(title="Apart", xlabel="size", ylabel="error")
    >>> _ = curve(axes, [1, 2], [1.0, 0.5], "haar", label="Haar")
    >>> described(figure)
    'Apart: error against size; Haar from 1 to 0.5.'
    """
    said = [figure.get_suptitle()]
    for axes in figure.axes:
        words = " against ".join(filter(None, [axes.get_ylabel(), axes.get_xlabel()]))
        ends = list(getattr(axes, "rows", []))
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            line = getattr(handle, "lines", [handle])[0]
            y = np.asarray(getattr(line, "get_ydata", list)(), dtype=float)
            y = y[np.isfinite(y)]
            ends.append(f"{label} from {y[0]:.3g} to {y[-1]:.3g}" if len(y) > 1 else label)
        words = ": ".join(filter(None, [axes.get_title(), words]))
        said.append("; ".join(filter(None, [words, ", ".join(ends)])))
    return " ".join(without_tex(". ".join(filter(None, said))).split()) + "."
