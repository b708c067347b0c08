# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figures 3, 6, 7 and 8: spoken digits of other speakers, pitch and pace
#
# *Mroueh, Voinea and Poggio (2015), Figures 3, 6, 7 and 8.*
#
# The same word sounds different from another mouth: higher or lower, faster or slower. The paper
# applies just these changes to random templates, 400 cents up and down and half to double
# speed, pools the inner products into their distributions, and trains a linear classifier on
# those. How accurate is it for speakers that it never heard? Accuracy grows with templates and bins, and
# new utterances of the same speakers are easier than new speakers.
#
# **The data are not the paper's.** TIDIGITS is licensed. Real recordings here are the Free Spoken
# Digit Dataset: six male speakers. For splits by gender and age there are synthetic voices:
# men, women, and "children", that is women's voices with a shortened vocal tract. Every figure and
# every verdict names its data.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
cents: float = 400.0  # largest change of pitch
tempo: float = 2.0  # largest change of speed, up and down

# %%
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from _speech import NAMES, TITLES, load_recordings, nested_accuracies, split_accuracies
from joblib import Parallel, delayed

from invariance.beyond import LogMel, PitchSpeed, SpectrogramPitchSpeed
from invariance.companion import Run, family, mean_se, panel
from invariance.features import GroupCDF, draw_windowed_templates

run = Run("mroueh2015/spoken_digits", profile=profile, seed=seed, cents=cents, tempo=tempo)

# %% tags=["settings"]
if run.quick:
    sets = ["vowels"]
    n_cents = 3  # changes of pitch of a log-mel template
    n_speeds = 3  # changes of speed
    bins = [5, 25]
    counts = {"log-mel": [5, 10, 30], "waveform": [10, 100, 1000]}  # of templates
    n_draws = 2  # of templates
    n_wave_draws = 0
    part_size = 2  # draws that are computed, and stored, together
else:
    sets = ["real", "synthetic"]
    n_cents = 7
    n_speeds = 7
    bins = [5, 25, 100]
    counts = {"log-mel": [10, 30, 100, 300, 1000], "waveform": [10, 100, 1000]}
    n_draws = 60
    n_wave_draws = 12
    part_size = 12

# %% [markdown]
# ## Recordings and splits
#
# A word sits in the middle of one second of silence. All splits are by whole recordings, and by
# whole speakers if the split is about speakers:
#
# - **utterance**: the same speakers, new utterances of each digit;
# - **speaker**: unseen speakers (one of the six real ones in turn; a random half of the others);
# - **gender**: train on men, test on women;
# - **age (women)**, **age (men)**: train on women, or on men, and test on children.

# %%
recordings = {name: load_recordings(name, seed) for name in sets}
for name in sets:
    for file, sha256 in recordings[name].sources.items():
        run.uses_data(file, sha256)


def splits(name, draw):
    """Rows to train and to test on, by split."""
    return load_recordings(name, seed).splits(draw, seed)


def place(name, split):
    """Index of a split among those of a data set."""
    return list(splits(name, 0)).index(split)


# %% [markdown]
# ## Two representations
#
# **Waveform**, as published: 8,000 samples of unit norm. Templates are Gaussian noise of half a
# second; pitch and speed are changed by a vocoder (Rubber Band, through Pedalboard). **Log-mel**,
# the practical one: decibels above silence in 24 mel bands, 63 frames of 16 ms. There a change of pitch
# is a displacement along frequency, a change of speed a stretch of time, so templates are
# moved by two small interpolation matrices. Their window looks at a part of the word and of the
# spectrum, as in the notebook on MNIST.

# %%
mel = LogMel().fit(np.zeros((1, 8000), dtype=np.float32))
sounds = SpectrogramPitchSpeed(
    mel.shape_,
    cents=np.linspace(-cents, cents, n_cents).round(6),
    speeds=np.geomspace(1 / tempo, tempo, n_speeds).round(6),
)
waves = PitchSpeed(
    (8000,),
    cents=(-cents, 0, cents),
    speeds=(1 / tempo, 1, tempo),
    high_quality=False,
)
print(f"{sounds.order} changes of a log-mel template, {waves.order} of a waveform")


# %%
@cache
def points(name, representation):
    """Unit-norm points, float32."""
    X = load_recordings(name, seed).words
    if representation == "log-mel":
        X = mel.transform(X)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


# %% [markdown]
# One recorded word, and its log-mel representation under the largest changes of pitch and of speed:

# %%
image = mel.transform(recordings[sets[0]].words[[0]])
examples = [(0, 1.0), (cents, 1.0), (-cents, 1.0), (0, 1 / tempo), (0, tempo)]
fig, axes = plt.subplots(1, len(examples), figsize=(9, 2.6), sharey=True)
for axis, (pitch, speed) in zip(axes, examples, strict=True):
    changed = sounds.act([[pitch, speed]], image)[0].reshape(mel.shape_)
    axis.imshow(
        changed.T,
        origin="lower",
        aspect="auto",
        extent=(0, 1, 0, 24),
        cmap="magma",
        vmin=0,
        vmax=1,
    )
    axis.grid(False)
    axis.set(title=f"{pitch:+g} cents, speed {speed:g}", xlabel="time (s)")
axes[0].set(title="as recorded", ylabel="mel band (100 Hz to 4 kHz)")
run.figure(
    fig,
    "changes",
    alt="Five log-mel spectrograms of one word: as recorded, displaced upwards and downwards in "
    "frequency, stretched to double length and squeezed to half.",
    caption="A change of pitch displaces a recording along frequency, a change of speed stretches it. "
    f"Data: {NAMES[sets[0]]}.",
)

# %% [markdown]
# ## Templates and bins
#
# Thresholds for 5 and 25 bins are among those for 100, so one pass of projections serves all.
# The inner product of features is a sum over templates, hence Gram matrices of 10, 30, 100, ...
# templates are partial sums; every split takes its rows and columns from them. $\lambda$ comes
# from leave-one-out on the training recordings. Features for 5 and 25 bins are exact; 201
# thresholds are kept as 32 principal components common to all templates.
#
# Thresholds run from $-s$ to $s$. The **printed range**, $s = 1 + \varepsilon$ with $\varepsilon = 0.2$ as in
# the other experiments, is beyond any inner product of unit vectors, and many thresholds lie where
# nothing happens; the claims are judged with it. For comparison there is the **range of the data**, where
# $s$ is the $0.999$ quantile of the projections of the recordings themselves (no label is used).

# %%
PRINTED = "printed range"
DATA = "range of the data"
RANGES = {PRINTED: 1.2, DATA: "data"}
FIRST_DRAW = 200  # no earlier run has used this draw or a later one
# Draws of templates by representation and range.
draws_of = {
    ("log-mel", PRINTED): range(FIRST_DRAW, FIRST_DRAW + n_draws),
    ("log-mel", DATA): range(max(2, n_draws // 5)),
}
if n_wave_draws:
    draws_of["waveform", PRINTED] = range(FIRST_DRAW, FIRST_DRAW + n_wave_draws)
WINDOW = (5.0, 3.0)  # standard deviation in frames and bands

# %% [markdown]
# Templates of the log-mel representation are windowed noise; those of waveforms are half a second of
# noise of unit norm in the middle of the second.


# %%
def noise_templates(n_templates, random_state):
    """Half a second of Gaussian noise of unit norm, in the middle of one second."""
    noise = np.random.default_rng(random_state).standard_normal((n_templates, 4000))
    templates = np.zeros((n_templates, 8000))
    templates[:, 2000:6000] = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return templates


# %%
def feature_map(representation, n_templates, n_bins, draw, s):
    """CDF pooling of one draw of templates."""
    random_state = 1000 * seed + draw
    if representation == "log-mel":
        group = sounds
        templates = draw_windowed_templates(
            n_templates, mel.shape_, width=WINDOW, random_state=random_state
        )
    else:
        group = waves
        templates = noise_templates(n_templates, random_state)
    return GroupCDF(
        group,
        n_templates,
        n_bins=n_bins,
        templates=templates,
        s=s,
        block_bytes=2**30,
    )


# %% [markdown]
# One pass over the recordings gives the accuracies of a draw for all bins, templates and splits. Draws are
# independent and run side by side. Finished parts are stored, and an interrupted run goes on from them.


# %%
def in_threads(function, items):
    """The results of a function for all items, in their order, on the cores of this notebook."""
    return Parallel(n_jobs=-1, prefer="threads")(delayed(function)(item) for item in items)


@run.cache
def pooled_accuracies(name, representation, s, bins, counts, draws, seed):
    """Accuracies of shape (draws, bins, templates, splits)."""
    X = points(name, representation)
    target = load_recordings(name, seed).target

    def scores_of(draw):
        features = feature_map(representation, max(counts), max(bins), draw, s)
        Z = features.fit_transform(X).reshape(len(X), max(counts), -1)
        return nested_accuracies(Z, target, splits(name, draw), bins, counts, {}, seed)

    return np.array(in_threads(scores_of, draws))


# %% [markdown]
# For reference the same learner has the representation itself, without pooling. It has no templates, and
# varies with the draw only as far as recordings are split anew.


# %%
@run.cache
def plain_accuracies(name, representation, draws, seed):
    """The same learner on the representation itself, shape (draws, splits)."""
    X = points(name, representation)
    X = X - X.mean(axis=0)
    target = load_recordings(name, seed).target
    starts = {}
    scores = []
    for draw in draws:
        scores.append(split_accuracies(X @ X.T, target, splits(name, draw), starts))
    return np.array(scores)


# %%
def in_parts(name, representation, span, counts, draws):
    """Accuracies in percent; computed and stored in parts."""
    parts = []
    for first in range(0, len(draws), part_size):
        part = tuple(draws[first : first + part_size])
        parts.append(
            pooled_accuracies(name, representation, RANGES[span], bins, counts, part, seed)
        )
    return 100 * np.concatenate(parts)


# %%
scores = {}
plain = {}
for name in sets:
    for (kind, span), draws in draws_of.items():
        scores[name, kind, span] = in_parts(name, kind, span, counts[kind], draws)
        plain[name, kind, span] = 100 * plain_accuracies(name, kind, tuple(draws), seed)


# %% [markdown]
# ## Results: unseen speakers, new utterances, gender and age
#
# Each panel is one split of one data set. Its title has the gain of pooling with all templates and the
# most bins over the representation itself; with fewer of them it is smaller or a loss.


# %%
def draw_split(axis, name, split, kind):
    """Draw accuracies against templates for every number of bins, and without pooling."""
    at = place(name, split)
    pooled = scores[name, kind, PRINTED][..., at]
    alone = plain[name, kind, PRINTED][:, at]
    curves = family("cdf", {f"{n} bins": pooled[:, i] for i, n in enumerate(bins)})
    level = np.repeat(alone[:, None], len(counts[kind]), axis=1)
    curves["not pooled"] = ("raw", level, {"marker": ""})
    gain = pooled[:, -1, -1].mean() - alone.mean()
    panel(
        axis,
        counts[kind],
        curves,
        log="x",
        ends=0.45,
        xlabel="templates",
        ylabel=f"test accuracy (%), {kind}",
        title=f"{split}: {TITLES[name]}\n{bins[-1]} bins, {counts[kind][-1]:,} templates: "
        f"{gain:+.0f} points",
    )


# %%
data_caption = "Data: " + "; ".join(NAMES[name] for name in sets) + "."
error_caption = (
    f"Mean and two standard errors over {n_draws} draws of templates (and of the speakers left "
    "out). The paper prints curves, and no numbers. "
)


# %%
def draw_splits(panels, figure, caption, kind="log-mel"):
    """Record a figure with one panel per data set and split."""
    n_columns = min(len(panels), 2)
    n_rows = -(-len(panels) // 2)
    fig, axes = plt.subplots(n_rows, n_columns, squeeze=False)
    fig.set_size_inches(max(7, 4.5 * n_columns), 3.9 * n_rows)
    for axis, (name, split) in zip(axes.flat, panels, strict=True):
        draw_split(axis, name, split, kind)
    run.figure(fig, figure, caption=caption + data_caption)


# %% [markdown]
# The flat line is the representation without pooling. If a curve still rises at its right end, more
# templates may raise the accuracy further.

# %%
draw_splits(
    [(sets[0], "speaker"), (sets[-1], "gender")],
    "figure3",
    "The paper's Figure 3. " + error_caption,
)
draw_splits(
    [(name, "utterance") for name in sets],
    "figure6",
    "The paper's Figure 6. " + error_caption,
)
draw_splits(
    [(sets[-1], "age (women)"), (sets[-1], "age (men)")],
    "figures7-8",
    "The paper's Figures 7 and 8. " + error_caption,
)

# %%
if n_wave_draws:
    draw_splits(
        [(name, split) for name in sets for split in ("utterance", "speaker")],
        "waveform",
        f"The published representation. Mean and two standard errors over {n_wave_draws} draws. ",
        kind="waveform",
    )

# %% [markdown]
# The effect of bins depends on the range of the thresholds:

# %%
middle = len(counts["log-mel"]) // 2
fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.6))
for axis, (name, split) in zip(axes, ((sets[0], "speaker"), (sets[-1], "gender")), strict=True):
    at = place(name, split)
    curves = {}
    gains = []
    for span, short, line in ((PRINTED, "printed", "-"), (DATA, "data", "--")):
        values = scores[name, "log-mel", span][:, :, middle, at]
        means = values.mean(axis=0)
        curves[span] = ("cdf", values, {"ls": line})
        gains.append(f"{means[-1] - means[-2]:+.1f} ({short})")
    title = f"{split}: {TITLES[name]}\n{bins[-2]} to {bins[-1]} bins: " + ", ".join(gains)
    panel(axis, bins, curves, log="x", ends=None, xlabel="bins", title=title)
axes[0].set_ylabel("test accuracy (%), log-mel")
axes[0].legend(loc="lower right")
run.figure(
    fig,
    "range-of-thresholds",
    caption=f"{counts['log-mel'][middle]} templates. Over the printed range few thresholds fall where "
    "inner products are. " + data_caption,
)

# %% [markdown]
# All numbers at the largest number of templates:

# %%
table_rows = []
for name in sets:
    for kind, span in draws_of:
        for at, split in enumerate(splits(name, 0)):
            row = {
                "recordings": TITLES[name],
                "split": split,
                "representation": kind,
                "thresholds": span,
                "the representation itself, %": f"{mean_se(plain[name, kind, span][:, at]):.1f}",
            }
            for i, n in enumerate(bins):
                accuracy = mean_se(scores[name, kind, span][:, i, -1, at])
                row[f"CDF({n}, {counts[kind][-1]:,}), %"] = f"{accuracy:.1f}"
            table_rows.append(row)
run.table(
    table_rows,
    "accuracy",
    caption="Test accuracy with all templates, mean and standard error.",
)

# %% [markdown]
# ### The claims of the captions
#
# Figure 3 is read as two orders: accuracy grows with templates, tenfold each time, for every number of
# bins, and with bins at every number of templates.

# %%
template_counts = counts["log-mel"]


def shape(n, m):
    """Name of a feature map in the claims."""
    return f"{n} bins x {m} templates"


def scores_by_name(accuracies, name, split):
    """Scores in percent by the names of their feature maps."""
    at = place(name, split)
    by_name = {}
    for i, n in enumerate(bins):
        for j in range(accuracies.shape[2]):
            by_name[shape(n, template_counts[j])] = accuracies[:, i, j, at]
    return by_name


# %% tags=["claims"]
tenfold = template_counts[::2]
orders = [" > ".join(shape(n, m) for m in reversed(tenfold)) for n in bins]
orders += [" > ".join(shape(n, m) for n in reversed(bins)) for m in template_counts]
for claim, name, split in (
    ("mroueh2015/fig3-speaker", sets[0], "speaker"),
    ("mroueh2015/fig3-gender", sets[-1], "gender"),
):
    run.claim(
        claim,
        order=orders,
        scores=scores_by_name(scores[name, "log-mel", PRINTED], name, split),
        paired=True,
        data=f"{NAMES[name]}, log-mel",
    )

# %% [markdown]
# Figure 6 is read as two claims: new utterances of the same speakers are easier than every other split,
# and with many templates the fewest bins are within one point of the most ("quite good even for a small
# number of bins"). One point is a threshold of ours, and the claim can fail although 5 bins are good. So two
# other readings are recorded beside the verdict: 5 bins against the representation itself, without
# pooling, and the same loss with thresholds over the range of the data.

# %% tags=["claims"]
all_data = "; ".join(f"{NAMES[name]}, log-mel" for name in sets)
utterance_order = []
utterance_scores = {}
for name in sets:
    for at, split in enumerate(splits(name, 0)):
        utterance_scores[f"{TITLES[name]} {split}"] = scores[name, "log-mel", PRINTED][
            :, -1, -1, at
        ]
        if split != "utterance":
            utterance_order.append(f"{TITLES[name]} utterance > {TITLES[name]} {split}")
run.claim(
    "mroueh2015/fig6-utterance",
    order=utterance_order,
    scores=utterance_scores,
    paired=True,
    data=all_data,
)

# %%
few_order = {PRINTED: [], DATA: []}  # by range of the thresholds
few_scores = {PRINTED: {}, DATA: {}}
few_words = []
plain_order = []
plain_scores = {}
for name in sets:
    at = place(name, "utterance")
    for span in RANGES:
        at_most_templates = scores[name, "log-mel", span][:, :, -1, at]
        loss = f"what {bins[0]} bins lose against {bins[-1]}, {TITLES[name]}"
        few_order[span].append(f"one point > {loss}")
        few_scores[span][loss] = at_most_templates[:, -1] - at_most_templates[:, 0]
    with_few_bins = scores[name, "log-mel", PRINTED][:, 0, -1, at]
    without_pooling = plain[name, "log-mel", PRINTED][:, at]
    few_words.append(f"{bins[0]} bins {mean_se(with_few_bins):.2f} %, {TITLES[name]}")
    pooled_name = f"{bins[0]} bins, {TITLES[name]}"
    plain_name = f"the representation itself, {TITLES[name]}"
    plain_order.append(f"{pooled_name} > {plain_name}")
    plain_scores |= {pooled_name: with_few_bins, plain_name: without_pooling}

# %% tags=["claims"]
run.claim(
    "mroueh2015/fig6-few-bins",
    order=few_order[PRINTED],
    scores=few_scores[PRINTED],
    thresholds={"one point": 1.0},
    paired=True,
    data=all_data,
    note=f"{template_counts[-1]:,} templates: {'; '.join(few_words)}",
)
run.counterfactual(
    "mroueh2015/fig6-few-bins",
    f"{bins[0]} bins against the representation itself in place of {bins[-1]} bins",
    order=plain_order,
    scores=plain_scores,
    paired=True,
)
run.counterfactual(
    "mroueh2015/fig6-few-bins",
    "thresholds over the range of the data",
    order=few_order[DATA],
    scores=few_scores[DATA],
    thresholds={"one point": 1.0},
    paired=True,
)

# %% [markdown]
# Figures 7 and 8 are read as: from women to children is easier than from men to women, and from men to
# children is the hardest split.

# %% tags=["claims"]
by_split = {}
for at, split in enumerate(splits(sets[-1], 0)):
    by_split[split] = scores[sets[-1], "log-mel", PRINTED][:, -1, -1, at]
age_order = ["age (women) > gender"]
age_order += [f"{split} > age (men)" for split in by_split if split != "age (men)"]
run.claim(
    "mroueh2015/fig7-8-age",
    order=age_order,
    scores=by_split,
    paired=True,
    data=f"{NAMES[sets[-1]]}, log-mel",
)

# %% [markdown]
# The published representation: pooled waveforms against the same learner on the waveforms themselves,
# for unseen speakers and with the most bins. The paper prints no accuracy on raw waveforms; the claim asks
# for the gain at every number of templates, although a few templates keep little of a word. So the
# most templates alone are recorded beside the verdict.

# %% tags=["claims"]
if n_wave_draws:
    wave_order = []
    wave_scores = {}
    for name in sets:
        at = place(name, "speaker")
        raw_name = f"raw waveforms, {TITLES[name]}"
        wave_scores[raw_name] = plain[name, "waveform", PRINTED][:, at]
        for j, m in enumerate(counts["waveform"]):
            pooled_name = f"{shape(bins[-1], m)}, {TITLES[name]}"
            wave_scores[pooled_name] = scores[name, "waveform", PRINTED][:, -1, j, at]
            wave_order.append(f"{pooled_name} > {raw_name}")
    run.claim(
        "mroueh2015/waveforms",
        order=wave_order,
        scores=wave_scores,
        paired=True,
        data="; ".join(f"{NAMES[name]}, waveforms" for name in sets),
    )
    most_templates = shape(bins[-1], counts["waveform"][-1])
    run.counterfactual(
        "mroueh2015/waveforms",
        f"{counts['waveform'][-1]:,} templates alone",
        order=[chain for chain in wave_order if chain.startswith(most_templates)],
        scores=wave_scores,
        paired=True,
    )

# %% [markdown]
# ## Where we differ from the paper
#
# - The recordings are substitutes, above all for gender and age, where voices are synthetic.
# - The paper works on waveforms. Pooled over only nine changes of pitch and speed, such features
#   depend on the phase of every sample; the last figure and the table of the full profile show the
#   cost, compared with the log-mel representation that a practitioner would take.
# - Between $\pm 400$ cents and half to double speed we take 49 combinations for log-mel templates
#   (the paper names only the ends), and nine for waveforms.
# - The slack $\varepsilon$ of the range of thresholds is ours; the figure above shows another range.
# - The window of the log-mel templates (five frames, three bands) was set once and not tuned.
#
# ## Try it
#
# `invariance run mroueh2015/spoken_digits -p cents 0`: without changes of pitch, which split loses most?
# Or `-p tempo 1.2`.
