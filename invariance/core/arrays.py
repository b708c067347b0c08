"""Arrays as arguments: NumPy's are checked and converted, those of other libraries checked.

Every public function and estimator checks its points by `check_array` or `validate_data`. These
are scikit-learn's and refuse more: masked entries, and NaN or infinity, whose position they name.
float32 and float64 stay as they are; everything else becomes float64; no argument is overwritten.

Feature maps over orbits and most kernels also take float32 or float64 arrays of PyTorch and of
other libraries that array-api-compat supports, and return theirs. Work that is linear in the number
of points (drawing templates, group actions, lifts) is done by NumPy on the host. Products run in
the library and on the device of the arrays, and PyTorch's gradients pass through them, in kernels
through both arguments. Dask arrays are refused here; feature maps and kernels take them by
`dask_arrays`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, prod
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import validation

from .dask_arrays import is_dask, refuse_dask
from .extras import need
from .parameters import ParameterError, short

Array = NDArray[Any]

_FLOATS = (np.float64, np.float32)
#: The same as data types, with which comparisons are quicker.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
#: Advice for users who need gradients.
_WITH_GRADIENT = (
    "take what has one: Gaussian and the like, Average and BestFit over groups whose elements can "
    "be listed or aligned, OrbitFourier.transform"
)


def check_array(X: Any, *, input_name: str = "X", **checks: Any) -> Array:
    """Check and convert points by scikit-learn's ``check_array``, whose further arguments it takes.

    The default is a matrix of finite floats. A `ParameterError` is raised for masked entries, and
    names the first NaN or infinity (only infinity if ``ensure_all_finite`` is "allow-nan").

    >>> check_array(np.ones((2, 1), dtype=np.float16)).dtype
    dtype('float64')
    >>> check_array([[1.0], [np.nan]])
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: X must be finite, but entry (1, 0) is nan: fill in \
or leave out rows with NaN or infinity
    """
    finite = checks.pop("ensure_all_finite", True)
    checks.setdefault("dtype", _FLOATS)
    refuse_dask(input_name, X)
    refuse_masked(input_name, X)
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        raise ParameterError(f"Complex data not supported: {input_name} needs real numbers")
    try:
        array: Array = validation.check_array(
            X, input_name=input_name, ensure_all_finite=False, **checks
        )
    except OverflowError:
        raise ParameterError(f"{input_name} needs numbers below 1e308, got {short(X)}") from None
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ParameterError(
            f"{input_name} is a list of arrays of different shapes: pad sets of points by "
            "pad_sets, and series by NaN at the end if the method takes them"
        ) from error
    if finite:
        check_finite(input_name, array, allow_nan=finite == "allow-nan")
    return array


def validate_data(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    multi_output: bool = False,
    y_numeric: bool = False,
    **checks: Any,
) -> Any:
    """scikit-learn's ``validate_data`` with `check_array`: return X, or (X, y) if there is a y."""
    points = check_array(X, estimator=estimator, **checks)
    validation.validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    if y is None or isinstance(y, str):
        return points
    return points, check_targets(y, points, multi_output, y_numeric, estimator=estimator)


def check_names(estimator: Any, X: Any) -> None:
    """Refuse points whose columns have other names, or another order, than the fitted ones."""
    validation.validate_data(estimator, X, reset=False, skip_check_array=True, ensure_2d=False)


def check_targets(
    y: Any,
    points: Array,
    multi_output: bool = False,
    y_numeric: bool = False,
    estimator: Any = None,
) -> Array:
    """Return checked labels or numbers, one for each point."""
    refuse_dask("y", y)
    refuse_masked("y", y)
    labels: Array = validation._check_y(y, multi_output, y_numeric, estimator=estimator)
    validation.check_consistent_length(points, labels)
    if labels.dtype.kind == "f":  # None has become NaN
        check_finite("y", labels)
    return labels


def as_floats(name: str, value: Any, *, single: bool = False) -> Array:
    """Return an array of any shape in float64; with ``single``, float32 is kept. NaN may occur."""
    if np.iscomplexobj(value):
        raise ParameterError(f"{name} needs real numbers, got complex ones: take .real or abs")
    return check_array(
        value,
        input_name=name,
        dtype=_FLOATS if single else np.float64,
        ensure_2d=False,
        allow_nd=True,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
    )


def check_finite(name: str, array: Array, allow_nan: bool = False) -> None:
    """Refuse NaN and infinity, naming the first such entry."""
    # In blocks, because the array may fill the memory.
    step = max(1, 2**20 // max(array[:1].size, 1))
    for start in range(0, len(array), step):
        rows = array[start : start + step]
        invalid = np.isinf(rows) if allow_nan else ~np.isfinite(rows)
        if not invalid.any():
            continue
        row, *columns = map(int, np.argwhere(invalid)[0])
        entry = (start + row, *columns)
        position = entry if columns else start + row
        raise ParameterError(
            f"{name} must be finite, but entry {position} is {array[entry]}: fill in or leave out "
            "rows with NaN or infinity"
        )


def refuse_masked(name: str, X: Any) -> None:
    """Refuse masked entries: NumPy and scikit-learn would read the values under the mask."""
    if np.ma.is_masked(X):
        raise ParameterError(f"{name} has {np.sum(X.mask)} masked entries: fill them")


def check_pixels(owner: str, shape: Iterable[int], d: int) -> None:
    """Refuse points of d features that are not images of this shape."""
    n_pixels = prod(shape)
    if n_pixels != d:
        raise ParameterError(f"{owner}: {shape} have {n_pixels} pixels, but X has {d} features")


def is_foreign(X: object) -> bool:
    """Whether X is an array of a library other than NumPy."""
    if isinstance(X, (np.ndarray, np.generic, list, tuple)) or is_dask(X):
        return False
    # PyTorch's tensors lack the method that the array API standard requires.
    return hasattr(X, "__array_namespace__") or type(X).__module__.split(".")[0] == "torch"


def are_matrices(X: object, Y: object) -> bool:
    """Whether X and Y are matrices of NumPy; Y may be None."""
    if type(X) is not np.ndarray or X.ndim != 2:
        return False
    return Y is None or (type(Y) is np.ndarray and Y.ndim == 2)


def is_plain(X: object) -> TypeGuard[Array]:
    """Whether X is a NumPy matrix of finite floats that needs no conversion.

    For a few points, scikit-learn's own check takes longer than a kernel matrix.

    >>> is_plain(np.ones((2, 3))), is_plain([[1.0]]), is_plain(np.full((2, 3), np.nan))
    (True, False, False)
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _PLAIN:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.size > 0 and isfinite(X.sum())


def _library(X: object) -> str:
    return type(X).__module__.split(".")[0].replace("jaxlib", "jax")


def _compat() -> Any:
    return need("array_api_compat", "arrays")


def namespace(X: Any) -> Any:
    """Return the array API namespace of an array; NumPy itself for NumPy's arrays."""
    if is_foreign(X):
        return _compat().array_namespace(X)
    return np


def detached(X: Any) -> Any:
    """Return an array of another library without the history of its derivatives."""
    if hasattr(X, "detach"):
        return X.detach()
    return X


def wants_gradient(X: Any) -> bool:
    """Whether derivatives with respect to an array of PyTorch are required."""
    if not _compat().is_torch_array(X):
        return False
    import torch
    from torch.autograd.forward_ad import unpack_dual

    # Derivatives in forward mode belong to the tensor itself, whatever it requires.
    backward = X.requires_grad and torch.is_grad_enabled()
    return bool(backward or unpack_dual(X).tangent is not None)


def check_arrays(owner: str, X: Any, Y: Any = None, n_features: int | None = None) -> Any:
    """Check points (n, d) and (m, d), at least one foreign, and return their array API namespace.

    Raises a TypeError for arrays of two libraries, of types other than float32 and float64, or
    without values (sparse, traced, on PyTorch's device meta); a ValueError for two devices, points
    of two spaces, empty arrays, and NaN or infinity.
    """
    compat = _compat()
    arrays = {"X": X}
    if Y is not None:
        arrays["Y"] = Y
    reference = "X" if is_foreign(X) else "Y"
    library = _library(arrays[reference])
    device = compat.device(arrays[reference])
    for name, array in arrays.items():
        if _library(array) != library:
            raise TypeError(
                f"{owner}: {reference} comes from {library} and {name} is a "
                f"{type(array).__name__}; give both in one library: "
                f"{library}.asarray(numpy.asarray({name}), dtype={reference}.dtype, "
                f"device={reference}.device)"
            )
    xp = compat.array_namespace(*arrays.values())
    expected_features = X.shape[-1:] if n_features is None else (n_features,)
    for name, array in arrays.items():
        label = f"{owner}: {name}"
        if array.dtype not in (xp.float32, xp.float64):
            raise TypeError(
                f"{label} is of type {array.dtype}: asarray({name}, dtype={library}.float32)"
            )
        _check_shape(label, array, expected_features)
        array_device = compat.device(array)
        if array_device != device:
            raise ValueError(
                f"{label} is on device {array_device} and {reference} on {device}: move one"
            )
        _check_values(label, array, xp)
    return xp


def _check_shape(label: str, array: Any, expected_features: tuple[int, ...]) -> None:
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{label} needs shape (n, d), got shape {tuple(array.shape)}")
    if array.shape[1:] != expected_features:
        raise ValueError(
            f"{label} has {array.shape[1]} features, but {expected_features[0]} are expected"
        )


def _check_values(label: str, array: Any, xp: Any) -> None:
    """Refuse foreign arrays without values, and values that are not finite."""
    try:
        if type(array).__name__.endswith("Tracer"):  # some of JAX's tracers have values
            raise TypeError(type(array).__name__)
        finite = bool(xp.all(xp.isfinite(array)))
    except Exception as error:  # sparse and traced arrays, and those on device meta
        raise TypeError(
            f"{label} has no values to look at: make it dense, and call this outside of jit and "
            "grad"
        ) from error
    if not finite:
        raise ValueError(f"{label} contains NaN or infinity")


def numpy_only(owner: str, alternative: str, X: Any, Y: Any = None) -> NoReturn:
    """Refuse arrays, at least one of them foreign, and name the conversion to NumPy."""
    conversions = []
    loses_gradient = False
    for name, array in (("X", X), ("Y", Y)):
        if not is_foreign(array):
            continue
        if _library(array) == "torch":
            conversions.append(f"{name}.detach().cpu().numpy()")
        else:
            conversions.append(f"numpy.asarray({name})")
        loses_gradient = loses_gradient or wants_gradient(array)
    advice = f", or {alternative}"
    if loses_gradient:
        advice = f"; no gradient passes through these: to learn with respect to them, {alternative}"
    raise TypeError(f"{owner} takes NumPy arrays only; pass {' and '.join(conversions)}{advice}")


def refuse_gradient(owner: str, X: Any, reason: str = "computes in part with NumPy") -> None:
    """Raise a ValueError if a gradient with respect to X is required and would be lost."""
    if wants_gradient(X):
        raise ValueError(
            f"{owner} {reason} and has no gradient: for its values alone pass X.detach(), through "
            f"which nothing is learned; to learn with respect to X {_WITH_GRADIENT}"
        )


def on_host(X: Any, owner: str = "on_host") -> Array:
    """Return X for NumPy: a copy, or a view of the host's memory; see `refuse_gradient`."""
    refuse_gradient(owner, X)
    if _compat().is_torch_array(X):
        X = X.detach().cpu()
    elif _compat().is_cupy_array(X):
        X = X.get()
    else:  # NumPy can read arrays on a library's default device
        X = X.to_device(namespace(X).__array_namespace_info__().default_device())
    return np.asarray(X)


def on_cpu(X: Any) -> bool:
    """Whether NumPy can read an array of another library without moving it."""
    return str(_compat().device(X)).lower().startswith("cpu")


def like(A: Array, X: Any) -> Any:
    """Return a NumPy array in the library, on the device and in the precision of X."""
    if not is_foreign(X):
        return A.astype(X.dtype, copy=False)
    compat = _compat()
    xp = compat.array_namespace(X)
    dtype = np.float32 if X.dtype == xp.float32 else np.float64
    A = np.require(A, dtype, ["C", "W"])
    return xp.asarray(A, device=compat.device(X))
