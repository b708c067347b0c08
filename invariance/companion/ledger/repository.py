"""What the project's git repository says of an earlier commit, if there is one: `Repository`."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..paths import Paths

NO_REPOSITORY = "no git repository here"
SHALLOW = "commit beyond this shallow clone"
NOT_IN_HISTORY = "commit not in this history"


class Repository:
    """The repository around a project; what it has said once is remembered."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._lack: str | None = None
        self._reasons: dict[str, str] = {}

    def _git(self, *arguments: str) -> str | None:
        """What git answers; None if it fails, or if there is none."""
        line = ["git", "-C", str(self._paths.root), *arguments]
        try:
            done = subprocess.run(
                line, capture_output=True, encoding="utf-8", errors="replace", timeout=60
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return None if done.returncode else done.stdout

    @property
    def lack(self) -> str:
        """Why commits may be missing here that the project has elsewhere; empty if none is."""
        if self._lack is None:
            shallow = self._git("rev-parse", "--is-shallow-repository")
            if shallow is None:
                self._lack = NO_REPOSITORY
            else:
                self._lack = SHALLOW if shallow.strip() == "true" else ""
        return self._lack

    def unknown(self, commit: str) -> str:
        """Why a commit cannot be looked into; empty if it is one of this history."""
        if commit not in self._reasons:
            why = NO_REPOSITORY
            if self.lack != NO_REPOSITORY:
                found = self._git("merge-base", "--is-ancestor", commit, "HEAD")
                why = (self.lack or NOT_IN_HISTORY) if found is None else ""
            self._reasons[commit] = why
        return self._reasons[commit]

    def text(self, commit: str, path: Path) -> str:
        """A file as it was in a commit; a `LookupError` if it was not there."""
        name = path.relative_to(self._paths.root).as_posix()
        found = self._git("show", f"{commit}:./{name}")
        if found is None:
            raise LookupError(f"{name} in {commit}")
        return found

    def last_text(self, commit: str, path: Path) -> str:
        """A file as it was in a commit, or before it was removed; a `LookupError` without any."""
        try:
            return self.text(commit, path)
        except LookupError:
            name = path.relative_to(self._paths.root).as_posix()
            removed = self._git("rev-list", "-1", commit, "--", f"./{name}")
            if not removed or not removed.strip():
                raise
            return self.text(f"{removed.strip()}^", path)

    def files(self, commit: str, folder: Path) -> list[Path]:
        """The files right below a folder in a commit."""
        name = folder.relative_to(self._paths.root).as_posix()
        found = self._git("ls-tree", "--name-only", commit, f"./{name}/")
        return [self._paths.root / line for line in (found or "").splitlines()]

    def changed_since(self, commit: str, folder: Path) -> Sequence[Path]:
        """Files below a folder that are others now than in a commit."""
        name = folder.relative_to(self._paths.root).as_posix()
        found = self._git("diff", "--name-only", "--relative", commit, "--", f"./{name}")
        return [self._paths.root / line for line in (found or "").splitlines()]
