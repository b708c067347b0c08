# ---
# jupyter:
#   invariance:
#     reads: [mroueh2015/mnist, mroueh2015/xperm]
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Printed numbers, and figures 2 and 4 in the paper's layout
#
# *Mroueh, Voinea and Poggio (2015).*
#
# The paper's figures are not available as data: it prints two numbers of figure 2, and otherwise
# curves. This page draws our published results on the axes of its captions, with the two numbers as stars. The
# notebooks `mroueh2015/mnist` and `mroueh2015/xperm` have measured them.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import re

import matplotlib.pyplot as plt

from invariance.companion import Run, family, panel, recorded, ticks

run = Run("mroueh2015/tables_and_figures", profile=profile, seed=seed)

# %% [markdown]
# The scores of a claim are named by their settings, such as "25 bins x 100 templates". Curves are put
# together from these names: one for each number of bins, over the numbers of templates. Nothing is computed
# again: the figures show the numbers on which the verdicts rest.

# %%
MNIST = "mroueh2015/mnist"
XPERM = "mroueh2015/xperm"
TWO_NUMBERS = re.compile(r"(\d+) bins x (\d+)")


def scores_of(notebook, *claims):
    """Scores of one or more claims by their names; empty if no run has recorded them."""
    scores = {}
    for claim in claims:
        numbers = recorded(notebook, claim, profile) or {}
        scores |= numbers.get("scores", {})
    return scores


def by_bins(scores):
    """Curves over templates: for each number of bins the templates, means and errors."""
    curves = {}
    for name, score in scores.items():
        match = TWO_NUMBERS.match(name)
        if match is not None:
            n_bins, n_templates = map(int, match.groups())
            curves.setdefault(n_bins, {})[n_templates] = score
    return {n_bins: points_of(curves[n_bins]) for n_bins in sorted(curves)}


def points_of(scores):
    """Positions in increasing order, means, and standard errors, of scores by position."""
    positions = sorted(scores)
    means = [scores[position]["mean"] for position in positions]
    errors = [scores[position]["se"] for position in positions]
    return positions, means, errors


# %% [markdown]
# ## Figure 2: MNIST
#
# Left: templates and bins, with 1,000 training images per class. Right: 50 bins and 500 templates against
# the number of training images, beside raw pixels. With plain Gaussian templates, as printed, our
# features stay below both printed numbers; under a Gaussian window, an addition of ours, they reach them.
# On the right the error bars differ in kind: all training samples of the pooled curve share one draw of
# templates, while the two numbers under a window come from joint draws of templates and training images.

# %%
template_curves = by_bins(
    scores_of(MNIST, "mroueh2015/fig2-templates-bins", "mroueh2015/fig2-bins")
)
size_scores = scores_of(MNIST, "mroueh2015/fig2-raw-order")


def against_size(method):
    """Points of a method over the training images per class."""
    prefix = f"{method} at "
    scores = {}
    for name, score in size_scores.items():
        if name.startswith(prefix):
            scores[int(name.removeprefix(prefix))] = score
    return points_of(scores)


PRINTED_SIZES = [10, 1000]
PRINTED = [90, 98.97]
windowed = [recorded(MNIST, f"mroueh2015/fig2-{n}-windowed", profile) for n in PRINTED_SIZES]
windowed_means = [numbers["value"][0] for numbers in windowed]
windowed_errors = [numbers["se"][0] for numbers in windowed]
sizes, plain_means, plain_errors = against_size("CDF")
raw_sizes, raw_means, raw_errors = against_size("raw")

# %% [markdown]
# The window was measured at the two printed sizes only, so it has two points and no curve.

# %% tags=["hide-input"]
curves_against_size = {
    "CDF(50, 500), window (ours)": (
        "haar",
        windowed_means,
        {"x": PRINTED_SIZES, "error": windowed_errors, "ls": "none"},
    ),
    "CDF(50, 500), as printed": ("cdf", plain_means, {"error": plain_errors}),
    "raw pixels": ("raw", raw_means, {"x": raw_sizes, "error": raw_errors}),
    "paper: near 90 and 98.97": (
        "published",
        PRINTED,
        {"x": PRINTED_SIZES, "ls": "none", "markersize": 12},
    ),
}

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4))
shaded = family("cdf", {f"bins: {n}": points for n, points in template_curves.items()})
for label, (method, (counts, means, errors), style) in shaded.items():
    curve = (method, means, style | {"error": errors, "x": counts})
    panel(axes[0], counts, {label: curve}, log="x", ends=None)
few_bins, *_, many_bins = template_curves.values()
axes[0].set(
    xlabel="number of templates (1,000 training images per class)",
    ylabel="test accuracy (%)",
    title=f"{counts[0]} to {counts[-1]} templates give {few_bins[1][0]:.0f} to {few_bins[1][-1]:.1f} % with "
    f"{min(template_curves)} bins,\n{many_bins[1][0]:.0f} to {many_bins[1][-1]:.1f} % with "
    f"{max(template_curves)}",
)
axes[0].legend(loc="lower right")
panel(
    axes[1],
    sizes,
    curves_against_size,
    log="x",
    ends=None,
    xlabel="training images per class",
    ylabel="test accuracy (%)",
    title=f"10 images per class give {plain_means[0]:.1f} %, with a window {windowed_means[0]:.1f} %;\n"
    f"1,000 per class: {plain_means[-1]:.2f} % and {windowed_means[-1]:.2f} %",
)
axes[1].legend(loc="lower right")
run.figure(
    fig,
    "figure2",
    caption="Means and two standard errors. The paper prints the two numbers drawn as stars; for the curves the "
    "comparison rests on its caption.",
)

# %% [markdown]
# The two printed numbers beside ours, with the standard error of ours:

# %%
run.paper_table("mroueh2015/numbers")

# %% [markdown]
# ## Figure 4: sequences in any order
#
# The appendix calls the curve over sampled group elements "rather flat", with "a very graceful
# degradation". On a linear axis this can be seen; on a logarithmic one it cannot. Elements are drawn with
# replacement, so 120 draws are not yet the whole group. The title gives the loss of 60 and of 30 draws
# against the whole group, so that "graceful" has a number.

# %%
element_scores = scores_of(XPERM, "mroueh2015/fig4-group-elements")
ELEMENTS = re.compile(r"(\d+) elements")
by_elements = {}
for name, score in element_scores.items():
    match = ELEMENTS.fullmatch(name)
    if match is not None:
        by_elements[int(match[1])] = score
elements, element_means, element_errors = points_of(by_elements)
grid_curves = by_bins(scores_of(XPERM, "mroueh2015/fig4-templates-bins"))
half_loss = element_scores[f"loss with {elements[-1] // 2} elements"]["mean"]
quarter_loss = element_scores[f"loss with {elements[-1] // 4} elements"]["mean"]

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4))
panel(
    axes[0],
    elements,
    {"CDF(25, 25)": ("group", element_means, {"error": element_errors})},
    ends=None,
    xlabel="group elements, drawn with replacement from 120",
    ylabel="accuracy (%)",
    ylim=(min(50, min(element_means) - 2), 102),
    title=f"Against the whole group {elements[-1] // 2} draws lose {half_loss:.1f} points,\n"
    f"{elements[-1] // 4} lose {quarter_loss:.1f}",
)
ticks(axes[0], elements[-4:])
shaded = family("cdf", {f"bins: {n}": points for n, points in grid_curves.items()})
for label, (method, (counts, means, errors), style) in shaded.items():
    curve = (method, means, style | {"error": errors, "x": counts})
    panel(axes[1], counts, {label: curve}, ends=None)
axes[1].set(
    xlabel="number of templates",
    ylabel="accuracy (%)",
    title=f"{counts[-1]} templates give {means[-1]:.1f} % with {max(grid_curves)} bins",
)
axes[1].legend(loc="lower right")
run.figure(
    fig,
    "figure4",
    caption="Means and two standard errors. The paper prints curves and no values: the comparison rests on its text.",
)

# %% [markdown]
# ## Try it
#
# The other figures of the paper are on the pages `mroueh2015/xperm` (1 and 5) and
# `mroueh2015/spoken_digits` (3, 6, 7 and 8).
