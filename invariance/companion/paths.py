"""The paths of a project, all of them absolute: `Paths`.

``build/<profile>/<paper>/<name>/`` is the output folder of one notebook. ``status.json`` describes
how the *latest* attempt ended; ``executed.ipynb``, ``results.json``, figures and tables come from
the latest *successful* attempt, and ``failed/`` from the latest attempt if it failed. Folders whose
name starts with a dot belong to running attempts, and are renamed to the output folder at the end.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import NotebookError, hint

PROFILES = ("quick", "full")


def _root_of_script() -> Path | None:
    """Return the project of the notebook that runs as a script, or None if no such script runs."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is None:
        return None
    folders = Path(script).absolute().parents  # <root>/notebooks/<paper>/<name>.py
    if len(folders) < 3:
        return None
    notebooks = folders[1]
    root = folders[2]
    if notebooks.name == "notebooks" and (notebooks / "claims.yml").is_file():
        return root
    return None


@dataclass(frozen=True)
class Paths:
    """The paths of a checkout, or of any folder with ``notebooks/claims.yml``.

    Examples
    --------
    >>> paths = Paths(Path("/project"))
    >>> paths.output("paper/notebook", "quick").as_posix()
    '/project/build/quick/paper/notebook'
    """

    root: Path

    @classmethod
    def find(cls, start: Path | str | None = None, *, alone: bool = False) -> "Paths":
        """Return the paths of the project, a folder with ``notebooks/claims.yml``.

        These folders are tried in turn: ``INVARIANCE_ROOT``; the project of the notebook that runs
        as a script; `start` (default: the working directory) and its parents; the folders around
        this package. The first two are skipped if `start` is passed.

        If there is no project, `start` becomes a project without notebooks if `alone`. Otherwise a
        `NotebookError` is raised.
        """
        if start is None:
            root_by_environment = os.environ.get("INVARIANCE_ROOT")
            if root_by_environment:
                return cls(Path(root_by_environment).absolute())
            root_of_script = _root_of_script()
            if root_of_script is not None:
                return cls(root_of_script)
        first = Path(start or Path.cwd()).absolute()
        for folder in (first, *first.parents, *Path(__file__).resolve().parents):
            if (folder / "notebooks" / "claims.yml").is_file():
                return cls(folder)
        if alone:
            return cls(first)
        reason = "notebooks do not come with the installed package"
        remedy = "Change into a checkout, or name one in INVARIANCE_ROOT"
        raise NotebookError(f"no notebooks/claims.yml in {first} or above it: {reason}. {remedy}")

    @property
    def notebooks(self) -> Path:
        """The folder of the notebooks."""
        return self.root / "notebooks"

    @property
    def ledger(self) -> Path:
        """The claims. A user's own project may lack this file."""
        return self.notebooks / "claims.yml"

    @property
    def owners_digest(self) -> Path:
        """The SHA-256 of the ledger owner's edition."""
        return self.notebooks / "claims.sha256"

    @property
    def papers(self) -> Path:
        """The texts of the pages about the papers, and the looks of methods."""
        return self.notebooks / "papers.yml"

    @property
    def errata(self) -> Path:
        """Formulas that are wrong as printed, with sentences about them. The file is optional."""
        return self.notebooks / "errata.yml"

    @property
    def figure_pairs(self) -> Path:
        """The papers' figures in words, and our figures beside them. The file is optional."""
        return self.notebooks / "figures.yml"

    @property
    def unmoved(self) -> Path:
        """Changes of code that moved no number of quick runs. The file is optional."""
        return self.notebooks / "unmoved.yml"

    @property
    def tables(self) -> Path:
        """The layouts of the papers' tables. The file is optional."""
        return self.notebooks / "tables.yml"

    @property
    def readme(self) -> Path:
        return self.root / "README.md"

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def lite(self) -> Path:
        """The folder in which notebooks run in a browser, if ``invariance lite`` has built it."""
        return self.build / "lite"

    @property
    def figures(self) -> Path:
        """The folder of the published results."""
        return self.root / "figures"

    @property
    def digests(self) -> Path:
        """The SHA-256 of all published files."""
        return self.figures / "SHA256SUMS"

    def settings(self, notebook: str) -> Path:
        """The settings that a notebook chose before it measured, if it chooses any."""
        return self.notebooks / "settings" / f"{notebook}.yml"

    def choosing(self, notebook: str, profile: str) -> Path:
        """The folder of the choosing stage of a notebook."""
        return self.build / "choosing" / profile / notebook

    def source(self, notebook: str) -> Path:
        """The text notebook ``<paper>/<name>``."""
        return self.notebooks / f"{notebook}.py"

    def output(self, notebook: str, profile: str) -> Path:
        """The output folder of batch runs of a notebook."""
        return self.build / profile / notebook

    def sweep(self, notebook: str, profile: str, names: Sequence[str]) -> Path:
        """The folder of the sweeps of a notebook over the parameters with these names."""
        return self.build / "sweeps" / profile / notebook / ",".join(names)

    def interactive(self, notebook: str, profile: str) -> Path:
        """The output folder of runs outside the runner. The report does not read it."""
        return self.build / "interactive" / profile / notebook

    def published(self, notebook: str) -> Path:
        """The folder of the committed results of the last full run."""
        return self.figures / notebook

    def all_notebooks(self) -> list[str]:
        """Return the names ``<paper>/<name>`` of all notebooks, sorted."""
        return sorted(
            path.relative_to(self.notebooks).with_suffix("").as_posix()
            for path in self.notebooks.glob("*/*.py")
            if not path.name.startswith(("_", "."))
        )

    def select(self, names: Sequence[str]) -> list[str]:
        """Return the notebooks with these names or in these papers; all if there are no names."""
        notebooks = self.all_notebooks()
        if not notebooks:
            raise NotebookError(f"no notebooks in {self.notebooks}: expected <paper>/<name>.py")
        if not names:
            return notebooks
        selected: list[str] = []
        for name in names:
            plain = name.removeprefix("notebooks/").removesuffix(".py").strip("/")
            matching = [n for n in notebooks if n == plain or n.startswith(f"{plain}/")]
            if not matching:
                papers = {notebook.split("/")[0] for notebook in notebooks}
                options = hint(plain, [*notebooks, *papers], "papers and notebooks")
                raise NotebookError(
                    f"unknown notebook or paper {name!r} in {self.notebooks}. {options}"
                )
            selected += [notebook for notebook in matching if notebook not in selected]
        return selected
