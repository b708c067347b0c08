"""`Stages`: first a notebook chooses, without test data; then it measures what it chose."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import RecordError
from ..ledger.settings import CHOOSING_SEED, STAGE, Choice, best_of, read_settings, write_settings
from ..paths import Paths
from .withholding import withhold

T = TypeVar("T")


class Stages:
    """The two stages of one execution of a notebook; `Run` is one.

    ``seeds`` are what to measure with, or the choosing seed while ``invariance choose`` executes
    it; ``choices`` what `select` has returned so far, by name (see `Choice`).
    """

    def __init__(
        self, paths: Paths, notebook: str, profile: str, seeds: Sequence[int], chooses: bool
    ):
        target = os.environ.get(STAGE) if chooses else None
        self._target = Path(target) if target else None
        self.notebook, self._chooses, self._measuring = notebook, chooses, not chooses
        self._reads = chooses and profile == "full" and target is None
        self.seeds = (CHOOSING_SEED,) if target else tuple(int(seed) for seed in seeds)
        self._settings = read_settings(paths.settings(notebook)) if self._reads else None
        self.choices: dict[str, Choice] = {}
        if self._reads and CHOOSING_SEED in self.seeds:
            what = f"seed {CHOOSING_SEED} chose the settings of {notebook}"
            raise RecordError(f"{what}: measure with other seeds")
        withhold(chooses)

    def select(
        self,
        name: str,
        grid: Sequence[T],
        score: Callable[[T], Any] | None = None,
        *,
        by: str,
        higher: bool = True,
        scores: Callable[[], Any] | None = None,
    ) -> T:
        """The entry of a grid that scores best on training data; a full run reads it from a file.

        ``invariance choose`` computes the scores, with seed 0 and without test data, and writes
        ``notebooks/settings/<notebook>.yml``; a full run reads it. A quick run chooses at once.

        `name` is the setting's, `grid` holds numbers, text, None, or lists and dicts of them.
        ``score(entry)`` is a number or one for each repetition; in its place, ``scores()`` returns
        all of them, one per entry. `by` says what the score is, and on which training data.

        A `RecordError` after `measure`, in a notebook that does not say ``chooses=True``, for a
        name used before, or where the settings on disk are missing or are of another grid.
        """
        if fault := self._fault(name, grid, (score is None) == (scores is None)):
            raise RecordError(f"select({name!r}): {fault}")
        entries = [plain(entry, f"select({name!r}): an entry of the grid") for entry in grid]
        if not self._reads:
            found = list(scores()) if scores else [score(entry) for entry in grid]  # type: ignore[misc]
            choice = _choice(name, entries, found, by, higher)
        else:
            again = f"run 'invariance choose {self.notebook}' and commit what it writes"
            if self._settings is None or name not in self._settings:
                raise RecordError(f"the setting {name!r} has not been chosen yet: {again}")
            choice = self._settings[name]
            if (choice.grid, choice.by, choice.higher) != (entries, by, higher):
                what = f"{name!r} was chosen from another grid, or by another score"
                raise RecordError(f"{what}: {again}")
        self.choices[name] = choice
        return grid[entries.index(choice.chosen)]

    def _fault(self, name: str, grid: Sequence[Any], unclear: bool) -> str | None:
        faults = {
            "say so with Run(..., chooses=True)": not self._chooses,
            "after measure(), test data are at hand": self._measuring,
            "is selected twice: give the second another name": name in self.choices,
            "pass score or scores=": unclear,
            "the grid is empty": not len(grid),
        }
        return next((fault for fault, there in faults.items() if there), None)

    def measure(self) -> None:
        """Choosing ends here: from now on, loaders hand out test data.

        ``invariance choose`` leaves the notebook at this point. Data that were loaded before do
        not grow: load them again.
        """
        if self._measuring:
            raise RecordError("measure() ends the choosing, once: is Run(..., chooses=True) there?")
        if self._target:
            write_settings(self._target, self.notebook, self.choices)
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


def plain(value: Any, name: str, error: type[Exception] = RecordError) -> Any:
    """A parameter or an entry of a grid as JSON and YAML keep it."""
    try:
        return json.loads(json.dumps(value, default=lambda number: number.item()))
    except (TypeError, ValueError, AttributeError):
        raise error(f"{name} is {value!r:.60}: no number, text or list of them") from None
