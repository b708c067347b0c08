"""Files and folders written whole or not at all, and digested; text and YAML read without trust."""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import CompanionError, LedgerError, OutputError

# what a notebook imports works without these two: no locks, and a ledger that nobody can read
try:
    import fcntl
except ImportError:  # Windows, or Python in a browser
    fcntl = None  # type: ignore[assignment]
try:
    import yaml
except ImportError:
    yaml = None

#: What `read_yaml` makes of numbers and dates: values, or texts as they are printed (11.40 has two
#: digits).
AS_VALUES, AS_PRINTED = "values", "printed"
# a terminal's escape sequences: texts up to their end (links, titles), then colours and the rest
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
# libyaml builds a document by recursion, and ends the process where the stack is not enough
_DEEPEST = 50


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of writing to `path` as `OutputError`."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        why = f"{error.strerror or error}. Earlier results are untouched; free some space, or"
        raise OutputError(f"cannot write {path}: {why} choose another folder") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file by renaming a finished temporary sibling over it, or raise `OutputError`."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            # "x" obeys the umask, as a file opened by its own name would
            with open(temporary, "xb") as stream:
                stream.write(content)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys; refuses NaN and infinity."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # a path that the locale cannot read has lone surrogates, which JSON keeps as \udc80 to \udcff
    write_bytes(path, (text + "\n").encode("utf-8", "backslashreplace"))


def read_json(path: Path, finite: bool = False) -> Any | None:
    """Content of a JSON file, or None if it does not exist, is not JSON, or not `finite`."""
    try:  # of NaN, int makes a ValueError
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=int if finite else None)
    except (OSError, ValueError, RecursionError, MemoryError):
        return None


def read_text(path: Path, fault: type[CompanionError] = LedgerError) -> str:
    """The text of a file; `fault` if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise fault(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise fault(f"{path} is not UTF-8 text ({byte})") from error


def without_escapes(text: str) -> str:
    """What a terminal shows as plain text: no colours, no addresses of links, no titles.

    >>> without_escapes("\\x1b[31mred\\x1b[0m \\x1b]8;;https://a.b\\x1b\\\\word\\x1b]8;;\\x07")
    'red word'
    """
    return _ESCAPES.sub("", text)


def file_digest(path: Path) -> str | None:
    """SHA-256 of a file in hexadecimal, or None if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def can_read_yaml() -> bool:
    """Whether PyYAML is there: where a notebook runs alone, such as in a browser, it may not be."""
    return yaml is not None


def read_yaml(path: Path, scalars: str = AS_VALUES) -> Any:
    """The content of a YAML file; see `read_text` for errors."""
    return parse_yaml(read_text(path), str(path), scalars)


def parse_yaml(text: str, what: str, scalars: str = AS_VALUES) -> Any:
    """The content of a YAML text; `what` names it in a message."""
    if yaml is None:
        raise LedgerError(f"{what} cannot be read without PyYAML: pip install pyyaml")
    kind = "BaseLoader" if scalars == AS_PRINTED else "SafeLoader"
    loader = getattr(yaml, f"C{kind}", None) or getattr(yaml, kind)  # libyaml's if it is there
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


def locked(stream: IO[str] | int, *, shared: bool = False, wait: bool = True) -> bool:
    """Whether a lock on a file was to be had; no on a system or a file system without locks."""
    if fcntl is None:
        return False
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(stream, kind if wait else kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def ensure_writable(folder: Path) -> None:
    """Make a folder and prove that a file can be written in it; `OutputError` if not."""
    probe = folder / f".probe.{uuid.uuid4().hex}"
    write_bytes(probe, b"x" * 4096)
    probe.unlink()


def _aside(final: Path) -> Path:
    return final.with_name(f".{final.name}.previous")


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, if the system has locks for folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # it does not exist, or the system is Windows
        yield
        return
    try:
        locked(descriptor)
        yield
    finally:
        os.close(descriptor)


def repair_folder(final: Path) -> None:
    """Finish a `replace_folder` that was cut short between its two renames."""
    with _turn(final.parent), writing(final):
        _repair(final)


def _repair(final: Path) -> None:
    aside = _aside(final)
    if aside.exists():
        if final.exists():
            shutil.rmtree(aside)
        else:
            os.rename(aside, final)


def replace_folder(new: Path, final: Path) -> None:
    """Put folder `new` in the place of `final`, on the same file system, or raise `OutputError`.

    The earlier folder is renamed first. If the process dies before the second rename,
    `repair_folder` restores it.
    """
    with writing(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        with _turn(final.parent):
            _repair(final)
            if final.exists():
                os.rename(final, _aside(final))
            try:
                os.rename(new, final)
            finally:
                _repair(final)
