"""A stored value is given back only if nothing that it was computed from has changed."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from invariance.companion import Run
from invariance.companion.run.cache import CacheError

from ..conftest import LEDGER
from .ways import FOLLOWED, REFUSED, edited, execute, truth

WAYS = Path(__file__).with_name("ways.py")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A project for all ways: asking git for its version takes most of the time of a `Run`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "claims.yml").write_text(LEDGER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INVARIANCE_ROOT", str(folder))
        patch.delenv("INVARIANCE_RUN_DIR", raising=False)
        yield folder


def _stored(root) -> set[str]:
    return {path.name for path in (root / "build" / "cache").rglob("*.pkl")}


@pytest.mark.parametrize("text", FOLLOWED.values(), ids=FOLLOWED)
def test_an_edit_gives_the_new_value_and_the_old_text_finds_the_old_one(root, text):
    sources = [edited(text, version) for version in (0, 1)]
    truths = [truth(source) for source in sources]
    assert truths[0] != truths[1]
    assert [execute(source, Run("p/a")).answer for source in sources] == truths
    stored = _stored(root)
    # a restarted kernel finds both
    assert [execute(source, Run("p/a")).answer for source in sources] == truths
    assert _stored(root) == stored


@pytest.mark.parametrize("text", FOLLOWED.values(), ids=FOLLOWED)
def test_an_edit_in_a_living_kernel_gives_the_new_value(root, text):
    run, main = Run("p/b"), types.ModuleType("__main__")
    for version in (0, 1, 0):
        source = edited(text, version)
        if "VALUE == 2:" not in text:  # what a cell has defined stays
            assert execute(source, run, main).answer == truth(source)


@pytest.mark.parametrize(("message", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_refused_by_name(root, message, text):
    before = _stored(root)
    with pytest.raises(CacheError, match=message):
        execute(text, Run("p/c"))
    assert _stored(root) == before


def test_keys_are_the_same_in_every_process(root):
    """Whatever the order of sets and the addresses of objects."""
    stored = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, WAYS], env=environment, check=True, capture_output=True)
        stored.append({path.name for path in (root / "build/cache/p/d").glob("*.pkl")})
    assert stored[0] == stored[1]
    assert len(stored[0]) > 60
