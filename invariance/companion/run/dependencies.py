"""Everything that a function computes with, followed as it is in memory: `Dependencies`.

A walk over objects. It goes from a function to its code, its defaults, its closure and the globals
that it looks up; from a container to what it holds; from an instance to its class and its state;
from a class to its members and its bases; from a module of one's own to what is read of it. It ends
at numbers, texts and arrays, and at what installed packages and this library define, which are told
by name: their versions, and the text of the library's modules, are part of every key.

What cannot be followed is a `CacheError` that says how it was reached.
"""

import builtins
import copyreg
import functools
import gc
import hashlib
import importlib
import inspect
import random
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from ..bytecode import Lookups, code_digest, lookups
from ..errors import CompanionError
from ..imports import is_library, is_own, is_own_file


class CacheError(CompanionError, TypeError):
    """A function cannot be cached: something that it uses cannot be followed, or has changed."""


#: Functions that do nothing but call another one, which is followed in their place.
stand_ins: weakref.WeakKeyDictionary[Callable, Callable] = weakref.WeakKeyDictionary()

_ATOMS = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
)
# what code that uses one of these reads or runs is in no bytecode
_OPAQUE = {
    id(thing)
    for thing in (
        builtins.eval, builtins.exec, builtins.globals, builtins.__import__,
        importlib.import_module, importlib.reload, importlib.__import__,
        sys.modules, sys._getframe, inspect.currentframe, inspect.stack, gc.get_objects,
    )
}  # fmt: skip
_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
)
_VIEWS: tuple[type, ...] = (
    types.MappingProxyType,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
_PICKLING = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
# members of a class that say nothing of what it does, or where its text stands
_APART = {
    "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__", "_abc_impl",
    "__annotate_func__", "__annotate__", "__annotations_cache__", "__doc__", "__module__",
}  # fmt: skip
_HEAP_TYPE = 1 << 9  # flag of a class that was made by a class statement, or is like one
_MISSING = object()


def _payload(value: Any) -> list[Any]:
    """What an instance of a subclass of a built-in type holds, whatever its own methods say."""
    holds: dict[type, Callable[[Any], Any]] = {
        dict: lambda value: [*dict.items(value)],
        list: lambda value: [*list.__iter__(value)],
        tuple: lambda value: [*tuple.__iter__(value)],
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
    return [hold(value) for kind, hold in holds.items() if isinstance(value, kind)]


_LAYOUTS = {
    object, dict, list, tuple, set, frozenset, deque, int, float, complex, str, bytes, bytearray,
    np.ndarray, type,
}  # fmt: skip


def _resolved(thing: Any) -> bool:
    """Whether an object is what its module has under its name."""
    found: Any = sys.modules.get(str(getattr(thing, "__module__", "")))
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is thing


def _is_compiled(kind: type) -> bool:
    """Whether a class is not written in Python: it has methods of its own that are not."""
    return any(
        isinstance(member, _DESCRIPTORS[:3]) and member.__objclass__ is kind
        for member in vars(kind).values()
    )


class Dependencies:
    """A walk that begins at a function's name; `add` whatever the function depends on.

    After it, ``modules`` are those of the library and of the user that were reached, and
    ``memories`` functions of `functools.cache`, which may have kept results of an earlier state.
    """

    def __init__(self, name: str) -> None:
        self.modules: set[str] = set()
        self.memories: list[Any] = []
        self._packages: set[str] = set()
        self._hash = hashlib.sha256()
        self._seen: dict[int, tuple[int, Any]] = {}
        self._by_names: dict[type, bool] = {}
        self._scanned: set[type] = set()
        self._mine: dict[int, bool] = {}  # whether functions with these globals are the user's
        self._route = [name]
        self._inside = 0  # objects of installed packages, the one in the other

    def digest(self) -> str:
        """SHA-256 of everything added so far, and of the versions of the packages reached."""
        total = self._hash.copy()
        for package in sorted(self._packages):
            version = vars(sys.modules.get(package) or builtins).get("__version__")
            total.update(f"{package} {version}\n".encode())
        return total.hexdigest()

    def add(self, value: Any, step: str = "") -> None:
        """Follow an object; `step` is what a message calls it, unless it is what the walk is of."""
        self._route += [step] if step else []
        self._visit(value)
        if step:
            self._route.pop()

    # ---------------------------------------------------------------------------- the walk

    def _note(self, *words: str) -> None:
        said = "".join(f"{len(word)}:{word}" for word in words)
        self._hash.update(said.encode("utf-8", "surrogatepass"))

    def _visit(self, value: Any) -> None:
        kind = type(value)
        if kind in _ATOMS:
            self._note(kind.__name__, _said(value))
            return
        if id(value) in self._seen:
            self._note("again", str(self._seen[id(value)][0]))
            return
        # equal constants may be one object or several, as the compiler likes
        if kind not in (tuple, frozenset):
            self._seen[id(value)] = len(self._seen), value
        if id(value) in _OPAQUE:
            self._refuse(value, "and what that reaches cannot be followed: name it instead")
        for kinds, follow in _FOLLOW:
            if isinstance(value, kinds):
                follow(self, value)
                return
        self._instance(value)

    def _each(self, values: Iterable[Any], what: str) -> None:
        self._note(what)
        for i, value in enumerate(values):
            self.add(value, f"[{i}]")
        self._note("end")

    def _named(self, values: Mapping[str, Any], step: str = ".{}") -> None:
        """Follow values by name; their order plays no part."""
        for name in sorted(values, key=str):
            self._note("name", str(name))
            self.add(values[name], step.format(name))

    def _refuse(self, value: Any, why: str) -> NoReturn:
        self._fail(f"({type(value).__name__}), {why}")

    def _fail(self, what: str) -> NoReturn:
        steps = [step if step[0] in ".[" else f" > {step}" for step in self._route[1:]]
        route = "".join(steps).removeprefix(" > ")
        raise CacheError(f"{self._route[0]} takes or uses '{route}' {what}")

    def _by_name(self, kind: type) -> bool:
        """Whether a class is told by its name: an installed one, or the library's."""
        if not kind.__flags__ & _HEAP_TYPE:
            return True
        if kind not in self._by_names:
            module = kind.__module__
            known = isinstance(module, str) and not is_own(module) and _resolved(kind)
            self._by_names[kind] = known or _is_compiled(kind)
        return self._by_names[kind]

    def _is_own(self, function: types.FunctionType) -> bool:
        """Whether a function is the user's: it looks names up in a module of theirs."""
        known = function.__globals__
        if id(known) not in self._mine:
            name = known.get("__name__")
            module = sys.modules.get(name) if isinstance(name, str) else None
            of_module = module is not None and vars(module) is known
            self._mine[id(known)] = is_own(str(name)) if of_module else True
        return self._mine[id(known)]

    def _own_function(self, member: Any) -> bool:
        """Whether a member of a class or a module is a function of the user's."""
        if isinstance(member, property):
            member = member.fget
        member = getattr(member, "__func__", member)
        return isinstance(member, types.FunctionType) and self._is_own(member)

    # -------------------------------------------------------------------------- containers

    def _sequence(self, value: Any) -> None:
        if type(value) not in (list, tuple):
            self._instance(value)
        elif said := _all_said(value):
            self._note(type(value).__name__, said)
        else:
            self._each(value, type(value).__name__)

    def _dict(self, value: dict) -> None:
        if type(value) is not dict:
            self._instance(value)
            return
        self._note("dict")
        for key, item in value.items():
            self.add(key, "(a key)")
            self.add(item, f"[{key!r:.40}]")
        self._note("end")

    def _set(self, value: set | frozenset) -> None:
        if type(value) not in (set, frozenset):
            self._instance(value)
            return
        if all(type(item) in _ATOMS for item in value):
            self._note(type(value).__name__, *sorted(map(_said, value)), "end")
            return
        digests = []
        for item in value:
            # each from the same state: the order of a set depends on addresses
            walk = Dependencies(self._route[0])
            walk.modules, walk.memories, walk._packages = (
                self.modules,
                self.memories,
                self._packages,
            )
            walk._seen = dict(self._seen)
            walk._scanned = set(self._scanned)
            walk._route = [*self._route, "[...]"]
            walk._inside = self._inside
            walk._visit(item)
            digests.append(walk._hash.hexdigest())
        self._note(type(value).__name__, *sorted(digests), "end")

    def _view(self, value: Any) -> None:
        self._note(type(value).__name__)
        items = value.items() if isinstance(value, types.MappingProxyType) else value
        self._each(items, "items")

    def _array(self, value: np.ndarray) -> None:
        if type(value) not in (np.ndarray, np.memmap):
            self._instance(value)
            return
        self._note("array", repr(value.dtype), repr((value.shape, value.strides)))
        if value.dtype.hasobject:
            self._each(value.ravel().tolist(), "objects")
            return
        in_order = value.T if value.flags.f_contiguous else np.ascontiguousarray(value)
        if value.size and value.dtype.itemsize:
            self._hash.update(np.asarray(in_order).reshape(-1).view(np.uint8).data)

    def _scalar(self, value: np.generic) -> None:
        if not self._by_name(type(value)):
            self._instance(value)
            return
        self._note("scalar", repr(value.dtype))
        self._hash.update(value.tobytes())

    # --------------------------------------------------------------------------- functions

    def _function(self, function: types.FunctionType) -> None:
        if function in stand_ins:
            self._note("stands for")
            self.add(stand_ins[function], "(cached)")
            return
        own = self._is_own(function)
        self._name(function.__globals__.get("__name__") if own else function.__module__)
        if not own:
            if not is_own(function.__module__) and _resolved(function):
                self._note("function", function.__module__, function.__qualname__)
                self._registered(function)
                return
        self._note("function", function.__name__, code_digest(function.__code__))
        self._named(
            {"defaults": function.__defaults__, "of keywords": function.__kwdefaults__}, "{}"
        )
        if function.__globals__ is vars(functools) and hasattr(function, "registry"):
            self._registered(function, everything=True)
            return
        self._named(vars(function))
        self._closure(function)
        if own:
            self._globals(function)

    def _registered(self, function: Any, everything: bool = False) -> None:
        """What a function of `functools.singledispatch` calls."""
        registry = getattr(function, "registry", None)
        if isinstance(registry, types.MappingProxyType):
            for kind, implementation in registry.items():
                if everything or self._own_function(implementation):
                    self.add(kind, "(registered)")
                    self.add(implementation, "(registered)")

    def _closure(self, function: types.FunctionType) -> None:
        rebinds = lookups(function.__code__).rebinds
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            if name in rebinds and self._is_own(function):
                self._route.append(name)
                self._fail(f"and assigns it anew in {function.__name__}: return it instead")
            self._note("variable", name)
            self.add(cell, name)

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self._note("empty")
            return
        self._visit(content)

    def _globals(self, function: types.FunctionType) -> None:
        found: Lookups = lookups(function.__code__)
        for name in sorted(found.writes):
            self._route.append(name)
            self._fail(f"and assigns this global in {function.__name__}: return it instead")
        known = function.__globals__
        built_in = function.__builtins__  # type: ignore[attr-defined]
        for name in sorted(found.names):
            self._note("global", name)
            if name in known:
                self._read(known[name], name, found.names[name])
            elif name in built_in:
                self.add(built_in[name], name)
            else:
                self._note("missing")
        for level, name, names in found.imports:
            self._import("." * level + name, names, known.get("__package__"))

    def _read(self, value: Any, name: str, chains: set[tuple[str, ...] | bool]) -> None:
        """Follow a global; of a module, only what is read of it."""
        if isinstance(value, types.ModuleType) and True not in chains:
            for chain in sorted(chain for chain in chains if isinstance(chain, tuple)):
                self._through(value, name, chain)
        else:
            self.add(value, name)

    def _through(self, module: types.ModuleType, name: str, chain: tuple[str, ...]) -> None:
        """Follow ``module.a.b``."""
        value: Any = module
        for i, attribute in enumerate(chain):
            self._name(value.__name__)
            self._note("of module", value.__name__, attribute)
            own = is_own(value.__name__)
            value = getattr(value, attribute, _MISSING)
            step = ".".join([name, *chain[: i + 1]])
            if value is _MISSING:
                return
            if not isinstance(value, types.ModuleType):
                self._member(value, step, own)
                return
        self.add(value, step)

    def _member(self, value: Any, step: str, own: bool) -> None:
        """Follow what is read of a module; of an installed one, what does not belong to it."""
        followed = type | types.FunctionType | np.ufunc | functools.partial
        if (
            own
            or type(value) in _ATOMS
            or id(value) in _OPAQUE
            or isinstance(value, followed)
            or isinstance(getattr(value, "__self__", None), _GENERATORS)
            or self._own_function(value)
            or not self._by_name(type(value))
        ):
            self.add(value, step)

    def _import(self, name: str, names: tuple[str, ...], package: Any) -> None:
        """Follow an import statement inside a function."""
        try:
            name = importlib.util.resolve_name(name, package or "")
        except ImportError:
            return
        self._note("import", name)
        if name not in sys.modules and is_own_file(name):
            try:
                importlib.import_module(name)
            except Exception as error:  # as it will when the function is called
                self._note("fails", type(error).__name__)
        module = sys.modules.get(name)
        if module is None:
            self._name(name)
        elif names and "*" not in names:
            for attribute in sorted(names):
                self._through(module, name, (attribute,))
        else:
            self.add(module, name)

    def _module(self, module: types.ModuleType) -> None:
        self._note("module", module.__name__)
        self._name(module.__name__)
        if is_own(module.__name__):
            members = {name: v for name, v in vars(module).items() if not name.startswith("__")}
            self._named(members)

    def _name(self, module: str | None) -> None:
        """Note that something of a module was reached."""
        if not isinstance(module, str):
            return
        if is_library(module) or is_own(module):
            self.modules.add(module)
        else:
            self._packages.add(module.partition(".")[0])

    def _bound(self, method: types.MethodType) -> None:
        self._note("method")
        self.add(method.__func__, ".__func__")
        self.add(method.__self__, ".__self__")

    def _built_in(self, function: Any) -> None:
        owner = function.__self__
        self._note("built in", function.__name__)
        if isinstance(owner, types.ModuleType) or owner is None:
            self._note(str(getattr(function, "__module__", "")))
            self._name(getattr(function, "__module__", None))
        else:
            self.add(owner, ".__self__")

    def _descriptor(self, descriptor: Any) -> None:
        self._note(type(descriptor).__name__, descriptor.__name__)
        self.add(descriptor.__objclass__, ".__objclass__")

    def _property(self, member: property) -> None:
        self._note("property")
        self.add(type(member), "(class)")
        self._named({"fget": member.fget, "fset": member.fset, "fdel": member.fdel})
        self._named(getattr(member, "__dict__", {}))

    def _wrapped_method(self, member: Any) -> None:
        self.add(type(member), "(class)")
        self.add(member.__func__, ".__func__")

    def _cached_property(self, member: functools.cached_property) -> None:
        self._note("cached property", str(member.attrname))
        self.add(type(member), "(class)")
        self.add(member.func, ".func")

    def _memory(self, function: Any) -> None:
        self._name(function.__module__)
        if not is_own(function.__module__) and _resolved(function):
            self._note("function", function.__module__, function.__qualname__)
            return
        self.memories.append(function)
        self._note("keeps results")
        self.add(function.__wrapped__, ".__wrapped__")

    def _ufunc(self, function: np.ufunc) -> None:
        homes = [np, sys.modules.get("scipy.special")]
        if not any(getattr(home, function.__name__, None) is function for home in homes):
            self._refuse(function, "whose function cannot be seen: use np.vectorize, or a function")
        self._note("ufunc", function.__name__)
        self._packages.update(("numpy", "scipy"))

    def _vectorized(self, function: np.vectorize) -> None:
        settings = {name: v for name, v in vars(function).items() if name != "_ufunc"}
        settings.pop("__doc__", None)
        self._note("vectorized")
        self.add(type(function), "(class)")
        self._named(settings)

    def _code(self, code: types.CodeType) -> None:
        self._note("code", code_digest(code))

    # ------------------------------------------------------------------ classes, instances

    def _class(self, kind: type) -> None:
        self._name(kind.__module__)
        if self._by_name(kind):
            self._note("class", str(kind.__module__), kind.__qualname__)
            self._put_into(kind)
            return
        self._note("class", kind.__name__)
        self.add(type(kind), "(metaclass)")
        self._each(kind.__bases__, "bases")
        self._named({name: v for name, v in vars(kind).items() if name not in _APART})

    def _put_into(self, kind: type) -> None:
        """Follow constants, and functions of the user's put into a class that is not theirs."""
        for base in kind.__mro__:
            if base in self._scanned or not base.__flags__ & _HEAP_TYPE:
                continue
            self._scanned.add(base)
            self._name(base.__module__)
            for name, member in [*vars(base).items()]:
                if type(member) in _ATOMS:
                    if name not in _APART:
                        self._note(name, _said(member))
                elif self._own_function(member):
                    self.add(member, f".{name}")

    def _instance(self, value: Any) -> None:
        kind = type(value)
        if value is np.random.mtrand._rand and self._inside:
            self._note("NumPy's generator")  # every distribution of SciPy names it
            return
        own = not self._by_name(kind)
        self._refuse_use(value, own)
        self._note("instance")
        self.add(kind, "(class)")
        if not own:
            self._inside += 1
            self._reduced(value)
            self._inside -= 1
            return
        mro = kind.__mro__
        altered = any(_pickles(b) for b in mro if not self._by_name(b))
        provided = any(_pickles(b) for b in mro if self._by_name(b) and b.__flags__ & _HEAP_TYPE)
        hidden = [b for b in mro if not b.__flags__ & _HEAP_TYPE and b not in _LAYOUTS]
        if altered or not provided:
            self._each(_payload(value), "holds")
            self._named(_attributes(value))
        if not altered and (provided or hidden):
            self._reduced(value)
        elif hidden:
            self._refuse(value, f"which hides what {hidden[0].__name__} holds: pass plain values")

    def _refuse_use(self, value: Any, own: bool) -> None:
        if isinstance(value, _GENERATORS) or getattr(value, "changes_with_use", False) is True:
            self._refuse(value, "which changes with use: pass a seed, or plain values")
        if isinstance(value, Iterator) and not own:
            self._refuse(value, "which is used up: pass a list, or what it is made of")
        if isinstance(value, weakref.ref):
            self._refuse(value, "which may go: pass what it refers to")

    def _reduced(self, value: Any) -> None:
        """Follow what a pickle of an object would hold."""
        if hasattr(value, "detach") and hasattr(value, "__array__"):  # a tensor of PyTorch
            self._note(str(value.device), str(value.requires_grad))
            self.add(np.asarray(value.detach().cpu()), "(array)")
            return
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            parts = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception as error:
            self._refuse(value, f"which cannot be followed ({error}): pass what is needed of it")
        if isinstance(parts, str):
            self._note("global", str(getattr(value, "__module__", "")), parts)
            return
        made, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        self.add(made, "(made by)")
        self._each(arguments, "arguments")
        if type(state) is dict and all(type(name) is str for name in state):
            self._named(state)
        else:
            self.add(state, "(state)")
        self._each(items or (), "items")
        self._each(pairs or (), "pairs")


def _pickles(kind: type) -> bool:
    return any(name in vars(kind) for name in _PICKLING)


def _attributes(value: Any) -> dict[str, Any]:
    """An instance's attributes: those in its ``__dict__``, and those in slots."""
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    found[f"{kind.__name__}.{name}"] = member.__get__(value)
                except AttributeError:  # has no value
                    continue
    return found


def _said(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer of more than 4300 digits
        return hex(value)


def _all_said(values: list | tuple) -> str:
    """All of a sequence of plain values as one text; empty if one is not plain, or very long."""
    if all(type(value) in _ATOMS for value in values):
        try:
            return repr(values)
        except ValueError:
            return ""
    return ""


_FOLLOW: tuple[tuple[Any, Callable[[Dependencies, Any], None]], ...] = (
    (types.FunctionType, Dependencies._function),
    (type, Dependencies._class),
    ((list, tuple), Dependencies._sequence),
    (dict, Dependencies._dict),
    ((set, frozenset), Dependencies._set),
    (np.ndarray, Dependencies._array),
    (np.generic, Dependencies._scalar),
    (types.ModuleType, Dependencies._module),
    (types.MethodType, Dependencies._bound),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Dependencies._built_in),
    (_DESCRIPTORS, Dependencies._descriptor),
    (property, Dependencies._property),
    ((staticmethod, classmethod), Dependencies._wrapped_method),
    (functools.cached_property, Dependencies._cached_property),
    (functools._lru_cache_wrapper, Dependencies._memory),
    (types.CellType, Dependencies._cell),
    (types.CodeType, Dependencies._code),
    (_VIEWS, Dependencies._view),
    (np.ufunc, Dependencies._ufunc),
    (np.vectorize, Dependencies._vectorized),
)  # fmt: skip
