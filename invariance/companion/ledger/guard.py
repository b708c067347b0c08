"""Protection of published results and of the ledger against accidental changes.

Every published file has its digest in ``figures/SHA256SUMS``. The command that writes a file
records its digest; `alterations` lists all files that were changed, lost or added by anything else.

The ledger's owner decides what has to be reproduced: they write each claim's statement, printed
numbers and margin. The owner may be someone other than those who reproduce the claims.
``notebooks/claims.yml`` is the owner's edition, word for word, and ``notebooks/claims.sha256``
holds its SHA-256 (`departures`); protocols and history stand in files of their own. A project
without ``claims.sha256`` has no owner but its authors.
"""

from collections.abc import Iterator
from pathlib import Path

from ..errors import LedgerError
from ..files import file_digest, locked, read_text, write_bytes
from ..paths import Paths
from .claims import ledger_files

_REMEDY = (
    "'git diff' shows the change; 'invariance run --profile full' publishes results, "
    "'invariance scoreboard' records the ledger and everything else"
)
_REMEDY_FOR_THE_LEDGER = (
    "If you have edited it, 'invariance scoreboard' records it; 'git diff' shows the change"
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
    for path in (*ledger_files(paths.ledger), paths.papers, paths.owners_digest):
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
    texts = [*ledger_files(paths.ledger), paths.papers]
    for name, path in sorted(files.items()):
        remedy = _REMEDY_FOR_THE_LEDGER if path in texts else _REMEDY
        if name not in recorded:
            sentences.append(f"{name}: nobody has recorded it. {remedy}")
        elif path.is_symlink() or file_digest(path) != recorded[name]:
            sentences.append(f"{name}: is not what was recorded. {remedy}")
    return sentences


# ------------------------------------------------------------------------- the owner's edition


def departures(paths: Paths, edition: Path | None = None) -> list[str]:
    """Return one sentence for each difference between the ledger and the owner's edition.

    A project that names no edition has no differences. `edition` is the owner's own file, to be
    compared with the edition that the project names.
    """
    if not paths.owners_digest.exists():
        return []
    named_digest, _, _ = read_text(paths.owners_digest).partition(" ")
    sentences = []
    if file_digest(paths.ledger) != named_digest:
        problem = "differs from its owner's edition, whose SHA-256 is in claims.sha256"
        remedy = "protocols, earlier results and notes belong into protocols.yml and history.yml"
        sentences.append(f"notebooks/claims.yml {problem}: 'git diff' shows the change; {remedy}")
    if edition is not None and file_digest(edition) != named_digest:
        problem = f"{edition} is another edition than claims.sha256 names"
        sentences.append(f"{problem}: copy its words and its SHA-256")
    return sentences
