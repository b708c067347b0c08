"""Drawings of many figures: curves with errors, rows of a table, measured values as ticks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, NullLocator, ScalarFormatter
from numpy.typing import ArrayLike, NDArray

from ..words import without_tex
from .style import label_ends, look, plain_number, shades


def curve(
    axes: Axes, x: Any, y: ArrayLike, method: str, error: ArrayLike | None = None, **style: Any
) -> NDArray[np.float64]:
    """Draw means against x with bars of two standard errors, and return the means, shape (k,).

    `y` holds the means, of shape (k,), with standard errors in `error`, or the samples themselves,
    of shape (repetitions, k). Masked values are missing, and so is the mean of samples among which
    one is masked. Colour and marker are the method's. `style` goes to matplotlib's
    ``errorbar``: ``label``, ``color``, ``linestyle``, ``marker``.

    >>> from matplotlib.figure import Figure
    >>> curve(Figure().subplots(), [10, 20], [[1.0, 2.0], [3.0, 4.0]], "haar", label="Haar")
    array([2., 3.])
    """
    # A masked value is missing; `asarray` would draw what lies below the mask.
    mean: NDArray[np.float64] = np.ma.filled(np.ma.asarray(y, dtype=float), np.nan)
    if mean.ndim == 2:
        samples = mean
        mean = samples.mean(axis=0)
        error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    bars: Any = None
    if error is not None:
        bars = 2 * np.asarray(error, dtype=float)
        if axes.get_yscale() == "log":
            bars = [np.minimum(bars, 0.9 * mean), bars]  # No bar may reach zero.
    method_style = look(method)._asdict()
    axes.errorbar(x[: len(mean)], mean, bars, **(method_style | style))
    return mean


def panel(
    axes: Axes,
    x: Sequence[Any],
    curves: Mapping[str, tuple],
    *,
    log: str = "",
    ends: float | None = 0.35,
    **labels: Any,
) -> None:
    """Draw curves over the same x, each with its label at its end.

    `curves` maps labels to ``(method, y)`` or ``(method, y, style)``, arguments of `curve`;
    ``style["x"]`` replaces `x`, and a curve with fewer values ends earlier. `log` names the
    logarithmic axes ("x", "y", "xy"). `ends` is the share of the width that the labels take at the
    right; None draws no labels. `labels` go to ``axes.set``: ``xlabel``, ``ylabel``, ``title``,
    ``ylim``.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> panel(axes, [10, 20], {"Haar": ("haar", [1.0, 2.0]), "plain": ("raw", [1.0, 1.5])}, log="x")
    >>> [text.get_text() for text in axes.texts], axes.get_xscale()
    (['plain', 'Haar'], 'log')
    """
    for axis in log:
        axes.set(**{f"{axis}scale": "log"})
    for label, (method, y, *styles) in curves.items():
        style = dict(styles[0]) if styles else {}
        curve_x = style.pop("x", x)
        curve(axes, curve_x, y, method, label=label, **style)
    ticks(axes, x)
    axes.set(**labels)
    if ends is not None:
        label_ends(axes, room=ends)


def rows(
    axes: Axes,
    scores: Iterable[Any] | Mapping[str, Any],
    methods: Iterable[str],
    paper: Sequence[Any] = (),
) -> None:
    """Draw one row for each score, the first on top, and the paper's values as stars.

    `scores` are pairs of a mean and its standard error; if they are a mapping, its keys label the
    rows. `methods` give colours and markers; `paper` holds one printed value, or None, per row.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> rows(axes, {"Haar": (97.0, 0.1), "raw": (96.0, 0.2)}, ["haar", "raw"], paper=[97.1, None])
    >>> described(axes.figure)
    'Haar 97, raw 96.'
    """
    labels = []
    if isinstance(scores, Mapping):
        labels = list(scores)
        scores = scores.values()
    pairs = list(scores)
    for i, ((mean, error), method) in enumerate(zip(pairs, methods, strict=True)):
        axes.errorbar(mean, i, xerr=2 * error, linestyle="none", **look(method)._asdict())
    for i, value in enumerate(paper):
        if value is not None:
            axes.plot(value, i, linestyle="none", zorder=1, **look("published")._asdict())
    if labels:
        axes.set_yticks(range(len(labels)), labels)
        # `described` reads this attribute.
        axes.rows = [  # type: ignore[attr-defined]
            f"{label} {mean:.3g}" for label, (mean, _) in zip(labels, pairs, strict=True)
        ]
    axes.set_ylim(len(pairs) - 0.4, -0.6)


def ticks(axes: Axes, values: Sequence[Any], most: int = 6) -> None:
    """Label measured values on the horizontal axis, at most `most` of them.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> ticks(axes, [100, 1000])
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['100', '1,000']
    """
    step = -(-len(values) // most)
    labelled = list(values)[::step]
    axes.set_xticks(labelled, [_tick_label(value) for value in labelled])
    axes.xaxis.set_minor_locator(NullLocator())


def _tick_label(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value:,}"
    return plain_number(value) or f"{value:,.3g}"


def family(method: str, values: Mapping[str, Any]) -> dict[str, tuple[str, Any, dict[str, str]]]:
    """Return curves for `panel`, one for each value of a parameter, in shades of one method.

    >>> family("raw", {"few": [1.0], "many": [2.0]})["many"]
    ('raw', [2.0], {'color': '#414141', 'marker': 's'})
    """
    colors = shades(method, len(values))
    markers = "os^Dvphd"
    curves = {}
    for i, (label, y) in enumerate(values.items()):
        curves[label] = (method, y, {"color": colors[i], "marker": markers[i]})
    return curves


def described(figure: Figure) -> str:
    """Describe a figure in words: titles, axes, values of `rows`, starts and ends of curves.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.set(title="Apart", xlabel="size", ylabel="error")
    >>> _ = curve(axes, [1, 2], [1.0, 0.5], "haar", label="Haar")
    >>> described(figure)
    'Apart: error against size; Haar from 1 to 0.5.'

    A straight line has one place, and a curve over names the values of its points.

    >>> axes = Figure().subplots()
    >>> _ = axes.plot([3, 2], ["ours", "theirs"], label="seconds"), axes.axvline(1, label="aim")
    >>> described(axes.figure)
    'seconds: ours 3, theirs 2, aim at 1.'
    """
    sentences = [figure.get_suptitle()]
    for axes in figure.axes:
        sentences.append(_axes_in_words(axes))
    text = ". ".join(sentence for sentence in sentences if sentence)
    return " ".join(without_tex(text).split()) + "."


def _axes_in_words(axes: Axes) -> str:
    names = " against ".join(filter(None, [axes.get_ylabel(), axes.get_xlabel()]))
    head = ": ".join(filter(None, [axes.get_title(), names]))
    content = list(getattr(axes, "rows", []))
    row_names = _row_names(axes)
    handles, labels = axes.get_legend_handles_labels()
    for handle, label in zip(handles, labels, strict=True):
        content.append(_curve_in_words(handle, str(label), axes, row_names))
    return "; ".join(filter(None, [head, ", ".join(content)]))


def _row_names(axes: Axes) -> dict[int, str]:
    """Return the labels of the vertical axis by their positions, if they are words."""
    if isinstance(axes.yaxis.get_major_formatter(), ScalarFormatter | LogFormatter):
        return {}
    names = {}
    # Labels may be fewer than places.
    for place, text in zip(axes.yaxis.get_majorticklocs(), axes.get_yticklabels(), strict=False):
        label = " ".join(text.get_text().split())
        if any(character.isalpha() for character in label):
            names[round(float(place))] = label
    return names


def _curve_in_words(handle: Any, label: str, axes: Axes, row_names: Mapping[int, str]) -> str:
    """Return a curve's start and end, a straight line's place, or the values in named rows."""
    line = getattr(handle, "lines", [handle])[0]
    if not hasattr(line, "get_ydata"):
        return label
    points = np.asarray(line.get_xydata(), dtype=float)  # also of names and dates
    x, y = points[np.isfinite(points).all(axis=1)].T
    if not len(y):
        return label
    x_is_data, y_is_data = line.get_transform().contains_branch_seperately(axes.transData)
    if not y_is_data:
        return f"{label} at {x[0]:.3g}"  # a vertical line through the axes
    if not x_is_data:
        return f"{label} at {y[0]:.3g}"  # a horizontal one
    if row_names:
        values = []
        for value, place in zip(x, y, strict=True):
            row = row_names.get(round(float(place)))
            values.append(f"{row} {value:.3g}" if row else f"{value:.3g}")
        return f"{label}: {', '.join(values)}"
    if len(y) < 2:
        return label
    return f"{label} from {y[0]:.3g} to {y[-1]:.3g}"
