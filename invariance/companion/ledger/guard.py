"""What is published is what was measured: every file has its digest in ``figures/SHA256SUMS``.

The command that writes a file records it: a run what it publishes, ``invariance choose`` the
settings, ``invariance scoreboard`` and ``pages`` what they write, and the ledger as it then is.
`alterations` lists what has been changed, lost or added by anything else.
"""

from collections.abc import Iterator
from pathlib import Path

from ..errors import LedgerError
from ..files import file_digest, locked, read_text, write_bytes
from ..paths import Paths


def _guard(paths: Paths) -> Path:
    return paths.figures / "SHA256SUMS"


def _guarded(paths: Paths) -> Iterator[Path]:
    """What is published, what was chosen, and what was promised beforehand."""
    for folder in (paths.figures, paths.notebooks / "settings"):
        for path in folder.rglob("*"):
            hidden = any(part.startswith(".") for part in path.relative_to(paths.root).parts)
            if path != _guard(paths) and not hidden and (path.is_symlink() or path.is_file()):
                yield path
    yield from filter(Path.is_file, (paths.ledger, paths.papers, paths.owners_digest))


def _recorded(paths: Paths) -> dict[str, str]:
    """Digests by path below the root; LedgerError if the file is not there, or no such list."""
    lines = read_text(_guard(paths)).splitlines()
    found = {line[66:]: line[:64] for line in lines if line[64:66] == "  " and " " not in line[:64]}
    if not lines or len(found) != len(lines):
        raise LedgerError(
            f"{_guard(paths)} is damaged: every line is a SHA-256, two blanks and a file. "
            "Restore it from version control"
        )
    return found


def record_digests(paths: Paths, *places: Path) -> None:
    """Record the files at and below `places` as they are now; those that have gone are dropped.

    The first call adopts the ledger and the settings. Runners that publish at the same moment take
    turns.
    """
    paths.build.mkdir(parents=True, exist_ok=True)
    with open(paths.build / ".recording", "w") as turn:
        locked(turn)
        first = not _guard(paths).exists()
        kept = {} if first else _recorded(paths)
        named = [place.relative_to(paths.root) for place in (*places, *[paths.notebooks] * first)]
        kept = {name: digest for name, digest in kept.items() if not _below(name, named)}
        for path in _guarded(paths):
            name = path.relative_to(paths.root).as_posix()
            if _below(name, named):
                kept[name] = file_digest(path) or ""
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(kept.items()))
        write_bytes(_guard(paths), text.encode())


def _below(name: str, places: list[Path]) -> bool:
    return any(place in (Path(name), *Path(name).parents) for place in places)


def alterations(paths: Paths) -> list[str]:
    """Published files, settings and promises that are not what was recorded, one sentence each."""
    published = any(paths.figures.glob("[!.]*/[!.]*/results.json"))
    if not (published or _guard(paths).exists()):
        return []
    try:
        recorded = _recorded(paths)
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


_REMEDY = (
    "'git diff' shows what changed; results are published by 'invariance run --profile full', "
    "pages by 'pages', the ledger's own fields and all else by 'scoreboard'"
)
