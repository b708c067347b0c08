"""Formulas in Unicode instead of TeX, for texts that are read aloud or searched: `without_tex`.

Titles and labels of figures contain formulas in TeX. Alternative texts must not.
"""

import re

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta": "θ", "iota": "ι", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
    "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ",
    "Psi": "Ψ", "Omega": "Ω", "ell": "ℓ",
}  # fmt: skip
_SIGNS = {
    "times": "×", "cdot": "·", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥",
    "ne": "≠", "neq": "≠", "approx": "≈", "sim": "~", "propto": "∝", "in": "∈", "infty": "∞",
    "to": "→", "rightarrow": "→", "mapsto": "↦", "circ": "∘", "sum": "Σ", "prod": "Π", "int": "∫",
    "partial": "∂", "nabla": "∇", "langle": "⟨", "rangle": "⟩", "ldots": "...", "dots": "...",
    "cdots": "...", "degree": "°", "oplus": "⊕", "otimes": "⊗", "cup": "∪", "cap": "∩",
    "subset": "⊂", "emptyset": "∅", "forall": "for all", "exists": "there is", "prime": "'",
    "ll": "≪", "gg": "≫", "mid": "|", "vert": "|", "Vert": "‖", "lVert": "‖", "rVert": "‖",
    "|": "‖",
}  # fmt: skip
# Commands that only change the look of a formula.
_LOOKS = {
    "left", "right", "big", "Big", "bigl", "bigr", "mathrm", "mathbf", "mathit", "mathcal",
    "mathbb", "mathsf", "mathtt", "text", "textbf", "textit", "operatorname", "displaystyle",
    "boldsymbol", "bf", "it", "rm", "overline", "bar", "hat", "widehat", "tilde", "widetilde",
    "vec", "limits", "mathregular", "underline",
}  # fmt: skip
_SPACES = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "\\": " ", "quad": " ", "qquad": " "}
_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_GROUP = r"\{([^{}]*)\}"


def without_tex(text: str) -> str:
    r"""Return a text without TeX's dollars, backslashes and braces.

    >>> without_tex(r"$\sqrt{N}$, $\log_{10} \delta$ against $n^{1/(1+\alpha)}$, $X_0$, $d^2$")
    '√N, log₁₀ δ against n^(1/(1+α)), X₀, d²'
    >>> without_tex(r"$\frac{a}{b+c} \leq \mathrm{Weyl}$; 10 \% of \rho\,x")
    'a/(b+c) ≤ Weyl; 10 % of ρ x'
    """
    parts = re.split(r"(?<!\\)\$", text)
    last = len(parts) - 1
    converted = []
    for i, part in enumerate(parts):
        # Every second part is a formula, but a last dollar without a partner does not open one.
        is_formula = i % 2 == 1 and i < last
        converted.append(_convert(part, is_formula))
    return "".join(converted).replace("$", "")


# Escaped braces and dollars are replaced by control characters until the end.
_PROTECTED = {"{": "\x02", "}": "\x03", "$": "\x04"}
_RESTORED = {"\x02": "{", "\x03": "}", "\x04": ""}
# This control character stands for the command of a fraction.
_FRACTION = "\x01"


def _convert(text: str, is_formula: bool) -> str:
    if not is_formula and not re.search(r"\\|[_^]\{", text):
        return text
    text = re.sub(r"\\([{}$%&#_])", _escaped, text)
    text = re.sub(r"\\([A-Za-z]+|.)\s*", _command, text, flags=re.DOTALL)
    text = _without_groups(text)
    if is_formula:
        text = re.sub(r"([_^])([0-9])", _script, text)
    text = re.sub(rf"[{{}}{_FRACTION}\\]", "", text)
    for character, sign in _RESTORED.items():
        text = text.replace(character, sign)
    return re.sub(r"  +", " ", text)


def _without_groups(text: str) -> str:
    """Convert everything that has an argument in braces, from the innermost one outwards."""
    before = None
    while before != text:
        before = text
        text = re.sub(rf"√\[[^\]]*\]|√\s*{_GROUP}", _root, text)
        text = re.sub(rf"{_FRACTION}\s*{_GROUP}\s*{_GROUP}", _fraction, text)
        text = re.sub(rf"([_^]){_GROUP}", _script, text)
        text = re.sub(rf"(?<![_^√{_FRACTION}}}]){_GROUP}", r"\1", text)
    return text


def _escaped(match: re.Match[str]) -> str:
    sign = match[1]
    return _PROTECTED.get(sign, sign)


def _command(match: re.Match[str]) -> str:
    name = match[1]
    if name in _SPACES:
        return _SPACES[name]
    if name in _LOOKS:
        return ""
    if name == "sqrt":
        return "√"
    if name in ("frac", "dfrac", "tfrac"):
        return _FRACTION
    sign = _GREEK.get(name) or _SIGNS.get(name) or name
    if match[0][-1].isspace():
        return f"{sign} "
    return sign


def _root(match: re.Match[str]) -> str:
    radicand = match[1]
    if radicand is None:
        return "√"
    if re.fullmatch(r"\w+|\|\w+\|", radicand):
        return f"√{radicand}"
    return f"√({radicand})"


def _fraction(match: re.Match[str]) -> str:
    numerator, denominator = match.groups()
    return f"{_in_parentheses(numerator)}/{_in_parentheses(denominator)}"


def _in_parentheses(term: str) -> str:
    return term if re.fullmatch(r"[\w|]+", term) else f"({term})"


def _script(match: re.Match[str]) -> str:
    """Convert a subscript or superscript to Unicode's own signs, or keep its sign."""
    sign, term = match.groups()
    if sign == "^" and re.fullmatch(r"[0-9+−=()ni-]+", term):
        return term.translate(_RAISED)
    if sign == "_" and re.fullmatch(r"[0-9+−=()-]+", term):
        return term.translate(_LOWERED)
    if len(term) == 1:
        return f"{sign}{term}"
    return f"{sign}({term})"
