"""The command ``invariance new``: `start_companion`."""

import json
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from string import Template

import yaml

from .errors import NotebookError, OutputError
from .files import write_bytes
from .ledger.scoreboard import write_scoreboard
from .paths import Paths


def start_companion(name: str, folder: Path) -> list[Path]:
    """Write the smallest companion to a paper into a new folder: one claim, one notebook, one test.

    `name` is the paper's key, such as ``miller1999``. Returns the paths of the new files.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        form = "a small letter, then small letters, digits, _ or -"
        raise NotebookError(f"{name!r} cannot be a paper's key: {form}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} is not empty: choose a folder that does not exist yet")
    address = _address_of_this_package()
    texts = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    written = []
    for path, text in texts.items():
        target = folder / Template(path).substitute(name=name)
        # Variables of make and formulas in the notebook contain dollars too, and stay unchanged.
        content = Template(text).safe_substitute(name=name, address=address)
        write_bytes(target, content.encode())
        written.append(target)
    write_scoreboard(Paths(folder.absolute()))
    return written


def _address_of_this_package() -> str:
    """Return the address from which pip installed this package; empty if it is of this machine.

    A package that was installed from a repository has such an address. One that was installed from
    a folder has none that another machine could use.
    """
    with suppress(PackageNotFoundError):
        record = distribution("invariance").read_text("direct_url.json")
        if record is None:
            return ""
        origin = json.loads(record)
        if "vcs_info" in origin:
            return f"{origin['vcs_info']['vcs']}+{origin['url']}"
        if not origin["url"].startswith("file:"):
            return str(origin["url"])
    return ""
