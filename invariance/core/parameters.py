"""Kinds of parameters: declared once for each class, checked and converted in one place.

`stores_parameters` writes a constructor that only stores, as scikit-learn requires.
`check_parameters` compares the parameters of an object with their kinds at their first use. It also
converts them to plain Python numbers, because NumPy's small integers overflow. Conditions that a
kind cannot express are checked by the class itself, which raises a `ParameterError` as well.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from math import inf
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, TypeGuard, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

#: Parameters that do not change results; signatures list them last, after `random_state`.
_PLUMBING = ("block_bytes", "n_jobs", "verbose")
#: Order of the last parameters in signatures.
_LAST_PARAMETERS = ("random_state", *_PLUMBING)

#: Types that Python counts as numbers, but that are not accepted as numbers here.
_BOOLS = (bool, np.bool_)
#: Largest magnitude of numbers whose products do not overflow.
_LARGEST = 1e150
#: Smallest positive number that may be divided by.
_SMALLEST = 1e-300


class ParameterError(ValueError, TypeError):
    """An invalid parameter value; the message names the parameter, its value and the remedy."""


def plain(value: Any) -> Any:
    """Return NumPy's scalars as Python's, and arrays of narrow numbers as int64 or float64.

    >>> plain(np.uint8(200)), plain((np.int16(3), 4)), plain(np.array([200], np.uint8)).dtype
    (200, (3, 4), dtype('int64'))
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)) and any(isinstance(entry, np.generic) for entry in value):
        return type(value)(map(plain, value))
    if isinstance(value, np.ndarray):
        return _widened(value)
    return value


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    """Return integers as int64 and floats other than float32 as float64."""
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f" and array.dtype != np.float32:
        return array.astype(np.float64, copy=False)
    return array


@dataclass(frozen=True)
class Kind:
    """Values that a parameter may take; ``a | b`` accepts the values of both, or also None.

    Attributes
    ----------
    words : str
        Description of the values in messages.
    accepts : callable
        Whether a value is of this kind.
    convert : callable
        Converts an accepted value to the form that code computes with.
    """

    words: str
    accepts: Callable[[Any], bool]
    convert: Callable[[Any], Any] = plain

    def __or__(self, other: Kind | None) -> Kind:
        if other is None:
            # None is tested first because it is the quickest test.
            return _either(_NONE, self, words=f"{self.words} or None")
        return _either(self, other, words=f"{self.words} or {other.words}")

    __ror__ = __or__


def _either(first: Kind, second: Kind, words: str) -> Kind:
    def accepts(value: object) -> bool:
        return first.accepts(value) or second.accepts(value)

    def convert(value: Any) -> Any:
        if first.accepts(value):
            return first.convert(value)
        return second.convert(value)

    return Kind(words, accepts, convert)


_NONE = Kind("None", lambda value: value is None)


def _range(
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> str:
    """Describe an interval, such as " >= 0 and < 1"; an empty string if it has no ends."""
    ends = {">=": least, ">": above, "<=": most, "<": below}
    parts = [f" {sign} {end:g}" for sign, end in ends.items() if end is not None]
    return " and".join(parts)


def _is_integer(value: object) -> TypeGuard[Integral]:
    return isinstance(value, Integral) and not isinstance(value, _BOOLS)


def Whole(least: int | None = None, most: int | None = None) -> Kind:
    """Whole numbers in [least, most], below 2**31 without ``most``; True and 3.0 are not accepted.

    >>> Whole(1).accepts(3), Whole(1).accepts(True), Whole(1).accepts(3.0), Whole(1).accepts(0)
    (True, False, False, False)
    """
    highest = 2**31 - 1 if most is None else most

    def accepts(value: object) -> bool:
        if not _is_integer(value):
            return False
        number = int(value)
        return number <= highest and (least is None or number >= least)

    # Very high bounds are technical and would not help in a message.
    shown_most = most if highest < 2**62 else None
    return Kind("a whole number" + _range(least=least, most=shown_most), accepts, int)


def _plain_number(value: Real) -> int | float:
    if isinstance(value, Integral):
        return int(value)
    return float(value)


def Number(
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Kind:
    """Finite real numbers in [least, most]; ``above`` and ``below`` exclude the end itself.

    Unless ``most`` allows more, magnitudes are at most 1e150, so that products with data do not
    overflow, and whole numbers are below 2**53. Positive numbers are at least 1e-300, so that they
    can be divided by.

    >>> [Number(above=0).accepts(value) for value in (0.5, 0, 1e160, 10**30)]
    [True, False, False, False]
    """
    highest = _LARGEST if most is None else most
    largest_integer = 2**53 if most is None else 10**308
    if above == 0:
        lowest = _SMALLEST
    elif least is None:
        lowest = -highest
    else:
        lowest = least

    def accepts(value: object) -> bool:
        if not isinstance(value, Real) or isinstance(value, _BOOLS):
            return False
        # Python's own numbers: NumPy would cast the bounds to a short type.
        number = _plain_number(value)
        if isinstance(number, int) and abs(number) >= largest_integer:
            return False
        if above is not None and not number > above:
            return False
        if below is not None and not number < below:
            return False
        return lowest <= number <= highest

    shown_most = None if most == 1e308 else most  # 1e308 allows any float
    words = "a finite number" + _range(least=least, above=above, most=shown_most, below=below)
    return Kind(words, accepts, _plain_number)


def Positive() -> Kind:
    """Finite numbers > 0."""
    return Number(above=0)


def OneOf(*values: str | int) -> Kind:
    """One of several strings or whole numbers.

    >>> OneOf("cos", "sin").words
    "'cos' or 'sin'"
    """
    *names, last_name = map(repr, values)

    def accepts(value: object) -> bool:
        return (isinstance(value, str) or _is_integer(value)) and value in values

    words = f"{', '.join(names)} or {last_name}" if names else last_name
    return Kind(words, accepts)


def Flag() -> Kind:
    """True or False."""
    return Kind("True or False", lambda value: isinstance(value, _BOOLS), bool)


def Text() -> Kind:
    """Any string."""
    return Kind("a string", lambda value: isinstance(value, str))


def Seed(*, fixed: bool = False) -> Kind:
    """Seeds for scikit-learn's ``check_random_state``; ``fixed`` accepts whole numbers only."""
    integer = Kind("a whole number from 0 to 2**32 - 1", Whole(0, 2**32 - 1).accepts, int)
    if fixed:
        return integer
    state = Kind("a RandomState", lambda value: isinstance(value, np.random.RandomState))
    return integer | state | None


def Shape(*lengths: int) -> Kind:
    """Tuples (or lists, or arrays) of ``lengths`` whole numbers >= 1, such as image shapes."""
    side = Whole(1)

    def accepts(value: Any) -> bool:
        if not isinstance(value, (tuple, list)) and getattr(value, "ndim", 0) != 1:
            return False
        return len(value) in lengths and all(map(side.accepts, value))

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return tuple(map(int, value))
        return plain(value)

    allowed = " or ".join(map(str, lengths))
    return Kind(f"a tuple of {allowed} whole numbers >= 1", accepts, convert)


def _as_numbers(value: object, dtype_kinds: str) -> NDArray[Any] | None:
    """Return the value as an unmasked array of numbers; None if it is not one."""
    if isinstance(value, (str, bytes, type)) or value is None or callable(value):
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # PyTorch refuses tensors that need gradients
        return None
    if array.dtype.kind not in dtype_kinds or np.ma.is_masked(value):
        return None
    return array


def Array(
    ndim: int | None = None,
    whole: bool = False,
    least: float | None = None,
    above: float | None = None,
    empty: bool = False,
    most: float | None = None,
) -> Kind:
    """Arrays of finite numbers, or array-likes; ``ndim`` None is any number of axes.

    Entries lie in [least, most] and above ``above``, their magnitudes below 1e150 unless ``most``
    allows more. Masked arrays are refused. Integers become int64, floats other than float32
    float64.
    """
    dtype_kinds = "iu" if whole else "iuf"
    lowest = np.float64(-_LARGEST if least is None else least)

    def accepts(value: object) -> bool:
        array = _as_numbers(value, dtype_kinds)
        if array is None or (array.size == 0 and not empty):
            return False
        if ndim is not None and array.ndim != ndim:
            return False
        if most is not None:
            highest = most
        elif array.dtype.kind == "u":
            highest = 9e18  # int64 holds these
        else:
            highest = _LARGEST
        # float32 arrays are compared with float64 ends, which are not rounded; NaN fails.
        inside = (array <= np.float64(highest)) & (array >= lowest)
        if above is not None:
            inside &= array > np.float64(above)
        return bool(np.all(inside))

    def convert(value: Any) -> Any:
        array = np.asarray(value)
        is_wide = array.dtype in (np.float64, np.float32, np.int64)
        if is_wide and not isinstance(value, np.ma.MaskedArray):
            return value
        return plain(array)

    axes = {None: "an array", 0: "a number", 1: "a sequence"}.get(ndim, f"an array of {ndim} axes")
    entries = "whole numbers" if whole else "finite numbers"
    minimum = "" if empty else ", at least one"
    words = f"{axes} of {entries}{_range(least=least, above=above, most=most)}{minimum}"
    return Kind(words, accepts, convert)


def Has(words: str, *names: str) -> Kind:
    """Objects (not classes) with these methods or attributes; ``words`` describes them."""

    def accepts(value: object) -> bool:
        return not isinstance(value, type) and all(hasattr(value, name) for name in names)

    return Kind(words, accepts)


def Each(kind: Kind) -> Kind:
    """Lists or tuples of at least one object, all of one kind."""

    def accepts(value: object) -> bool:
        return isinstance(value, (list, tuple)) and bool(value) and all(map(kind.accepts, value))

    return Kind(f"a sequence, at least one, each {kind.words}", accepts)


#: Values of a parameter ``block_bytes``.
BLOCK_BYTES = Whole(1, 2**63 - 1) | None
#: Fields that many classes have.
BlockBytes = Annotated[int | None, BLOCK_BYTES]
Jobs = Annotated[int | None, Whole(1) | Whole(None, -1) | None]
Verbose = Annotated[int, Whole(0) | Flag()]
RandomState = Annotated[Any, Seed()]


def short(value: object, length: int = 100) -> str:
    """Return the ``repr`` of a value for a message, shortened if it is long."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape} and type {value.dtype}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a broken __repr__ of the user's must not hide the message
        text = f"an object of type {type(value).__name__}"
    if len(text) <= length:
        return text
    half = length // 2
    return f"{text[:half]}...{text[half + 3 - length :]}"


def _largest_finite(values: object) -> float:
    """Return the largest absolute value of an array; zero if one is infinite, NaN or no number."""
    try:
        magnitudes = np.abs(np.asarray(values, dtype=float))
    except (ValueError, TypeError, OverflowError):
        return 0.0
    if not magnitudes.size or not np.isfinite(magnitudes).all():
        return 0.0
    return float(magnitudes.max())


def _remedy(value: object) -> str:
    """Explain why a value is refused that looks valid: its size or its type."""
    if isinstance(value, _BOOLS):
        return ", a bool"
    if isinstance(value, type):
        return f"; make an instance of the class, {value.__name__}(...)"
    if isinstance(value, (list, tuple, np.ndarray)):
        return _remedy(_largest_finite(value))
    if not isinstance(value, Real) or value in (0, inf, -inf):
        return ""
    magnitude: Any = abs(value)
    if magnitude > _LARGEST:
        return ": magnitudes beyond 1e150 overflow when they are multiplied; rescale the data"
    if 0 < magnitude < _SMALLEST:
        return ": magnitudes below 1e-300 overflow when they divide; rescale the data"
    return ""


def check_values(
    owner: str, kinds: Mapping[str, Kind], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of parameters, converted by their kinds; values without a kind stay.

    Raises a `ParameterError`, which names ``owner``, for the first value that is not of its kind.

    >>> check_values("Ball", {"radius": Positive()}, {"radius": np.float32(0.5)})
    {'radius': 0.5}
    """
    checked = dict(values)
    for name, value in values.items():
        kind = kinds.get(name)
        if kind is None:
            continue
        if not kind.accepts(value):
            raise ParameterError(
                f"{owner} needs {name} to be {kind.words}, got {short(value)}{_remedy(value)}"
            )
        checked[name] = kind.convert(value)
    return checked


def arguments(**kinds: Kind) -> Callable[[_Function], _Function]:
    """Decorate a function or method so that its arguments are checked and converted.

    >>> arguments(n=Whole(1))(lambda n: 2 * n)(np.uint8(200))
    400
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            owner = function.__name__
            if "self" in bound.arguments:
                owner = f"{type(bound.arguments['self']).__name__}.{owner}"
            bound.arguments = check_values(owner, kinds, bound.arguments)
            return function(*bound.args, **bound.kwargs)

        return call  # type: ignore[return-value]

    return decorate


#: Stands for a default that must be checked; it is equal to no value.
_UNCHECKED = object()


def check_parameters(estimator: Any) -> None:
    """Check an object's parameters (see `stores_parameters`), and store them converted."""
    cls: Any = type(estimator)
    defaults = getattr(cls, "_defaults", {})
    changed = {}
    for name in cls._parameters:
        value = getattr(estimator, name)
        if value is not defaults.get(name, _UNCHECKED):
            changed[name] = value
    for name, value in check_values(cls.__name__, cls._parameters, changed).items():
        if value is not changed[name]:
            setattr(estimator, name, value)


@dataclass_transform(field_specifiers=(field,))
def stores_parameters(cls: _Class) -> _Class:
    """Give a class a constructor that stores its annotated fields, which may declare their kinds.

    Fields of base classes and ``_: KW_ONLY`` work as in a dataclass. The kinds are collected in
    ``_parameters``, together with those of the base class. In the signature, keyword-only
    parameters that carry meaning come before `random_state`, `block_bytes`, `n_jobs` and `verbose`.

    >>> @stores_parameters
    ... class Ball:
    ...     n_features: int
    ...     radius: Annotated[float, Positive()] = 1.0
    >>> inspect.signature(Ball)
    <Signature (n_features: 'int', radius=1.0)>
    >>> check_parameters(Ball(3, radius=-1.0))
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: Ball needs radius to be a finite number > 0, got -1.0
    """
    hints: dict[str, Any] = inspect.get_annotations(cls, eval_str=True)
    texts: dict[str, Any] = {}
    kinds: dict[str, Kind] = {}
    required: list[str] = []
    for name, hint in hints.items():
        if name == "_" or getattr(hint, "__origin__", None) is ClassVar:
            continue
        texts[name] = _type_text(cls.__annotations__[name], hint)
        if hasattr(hint, "__metadata__"):
            kinds[name] = hint.__metadata__[0]
        if name not in vars(cls):
            required.append(name)
            # Without this, an attribute of a base class would be taken for the default.
            setattr(cls, name, field())
    cls.__annotations__ = hints | texts
    made: Any = dataclass(eq=False, repr=False)(cls)
    for name in required:
        # This hides a property of a base class, which the constructor could not set.
        setattr(made, name, None)
    base: Any = super(made, made)
    explicit_kinds = vars(cls).get("_parameters", {})
    made._parameters = getattr(base, "_parameters", {}) | explicit_kinds | kinds
    made._defaults = dict(getattr(base, "_defaults", {}))
    for name, kind in kinds.items():
        default = getattr(made, name)
        made._defaults[name] = default if kind.accepts(default) else _UNCHECKED
    made.__init__.__signature__ = _ordered_signature(made.__init__)
    return made  # type: ignore[no-any-return]


def _type_text(annotation: Any, hint: Any) -> str:
    """Return the type of a field as in its source, without the kind that ``Annotated`` adds."""
    if not isinstance(annotation, str):
        origin = hint.__origin__ if hasattr(hint, "__metadata__") else hint
        return inspect.formatannotation(origin)
    expression = ast.parse(annotation, mode="eval").body
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Tuple):
        if ast.unparse(expression.value) == "Annotated":
            return ast.unparse(expression.slice.elts[0])
    if hasattr(hint, "__metadata__"):  # an alias of an annotated type, such as BlockBytes
        return inspect.formatannotation(hint.__origin__)
    return annotation


def _ordered_signature(init: Callable[..., None]) -> inspect.Signature:
    """Return the signature of a constructor with plumbing last.

    A parameter shows its type if it has no default, or None: other defaults show it themselves. The
    last parameters have the meaning that they have in scikit-learn and need no type.
    """
    parameters = []
    last_parameters = {}
    for name, parameter in inspect.signature(init).parameters.items():
        shows_type = parameter.default is not parameter.empty and parameter.default is not None
        if name in _LAST_PARAMETERS or shows_type:
            parameter = parameter.replace(annotation=parameter.empty)
        if name in _LAST_PARAMETERS and parameter.kind is parameter.KEYWORD_ONLY:
            last_parameters[name] = parameter
        else:
            parameters.append(parameter)
    for name in _LAST_PARAMETERS:
        if name in last_parameters:
            parameters.append(last_parameters[name])
    return inspect.Signature(parameters)


def check_memory(owner: str, n_bytes: int, **counts: object) -> None:
    """Refuse counts that need more memory than this machine has."""
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        available = 2**40
    if n_bytes > available:
        named = ", ".join(f"{name}={count}" for name, count in counts.items() if count is not None)
        raise ParameterError(f"{owner}: {named} needs more memory than is here: take fewer")
