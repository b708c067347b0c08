"""Files of earlier commits in the project's git repository: `Repository`."""

import subprocess
from pathlib import Path

from ..paths import Paths

NO_REPOSITORY = "no git repository here"
SHALLOW = "commit beyond this shallow clone"
NOT_IN_HISTORY = "commit not in this history"


class Repository:
    """The git repository around a project. Answers about commits are remembered."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._lack: str | None = None
        self._reasons: dict[str, str] = {}

    def _git(self, *arguments: str) -> str | None:
        """Return the output of a git command, or None if it fails."""
        # By default git writes a name with accents in quotes, and its letters as numbers.
        line = ["git", "-C", str(self._paths.root), "-c", "core.quotePath=false", *arguments]
        try:
            completed = subprocess.run(
                line, capture_output=True, encoding="utf-8", errors="replace", timeout=60
            )
        except (OSError, subprocess.SubprocessError):
            return None
        if completed.returncode != 0:
            return None
        return completed.stdout

    @property
    def lack(self) -> str:
        """Why commits of the project may be missing in this copy; empty if it is complete."""
        if self._lack is None:
            self._lack = self._find_lack()
        return self._lack

    def _find_lack(self) -> str:
        shallow = self._git("rev-parse", "--is-shallow-repository")
        if shallow is None:
            return NO_REPOSITORY
        return SHALLOW if shallow.strip() == "true" else ""

    def unknown(self, commit: str) -> str:
        """Return why a commit cannot be read; empty if it is in this history."""
        if commit not in self._reasons:
            self._reasons[commit] = self._find_reason(commit)
        return self._reasons[commit]

    def _find_reason(self, commit: str) -> str:
        if self.lack == NO_REPOSITORY:
            return NO_REPOSITORY
        if self._git("merge-base", "--is-ancestor", commit, "HEAD") is None:
            return self.lack or NOT_IN_HISTORY
        return ""

    def text(self, commit: str, path: Path) -> str:
        """Return a file of a commit; `LookupError` if the commit does not have it."""
        name = self._name(path)
        text = self._git("show", f"{commit}:./{name}")
        if text is None:
            raise LookupError(f"{name} in {commit}")
        return text

    def last_text(self, commit: str, path: Path) -> str:
        """Return a file of a commit, or its last text before it was removed; or `LookupError`."""
        try:
            return self.text(commit, path)
        except LookupError:
            removal = self._git("rev-list", "-1", commit, "--", f"./{self._name(path)}")
            if not removal or not removal.strip():
                raise
            return self.text(f"{removal.strip()}^", path)

    def files(self, commit: str, folder: Path) -> list[Path]:
        """Return the files directly in a folder of a commit."""
        names = self._git("ls-tree", "--name-only", commit, f"./{self._name(folder)}/")
        return self._paths_of(names)

    def changed_since(self, commit: str, folder: Path) -> dict[Path, str]:
        """Return the files below a folder that differ from a commit, each with its id there."""
        location = f"./{self._name(folder)}"
        lines = self._git("diff", "--raw", "--no-abbrev", "--relative", commit, "--", location)
        changes = {}
        for line in (lines or "").splitlines():
            # ":<old mode> <new mode> <old id> <new id> <status>", a tab, and the file's name.
            fields, _, name = line.partition("\t")
            changes[self._paths.root / name.split("\t")[-1]] = fields.split()[2]
        return changes

    def text_of(self, file_id: str) -> str:
        """Return the text with an id from `changed_since`; `LookupError` for a file added since."""
        text = self._git("cat-file", "blob", file_id)
        if text is None:
            raise LookupError(file_id)
        return text

    def _name(self, path: Path) -> str:
        return path.relative_to(self._paths.root).as_posix()

    def _paths_of(self, names: str | None) -> list[Path]:
        return [self._paths.root / line for line in (names or "").splitlines()]
