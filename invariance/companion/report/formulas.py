r"""`to_mathml`: TeX formulas to MathML, which browsers draw without a script or a network.

latex2mathml does the parsing. What stands here is what it leaves open: it passes unknown commands
through as text, takes any environment for a group, and writes letters of another alphabet as
attributes that browsers no longer read. Whatever is not understood is an error, never a guess.
"""

import html
import re
import unicodedata
from dataclasses import dataclass
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element

from invariance.companion.errors import CompanionError

# What each environment becomes before parsing; the numbered ones would count their own equations.
_ENVIRONMENTS = {
    "equation": None,
    "equation*": None,
    "displaymath": None,
    "math": None,
    "align": "align*",
    "align*": "align*",
    "aligned": "align*",
    "eqnarray": "align*",
    "split": "split",
    "gather": "centred",
    "gather*": "centred",
    "gathered": "centred",
    "cases": "cases",
    "array": "array",
    "matrix": "matrix",
    "pmatrix": "pmatrix",
    "bmatrix": "bmatrix",
    "Bmatrix": "Bmatrix",
    "vmatrix": "vmatrix",
    "Vmatrix": "Vmatrix",
    "smallmatrix": "smallmatrix",
}

_REFUSED = {
    "eqref": "write the equation's number in the text, as in (3)",
    "ref": "write the number in the text",
    "label": "leave it out: nothing can refer to it; use \\tag{...} for a visible number",
    "cite": "name the paper in the text",
    "newcommand": "write the formula out",
    "renewcommand": "write the formula out",
    "def": "write the formula out",
    "DeclareMathOperator": "use \\operatorname{...}",
    "href": "put the link in the text around the formula",
    "require": "leave it out",
    "boxed": "browsers cannot draw it; let the sentence stress the formula",
    "cancel": "browsers cannot draw it; write the step out",
}

_ARITY = {
    "mfrac": 2,
    "mroot": 2,
    "msub": 2,
    "msup": 2,
    "munder": 2,
    "mover": 2,
    "msubsup": 3,
    "munderover": 3,
}

# The limits of these stand below them in a displayed formula.
_LIMIT_NAMES = {
    "lim", "max", "min", "sup", "inf", "argmin", "argmax", "limsup", "liminf", "Pr", "det", "gcd",
}  # fmt: skip
_THIN = "\N{THIN SPACE}"

_LETTERLIKE = set("∞∅⊤⊥ℓ")  # letters for spacing, although the parser calls them operators
_DELIMITERS = set("⟨⟩⌊⌋⌈⌉|‖∣∥")
_BARS = set("|‖")

_BETTER_SIGNS = {"~": "∼", "⧵": "∖"}

_VARIANTS = {
    "bold": "MATHEMATICAL BOLD {}",
    "italic": "MATHEMATICAL ITALIC {}",
    "bold-italic": "MATHEMATICAL BOLD ITALIC {}",
    "double-struck": "MATHEMATICAL DOUBLE-STRUCK {}",
    "script": "MATHEMATICAL SCRIPT {}",
    "bold-script": "MATHEMATICAL BOLD SCRIPT {}",
    "fraktur": "MATHEMATICAL FRAKTUR {}",
    "sans-serif": "MATHEMATICAL SANS-SERIF {}",
    "monospace": "MATHEMATICAL MONOSPACE {}",
}
# Letters that Unicode had before the mathematical alphabets, and so left out of them.
_OLDER_LETTERS = {
    **dict(zip([("double-struck", c) for c in "CHNPQRZ"], "ℂℍℕℙℚℝℤ", strict=True)),
    **dict(zip([("script", c) for c in "BEFHILMRego"], "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True)),
    **dict(zip([("fraktur", c) for c in "CHIRZ"], "ℭℌℑℜℨ", strict=True)),
    ("italic", "h"): "ℎ",
}

_BREAK_ABOVE = 18  # characters; a shorter inline formula is never broken over two lines
_RELATIONS = set("=<>≤≥≠≈∼∝≪≫⊂⊆∈∉→↦⇒⟺≔≲≃≅≡⟶")


@dataclass(frozen=True)
class _Context:
    tex: str
    display: bool
    names: dict[str, tuple[str, bool]]  # stand-in -> the name, and whether it takes limits


class FormulaError(CompanionError, ValueError):
    """A formula that cannot be turned into MathML; the message says what to write instead."""

    def __init__(self, tex: str, reason: str) -> None:
        self.tex = tex
        self.reason = reason
        super().__init__(f"formula not understood: {' '.join(tex.split())!r}: {reason}")


def to_mathml(tex: str, display: bool = False) -> str:
    r"""MathML of one TeX formula, ready to stand in an HTML page.

    Parameters
    ----------
    tex : str
        The formula without its dollar signs.
    display : bool
        A formula on a line of its own; limits then stand below and above their operators, and
        ``\tag{3}`` puts a number beside it. An inline formula that is long comes back as several
        ``<math>`` elements, so that a narrow page can break the line at a relation sign.

    Returns
    -------
    str
        One or more ``<math>`` elements without name space.

    Raises
    ------
    FormulaError
        For TeX that is not understood: an unknown command or environment, unbalanced braces, a
        reference. The message names it and says what to write instead.

    Examples
    --------
    >>> to_mathml(r"s - d_G")
    '<math><mi>s</mi><mo>−</mo><msub><mi>d</mi><mi>G</mi></msub></math>'
    >>> to_mathml(r"\eqref{haar}")
    Traceback (most recent call last):
        ...
    invariance.companion.report.formulas.FormulaError: formula not understood: ...
    """
    _check_braces(tex)
    body, tag = _take_tag(tex, display)
    body, names = _rewrite(body, tex)
    if not body.strip():
        raise FormulaError(tex, "it is empty")
    try:
        root = convert_to_element(body, display="block" if display else "inline")
    # On broken TeX the parser also lets IndexError, StopIteration and others through.
    except Exception as error:
        what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error"))
        raise FormulaError(tex, f"the parser reports: {what.lower()}") from error
    _tidy(root, _Context(tex, display, names))
    children = _flatten(root)
    if display:
        math = f'<math display="block">{_serialise(children)}</math>'
        if tag is not None:
            math += f'<span class="tag">({html.escape(tag)})</span>'
        return math
    return "<wbr>".join(f"<math>{_serialise(part)}</math>" for part in _break_lines(children))


def _check_braces(tex: str) -> None:
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", tex):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            raise FormulaError(tex, "a closing brace has no opening one")
    if depth:
        raise FormulaError(tex, f"{depth} opening brace(s) are never closed")


def _take_tag(tex: str, display: bool) -> tuple[str, str | None]:
    tags = re.findall(r"\\tag\*?\s*\{([^{}]*)\}", tex)
    if not tags:
        return tex, None
    if not display or len(tags) > 1:
        raise FormulaError(tex, "\\tag{...} is for one displayed formula: one tag, between $$")
    return re.sub(r"\\tag\*?\s*\{[^{}]*\}", "", tex), tags[0]


def _rewrite(body: str, tex: str) -> tuple[str, dict[str, tuple[str, bool]]]:
    """The same formula in the part of TeX that the parser gets right, and its operators' names."""
    for name in re.findall(r"\\([a-zA-Z]+)", body):
        if name in _REFUSED:
            raise FormulaError(tex, f"\\{name} is not supported: {_REFUSED[name]}")
    for name in re.findall(r"\\begin\s*\{([^{}]*)\}", body):
        if name not in _ENVIRONMENTS:
            known = ", ".join(_ENVIRONMENTS)
            raise FormulaError(tex, f"unknown environment {name!r}; known are {known}")
    names: dict[str, tuple[str, bool]] = {}

    def environment(match: re.Match[str]) -> str:
        which, name = match.groups()
        target = _ENVIRONMENTS.get(name, name)
        if target is None:
            return " "
        if target == "centred":
            return r"\begin{array}{c}" if which == "begin" else r"\end{array}"
        return f"\\{which}{{{target}}}"

    def operator(match: re.Match[str]) -> str:
        # The parser reads letters only, so a name with a space in it travels under another.
        stand_in = "operator" + "x" * (len(names) + 1)
        text = re.sub(r"\\(?:rm|mathrm|text|textrm)(?![a-zA-Z])", "", match[2])
        text = re.sub(r"\\[,;:! ]|~", _THIN, text).replace("{", "").replace("}", "").strip()
        names[stand_in] = (text, match[1] != "operatorname")
        return rf"\operatorname{{{stand_in}}}"

    # \Big before a norm sign says only how tall it is
    body = re.sub(r"\\(?:big|Big|bigg|Bigg)[lr]?\s*(?=\\[lr]Vert)", "", body)
    body = re.sub(r"\\(begin|end)\s*\{([^{}]*)\}", environment, body)
    body = re.sub(r"\\(mathop|operatorname\*?)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", operator, body)
    # The parser sets a lone letter in roman as if it were a variable.
    body = re.sub(
        r"\\mathrm\s*\{([^{}\\]*)\}", lambda m: rf"\text{{{m[1].replace(' ', '')}}}", body
    )
    body = re.sub(r"\\mathrm\s+([A-Za-z])", r"\\text{\1}", body)
    body = re.sub(r"\\not\s*=", r"\\neq ", body)
    body = re.sub(r"\\not\s*\\in(?![a-zA-Z])", r"\\notin ", body)
    # A comma in braces separates thousands, without the space of a list.
    return body.replace(":=", r"\coloneqq ").replace("{,}", r"\text{,}"), names


def _tidy(element: ElementTree.Element, context: _Context) -> bool:
    """Correct a tree in place; true where the element is an upright name that takes limits."""
    tex = context.tex
    element.tail = None
    element.attrib.pop("xmlns", None)
    if element.get("linebreak") == "newline":
        raise FormulaError(
            tex, r"\\ outside an environment; put the lines in \begin{aligned} ... \end{aligned}"
        )
    if element.get("width") == "negativethinmathspace":
        element.set("width", "-0.167em")
    if element.tag == "mtable":
        # Browsers take the spacing of a table from CSS; `displaystyle` marks the aligned ones.
        element.attrib.pop("rowspacing", None)
        element.attrib.pop("columnspacing", None)
    if element.text is not None:
        _tidy_token(element, tex)
        return _tidy_name(element, context.names)
    takes_limits = [_tidy(child, context) for child in element]
    expected = _ARITY.get(element.tag)
    if expected is not None and len(element) != expected:
        raise FormulaError(tex, f"an argument is missing ({element.tag[1:]} needs {expected})")
    if element.tag in ("msub", "msup", "msubsup") and takes_limits[0] and context.display:
        element.tag = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}[element.tag]
    if element.tag == "mover" and len(element[1]) == 0 and element[1].text in ("^", "~", "→"):
        element.set("accent", "true")
        if len(_letters(element[0])) < 2:
            element[1].set("stretchy", "false")
    if element.tag in ("math", "mrow", "mtd", "mstyle"):
        _space_names(element)
    return False


def _tidy_token(element: ElementTree.Element, tex: str) -> None:
    text = html.unescape(element.text or "")
    unknown = re.search(r"\\[a-zA-Z]+|\\", text)
    if unknown and element.tag != "mtext":
        raise FormulaError(tex, f"unknown command {unknown[0]}")
    if unknown or "$" in text:
        raise FormulaError(tex, r"commands inside \text{...} are not read; close it before them")
    if element.tag == "mi" and text in ("&", "{", "}", "#"):
        raise FormulaError(tex, f"{text!r} outside an environment; write \\{text} for the sign")
    variant = element.get("mathvariant")
    if variant is not None and variant != "normal":
        del element.attrib["mathvariant"]
        text = "".join(_other_alphabet(letter, variant) for letter in text)
    elif variant == "normal" and len(text) > 1:
        del element.attrib["mathvariant"]
    text = _BETTER_SIGNS.get(text, text) if element.tag == "mi" else text
    if text and set(text) <= set("′″‴"):
        element.tag = "mo"  # as letters primes would shrink a second time
    if element.tag == "mi" and len(text) == 1:
        if text in _DELIMITERS or text == ":" or unicodedata.category(text) in ("Sm", "Ps", "Pe"):
            if text not in _LETTERLIKE and text not in "∂∇":
                element.tag = "mo"
                if text in _DELIMITERS:
                    element.set("stretchy", "false")
    elif element.tag == "mo" and text in _LETTERLIKE:
        element.tag = "mi"
        element.attrib.clear()
    if element.tag == "mo" and text in _BARS and element.get("form") is None:
        # Opening or closing cannot be told apart: without space a bar is right as either.
        element.set("lspace", "0")
        element.set("rspace", "0")
        if element.get("minsize") is None and element.get("fence") != "true":
            element.set("stretchy", "false")
    element.text = text


def _tidy_name(element: ElementTree.Element, names: dict[str, tuple[str, bool]]) -> bool:
    text, takes_limits = names.get(element.text or "", (element.text or "", False))
    letters = re.sub(r"[^A-Za-z]", "", text)
    if element.tag != "mo" or not letters:
        return False
    # As an operator a name would get wide space on both sides; `_space_names` adds what TeX adds.
    element.tag = "mi"
    element.attrib.clear()
    element.text = re.sub(r"\s", _THIN, text)
    if len(text) == 1:
        element.set("mathvariant", "normal")
    return takes_limits or letters in _LIMIT_NAMES


def _other_alphabet(letter: str, variant: str) -> str:
    if (variant, letter) in _OLDER_LETTERS:
        return _OLDER_LETTERS[variant, letter]
    pattern = _VARIANTS.get(variant)
    if pattern is None or not letter.isalnum():
        return letter
    name = unicodedata.name(letter)
    name = re.sub(r"^(LATIN|GREEK) (CAPITAL|SMALL) LETTER ", r"\2 ", name)
    try:
        return unicodedata.lookup(pattern.format(name))
    except KeyError:
        return letter


def _letters(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def _is_name(element: ElementTree.Element) -> bool:
    while element.tag in _ARITY and element.tag != "mfrac" and len(element):
        element = element[0]
    return element.tag == "mi" and len(re.sub(r"[^A-Za-z]", "", element.text or "")) > 1


def _space_names(row: ElementTree.Element) -> None:
    """Put TeX's thin space between a name such as `log` and a letter beside it."""
    spaced: list[ElementTree.Element] = []
    for child in row:
        before = spaced[-1] if spaced else None
        if before is not None and "mspace" not in (before.tag, child.tag):
            opens = child.tag == "mo" and child.text not in _BARS
            follows = before.tag == "mo" and before.text not in (")", "]", "}")
            if (_is_name(before) and not opens) or (_is_name(child) and not follows):
                spaced.append(ElementTree.Element("mspace", {"width": "0.167em"}))
        spaced.append(child)
    row[:] = spaced


def _flatten(root: ElementTree.Element) -> list[ElementTree.Element]:
    children = list(root)
    while len(children) == 1 and children[0].tag == "mrow" and not children[0].attrib:
        children = list(children[0])
    return children


def _break_lines(children: list[ElementTree.Element]) -> list[list[ElementTree.Element]]:
    """Cut a long inline formula before its relation signs and after its commas."""
    if sum(len(_letters(child)) for child in children) <= _BREAK_ABOVE:
        return [children]
    parts: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for child in children:
        text = child.text if child.tag == "mo" else None
        if depth == 0 and text in _RELATIONS and parts[-1]:
            parts.append([])
            child.set("form", "infix")
        parts[-1].append(child)
        if text is not None and text in "([{⟨":
            depth += 1
        elif text is not None and text in ")]}⟩":
            depth -= 1
        elif depth == 0 and text == ",":
            parts.append([])
    return [part for part in parts if part]


def _serialise(elements: list[ElementTree.Element]) -> str:
    return "".join(ElementTree.tostring(e, encoding="unicode", method="html") for e in elements)
