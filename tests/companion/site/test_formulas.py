"""Formulas in a ledger's statements, written as plain text and shown as mathematics."""

import re

import pytest
import yaml

from invariance.companion.site.formulas import with_formulas
from invariance.companion.site.text import statement

from .conftest import ROOT

#: Each statement with its formulas as TeX, which is compared without its spaces.
SHOWN = {
    "K(g'x, gz) = K(x, z), is symmetric": "$K(g'x,gz)=K(x,z)$, is symmetric",
    "eps - delta2 <= K_s - (1 - d_G)": r"$\varepsilon-\delta_{2}\leK_{s}-(1-d_{G})$",
    "falls as m^-1/2, not eps^2/8": r"falls as $m^{-1/2}$, not $\varepsilon^{2}/8$",
    "as n^(1/(1 + alpha)) and O(n^2 m)": r"as $n^{1/(1+\alpha)}$ and $O(n^{2}m)$",
    "with |w|_inf <= C/m (solved)": r"with $\lvertw\rvert_{\infty}\leC/m$ (solved)",
    "E <Phi(xi),Phi(xj)> is K_s": r"$\mathbb{E}\langle\Phi(x_i),\Phi(x_j)\rangle$ is $K_{s}$",
    "the mean of |g x - g' z| over": r"the mean of $\lvertgx-g'z\rvert$ over",
    "the range of n' with sqrt(10)/2": r"the range of $n$' with $\sqrt{10}/2$",
    "C + sqrt(2 log(1/delta1)) of f": r"$C+\sqrt{2\log(1/\delta_{1})}$ of $f$",
    "as K(x) = m x (mean of X_i)": r"as $K(x)=m$ × (mean of $X_{i}$)",
    "Haar >= CDF(25,25), risk -> 0": "Haar ≥ CDF(25,25), risk → 0",
    "Spec-Avg's own, n = 1,000 as drawn": r"Spec-Avg's own, $n=1{,}000$ as drawn",
}
PLAIN = [
    "a share of 100 / 200 / 500 samples, a tenth",
    "L-TI-SVM and (L-)RI-SVM beat 'every row of L, TI and RI'",
    "the paper's kernel, see eq. (11), of a 64x64 canvas",
    "an unclosed bracket (x + and |y, or k(x, 'quoted')",
]


def without_spaces(tex: str) -> str:
    return re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", ""), tex)


@pytest.mark.parametrize("text", SHOWN)
def test_a_formula_is_recognised(text):
    assert without_spaces(with_formulas(text)) == SHOWN[text]


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_formula_stays_as_it_is(text):
    assert with_formulas(text) == text


def as_written(tex: str) -> str:
    """Return the plain text that a statement with formulas came from, without spaces."""
    text = tex.replace("$", "").replace("^*", "*").replace("L^2", "L2").replace("{,}", ",")
    for command, sign in {
        r"\langle": "<", r"\rangle": ">", r"\lvert": "|", r"\rvert": "|", r"\le ": "<=",
        r"\ge ": ">=", r"\to ": "->", r"\varepsilon": "eps", r"\infty": "inf", r"\mathbb{E}": "E",
        "x_i": "xi", "x_j": "xj", "≤": "<=", "≥": ">=", "→": "->", "×": "x",
    }.items():  # fmt: skip
        text = text.replace(command, sign)
    text = re.sub(r"\\mathrm\{(\w+)\}", r"\1", text)
    text = re.sub(r"\\sqrt\{(( [^{}]*|\{[^{}]*\})*)\}", r"sqrt(\1)", text)
    text = re.sub(r"_\{(\d+)\}", r"\1", text).replace("\\", "")
    return re.sub(r"[\s{}()_]", "", text)


def statements() -> list[str]:
    ledger = yaml.safe_load((ROOT / "notebooks/claims.yml").read_text("utf-8"))
    texts = []
    for entry in ledger["claims"]:
        texts += [entry["says"], entry.get("limits", ""), *entry.get("erratum", {}).values()]
    return texts


def test_no_statement_of_the_ledger_loses_or_gains_a_sign():
    changed = 0
    for text in statements():
        shown = with_formulas(text)
        assert as_written(shown) == re.sub(r"[\s{}()_]", "", text), text
        changed += "$" in shown
    assert changed > 80


def test_brackets_of_every_formula_are_balanced():
    for text in statements():
        for formula in re.findall(r"\$([^$]*)\$", with_formulas(text)):
            for opening, closing in ("()", "{}", (r"\lvert", r"\rvert"), (r"\langle", r"\rangle")):
                assert formula.count(opening) == formula.count(closing), formula


def test_a_statement_is_no_markup():
    shown = statement("<b>x</b> and K_s < 1, `code`, <script>")
    assert "<b>" not in shown and "<script>" not in shown
    assert r"\(K _{s} &lt; 1\)" in shown
