"""Optional packages: there, or an error that says how to get them."""

import sys

import pytest

from invariance.core.extras import need


def test_what_is_installed_is_imported():
    import numpy.linalg

    assert need("numpy.linalg", "qp") is numpy.linalg


def test_what_is_missing_names_its_extra_and_what_pip_calls_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"array-api-compat.*\"invariance\[arrays\]\"") as caught:
        need("array_api_compat", "arrays")
    assert caught.value.name == "array_api_compat"


def test_a_package_that_is_there_but_broken_says_what_it_misses(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import what_it_needs_itself\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_itself"):
        need("broken_package", "qp")
