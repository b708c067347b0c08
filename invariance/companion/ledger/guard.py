"""Protection of published results and of the ledger against accidental changes.

Every published file has its digest in ``figures/SHA256SUMS``. The command that writes a file
records its digest; `alterations` lists all files that were changed, lost or added by anything else.

The ledger's owner decides what has to be reproduced: they write each claim's statement, printed
numbers and margin. The owner may be someone other than those who reproduce the claims. The ledger
is the owner's edition, word for word, with three fields of ours. Our lines are inserted below the
owner's line of a claim, indented by five blanks, and the closing brace moves to their end. Removing
them restores the owner's file, whose SHA-256 is in ``notebooks/claims.sha256`` (`departures`). A
project without this file has no owner but its authors.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import LedgerError
from ..files import AS_PRINTED, file_digest, locked, parse_yaml, read_text, write_bytes
from ..paths import Paths
from .claims import OURS

_OUR_LINES = re.compile(r"^(  - \{.*),\n(?:     .*\n)+", re.MULTILINE)
_REMEDY = (
    "'git diff' shows the change; 'invariance run --profile full' publishes results, "
    "'invariance scoreboard' records the ledger's own fields and everything else"
)


# ---------------------------------------------------------------------------- published files


def _guarded(paths: Paths) -> Iterator[Path]:
    """Yield the published files, the chosen settings, and the ledger."""
    for folder in (paths.figures, paths.notebooks / "settings"):
        for path in folder.rglob("*"):
            parts = path.relative_to(paths.root).parts
            is_hidden = any(part.startswith(".") for part in parts)
            is_file = path.is_symlink() or path.is_file()
            if is_file and not is_hidden and path != paths.digests:
                yield path
    for path in (paths.ledger, paths.papers, paths.owners_digest):
        if path.is_file():
            yield path


def recorded_digests(paths: Paths) -> dict[str, str]:
    """Return the recorded digests by path below the root; `LedgerError` without a valid list."""
    digests = {}
    lines = read_text(paths.digests).splitlines()
    for line in lines:
        digest = line[:64]
        separator = line[64:66]
        name = line[66:]
        if separator == "  " and " " not in digest:
            digests[name] = digest
    if not lines or len(digests) != len(lines):
        form = "every line is a SHA-256, two blanks and a file"
        raise LedgerError(f"{paths.digests} is damaged: {form}. Restore it from version control")
    return digests


def record_digests(paths: Paths, *places: Path) -> None:
    """Record the digests of all files at and below `places`.

    The first call also records the ledger and the settings.
    """
    paths.build.mkdir(parents=True, exist_ok=True)
    with open(paths.build / ".recording", "w", encoding="utf-8") as lock:
        locked(lock)
        folders = [place.relative_to(paths.root) for place in places]
        digests: dict[str, str] = {}
        if paths.digests.exists():
            for name, digest in recorded_digests(paths).items():
                if not _is_below(name, folders):
                    digests[name] = digest
        else:
            folders.append(paths.notebooks.relative_to(paths.root))
        for path in _guarded(paths):
            name = path.relative_to(paths.root).as_posix()
            if _is_below(name, folders):
                digests[name] = file_digest(path) or ""
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
        write_bytes(paths.digests, text.encode())


def _is_below(name: str, places: list[Path]) -> bool:
    path = Path(name)
    return any(place == path or place in path.parents for place in places)


def alterations(paths: Paths) -> list[str]:
    """Return one sentence for each guarded file that differs from its recorded digest."""
    is_published = any(paths.figures.glob("[!.]*/[!.]*/results.json"))
    if not is_published and not paths.digests.exists():
        return []
    try:
        recorded = recorded_digests(paths)
    except LedgerError as error:
        return [str(error)]
    files = {path.relative_to(paths.root).as_posix(): path for path in _guarded(paths)}
    missing = sorted(recorded.keys() - files.keys())
    sentences = [f"{name}: is recorded in SHA256SUMS, but missing" for name in missing]
    for name, path in sorted(files.items()):
        if name not in recorded:
            sentences.append(f"{name}: nobody has recorded it. {_REMEDY}")
        elif path.is_symlink() or file_digest(path) != recorded[name]:
            sentences.append(f"{name}: is not what was recorded. {_REMEDY}")
    return sentences


# ------------------------------------------------------------------------- the owner's edition


def owners_text(ledger: str) -> str:
    """Return the ledger without our lines.

    >>> owners_text("claims:\\n  - {id: p/c, kind: order,\\n     protocol: few draws}\\n")
    'claims:\\n  - {id: p/c, kind: order}\\n'
    """
    return _OUR_LINES.sub(r"\1}\n", ledger)


def departures(paths: Paths, edition: Path | None = None) -> list[str]:
    """Return one sentence for each difference between the ledger and the owner's edition.

    A project that names no edition has no differences. `edition` is the owner's own file, to be
    compared with the edition that the project names.
    """
    if not paths.owners_digest.exists():
        return []
    named_digest, _, _ = read_text(paths.owners_digest).partition(" ")
    ledger = read_text(paths.ledger)
    owners_ledger = owners_text(ledger)
    sentences = []
    if hashlib.sha256(owners_ledger.encode()).hexdigest() != named_digest:
        problem = f"differs from its owner's edition in more than {', '.join(OURS)}"
        remedy = "'git diff' shows the difference"
        form = "our fields are below the owner's line, indented by five blanks"
        sentences.append(f"notebooks/claims.yml {problem}: {remedy}; {form}")
    for entry, owners_entry in zip(_entries(ledger), _entries(owners_ledger), strict=False):
        changed = _changed_fields(entry, owners_entry)
        if changed:
            fields = f"{owners_entry.get('id')}: {', '.join(changed)}"
            sentences.append(f"notebooks/claims.yml: {fields} is the owner's, and set again below")
    if edition is not None and file_digest(edition) != named_digest:
        problem = f"{edition} is another edition than claims.sha256 names"
        sentences.append(f"{problem}: copy its words and its SHA-256")
    return sentences


def _changed_fields(entry: dict[str, object], owners_entry: dict[str, object]) -> list[str]:
    names = (entry.keys() | owners_entry.keys()) - set(OURS)
    return sorted(name for name in names if entry.get(name) != owners_entry.get(name))


def _entries(text: str) -> list[dict[str, object]]:
    content = parse_yaml(text, "the ledger notebooks/claims.yml", AS_PRINTED)
    claims = content.get("claims") if isinstance(content, dict) else None
    return [claim for claim in claims or () if isinstance(claim, dict)]
