"""Test data withheld: while settings are chosen, loaders hand out training data alone.

`withhold` installs `without_test_data` as the filter of all data sets (`datasets.dataset`), in an
environment variable, so that processes started meanwhile withhold test data too.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...datasets.dataset import FILTER_VARIABLE, Dataset, has_row_per_point

_FILTER = f"{__name__}:without_test_data"


class WithheldError(RuntimeError):
    """Test data were requested while settings are being chosen."""


def withholding() -> bool:
    """Whether loaders hand out training data alone."""
    return os.environ.get(FILTER_VARIABLE) == _FILTER


def withhold(withheld: bool) -> None:
    """Make loaders hand out training data alone from now on, or everything."""
    if withheld:
        os.environ[FILTER_VARIABLE] = _FILTER
    elif withholding():
        del os.environ[FILTER_VARIABLE]


@contextmanager
def withheld(withheld: bool = True) -> Iterator[None]:
    """Context in which loaders hand out training data alone (or, if False, everything).

    >>> from invariance.datasets import load_digits_images
    >>> with withheld():
    ...     len(load_digits_images().data)
    1200
    """
    before = withholding()
    withhold(withheld)
    try:
        yield
    finally:
        withhold(before)


class TrainingPart(Dataset):
    """The training rows of a data set, as copies; the test rows are not in memory."""

    @property
    def test(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The test part, which is not available here."""
        raise WithheldError(
            f"the test part of {self.description} is withheld while settings are chosen; load it "
            "after run.measure()"
        )


@dataclass(frozen=True)
class UnsplitDataset:
    """A data set without a split: its points are withheld until `split` names the test rows.

    Details that label the rows, such as speakers, are available for making the split.
    """

    _dataset: Dataset

    @property
    def details(self) -> Mapping[str, Any]:
        """Labels of the rows, and details that do not belong to single rows."""
        n_points = len(self._dataset.data)
        details = {}
        for name, value in self._dataset.details.items():
            if not has_row_per_point(name, value, n_points) or value.ndim == 1:
                details[name] = value
        return details

    def split(self, *, test: ArrayLike, train: ArrayLike | None = None) -> Dataset:
        """Split the points as `Dataset.split` does; test points stay withheld."""
        return self._dataset.split(test=test, train=train)

    def __getattr__(self, name: str) -> Any:
        # `_dataset` itself is missing while an instance is being copied or unpickled.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("description", "n_train", "sources"):
            return getattr(self._dataset, name)
        details = self.details
        if name in details:
            return details[name]
        if not hasattr(self._dataset, name):
            raise AttributeError(f"{type(self).__name__} has no {name!r}; details: {list(details)}")
        raise WithheldError(
            f"{name} of {self._dataset.description}: test data are withheld while settings are "
            "chosen; name the rows for testing: .split(test=rows)"
        )


def without_test_data(dataset: Dataset) -> Dataset | UnsplitDataset:
    """Return the data set without its test rows.

    Data that were generated without a split stay as they are: nothing in them is reserved for
    testing, and other seeds draw other points.
    """
    if dataset.n_train is not None:
        training = dataset.take(np.arange(dataset.n_train))
        return TrainingPart(
            training.data,
            training.target,
            description=dataset.description,
            n_train=dataset.n_train,
            sources=dataset.sources,
            details=training.details,
        )
    if dataset.sources:
        return UnsplitDataset(dataset)
    return dataset
