"""What parameters may be, declared once for each class and checked in one place.

A class lists the kinds of its parameters in ``_parameters``; `check_parameters` compares an
object's parameters with them where they are first used (at fit, or when a kernel is evaluated), so
that ``__init__`` only stores them, as scikit-learn asks. What a kind cannot say, such as that two
parameters must agree, the class checks itself and reports as a `ParameterError` as well.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field  # noqa: F401, for an example
from functools import cache, wraps
from math import isfinite
from numbers import Integral, Real
from typing import (
    Annotated,  # noqa: F401, for an example
    Any,
    ClassVar,
    ParamSpec,
    TypeVar,
    dataclass_transform,
)

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BLOCK_BYTES",
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
    "stores_parameters",
]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Class = TypeVar("_Class", bound=type)


class ParameterError(ValueError, TypeError):
    """A parameter that is not what it may be; the message names it, its value and the remedy."""


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


@dataclass(frozen=True)
class Kind:
    """A set of values that a parameter may take; ``a | b`` is either.

    Attributes
    ----------
    words : str
        What the values are, for messages: "a whole number >= 1".
    accepts : callable
        Whether a value belongs to the kind.
    """

    words: str
    accepts: Callable[[Any], bool]

    def __or__(self, other: Kind | None) -> Kind:
        two = _NOTHING if other is None else other
        either = f"{self.words} or {two.words}"
        return Kind(either, lambda value: self.accepts(value) or two.accepts(value))

    def __ror__(self, other: None) -> Kind:
        return _NOTHING | self


_NOTHING = Kind("None", lambda value: value is None)


def Whole(least: int | None = None, most: int | None = None) -> Kind:
    """Whole numbers in [least, most]; True and 3.0 are none.

    Without ``most`` they are below 2**31, as counts and sizes are.

    >>> Whole(1).accepts(3), Whole(1).accepts(True), Whole(1).accepts(3.0), Whole(1).accepts(0)
    (True, False, False, False)
    """

    def accepts(value: Any) -> bool:
        if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
            return False
        return _inside(int(value), least, 2**31 - 1 if most is None else most)

    bounded = most is not None and most < 2**62  # beyond, a bound tells nobody much
    return Kind("a whole number" + _range(least, most if bounded else None), accepts)


def Number(
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Kind:
    """Finite real numbers in [least, most]; ``above`` and ``below`` leave out the end itself.

    Magnitudes reach 1e150, so that a product with data overflows no earlier than the data do,
    and those of whole numbers 2**53, beyond which NumPy makes objects of them or of their squares,
    unless ``most`` allows more. What lies above zero does so by 1e-300, to be divided by.

    >>> Number(above=0).accepts(0.5), Number(above=0).accepts(0), Number().accepts(float("inf"))
    (True, False, False)
    >>> Number().accepts(10**30), Number().accepts(1e30), Number().accepts(1e160)
    (False, True, False)
    """

    def accepts(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return False
        beyond = abs(int(value)) >= 2**53 if isinstance(value, Integral) else abs(number) > 1e150
        if (most is None and beyond) or (above == 0 and number < 1e-300):
            return False
        return isfinite(number) and _inside(number, least, most, above, below)

    shown = None if most == 1e308 else most  # any float
    return Kind("a finite number" + _range(least, shown, above, below), accepts)


def Positive() -> Kind:
    """Finite numbers > 0."""
    return Number(above=0)


def OneOf(*values: str | int) -> Kind:
    """One of some strings or whole numbers.

    >>> OneOf("cos", "sin").words
    "'cos' or 'sin'"
    """

    def accepts(value: Any) -> bool:
        plain = isinstance(value, (str, Integral)) and not isinstance(value, (bool, np.bool_))
        return plain and value in values

    *most, last = map(repr, values)
    return Kind(f"{', '.join(most)} or {last}" if most else last, accepts)


def Flag() -> Kind:
    """True or False."""
    return Kind("True or False", lambda value: isinstance(value, (bool, np.bool_)))


def Text() -> Kind:
    """Any string."""
    return Kind("a string", lambda value: isinstance(value, str))


def Seed(*, fixed: bool = False) -> Kind:
    """What scikit-learn's ``check_random_state`` takes; ``fixed`` leaves whole numbers only.

    An object that draws anew at every call needs a fixed seed, or it would be a different one at
    fit and at prediction.
    """
    whole = Kind("a whole number from 0 to 2**32 - 1", Whole(0, 2**32 - 1).accepts)
    if fixed:
        return whole
    others = Kind(
        "a numpy.random.RandomState or None",
        lambda value: value is None or isinstance(value, np.random.RandomState),
    )
    return Kind(f"{whole.words}, {others.words}", (whole | others).accepts)


def Shape(*lengths: int) -> Kind:
    """Tuples (or lists, or arrays) of ``lengths`` whole numbers >= 1, such as image shapes.

    >>> Shape(2, 3).accepts((28, 28)), Shape(2, 3).accepts((28,)), Shape(2).accepts((0, 3))
    (True, False, False)
    """

    def accepts(value: Any) -> bool:
        if not isinstance(value, (tuple, list, np.ndarray)) or np.ndim(value) != 1:
            return False
        return len(value) in lengths and all(map(Whole(1).accepts, value))

    return Kind(f"a tuple of {' or '.join(map(str, lengths))} whole numbers >= 1", accepts)


def Array(
    ndim: int | None = None,
    whole: bool = False,
    least: float | None = None,
    above: float | None = None,
    empty: bool = False,
    most: float | None = None,
) -> Kind:
    """Arrays of finite numbers, or what NumPy makes one of; ``ndim`` None is any number of axes.

    ``whole`` asks for whole numbers; entries lie in [least, most] and above ``above``, and their
    magnitudes below 1e150 unless ``most`` allows more.
    """

    def accepts(value: Any) -> bool:
        if isinstance(value, (str, bytes, type)) or value is None or callable(value):
            return False
        try:
            array = np.asarray(value)
        except (ValueError, TypeError):
            return False
        if array.dtype.kind not in ("iu" if whole else "iuf") or (array.size == 0 and not empty):
            return False
        if ndim is not None and array.ndim != ndim:
            return False
        return bool(
            np.isfinite(array).all()
            and (least is None or (array >= least).all())
            and (above is None or (array > above).all())
            and (array <= most if most is not None else np.abs(array) <= np.float64(1e150)).all()
        )

    axes = {None: "an array", 0: "a number", 1: "a sequence"}.get(ndim, f"an array of {ndim} axes")
    what = "whole numbers" if whole else "finite numbers"
    some = "" if empty else ", at least one"
    return Kind(f"{axes} of {what}{_range(least, most, above)}{some}", accepts)


def Has(words: str, *names: str) -> Kind:
    """Objects (no classes) with some methods or attributes; ``words`` says what they are.

    >>> Has("a kernel, such as Gaussian(0.1)", "diag").accepts(dict)
    False
    """

    def accepts(value: Any) -> bool:
        return not isinstance(value, type) and all(hasattr(value, name) for name in names)

    return Kind(words, accepts)


def Each(kind: Kind) -> Kind:
    """Sequences of at least one object, each of one kind.

    >>> Each(Positive()).accepts([0.1, 2]), Each(Positive()).accepts([])
    (True, False)
    """

    def accepts(value: Any) -> bool:
        known = isinstance(value, (list, tuple))
        return known and bool(value) and all(map(kind.accepts, value))

    return Kind(f"a sequence, at least one, each {kind.words}", accepts)


#: What may be given for a parameter ``block_bytes``.
BLOCK_BYTES = Whole(1, 2**63 - 1) | None


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
    invariance.core.parameters.ParameterError: Gaussian needs gamma to be a finite number > 0, got inf
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


def check_parameters(estimator: Any) -> None:
    """Refuse parameters of an object that are not of the kinds its class declares.

    Parameters
    ----------
    estimator : object
        Its class has ``_parameters``, a mapping from names to kinds (see `stores_parameters`);
        those of base classes count for the parameters that it does not name itself.
    """
    cls: Any = type(estimator)
    kinds, defaults = _kinds_of(cls)
    given = {name: getattr(estimator, name) for name in kinds}
    others = {name: v for name, v in given.items() if v is not defaults.get(name, kinds)}
    check_values(cls.__name__, kinds, others)


@cache
def _kinds_of(cls: Any) -> tuple[dict[str, Kind], dict[str, Any]]:
    """The kinds of a class's parameters, and those of its defaults that are of their kinds."""
    kinds: dict[str, Kind] = {}
    for base in reversed(cls.__mro__):
        kinds |= vars(base).get("_parameters", {})
    defaults = {name: getattr(cls, name) for name in kinds if hasattr(cls, name)}
    return kinds, {name: v for name, v in defaults.items() if kinds[name].accepts(v)}


@dataclass_transform(field_specifiers=(field,))
def stores_parameters(cls: _Class) -> _Class:
    """A class decorator: the constructor stores the annotated fields, which may name their kinds.

    What comes after ``_: KW_ONLY`` is for keywords alone. Fields of a base class that is decorated
    so come first. The kinds make ``_parameters``.

    >>> @stores_parameters
    ... class Ball:
    ...     n_features: int
    ...     _: KW_ONLY
    ...     radius: Annotated[float, Positive()] = 1.0
    >>> check_parameters(Ball(3, radius=-1.0))
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: Ball needs radius to be a finite number > 0, got -1.0
    """
    hints: dict[str, Any] = inspect.get_annotations(cls, eval_str=True)
    own = [n for n in hints if n != "_" and getattr(hints[n], "__origin__", None) is not ClassVar]
    for name in own:
        if name not in vars(cls):  # an attribute of a base class is no default
            setattr(cls, name, field())
    kinds = {n: hints[n].__metadata__[0] for n in own if hasattr(hints[n], "__metadata__")}
    made: Any = dataclass(eq=False, repr=False)(cls)
    made._parameters = vars(cls).get("_parameters", {}) | kinds
    for name in own:
        if isinstance(getattr(cls, name, None), property):  # what the base class computes
            setattr(cls, name, None)
    signature = made.__init__.__annotations__
    for name, written in signature.items():  # where the type alone is shown
        if isinstance(written, str) and written.startswith("Annotated["):
            expression: Any = ast.parse(written, mode="eval").body
            signature[name] = ast.unparse(expression.slice.elts[0])
    return made  # type: ignore[no-any-return]


def check_memory(owner: str, n_bytes: int, **counts: object) -> None:
    """Refuse counts that ask for more memory than this machine has.

    >>> check_memory("draw", 10**15 * 8, n_templates=10**15)
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: draw: more memory than the machine has would be taken \
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
    invariance.core.parameters.ParameterError: the Gram matrix must be finite, but entry (0, 1) is nan
    """
    step = max(1, 2**20 // max(array[:1].size, 1))  # the array may fill the memory
    for start in range(0, len(array), step):
        broken = ~np.isfinite(array[start : start + step])
        if broken.any():
            first, *rest = (int(i) for i in np.argwhere(broken)[0])
            index = (start + first, *rest)
            entry = f"({', '.join(map(str, index))})" if len(index) > 1 else str(index[0])
            raise ParameterError(f"{what} must be finite, but entry {entry} is {array[index]}")
