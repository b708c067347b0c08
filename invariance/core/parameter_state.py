"""`ParameterState`: what an object's parameters hold, compared exactly at every call.

Kernels remember plans as long as their parameters are what they were. Whether they are is found out
by looking, not by who set what: values are compared with copies, entry by entry, so that a change
in place is seen as well as another array that looks alike in print.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from functools import partial
from operator import is_
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Types of values that cannot change.
_CONSTANTS = frozenset(
    {type(None), bool, int, float, complex, str, bytes, type, np.dtype, range, slice, type(...)}
)
#: Bytes that are compared at a time, so that what they give stays in a processor's cache.
_CHUNK = 2**20
#: Bytes up to which an array is compared by a copy: that takes less than a call of NumPy.
_SMALL = 2**13


class ParameterState:
    """The values that an object's parameters hold, down to numbers, strings and arrays.

    Parameters of objects that are parameters themselves are followed, as are lists, tuples,
    dictionaries and sets, the attributes of other objects, and what functions have bound. Names
    with a leading underscore are left out of estimators: they remember, and ask for nothing.

    >>> import numpy as np
    >>> from invariance.groups import GeneratedPermutations
    >>> group = GeneratedPermutations([np.array([1, 0, 2])])
    >>> before = ParameterState(group).kept()
    >>> before.equals(ParameterState(group))
    True
    >>> group.permutations[0][:] = [0, 2, 1]
    >>> before.equals(ParameterState(group))
    False
    """

    __slots__ = ("_seen", "objects", "values")

    def __init__(self, owner: Any):
        self.values: list[Any] = []
        #: The objects whose attributes were looked at.
        self.objects: list[Any] = []
        self._seen: dict[int, int] = {}
        self._add_object(owner)

    def kept(self) -> ParameterState:
        """The same with copies of what may be changed in place."""
        other = object.__new__(ParameterState)
        other.objects, other._seen = [], {}
        other.values = [_copied(value) for value in self.values]
        return other

    def equals(self, other: ParameterState) -> bool:
        """Whether all values are the same, of the same types."""
        mine, theirs = self.values, other.values
        if len(mine) != len(theirs):
            return False
        return all(map(is_, mine, theirs)) or all(map(_same, mine, theirs))

    def _add(self, value: Any) -> None:
        kind = type(value)
        if kind in _CONSTANTS or isinstance(value, (np.generic, type, ModuleType)):
            self.values.append(value)
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, (list, tuple, deque)):
            if _CONSTANTS.issuperset(map(type, value)):
                self.values.append(value)
            else:
                self._add_all(kind, len(value), value)
        elif isinstance(value, dict):
            self._add_all(kind, len(value), [part for pair in value.items() for part in pair])
        elif isinstance(value, (set, frozenset)):
            self.values.append(value)
        elif isinstance(value, partial):
            self._add_all(kind, 0, (value.func, value.args, value.keywords))
        elif kind is MethodType:
            self._add_all(kind, 0, (value.__func__, value.__self__))
        elif kind is FunctionType:
            cells = [_content(cell) for cell in value.__closure__ or ()]
            self._add_bound(
                value, [value.__code__, value.__defaults__, value.__kwdefaults__], cells
            )
        elif isinstance(value, (bytearray, memoryview, array)):
            self._add_all(kind, 0, (bytes(value),))
        else:
            self._add_object(value)

    def _add_all(self, kind: type, size: int, parts: Iterable[Any]) -> None:
        self.values += kind, size
        for part in parts:
            self._add(part)

    def _add_array(self, value: NDArray[Any]) -> None:
        if value.dtype.hasobject:
            self._add_all(np.ndarray, value.size, (value.shape, value.ravel().tolist()))
        else:
            self.values.append(value)
        if isinstance(value, np.ma.MaskedArray):
            self.values.append(np.ma.getmaskarray(value))

    def _add_bound(self, function: Any, fixed: list[Any], cells: list[Any]) -> None:
        """A function with what it holds, once."""
        self.values.append(fixed[0])
        if id(function) not in self._seen:
            self._seen[id(function)] = len(self._seen)
            for part in (*fixed[1:], *cells):
                self._add(part)

    def _add_object(self, value: Any) -> None:
        if id(value) in self._seen:
            self.values.append(self._seen[id(value)])
            return
        self._seen[id(value)] = len(self._seen)
        self.objects.append(value)
        self.values.append(type(value))
        attributes = getattr(value, "__dict__", None)
        if attributes is not None and hasattr(value, "get_params"):
            self._add_named({name: attributes[name] for name in attributes if name[0] != "_"})
            return
        numbers = _numbers(value)
        if numbers is not None:
            self._add_array(numbers)
            return
        slots = [name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())]
        if attributes is None and not slots:
            self.values.append(value)  # nothing can be seen of it
        held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        self._add_named(held | (attributes or {}))

    def _add_named(self, parts: dict[str, Any]) -> None:
        self.values += parts
        for part in parts.values():
            if type(part) in _CONSTANTS:  # most are, at every call
                self.values.append(part)
            else:
                self._add(part)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _numbers(value: Any) -> NDArray[Any] | None:
    """An array of another library as NumPy's; None for what is none."""
    if not hasattr(value, "__array__"):
        return None
    try:
        return np.asarray(value.detach() if hasattr(value, "detach") else value)
    except Exception:  # an array without values that NumPy can read
        return None


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.array(value, order="K")
    if isinstance(value, (list, deque, set)):
        return type(value)(value)
    return value


def _same(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and _same_array(one, two)
    if type(one) is not type(two):
        return False
    if isinstance(one, (list, tuple, deque)):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, (*_PLAIN, np.generic)):
        return bool(one == two) or (one != one and two != two)  # NaN
    return isinstance(one, (set, frozenset)) and one == two


_PLAIN = (bool, int, float, complex, str, bytes, np.dtype, range, slice, type((lambda: 0).__code__))


def _same_array(one: NDArray[Any], two: NDArray[Any]) -> bool:
    """Whether two arrays hold the same bytes."""
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    if one.nbytes <= _SMALL:
        return one.tobytes() == two.tobytes()
    if one.flags.f_contiguous and two.flags.f_contiguous:
        one, two = one.T, two.T
    one, two = (np.ascontiguousarray(A).reshape(-1).view(np.uint8) for A in (one, two))
    if one.size % 8 == 0:
        one, two = one.view(np.uint64), two.view(np.uint64)
    step = max(1, _CHUNK // one.itemsize)
    return all(
        np.array_equal(one[start : start + step], two[start : start + step])
        for start in range(0, one.size, step)
    )
