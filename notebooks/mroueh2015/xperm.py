# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Learning to ignore order: the experiment X_perm
#
# *Mroueh, Voinea and Poggio (2015), Figures 1, 4 and 5.*
#
# Take all sequences of five letters from an alphabet of eight. Pick two target letters. A sequence
# is positive when it contains both, **wherever they stand**. A learner that does not know that
# order is irrelevant must see a target in every position before it understands; one that knows
# needs to see each *bag* of letters once. How much is that knowledge worth, and can it be had
# without ever listing permutations of the data?
#
# The paper's answer is a random feature map. Project a point $x$ on a random template $t$ and on
# all its permuted copies $gt$, and keep only the *distribution* of the results. Permuting $x$
# shuffles the list $\{\langle gt, x\rangle\}_g$ and leaves its distribution as it was.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
group: str = "permutations"  # of the five places; or "cyclic shifts"

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsClassifier

from invariance.companion import Run, curve, family, mean_se, panel, ticks
from invariance.datasets import make_xperm
from invariance.features import GroupCDF
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import CDF, Average
from invariance.linear import RLSClassifier

run = Run("mroueh2015/xperm", profile=profile, seed=seed, group=group)

# %% tags=["settings"]
# all that differs between the two profiles
quick = run.quick
sizes = [10, 50, 200] if quick else [10, 30, 100, 300, 1000, 2000]  # training samples per class
draws, shown = (range(2), 200) if quick else (range(100), 1000)  # and the size of the table
more = range(2, 4) if quick else range(100, 3100)  # at the two smallest sizes, nearest neighbours
element_counts = [1, 15, 120] if quick else [1, 2, 5, 10, 30, 60, 120]
element_repetitions, per_class, n_test = (2, 100, 400) if quick else (12, 2000, 28_768)
template_counts = [1, 5, 25] if quick else [1, 5, 25, 100]
bin_counts, grid_repetitions = [1, 5, 25], 2 if quick else 30

# %% [markdown]
# ## The data: 32,768 points, and their orbits
#
# Each letter becomes a unit vector of length 8, a sequence their concatenation: $d = 40$. The
# group is $S_5$, acting on the five blocks of eight coordinates; its order is 120. Points are
# scaled to unit norm, as the paper's theorems ask.
#
# We name an orbit by its bag of letters and the first of its sequences in the order of a dictionary.
# Under all permutations the bag alone decides, so that there are $\binom{12}{5} = 792$ orbits.

# %%
X, y = make_xperm(random_state=seed)
X = X / np.sqrt(5)
GROUPS = {"permutations": Permutations, "cyclic shifts": CyclicShifts}
group = GROUPS[group](5, block=8)

letters = X.reshape(-1, 5, 8).argmax(axis=2)
bags = np.rint(X.reshape(-1, 5, 8).sum(axis=1) * np.sqrt(5)).astype(int)  # letters counted
places = group.act(group.elements(), np.repeat(np.arange(5.0), 8)[None])[:, 0, ::8].astype(int)
codes = np.min([letters[:, moved] @ 8 ** np.arange(5) for moved in places], axis=0)
orbits, first, orbit_of = np.unique(
    np.c_[bags, codes], axis=0, return_index=True, return_inverse=True
)
bag_of, representatives = orbits[:, :8], X[first]
counts = {"sequences": len(X), "orbits": len(orbits), "order of the group": group.order}
pd.DataFrame([counts | {"positive": f"{y.mean():.1%}"}])

# %% [markdown]
# An invariant representation is a table with one row per orbit. We compute it once for each orbit and
# look it up for each of the 32,768 points. Regularised least squares sees representations through
# their inner products alone, so a table with more columns than rows may be rotated into as many
# columns as rows without changing a single prediction:


# %%
def isometric(gram):
    """Coordinates whose inner products are the given Gram matrix."""
    if len(gram) > 2000:  # many orbits: quicker, up to a ridge of rounding
        return np.linalg.cholesky(gram + 1e-12 * np.trace(gram) * np.eye(len(gram)) / len(gram))
    values, vectors = np.linalg.eigh(gram)
    keep = values > values[-1] * 1e-13
    return vectors[:, keep] * np.sqrt(values[keep])


# %% [markdown]
# ## Six representations
#
# **CDF pooling.** For template $t_j$ and thresholds $s k / n$, $k = -n, \dots, n$,
#
# $$\phi_{jk}(x) = \sqrt{\frac{s}{n m}}\;\frac{1}{|G|} \sum_{g \in G}
# \mathbb{1}\left[\langle g t_j, x \rangle \le \frac{s k}{n}\right].$$
#
# CDF(25, 10) means $n = 25$ bins and $m = 10$ templates. In code it is one call:


# %%
def cdf_table(n_bins, n_templates, draw):
    features = GroupCDF(group, n_components=n_templates, n_bins=n_bins, random_state=draw)
    table = features.fit(X[:1]).transform(representatives)
    return table if len(table) > 2000 else isometric(table.astype(float) @ table.T)


# %% [markdown]
# **Haar.** The kernel that these features approximate as $n$ and $m$ grow (theorem 1) is known in
# closed form; it averages the distance over both orbits, $K_s(x, z) = s\,P - \frac{c}{|G|^2} \sum_{g,
# g'} \lVert g x - g' z \rVert$. The paper does not say which base kernel its Haar curve uses; we take
# this one, because it is the limit that the CDF curves are heading for.

# %%
haar_table = isometric(Average(CDF(epsilon=0.2), group)(representatives))

# %% [markdown]
# **Raw** is the sequence itself, **bag-of-words** counts its letters.
#
# Templates are drawn afresh in every repetition, together with the training sample.


# %%
def representation(name, draw):
    """A row for each orbit, or for each point."""
    if name.startswith("cdf"):
        n_bins, n_templates = map(int, name.removeprefix("cdf").split("x"))
        return cdf_table(n_bins, n_templates, draw)
    return {"haar": haar_table, "bag-of-words": bag_of.astype(float), "raw": X}[name]


LABELS = {
    "haar": "Haar kernel",
    "cdf25x25": "CDF(25, 25)",
    "cdf25x10": "CDF(25, 10)",
    "cdf25x1": "CDF(25, 1)",
    "bag-of-words": "bag of words",
    "raw": "raw",
}


def training_sample(n_per_class, draw):
    """Balanced training indices, and the mask of all other points."""
    rng = np.random.default_rng([seed, draw])
    train = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), n_per_class, replace=False) for c in (0, 1)]
    )
    train = rng.permutation(train)
    test = np.ones(len(y), dtype=bool)
    test[train] = False
    return train, test


def accuracy(model, table, train, test):
    rows = orbit_of if len(table) == len(orbits) else np.arange(len(y))
    model.fit(table[rows[train]], y[train])
    return np.mean(model.predict(table)[rows][test] == y[test])


# %% [markdown]
# ## Figures 1 and 5: accuracy against training samples
#
# Regularised least squares picks $\lambda$ by leave-one-out; all other sequences are tested on.


# %%
@run.cache
def learning_curves(name, sizes, draws, seed):
    """Accuracies in % of both learners, shape (2, draws, sizes)."""
    scores = np.empty((2, len(draws), len(sizes)))
    for k, draw in enumerate(draws):
        table = representation(name, draw)
        for i, size in enumerate(sizes):
            models = RLSClassifier(), KNeighborsClassifier(1, algorithm="brute")
            sample = training_sample(size, draw)
            scores[:, k, i] = [accuracy(model, table, *sample) for model in models]
    return 100 * scores


curves = {}
for name in LABELS:
    curves["rls", name], curves["1-nn", name] = learning_curves(name, sizes, draws, seed)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
titles = {"rls": "regularised least squares", "1-nn": "nearest neighbour"}
for axis, (learner, title) in zip(axes, titles.items(), strict=True):
    end = {name: curves[learner, name][:, -1].mean() for name in LABELS}
    panel(
        axis,
        sizes,
        {label: (name, curves[learner, name]) for name, label in LABELS.items()},
        log="x",
        ends=None,
        xlabel="training samples per class",
        title=f"{title}: {end['cdf25x25']:.0f} % pooled,\n{end['bag-of-words']:.0f} % from counts of "
        f"letters, {end['raw']:.0f} % from raw sequences",
    )
axes[0].set_ylabel("accuracy on the remaining sequences (%)")
axes[1].legend(loc="lower right")
run.figure(
    fig,
    "accuracy-against-samples",
    caption="Mean over random training samples (and random templates), bars: two standard errors. "
    "The paper's Figures 1 and 5 print curves, and no numbers.",
)
at = sizes.index(shown)
table = {"representation": LABELS.values()}
for learner, column in (("rls", "RLS, %"), ("1-nn", "1-NN, %")):
    table[column] = [f"{mean_se(curves[learner, name][:, at]):.2f}" for name in LABELS]
caption = f"Accuracy at {shown:,} training samples per class, mean and standard error."
run.table(pd.DataFrame(table), "accuracy", caption=caption)

# %% [markdown]
# **What to look for.** The bag of words is invariant and yet has to stay where raw sequences do, for
# want of a nonlinear function of counts: invariance alone is not enough. CDF pooling is invariant
# *and* rich, and approaches the kernel of its limit as templates are added.


# %%
def at_every_size(learner):
    """Accuracy in % of every representation at every size drawn, by name and size."""
    return {
        f"{name} at {n}": curves[learner, name][:, i]
        for name in LABELS
        for i, n in enumerate(sizes)
    }


order = []
for n in sizes:
    order += [
        f"haar at {n} >= cdf25x25 at {n} > cdf25x10 at {n} > cdf25x1 at {n}",
        f"cdf25x25 at {n} > raw at {n}",
        f"cdf25x25 at {n} > bag-of-words at {n}",
    ]
run.claim(
    "mroueh2015/fig1-rls-order",
    order=order,
    scores=at_every_size("rls"),
    paired=True,
    level=0.5,
    note=f"at {shown:,} samples per class CDF(25, 25) stays "
    f"{(curves['rls', 'haar'] - curves['rls', 'cdf25x25'])[:, at].mean():.2f} points below the Haar "
    "kernel",
)

# %% [markdown]
# Nearest neighbours need no linear separation, only that an orbit lies close to its like. "With
# enough templates and bins", says the caption, the features outperform raw sequences and the bag of
# words; its legend shows one template. The bag of words has a handicap: many bags are at equal
# distance, one or two swapped letters away, which costs more with more sequences.

# %%
nearest = at_every_size("1-nn")
for name in ("cdf25x25", "bag-of-words", "raw"):
    found = learning_curves(name, sizes[:2], more, seed)[1]
    nearest |= {f"{name} at {n}": values for n, values in zip(sizes, found.T, strict=False)}
run.claim(
    "mroueh2015/fig1-knn-order",
    order=[f"cdf25x25 at {n} > {other} at {n}" for n in sizes for other in ("bag-of-words", "raw")],
    scores=nearest,
    paired=True,
)

# %% [markdown]
# ## Figure 4, left: what if only some group elements are known?
#
# Now the templates are moved by $r$ permutations drawn at random instead of all 120. The features
# are then invariant only in the limit, and every sequence needs features of its own.


# %%
@run.cache
def element_scores(element_counts, repetitions, per_class, n_test, seed):
    """Accuracies of shape (repetitions, element counts), CDF(25, 25)."""
    scores = np.empty((repetitions, len(element_counts)))
    for draw in range(repetitions):
        train, test = training_sample(per_class, draw)
        test = np.random.default_rng([seed, draw]).permutation(np.flatnonzero(test))[:n_test]
        for i, n_transforms in enumerate(element_counts):
            features = GroupCDF(group, 25, n_bins=25, n_transforms=n_transforms, random_state=draw)
            Z = features.fit(X[:1]).transform(X[train])
            model = RLSClassifier().fit(Z, y[train])
            scores[draw, i] = model.score(features.transform(X[test]), y[test])
    return scores


elements = 100 * element_scores(element_counts, element_repetitions, per_class, n_test, seed)

# %% [markdown]
# ## Figure 4, right: templates or bins?
#
# With all 120 elements, how should a budget of features be spent? The paper trains on 2,000
# points per class and tests on the other 28,768; so do we.


# %%
@run.cache
def grid_scores(template_counts, bin_counts, repetitions, seed):
    """Accuracies of shape (repetitions, bins, templates), 2,000 training points per class."""
    scores = np.empty((repetitions, len(bin_counts), len(template_counts)))
    for draw in range(repetitions):
        sample = training_sample(2000, draw)
        for i, n_bins in enumerate(bin_counts):
            for j, n_templates in enumerate(template_counts):
                table = cdf_table(n_bins, n_templates, draw)
                scores[draw, i, j] = accuracy(RLSClassifier(), table, *sample)
    return scores


grid = 100 * grid_scores(template_counts, bin_counts, grid_repetitions, seed)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2))
mean = curve(axes[0], element_counts, elements, "group")
axes[0].set(
    xscale="log",
    xlabel=f"sampled group elements ({per_class:,} training samples per class)",
    ylabel="accuracy (%)",
    title=f"{element_counts[0]} to {element_counts[-1]} elements: {mean[0]:.0f} to {mean[-1]:.0f} %",
)
ticks(axes[0], element_counts)
few, many = grid[:, -1, 0].mean(), grid[:, -1, -1].mean()
panel(
    axes[1],
    template_counts,
    family("cdf", {f"bins: {n}": grid[:, i] for i, n in enumerate(bin_counts)}),
    log="x",
    ends=None,
    xlabel=f"templates (all {group.order} elements, 2,000 training samples per class)",
    ylabel="accuracy (%)",
    title=f"{template_counts[0]} to {template_counts[-1]} templates: {few:.0f} to {many:.0f} % "
    f"with {bin_counts[-1]} bins",
)
axes[1].legend()
run.figure(
    fig,
    "elements-templates-bins",
    caption="The paper's Figure 4, which prints curves and no numbers. Mean and two standard errors "
    "over draws of templates, group elements and training samples.",
)

# %% [markdown]
# Elements are drawn with replacement: 120 draws reach about 76 of the 120 permutations. To see
# whether templates are worth more than bins, compare five with five, and one with 25.

# %%
names = [f"{r} elements" for r in element_counts]
run.claim(
    "mroueh2015/fig4-group-elements",
    order=" > ".join(reversed(names)),
    scores={name: elements[:, i] for i, name in enumerate(names)},
    paired=True,
    note=f"half as many sampled elements as the group has cost "
    f"{(elements[:, -1] - elements[:, -2]).mean():.2f} points",
)

three = (25, 5, 1)
run.claim(
    "mroueh2015/fig4-templates-bins",
    order=[" > ".join(f"{n} bins x {m}" for n in three) for m in three]
    + [" > ".join(f"{n} bins x {m}" for m in three) for n in three],
    scores={
        f"{n} bins x {m}": grid[:, i, j]
        for i, n in enumerate(bin_counts)
        for j, m in enumerate(template_counts)
        if n in three and m in three
    },
    paired=True,
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/xperm -p group "cyclic shifts"`: a smaller group has more orbits, and needs
# more samples for the same accuracy. Or let the label depend on order.
