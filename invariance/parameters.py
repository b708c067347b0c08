"""What parameters may be, declared once for each class and checked in one place.

A class lists the kinds of its parameters in ``_parameters``; `check_parameters` compares an
object's parameters with them where they are first used (at fit, or when a kernel is evaluated), so
that ``__init__`` only stores them, as scikit-learn asks. What a kind cannot say, such as that two
parameters must agree, the class checks itself and reports as a `ParameterError` as well.
"""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Each",
    "Flag",
    "Has",
    "Kind",
    "Number",
    "OneOf",
    "ParameterError",
    "Positive",
    "Seed",
    "Shape",
    "Text",
    "Whole",
    "arguments",
    "as_floats",
    "check_finite",
    "check_memory",
    "check_parameters",
    "check_values",
    "short",
]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class ParameterError(ValueError, TypeError):
    """A parameter that is not what it may be; the message names it, its value and the remedy."""


class Kind(ABC):
    """A set of values that a parameter may take; ``a | b`` is either."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether the value belongs to the kind."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What the values are, for messages: "a whole number >= 1"."""

    def __or__(self, other: Kind | None) -> Kind:
        return _Either((self, _Nothing() if other is None else other))

    def __ror__(self, other: None) -> Kind:
        return _Either((_Nothing(), self))


@dataclass(frozen=True)
class _Nothing(Kind):
    words = "None"

    def accepts(self, value: Any) -> bool:
        return value is None


@dataclass(frozen=True)
class _Either(Kind):
    kinds: tuple[Kind, ...]

    def accepts(self, value: Any) -> bool:
        return any(kind.accepts(value) for kind in self.kinds)

    @property
    def words(self) -> str:
        return " or ".join(kind.words for kind in self.kinds)


@dataclass(frozen=True)
class Whole(Kind):
    """Whole numbers in [least, most]; True and 3.0 are none.

    Without ``most`` they are below 2**31, as counts and sizes are.

    >>> Whole(1).accepts(3), Whole(1).accepts(True), Whole(1).accepts(3.0), Whole(1).accepts(0)
    (True, False, False, False)
    """

    least: int | None = None
    most: int | None = None

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
            return False
        most = 2**31 - 1 if self.most is None else self.most
        return _inside(int(value), self.least, most)

    @property
    def words(self) -> str:
        bounded = self.most is not None and self.most < 2**62  # beyond, a bound tells nobody much
        return "a whole number" + _range(self.least, self.most if bounded else None)


@dataclass(frozen=True)
class Number(Kind):
    """Finite real numbers in [least, most]; ``above`` and ``below`` leave out the end itself.

    Magnitudes reach 1e150, so that a product with data overflows no earlier than the data do,
    and those of whole numbers 2**53, beyond which NumPy makes objects of them or of their squares,
    unless ``most`` allows more. What lies above zero does so by 1e-300, to be divided by.

    >>> Number(above=0).accepts(0.5), Number(above=0).accepts(0), Number().accepts(float("inf"))
    (True, False, False)
    >>> Number().accepts(10**30), Number().accepts(1e30), Number().accepts(1e160)
    (False, True, False)
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return False
        if (self.most is None and _beyond(value)) or (self.above == 0 and number < 1e-300):
            return False
        return bool(np.isfinite(number)) and _inside(
            number, self.least, self.most, self.above, self.below
        )

    @property
    def words(self) -> str:
        most = None if self.most == 1e308 else self.most  # any float
        return "a finite number" + _range(self.least, most, self.above, self.below)


def _beyond(value: Real) -> bool:
    """Whether a number is too large to compute with."""
    return abs(int(value)) >= 2**53 if isinstance(value, Integral) else abs(float(value)) > 1e150


def Positive() -> Number:
    """Finite numbers > 0."""
    return Number(above=0)


@dataclass(frozen=True, init=False)
class OneOf(Kind):
    """One of some strings or whole numbers.

    >>> OneOf("cos", "sin").words
    "'cos' or 'sin'"
    """

    values: tuple[str | int, ...]

    def __init__(self, *values: str | int):
        object.__setattr__(self, "values", values)

    def accepts(self, value: Any) -> bool:
        plain = isinstance(value, (str, Integral)) and not isinstance(value, (bool, np.bool_))
        return plain and value in self.values

    @property
    def words(self) -> str:
        *most, last = (repr(value) for value in self.values)
        return f"{', '.join(most)} or {last}" if most else last


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    words = "True or False"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_))


@dataclass(frozen=True)
class Text(Kind):
    """Any string."""

    words = "a string"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)


@dataclass(frozen=True)
class Seed(Kind):
    """What scikit-learn's ``check_random_state`` takes; ``fixed`` leaves whole numbers only.

    An object that draws anew at every call needs a fixed seed, or it would be a different one at
    fit and at prediction.
    """

    fixed: bool = False

    def accepts(self, value: Any) -> bool:
        if Whole(0, 2**32 - 1).accepts(value):
            return True
        return not self.fixed and (value is None or isinstance(value, np.random.RandomState))

    @property
    def words(self) -> str:
        whole = "a whole number from 0 to 2**32 - 1"
        return whole if self.fixed else f"{whole}, a numpy.random.RandomState or None"


@dataclass(frozen=True)
class Shape(Kind):
    """Tuples (or lists, or arrays) of ``lengths`` whole numbers >= 1, such as image shapes.

    >>> Shape(2, 3).accepts((28, 28)), Shape(2, 3).accepts((28,)), Shape(2).accepts((0, 3))
    (True, False, False)
    """

    lengths: tuple[int, ...]

    def __init__(self, *lengths: int):
        object.__setattr__(self, "lengths", lengths)

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, (tuple, list, np.ndarray)) or np.ndim(value) != 1:
            return False
        return len(value) in self.lengths and all(Whole(1).accepts(side) for side in value)

    @property
    def words(self) -> str:
        return f"a tuple of {' or '.join(map(str, self.lengths))} whole numbers >= 1"


@dataclass(frozen=True)
class Array(Kind):
    """Arrays of finite numbers, or what NumPy makes one of; ``ndim`` None is any number of axes.

    ``whole`` asks for whole numbers; entries lie in [least, most] and above ``above``, and their
    magnitudes below 1e150 unless ``most`` allows more.
    """

    ndim: int | None = None
    whole: bool = False
    least: float | None = None
    above: float | None = None
    empty: bool = False
    most: float | None = None

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (str, bytes, type)) or value is None or callable(value):
            return False
        try:
            array = np.asarray(value)
        except (ValueError, TypeError):
            return False
        if array.dtype.kind not in ("iu" if self.whole else "iuf"):
            return False
        if (self.ndim is not None and array.ndim != self.ndim) or (
            array.size == 0 and not self.empty
        ):
            return False
        return bool(
            np.isfinite(array).all()
            and (self.least is None or (array >= self.least).all())
            and (self.above is None or (array > self.above).all())
            and (
                array <= self.most if self.most is not None else np.abs(array) <= np.float64(1e150)
            ).all()
        )

    @property
    def words(self) -> str:
        what = "whole numbers" if self.whole else "finite numbers"
        axes = {None: "an array", 0: "a number", 1: "a sequence"}.get(
            self.ndim, f"an array of {self.ndim} axes"
        )
        some = "" if self.empty else ", at least one"
        return f"{axes} of {what}{_range(self.least, self.most, self.above)}{some}"


class Has(Kind):
    """Objects (no classes) with some methods or attributes; ``words`` says what they are.

    >>> Has("a kernel, such as Gaussian(0.1)", "diag").accepts(dict)
    False
    """

    words = ""

    def __init__(self, words: str, *names: str):
        self.words = words
        self.names = names

    def accepts(self, value: Any) -> bool:
        return not isinstance(value, type) and all(hasattr(value, name) for name in self.names)


class Each(Kind):
    """Sequences of at least one object, each of one kind.

    >>> Each(Positive()).accepts([0.1, 2]), Each(Positive()).accepts([])
    (True, False)
    """

    words = ""

    def __init__(self, kind: Kind):
        self.kind = kind
        self.words = f"a sequence, at least one, each {kind.words}"

    def accepts(self, value: Any) -> bool:
        known = isinstance(value, (list, tuple))
        return known and bool(value) and all(map(self.kind.accepts, value))


def _inside(
    value: float,
    least: float | None,
    most: float | None,
    above: float | None = None,
    below: float | None = None,
) -> bool:
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )


def _range(
    least: float | None, most: float | None, above: float | None = None, below: float | None = None
) -> str:
    parts = [
        f"{sign} {end:g}"
        for sign, end in ((">=", least), (">", above), ("<=", most), ("<", below))
        if end is not None
    ]
    return " " + " and ".join(parts) if parts else ""


def short(value: Any, length: int = 100) -> str:
    """A value for a message: its ``repr``, cut where it is long.

    >>> short("a" * 200, length=10)
    "'aaaa...a'"
    """
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape} and type {value.dtype}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a broken __repr__ of the user's must not hide the message
        text = f"an object of type {type(value).__name__}"
    if len(text) <= length:
        return text
    return f"{text[: length // 2]}...{text[len(text) - (length - length // 2 - 3) :]}"


def check_values(owner: str, kinds: Mapping[str, Kind], values: Mapping[str, Any]) -> None:
    """Refuse values that are not of their kind.

    Parameters
    ----------
    owner : str
        Whose parameters they are, for the message.
    kinds : mapping from names to kinds
        Names without a kind are not checked.
    values : mapping from names to values

    Raises
    ------
    ParameterError
        For the first value that is not of its kind.

    Examples
    --------
    >>> check_values("Gaussian", {"gamma": Positive()}, {"gamma": float("inf")})
    Traceback (most recent call last):
    invariance.parameters.ParameterError: Gaussian needs gamma to be a finite number > 0, got inf
    """
    for name, value in values.items():
        kind = kinds.get(name)
        if kind is not None and not kind.accepts(value):
            hint = ""
            if isinstance(value, type):
                hint = f"; make an instance of the class, {value.__name__}(...)"
            elif (
                isinstance(value, (int, float))
                and 0 < abs(value) < float("inf")
                and not 1e-300 <= abs(value) < 2**31
            ):
                hint = "; magnitudes go from 1e-300 to 1e150, of counts to 2**31"
            raise ParameterError(
                f"{owner} needs {name} to be {kind.words}, got {short(value)}{hint}"
            )


def arguments(
    **kinds: Kind,
) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """A decorator: the function refuses arguments that are not of their kinds.

    >>> arguments(n=Whole(1))(lambda n: 2 * n)(2)
    4
    """

    def decorate(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            check_values(function.__name__, kinds, signature.bind(*args, **kwargs).arguments)
            return function(*args, **kwargs)

        return call

    return decorate


def check_parameters(estimator: Any, names: Iterable[str] | None = None) -> None:
    """Refuse parameters of an object that are not of the kinds its class declares.

    Parameters
    ----------
    estimator : object
        Its class has ``_parameters``, a mapping from names to kinds; those of base classes count
        for the parameters that it does not name itself.
    names : iterable of str or None
        Only these parameters.
    """
    kinds: dict[str, Kind] = {}
    for cls in reversed(type(estimator).__mro__):
        kinds |= vars(cls).get("_parameters", {})
    wanted = kinds if names is None else names
    values = {name: getattr(estimator, name) for name in wanted if name in kinds}
    check_values(type(estimator).__name__, kinds, values)


def check_memory(owner: str, n_bytes: int, **counts: object) -> None:
    """Refuse counts that ask for more memory than this machine has.

    >>> check_memory("draw", 10**15 * 8, n_templates=10**15)
    Traceback (most recent call last):
    invariance.parameters.ParameterError: draw: more memory than the machine has would be taken \
by n_templates=1000000000000000: take fewer
    """
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        most = 2**40
    if n_bytes > most:
        named = ", ".join(f"{name}={count}" for name, count in counts.items() if count is not None)
        raise ParameterError(
            f"{owner}: more memory than the machine has would be taken by {named}: take fewer"
        )


def as_floats(name: str, value: Any, convert: Callable[..., Any] = np.asarray) -> NDArray[Any]:
    """A float64 array of an argument, refusing whole numbers that no float holds."""
    try:
        return np.asarray(convert(value, dtype=np.float64))
    except OverflowError as error:
        raise ParameterError(f"{name} needs numbers below 1e308, got {short(value)}") from error


def check_finite(what: str, array: NDArray[Any]) -> None:
    """Refuse NaN and infinity, naming the first such entry.

    >>> check_finite("the Gram matrix", np.array([[1.0, np.nan]]))
    Traceback (most recent call last):
    invariance.parameters.ParameterError: the Gram matrix must be finite, but entry (0, 1) is nan
    """
    step = max(1, 2**20 // max(array[:1].size, 1))  # the array may fill the memory
    for start in range(0, len(array), step):
        broken = ~np.isfinite(array[start : start + step])
        if broken.any():
            first, *rest = (int(i) for i in np.argwhere(broken)[0])
            index = (start + first, *rest)
            entry = f"({', '.join(map(str, index))})" if len(index) > 1 else str(index[0])
            raise ParameterError(f"{what} must be finite, but entry {entry} is {array[index]}")
