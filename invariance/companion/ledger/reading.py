"""Text and YAML read without trust: whatever is wrong with a file is a `LedgerError`."""

from pathlib import Path
from typing import Any

import yaml

from ..errors import LedgerError

#: Keeps every scalar as it is printed (11.40 has two digits); libyaml's where PyYAML has it.
AS_PRINTED = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# libyaml builds a document by recursion, and ends the process where the stack is not enough
_DEEPEST = 50


def read_text(path: Path) -> str:
    """The text of a file; `LedgerError` if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LedgerError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise LedgerError(f"{path} is not UTF-8 text ({byte})") from error


def read_yaml(path: Path, loader: Any = _SAFE) -> Any:
    """The content of a YAML file; see `read_text` for errors."""
    return parse_yaml(read_text(path), str(path), loader)


def parse_yaml(text: str, what: str, loader: Any = _SAFE) -> Any:
    """The content of a YAML text; `what` names it in a message."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise ValueError(f"nested more than {_DEEPEST} deep: it is damaged")
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise LedgerError(f"{what} is not YAML: {error}") from error
