"""Texts of results, ledgers and papers as HTML, and ids of elements."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

_PROSE = MarkdownIt("zero").enable(["backticks", "emphasis", "link"])
_PROSE.use(
    dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False,
    renderer=lambda formula, _: str(escape(f"\\({formula}\\)")),
)  # fmt: skip
_PROSE.validateLink = lambda address: address.startswith("https://")  # type: ignore[assignment]


def prose(text: Any) -> Markup:
    """A sentence as HTML: its ``$formulas$``, `code`, emphasis and web links, and nothing else.

    >>> print(prose("**all** `a_b` [x](javascript:y) <i>"))
    <strong>all</strong> <code>a_b</code> [x](javascript:y) &lt;i&gt;
    """
    return Markup(_PROSE.renderInline(" ".join(str(text).split())))


def anchor(name: str, what: str) -> str:
    """An id for an element of a page: ``claim-fig1-rls-order``."""
    return f"{what}-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
