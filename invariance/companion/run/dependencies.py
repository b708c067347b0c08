"""Everything that a function depends on, as it is in memory: `Dependencies`.

The class walks over objects, starting at a function, and digests them:

- from a function to its code, its defaults, its closure and the globals that it reads;
- from a container to its items, and from an instance to its class and its attributes;
- from a class to its members and bases;
- from a module of the user to the members that are read.

The walk ends at numbers, texts and arrays, and at functions and classes of this library and of
installed packages. These are identified by their names: the versions of packages, and the text of
the library's modules, are part of every key.

An object that cannot be followed raises a `CacheError`, which names the way to it.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from ..errors import CompanionError
from .bytecode import code_digest, lookups
from .imports import is_library, is_users_file, is_users_module
from .objects import (
    MEMBERS_WITHOUT_MEANING,
    PLAIN_TYPES,
    TYPES_WITH_KNOWN_CONTENT,
    attributes_of,
    content_of,
    defines_pickling,
    is_compiled,
    is_found_by_name,
    is_heap_type,
    text_of,
    text_of_sequence,
)


class CacheError(CompanionError, TypeError):
    """A function cannot be cached: a dependency cannot be followed, or has changed."""


#: Functions that only call another function, which is followed in their place.
stand_ins: weakref.WeakKeyDictionary[Callable, Callable] = weakref.WeakKeyDictionary()

# Functions and objects through which code reaches others that its bytecode does not name.
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
_MISSING = object()


class Dependencies:
    """A walk over everything that a function depends on.

    Parameters
    ----------
    name : str
        The function's name, for messages.

    Attributes
    ----------
    modules : set of str
        The modules of the library and of the user that were reached by `add`.
    memories : list
        The functions with `functools.cache` that were reached. They may remember results of an
        earlier state.
    """

    def __init__(self, name: str) -> None:
        self.modules: set[str] = set()
        self.memories: list[Any] = []
        self._packages: set[str] = set()
        self._hash = hashlib.sha256()
        # Objects by id, with the number of their visit. They are held so that no id is used twice.
        self._visited: dict[int, tuple[int, Any]] = {}
        self._scanned_classes: set[type] = set()
        self._named_classes: dict[type, bool] = {}
        self._users_globals: dict[int, bool] = {}
        self._route = [name]
        self._depth_in_packages = 0

    def add(self, value: object, step: str = "") -> None:
        """Follow an object. Messages call it `step`; the first one needs no step."""
        if not step:
            self._visit(value)
            return
        self._route.append(step)
        self._visit(value)
        self._route.pop()

    def digest(self) -> str:
        """Return the SHA-256 of everything added so far and of the packages' versions."""
        total = self._hash.copy()
        for package in sorted(self._packages):
            members = vars(sys.modules.get(package) or builtins)
            version = members.get("__version__")
            total.update(f"{package} {version}\n".encode())
        return total.hexdigest()

    # ---------------------------------------------------------------------------- the walk

    def _visit(self, value: object) -> None:
        kind = type(value)
        if kind in PLAIN_TYPES:
            self._note(kind.__name__, text_of(value))
            return
        if id(value) in self._visited:
            number, _ = self._visited[id(value)]
            self._note("again", str(number))
            return
        # The compiler decides whether equal constants are one object or several.
        if kind not in (tuple, frozenset):
            self._visited[id(value)] = len(self._visited), value
        if id(value) in _OPAQUE:
            self._refuse(value, "and the objects that it reaches are unknown: name them instead")
        for kinds, follow in _FOLLOW:
            if isinstance(value, kinds):
                follow(self, value)
                return
        self._instance(value)

    def _note(self, *words: str) -> None:
        """Add words to the digest, each with its length, so that no two lists look the same."""
        text = "".join(f"{len(word)}:{word}" for word in words)
        self._hash.update(text.encode("utf-8", "surrogatepass"))

    def _follow_items(self, values: Iterable[Any], title: str) -> None:
        self._note(title)
        for i, value in enumerate(values):
            self.add(value, f"[{i}]")
        self._note("end")

    def _follow_by_name(self, values: Mapping[str, Any], step: str = ".{}") -> None:
        """Follow values in the order of their names."""
        for name in sorted(values, key=str):
            self._note("name", str(name))
            self.add(values[name], step.format(name))

    def _note_module(self, module: str | None) -> None:
        """Note that a member of a module was reached."""
        if not isinstance(module, str):
            return
        if is_library(module) or is_users_module(module):
            self.modules.add(module)
        else:
            package, _, _ = module.partition(".")
            self._packages.add(package)

    def _refuse(self, value: object, reason: str) -> NoReturn:
        self._fail(f"({type(value).__name__}), {reason}")

    def _fail(self, reason: str) -> NoReturn:
        title, *steps = self._route
        route = ""
        for step in steps:
            route += step if step.startswith((".", "[")) else f" > {step}"
        route = route.removeprefix(" > ")
        raise CacheError(f"{title} takes or uses '{route}' {reason}")

    # ------------------------------------------------------------------ who defined an object

    def _is_named_class(self, kind: type) -> bool:
        """Return whether a class is identified by its name: it is not the user's."""
        if not is_heap_type(kind):
            return True
        if kind not in self._named_classes:
            module = kind.__module__
            defined_elsewhere = isinstance(module, str) and not is_users_module(module)
            named = defined_elsewhere and is_found_by_name(kind)
            self._named_classes[kind] = named or is_compiled(kind)
        return self._named_classes[kind]

    def _is_users(self, function: types.FunctionType) -> bool:
        """Return whether a function reads its globals from a module of the user."""
        namespace = function.__globals__
        if id(namespace) not in self._users_globals:
            name = namespace.get("__name__")
            module = sys.modules.get(name) if isinstance(name, str) else None
            if module is not None and vars(module) is namespace:
                self._users_globals[id(namespace)] = is_users_module(str(name))
            else:
                self._users_globals[id(namespace)] = True
        return self._users_globals[id(namespace)]

    def _is_users_member(self, member: Any) -> bool:
        """Return whether a member of a class or a module is a function of the user."""
        if isinstance(member, property):
            member = member.fget
        member = getattr(member, "__func__", member)
        return isinstance(member, types.FunctionType) and self._is_users(member)

    # -------------------------------------------------------------------------- containers

    def _sequence(self, value: list | tuple) -> None:
        if type(value) not in (list, tuple):
            self._instance(value)
            return
        title = type(value).__name__
        text = text_of_sequence(value)
        if text:
            self._note(title, text)
        else:
            self._follow_items(value, title)

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
        if all(type(item) in PLAIN_TYPES for item in value):
            items = [text_of(item) for item in value]
        else:
            items = [self._digest_of_item(item) for item in value]
        self._note(type(value).__name__, *sorted(items), "end")

    def _digest_of_item(self, item: object) -> str:
        """Return the digest of an item of a set.

        Each item is followed from the same state, because the order of a set depends on addresses.
        """
        walk = Dependencies(self._route[0])
        walk.modules = self.modules
        walk.memories = self.memories
        walk._packages = self._packages
        walk._visited = dict(self._visited)
        walk._scanned_classes = set(self._scanned_classes)
        walk._route = [*self._route, "[...]"]
        walk._depth_in_packages = self._depth_in_packages
        walk._visit(item)
        return walk._hash.hexdigest()

    def _view(self, value: Any) -> None:
        self._note(type(value).__name__)
        if isinstance(value, types.MappingProxyType):
            value = value.items()
        self._follow_items(value, "items")

    def _array(self, value: np.ndarray) -> None:
        if type(value) not in (np.ndarray, np.memmap):
            self._instance(value)
            return
        self._note("array", repr(value.dtype), repr((value.shape, value.strides)))
        if value.dtype.hasobject:
            self._follow_items(value.ravel().tolist(), "objects")
            return
        if value.size == 0 or value.dtype.itemsize == 0:
            return
        contiguous = value.T if value.flags.f_contiguous else np.ascontiguousarray(value)
        flat = np.asarray(contiguous).reshape(-1)
        self._hash.update(flat.view(np.uint8).data)

    def _scalar(self, value: np.generic) -> None:
        if not self._is_named_class(type(value)):
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
        users = self._is_users(function)
        self._note_module(function.__globals__.get("__name__") if users else function.__module__)
        if not users and self._is_identified_by_name(function):
            self._note("function", function.__module__, function.__qualname__)
            self._follow_registry(function)
            return
        self._note("function", function.__name__, code_digest(function.__code__))
        defaults = {"defaults": function.__defaults__, "of keywords": function.__kwdefaults__}
        self._follow_by_name(defaults, "{}")
        dispatches = function.__globals__ is vars(functools) and hasattr(function, "registry")
        if dispatches:
            self._follow_registry(function, everything=True)
            return
        self._follow_by_name(vars(function))
        self._follow_closure(function)
        if users:
            self._follow_globals(function)

    def _is_identified_by_name(self, function: Any) -> bool:
        return not is_users_module(function.__module__) and is_found_by_name(function)

    def _follow_registry(self, function: Any, everything: bool = False) -> None:
        """Follow the implementations of a function of `functools.singledispatch`."""
        registry = getattr(function, "registry", None)
        if not isinstance(registry, types.MappingProxyType):
            return
        for kind, implementation in registry.items():
            if everything or self._is_users_member(implementation):
                self.add(kind, "(registered)")
                self.add(implementation, "(registered)")

    def _follow_closure(self, function: types.FunctionType) -> None:
        rebinds = lookups(function.__code__).rebinds
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            if name in rebinds and self._is_users(function):
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

    def _follow_globals(self, function: types.FunctionType) -> None:
        """Follow the globals that a function reads, and the modules that it imports."""
        reads = lookups(function.__code__)
        for name in sorted(reads.writes):
            self._route.append(name)
            self._fail(f"and assigns this global in {function.__name__}: return it instead")
        namespace = function.__globals__
        built_in = function.__builtins__
        for name in sorted(reads.names):
            self._note("global", name)
            if name in namespace:
                self._global(namespace[name], name, reads.names[name])
            elif name in built_in:
                self.add(built_in[name], name)
            else:
                self._note("missing")
        for level, name, names in reads.imports:
            self._import("." * level + name, names, namespace.get("__package__"))

    def _global(self, value: object, name: str, chains: set[tuple[str, ...] | bool]) -> None:
        """Follow a global; if it is a module, only the attributes that are read."""
        if not isinstance(value, types.ModuleType) or True in chains:
            self.add(value, name)
            return
        for chain in sorted(chain for chain in chains if isinstance(chain, tuple)):
            self._follow_attributes(value, name, chain)

    def _follow_attributes(
        self, module: types.ModuleType, name: str, chain: tuple[str, ...]
    ) -> None:
        """Follow ``module.a.b``, given the chain ``("a", "b")``."""
        value: Any = module
        step = name
        for attribute in chain:
            module_name = value.__name__
            self._note_module(module_name)
            self._note("of module", module_name, attribute)
            value = getattr(value, attribute, _MISSING)
            step = f"{step}.{attribute}"
            if value is _MISSING:
                return
            if not isinstance(value, types.ModuleType):
                if is_users_module(module_name) or self._is_followed_in_packages(value):
                    self.add(value, step)
                return
        self.add(value, step)

    def _is_followed_in_packages(self, value: object) -> bool:
        """Return whether a member of an installed module is followed.

        The version of the package identifies its constants and instances, but not objects that the
        user has put into it.
        """
        followed = type | types.FunctionType | np.ufunc | functools.partial
        return (
            type(value) in PLAIN_TYPES
            or id(value) in _OPAQUE
            or isinstance(value, followed)
            or isinstance(getattr(value, "__self__", None), _GENERATORS)
            or self._is_users_member(value)
            or not self._is_named_class(type(value))
        )

    def _import(self, name: str, names: tuple[str, ...], package: Any) -> None:
        """Follow an import statement inside a function."""
        try:
            name = importlib.util.resolve_name(name, package or "")
        except ImportError:
            return
        self._note("import", name)
        if name not in sys.modules and is_users_file(name):
            try:
                importlib.import_module(name)
            except Exception as error:  # The call of the function will fail in the same way.
                self._note("fails", type(error).__name__)
        module = sys.modules.get(name)
        if module is None:
            self._note_module(name)
        elif names and "*" not in names:
            for attribute in sorted(names):
                self._follow_attributes(module, name, (attribute,))
        else:
            self.add(module, name)

    def _module(self, module: types.ModuleType) -> None:
        self._note("module", module.__name__)
        self._note_module(module.__name__)
        if is_users_module(module.__name__):
            members = vars(module).items()
            self._follow_by_name({n: value for n, value in members if not n.startswith("__")})

    def _bound_method(self, method: types.MethodType) -> None:
        self._note("method")
        self.add(method.__func__, ".__func__")
        self.add(method.__self__, ".__self__")

    def _built_in(self, function: Any) -> None:
        owner = function.__self__
        self._note("built in", function.__name__)
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.add(owner, ".__self__")
            return
        module = getattr(function, "__module__", None)
        self._note(str(module or ""))
        self._note_module(module)

    def _descriptor(self, descriptor: Any) -> None:
        self._note(type(descriptor).__name__, descriptor.__name__)
        self.add(descriptor.__objclass__, ".__objclass__")

    def _property(self, member: property) -> None:
        self._note("property")
        self.add(type(member), "(class)")
        self._follow_by_name({"fget": member.fget, "fset": member.fset, "fdel": member.fdel})
        self._follow_by_name(getattr(member, "__dict__", {}))

    def _static_or_class_method(self, member: Any) -> None:
        self.add(type(member), "(class)")
        self.add(member.__func__, ".__func__")

    def _cached_property(self, member: functools.cached_property) -> None:
        self._note("cached property", str(member.attrname))
        self.add(type(member), "(class)")
        self.add(member.func, ".func")

    def _memory(self, function: Any) -> None:
        """Follow a function with `functools.cache`."""
        self._note_module(function.__module__)
        if self._is_identified_by_name(function):
            self._note("function", function.__module__, function.__qualname__)
            return
        self.memories.append(function)
        self._note("keeps results")
        self.add(function.__wrapped__, ".__wrapped__")

    def _ufunc(self, function: np.ufunc) -> None:
        packages = [np, sys.modules.get("scipy.special")]
        if not any(getattr(home, function.__name__, None) is function for home in packages):
            remedy = "use np.vectorize, or a function"
            self._refuse(function, f"whose Python function is hidden: {remedy}")
        self._note("ufunc", function.__name__)
        self._packages.update(("numpy", "scipy"))

    def _vectorized(self, function: np.vectorize) -> None:
        settings = dict(vars(function))
        settings.pop("_ufunc", None)
        settings.pop("__doc__", None)
        self._note("vectorized")
        self.add(type(function), "(class)")
        self._follow_by_name(settings)

    def _code(self, code: types.CodeType) -> None:
        self._note("code", code_digest(code))

    # ------------------------------------------------------------------------------ classes

    def _class(self, kind: type) -> None:
        self._note_module(kind.__module__)
        if self._is_named_class(kind):
            self._note("class", str(kind.__module__), kind.__qualname__)
            self._follow_changes(kind)
            return
        self._note("class", kind.__name__)
        self.add(type(kind), "(metaclass)")
        self._follow_items(kind.__bases__, "bases")
        members = vars(kind).items()
        self._follow_by_name({n: v for n, v in members if n not in MEMBERS_WITHOUT_MEANING})

    def _follow_changes(self, kind: type) -> None:
        """Follow what a user may have changed in a class: its constants, and their functions."""
        for base in kind.__mro__:
            if base in self._scanned_classes or not is_heap_type(base):
                continue
            self._scanned_classes.add(base)
            self._note_module(base.__module__)
            for name, member in list(vars(base).items()):
                if type(member) in PLAIN_TYPES:
                    if name not in MEMBERS_WITHOUT_MEANING:
                        self._note(name, text_of(member))
                elif self._is_users_member(member):
                    self.add(member, f".{name}")

    # ---------------------------------------------------------------------------- instances

    def _instance(self, value: object) -> None:
        if value is np.random.mtrand._rand and self._depth_in_packages:
            self._note("NumPy's generator")  # Every distribution of SciPy refers to it.
            return
        kind = type(value)
        users = not self._is_named_class(kind)
        self._refuse_changing(value, users)
        self._note("instance")
        self.add(kind, "(class)")
        if users:
            self._users_instance(value)
            return
        self._depth_in_packages += 1
        self._follow_pickle(value)
        self._depth_in_packages -= 1

    def _users_instance(self, value: object) -> None:
        """Follow an instance of a class of the user.

        Its content and its attributes are followed, and also what a base class from a package would
        pickle. A user's own pickling methods are not called: they may leave attributes out.
        """
        bases = type(value).__mro__
        users_bases = [base for base in bases if not self._is_named_class(base)]
        package_bases = [base for base in bases if self._is_named_class(base)]
        hiding = [
            base
            for base in package_bases
            if not is_heap_type(base) and base not in TYPES_WITH_KNOWN_CONTENT
        ]
        users_pickling = any(defines_pickling(base) for base in users_bases)
        package_pickling = any(
            defines_pickling(base) for base in package_bases if is_heap_type(base)
        )
        if users_pickling or not package_pickling:
            self._follow_items(content_of(value), "holds")
            self._follow_by_name(attributes_of(value))
        if not users_pickling and (package_pickling or hiding):
            self._follow_pickle(value)
        elif hiding:
            base = hiding[0].__name__
            self._refuse(value, f"which hides the content of {base}: pass plain values")

    def _refuse_changing(self, value: object, users: bool) -> None:
        """Refuse an object that its use changes."""
        if isinstance(value, _GENERATORS) or getattr(value, "changes_with_use", False) is True:
            self._refuse(value, "which changes with use: pass a seed, or plain values")
        if isinstance(value, Iterator) and not users:
            self._refuse(value, "which is used up: pass a list, or the values behind it")
        if isinstance(value, weakref.ref):
            self._refuse(value, "whose target may disappear: pass the target")

    def _follow_pickle(self, value: Any) -> None:
        """Follow the parts that a pickle of an object would contain."""
        if hasattr(value, "detach") and hasattr(value, "__array__"):  # A tensor of PyTorch.
            self._note(str(value.device), str(value.requires_grad))
            self.add(np.asarray(value.detach().cpu()), "(array)")
            return
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            parts = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception as error:
            remedy = "pass the values that are needed of it"
            self._refuse(value, f"which cannot be followed ({error}): {remedy}")
        if isinstance(parts, str):
            self._note("global", str(getattr(value, "__module__", "")), parts)
            return
        constructor, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        self.add(constructor, "(made by)")
        self._follow_items(arguments, "arguments")
        if type(state) is dict and all(type(name) is str for name in state):
            self._follow_by_name(state)
        else:
            self.add(state, "(state)")
        self._follow_items(items or (), "items")
        self._follow_items(pairs or (), "pairs")


#: The method that follows each kind of object; `_instance` follows all others.
_FOLLOW: tuple[tuple[Any, Callable[[Dependencies, Any], None]], ...] = (
    (types.FunctionType, Dependencies._function),
    (type, Dependencies._class),
    ((list, tuple), Dependencies._sequence),
    (dict, Dependencies._dict),
    ((set, frozenset), Dependencies._set),
    (np.ndarray, Dependencies._array),
    (np.generic, Dependencies._scalar),
    (types.ModuleType, Dependencies._module),
    (types.MethodType, Dependencies._bound_method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), Dependencies._built_in),
    (_DESCRIPTORS, Dependencies._descriptor),
    (property, Dependencies._property),
    ((staticmethod, classmethod), Dependencies._static_or_class_method),
    (functools.cached_property, Dependencies._cached_property),
    (functools._lru_cache_wrapper, Dependencies._memory),
    (types.CellType, Dependencies._cell),
    (types.CodeType, Dependencies._code),
    (_VIEWS, Dependencies._view),
    (np.ufunc, Dependencies._ufunc),
    (np.vectorize, Dependencies._vectorized),
)  # fmt: skip
