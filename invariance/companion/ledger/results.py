"""What a run left on disk, read without trust: `read_results`, `read_status`, `read_executed`.

Whatever is wrong with a file (truncated, another notebook's, a list where a mapping belongs) is a
sentence in a list of problems, never an exception, and nothing of that file is used: one bad file
takes nothing else down.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import file_digest, read_json
from ..paths import PROFILES

RESULTS_SCHEMA = 1
STATUSES = ("ok", "failed", "timeout", "killed", "interrupted")

Found = tuple[dict[str, Any] | None, list[str]]

#: Parts of the results, and what an entry of each must hold.
_PARTS: dict[str, tuple[type, dict[str, type]]] = {
    "parameters": (dict, {}),
    "claims": (
        dict,
        dict.fromkeys(("kind", "verdict", "reason", "ours"), str) | {"recorded": dict},
    ),
    "figures": (list, dict.fromkeys(("name", "alt", "caption"), str) | {"files": list}),
    "tables": (list, dict.fromkeys(("name", "caption", "file"), str)),
    "says": (list, dict.fromkeys(("text", "said"), str)),
    "provenance": (dict, {}),
    "volatile": (dict, {}),
}
_KINDS = {name: kind for name, (kind, _) in _PARTS.items()}
_PROVENANCE = {"code": str, "packages": dict, "data": dict, "parameters": dict}
_BESIDE = ("data", "note", "protocol")  # of a claim: text or None
_SECONDS = ("wall_s", "cached_s", "cpu_s", "floor_s", "peak_memory_mb")
_NAMES: dict[type, str] = {dict: "a mapping", list: "a list", str: "text"}
# in an output folder, but no output of the run
_APART = ("status.json", "failed", ".work")


def read_results(folder: Path, notebook: str | None = None) -> Found:
    """Content of a folder's ``results.json``, and what is wrong with it.

    They are as `invariance.companion.Run` writes them, whatever was left out filled in, or None
    where there are none, none that can be used, or those of another than the named notebook. A
    problem is one sentence, starting with the file; there is none where there is no such file.
    """
    path = folder / "results.json"
    content, wrong = _read(path, notebook)
    if content is None:
        return content, wrong
    if content.get("schema") != RESULTS_SCHEMA:
        return None, [f"{path}: not readable as results of schema {RESULTS_SCHEMA}; run it again"]
    if not isinstance(content.get("notebook"), str) or content.get("profile") not in PROFILES:
        return None, [f"{path}: does not say which notebook and profile it is of"]
    if fault := _fill(content):
        return None, [f"{path}: {fault}; run the notebook again"]
    return content, []


def _fill(content: dict[str, Any]) -> str | None:
    """Fill in what was left out; what is wrong, if anything is."""
    for inside, kinds in ((None, _KINDS), ("provenance", _PROVENANCE)):
        holder = content[inside] if inside else content
        for name, kind in kinds.items():
            if not isinstance(holder.setdefault(name, kind()), kind):
                return f"{name!r} is {holder[name]!r:.60}, not {_NAMES[kind]}"
    for name, (kind, needed) in _PARTS.items():
        entries = content[name].items() if kind is dict else enumerate(content[name])
        bad = [str(key) for key, entry in entries if needed and not _has(entry, needed)]
        if bad:
            return f"{name!r} has malformed entries: {', '.join(bad)[:200]}"
    for entry in content["claims"].values():
        for name in _BESIDE:
            if not isinstance(entry.setdefault(name, None), str | None):
                return f"{name} of a claim is {entry[name]!r:.60}, not text"
    for file in files_of(content):
        if not isinstance(file, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", file):
            return f"{file!r:.60} is no name of a file"
    for name in _SECONDS:
        if not _is_seconds(content["volatile"].setdefault(name, 0.0)):
            return f"{name} is {content['volatile'][name]!r:.60}, no such number"
    return None


def files_of(results: Mapping[str, Any]) -> list[str]:
    """Names of the figures' and tables' files."""
    named = [file for figure in results["figures"] for file in figure["files"]]
    return [*named, *(table["file"] for table in results["tables"])]


def _has(entry: Any, needed: Mapping[str, type]) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(k), t) for k, t in needed.items())


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _read(path: Path, notebook: str | None) -> Found:
    """A JSON file that holds a mapping, of that notebook if it says whose it is."""
    if not path.exists() and not path.is_symlink():
        return None, []
    content = read_json(path)
    if not isinstance(content, dict):
        what = f"{content!r:.60} is no mapping" if content is not None else "damaged or no file"
        return None, [f"{path}: not readable as results: {what}; run the notebook again"]
    if notebook is not None and content.get("notebook", notebook) != notebook:
        return None, [f"{path}: of {content['notebook']!r:.60}, not of {notebook}; run it again"]
    return content, []


def read_status(folder: Path, notebook: str | None = None) -> Found:
    """Content of a folder's ``status.json``, and what is wrong with it; as `read_results`.

    The dict has ``status`` (one of `STATUSES`), ``duration_s``, ``failure`` (None or a dict with
    ``message``, ``exception``, ``traceback``, ``cell_index`` and ``cell_source``) and ``success``
    (None, or what `invariance.companion.runner.resume` keeps of the latest success).
    """
    path = folder / "status.json"
    content, wrong = _read(path, notebook)
    if content is None:
        return content, wrong
    status = {"duration_s": 0.0, "failure": None, "success": None} | content
    failure, success = status["failure"], status["success"]
    if (
        status.get("status") not in STATUSES
        or not _is_seconds(status["duration_s"])
        or not isinstance(success, dict | None)
        or not (failure is None or _has(failure, {"message": str}))
    ):
        return None, [f"{path}: damaged; run the notebook again"]
    return status, []


def read_executed(path: Path) -> Found:
    """An executed notebook as plain JSON, and what is wrong with it; as `read_results`."""
    content, wrong = _read(path, None)
    cells = content.get("cells") if content else None
    needed = {"cell_type": str}
    if content is not None and (
        content.get("nbformat") != 4
        or not isinstance(cells, list)
        or not all(_has(c, needed) and isinstance(c.get("source"), str | list) for c in cells)
    ):
        return None, [f"{path}: is no notebook of format 4; run the notebook again"]
    return content, wrong


def outputs_of(folder: Path) -> dict[str, str]:
    """Digest of every file that a run left in its folder, by its path below it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] not in _APART and path.is_file():
            found[name.as_posix()] = file_digest(path) or ""
    return found


def altered(folder: Path, status: Mapping[str, Any] | None) -> str | None:
    """Which output is not what the latest success wrote; None if all are. See `read_status`."""
    outputs = ((status or {}).get("success") or {}).get("outputs")
    found = outputs_of(folder)
    for name, digest in outputs.items() if isinstance(outputs, dict) else ():
        if name not in found:
            return f"{name} is missing"
        if found[name] != digest:
            return f"{name} is not what the run wrote"
    return None
