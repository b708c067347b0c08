"""What many figures draw: a curve with its errors, rows of a table, measured values as ticks."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .style import look


def curve(axes: Any, x: Any, y: Any, method: str, error: Any = None, **how: Any) -> Any:
    """Draw a mean against x in the method's colour and marker, with bars of two standard errors.

    Parameters
    ----------
    axes : matplotlib Axes
    x : sequence of length k
    y : array of shape (k,), the means, or (repetitions, k), the samples themselves
    method : str
        Gives colour and marker; see `look`.
    error : sequence of length k, or None
        Standard errors, where y holds means.
    **how
        Goes to matplotlib's ``errorbar``: ``label``, ``color``, ``linestyle``, ``marker``.

    Returns
    -------
    ndarray of shape (k,)
        The means.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> curve(Figure().subplots(), [10, 20], [[1.0, 2.0], [3.0, 4.0]], "haar", label="Haar")
    array([2., 3.])
    """
    mean = np.asarray(y, dtype=float)
    if mean.ndim == 2:
        mean, error = mean.mean(axis=0), mean.std(axis=0, ddof=1) / np.sqrt(len(mean))
    bars = None if error is None else 2 * np.asarray(error, dtype=float)
    axes.errorbar(x, mean, bars, **(look(method)._asdict() | how))
    return mean


def rows(
    axes: Any, scores: Iterable[Any], methods: Iterable[str], paper: Sequence[Any] = ()
) -> None:
    """Draw one row for each score, the first on top, and the paper's values as stars.

    Parameters
    ----------
    axes : matplotlib Axes
    scores : iterable of (mean, standard error)
    methods : iterable of str
        Give colours and markers.
    paper : sequence of float or None
        Printed values, row by row.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> rows(axes, [(97.0, 0.1), (96.0, 0.2)], ["haar", "raw"], paper=[97.1, None])
    >>> len(axes.lines) >= 3
    True
    """
    at = -1
    for at, ((mean, error), method) in enumerate(zip(scores, methods, strict=True)):
        axes.errorbar(mean, at, xerr=2 * error, linestyle="none", **look(method)._asdict())
    for i, value in enumerate(paper):
        if value is not None:
            axes.plot(value, i, linestyle="none", zorder=1, **look("published")._asdict())
    axes.set_ylim(at + 0.6, -0.6)


def ticks(axes: Any, values: Sequence[Any], most: int = 6) -> None:
    """Label the measured values themselves on the horizontal axis, every other one of many.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> ticks(axes, [100, 1000])
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['100', '1,000']
    """
    shown = list(values)[:: 1 if len(values) <= most else 2]
    axes.set_xticks(shown, [f"{value:,}" for value in shown])
    axes.minorticks_off()
