"""`Remembering`: the one rule for values that objects remember between calls.

Groups, kernels and bases check their parameters when they are first used, and remember values that
were computed from them: that the parameters are valid, a plan, eigenspaces. All of this is in one
dictionary, which is emptied whenever an attribute of the object is set.

Kernels hold other objects, whose parameters can change without the kernel's notice. They therefore
compare a `ParameterState` at every call: the values of all parameters, with copies of them, entry
by entry. This detects changes in place, and replacements by arrays that print alike.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import chain
from operator import is_
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .parameters import check_parameters

Array = NDArray[Any]

#: Types of values that cannot be changed in place.
_CONSTANTS = frozenset(
    {type(None), bool, int, float, complex, str, bytes, type, np.dtype, range, slice, type(...)}
)
#: Bytes that are compared at a time, so that intermediate arrays fit in a processor's cache.
_CHUNK = 2**20
#: Up to this many bytes, arrays are compared as byte strings, which is quicker than NumPy.
_SMALL = 2**13


class Remembering:
    """Base of estimators that remember values computed from their parameters.

    >>> from invariance.groups import CyclicShifts
    >>> group = CyclicShifts(3)
    >>> group.order
    3
    >>> group.n = 0
    >>> group.order
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: CyclicShifts needs n to be a whole number >= 1, got 0
    """

    def _check(self) -> None:
        """Raise an error for invalid parameters, unless they are known to be valid."""
        if "_remembered" not in self.__dict__:
            check_parameters(self)
            self._check_together()
            self.__dict__["_remembered"] = {}

    def _check_together(self) -> None:
        """Check conditions that concern several parameters."""

    @property
    def _memory(self) -> dict[Any, Any]:
        """Values computed from the parameters, which are valid; empty after a parameter changed."""
        self._check()
        # Another thread may have set an attribute since the check.
        memory: dict[Any, Any] = self.__dict__.setdefault("_remembered", {})
        return memory

    def _forget(self) -> None:
        """Empty the memory, so that parameters are checked again."""
        self.__dict__.pop("_remembered", None)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that are copied and pickled: all but the memory."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_remembered"}

    def __dir__(self) -> list[str]:
        """Return all names; scikit-learn's method would compute every attribute first."""
        return list(object.__dir__(self))


class ComparingContents(Remembering):
    """Objects whose parameters hold other objects, which may change without their notice.

    Their parameters are compared with copies, down to the entries of arrays, by `_check`. Within
    one call, they are compared only once: ``with one_call:`` encloses it.
    """

    def _check(self) -> None:
        memory = self.__dict__.get("_remembered", {})
        if one_call.includes(memory):
            return
        state = ParameterState(self)
        previous_state = memory.get(ParameterState)
        if previous_state is None or not previous_state.equals(state):
            for part in state.objects:
                if isinstance(part, Remembering):
                    part._forget()
            check_parameters(self)
            self._check_together()
            # The checks may have converted parameters, so their state is taken again.
            memory = {ParameterState: ParameterState(self).copied()}
            self.__dict__["_remembered"] = memory
        one_call.add(memory)

    def _check_together(self) -> None:
        for part in self.__dict__.values():
            if isinstance(part, Remembering):
                part._check()


class _OneCall(threading.local):
    """The outermost call of a thread, and the memories that are known to be valid in it.

    Attributes
    ----------
    differentiates : bool
        Whether the call computes derivatives with respect to parameters, as in the search of a
        Gaussian process for its hyperparameters.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.differentiates = False
        self._valid: dict[int, Any] = {}

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.differentiates = False
            self._valid.clear()

    def includes(self, memory: Any) -> bool:
        return id(memory) in self._valid

    def add(self, memory: Any) -> None:
        if self.depth:
            self._valid[id(memory)] = memory


one_call = _OneCall()


class ParameterState:
    """The values of an object's parameters, down to numbers, strings and arrays.

    The search goes through parameters of parameters, lists, tuples, dictionaries and sets,
    attributes of other objects, and values that functions are bound to. Names of estimators with a
    leading underscore are left out: they hold caches, not parameters.

    >>> import numpy as np
    >>> from invariance.groups import GeneratedPermutations
    >>> group = GeneratedPermutations([np.array([1, 0, 2])])
    >>> before = ParameterState(group).copied()
    >>> before.equals(ParameterState(group))
    True
    >>> group.permutations[0][:] = [0, 2, 1]
    >>> before.equals(ParameterState(group))
    False
    """

    __slots__ = ("_visited", "objects", "values")

    def __init__(self, owner: object):
        self.values: list[Any] = []
        #: The objects whose attributes were visited.
        self.objects: list[Any] = []
        self._visited: dict[int, int] = {}
        self._add_object(owner)

    def copied(self) -> ParameterState:
        """Return the state with copies of all values that may be changed in place."""
        state = object.__new__(ParameterState)
        state.objects = []
        state._visited = {}
        state.values = [_copied(value) for value in self.values]
        return state

    def equals(self, other: ParameterState) -> bool:
        """Whether all values are the same, of the same types."""
        if len(self.values) != len(other.values):
            return False
        if all(map(is_, self.values, other.values)):
            return True
        return all(map(_same, self.values, other.values))

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
            self._add_all(kind, len(value), chain.from_iterable(value.items()))
        elif isinstance(value, (set, frozenset)):
            self.values.append(value)
        elif isinstance(value, partial):
            self._add_all(kind, 0, (value.func, value.args, value.keywords))
        elif kind is MethodType:
            self._add_all(kind, 0, (value.__func__, value.__self__))
        elif kind is FunctionType:
            self._add_function(value)
        elif isinstance(value, (bytearray, memoryview, array)):
            self._add_all(kind, 0, (bytes(value),))
        else:
            self._add_object(value)

    def _add_all(self, kind: type, size: int, parts: Iterable[Any]) -> None:
        self.values.append(kind)
        self.values.append(size)
        for part in parts:
            self._add(part)

    def _add_array(self, value: Array) -> None:
        if value.dtype.hasobject:
            self._add_all(np.ndarray, value.size, (value.shape, value.ravel().tolist()))
        else:
            self.values.append(value)
        if isinstance(value, np.ma.MaskedArray):
            self.values.append(np.ma.getmaskarray(value))

    def _add_function(self, function: FunctionType) -> None:
        """Add the code of a function and, at the first visit, the values that it is bound to."""
        self.values.append(function.__code__)
        if id(function) in self._visited:
            return
        self._visited[id(function)] = len(self._visited)
        self._add(function.__defaults__)
        self._add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self._add(_content(cell))

    def _add_object(self, value: object) -> None:
        if id(value) in self._visited:
            self.values.append(self._visited[id(value)])
            return
        self._visited[id(value)] = len(self._visited)
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
        slots = _slots(type(value))
        if attributes is None and not slots:
            self.values.append(value)  # it has no attributes to compare
        named = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        if attributes is not None:
            named.update(attributes)
        self._add_named(named)

    def _add_named(self, parts: dict[str, Any]) -> None:
        self.values += parts
        for part in parts.values():
            if type(part) in _CONSTANTS:  # the usual case, which must be quick
                self.values.append(part)
            else:
                self._add(part)


def _slots(cls: type) -> list[str]:
    """Return the names in ``__slots__`` of a class and its bases."""
    names: list[str] = []
    for base in cls.__mro__:
        names.extend(getattr(base, "__slots__", ()))
    return names


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _numbers(value: Any) -> Array | None:
    """Return an array of another library as NumPy's; None if the value is not an array."""
    if not hasattr(value, "__array__"):
        return None
    try:
        if hasattr(value, "detach"):
            value = value.detach()
        return np.asarray(value)
    except Exception:  # an array without values that NumPy can read
        return None


def _copied(value: object) -> object:
    if isinstance(value, np.ndarray):
        return np.array(value, order="K")
    if isinstance(value, (list, deque, set)):
        return type(value)(value)
    return value


def _same(first: Any, second: Any) -> bool:
    """Whether two values are equal and of the same type."""
    if first is second:
        return True
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and _same_array(first, second)
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple, deque)):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, _COMPARABLE):
        both_nan = first != first and second != second
        return both_nan or bool(first == second)
    return isinstance(first, (set, frozenset)) and first == second


#: Types that are compared by ``==``.
_COMPARABLE = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    np.dtype,
    np.generic,
    range,
    slice,
    CodeType,
)


def _same_array(first: Array, second: Array) -> bool:
    """Whether two arrays hold the same bytes."""
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.nbytes <= _SMALL:
        return first.tobytes() == second.tobytes()
    if first.flags.f_contiguous and second.flags.f_contiguous:
        # The transposes are C-contiguous and need no copy.
        first = first.T
        second = second.T
    first = _words(first)
    second = _words(second)
    step = max(1, _CHUNK // first.itemsize)
    for start in range(0, first.size, step):
        stop = start + step
        if not np.array_equal(first[start:stop], second[start:stop]):
            return False
    return True


def _words(array: Array) -> NDArray[np.unsignedinteger[Any]]:
    """Return the bytes of an array as unsigned integers, 64-bit ones if their number allows."""
    as_bytes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if as_bytes.size % 8 == 0:
        return as_bytes.view(np.uint64)
    return as_bytes
