"""A stored value is given back only if nothing that it was computed from has changed."""

import importlib
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
    (folder / "notebooks" / "claims.yml").write_text(LEDGER, "utf-8")
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


def test_a_remembering_helper_forgets_what_it_computed_from_an_earlier_state(root):
    """Its old results would be in a value that is stored under the new state's key."""
    source = """
from functools import cache
K = 1
@cache
def helper(x):
    return x + K
helper(0)
K = 2
@run.cache
def compute(x=0):
    return helper(x)
answer = compute()
"""
    main = types.ModuleType("__main__")
    assert execute(source, Run("p/e"), main).answer == 2
    main.K = 3
    assert main.compute() == 3


def test_a_stored_value_does_not_depend_on_where_the_text_stands(root):
    source = (
        "def helper(x):\n    return x + 1\n@run.cache\ndef compute(x=0):\n    return helper(x)\n"
    )
    source += "answer = compute()\n"
    before = _stored(root)
    execute(source, Run("p/f"))
    moved = source.replace("    return", "    # a comment\n\n    return")
    execute(f"\n\n{moved}", Run("p/f"))
    assert len(_stored(root) - before) == 1


# what a notebook reads of a module beside it, whose text is VALUES
VALUES = "from _more import more\nK = VALUE\ndef f(x=0):\n    return more(x) + K\n"
MORE = "def more(x):\n    return x\n"
READS = {
    "a function": "import _tool\n@run.cache\ndef compute():\n    return _tool.f()\n",
    "a constant": "import _tool\n@run.cache\ndef compute():\n    return _tool.K\n",
    "an import": "from _tool import f\n@run.cache\ndef compute():\n    return f()\n",
    "another name": "import _tool as tool\n@run.cache\ndef compute():\n    return tool.f()\n",
    "inside": "@run.cache\ndef compute():\n    from _tool import f\n    return f()\n",
    "inside, whole": "@run.cache\ndef compute():\n    import _tool\n    return _tool.f()\n",
    "by a text": "import _tool\n@run.cache\ndef compute():\n    return getattr(_tool, 'f')()\n",
    "as argument": "import _tool\n@run.cache\ndef compute(m=_tool):\n    return m.f()\n",
    "in a list": "import _tool\nL = [_tool]\n@run.cache\ndef compute():\n    return L[0].f()\n",
    "by another": "import _tool\ndef g(m):\n    return m.f()\n"
    "@run.cache\ndef compute():\n    return g(_tool)\n",
}


@pytest.fixture
def tool(root, monkeypatch):
    """Writes the module beside the notebook, as a restarted kernel finds it."""
    folder = root / "notebooks" / "t"
    folder.mkdir(exist_ok=True)
    monkeypatch.syspath_prepend(folder)

    def write(text: str, name: str = "_tool") -> Path:
        for module in ("_tool", "_more"):
            sys.modules.pop(module, None)
        (folder / f"{name}.py").write_text(text, "utf-8")
        return folder / f"{name}.py"

    write(MORE, "_more")
    yield write
    write("")


@pytest.mark.parametrize("reads", READS.values(), ids=READS)
def test_a_module_beside_the_notebook_is_followed(root, tool, reads):
    for values in (1, 2, 1):
        tool(VALUES.replace("VALUE", str(values)))
        main = execute(reads, Run("t/a"))
        assert main.compute() == values
        import _tool

        _tool.K = values + 10  # set by a cell
        assert main.compute() == values + 10
    tool(MORE.replace("return x", "return x + 5"), "_more")
    if "_tool.K" not in reads:
        assert execute(reads, Run("t/a")).compute() == 6


def test_a_module_that_was_edited_after_its_import_is_refused_until_it_is_read_again(root, tool):
    path = tool(VALUES.replace("VALUE", "1"))
    run = Run("t/b")
    main = execute(READS["a function"], run)
    assert main.compute() == 1
    stored = _stored(root)
    path.write_text("# a comment\n" + path.read_text("utf-8"), "utf-8")
    assert main.compute() == 1  # of the same code
    path.write_text(VALUES.replace("VALUE", "2"), "utf-8")
    for calls in (main.compute, Run("t/b").cache(main.compute.__wrapped__)):
        with pytest.raises(CacheError, match=r"_tool\.py has changed .* restart the kernel"):
            calls()
    assert _stored(root) == stored
    importlib.reload(sys.modules["_tool"])
    assert main.compute() == 2
    path.unlink()
    with pytest.raises(CacheError, match=r"_tool|has changed"):
        main.compute()


LIBRARY = """
import sys, pathlib
if "early" in sys.argv:
    from invariance.theory import five
import invariance
from invariance.companion import Run
from invariance.companion.errors import CompanionError
from invariance.theory import five

@Run("p/a").cache
def compute():
    return five.five()

print(compute())
module = pathlib.Path(five.__file__)
text = module.read_text()
module.write_text(text.replace("5", "7") if "5" in text else text.replace("7", "5"))
try:
    print(compute())
except CompanionError as error:
    print("restart the kernel" in str(error))
"""


@pytest.mark.parametrize("imported", ["early", "late"])
def test_a_module_of_the_library_that_was_edited_after_its_import_is_refused(
    root, copy, tmp_path, imported
):
    (copy / "theory" / "five.py").write_text("def five():\n    return 5\n", "utf-8")
    script = tmp_path / "script.py"
    script.write_text(LIBRARY, "utf-8")
    told = []
    for _ in range(2):  # within a second, and of the same size: what Python compiled looks current
        line = [sys.executable, script, imported]
        told += subprocess.run(
            line, capture_output=True, encoding="utf-8", check=True
        ).stdout.split()
    assert told == ["5", "True", "7", "True"]
