"""Code objects as they are in memory: a digest of one, and the names that it looks up."""

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
    """SHA-256 of what a code object does: its lines and its file play no part.

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
    """A constant of a code object, with its type, in a form that `repr` shows whole."""
    if isinstance(constant, types.CodeType):
        return "code", code_digest(constant)
    if isinstance(constant, frozenset):
        return "set", sorted(repr(_constant(item)) for item in constant)
    if isinstance(constant, tuple):
        return "tuple", [_constant(item) for item in constant]
    if isinstance(constant, int):
        return type(constant).__name__, hex(constant)  # `repr` refuses very long ones
    return type(constant).__name__, repr(constant)


def nested(code: types.CodeType) -> list[types.CodeType]:
    """A code object, and those of the functions, classes and comprehensions inside it."""
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += nested(constant)
    return found


@dataclass
class Lookups:
    """What a code object and those inside it look up outside of themselves.

    ``names`` are global names, each with the chains of attributes that are read of it, and True
    beside them if the object is used in any other way; ``imports`` are the level, the module and
    the names of import statements; ``writes`` and ``rebinds`` are the global names and the
    variables of an enclosing function that are assigned.
    """

    names: dict[str, set[tuple[str, ...] | bool]] = field(default_factory=dict)
    imports: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    writes: set[str] = field(default_factory=set)
    rebinds: set[str] = field(default_factory=set)

    def add(self, other: "Lookups", local: tuple[str, ...]) -> None:
        """Include those of a nested code object; `local` are variables that it shares."""
        for name, chains in other.names.items():
            self.names.setdefault(name, set()).update(chains)
        self.imports += other.imports
        self.writes |= other.writes
        self.rebinds |= other.rebinds - set(local)


@cache
def lookups(code: types.CodeType) -> Lookups:
    """What a code object looks up; not to be changed."""
    found = Lookups()
    instructions = [*dis.get_instructions(code)]
    for i, instruction in enumerate(instructions):
        operation = instruction.opname
        if operation in _LOOKUPS:
            chain = _chain(instructions, i + 1)
            found.names.setdefault(instruction.argval, set()).add(chain or True)
        elif operation == "IMPORT_NAME":
            level, names = (instructions[j].argval for j in (i - 2, i - 1))
            found.imports.append((level, instruction.argval, names or ()))
        elif operation in _WRITES:
            found.writes.add(instruction.argval)
        elif operation in _REBINDS and instruction.argval in code.co_freevars:
            found.rebinds.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.add(lookups(constant), local=code.co_cellvars)
    return found


def _chain(instructions: list[dis.Instruction], start: int) -> tuple[str, ...]:
    """Names of the attributes that are read one of the other, from an instruction on."""
    names = []
    for instruction in instructions[start:]:
        if instruction.opname not in _ATTRIBUTES:
            break
        names.append(instruction.argval)
    return tuple(names)
