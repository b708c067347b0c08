"""Every public class with ``fit`` is held to scikit-learn's contract somewhere in the tests."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = ("groups", "kernels", "features", "linear", "spectral", "evaluation", "datasets")


def public_estimators() -> set[str]:
    found = set()
    for package in PACKAGES:
        module = import_module(f"invariance.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and hasattr(thing, "fit") and not inspect.isabstract(thing):
                found.add(name)
    return found


def checked_estimators() -> set[str]:
    """Classes that are called inside ``@parametrize_with_checks([...])``."""
    found = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == (
                "parametrize_with_checks"
            ):
                calls = (c.func for c in ast.walk(node.args[0]) if isinstance(c, ast.Call))
                found |= {c.id for c in calls if isinstance(c, ast.Name)}
    return found


def test_every_estimator_is_checked():
    assert public_estimators() - checked_estimators() == set()
    assert len(public_estimators()) > 10


@pytest.mark.parametrize("path", ["Makefile", ".github/workflows/tests.yml"])
def test_array_checks_run(path):
    """Five of scikit-learn's checks are skipped without it."""
    text = (Path(__file__).parents[1] / path).read_text(encoding="utf-8")
    assert re.search(r"SCIPY_ARRAY_API\W+1", text)
