"""`Stages`: a notebook chooses settings without test data, and then measures with them."""

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
    """The two stages of one execution of a notebook: choosing settings, and measuring with them.

    Attributes
    ----------
    seeds : tuple of int
        The seeds to measure with, or the choosing seed while ``invariance choose`` executes the
        notebook.
    choices : dict
        The results of `select` so far, by name; see `Choice`.
    """

    def __init__(
        self, paths: Paths, notebook: str, profile: str, seeds: Sequence[int], chooses: bool
    ):
        target = os.environ.get(STAGE) if chooses else None
        self.notebook = notebook
        self.choices: dict[str, Choice] = {}
        self._chooses = chooses
        self._measuring = not chooses
        #: The file that the choosing stage writes, if this is one.
        self._target = Path(target) if target else None
        if target:
            self.seeds: tuple[int, ...] = (CHOOSING_SEED,)
        else:
            self.seeds = tuple(int(seed) for seed in seeds)

        self._reads_settings = chooses and profile == "full" and not target
        self._settings: dict[str, Choice] | None = None
        if self._reads_settings:
            if CHOOSING_SEED in self.seeds:
                problem = f"seed {CHOOSING_SEED} chose the settings of {notebook}"
                raise RecordError(f"{problem}: measure with other seeds")
            self._settings = read_settings(paths.settings(notebook))
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
        """Return the entry of a grid that scores best on training data.

        ``invariance choose`` computes the scores, with seed 0 and without test data, and writes
        ``notebooks/settings/<notebook>.yml``. A full run reads the choice from this file; a quick
        run chooses at once.

        Parameters
        ----------
        name : str
            The name of the setting.
        grid : sequence
            Numbers, texts, None, or lists and dicts of them.
        score : callable, optional
            ``score(entry)`` returns a number, or one for each repetition.
        by : str
            A description of the score and of the training data that it uses.
        higher : bool
            Whether a higher score is better.
        scores : callable, optional
            Replaces `score`: ``scores()`` returns the scores of all entries.

        Raises
        ------
        RecordError
            After `measure`; without ``chooses=True``; for a name used before; if the settings on
            disk are missing or belong to another grid.
        """
        self._check_selection(name, grid)
        if (score is None) == (scores is None):
            raise RecordError(f"select({name!r}): pass score or scores=")
        entries = [plain(entry, f"select({name!r}): an entry of the grid") for entry in grid]
        if self._reads_settings:
            choice = self._stored_choice(name, entries, by, higher)
        elif scores is not None:
            choice = _choice(name, entries, list(scores()), by, higher)
        else:
            assert score is not None
            choice = _choice(name, entries, [score(entry) for entry in grid], by, higher)
        self.choices[name] = choice
        return grid[entries.index(choice.chosen)]

    def _check_selection(self, name: str, grid: Sequence[Any]) -> None:
        problem = None
        if not self._chooses:
            problem = "declare that the notebook chooses, with Run(..., chooses=True)"
        elif self._measuring:
            problem = "after measure(), test data are available"
        elif name in self.choices:
            problem = "is selected twice: give the second another name"
        elif len(grid) == 0:
            problem = "the grid is empty"
        if problem is not None:
            raise RecordError(f"select({name!r}): {problem}")

    def _stored_choice(self, name: str, entries: list[Any], by: str, higher: bool) -> Choice:
        """Return a choice that `invariance choose` wrote, made from the same grid."""
        remedy = f"run 'invariance choose {self.notebook}' and commit the file that it writes"
        if self._settings is None or name not in self._settings:
            raise RecordError(f"the setting {name!r} has not been chosen yet: {remedy}")
        choice = self._settings[name]
        if (choice.grid, choice.by, choice.higher) != (entries, by, higher):
            problem = f"{name!r} was chosen from another grid, or by another score"
            raise RecordError(f"{problem}: {remedy}")
        return choice

    def measure(self) -> None:
        """End the choosing: from now on, loaders return test data.

        ``invariance choose`` leaves the notebook at this point. Data that were loaded before do
        not grow: load them again.
        """
        if self._measuring:
            raise RecordError("measure() ends the choosing, once: is Run(..., chooses=True) there?")
        if self._target is not None:
            write_settings(self._target, self.notebook, self.choices)
            raise SystemExit(0)
        self._measuring = True
        withhold(False)


def _choice(name: str, grid: list[Any], scores: Sequence[Any], by: str, higher: bool) -> Choice:
    if len(scores) != len(grid):
        raise RecordError(f"select({name!r}): {len(scores)} scores for {len(grid)} entries")
    for entry, score in zip(grid, scores, strict=True):
        # `asarray` would return what lies below a mask, and drop imaginary parts.
        if np.ma.is_masked(score) or np.iscomplexobj(score):
            problem = f"the score of {entry!r:.40} is masked or complex"
            raise RecordError(f"select({name!r}): {problem}: return real numbers, or NaN for none")
    samples = [np.atleast_1d(np.asarray(score, dtype=float)) for score in scores]
    means = [_rounded(sample.mean()) for sample in samples]
    if not np.isfinite(means).any():
        raise RecordError(f"select({name!r}): no score is finite: {means}")
    errors: list[float] = []
    if all(len(sample) > 1 for sample in samples):
        errors = [_rounded(sample.std(ddof=1) / np.sqrt(len(sample))) for sample in samples]
    best = grid[best_of(means, higher)]
    return Choice(best, grid, by, higher, means, errors)


def _rounded(number: float) -> float:
    """Return a number with six digits, as it is stored."""
    return float(f"{number:.6g}")


def plain(value: Any, name: str, error: type[Exception] = RecordError) -> Any:
    """Return a parameter or an entry of a grid in the form that JSON and YAML store."""
    try:
        return json.loads(json.dumps(value, default=lambda number: number.item()))
    except (TypeError, ValueError, AttributeError):
        raise error(f"{name} is {value!r:.60}: no number, text or list of them") from None
