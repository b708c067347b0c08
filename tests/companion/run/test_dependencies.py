"""A stored value is used again only if all its dependencies are unchanged."""

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
    """One project for all tests, because most of the time of a `Run` is spent in git."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "notebooks" / "p").mkdir(parents=True)
    (folder / "notebooks" / "claims.yml").write_text(LEDGER, "utf-8")
    for name in "abcdef":  # Without its notebook, a `Run` follows all that other tests imported.
        (folder / "notebooks" / "p" / f"{name}.py").write_text("# %%\n", "utf-8")
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
    # A restarted kernel uses both stored values.
    assert [execute(source, Run("p/a")).answer for source in sources] == truths
    assert _stored(root) == stored


@pytest.mark.parametrize("text", FOLLOWED.values(), ids=FOLLOWED)
def test_an_edit_in_a_living_kernel_gives_the_new_value(root, text):
    run = Run("p/b")
    main = types.ModuleType("__main__")
    for version in (0, 1, 0):
        source = edited(text, version)
        if "VALUE == 2:" not in text:  # Definitions of an earlier cell stay.
            assert execute(source, run, main).answer == truth(source)


@pytest.mark.parametrize(("message", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_refused_by_name(root, message, text):
    before = _stored(root)
    with pytest.raises(CacheError, match=message):
        execute(text, Run("p/c"))
    assert _stored(root) == before


def test_keys_are_the_same_in_every_process(root):
    """The order of sets and the addresses of objects do not matter."""
    stored = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, WAYS], env=environment, check=True, capture_output=True)
        stored.append({path.name for path in (root / "build/cache/p/d").glob("*.pkl")})
    assert stored[0] == stored[1]
    assert len(stored[0]) > 60


def test_a_remembering_helper_forgets_what_it_computed_from_an_earlier_state(root):
    """Otherwise its old results would be stored under the key of the new state."""
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
    with_comment = source.replace("    return", "    # a comment\n\n    return")
    execute(f"\n\n{with_comment}", Run("p/f"))
    assert len(_stored(root) - before) == 1


# Ways to read a module beside the notebook, whose text is VALUES.
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
    """Return a function that writes the module beside the notebook and forgets its import."""
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

        _tool.K = values + 10  # A cell changes it.
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
    assert main.compute() == 1  # The code is the same.
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
import pathlib
from invariance.theory import early
import invariance
from invariance.companion import Run
from invariance.companion.errors import CompanionError
from invariance.theory import late

run = Run("p/a")

@run.cache
def of_early():
    return early.five()

@run.cache
def of_late():
    return late.five()

paths = {pathlib.Path(module.__file__): f for module, f in ((early, of_early), (late, of_late))}
for path, compute in paths.items():
    print(compute())
    text = path.read_text()
    edited = text.replace("5", "7") if "5" in text else text.replace("7", "5")
    path.write_text(edited)
    try:
        print(compute())
    except CompanionError as error:
        print("restart the kernel" in str(error))
    path.write_text(text)
for path in paths:
    path.write_text(edited)
"""


def test_a_module_of_the_library_that_was_edited_after_its_import_is_refused(root, copy, tmp_path):
    """Whether it was imported before the companion, or after it."""
    for name in ("early", "late"):
        (copy / "theory" / f"{name}.py").write_text("def five():\n    return 5\n", "utf-8")
    script = tmp_path / "script.py"
    script.write_text(LIBRARY, "utf-8")
    line = [sys.executable, script]
    # Python's bytecode looks current: the edit takes under a second and keeps the size.
    for value in ("5", "7"):
        done = subprocess.run(line, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.split() == [value, "True"] * 2


class _OwnSpecification:
    """A finder that returns itself in place of a specification, as one of geomstats does."""

    name = "_backend_of_its_own"

    def __init__(self):
        self.loader = self

    def find_spec(self, fullname, path=None, target=None):
        return self if fullname == self.name else None

    def load_module(self, fullname):
        module = types.ModuleType(fullname)
        module.__spec__ = self
        sys.modules[fullname] = module
        return module


@pytest.mark.filterwarnings("ignore::ImportWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_module_whose_finder_has_no_proper_specification_is_imported(root, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, _OwnSpecification()])
    run = Run("p/a")  # records the imports that follow
    module = importlib.import_module(_OwnSpecification.name)
    monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.setitem(sys.modules, module.__name__, module)

    @run.cache
    def name():
        return module.__name__

    assert name() == _OwnSpecification.name
