"""Public docstrings are divided as the reference reads them."""

import inspect
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from invariance import (
    beyond,
    datasets,
    evaluation,
    features,
    groups,
    kernels,
    linear,
    spectral,
)

PARTS = [groups, kernels, features, spectral, linear, evaluation, datasets, beyond]


def documented(part) -> Iterator[tuple[str, str]]:
    """Names and docstrings of the public objects of a subpackage, and of their methods."""
    for name in part.__all__:
        thing = getattr(part, name)
        yield name, inspect.getdoc(thing) or ""
        if inspect.isclass(thing):
            for method, value in inspect.getmembers_static(thing):
                if not method.startswith("_"):
                    yield f"{name}.{method}", inspect.getdoc(value) or ""


def sections(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """Titles that are underlined, and the lines below each; the lines before them have none."""
    lines = docstring.splitlines()
    title = ""
    content: list[str] = []
    for line, following in pairwise([*lines, ""]):
        is_title = line.strip() and re.fullmatch("-{3,}", following.strip())
        if is_title and not line.startswith(" "):
            yield title, content
            title = line
            content = []
        else:
            content.append(line)
    yield title, content


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__.split(".")[-1])
def test_examples_have_a_heading_after_lists(part):
    """Otherwise the reference shows their lines as further parameters."""
    misplaced = []
    for name, docstring in documented(part):
        for title, lines in sections(docstring):
            if title not in ("", "Examples") and any(line.startswith(">>>") for line in lines):
                misplaced.append(f"{name}: below {title}")
    assert not misplaced


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__.split(".")[-1])
def test_attributes_have_an_entry_each(part):
    """The reference takes the first of several names for the type of the last."""
    several = []
    for name, docstring in documented(part):
        entries = dict(sections(docstring)).get("Attributes", [])
        several += [f"{name}: {line}" for line in entries if re.match(r"\w+, *\w+.* :", line)]
    assert not several
