"""`Dataset`, what every loader returns; splits of its rows; and test data withheld.

While settings are chosen, test data are behind a door, `withheld`: one environment variable, so
that processes started meanwhile see it too. `Dataset` looks at it when it is made, and nothing else
does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Seed, Whole, arguments, short
from ..linear.classes import checked_labels

_DOOR = "INVARIANCE_WITHHOLD_TESTS"

Random = int | np.random.RandomState | None


class WithheldError(RuntimeError):
    """Test data were asked for while settings are being chosen."""


def withholding() -> bool:
    """Whether loaders hand out training data alone."""
    return os.environ.get(_DOOR) == "1"


def withhold(closed: bool) -> None:
    """From now on, hand out training data alone, or everything."""
    os.environ[_DOOR] = "1" if closed else "0"


@contextmanager
def withheld(closed: bool = True) -> Iterator[None]:
    """While this lasts, loaders hand out training data alone (or, if not closed, everything).

    >>> from invariance.datasets import load_digits_images
    >>> with withheld():
    ...     len(load_digits_images().data)
    1200
    """
    before = withholding()
    withhold(closed)
    try:
        yield
    finally:
        withhold(before)


@dataclass(frozen=True)
class Dataset:
    """Plain arrays, what they are, and the checksums of the files they came from.

    Made while test data are `withheld`, it holds the training rows alone. Without ``n_train`` it
    then holds neither `data` nor `target` if they come from files, until `split` says which rows
    are for testing.

    Attributes
    ----------
    data : ndarray
        One point a row; recordings of different lengths are an object array of 1-D arrays.
    target : ndarray
    description : str
    n_train : int or None
        Where the data come with a split: the first ``n_train`` rows are for training.
    sources : mapping of file name to SHA-256
        For ``run.uses_data(data)``; empty for generated data.
    details : mapping
        Further arrays, also found as attributes: ``dataset.speaker`` is
        ``dataset.details["speaker"]``.

    >>> import numpy as np
    >>> dots = Dataset(np.eye(3), np.arange(3), description="three points", n_train=2)
    >>> dots.train[1], dots.test[1]
    (array([0, 1]), array([2]))
    >>> dots.split(test=[0]).train[1]
    array([1, 2])
    """

    data: NDArray[Any]
    target: NDArray[Any]
    _: KW_ONLY
    description: str
    n_train: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mine = self.__dict__
        if withholding() and self.n_train is not None:
            mine |= self._rows(np.arange(self.n_train))
        elif withholding() and self.sources:  # data made without files: other seeds draw others
            mine["_all"] = dict(mine)
            # what tells rows apart, such as speakers, but no further data of the rows
            mine["details"] = {
                k: v for k, v in self.details.items() if not self._per_row(v) or v.ndim == 1
            }
            del mine["data"], mine["target"]

    @property
    def _everything(self) -> Mapping[str, Any]:
        return self.__dict__.get("_all", self.__dict__)

    def _per_row(self, value: Any) -> bool:
        n = len(self._everything["data"])
        return isinstance(value, np.ndarray) and value.ndim > 0 and len(value) == n

    def _rows(self, rows: NDArray[Any]) -> dict[str, Any]:
        """Copies of some rows, of the details too: a view would keep the others."""
        every = self._everything
        details = {k: v[rows] if self._per_row(v) else v for k, v in every["details"].items()}
        return {"data": every["data"][rows], "target": every["target"][rows], "details": details}

    def split(self, *, test: ArrayLike, train: ArrayLike | None = None) -> Dataset:
        """The same points, those for training first, and ``n_train`` of them.

        Parameters
        ----------
        test, train : array-like
            Row numbers, or masks over all rows; `train` defaults to the others.

        Returns
        -------
        Dataset
            ``details["rows"]``: where each point stood before.
        """
        n = len(self._everything["data"])
        tests = _row_numbers("test", test, n)
        others = np.setdiff1d(np.arange(n), tests)
        trains = others if train is None else _row_numbers("train", train, n)
        if len(both := np.intersect1d(trains, tests)):
            raise ParameterError(f"{len(both)} rows, such as {both[0]}, are in both parts")
        rows = np.concatenate([trains, tests])
        parts = self._rows(rows) | {"description": self.description, "sources": self.sources}
        parts["details"] = {"rows": rows, **parts["details"]}
        return Dataset(**parts, n_train=len(trains))

    def __getattr__(self, name: str) -> Any:
        # `details` itself is missing while an instance is being copied or unpickled.
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        hidden = self.__dict__.get("_all", {"details": {}})
        if name in hidden or name in hidden["details"]:
            raise WithheldError(
                f"{name} of {self.description}: test data are withheld while settings are chosen; "
                "say which rows are for testing: .split(test=rows)"
            )
        raise AttributeError(f"{type(self).__name__} has no {name!r}; details: {list(details)}")

    @property
    def train(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(data, target) of the training part."""
        n = self._split()
        return self.data[:n], self.target[:n]

    @property
    def test(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(data, target) of the test part."""
        n = self._split()
        if n == len(self.data) and withholding():
            raise WithheldError(
                f"the test part of {self.description} is withheld while settings are chosen; load "
                "it after run.measure()"
            )
        return self.data[n:], self.target[n:]

    def _split(self) -> int:
        if self.n_train is None:
            raise ValueError(f"{self.description}: comes without a split into training and test")
        return self.n_train


def _row_numbers(name: str, rows: ArrayLike, n: int) -> NDArray[np.intp]:
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    whole = given.ndim == 1 and np.issubdtype(given.dtype, np.integer)
    if not whole or (given.size and not (0 <= given.min() and given.max() < n)):
        raise ParameterError(f"{name} must be row numbers below {n} or a mask, got {short(rows)}")
    return given.astype(np.intp)


@arguments(per_class=Whole(), random_state=Seed())
def balanced_sample(
    target: ArrayLike, per_class: int, *, random_state: Random = None
) -> NDArray[np.intp]:
    """Rows drawn without replacement, ``per_class`` from each class, class after class.

    >>> balanced_sample([0, 1, 0, 1, 1], per_class=2, random_state=0).tolist()
    [2, 0, 4, 1]
    """
    labels = checked_labels("balanced_sample", "target", target)
    classes, counts = np.unique(labels, return_counts=True)
    if per_class < 1 or counts.min() < per_class:
        least = f"class {classes[counts.argmin()]} has {counts.min()} in {short(target)}"
        raise ParameterError(f"per_class={per_class} rows of every class are not there: {least}")
    rng = check_random_state(random_state)
    drawn = [rng.permutation(np.flatnonzero(labels == c))[:per_class] for c in classes]
    return np.concatenate(drawn)
