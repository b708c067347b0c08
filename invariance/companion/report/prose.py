"""From text to HTML: notebook prose, claims written in plain ASCII, numbers and durations."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from invariance.companion.report.formulas import FormulaError, to_mathml

_GREEK = {
    "eps": "ε",
    "alpha": "α",
    "delta": "δ",
    "eta": "η",
    "gamma": "γ",
    "kappa": "κ",
    "lambda": "λ",
    "phi": "φ",
    "Phi": "Φ",
    "pi": "π",
    "psi": "ψ",
    "rho": "ρ",
    "sigma": "σ",
    "theta": "θ",
}
_SIGNS = {"<=": "≤", ">=": "≥", "->": "→"}

_MATH_TAGS = {
    "math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "ms", "mfrac", "msqrt", "mroot", "mstyle",
    "merror", "mpadded", "mphantom", "msub", "msup", "msubsup", "munder", "mover", "munderover",
    "mmultiscripts", "mtable", "mtr", "mtd",
}  # fmt: skip
_ALLOWED_TAGS = _MATH_TAGS | {
    "a", "abbr", "b", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp",
    "section", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot",
    "th", "thead", "time", "tr", "u", "ul", "var", "wbr",
}  # fmt: skip
_DROPPED_WITH_CONTENT = {
    "script", "style", "iframe", "object", "embed", "form", "template", "noscript", "svg", "link",
    "meta", "base", "audio", "video", "head", "title",
}  # fmt: skip
_ALLOWED_ATTRIBUTES = {
    "accent", "alt", "aria-hidden", "aria-label", "class", "colspan", "columnalign", "depth", "dir",
    "display", "displaystyle", "fence", "form", "height", "href", "id", "lang", "linethickness",
    "lspace", "mathcolor", "mathvariant", "maxsize", "minsize", "movablelimits", "open", "role",
    "rowspan", "rspace", "scope", "scriptlevel", "separator", "src", "start", "stretchy", "title",
    "width",
}  # fmt: skip
_LINK = re.compile(r"(?:https?:|mailto:|#|\.{0,2}/|[\w-]+(?:[/.#]|$))", re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
    """Something in a notebook that the report could not show as it was meant."""

    notebook: str
    where: str
    message: str


@dataclass
class Prose:
    """Renders the Markdown of one notebook; remembers headings and what went wrong.

    Attributes
    ----------
    notebook : str
        Name, for the messages.
    contents : list of (str, str)
        Anchor and HTML of each section, for a table of contents.
    problems : list of Problem
        Formulas and pictures that could not be shown.
    """

    notebook: str
    contents: list[tuple[str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _level: int = 1
    _anchors: set[str] = field(default_factory=set)

    def html(self, markdown: str, where: str, attachments: dict | None = None) -> str:
        """HTML of one Markdown cell; `where` names the cell in messages."""
        renderer = _Renderer(self, where, attachments)
        return clean(MarkdownWithMath(renderer=renderer).render(markdown))

    def formula(self, tex: str, where: str, display: bool) -> str:
        """MathML, or the formula as it was typed beside a recorded problem."""
        try:
            math = to_mathml(tex, display)
        except FormulaError as error:
            self.problems.append(Problem(self.notebook, where, str(error)))
            shown = html.escape(tex.strip())
            reason = html.escape(error.reason)
            return f'<code class="unread">{shown}</code> <em class="unread">({reason})</em>'
        return f'<span class="formula">{math}</span>' if display else math

    def heading(self, text: str, level: int) -> str:
        """A heading one level below the page's title, never skipping a level."""
        level = max(2, min(level, self._level + 1))
        self._level = level
        words = re.sub(r"[^a-z0-9]+", "-", plain(text).lower()).strip("-") or "section"
        anchor, count = words, 1
        while anchor in self._anchors:
            count += 1
            anchor = f"{words}-{count}"
        self._anchors.add(anchor)
        if level == 2:
            self.contents.append((anchor, text))
        return f'<h{level} id="{anchor}">{text}</h{level}>\n'


class _Renderer(IPythonRenderer):
    def __init__(self, prose: Prose, where: str, attachments: dict | None) -> None:
        super().__init__(escape=False, attachments=attachments)
        self._prose = prose
        self._where = where

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return self._prose.heading(text, level)

    def block_math(self, body: str) -> str:
        return self._prose.formula(body, self._where, display=True)

    def inline_math(self, body: str) -> str:
        return self._prose.formula(body, self._where, display=False)

    def latex_environment(self, name: str, body: str) -> str:
        tex = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return self._prose.formula(tex, self._where, display=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        url = self._embed_image_or_attachment(url)
        if not url.startswith("data:image/"):
            message = f"picture {url!r} lies outside the notebook: draw it or attach it"
            self._prose.problems.append(Problem(self._prose.notebook, self._where, message))
            return f"<em>{html.escape(plain(text) or url)}</em>"
        return f'<img src="{html.escape(url)}" alt="{html.escape(plain(text))}">'


def title_and_body(markdown: str) -> tuple[str | None, str]:
    """Split the first level-one heading off a Markdown text.

    >>> title_and_body("# Sorting words\\n\\nA toy.")
    ('Sorting words', 'A toy.')
    """
    match = re.match(r"\s*#[ \t]+(.+?)[ \t]*#*[ \t]*(?:\n|$)", markdown)
    if match is None:
        return None, markdown
    return match[1], markdown[match.end() :].strip("\n")


def clean(markup: str) -> str:
    """Keep the part of HTML that can neither run nor fetch anything; box wide tables.

    >>> clean('<b onclick="x()">bold</b><script>x()</script><img src="http://a/b.png">')
    '<b>bold</b>'
    """
    soup = BeautifulSoup(markup, "html.parser")
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup.find_all(True):
        if tag.decomposed:
            continue
        if tag.name in _DROPPED_WITH_CONTENT:
            tag.decompose()
        elif tag.name not in _ALLOWED_TAGS:
            tag.unwrap()
        else:
            _clean_attributes(tag)
    for table in soup.find_all("table"):
        table.attrs.pop("class", None)
        table.wrap(soup.new_tag("div", attrs={"class": "scroll"}))
    return str(soup)


def _clean_attributes(tag: Tag) -> None:
    for name in list(tag.attrs):
        if name not in _ALLOWED_ATTRIBUTES:
            del tag[name]
    if "href" in tag.attrs and not _LINK.match(str(tag["href"]).strip()):
        del tag["href"]
    if "src" in tag.attrs and not str(tag["src"]).startswith("data:image/"):
        tag.decompose()


def output_html(markup: str, prose: Prose, where: str) -> str:
    """A notebook's HTML output, cleaned, with formulas between dollar signs."""
    soup = BeautifulSoup(clean(markup), "html.parser")
    for text in soup.find_all(string=re.compile(r"\$[^$]+\$")):
        if text.find_parent(["code", "pre"]) is None:
            text.replace_with(BeautifulSoup(rich(str(text), prose, where), "html.parser"))
    return str(soup)


def rich(text: str, prose: Prose | None = None, where: str = "") -> str:
    """Escaped text with formulas between dollar signs and `code` between backticks.

    >>> rich("at $d = 40$, `GroupCDF` <b>")
    'at <math><mi>d</mi><mo>=</mo><mn>40</mn></math>, <code>GroupCDF</code> &lt;b&gt;'
    """
    prose = prose or Prose("")
    parts = re.split(r"(\$[^$\n]+\$|`[^`\n]+`)", text)
    return "".join(
        prose.formula(part[1:-1], where, display=False)
        if part.startswith("$") and len(part) > 2
        else f"<code>{html.escape(part[1:-1])}</code>"
        if part.startswith("`") and len(part) > 2
        else html.escape(part, quote=False)
        for part in parts
    )


def signs(text: str) -> str:
    """Relation and minus signs in place of what a keyboard has for them.

    >>> signs("haar >= cdf25x25: slope -0.5 (1e-12), a 2-torus")
    'haar ≥ cdf25x25: slope −0.5 (1e-12), a 2-torus'
    """
    text = re.sub("<=|>=|->", lambda sign: _SIGNS[sign[0]], text)
    return re.sub(r"(?<![\w)\]^-])-(?=\.?\d)", "−", text)


def typeset(text: str) -> str:
    """A claim written in plain characters, set as a reader of the paper would expect it.

    Greek names, relation signs, exponents and indices become what they stand for; nothing else
    changes.

    >>> typeset("eps - delta2 <= K_s, error m^-1/2")
    'ε − δ<sub>2</sub> ≤ K<sub>s</sub>, error m<sup>−1/2</sup>'
    """
    text = html.escape(signs(text).replace(" - ", " − "), quote=False)
    greek = "|".join(_GREEK)
    text = re.sub(
        rf"(?<![A-Za-z])({greek})(\d?)(?![A-Za-z])",
        lambda m: _GREEK[m[1]] + (f"<sub>{m[2]}</sub>" if m[2] else ""),
        text,
    )
    text = _exponents(text)
    text = re.sub(
        r"(?<=[A-Za-zα-ωΑ-Ω|)])_(inf|[A-Za-z0-9α-ω]+(?:,[A-Z])?)(?![A-Za-z])",
        lambda m: f"<sub>{'∞' if m[1] == 'inf' else m[1]}</sub>",
        text,
    )
    return text


def _exponents(text: str) -> str:
    pieces = []
    while (found := re.search(r"\^(?=\(|-?[\w])", text)) is not None:
        pieces.append(text[: found.start()])
        rest = text[found.end() :]
        if rest.startswith("("):
            end = _closing(rest)
            exponent, text = rest[1:end], rest[end + 1 :]
        else:
            match = re.match(r"-?(?:\d+(?:/\d+)?|\w+?(?=\b|_))", rest)
            exponent, text = match[0], rest[match.end() :]
        pieces.append(f"<sup>{exponent.replace('-', '−')}</sup>")
    return "".join(pieces) + text


def _closing(text: str) -> int:
    """Where the bracket that opens `text` closes; the end of the text if it does not."""
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return place
    return len(text)


def duration(seconds: float | None) -> str:
    """A duration for people.

    >>> duration(3725), duration(42.31), duration(0.4), duration(None)
    ('1 h 2 min', '42 s', '0.4 s', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def run_time(volatile: Mapping[str, Any]) -> str:
    """How long a run took, with the parts that it took over from earlier ones.

    >>> run_time({"wall_s": 60.0, "cached_s": 3540.0}), run_time({"wall_s": 42.3}), run_time({})
    ('1 h 0 min', '42 s', 'unknown')
    """
    if "wall_s" not in volatile:
        return "unknown"
    return duration(volatile["wall_s"] + volatile.get("cached_s", 0))


def plain(markup: str) -> str:
    """The text of a piece of HTML."""
    return BeautifulSoup(markup, "html.parser").get_text()
