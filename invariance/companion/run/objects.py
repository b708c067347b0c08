"""Facts about Python objects that `dependencies` needs: their content, and who defined them."""

import sys
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

#: Types whose objects are shown in full by `repr` and refer to no other object.
PLAIN_TYPES = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
)

#: Built-in types without content, or with a content that `content_of` returns.
TYPES_WITH_KNOWN_CONTENT = frozenset(
    (
        object, dict, list, tuple, set, frozenset, deque, int, float, complex, str, bytes,
        bytearray, np.ndarray, type,
    )
)  # fmt: skip

#: Members of a class that do not change its behaviour.
MEMBERS_WITHOUT_MEANING = frozenset(
    (
        "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__", "_abc_impl",
        "__annotate_func__", "__annotate__", "__annotations_cache__", "__doc__", "__module__",
    )
)  # fmt: skip

_HEAP_TYPE = 1 << 9  # The flag Py_TPFLAGS_HEAPTYPE of CPython.
_COMPILED_MEMBERS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_PICKLING = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")

# The methods of the built-in type are called explicitly: a subclass may have overridden them.
_CONTENT: dict[type, Callable[[Any], Any]] = {
    dict: lambda value: list(dict.items(value)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: list(tuple.__iter__(value)),
    set: lambda value: frozenset(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    deque: lambda value: [value.maxlen, *deque.__iter__(value)],
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: bytes,
    np.ndarray: lambda value: value.view(np.ndarray),
}


def content_of(value: object) -> list[Any]:
    """Return the content of an instance of a subclass of a built-in type, such as its items."""
    return [content(value) for kind, content in _CONTENT.items() if isinstance(value, kind)]


def attributes_of(value: object) -> dict[str, Any]:
    """Return the attributes of an instance, in its ``__dict__`` and in slots."""
    attributes = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        for name, member in vars(kind).items():
            if not isinstance(member, types.MemberDescriptorType):
                continue
            try:
                attributes[f"{kind.__name__}.{name}"] = member.__get__(value)
            except AttributeError:  # The slot is empty.
                continue
    return attributes


def text_of(value: Any) -> str:
    """Return the full text of a plain value."""
    try:
        return repr(value)
    except ValueError:  # `repr` refuses integers of more than 4300 digits.
        return hex(value)


def text_of_sequence(values: Sequence[Any]) -> str:
    """Return the full text of a sequence of plain values, or "" if they are not plain or long."""
    if not all(type(value) in PLAIN_TYPES for value in values):
        return ""
    try:
        return repr(values)
    except ValueError:
        return ""


def is_found_by_name(thing: Any) -> bool:
    """Return whether the module of a function or class holds it under its qualified name."""
    value: Any = sys.modules.get(str(getattr(thing, "__module__", "")))
    for name in thing.__qualname__.split("."):
        value = getattr(value, name, None)
    return value is thing


def is_heap_type(kind: type) -> bool:
    """Return whether a class was made at run time, as by a class statement."""
    return bool(kind.__flags__ & _HEAP_TYPE)


def is_compiled(kind: type) -> bool:
    """Return whether a class defines methods that are not written in Python."""
    return any(
        isinstance(member, _COMPILED_MEMBERS) and member.__objclass__ is kind
        for member in vars(kind).values()
    )


def defines_pickling(kind: type) -> bool:
    """Return whether a class itself defines how its instances are pickled."""
    members: Mapping[str, Any] = vars(kind)
    return any(name in members for name in _PICKLING)
