"""Arrays that come in: NumPy's, checked and converted; and those of other libraries.

Every public function and estimator lets its points in through `check_array` or `validate_data`,
which are scikit-learn's and refuse more: masked entries, and NaN or infinity by the entry's place.
float32 and float64 stay as they are; everything else becomes float64; nothing is written to.

Feature maps over orbits and most kernels also take float32 or float64 arrays of PyTorch and of
other libraries that array-api-compat knows, and return theirs. What is linear in the number of
points (drawing templates, group actions, lifts) is done by NumPy on the host; what is a product of
sizes runs in the library and on the device of the arrays, and PyTorch's gradients pass through it.
"""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import validation

from .extras import need
from .parameters import ParameterError, short

_FLOATS = (np.float64, np.float32)
#: What gradients pass through.
_WITH_GRADIENT = (
    "take what has one: Gaussian and the like, Average and BestFit of points that are not "
    "transformed, OrbitFourier.transform"
)


def check_array(X: Any, *, input_name: str = "X", **how: Any) -> NDArray[Any]:
    """scikit-learn's ``check_array`` for finite floats, without masks; ``how`` as there.

    Raises a `ParameterError` also for masked entries, and names the first NaN or infinity (that
    alone where ``ensure_all_finite`` is "allow-nan").

    >>> check_array(np.ones((2, 1), dtype=np.float16)).dtype
    dtype('float64')
    >>> check_array([[1.0], [np.nan]])
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: X must be finite, but entry (1, 0) is nan: fill in \
or leave out rows with NaN or infinity
    """
    finite = how.pop("ensure_all_finite", True)
    refuse_masked(input_name, X)
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        raise ParameterError(f"Complex data not supported: {input_name} needs real numbers")
    try:
        array: NDArray[Any] = validation.check_array(
            X, input_name=input_name, ensure_all_finite=False, **{"dtype": _FLOATS} | how
        )
    except OverflowError:
        raise ParameterError(f"{input_name} needs numbers below 1e308, got {short(X)}") from None
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
    **how: Any,
) -> Any:
    """scikit-learn's ``validate_data`` by `check_array`: X, or (X, y) where y is given."""
    points = check_array(X, estimator=estimator, **how)
    validation.validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    if y is None or isinstance(y, str):
        return points
    return points, check_targets(y, points, multi_output, y_numeric, estimator=estimator)


def check_targets(
    y: Any, points: NDArray[Any], multi_output: bool = False, y_numeric: bool = False, **how: Any
) -> NDArray[Any]:
    """Labels or numbers, one of them for each of the points."""
    refuse_masked("y", y)
    labels: NDArray[Any] = validation._check_y(y, multi_output, y_numeric, **how)
    validation.check_consistent_length(points, labels)
    if labels.dtype.kind == "f":  # NaN may have been None
        check_finite("y", labels)
    return labels


def as_floats(name: str, value: Any, *, single: bool = False) -> NDArray[Any]:
    """An array of any shape in float64, or in float32 where ``single`` and given so; also NaN."""
    shapes = {"ensure_2d": False, "allow_nd": True, "ensure_min_samples": 0}
    dtype = _FLOATS if single else np.float64
    how: dict[str, Any] = {"ensure_min_features": 0, "ensure_all_finite": False, "dtype": dtype}
    if np.iscomplexobj(value):
        raise ParameterError(f"{name} needs real numbers, got complex ones: take .real or abs")
    return check_array(value, input_name=name, **shapes, **how)


def check_finite(what: str, array: NDArray[Any], allow_nan: bool = False) -> None:
    """Refuse NaN and infinity, naming the first such entry."""
    step = max(1, 2**20 // max(array[:1].size, 1))  # the array may fill the memory
    for start in range(0, len(array), step):
        rows = array[start : start + step]
        broken = np.isinf(rows) if allow_nan else ~np.isfinite(rows)
        if broken.any():
            first, *rest = map(int, np.argwhere(broken)[0])
            entry = (start + first, *rest)
            raise ParameterError(
                f"{what} must be finite, but entry {entry if rest else entry[0]} is "
                f"{array[entry]}: fill in or leave out rows with NaN or infinity"
            )


def refuse_masked(name: str, X: Any) -> None:
    """NumPy and scikit-learn would read what lies under the mask."""
    if np.ma.is_masked(X):
        raise ParameterError(f"{name} has {np.sum(X.mask)} masked entries: fill them")


def check_pixels(owner: str, shape: Any, d: int) -> None:
    """Refuse points of d features that are no images of a shape."""
    if prod(shape) != d:
        raise ParameterError(f"{owner}: {shape} have {prod(shape)} pixels, but X has {d} features")


def is_foreign(X: Any) -> bool:
    """Whether X is an array of a library other than NumPy."""
    if isinstance(X, (np.ndarray, np.generic, list, tuple)):
        return False
    # PyTorch's tensors do not announce themselves as the standard asks
    return hasattr(X, "__array_namespace__") or type(X).__module__.split(".")[0] == "torch"


def is_plain(X: Any) -> TypeGuard[NDArray[Any]]:
    """Whether X is NumPy's, a matrix of finite floats that needs no conversion.

    scikit-learn's own check of a few points takes longer than what is computed of them.

    >>> is_plain(np.ones((2, 3))), is_plain([[1.0]]), is_plain(np.full((2, 3), np.nan))
    (True, False, False)
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.size > 0 and bool(np.isfinite(X.sum()))


def _library(X: Any) -> str:
    return type(X).__module__.split(".")[0].replace("jaxlib", "jax")


def _compat() -> Any:
    return need("array_api_compat", "arrays")


def namespace(X: Any) -> Any:
    """The array API namespace of an array; NumPy for NumPy's."""
    return _compat().array_namespace(X) if is_foreign(X) else np


def detached(X: Any) -> Any:
    """An array of another library without the history of its derivatives."""
    return X.detach() if hasattr(X, "detach") else X


def wants_gradient(X: Any) -> bool:
    """Whether derivatives with respect to an array of PyTorch are asked for."""
    if not _compat().is_torch_array(X):
        return False
    import torch
    from torch.autograd.forward_ad import unpack_dual

    # derivatives in forward mode go with the tensor itself, whatever it requires
    backward = X.requires_grad and torch.is_grad_enabled()
    return bool(backward or unpack_dual(X).tangent is not None)


def check_arrays(owner: str, X: Any, Y: Any = None, n_features: int | None = None) -> Any:
    """The array API namespace of points (n, d) and (m, d), at least one foreign, after a check.

    Raises a TypeError for arrays of two libraries, of other types than float32 and float64, or
    without values (sparse, traced, on PyTorch's device meta); a ValueError for two devices, points
    of two spaces, empty or not finite ones.
    """
    compat = _compat()
    arrays = {"X": X} if Y is None else {"X": X, "Y": Y}
    known = "X" if is_foreign(X) else "Y"
    library, device = _library(arrays[known]), compat.device(arrays[known])
    for name, array in arrays.items():
        if _library(array) != library:
            raise TypeError(
                f"{owner}: {known} comes from {library} and {name} is a {type(array).__name__}; "
                f"give both in one library: {library}.asarray(numpy.asarray({name}), "
                f"dtype={known}.dtype, device={known}.device)"
            )
    xp = compat.array_namespace(*arrays.values())
    for name, array in arrays.items():
        what, due = f"{owner}: {name}", X.shape[-1:] if n_features is None else (n_features,)
        if array.dtype not in (xp.float32, xp.float64):
            mend = f"asarray({name}, dtype={library}.float32)"
            raise TypeError(f"{what} is of type {array.dtype}: {mend}")
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(f"{what} needs shape (n, d), got shape {tuple(array.shape)}")
        if array.shape[1:] != due:
            raise ValueError(f"{what} has {array.shape[1]} features, but {due[0]} are expected")
        if (there := compat.device(array)) != device:
            raise ValueError(f"{what} is on device {there} and {known} on {device}: move one")
        try:
            if type(array).__name__.endswith("Tracer"):  # JAX's, some of which have values
                raise TypeError(type(array).__name__)
            finite = bool(xp.all(xp.isfinite(array)))
        except Exception as error:  # of sparse and traced arrays, and those on device meta
            mend = "make it dense, and call this outside of jit and grad"
            raise TypeError(f"{what} has no values to look at: {mend}") from error
        if not finite:
            raise ValueError(f"{what} contains NaN or infinity")
    return xp


def numpy_only(owner: str, alternative: str, X: Any, Y: Any = None) -> NoReturn:
    """Refuse arrays of which at least one is foreign, with the way to convert them."""
    how = {"torch": "{}.detach().cpu().numpy()"}
    foreign = {name: A for name, A in (("X", X), ("Y", Y)) if is_foreign(A)}
    ways = [how.get(_library(A), "numpy.asarray({})").format(k) for k, A in foreign.items()]
    lost = any(wants_gradient(A) for A in foreign.values())
    warned = f"; no gradient passes through these: to learn with respect to them, {alternative}"
    said = warned if lost else f", or {alternative}"
    raise TypeError(f"{owner} takes NumPy arrays only; pass {' and '.join(ways)}{said}")


def refuse_gradient(owner: str, X: Any, reason: str = "computes in part with NumPy") -> None:
    """Raise a ValueError where a gradient with respect to X is asked for and would be lost."""
    if wants_gradient(X):
        raise ValueError(
            f"{owner} {reason} and has no gradient: for its values alone pass X.detach(), through "
            f"which nothing is learned; to learn with respect to X {_WITH_GRADIENT}"
        )


def on_host(X: Any, owner: str = "on_host") -> NDArray[Any]:
    """A copy for NumPy (or a view where the memory is the host's); see `refuse_gradient`."""
    refuse_gradient(owner, X)
    if _compat().is_torch_array(X):
        X = X.detach().cpu()
    elif _compat().is_cupy_array(X):
        X = X.get()
    else:  # NumPy reads what lies on a library's default device
        X = X.to_device(namespace(X).__array_namespace_info__().default_device())
    return np.asarray(X)


def on_cpu(X: Any) -> bool:
    """Whether NumPy reads an array of another library where it is."""
    return str(_compat().device(X)).lower().startswith("cpu")


def like(A: NDArray[Any], X: Any) -> Any:
    """A NumPy array in the library, on the device and in the precision of X."""
    if not is_foreign(X):
        return A.astype(X.dtype, copy=False)
    compat = _compat()
    xp = compat.array_namespace(X)
    A = np.require(A, np.float32 if X.dtype == xp.float32 else np.float64, ["C", "W"])
    return xp.asarray(A, device=compat.device(X))
