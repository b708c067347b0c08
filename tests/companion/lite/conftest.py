"""A small project, and the folder for browsers of this one, built once for all tests."""

from pathlib import Path

import pytest

from invariance.companion.lite.build import build_lite
from invariance.companion.lite.pyodide import LiteError, pyodide_folder
from invariance.companion.paths import Paths

from ..site.conftest import browser, chromium  # noqa: F401

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def pyodide() -> Path:
    """The folder of Pyodide's files; without them, every test that needs it is skipped."""
    pytest.importorskip("jupyterlite_core", reason="needs the extra `lite`")
    try:
        return pyodide_folder()
    except LiteError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def served(pyodide, made_once) -> Path:
    """A folder with `lite` in it, as a site has it."""

    def make(folder: Path) -> None:
        (folder / "notebooks").symlink_to(ROOT / "notebooks")
        built = build_lite(Paths(folder))
        built.folder.rename(folder / "site-lite")

    return made_once("lite", make) / "site-lite"
