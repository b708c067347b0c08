"""What is published is what was measured, and what is promised is what the ledger's owner wrote.

Every published file has its digest in ``figures/SHA256SUMS``. The command that writes a file
records it; `alterations` lists what anything else has changed, lost or added.

The ledger's owner is whoever decides what has to be reproduced: they write each claim's statement,
printed numbers and margin, and may be others than those who reproduce it. The ledger is the owner's
edition, word for word, and three fields of ours (`departures`). Our lines stand below the owner's
line of a claim, whose closing brace moves down, indented by five blanks. Without them it is the
owner's file again; its SHA-256 lies in ``notebooks/claims.sha256``. A project without that file has
no owner but its authors.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import LedgerError
from ..files import AS_PRINTED, file_digest, locked, parse_yaml, read_text, write_bytes
from ..paths import Paths
from .claims import OURS

_OURS = re.compile(r"^(  - \{.*),\n(?:     .*\n)+", re.MULTILINE)
_REMEDY = (
    "'git diff' shows what changed; results are published by 'invariance run --profile full', "
    "the ledger's own fields and all else by 'scoreboard'"
)


def _guarded(paths: Paths) -> Iterator[Path]:
    """What is published, what was chosen, and what was promised beforehand."""
    for folder in (paths.figures, paths.notebooks / "settings"):
        for path in folder.rglob("*"):
            hidden = any(part.startswith(".") for part in path.relative_to(paths.root).parts)
            if path != paths.digests and not hidden and (path.is_symlink() or path.is_file()):
                yield path
    yield from filter(Path.is_file, (paths.ledger, paths.papers, paths.owners_digest))


def recorded_digests(paths: Paths) -> dict[str, str]:
    """Digests by path below the root; LedgerError if the file is not there, or no such list."""
    lines = read_text(paths.digests).splitlines()
    found = {line[66:]: line[:64] for line in lines if line[64:66] == "  " and " " not in line[:64]}
    if not lines or len(found) != len(lines):
        form = "every line is a SHA-256, two blanks and a file"
        raise LedgerError(f"{paths.digests} is damaged: {form}. Restore it from version control")
    return found


def record_digests(paths: Paths, *places: Path) -> None:
    """Record the files at and below `places` as they are; at first, ledger and settings too."""
    paths.build.mkdir(parents=True, exist_ok=True)
    with open(paths.build / ".recording", "w", encoding="utf-8") as turn:
        locked(turn)
        first = not paths.digests.exists()
        kept = {} if first else recorded_digests(paths)
        named = [place.relative_to(paths.root) for place in (*places, *[paths.notebooks] * first)]
        kept = {name: digest for name, digest in kept.items() if not _below(name, named)}
        for path in _guarded(paths):
            name = path.relative_to(paths.root).as_posix()
            if _below(name, named):
                kept[name] = file_digest(path) or ""
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(kept.items()))
        write_bytes(paths.digests, text.encode())


def _below(name: str, places: list[Path]) -> bool:
    return any(place in (Path(name), *Path(name).parents) for place in places)


def alterations(paths: Paths) -> list[str]:
    """Published files, settings and promises that are not what was recorded, one sentence each."""
    published = any(paths.figures.glob("[!.]*/[!.]*/results.json"))
    if not (published or paths.digests.exists()):
        return []
    try:
        recorded = recorded_digests(paths)
    except LedgerError as error:
        return [str(error)]
    found = {path.relative_to(paths.root).as_posix(): path for path in _guarded(paths)}
    said = [f"{name}: recorded, and not there" for name in sorted(recorded.keys() - found.keys())]
    for name, path in sorted(found.items()):
        if name not in recorded:
            said.append(f"{name}: nobody has recorded it. {_REMEDY}")
        elif path.is_symlink() or file_digest(path) != recorded[name]:
            said.append(f"{name}: is not what was recorded. {_REMEDY}")
    return said


def owners_text(ledger: str) -> str:
    """The ledger without our lines.

    >>> owners_text("claims:\\n  - {id: p/c, kind: order,\\n     protocol: few draws}\\n")
    'claims:\\n  - {id: p/c, kind: order}\\n'
    """
    return _OURS.sub(r"\1}\n", ledger)


def departures(paths: Paths, edition: Path | None = None) -> list[str]:
    """Where the ledger is not the owner's edition; empty if it is, or if none is named.

    `edition` is the owner's own file, to be compared with the one that the project names.
    """
    if not paths.owners_digest.exists():
        return []
    named, full = read_text(paths.owners_digest).partition(" ")[0], read_text(paths.ledger)
    plain, found = owners_text(full), []
    if hashlib.sha256(plain.encode()).hexdigest() != named:
        what = f"differs from its owner's edition in more than {', '.join(OURS)}"
        where = "our fields stand below the owner's line, indented by five blanks"
        found.append(f"notebooks/claims.yml {what}: 'git diff' shows where; {where}")
    for ours, theirs in zip(_entries(full), _entries(plain), strict=False):
        changed = sorted(k for k in {*ours, *theirs} - {*OURS} if ours.get(k) != theirs.get(k))
        if changed:
            what = f"{theirs.get('id')}: {', '.join(changed)}"
            found.append(f"notebooks/claims.yml: {what} is the owner's, and set again below")
    if edition is not None and file_digest(edition) != named:
        what = f"{edition} is another edition than claims.sha256 names"
        found.append(f"{what}: take its words over, and its SHA-256")
    return found


def _entries(text: str) -> list[dict[str, object]]:
    content = parse_yaml(text, "the ledger notebooks/claims.yml", AS_PRINTED)
    claims = content.get("claims") if isinstance(content, dict) else None
    return [claim for claim in claims or () if isinstance(claim, dict)]
