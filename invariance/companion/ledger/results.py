"""What a run left on disk, read without trust: `read_results`, `read_status`, `read_executed`.

Whatever is wrong with a file (truncated, another notebook's, a list where a mapping belongs) is a
sentence in a list of problems, never an exception: one bad file takes nothing else down. What is
returned has the documented shape throughout; parts that have not are left out.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from invariance.companion.files import read_json
from invariance.companion.paths import PROFILES

__all__ = [
    "RESULTS_SCHEMA",
    "STATUSES",
    "as_recorded",
    "read_executed",
    "read_results",
    "read_status",
]

RESULTS_SCHEMA = 1
STATUSES = ("ok", "failed", "timeout", "killed", "interrupted")

_FILE = re.compile(r"[A-Za-z0-9][\w.-]*")
_KINDS = ("value", "order", "bound", "rate", "identity", "same")


def read_results(
    folder: Path, notebook: str | None = None
) -> tuple[dict[str, Any] | None, list[str]]:
    """Content of a folder's ``results.json``, and what is wrong with it.

    Parameters
    ----------
    folder : Path
        Output folder of a run, or a published one.
    notebook : str, optional
        ``<paper>/<name>``; results of another notebook are refused.

    Returns
    -------
    results : dict or None
        None where there are no results or none that can be used. Otherwise with all of
        ``notebook``, ``profile``, ``parameters``, ``seed``, ``claims``, ``figures``, ``tables``,
        ``says``, ``files`` (digests by name), ``provenance`` and ``volatile``, each of the shape
        that `invariance.companion.Run` writes.
    problems : list of str
        One sentence each, starting with the file; empty when all is well, and when there is no
        such file.
    """
    path = folder / "results.json"
    if not path.exists() and not path.is_symlink():
        return None, []
    content = read_json(path)
    if not isinstance(content, dict):
        return None, [f"{path}: {_what(path, content)}; run the notebook again"]
    if content.get("schema") != RESULTS_SCHEMA:
        return None, [
            f"{path}: not readable as results of schema {RESULTS_SCHEMA}; run the notebook again"
        ]
    name, profile = content.get("notebook"), content.get("profile")
    if not isinstance(name, str) or profile not in PROFILES:
        return None, [f"{path}: does not say which notebook and profile it is of"]
    if notebook is not None and name != notebook:
        return None, [f"{path}: these are results of {name}, not of {notebook}; run it again"]
    problems: list[str] = []

    def part(holder: dict[str, Any], key: str, check: Callable[[Any], bool] | None) -> Any:
        kind = _KINDS_OF[key]
        value: Any = holder.get(key, kind())
        if not isinstance(value, kind):
            problems.append(f"{path}: {key!r} is {value!r:.60}, not {_NAMES[kind]}")
            return kind()
        if check is None:
            return value
        entries = [*(value.items() if isinstance(value, dict) else enumerate(value))]
        if bad := [str(name) for name, entry in entries if not check(entry)]:
            problems.append(f"{path}: {key!r} has malformed entries: {', '.join(bad)[:200]}")
        good = {name: entry for name, entry in entries if check(entry)}
        return good if kind is dict else [*good.values()]

    results: dict[str, Any] = {key: part(content, key, check) for key, check in _PARTS.items()}
    results |= {"schema": RESULTS_SCHEMA, "notebook": name, "profile": profile}
    results["seed"] = content.get("seed")
    if results["seed"] is not None and type(results["seed"]) is not int:
        problems.append(f"{path}: the seed is {results['seed']!r:.60}, not a whole number")
        results["seed"] = None
    provenance, volatile = results["provenance"], results["volatile"]
    provenance |= {k: part(provenance, k, None) for k in ("code", "packages", "data", "parameters")}
    for key in ("wall_s", "cached_s", "cpu_s", "floor_s", "peak_memory_mb"):
        if not _is_seconds(volatile.setdefault(key, 0.0)):
            problems.append(f"{path}: {key} is {volatile[key]!r:.60}, no such number")
            volatile[key] = 0.0
    return results, problems


def _what(path: Path, content: Any) -> str:
    if content is not None:
        return f"not readable as results: {content!r:.60} is no mapping"
    if not path.is_file():
        return "not readable as results: no file"
    return f"not readable as results: {'empty' if path.stat().st_size == 0 else 'damaged'}"


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _has(value: Any, **kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(value.get(key), kind) for key, kind in kinds.items()
    )


def _is_claim(value: Any) -> bool:
    optional = (str, type(None))
    return (
        _has(value, kind=str, verdict=str, reason=str, ours=str, recorded=Mapping)
        and value["kind"] in _KINDS
        and _has({"data": None, "note": None, "protocol": None} | value,
                 data=optional, note=optional, protocol=optional)
    )  # fmt: skip


def _is_figure(value: Any) -> bool:
    return _has(value, name=str, alt=str, caption=str, files=list) and all(
        isinstance(file, str) and _FILE.fullmatch(file) for file in value["files"]
    )


def _is_table(value: Any) -> bool:
    return _has(value, name=str, caption=str, file=str) and bool(_FILE.fullmatch(value["file"]))


#: Parts of the results, and what each entry must be.
_PARTS: dict[str, Callable[[Any], bool] | None] = {
    "parameters": None,
    "claims": _is_claim,
    "figures": _is_figure,
    "tables": _is_table,
    "says": lambda value: _has(value, text=str, said=str),
    "files": lambda value: isinstance(value, str),
    "provenance": None,
    "volatile": None,
}
_LISTS = ("figures", "tables", "says")
_KINDS_OF: dict[str, type[str] | type[dict] | type[list]] = {
    **dict.fromkeys(_PARTS, dict),
    **dict.fromkeys(_LISTS, list),
    "code": str,
    "packages": dict,
    "data": dict,
}
_NAMES: dict[type, str] = {dict: "a mapping", list: "a list", str: "text"}


def read_status(
    folder: Path, notebook: str | None = None
) -> tuple[dict[str, Any] | None, list[str]]:
    """Content of a folder's ``status.json``, and what is wrong with it; as `read_results`.

    The dict has ``notebook``, ``profile``, ``parameters``, ``default_parameters``, ``status`` (one
    of `STATUSES`), ``failure`` (None or a dict with ``kind``, ``message``, ``exception``,
    ``traceback``, ``cell_index`` and ``cell_source``), ``duration_s``, ``started``, ``finished``,
    ``results`` (None, ``"this attempt"`` or ``"earlier attempt"``), ``executed`` (None or a path
    below the folder) and ``success`` (None, or what `invariance.companion.runner.resume` keeps of
    the latest success).
    """
    path = folder / "status.json"
    if not path.exists() and not path.is_symlink():
        return None, []
    content = read_json(path)
    if not isinstance(content, dict):
        return None, [f"{path}: {_what(path, content)}; run the notebook again"]
    if content.get("status") not in STATUSES:
        return None, [
            f"{path}: its status is {content.get('status')!r:.60}; run the notebook again"
        ]
    if notebook is not None and content.get("notebook", notebook) != notebook:
        return None, [
            f"{path}: this is the status of {content['notebook']!r:.60}, not of {notebook}; "
            "run it again"
        ]
    status = dict.fromkeys(_FIELDS) | content
    problems = []
    for field, allowed in _FIELDS.items():
        if not isinstance(status[field], (*allowed, type(None))):
            problems.append(f"{path}: {field!r} is {status[field]!r:.60}")
            status[field] = None
    if not _is_seconds(status["duration_s"]):
        status["duration_s"] = 0.0
    if status["failure"] is not None:
        failure = dict.fromkeys(_FAILURE) | status["failure"]
        for field in ("kind", "message", "exception", "traceback", "cell_source"):
            failure[field] = None if failure[field] is None else str(failure[field])
        status["failure"] = failure | {"message": failure["message"] or "no reason was noted"}
    executed = status["executed"]
    if executed not in (None, "executed.ipynb", "failed/executed.ipynb"):
        problems.append(f"{path}: 'executed' is {executed!r:.60}")
        status["executed"] = None
    return status, problems


_FIELDS: dict[str, tuple[type, ...]] = {
    "notebook": (str,),
    "profile": (str,),
    "parameters": (dict,),
    "default_parameters": (bool,),
    "status": (str,),
    "failure": (dict,),
    "started": (str,),
    "finished": (str,),
    "duration_s": (int, float),
    "results": (str,),
    "executed": (str,),
    "success": (dict,),
}
_FAILURE = ("kind", "message", "exception", "traceback", "cell_index", "cell_source")


def read_executed(path: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """An executed notebook as plain JSON, and what is wrong with it; as `read_results`."""
    if not path.exists() and not path.is_symlink():
        return None, []
    content = read_json(path)
    if not isinstance(content, dict):
        return None, [f"{path}: {_what(path, content)}; run the notebook again"]
    cells = content.get("cells")
    if (
        content.get("nbformat") != 4
        or not isinstance(cells, list)
        or not all(_has(cell, cell_type=str, source=(str, list)) for cell in cells)
    ):
        return None, [f"{path}: is no notebook of format 4; run the notebook again"]
    return content, []


def as_recorded(content: Any) -> str | None:
    """SHA-256 of results without the verdicts, which follow from the rest and the ledger.

    None for what is no results.
    """
    if not isinstance(content, dict):
        return None
    claims = content.get("claims")
    if isinstance(claims, dict):
        plain = {
            name: {k: v for k, v in entry.items() if k not in ("verdict", "reason", "ours")}
            if isinstance(entry, dict)
            else entry
            for name, entry in claims.items()
        }
        content = {**content, "claims": plain}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
