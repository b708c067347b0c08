"""Formulas of the kinds that the four papers need become MathML, and nothing passes unread."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.companion.report import FormulaError, to_mathml

FORMULAS = [
    r"K(x, z) = \int_G \int_G k(gx, g'z)\, d\mu(g)\, d\mu(g')",
    r"\phi_{jk} = \sqrt{\frac{s}{nm}} \sum_{i=1}^{|G|} \mathbf{1}[\langle g_i t_j, x\rangle \le 1]",
    r"\mathbb{E}_{t \sim \mathcal{N}(0, I/d)}\bigl[\lVert t\rVert^2\bigr]",
    r"f(x) = \begin{cases} 1 & x > 0 \\ 0 & \text{otherwise} \end{cases}",
    r"\begin{aligned} a &= b + c \\ &= d \end{aligned}",
    r"\begin{align} a &= b \\ c &= d \end{align}",
    r"D = \begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}",
    r"\hat f = \tilde{f} - B^\top (B B^\top)^{+} B \widetilde{f}",
    r"\operatorname*{arg\,min}_{w \in \mathbb{R}^p} \max_{g \in G} |\langle w, gx\rangle|",
    r"\operatorname{sign}(\mathrm{Var}(x)) \in \mathbb{S}^{d-1}",
    r"\binom{d+k-1}{k} - \binom{d+k-3}{k-2}",
    r"\sup_{x, g} |f(x) - f(gx)| \propto n^{-s/(s + d/2)}",
    r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix} \begin{array}{cc} a & b \end{array}",
    r"\left(\frac{a}{b}\right)^{2} \cdots \underbrace{a + b}_{c} \mathscr{H} \boldsymbol{\alpha}",
]  # fmt: skip


def _tree(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<p>{markup.replace('<wbr>', '')}</p>")


def _text(tex: str, display: bool = True) -> str:
    return "".join(_tree(to_mathml(tex, display)).itertext())


@pytest.mark.parametrize("display", [False, True])
@pytest.mark.parametrize("tex", FORMULAS)
def test_formula_becomes_plain_mathml(tex, display):
    markup = to_mathml(tex, display)
    tree = _tree(markup)
    assert tree.findall("math")
    assert "xmlns" not in markup and "ns0:" not in markup
    assert "\\" not in markup and "&amp;" not in markup
    # MathML Core knows one value of mathvariant
    assert set(re.findall(r'mathvariant="([^"]*)"', markup)) <= {"normal"}
    assert not tree.findall(".//menclose")


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\mathbb{R}^n", "ℝn"),
        (r"\mathbb{E}", "𝔼"),
        (r"\mathbf{1}", "𝟏"),
        (r"\mathbf{x}", "𝐱"),
        (r"\boldsymbol{\alpha}", "𝜶"),
        (r"\mathscr{H}", "ℋ"),
        (r"\mathrm{Var}", "Var"),
        (r"\operatorname*{ess\,sup}", "ess\u2009sup"),
        (r"32{,}768", "32,768"),
        (r"a := b", "a≔b"),
        (r"t \sim q", "t∼q"),
        (r"x \not\in A", "x∉A"),
    ],
)
def test_letters_and_signs(tex, shown):
    assert _text(tex) == shown


def test_limits_stand_below_their_operator_in_a_displayed_formula():
    for tex in (r"\max_g x", r"\operatorname*{arg\,min}_w f", r"\lim_{n} a", r"\sum_i a"):
        assert _tree(to_mathml(tex, display=True)).find(".//munder") is not None
        if "sum" not in tex:
            assert _tree(to_mathml(tex)).find(".//munder") is None


def test_equation_number_stands_beside_the_formula():
    markup = to_mathml(r"a = b \tag{3}", display=True)
    assert markup.endswith('<span class="tag">(3)</span>')
    assert "3" not in "".join(_tree(markup).find("math").itertext())
    with pytest.raises(FormulaError, match="one displayed formula"):
        to_mathml(r"a = b \tag{3}")


def test_long_inline_formula_may_break_before_its_relations_and_loses_nothing():
    tex = r"\varepsilon - \delta_2 \le K_s(x, z) - (1 - d_G(x, z)) \le \varepsilon + \delta_1"
    broken = to_mathml(tex)
    assert broken.count("<math>") == 3
    assert _text(tex, display=False) == _text(tex, display=True)
    assert to_mathml("d = 40").count("<math>") == 1


@pytest.mark.parametrize(
    ("tex", "message"),
    [
        (r"\foo x", r"unknown command \\foo"),
        (r"\eqref{haar}", "number in the text"),
        (r"\label{a} x", r"use \\tag"),
        (r"\begin{tikzpicture} x \end{tikzpicture}", "unknown environment 'tikzpicture'"),
        (r"\frac{a", "never closed"),
        ("a}", "no opening"),
        (r"\frac{a}", "argument|tokens|denominator"),
        ("a & b", "outside an environment"),
        (r"a \\ b", "aligned"),
        ("x_a_b", "double subscripts"),
        (r"\left( x", "left"),
        (r"\text{is $x$}", r"inside \\text"),
        (r"\cancel{x}", "browsers cannot draw"),
        ("  ", "empty"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_remedy(tex, message):
    for display in (False, True):
        with pytest.raises(FormulaError, match=message) as caught:
            to_mathml(tex, display)
        assert caught.value.tex == tex


_PIECES = st.sampled_from(
    [r"\frac", r"\sqrt", "{", "}", "_", "^", "x", "1", r"\mathbb", r"\left(", r"\right)", "&", "<",
     r"\\", r"\sum", r"\begin{cases}", r"\end{cases}", r"\hat", r"\operatorname{a}", " ", "'", "|",
     r"\mathrm{d}", r"\text{a<b}", r"\log", "$", "#", r"\tag{1}", r"\begin{aligned}",
     r"\end{aligned}", r"\limits", r"\big", r"\langle", "\u00e9", r"\mathop{\rm a}"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=8), st.booleans())
def test_any_text_is_refused_or_becomes_well_formed_mathml(pieces, display):
    try:
        markup = to_mathml(" ".join(pieces), display)
    except FormulaError:
        return
    _tree(markup)
    assert "\\" not in markup
