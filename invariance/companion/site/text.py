"""Text from results, ledgers and papers as HTML, and ids of elements."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

from .formulas import with_formulas

#: Punctuation that may not start a line, because it belongs to the formula before it.
PUNCTUATION = re.compile(r"[,.;:!?)\]'’]+")
_PUNCTUATED = re.compile(rf'<span class="math inline">[^<]*</span>{PUNCTUATION.pattern}')


class _Prose(MarkdownIt):
    """Markdown with code, emphasis, formulas and links to the web, and nothing else."""

    def __init__(self) -> None:
        super().__init__("zero")
        self.enable(["backticks", "emphasis", "link"])
        self.use(
            dollarmath_plugin,
            allow_labels=False,
            allow_space=False,
            allow_digits=False,
            renderer=_formula,
        )

    def validateLink(self, url: str) -> bool:
        return url.startswith("https://")


def _formula(formula: str, _: Any) -> str:
    return str(escape(f"\\({formula}\\)"))


_PROSE = _Prose()


def prose(text: Any) -> Markup:
    """Return a sentence as HTML: its ``$formulas$``, `code`, emphasis and web links.

    A formula stays in one line with the punctuation after it.

    >>> print(prose("**all** `a_b` [x](javascript:y) <i>"))
    <strong>all</strong> <code>a_b</code> [x](javascript:y) &lt;i&gt;
    """
    text = _PROSE.renderInline(" ".join(str(text).split()))
    return Markup(_PUNCTUATED.sub(r'<span class="unbroken">\g<0></span>', text))


def statement(text: Any) -> Markup:
    r"""Return a sentence of a ledger as HTML, with its formulas as mathematics.

    >>> print(statement("the error falls as m^-1/2"))
    the error falls as <span class="math inline">\(m ^{-1/2}\)</span>
    """
    return prose(with_formulas(" ".join(str(text).split())))


def plain(text: Any) -> str:
    """Return a sentence without markup.

    >>> plain("The `Haar` kernel of $G$, **averaged**")
    'The Haar kernel of G, averaged'
    """
    return re.sub(r"[`$*]", "", " ".join(str(text).split()))


def time_in_words(seconds: float) -> str:
    """Return a duration with one unit.

    >>> [time_in_words(s) for s in (0.2, 59, 150, 9000)]
    ['less than 1 s', '59 s', '2 min', '2.5 h']
    """
    if seconds < 1:
        return "less than 1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def highlighted(code: str) -> Markup:
    """Return Python code as HTML, in the colours of the other code of the pages."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return Markup(highlight(code, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n"))


def anchor(name: str, kind: str) -> str:
    """Return an id for an element of a page, such as ``claim-fig1-rls-order``."""
    return f"{kind}-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
