"""Files and folders, written completely or not at all; texts, JSON and YAML, read with checks."""

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

# Notebooks run without these two modules, but without locks; only a ledger in JSON can be read.
try:
    import fcntl
except ImportError:  # Windows, or Python in a browser
    fcntl = None  # type: ignore[assignment]
if not hasattr(fcntl, "flock"):  # JupyterLite puts an empty module in its place.
    fcntl = None  # type: ignore[assignment]
try:
    import yaml
except ImportError:
    yaml = None

#: `read_yaml` converts numbers and dates to values.
AS_VALUES = "values"
#: `read_yaml` keeps numbers and dates as texts: 11.40 has two decimals.
AS_PRINTED = "printed"
# Escape sequences of terminals: texts up to their end (links, titles), then colours and the rest.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
# libyaml builds a document by recursion, and crashes the process if the stack is too small.
_LARGEST_DEPTH = 50


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Context manager that turns errors of writing to `path` into `OutputError`."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        reason = error.strerror or error
        remedy = "Earlier results are untouched; free some space, or make the folder writable"
        raise OutputError(f"cannot write {path}: {reason}. {remedy}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file by renaming a finished temporary sibling over it, or raise `OutputError`."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            # Unlike a file of `tempfile`, this one has the permissions that the umask gives.
            with open(temporary, "xb") as stream:
                stream.write(content)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys; refuses NaN and infinity."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # Paths with bytes that the locale cannot decode contain lone surrogates, \udc80 to \udcff.
    write_bytes(path, (text + "\n").encode("utf-8", "backslashreplace"))


def read_json(path: Path, finite: bool = False) -> Any | None:
    """Return the content of a JSON file, or None if it does not exist or is not JSON.

    With `finite`, None is also returned if it contains NaN or infinity.
    """
    # `int` raises ValueError for the texts NaN and Infinity.
    parse_constant = int if finite else None
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=parse_constant)
    except (OSError, ValueError, RecursionError, MemoryError):
        return None


def read_text(path: Path, fault: type[CompanionError] = LedgerError) -> str:
    """Return the text of a file; raises `fault` if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise fault(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise fault(f"{path} is not UTF-8 text ({byte})") from error


def without_escapes(text: str) -> str:
    """Return a text without a terminal's escape sequences: colours, links and titles.

    >>> without_escapes("\\x1b[31mred\\x1b[0m \\x1b]8;;https://a.b\\x1b\\\\word\\x1b]8;;\\x07")
    'red word'
    """
    return _ESCAPES.sub("", text)


def file_digest(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal, or None if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def can_read_yaml(path: Path) -> bool:
    """Return whether a YAML file can be read: without PyYAML, as in a browser, only JSON can."""
    return yaml is not None or read_json(path) is not None


def read_yaml(path: Path, scalars: str = AS_VALUES) -> Any:
    """Return the content of a YAML file; see `read_text` for errors."""
    return parse_yaml(read_text(path), str(path), scalars)


def parse_yaml(text: str, title: str, scalars: str = AS_VALUES) -> Any:
    """Return the content of a YAML text, which messages call `title`.

    Without PyYAML, only JSON is read, which is YAML too.
    """
    if yaml is None:
        return _parse_json(text, title, scalars)
    kind = "BaseLoader" if scalars == AS_PRINTED else "SafeLoader"
    loader = getattr(yaml, kind)
    fast_loader = getattr(yaml, f"C{kind}", loader)  # Missing if PyYAML was built without libyaml.
    strict_loader = type("StrictLoader", (_OneValuePerKey, fast_loader), {})
    try:
        _check_depth(text, fast_loader)
        return yaml.load(text, Loader=strict_loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        remedy = ""
        if "mapping values are not allowed" in str(error):
            remedy = ". A text that contains a colon needs quotation marks"
        raise LedgerError(f"{title} is not YAML: {error}{remedy}") from error


class _OneValuePerKey:
    """A part of a YAML loader that refuses repeated keys; PyYAML keeps the last value."""

    def construct_mapping(self, node: Any, *args: Any, **keywords: Any) -> Any:
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in keys:
                problem = f"the key {key.value!r} stands twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, *args, **keywords)  # type: ignore[misc]


def _parse_json(text: str, title: str, scalars: str) -> Any:
    try:
        if scalars == AS_PRINTED:
            return json.loads(text, parse_float=str, parse_int=str)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = "pip install pyyaml"
        raise LedgerError(f"{title} cannot be read without PyYAML: {remedy}") from error


def _check_depth(text: str, loader: Any) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _LARGEST_DEPTH:
            raise ValueError(f"nested more than {_LARGEST_DEPTH} deep: it is damaged")


def locked(stream: IO[str] | int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock a file, and return whether it is locked.

    The answer is False if another process holds the lock and `wait` is False, and on a system or a
    file system without locks.
    """
    if fcntl is None:
        return False
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    if not wait:
        operation |= fcntl.LOCK_NB
    try:
        fcntl.flock(stream, operation)
    except OSError:
        return False
    return True


def held_elsewhere(descriptor: int) -> bool:
    """Lock a file without waiting, and return whether another process holds the lock.

    On a system or a file system without locks, the answer is False.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def ensure_writable(folder: Path) -> None:
    """Make a folder and write a file into it as a test; raises `OutputError` if this fails."""
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
    """Move the folder `new` to `final`, on the same file system, or raise `OutputError`.

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
