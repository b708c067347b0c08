"""Alternative texts contain no TeX, even if titles and labels of the figure do."""

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from invariance.companion import Run
from invariance.companion.words import without_tex

ROOT = Path(__file__).parents[2]
PUBLISHED = sorted((ROOT / "figures").glob("*/*/results.json"))
TEX = re.compile(r"[\\$]|[_^]\{")


def alternatives():
    for path in PUBLISHED:
        for figure in json.loads(path.read_text(encoding="utf-8"))["figures"]:
            yield f"{path.parent.name}/{figure['name']}", figure["alt"]


def test_no_page_shows_tex_in_an_alternative_text():
    texts = dict(alternatives())
    assert len(texts) > 100
    assert {name: alt for name, alt in texts.items() if TEX.search(without_tex(alt))} == {}
    page = (ROOT / "figures/README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[(.*?)\]\([^)\s]+\.png\)", page)
    assert len(shown) > 100
    assert [alt for alt in shown if TEX.search(alt)] == []


def test_nothing_of_a_plain_text_is_lost():
    plain = [alt for _, alt in alternatives() if not re.search(r"[\\${}]", alt)]
    assert len(plain) > 80
    assert [alt for alt in plain if without_tex(alt) != alt] == []


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"$\rho$", "ρ"),
        (r"correlation $\rho$ of $x$", "correlation ρ of x"),
        (r"$\sqrt{m}\,\gamma$", "√m γ"),
        (r"$\sqrt{a + b}$", "√(a + b)"),
        (r"$-\log_{10} \delta$", "-log₁₀ δ"),
        (r"$m^{-1/2}$", "m^(-1/2)"),
        (r"$m^{-1}$ and $m^2$", "m⁻¹ and m²"),
        (r"$X_0$, $d_G$, $D_{16}$", "X₀, d_G, D₁₆"),
        (r"$e^{-d\varepsilon^2/8}$", "e^(-dε²/8)"),
        (r"$\mathrm{Weyl} - D_\lambda$", "Weyl - D_λ"),
        (r"$\frac{\alpha}{1+\alpha}$", "α/(1+α)"),
        (r"$n^{\frac{1}{2}}$", "n^(1/2)"),
        (r"$\left\|x\right\| \leq 1$", "‖x‖ ≤ 1"),
        (r"$\unheardof x$", "unheardof x"),
        (r"\lambda without dollars", "λ without dollars"),
        (r"100\,\% of it", "100 % of it"),
        ("costs 5$ or so", "costs 5 or so"),
        (r"$\{a, b\}$", "{a, b}"),
        ("a_1 and b^2 as names, {so}", "a_1 and b^2 as names, {so}"),
        ("", ""),
    ],
)
def test_formulas_are_read(tex, words):
    assert without_tex(tex) == words
    assert without_tex(words) == words


@pytest.mark.parametrize("alt", [None, r"Rises as $\sqrt{n}$"])
def test_a_run_records_no_tex(project, alt):
    run = Run("demo/a")
    figure, axes = plt.subplots()
    axes.plot([1, 2], [1, 2], label=r"$K_s$")
    axes.set(title=r"$\|I_2\| \leq e^{-d\varepsilon^2}$", xlabel=r"$\lambda$", ylabel="$X_0$")
    run.figure(figure, "one", alt=alt, caption=r"The bound $\sqrt{n}$.")
    (recorded,) = json.loads((run.folder / "results.json").read_text("utf-8"))["figures"]
    assert not TEX.search(recorded["alt"])
    assert recorded["caption"] == r"The bound $\sqrt{n}$."
    if alt is None:
        assert recorded["alt"] == "‖I₂‖ ≤ e^(-dε²): X₀ against λ; K_s from 1 to 2."
