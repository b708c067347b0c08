"""Code objects as they are in memory: their digests, and the names that they look up."""

import dis
import hashlib
import types
from dataclasses import dataclass, field
from functools import cache
from typing import Any

_LOOKUPS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL")
_REBINDS = ("STORE_DEREF", "DELETE_DEREF")


@cache
def code_digest(code: types.CodeType) -> str:
    """Return the SHA-256 of a code object without its file and its line numbers.

    >>> code_digest(compile("x + 1", "a", "eval")) == code_digest(compile("\\nx + 1", "b", "eval"))
    True
    """
    parts = [
        code.co_name,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        (code.co_code, code.co_exceptiontable),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        [_constant(constant) for constant in code.co_consts],
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(constant: Any) -> Any:
    """Return a constant with its type, in a form that `repr` shows in full."""
    if isinstance(constant, types.CodeType):
        return "code", code_digest(constant)
    if isinstance(constant, frozenset):
        return "set", sorted(repr(_constant(item)) for item in constant)
    if isinstance(constant, tuple):
        return "tuple", [_constant(item) for item in constant]
    if isinstance(constant, int):
        return type(constant).__name__, hex(constant)  # `repr` refuses very long integers.
    return type(constant).__name__, repr(constant)


def nested(code: types.CodeType) -> list[types.CodeType]:
    """Return a code object and those of all functions, classes and comprehensions inside it."""
    codes = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            codes += nested(constant)
    return codes


@dataclass
class Lookups:
    """The names that a code object, and the code objects inside it, look up elsewhere.

    Attributes
    ----------
    names : dict
        For each global name, the chains of attributes that are read from it: ``("a", "b")`` for
        ``name.a.b``, and True if the object is used in any other way.
    imports : list of tuple
        The level, the module and the names of each import statement.
    writes : set of str
        The global names that are assigned.
    rebinds : set of str
        The variables of enclosing functions that are assigned.
    """

    names: dict[str, set[tuple[str, ...] | bool]] = field(default_factory=dict)
    imports: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    writes: set[str] = field(default_factory=set)
    rebinds: set[str] = field(default_factory=set)

    def add(self, inner: "Lookups", cell_variables: tuple[str, ...]) -> None:
        """Include the lookups of a nested code object, which shares `cell_variables`."""
        for name, chains in inner.names.items():
            self.names.setdefault(name, set()).update(chains)
        self.imports += inner.imports
        self.writes |= inner.writes
        self.rebinds |= inner.rebinds - set(cell_variables)


@cache
def lookups(code: types.CodeType) -> Lookups:
    """Return the lookups of a code object. Callers must not change them."""
    result = Lookups()
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        operation = instruction.opname
        name = instruction.argval
        if operation in _LOOKUPS:
            chain = _chain(instructions, i + 1)
            result.names.setdefault(name, set()).add(chain or True)
        elif operation == "IMPORT_NAME":
            level = instructions[i - 2].argval
            imported_names = instructions[i - 1].argval or ()
            result.imports.append((level, name, imported_names))
        elif operation in _WRITES:
            result.writes.add(name)
        elif operation in _REBINDS and name in code.co_freevars:
            result.rebinds.add(name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            result.add(lookups(constant), code.co_cellvars)
    return result


def _chain(instructions: list[dis.Instruction], start: int) -> tuple[str, ...]:
    """Return the attributes that are read one from another, starting at an instruction."""
    names = []
    for instruction in instructions[start:]:
        if instruction.opname not in _ATTRIBUTES:
            break
        names.append(instruction.argval)
    return tuple(names)
