r"""Formulas that a ledger writes as plain text, as mathematics: ``|g^-1 x| <= eps``.

`with_formulas` reads a sentence from left to right. A formula is the longest run of known symbols,
numbers, operators and brackets that is balanced and ends with a value; it counts only if it has a
power, an index, a relation, an operation, a Greek letter or a call, or if it is one letter that
names a quantity. Any other word ends the run and stays as it is, so that a sentence that this rule
does not understand remains plain text.
"""

import re
from collections.abc import Iterator
from functools import cache

#: Names that stand for a symbol.
_SYMBOLS = {
    "eps": r"\varepsilon",
    "inf": r"\infty",
    "L2": "L^2",
    "xi": "x_i",
    "xj": "x_j",
    **{
        name: rf"\{name}"
        for name in "alpha delta gamma kappa lambda nu omega pi psi sigma Phi".split()
    },
}
_FUNCTIONS = ("exp", "log", "ln", "sup", "max", "min")
#: Two letters that stand side by side, such as an element of a group and a point.
_PRODUCTS = ("gx", "gy", "gz", "gt", "GX")
#: Letters that name a quantity even if nothing stands beside them; `a` is an article.
_QUANTITIES = "bcdefghijklmnopqrstuvwxyzCDNX"
_RELATIONS = {"<=": r"\le", ">=": r"\ge", "->": r"\to", "=": "=", "<": "<", ">": ">"}
_CLOSING = {"(": ")", r"\lvert": r"\rvert", r"\langle": r"\rangle", "{": "}"}

_TOKEN = re.compile(
    r"""
    (?P<power>\^(?:-\d+/\d+|-?\d+|[A-Za-z]+))          # m^-1/2, g^-1, H^s
    | (?P<raised>\^\()                                 # n^(1/2)
    | (?P<index>_[A-Za-z0-9]+(?:,[A-Za-z]+)*)          # K_s, k_q,G
    | (?P<relation>(?<=\s)(?:<=|>=|->|=|<|>)(?=\s))
    | (?P<operator>(?<=\s)[-+/](?=\s)|(?<=[\w)|])/(?=[\w(|])|(?<=[(\w])[-+](?=\w))
    | (?P<sign>(?<![\w)])-(?=[\w(]))
    | (?P<number>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![\w,.]\d)
    | (?P<root>sqrt\()
    | (?P<word>[A-Za-z]+\d*)
    | (?P<prime>(?<=\w)'(?=[\w^ ),]))
    | (?P<star>(?<=\w)\*(?![\w*]))
    | (?P<open>[(|]|<(?=[A-Za-z]))
    | (?P<close>[)>])
    | (?P<comma>,)
    | (?P<space>\s+)
    """,
    re.VERBOSE,
)
#: What may stand on either side of a formula.
_BEFORE = re.compile(r"(?:^|(?<!\b[A-Z])\s|[\[{]|(?<!\w)[('])$")
_AFTER = re.compile(r"$|(?!\s[=<>+])[\s,;:)\]}']|\.(?:\s|$)")
#: Kinds of tokens after which a formula may end.
_VALUES = {"power", "index", "number", "word", "prime", "star", "close"}
#: Kinds that make a formula of a run.
_MARKS = {"power", "raised", "index", "relation", "operator", "root", "prime", "star"}

#: The letter x for multiplication by a quantity in words.
_TIMES = re.compile(r" x (?=\(|the |average )")
_SIGNS = {" <= ": " ≤ ", " >= ": " ≥ ", " -> ": " → ", " x ": " × "}


@cache
def with_formulas(text: str) -> str:
    r"""Return a sentence with its formulas as TeX between dollars; the rest stays as it is.

    >>> print(with_formulas("the error is at most 2 exp(-m eps^2/8) for each n"))
    the error is at most $2 \exp ( - m \varepsilon ^{2} / 8 )$ for each $n$
    >>> print(with_formulas("100 / 200 / 500 samples, L-TI-SVM, a share"))
    100 / 200 / 500 samples, L-TI-SVM, a share
    """
    pieces = []
    start = 0
    position = 0
    while position < len(text):
        formula, end = _formula_at(text, position)
        if formula:
            pieces += [text[start:position], f"${formula}$"]
            start = end
        position = end
    return _with_signs("".join([*pieces, text[start:]]))


def _with_signs(text: str) -> str:
    """Return a sentence with the signs between words as one character each."""
    text = _TIMES.sub(_SIGNS[" x "], text)
    for written, sign in _SIGNS.items():
        if written != " x ":
            text = text.replace(written, sign)
    return text


def _formula_at(text: str, start: int) -> tuple[str, int]:
    """Return the formula that starts at a position, or an empty text, and where to go on."""
    following = start + 1
    if not _BEFORE.search(text, max(0, start - 2), start):
        return "", following
    run = _Run(text)
    best = "", following
    for token in _tokens(text, start):
        if not run.accepts(token):
            break
        ends = token.lastgroup != "space" and _AFTER.match(text, token.end())
        if ends and run.is_complete:
            best = run.tex, token.end()
    return best


def _tokens(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield the tokens of a formula, up to a character that no formula has."""
    position = start
    while token := _TOKEN.match(text, position):
        yield token
        position = token.end()


class _Run:
    """Tokens that may be a formula or its beginning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str] = []
        self._brackets: list[str] = []
        self._is_marked = False
        self._has_symbol = False
        self._last = ""

    @property
    def is_complete(self) -> bool:
        """Whether the tokens are a formula: balanced, marked, with a value at its end."""
        ends = self._last in _VALUES and not self._brackets
        return ends and self._has_symbol and (self._is_marked or self._is_quantity)

    @property
    def _is_quantity(self) -> bool:
        """Whether the tokens are one letter that names a quantity, with or without a sign."""
        *sign, letter = self._pieces
        return sign in ([], ["-"]) and letter in _QUANTITIES

    @property
    def tex(self) -> str:
        return " ".join(self._pieces)

    def accepts(self, token: re.Match[str]) -> bool:
        """Add a token, and return whether it can belong to a formula."""
        kind = str(token.lastgroup)
        if kind == "space":
            return bool(self._pieces)
        tex = self._translated(kind, token)
        if tex is None:
            return False
        self._pieces.append(tex)
        self._is_marked |= kind in _MARKS
        self._last = "close" if tex in _CLOSING.values() else kind
        return True

    def _translated(self, kind: str, token: re.Match[str]) -> str | None:
        """Return the TeX of a token, or None if no formula has it here."""
        word = token[0]
        if kind == "word":
            return self._symbol(token)
        if kind in ("open", "root", "raised"):
            return self._opened(kind, token)
        if kind == "close":
            return self._closed(word)
        if kind in ("index", "power", "prime", "star"):
            return self._attached(kind, word, token.start())
        if kind in ("comma", "relation", "operator"):
            return self._between(kind, token)
        return word.replace(",", "{,}")

    def _between(self, kind: str, token: re.Match[str]) -> str | None:
        """Return the TeX of a sign between two values: a comma, a relation or an operator."""
        word = token[0]
        if kind == "comma":
            return "," if self._brackets else None
        if not self._pieces:
            return None
        if kind == "relation":
            return _RELATIONS[word]
        between_letters = token.start() > 0 and not self._text[token.start() - 1].isspace()
        is_hyphen = word in "+-" and between_letters and not self._brackets
        return None if is_hyphen else word

    def _symbol(self, token: re.Match[str]) -> str | None:
        """Return the TeX of a symbol or the name of a function."""
        name, index = re.fullmatch(r"([A-Za-z]+)(\d*)", token[0]).groups()  # type: ignore[union-attr]
        if token[0] in _SYMBOLS:
            name, index = token[0], ""
        subscript = f"_{{{index}}}" if index else ""
        if name in _FUNCTIONS:
            self._is_marked = True
            return rf"\{name}{subscript}"
        if self._is_expectation(name, token.end()):
            self._is_marked = self._has_symbol = True
            return r"\mathbb{E}"
        is_known = name in _SYMBOLS or name in _PRODUCTS
        if not is_known and (len(name) > 1 or self._is_word(name, token)):
            return None
        self._has_symbol = True
        calls = self._text[token.end() : token.end() + 1] == "("
        self._is_marked |= is_known or calls or bool(index)
        return _SYMBOLS.get(name, " ".join(name)) + subscript

    def _is_expectation(self, name: str, end: int) -> bool:
        """Whether the letter E stands for an expectation."""
        is_apart = self._text[end : end + 1] == " "
        return name == "E" and is_apart and self._starts_a_value(end + 1)

    def _is_word(self, name: str, token: re.Match[str]) -> bool:
        """Whether a letter is an article, or stands for multiplication."""
        return name == "a" or (name == "x" and self._is_times(token))

    def _starts_a_value(self, position: int) -> bool:
        """Whether an expectation is taken of the symbol at a position."""
        return bool(re.compile(r"<[A-Za-z]|(?:exp|max)\b").match(self._text, position))

    def _is_times(self, token: re.Match[str]) -> bool:
        """Whether the letter x stands for multiplication: ``m x (mean of ...)``."""
        return bool(_TIMES.match(self._text, token.start() - 1))

    def _opened(self, kind: str, token: re.Match[str]) -> str | None:
        word = token[0]
        if kind == "raised":
            if not self._pieces:
                return None
            self._brackets.append("{")
            return "^{"
        if kind == "root":
            self._brackets.append("{")
            self._has_symbol = True
            return r"\sqrt{"
        if word == "|" and self._brackets[-1:] == [r"\lvert"]:
            self._brackets.pop()
            self._is_marked = True
            return r"\rvert"
        bracket = {"<": r"\langle", "|": r"\lvert"}.get(word, word)
        self._brackets.append(bracket)
        return bracket

    def _closed(self, word: str) -> str | None:
        if not self._brackets or self._last in ("relation", "operator", "comma"):
            return None
        closing = _CLOSING[self._brackets[-1]]
        if (word == ">") != (closing == r"\rangle") or closing == r"\rvert":
            return None
        self._brackets.pop()
        self._is_marked |= word == ">"
        return closing

    def _attached(self, kind: str, word: str, start: int) -> str | None:
        """Return the TeX of an index, a power, a prime or a star behind a value."""
        if self._last not in _VALUES:
            return None
        if kind == "prime":
            is_quote = not self._brackets and not re.match(r"'[\w^]", self._text[start:])
            return None if is_quote else "'"
        if kind == "star":
            return "^*"
        if kind == "power":
            return f"^{{{_SYMBOLS.get(word[1:], word[1:])}}}"
        names = [self._index_name(name) for name in word[1:].split(",")]
        return f"_{{{','.join(names)}}}"

    @staticmethod
    def _index_name(name: str) -> str:
        if name in _SYMBOLS:
            return _SYMBOLS[name]
        return name if len(name) == 1 or name.isdecimal() else rf"\mathrm{{{name}}}"
