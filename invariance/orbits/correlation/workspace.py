"""`Workspace`: buffers that outlive a block."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Workspace"]


class Workspace:
    """Arrays that are used again for every tile: fresh memory costs a page fault a page."""

    def __init__(self, dtype: Any):
        self.dtype = dtype
        self.buffers: dict[str, NDArray[Any]] = {}

    def array(self, name: str, *shape: int) -> NDArray[Any]:
        size = prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, self.dtype)
        return self.buffers[name][:size].reshape(shape)
