"""Dask arrays, whose values are computed later, in blocks: `over_blocks`, `lazy_gram`, refusals.

The features of a Dask array, and a kernel matrix of one, are Dask arrays again. Every block is
computed from blocks of points alone, by the same method that NumPy arrays are computed by, so that
no array has to fit into memory as a whole. Everything else refuses Dask arrays: NumPy and
scikit-learn would silently compute all their values at once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .extras import need
from .parameters import ParameterError

Array = NDArray[Any]
Transform = TypeVar("Transform", bound=Callable[..., Any])

#: Index of the first axis, after rows, of the first and the second argument of a kernel.
_FIRST_INNER_AXIS = 2
_SECOND_INNER_AXIS = 100


def is_dask(X: object) -> bool:
    """Return whether X is an array, a data frame or another collection of Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def refuse_dask(name: str, X: object) -> None:
    """Refuse collections of Dask where their values are needed in memory."""
    if not is_dask(X):
        return
    raise ParameterError(
        f"{name} is a Dask {type(X).__name__.lower()}, and this needs its values in memory: pass "
        f"{name}.compute(), or some rows, {name}[:1000].compute(). Dask arrays are accepted by "
        f"transform of a feature map and by kernel(X, Y); {name}.map_blocks(function) applies "
        "other functions"
    )


def _is_array(X: object) -> bool:
    """Return whether X is an array of Dask; its delayed objects have any attribute."""
    return is_dask(X) and hasattr(type(X), "map_blocks")


def one_point(X: Any) -> Any:
    """Return a point of zeros that stands for those of a Dask array; other arrays unchanged."""
    if not _is_array(X):
        return X
    return np.zeros((1, *X.shape[1:]), X.dtype)


def over_blocks(transform: Transform) -> Transform:
    """Let the method ``transform(self, X)`` return a Dask array for a Dask array of rows.

    The class needs `dtype_of_features`, which checks a point and returns the type of its features,
    and ``_n_features_out``. The features are those of the fit at the time of the call.
    """

    @wraps(transform)
    def transform_any(self: Any, X: Any) -> Any:
        if is_dask(X):
            return _lazy_features(self, X)
        return transform(self, X)

    return transform_any  # type: ignore[return-value]


def _lazy_features(model: Any, X: Any) -> Any:
    """Return ``model.transform(X)`` as a Dask array."""
    check_is_fitted(model)
    owner = type(model).__name__
    _check_blocks(owner, "X", X)
    _check_container(owner, model)
    dtype = model.dtype_of_features(one_point(X))
    n_features = int(model._n_features_out)
    # The copy keeps the present fit. As one node of the graph, it is sent to each worker once.
    fitted = need("dask", "dask").delayed(copy(model), pure=True, traverse=False)
    return X.map_blocks(
        _features_of_block,
        model=fitted,
        n_features=n_features,
        out_dtype=dtype,
        chunks=(X.chunks[0], (n_features,)),
        drop_axis=list(range(2, X.ndim)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def _features_of_block(
    block: Array, *, model: Any, n_features: int, out_dtype: np.dtype[Any]
) -> Array:
    if len(block) == 0:  # A selection may leave no row of a block.
        return np.empty((0, n_features), out_dtype)
    with config_context(transform_output="default"):
        features: Array = model.transform(block)
    return features


def lazy_gram(kernel: Any, X: Any, Y: Any) -> Any:
    """Return ``kernel(X, Y)`` as a Dask array, at least one of X and Y being one; Y may be None.

    Its blocks are kernel matrices of a block of X with a block of Y; an array in memory is one
    block. Shapes have to be checked before.
    """
    da = need("dask.array", "dask")
    Y = X if Y is None else Y
    blocks = {}
    for name, points in (("X", X), ("Y", Y)):
        if is_dask(points):
            _check_blocks(type(kernel).__name__, name, points)
            blocks[name] = points
        else:
            blocks[name] = da.from_array(np.asarray(points), chunks=-1)
    X = blocks["X"]
    Y = blocks["Y"]
    is_single = X.dtype == Y.dtype == np.float32
    dtype = np.dtype(np.float32 if is_single else np.float64)
    return da.blockwise(
        _gram_of_blocks,
        (0, 1),
        X,
        (0, *range(_FIRST_INNER_AXIS, _FIRST_INNER_AXIS + X.ndim - 1)),
        Y,
        (1, *range(_SECOND_INNER_AXIS, _SECOND_INNER_AXIS + Y.ndim - 1)),
        kernel=clone(kernel, safe=False),
        out_dtype=dtype,
        concatenate=True,
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def _gram_of_blocks(X: Array, Y: Array, *, kernel: Any, out_dtype: np.dtype[Any]) -> Array:
    if len(X) == 0 or len(Y) == 0:
        return np.empty((len(X), len(Y)), out_dtype)
    gram: Array = kernel(X, Y)
    return gram


def _check_blocks(owner: str, name: str, X: Any) -> None:
    """Refuse collections of Dask that are no arrays, and arrays whose rows are divided."""
    if not _is_array(X):
        raise ParameterError(
            f"{owner}: {name} is a {type(X).__name__} of Dask, and arrays are expected, such as "
            f"{name}.to_dask_array(lengths=True) of a data frame"
        )
    divided = [axis for axis in range(1, X.ndim) if len(X.chunks[axis]) > 1]
    if divided:
        whole = ", ".join(f"{axis}: -1" for axis in divided)
        raise ParameterError(
            f"{owner}: {name} has rows in several chunks, and a block needs whole rows: pass "
            f"{name}.rechunk({{{whole}}})"
        )


def _check_container(owner: str, model: Any) -> None:
    """Refuse data frames as output, for which scikit-learn would compute all values."""
    configured = getattr(model, "_sklearn_output_config", {})
    container = configured.get("transform") or get_config()["transform_output"]
    if container != "default":
        raise ParameterError(
            f"{owner}: set_output(transform={container!r}) would compute all of a Dask array: take "
            "set_output(transform='default')"
        )
