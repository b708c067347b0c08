"""`Stages`: first a notebook chooses, without test data; then it measures what it chose."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from invariance.companion.errors import RecordError
from invariance.companion.ledger.settings import (
    CHOOSING_SEED,
    Choice,
    best_of,
    read_settings,
    write_settings,
)
from invariance.companion.paths import Paths
from invariance.datasets.dataset import withhold

__all__ = ["STAGE", "Stages"]

T = TypeVar("T")

#: Set to the file that a choosing stage writes, by ``invariance choose``.
STAGE = "INVARIANCE_CHOOSING"


class Stages:
    """The two stages of one execution of a notebook.

    Parameters
    ----------
    paths : Paths
    notebook, profile : str
    seeds : sequence of int
        What to measure with.
    chooses : bool
        Whether there is a stage of choosing.

    Attributes
    ----------
    choosing : bool
        Whether ``invariance choose`` executes the notebook.
    seeds : tuple of int
    settings : dict of Choice, or None
        What a full run reads; None where nothing is chosen, or nothing has been yet.
    made : dict of Choice
        What was chosen so far.
    """

    def __init__(
        self, paths: Paths, notebook: str, profile: str, seeds: Sequence[int], chooses: bool
    ):
        target = os.environ.get(STAGE)
        self.choosing = chooses and target is not None
        self._target = Path(target or "")
        self.seeds = (CHOOSING_SEED,) if self.choosing else tuple(int(seed) for seed in seeds)
        self._notebook, self._chooses = notebook, chooses
        self._measuring = not chooses
        self.made: dict[str, Choice] = {}
        full = profile == "full" and not self.choosing
        self.settings = read_settings(paths.settings(notebook)) if full and chooses else None
        self._reads = full
        if full and chooses and CHOOSING_SEED in self.seeds:
            raise RecordError(
                f"seed {CHOOSING_SEED} chose the settings of {notebook}: measure with other seeds"
            )
        withhold(chooses)

    def select(
        self,
        name: str,
        grid: Sequence[T],
        score: Callable[[T], Any] | None,
        *,
        by: str,
        higher: bool,
        scores: Callable[[], Any] | None,
    ) -> T:
        """See `Run.select`."""
        if not self._chooses:
            raise RecordError(f"select({name!r}): say so with Run(..., chooses=True)")
        if self._measuring:
            raise RecordError(f"select({name!r}) after measure(): test data are at hand")
        if name in self.made:
            raise RecordError(f"{name!r} is selected twice: give the second another name")
        if (score is None) == (scores is None):
            raise RecordError(f"select({name!r}): pass score or scores=")
        plain = [_plain(name, entry) for entry in grid]
        if not plain:
            raise RecordError(f"select({name!r}): the grid is empty")
        if self._reads:
            choice = self._read(name, plain, by, higher)
        else:
            found = list(scores()) if scores else [score(entry) for entry in grid]  # type: ignore[misc]
            choice = _choice(name, plain, found, by, higher)
        self.made[name] = choice
        return grid[plain.index(choice.chosen)]

    def _read(self, name: str, grid: list[Any], by: str, higher: bool) -> Choice:
        again = f"run 'invariance choose {self._notebook}' and commit what it writes"
        if self.settings is None or name not in self.settings:
            raise RecordError(f"the setting {name!r} has not been chosen yet: {again}")
        choice = self.settings[name]
        if (choice.grid, choice.by, choice.higher) != (grid, by, higher):
            raise RecordError(
                f"{name!r} was chosen from another grid, or by another score: {again}"
            )
        return choice

    def measure(self) -> None:
        """See `Run.measure`."""
        if self._measuring:
            raise RecordError("measure() ends the choosing, once: is Run(..., chooses=True) there?")
        if self.choosing:
            write_settings(self._target, self._notebook, self.made)
            raise SystemExit(0)
        self._measuring = True
        withhold(False)


def _choice(name: str, grid: list[Any], found: Sequence[Any], by: str, higher: bool) -> Choice:
    if len(found) != len(grid):
        raise RecordError(f"select({name!r}): {len(found)} scores for {len(grid)} entries")
    samples = [np.atleast_1d(np.asarray(score, dtype=float)) for score in found]
    means = [_short(s.mean()) for s in samples]
    if not np.isfinite(means).any():
        raise RecordError(f"select({name!r}): no score is finite: {means}")
    repeated = all(len(s) > 1 for s in samples)
    errors = [_short(s.std(ddof=1) / np.sqrt(len(s))) for s in samples] if repeated else []
    return Choice(grid[best_of(means, higher)], grid, by, higher, means, errors)


def _short(number: float) -> float:
    return float(f"{number:.6g}")


def _plain(name: str, entry: Any) -> Any:
    """An entry of a grid as YAML keeps it."""
    match entry:
        case None | bool() | int() | float() | str():
            return entry
        case np.generic():
            return entry.item()
        case list() | tuple():
            return [_plain(name, e) for e in entry]
        case Mapping():
            return {str(k): _plain(name, v) for k, v in entry.items()}
    raise RecordError(f"select({name!r}): {entry!r:.60} in the grid is no number, text or list")
