"""`Dataset`, the return value of every loader, and splits of its rows.

Every loader passes its data set through `apply_filter` before it returns it. The filter is the
function that the environment variable ``INVARIANCE_DATASET_FILTER`` names, as
``module:function``; without the variable, data sets stay as they are. An environment variable is
used so that the filter also holds in processes that are started meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Seed, Whole, arguments, short
from ..linear.classes import checked_labels

Array = NDArray[Any]

#: Environment variable that names the filter of all data sets, as ``module:function``.
FILTER_VARIABLE = "INVARIANCE_DATASET_FILTER"

#: Names of details that hold row numbers, which do not hold for some of the rows.
_ROW_NUMBERS = ("folds", "lossy_test_rows")

Random = int | np.random.RandomState | None


def apply_filter(dataset: Dataset) -> Dataset:
    """Return the data set as the filter of this process leaves it; unchanged if there is none."""
    path = os.environ.get(FILTER_VARIABLE)
    if not path:
        return dataset
    module, _, function = path.partition(":")
    try:
        dataset_filter = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"{FILTER_VARIABLE} needs to be module:function, got {path!r} ({error})"
        ) from None
    filtered: Dataset = dataset_filter(dataset)
    return filtered


def has_row_per_point(name: str, value: Any, n_points: int) -> bool:
    """Whether a detail of a data set is an array with one row per point."""
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return is_array and len(value) == n_points and name not in _ROW_NUMBERS


@dataclass(frozen=True)
class Dataset:
    """Plain arrays with a description and the checksums of the files they came from.

    Attributes
    ----------
    data : ndarray
        One point per row; recordings of different lengths are an object array of 1-D arrays.
    target : ndarray
    description : str
    n_train : int or None
        If the data come with a split, the first ``n_train`` rows are for training.
    sources : mapping of file name to SHA-256
        For ``run.uses_data(data)``; empty for generated data.
    details : mapping
        Further arrays, also available as attributes: ``dataset.speaker`` is
        ``dataset.details["speaker"]``. Those named "folds" and "lossy_test_rows" hold row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> dots = Dataset(np.eye(3), np.arange(3), description="three points", n_train=2)
    >>> dots.train[1], dots.test[1]
    (array([0, 1]), array([2]))
    >>> dots.split(test=[0]).train[1]
    array([1, 2])
    """

    data: Array
    target: Array
    _: KW_ONLY
    description: str
    n_train: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def take(self, rows: ArrayLike) -> Dataset:
        """Return copies of some rows, without a split and without details that hold row numbers.

        Parameters
        ----------
        rows : array-like
            Row numbers, or a mask over all rows.
        """
        n_points = len(self.data)
        indices = row_numbers("rows", rows, n_points)
        details = {}
        for name, value in self.details.items():
            if has_row_per_point(name, value, n_points):
                details[name] = value[indices]
            elif name not in _ROW_NUMBERS:
                details[name] = value
        return Dataset(
            self.data[indices],
            self.target[indices],
            description=self.description,
            sources=self.sources,
            details=details,
        )

    def split(self, *, test: ArrayLike, train: ArrayLike | None = None) -> Dataset:
        """Return the same points, first the ``n_train`` rows for training, then those for testing.

        Details that hold row numbers are left out.

        Parameters
        ----------
        test, train : array-like
            Row numbers, or masks over all rows; `train` defaults to all rows that are not in
            `test`.

        Returns
        -------
        Dataset
            ``details["rows"]`` has the previous row number of each point, unless the points have
            a detail of this name, such as those of `make_rotated_mnist`: it is kept.
        """
        n_points = len(self.data)
        test_rows = row_numbers("test", test, n_points)
        if train is None:
            train_rows = np.setdiff1d(np.arange(n_points), test_rows)
        else:
            train_rows = row_numbers("train", train, n_points)
        in_both = np.intersect1d(train_rows, test_rows)
        if len(in_both):
            raise ParameterError(f"{len(in_both)} rows, such as {in_both[0]}, are in both parts")
        rows = np.concatenate([train_rows, test_rows])
        reordered = self.take(rows)
        details = {"rows": rows, **reordered.details}
        return apply_filter(replace(reordered, n_train=len(train_rows), details=details))

    def __getattr__(self, name: str) -> Any:
        # `details` itself is missing while an instance is being copied or unpickled.
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}; details: {list(details)}")

    @property
    def train(self) -> tuple[Array, Array]:
        """(data, target) of the training part."""
        n_train = self._required_n_train()
        return self.data[:n_train], self.target[:n_train]

    @property
    def test(self) -> tuple[Array, Array]:
        """(data, target) of the test part."""
        n_train = self._required_n_train()
        return self.data[n_train:], self.target[n_train:]

    def _required_n_train(self) -> int:
        if self.n_train is None:
            raise ValueError(f"{self.description}: comes without a split into training and test")
        return self.n_train


def row_numbers(name: str, rows: ArrayLike, n_points: int) -> NDArray[np.intp]:
    """Return row numbers, which are given as such or as a mask over all rows."""
    numbers = np.asarray(rows)
    if numbers.shape == (0,):
        return np.empty(0, np.intp)
    if numbers.dtype == bool and numbers.shape == (n_points,):
        return np.flatnonzero(numbers)
    valid = numbers.ndim == 1 and np.issubdtype(numbers.dtype, np.integer)
    if valid and numbers.size:
        valid = 0 <= numbers.min() and numbers.max() < n_points
    if not valid:
        raise ParameterError(
            f"{name} must be row numbers below {n_points} or a mask, got {short(rows)}"
        )
    return numbers.astype(np.intp)


@arguments(per_class=Whole(), random_state=Seed())
def balanced_sample(
    target: ArrayLike, per_class: int, *, random_state: Random = None
) -> NDArray[np.intp]:
    """Return rows drawn without replacement, ``per_class`` from each class, class after class.

    >>> balanced_sample([0, 1, 0, 1, 1], per_class=2, random_state=0).tolist()
    [2, 0, 4, 1]
    """
    labels = checked_labels("balanced_sample", "target", target)
    classes, counts = np.unique(labels, return_counts=True)
    if per_class < 1 or counts.min() < per_class:
        smallest = classes[counts.argmin()]
        raise ParameterError(
            f"per_class={per_class} rows of every class are not available: class {smallest} has "
            f"{counts.min()} in {short(target)}"
        )
    rng = check_random_state(random_state)
    samples = []
    for label in classes:
        shuffled = rng.permutation(np.flatnonzero(labels == label))
        samples.append(shuffled[:per_class])
    return np.concatenate(samples)
