"""What parameters may be: declared once for each class, checked and converted in one place.

`stores_parameters` writes a constructor that only stores, as scikit-learn asks. `check_parameters`
compares an object with the kinds of its parameters where they are first used, and leaves plain
Python numbers behind, so that NumPy's small integers cannot overflow later. What a kind cannot say,
the class checks itself and reports as a `ParameterError` as well.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from math import inf
from numbers import Integral, Real
from operator import is_
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


class ParameterError(ValueError, TypeError):
    """A parameter that is not what it may be; the message names it, its value and the remedy."""


def plain(value: Any) -> Any:
    """NumPy's scalars as Python's, and arrays of narrow numbers as int64 or float64.

    >>> plain(np.uint8(200)), plain((np.int16(3), 4)), plain(np.array([200], np.uint8)).dtype
    (200, (3, 4), dtype('int64'))
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.generic) for v in value):
        return type(value)(map(plain, value))
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        return value
    wide = np.int64 if value.dtype.kind in "iu" else np.float64
    return value if value.dtype in (np.float32, wide) else value.astype(wide)


@dataclass(frozen=True)
class Kind:
    """Values that a parameter may take, as ``accepts`` says; ``a | b`` is either, or None.

    ``words`` say in messages what they are; ``convert`` makes them what code may compute with.
    """

    words: str
    accepts: Callable[[Any], bool]
    convert: Callable[[Any], Any] = plain

    def __or__(self, other: Kind | None) -> Kind:
        first, last = (self, other) if other else (_NOTHING, self)
        return Kind(
            f"{self.words} or {other.words if other else 'None'}",
            lambda value: first.accepts(value) or last.accepts(value),
            lambda value: (first if first.accepts(value) else last).convert(value),
        )

    __ror__ = __or__


_NOTHING = Kind("None", partial(is_, None))

#: Numbers in Python, and none to us.
_BOOLS = bool, np.bool_


def _range(**ends: float | None) -> str:
    signs = {"least": ">=", "above": ">", "most": "<=", "below": "<"}
    parts = [f" {signs[name]} {end:g}" for name, end in ends.items() if end is not None]
    return " and".join(parts)


def Whole(least: int | None = None, most: int | None = None) -> Kind:
    """Whole numbers in [least, most], below 2**31 without ``most``; True and 3.0 are none.

    >>> Whole(1).accepts(3), Whole(1).accepts(True), Whole(1).accepts(3.0), Whole(1).accepts(0)
    (True, False, False, False)
    """
    highest = 2**31 - 1 if most is None else most

    def accepts(value: Any) -> bool:
        whole = isinstance(value, Integral) and not isinstance(value, _BOOLS)
        return whole and (least is None or int(value) >= least) and int(value) <= highest

    told = most if highest < 2**62 else None  # beyond, a bound tells nobody much
    return Kind("a whole number" + _range(least=least, most=told), accepts, int)


def Number(
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Kind:
    """Finite real numbers in [least, most]; ``above`` and ``below`` leave out the end itself.

    Unless ``most`` allows more, magnitudes reach 1e150, so that products with data do not overflow,
    and those of whole numbers 2**53. What lies above zero does so by 1e-300, to be divided by.

    >>> [Number(above=0).accepts(value) for value in (0.5, 0, 1e160, 10**30)]
    [True, False, False, False]
    """
    highest = 1e150 if most is None else most
    lowest = -highest if least is None else least
    lowest = 1e-300 if above == 0 else lowest

    def accepts(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, _BOOLS):
            return False
        if isinstance(value, Integral) and abs(int(value)) >= (2**53 if most is None else 10**308):
            return False
        # Python's own: NumPy would cast the bounds to a short type.
        value = int(value) if isinstance(value, Integral) else float(value)
        inside = (above is None or value > above) and (below is None or value < below)
        return bool(inside and lowest <= value <= highest)

    told = None if most == 1e308 else most  # any float
    words = "a finite number" + _range(least=least, above=above, most=told, below=below)
    return Kind(words, accepts, lambda v: int(v) if isinstance(v, Integral) else float(v))


def Positive() -> Kind:
    """Finite numbers > 0."""
    return Number(above=0)


def OneOf(*values: str | int) -> Kind:
    """One of some strings or whole numbers.

    >>> OneOf("cos", "sin").words
    "'cos' or 'sin'"
    """
    *most, last = map(repr, values)

    def accepts(value: Any) -> bool:
        known = isinstance(value, (str, Integral)) and not isinstance(value, _BOOLS)
        return known and value in values

    return Kind(f"{', '.join(most)} or {last}" if most else last, accepts)


def Flag() -> Kind:
    """True or False."""
    return Kind("True or False", lambda value: isinstance(value, (bool, np.bool_)), bool)


def Text() -> Kind:
    """Any string."""
    return Kind("a string", lambda value: isinstance(value, str))


def Seed(*, fixed: bool = False) -> Kind:
    """What scikit-learn's ``check_random_state`` takes; ``fixed`` leaves whole numbers only."""
    whole = Kind("a whole number from 0 to 2**32 - 1", Whole(0, 2**32 - 1).accepts, int)
    state = Kind("a RandomState", lambda value: isinstance(value, np.random.RandomState))
    return whole if fixed else whole | state | None


def Shape(*lengths: int) -> Kind:
    """Tuples (or lists, or arrays) of ``lengths`` whole numbers >= 1, such as image shapes."""

    def accepts(value: Any) -> bool:
        known = isinstance(value, (tuple, list)) or getattr(value, "ndim", 0) == 1
        return known and len(value) in lengths and all(map(Whole(1).accepts, value))

    def convert(value: Any) -> Any:
        return tuple(map(int, value)) if isinstance(value, np.ndarray) else plain(value)

    words = f"a tuple of {' or '.join(map(str, lengths))} whole numbers >= 1"
    return Kind(words, accepts, convert)


def Array(
    ndim: int | None = None,
    whole: bool = False,
    least: float | None = None,
    above: float | None = None,
    empty: bool = False,
    most: float | None = None,
) -> Kind:
    """Arrays of finite numbers, or what NumPy makes one of; ``ndim`` None is any number of axes.

    Entries lie in [least, most] and above ``above``, their magnitudes below 1e150 unless ``most``
    allows more. Masked ones are refused. Integers become int64, all but float32 float64.
    """

    def accepts(value: Any) -> bool:
        if isinstance(value, (str, bytes, type)) or value is None or callable(value):
            return False
        try:
            array = np.asarray(value)
        except (ValueError, TypeError, RuntimeError):  # PyTorch's, where gradients are asked for
            return False
        if array.dtype.kind not in ("iu" if whole else "iuf") or (array.size == 0 and not empty):
            return False
        if (ndim is not None and array.ndim != ndim) or np.ma.is_masked(value):
            return False
        highest = (9e18 if array.dtype.kind == "u" else 1e150) if most is None else most
        lowest = -1e150 if least is None else least
        # float64 ends, which float32 arrays are compared with unrounded; NaN is in no interval
        inside = (array <= np.float64(highest)) & (array >= np.float64(lowest))
        return bool(inside.all() and (above is None or (array > np.float64(above)).all()))

    def convert(value: Any) -> Any:
        array = np.asarray(value)
        narrow = array.dtype not in (np.float64, np.float32, np.int64)
        return plain(array) if narrow or isinstance(value, np.ma.MaskedArray) else value

    axes = {None: "an array", 0: "a number", 1: "a sequence"}.get(ndim, f"an array of {ndim} axes")
    what = "whole numbers" if whole else "finite numbers"
    some = "" if empty else ", at least one"
    words = f"{axes} of {what}{_range(least=least, above=above, most=most)}{some}"
    return Kind(words, accepts, convert)


def Has(words: str, *names: str) -> Kind:
    """Objects (no classes) with some methods or attributes; ``words`` says what they are."""
    return Kind(words, lambda v: not isinstance(v, type) and all(map(partial(hasattr, v), names)))


def Each(kind: Kind) -> Kind:
    """Sequences of at least one object, each of one kind."""
    return Kind(
        f"a sequence, at least one, each {kind.words}",
        lambda v: isinstance(v, (list, tuple)) and bool(v) and all(map(kind.accepts, v)),
    )


#: What may be given for a parameter ``block_bytes``.
BLOCK_BYTES = Whole(1, 2**63 - 1) | None
#: Fields that many classes have.
BlockBytes = Annotated[int | None, BLOCK_BYTES]
Jobs = Annotated[int | None, Whole(1) | Whole(None, -1) | None]
Verbose = Annotated[int, Whole(0) | Flag()]
RandomState = Annotated[Any, Seed()]


def short(value: Any, length: int = 100) -> str:
    """A value for a message: its ``repr``, cut where it is long."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape} and type {value.dtype}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a broken __repr__ of the user's must not hide the message
        text = f"an object of type {type(value).__name__}"
    half = length // 2
    return text if len(text) <= length else f"{text[:half]}...{text[half + 3 - length :]}"


def _beyond(value: Any) -> str:
    """Why finite numbers are none that may be computed with."""
    if isinstance(value, (list, tuple, np.ndarray)):
        try:
            sizes = np.abs(np.asarray(value, dtype=float))
        except (ValueError, TypeError, OverflowError):
            return ""
        if sizes.size and np.isfinite(sizes).all() and sizes.max() > 1e150:
            return _beyond(float(sizes.max()))
        return ""
    if not isinstance(value, Real) or isinstance(value, _BOOLS) or value in (0, inf, -inf):
        return ""
    size: Any = abs(value)
    if size > 1e150:
        return ": magnitudes beyond 1e150 overflow when they are multiplied; rescale the data"
    if 0 < size < 1e-300:
        return ": magnitudes below 1e-300 overflow when they divide; rescale the data"
    return ""


def check_values(
    owner: str, kinds: Mapping[str, Kind], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of parameters of ``owner``, converted by their kinds; those without one stay.

    Raises a `ParameterError` for the first value that is not of its kind.

    >>> check_values("Ball", {"radius": Positive()}, {"radius": np.float32(0.5)})
    {'radius': 0.5}
    """
    checked = dict(values)
    for name in filter(kinds.__contains__, values):
        kind, value = kinds[name], values[name]
        if not kind.accepts(value):
            got = short(value) + _beyond(value)
            if isinstance(value, bool | np.bool_):
                got += ", a bool"
            if isinstance(value, type):
                got += f"; make an instance of the class, {value.__name__}(...)"
            raise ParameterError(f"{owner} needs {name} to be {kind.words}, got {got}")
        checked[name] = kind.convert(value)
    return checked


def arguments(**kinds: Kind) -> Callable[[_Function], _Function]:
    """A decorator: the function or method gets its arguments checked and converted.

    >>> arguments(n=Whole(1))(lambda n: 2 * n)(np.uint8(200))
    400
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            owner = function.__name__
            if "self" in given.arguments:
                owner = f"{type(given.arguments['self']).__name__}.{owner}"
            given.arguments = check_values(owner, kinds, given.arguments)
            return function(*given.args, **given.kwargs)

        return call  # type: ignore[return-value]

    return decorate


def check_parameters(estimator: Any) -> None:
    """Check an object's parameters (see `stores_parameters`), and store them converted."""
    cls: Any = type(estimator)
    known, given = getattr(cls, "_defaults", {}), dict[str, Any]()
    for name in cls._parameters:
        if (value := getattr(estimator, name)) is not known.get(name, given):
            given[name] = value
    for name, value in check_values(cls.__name__, cls._parameters, given).items():
        if value is not given[name]:
            setattr(estimator, name, value)


@dataclass_transform(field_specifiers=(field,))
def stores_parameters(cls: _Class) -> _Class:
    """A class decorator: the constructor stores the annotated fields, which may name their kinds.

    As of a dataclass, ``_: KW_ONLY`` and fields of base classes too. The kinds make
    ``_parameters``, together with the base class's.

    >>> @stores_parameters
    ... class Ball:
    ...     n_features: int
    ...     radius: Annotated[float, Positive()] = 1.0
    >>> check_parameters(Ball(3, radius=-1.0))
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: Ball needs radius to be a finite number > 0, got -1.0
    """
    hints: dict[str, Any] = inspect.get_annotations(cls, eval_str=True)
    own = [n for n in hints if n != "_" and getattr(hints[n], "__origin__", None) is not ClassVar]
    kinds = {n: hints[n].__metadata__[0] for n in own if hasattr(hints[n], "__metadata__")}
    required = [name for name in own if name not in vars(cls)]
    for name in required:
        setattr(cls, name, field())  # an attribute of a base class is no default
    # The signature shows the type alone.
    cls.__annotations__ = hints | {name: hints[name].__origin__ for name in kinds}
    made: Any = dataclass(eq=False, repr=False)(cls)
    for name in required:
        setattr(made, name, None)  # in the way of a property of a base class
    base: Any = super(made, made)
    inherited = getattr(base, "_parameters", {}), getattr(base, "_defaults", {})
    made._parameters = inherited[0] | vars(cls).get("_parameters", {}) | kinds
    given = {name: getattr(made, name) for name in kinds}
    # known to be of their kinds; what is not equals nothing that can be given
    made._defaults = inherited[1] | {
        n: v if kinds[n].accepts(v) else object() for n, v in given.items()
    }
    return made  # type: ignore[no-any-return]


def check_memory(owner: str, n_bytes: int, **counts: object) -> None:
    """Refuse counts that ask for more memory than this machine has."""
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        most = 2**40
    if n_bytes > most:
        named = ", ".join(f"{name}={count}" for name, count in counts.items() if count is not None)
        raise ParameterError(f"{owner}: {named} needs more memory than is here: take fewer")
