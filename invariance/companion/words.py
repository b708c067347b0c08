r"""Formulas as words and signs, for those who hear a text: `without_tex`.

Titles and labels of figures hold formulas in TeX. Their alternative texts are read aloud, or
searched, and hold none.
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
}  # fmt: skip
# what only says how something is set
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
    r"""A text without dollars, backslashes and braces of TeX.

    >>> without_tex(r"$\sqrt{N}$, $\log_{10} \delta$ against $n^{1/(1+\alpha)}$, $X_0$, $d^2$")
    '√N, log₁₀ δ against n^(1/(1+α)), X₀, d²'
    >>> without_tex(r"$\frac{a}{b+c} \leq \mathrm{Weyl}$; 10 \% of \rho\,x")
    'a/(b+c) ≤ Weyl; 10 % of ρ x'
    """
    parts = re.split(r"(?<!\\)\$", text)
    # without a partner the last dollar opens no formula
    formulas = range(1, len(parts) - 1 + len(parts) % 2, 2)
    read = [_read(part, formula=i in formulas) for i, part in enumerate(parts)]
    return "".join(read).replace("$", "")


def _read(text: str, formula: bool) -> str:
    if not formula and not re.search(r"\\|[_^]\{", text):
        return text
    text = re.sub(r"\\([{}$%&#_])", lambda match: _KEPT.get(match[1], match[1]), text)
    text = re.sub(r"\\([A-Za-z]+|.)\s*", _command, text, flags=re.DOTALL)
    before = ""
    while before != text:  # from the inside out
        before = text
        text = re.sub(rf"√\[[^\]]*\]|√\s*{_GROUP}", _root, text)
        text = re.sub(rf"\x01\s*{_GROUP}\s*{_GROUP}", _fraction, text)
        text = re.sub(rf"([_^]){_GROUP}", _script, text)
        text = re.sub(rf"(?<![_^√\x01}}]){_GROUP}", r"\1", text)
    if formula:
        text = re.sub(r"([_^])([0-9])", _script, text)
    text = re.sub(r"[{}\x01\\]", "", text)
    for sign, kept in _BACK.items():
        text = text.replace(sign, kept)
    return re.sub(r"  +", " ", text)


# braces and dollars that are meant; until the end they are other signs
_KEPT = {"{": "\x02", "}": "\x03", "$": "\x04"}
_BACK = {"\x02": "{", "\x03": "}", "\x04": ""}


def _command(match: re.Match[str]) -> str:
    name = match[1]
    spaced = " " if match[0][-1].isspace() else ""
    if name in _SPACES:
        return _SPACES[name]
    if name in _LOOKS:
        return ""
    if name == "sqrt":
        return "√"
    if name in ("frac", "dfrac", "tfrac"):
        return "\x01"
    return _GREEK.get(name, _SIGNS.get(name, "‖" if name == "|" else name)) + spaced


def _root(match: re.Match[str]) -> str:
    inside = match[1]
    if inside is None:
        return "√"
    return f"√{inside}" if re.fullmatch(r"\w+|\|\w+\|", inside) else f"√({inside})"


def _fraction(match: re.Match[str]) -> str:
    upper, lower = (p if re.fullmatch(r"[\w|]+", p) else f"({p})" for p in match.groups())
    return f"{upper}/{lower}"


def _script(match: re.Match[str]) -> str:
    """A subscript or superscript in Unicode's own signs, or with its sign and in parentheses."""
    raised, inside = match[1] == "^", match[2]
    plain = r"[0-9+−=()ni-]+" if raised else r"[0-9+−=()-]+"
    if re.fullmatch(plain, inside):
        return inside.translate(_RAISED if raised else _LOWERED)
    return f"{match[1]}{inside}" if len(inside) == 1 else f"{match[1]}({inside})"
