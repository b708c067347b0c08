"""Markdown in which a text is never markup: what a result or a ledger says, as it is."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

__all__ = ["anchor", "code", "escaped", "link", "prose", "table"]

_SPECIAL = re.compile(r"([\\`*_\[\]{}|#~$^])")
_AT_START = re.compile(r"^([-+=:%(]|\d+(?=[.)]))")
_INLINE = re.compile(
    r"(?P<math>\$[^$\n]+\$)|`(?P<code>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|\*(?P<emphasis>[^*\s][^*\n]*)\*|\[(?P<label>[^\]\n]+)\]\((?P<address>https://[^\s)]+)\)"
)


def escaped(value: Any) -> Markup:
    """A text in one line of Markdown, as it stands; what is Markdown already is left.

    >>> print(escaped("1. <b> & `x` [y](z)"))
    1\\. &lt;b&gt; &amp; \\`x\\` \\[y\\](z)
    """
    if isinstance(value, Markup):
        return value
    words = html.escape(" ".join(str(value).split()), quote=False)
    words = _SPECIAL.sub(r"\\\1", words)
    return Markup(_AT_START.sub(lambda m: m[1] + "\\" if m[1].isdigit() else "\\" + m[1], words))


def code(text: str) -> Markup:
    """A text as code within a sentence."""
    text = " ".join(text.split())
    most = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (most + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|"))


def prose(text: str) -> Markup:
    """A sentence of a run: its ``$formulas$``, `code`, emphasis and web links, and no other markup.

    >>> print(prose("**all** `a_b` [x](javascript:y) <i>"))
    **all** `a_b` \\[x\\](javascript:y) &lt;i&gt;
    """
    if isinstance(text, Markup):
        return text
    words, end = " ".join(str(text).split()), 0
    parts: list[str] = []
    for found in _INLINE.finditer(words):
        parts.append(escaped_inside(words[end : found.start()], end == 0))
        end = found.end()
        if found["math"]:
            parts.append(found["math"].replace("|", r"\vert "))
        elif found["code"]:
            parts.append(code(found["code"]))
        elif found["address"]:
            parts.append(f"[{escaped_inside(found['label'])}](<{found['address']}>)")
        else:
            mark, kind = ("**", "strong") if found["strong"] else ("*", "emphasis")
            parts.append(f"{mark}{escaped_inside(found[kind])}{mark}")
    return Markup("".join([*parts, escaped_inside(words[end:], end == 0)]))


def escaped_inside(text: str, at_start: bool = False) -> str:
    """A part of a line, with the blanks at its ends."""
    if at_start:
        return escaped(text) + " " * (text.endswith(" ") and bool(text.strip()))
    return _SPECIAL.sub(r"\\\1", html.escape(text, quote=False))


def link(label: Any, page: str, at: str = "") -> Markup:
    """A link to a page of the site, and a place on it; see `extension`."""
    return Markup(f"[{escaped(label)}](<site:{page}{f'#{at}' if at else ''}>)")


def anchor(name: str, what: str) -> Markup:
    """An id for an element of a page: ``claim-fig1-rls-order``."""
    return Markup(f"{what}-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"))


def table(rows: Iterable[Sequence[Any]]) -> Markup:
    """A table whose first row names the columns."""
    lines = [f"| {' | '.join(map(escaped, row))} |" for row in rows]
    return Markup("\n".join([lines[0], "|---" * (lines[0].count(" | ") + 1) + "|", *lines[1:]]))
