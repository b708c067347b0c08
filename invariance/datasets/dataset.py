"""`Dataset`: what every loader returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from numpy.typing import NDArray

__all__ = ["Dataset"]


@dataclass(frozen=True)
class Dataset:
    """Plain arrays, what they are, and the checksums of the files they came from.

    Attributes
    ----------
    data : ndarray
        One point a row; recordings of different lengths are an object array of 1-D arrays.
    target : ndarray
    description : str
    n_train : int or None
        Where the data come with a split: the first ``n_train`` rows are for training.
    sources : mapping of file name to SHA-256
        For ``run.uses_data(name, sha256)``; empty for generated data.
    details : mapping
        Further arrays, also found as attributes: ``dataset.speaker`` is
        ``dataset.details["speaker"]``.

    Examples
    --------
    >>> import numpy as np
    >>> dots = Dataset(np.eye(3), np.arange(3), description="three points", n_train=2)
    >>> dots.train[1], dots.test[1]
    (array([0, 1]), array([2]))
    """

    data: NDArray[Any]
    target: NDArray[Any]
    _: KW_ONLY
    description: str
    n_train: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        # `details` itself is missing while an instance is being copied or unpickled.
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}; details: {list(details)}")

    @property
    def train(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(data, target) of the training part."""
        return self._part(slice(None, self._split()))

    @property
    def test(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(data, target) of the test part."""
        return self._part(slice(self._split(), None))

    def _split(self) -> int:
        if self.n_train is None:
            raise ValueError(f"{self.description}: comes without a split into training and test")
        return self.n_train

    def _part(self, rows: slice) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.data[rows], self.target[rows]
