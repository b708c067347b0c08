"""Where everything lies: one place for every path, all of them absolute.

``build/<profile>/<paper>/<name>/`` is the output folder of one notebook: ``status.json`` says how
the *latest* attempt ended; ``executed.ipynb``, ``results.json``, figures and tables are of the
latest *successful* one, ``failed/`` of the latest one when it failed. Folders whose name starts
with a dot are attempts under way; they become the output folder by one rename.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import NotebookError, hint

PROFILES = ("quick", "full")


def _root_of_script() -> Path | None:
    """The project of the notebook that is run as a script; None if no such script runs."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is None:
        return None
    folders = Path(script).absolute().parents  # <root>/notebooks/<paper>/<name>.py
    if len(folders) < 3 or folders[1].name != "notebooks":
        return None
    return folders[2] if (folders[1] / "claims.yml").is_file() else None


@dataclass(frozen=True)
class Paths:
    """Paths of a checkout of this project (or of any folder that holds ``notebooks/claims.yml``).

    Examples
    --------
    >>> paths = Paths(Path("/project"))
    >>> paths.output("paper/notebook", "quick").as_posix()
    '/project/build/quick/paper/notebook'
    """

    root: Path

    @classmethod
    def find(cls, start: Path | str | None = None, *, alone: bool = False) -> "Paths":
        """The project: ``INVARIANCE_ROOT``, or upwards from `start`, or around the package.

        A project is a folder with ``notebooks/claims.yml``. A notebook that runs as a script
        belongs to the project that it lies in, whatever the working directory. Without a project,
        `start` (default: the working directory) is taken for one without notebooks if `alone`, else
        it is a `NotebookError`.
        """
        if start is None:
            if named := os.environ.get("INVARIANCE_ROOT"):
                return cls(Path(named).absolute())
            if root := _root_of_script():
                return cls(root)
        here = Path(start or Path.cwd()).absolute()
        for folder in (here, *here.parents, *Path(__file__).resolve().parents):
            if (folder / "notebooks" / "claims.yml").is_file():
                return cls(folder)
        if alone:
            return cls(here)
        why = "notebooks do not come with the installed package"
        remedy = "Change into a checkout, or name one in INVARIANCE_ROOT"
        raise NotebookError(f"no notebooks/claims.yml in {here} or above it: {why}. {remedy}")

    # the claims (a project of one's own far from any checkout has none), the SHA-256 of their
    # owner's edition, and what the pages say of the papers
    notebooks = property(lambda self: self.root / "notebooks")
    ledger = property(lambda self: self.root / "notebooks" / "claims.yml")
    owners_digest = property(lambda self: self.root / "notebooks" / "claims.sha256")
    papers = property(lambda self: self.root / "notebooks" / "papers.yml")
    readme = property(lambda self: self.root / "README.md")
    build = property(lambda self: self.root / "build")
    figures = property(lambda self: self.root / "figures")
    digests = property(lambda self: self.root / "figures" / "SHA256SUMS")

    def settings(self, notebook: str) -> Path:
        """What a notebook chose before it measured; there is none where it chooses nothing."""
        return self.notebooks / "settings" / f"{notebook}.yml"

    def choosing(self, notebook: str, profile: str) -> Path:
        """Folder of the choosing stage of a notebook."""
        return self.build / "choosing" / profile / notebook

    def source(self, notebook: str) -> Path:
        """The text notebook ``<paper>/<name>``."""
        return self.notebooks / f"{notebook}.py"

    def output(self, notebook: str, profile: str) -> Path:
        """Output folder of batch runs of a notebook."""
        return self.build / profile / notebook

    def interactive(self, notebook: str, profile: str) -> Path:
        """Output folder of runs outside the runner; the report does not read it."""
        return self.build / "interactive" / profile / notebook

    def published(self, notebook: str) -> Path:
        """Folder of the committed results of the last full run."""
        return self.figures / notebook

    def all_notebooks(self) -> list[str]:
        """Names ``<paper>/<name>`` of every notebook, sorted."""
        return sorted(
            path.relative_to(self.notebooks).with_suffix("").as_posix()
            for path in self.notebooks.glob("*/*.py")
            if not path.name.startswith(("_", "."))
        )

    def select(self, names: list[str] | tuple[str, ...]) -> list[str]:
        """Expand papers and notebooks to notebook names; nothing selects all."""
        known = self.all_notebooks()
        if not known:
            raise NotebookError(f"no notebooks in {self.notebooks}: expected <paper>/<name>.py")
        if not names:
            return known
        chosen: list[str] = []
        for name in names:
            plain = name.removeprefix("notebooks/").removesuffix(".py").strip("/")
            found = [n for n in known if n == plain or n.startswith(plain + "/")]
            if not found:
                papers = {n.split("/")[0] for n in known}
                options = hint(plain, [*known, *papers], "papers and notebooks")
                raise NotebookError(f"unknown notebook or paper {name!r}. {options}")
            chosen += [n for n in found if n not in chosen]
        return chosen
