# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Planted symmetries: how often is the right group found?
#
# A function of six numbers in a ring may be the same after a shift by one place, or only by two, or by
# three, or never. `find_symmetry` compares the model with each group to the models with its subgroups,
# on points left out, and names the largest group that the data support, or no group. In this notebook
# groups are planted, a thousand times over: how often is the planted group found, and how often does a
# wrong group pass? Wrong groups hardly ever pass, and with enough points the planted group is found.
#
# A second source of evidence is spectral averaging itself, by an F test. The F test *refutes* groups; a
# group that it does not refute may be true or merely undetected. `find_symmetry` *supports* groups; a
# group that it does not support may be true as well. If both agree, the symmetry is known.
#
# *Efficient Learning and Symmetry Discovery under Exact Invariances* (COLT 2026, PMLR 336) announces
# that finding a symmetry takes as many samples as learning with the group known. We could not get its
# text; we measure our own procedure by that standard.
#
# ## The protocol
#
# - A function is a random combination of the eigenfunctions of a torus or a sphere up to a degree,
#   coefficients normal with variance falling as $(1 + \lambda)^{-2}$, projected on the invariants of the
#   planted group, of mean zero and variance one. It is drawn again until every wrong group leaves a
#   tenth of its variance outside its invariants. Points are uniform, noise is normal with standard
#   deviation 0.5, and every draw has its own function.
# - The model is `RLSRegressor` on the eigenfunctions; with a group, on its invariant functions. Its
#   penalty comes from leave-one-out.
# - Ring: 1,000 draws at each of five sizes, for each of three planted groups. The other lattices: 100
#   draws at two sizes. *Recovery* is the share of draws whose answer is the planted group. *False
#   inclusion* is the share in which any group is supported that changes the planted function.
# - The margin is 5 % (of the absolute error); a second curve has no margin. Both were chosen before, in
#   trials on fifty draws of degree three from other seeds.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1  # trials had others
noise: float = 0.5  # standard deviation, beside one of the function

# %%
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse, stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from invariance.beyond import Rotations3D, find_symmetry
from invariance.companion import Run, colour, mean_se, panel
from invariance.groups import (
    CyclicShifts,
    GeneratedPermutations,
    Negation,
    OrthogonalMatrices,
    Permutations,
    SignFlips,
)
from invariance.linear import RLSRegressor
from invariance.spectral import Sphere, Torus, invariant_subspace

run = Run("beyond/which_symmetry", profile=profile, seed=seed, noise=noise)

# %% tags=["settings"]
MARGIN = 0.05  # of the error
MIN_OUTSIDE = 0.1  # of the function's variance, for every wrong group
ERROR_LEVEL = 0.05  # of the function's variance
if run.quick:
    N_MANY = 4
    N_SOME = 3
    N_FEW = 2
    SIZES = (50, 100)
    SIZES_OF_OTHERS = (100,)
else:
    N_MANY = 1000  # draws on the ring
    N_SOME = 200  # draws without margin and for the F test
    N_FEW = 100  # draws of the other lattices
    SIZES = (50, 100, 200, 400, 800)
    SIZES_OF_OTHERS = (100, 400)

# %% [markdown]
# ## Four lattices
#
# The ring has shifts by three places (C2), by two (C3), by one (C6), and reflections too (D6). The
# other lattices are orders of six numbers within blocks, signs, and rotations of a sphere, some of them
# about an axis (up to degree eight, the invariants of a seventeenth of a turn are those of all turns).
# The rotations about the axis include quarter turns, so their invariants are among theirs.


# %%
def orders(*cycles):
    """Return the group of orders of six numbers that some cycles generate."""
    permutations = []
    for cycle in cycles:
        permutation = np.arange(6)
        permutation[list(cycle)] = np.roll(cycle, -1)
        permutations.append(permutation.tolist())
    return GeneratedPermutations(permutations)


# %%
def turns(*parts):
    """Return the rotations about the third axis that these parts of a turn generate."""
    matrices = []
    for part in parts:
        cosine = np.cos(2 * np.pi / part)
        sine = np.sin(2 * np.pi / part)
        matrices.append([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    return OrthogonalMatrices(matrices)


# %%
GROUPS = {
    "ring": {
        "C2": GeneratedPermutations([[3, 4, 5, 0, 1, 2]]),
        "C3": GeneratedPermutations([[2, 3, 4, 5, 0, 1]]),
        "C6": CyclicShifts(6),
        "D6": GeneratedPermutations([[1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0]]),
    },
    "orders": {
        "pairs": orders((0, 1), (2, 3), (4, 5)),
        "halves": orders((0, 1), (0, 1, 2), (3, 4), (3, 4, 5)),
        "four and two": orders((0, 1), (0, 1, 2, 3), (4, 5)),
        "all": Permutations(6),
    },
    "signs": {
        "together": Negation(),
        "of three": SignFlips(3).on_columns([0, 1, 2]),
        "of all": SignFlips(6),
    },
    "sphere": {
        "half": turns(2),
        "quarter": turns(4),
        "axis": turns(17, 4),
        "all": Rotations3D(),
    },
}

# %% [markdown]
# `invariant_subspace` finds a group's invariants. H is a subgroup of G if the invariants of G are among
# those of H.


# %%
@dataclass(frozen=True)
class Lattice:
    """A basis of functions, invariant subspaces by group, and the subgroups of each group."""

    basis: object
    subspaces: dict
    subgroups: dict


# %%
def lattice_of(basis, groups):
    subspaces = {}
    for name, group in groups.items():
        parts = invariant_subspace(basis, group)
        subspaces[name] = sparse.block_diag(parts).toarray()
    subgroups = {}
    for name, V in subspaces.items():
        subgroups[name] = []
        for smaller, W in subspaces.items():
            if smaller != name and np.allclose(W @ (W.T @ V), V):
                subgroups[name].append(smaller)
    return Lattice(basis, subspaces, subgroups)


# %%
LATTICES = {}
for name, groups in GROUPS.items():
    basis = Sphere(3, degree=8) if name == "sphere" else Torus(6, degree=2)
    LATTICES[name] = lattice_of(basis, groups)


# %%
rows = []
for name, lattice in LATTICES.items():
    for group_name, V in lattice.subspaces.items():
        row = {
            "lattice": name,
            "group": group_name,
            "contains": ", ".join(lattice.subgroups[group_name]) or "no other",
            "invariants": f"{V.shape[1]} of {len(V)}",
        }
        rows.append(row)
run.table(rows, "lattices")


# %% [markdown]
# ## One sample
#
# A draw has its own function, whose coefficients are projected on the invariants of the planted group.


# %%
def right_groups(name, planted):
    """Return the planted group and its subgroups."""
    return {planted, *LATTICES[name].subgroups.get(planted, ())}


def random_coefficients(name, planted, rng):
    """Return coefficients of a function that is invariant under the planted group."""
    lattice = LATTICES[name]
    labels = np.repeat(lattice.basis.labels_, lattice.basis.dimensions_).astype(float)
    coefficients = rng.standard_normal(len(labels)) / (1 + labels)
    if planted in lattice.subspaces:
        V = lattice.subspaces[planted]
        coefficients = V @ (V.T @ coefficients)
    coefficients[0] = 0.0
    return coefficients / np.linalg.norm(coefficients)


# %%
def draw(name, planted, n, number):
    """Return values of the eigenfunctions at n points, noisy values, and coefficients."""
    lattice = LATTICES[name]
    rng = np.random.default_rng((seed, number, n))
    right = right_groups(name, planted)
    wrong_subspaces = [V for group, V in lattice.subspaces.items() if group not in right]
    is_far = False
    while not is_far:
        coefficients = random_coefficients(name, planted, rng)
        outside = [1 - np.sum((V.T @ coefficients) ** 2) for V in wrong_subspaces]
        is_far = min(outside, default=1.0) >= MIN_OUTSIDE
    points = lattice.basis.sample(n, rng.integers(2**31))
    Phi = lattice.basis.evaluate(points)
    y = Phi @ coefficients + noise * rng.standard_normal(n)
    return Phi, y, coefficients


# %% [markdown]
# `build` makes the model with a group: a projection on its invariants in front of the learner. The rest
# is one call.


# %%
def search(name, Phi, y, margin=MARGIN):
    """Return the result of `find_symmetry` among a lattice's groups."""
    lattice = LATTICES[name]
    names = {id(group): group_name for group_name, group in GROUPS[name].items()}

    def build(model, group):
        V = lattice.subspaces[names[id(group)]]
        projection = FunctionTransformer(lambda values: values @ V)
        return make_pipeline(projection, model)

    return find_symmetry(
        RLSRegressor(),
        GROUPS[name],
        Phi,
        y,
        build=build,
        parents=lattice.subgroups,
        margin=margin,
    )


# %%
shown_size = SIZES[min(2, len(SIZES) - 1)]
Phi, y, _ = draw("ring", "C6", shown_size, 0)
example = search("ring", Phi, y)
print(example)


# %% [markdown]
# The figure draws the lattice of the ring, with the verdict on each group.

# %%
POSITIONS = {"no group": (1, 0), "C2": (0, 1), "C3": (2, 1), "C6": (1, 2), "D6": (1, 3)}
SHADES = {"supported": "haar", "refuted": "raw", "the data do not tell": "bag-of-words"}


def largest_subgroups(group):
    """Return the subgroups of a group of the ring that lie in no larger subgroup."""
    subgroups = LATTICES["ring"].subgroups
    smaller = set()
    for subgroup in subgroups[group]:
        smaller.update(subgroups[subgroup])
    return [name for name in subgroups[group] if name not in smaller] or ["no group"]


# %%
def draw_lattice(axis, result):
    for group in GROUPS["ring"]:
        for subgroup in largest_subgroups(group):
            x, y = np.transpose([POSITIONS[group], POSITIONS[subgroup]])
            axis.plot(x, y, color=colour("bound"), lw=0.6, zorder=0)
    plain = result["C3"]
    if result["C2"]["over"] == "no group":
        plain = result["C2"]
    words = {"no group": f"no group\nerror {plain['without']:.2f}"}
    edges = {"no group": colour("bound")}
    for group in GROUPS["ring"]:
        row = result[group]
        words[group] = f"{group}: {row['verdict']}\nerror {row['error']:.2f}"
        edges[group] = colour(SHADES[row["verdict"]])
    for group, (x, y) in POSITIONS.items():
        box = {"boxstyle": "round", "fc": "white", "ec": edges[group], "lw": 2}
        axis.text(x, y, words[group], ha="center", va="center", bbox=box)


# %%
fig, axis = plt.subplots(figsize=(6, 3.8))
draw_lattice(axis, example)
axis.set(xlim=(-0.8, 2.8), ylim=(-0.4, 3.4))
axis.set_title(
    f"From {shown_size} points with C6 planted the search finds {example.best or 'no group'}"
)
axis.set_axis_off()
run.figure(
    fig,
    "lattice",
    alt=f"The lattice of groups of a ring; {example}".replace("\n", "; ").replace("->", "to"),
    caption="Absolute errors on points left out. Lines join a group with its largest subgroups.",
)

# %% [markdown]
# ## A thousand samples
#
# A group is wrong if it is not a subgroup of the planted one.


# %%
@run.cache
def searches(name, planted, n, n_draws, margin):
    """Return the answer, the supported groups and the refuted groups of each draw."""
    results = []
    for number in range(n_draws):
        Phi, y, _ = draw(name, planted, n, number)
        result = search(name, Phi, y, margin=margin)
        supported = [row["group"] for row in result.rows if row["verdict"] == "supported"]
        refuted = [row["group"] for row in result.rows if row["verdict"] == "refuted"]
        results.append((result.best or "nothing", supported, refuted))
    return results


# %%
@dataclass(frozen=True)
class Rates:
    """Per draw 0 or 100: planted group found, wrong group supported, right group refuted."""

    recovery: np.ndarray
    false_inclusion: np.ndarray
    false_refutation: np.ndarray


# %%
def rates(name, planted, n, n_draws, margin=MARGIN):
    right = right_groups(name, planted)
    recovery = []
    false_inclusion = []
    false_refutation = []
    for best, supported, refuted in searches(name, planted, n, n_draws, margin):
        recovery.append(100 * (best == planted))
        false_inclusion.append(100 * (not right >= set(supported)))
        false_refutation.append(100 * bool(right & set(refuted)))
    return Rates(np.array(recovery), np.array(false_inclusion), np.array(false_refutation))


# %%
PLANTED = ("nothing", "C2", "C6")
ring = {}
for planted in PLANTED:
    ring[planted] = [rates("ring", planted, n, N_MANY) for n in SIZES]
without_margin = [rates("ring", "C6", n, N_SOME, margin=0.0) for n in SIZES]

# %% [markdown]
# ## The evidence of spectral averaging
#
# With values $y = \Phi c + \varepsilon$ at n points, normal noise, and more points than functions, least
# squares gives $\hat c$. The share of the estimate outside the invariants of G,
# $|\hat c - P_G \hat c|^2 / |\hat c|^2$, is noise alone if f is invariant; relative to the noise it is
#
# $$F_G = \frac{(\mathrm{RSS}_G - \mathrm{RSS}) / (D - r_G)}{\mathrm{RSS} / (n - D)}
# \sim F(D - r_G,\ n - D) ,$$
#
# exactly, for D functions of which $r_G$ are invariant: at uniform points
# $\mathrm{RSS}_G - \mathrm{RSS} \approx n\, |\hat c - P_G \hat c|^2$. All groups are tested at once
# (Holm), and the answer is the largest group that is not refuted.


# %%
def residual_squares(Phi, y):
    """Return the sum of squared residuals of least squares, and the coefficients."""
    coefficients = np.linalg.lstsq(Phi, y)[0]
    return np.sum((y - Phi @ coefficients) ** 2), coefficients


# %%
def f_tests(Phi, y, subspaces):
    """Return by group the share of the estimate's norm outside the invariants, and p-values."""
    n, D = Phi.shape
    rss, coefficients = residual_squares(Phi, y)
    shares = {}
    p_values = {}
    for group, V in subspaces.items():
        rss_of_group, _ = residual_squares(Phi @ V, y)
        outside = coefficients - V @ (V.T @ coefficients)
        n_restrictions = D - V.shape[1]
        F = (rss_of_group - rss) / n_restrictions / (rss / (n - D))
        shares[group] = np.sum(outside**2) / np.sum(coefficients**2)
        p_values[group] = stats.f.sf(F, n_restrictions, n - D)
    return shares, p_values


# %%
def not_refuted(p_values):
    """Return the groups that Holm's method does not refute at the level of 5 %."""
    order = sorted(p_values, key=p_values.get)
    for i, group in enumerate(order):
        if p_values[group] * (len(order) - i) > 0.05:
            return order[i:]
    return []


# %%
@run.cache
def evidence(planted, n, n_draws):
    """Return shares outside, the answer, and whether the planted group is refuted, by draw."""
    subspaces = LATTICES["ring"].subspaces
    results = []
    for number in range(n_draws):
        Phi, y, _ = draw("ring", planted, n, number)
        shares, p_values = f_tests(Phi, y, subspaces)
        remaining = not_refuted(p_values)
        best = min(remaining, key=lambda group: subspaces[group].shape[1], default="nothing")
        results.append((list(shares.values()), best, planted not in remaining))
    return results


n_functions = len(LATTICES["ring"].subspaces["C6"])
LONG_SIZES = [n for n in SIZES if n > 1.3 * n_functions]
spectral = {planted: [evidence(planted, n, N_SOME) for n in LONG_SIZES] for planted in PLANTED}


# %% [markdown]
# ## The cost of finding it
#
# We compare the squared error of the function (its variance is one) with the group known, with the
# group that was found, and without a group.


# %%
def squared_error(V, Phi, y, coefficients):
    """Return the squared error of the model on the functions of V, but for the mean."""
    model = RLSRegressor().fit(Phi @ V, y)
    errors = V @ model.coef_.ravel() - coefficients
    return np.sum(errors[1:] ** 2)


# %%
@run.cache
def errors(planted, n, n_draws):
    """Return squared errors without a group, with the found and with the planted group."""
    subspaces = LATTICES["ring"].subspaces
    answers = searches("ring", planted, n, N_MANY, MARGIN)
    results = []
    for number in range(n_draws):
        Phi, y, coefficients = draw("ring", planted, n, number)
        everything = np.eye(len(coefficients))
        best, _, _ = answers[number]
        row = []
        for group in ("nothing", best, planted):
            V = subspaces.get(group, everything)
            row.append(squared_error(V, Phi, y, coefficients))
        results.append(row)
    return results


costs = np.array([errors("C6", n, N_SOME) for n in SIZES])  # (sizes, draws, 3)


# %%
def crossing(curve, level):
    """Return the size at which a curve first rises to a level, interpolated, or NaN."""
    reached = np.flatnonzero(np.array(curve) >= level)
    if not len(reached):
        return np.nan
    around = slice(max(reached[0] - 1, 0), reached[0] + 1)
    return np.exp(np.interp(level, curve[around], np.log(SIZES[around])))


# %% [markdown]
# The first figure shows how often the planted group is the answer; its title says how often a wrong
# group is supported.


# %%
recovery = [rates_of_size.recovery for rates_of_size in ring["C6"]]
mean_recovery = [values.mean() for values in recovery]
f_recovery = []
for results in spectral["C6"]:
    f_recovery.append([100 * (best == "C6") for _, best, _ in results])
recovery_curves = {
    "5 % margin": ("haar", np.transpose(recovery)),
    "no margin": ("average-fit", np.transpose([r.recovery for r in without_margin])),
    "F test": ("spec-avg", np.transpose(f_recovery), {"ls": ":", "x": LONG_SIZES}),
}
most_inclusions = 0.0
for planted in PLANTED:
    inclusions = np.array([r.false_inclusion for r in ring[planted]])
    most_inclusions = max(most_inclusions, inclusions.mean(axis=1).max())

# %%
fig, axis = plt.subplots(figsize=(7.4, 4.2))
panel(axis, SIZES, recovery_curves, log="x", xlabel="points")
axis.set(ylabel="samples in which C6 is the answer (%)", ylim=(-3, 105))
best_size = SIZES[int(np.argmax(mean_recovery))]
if most_inclusions:
    wrong = f"a wrong group passes in at most {most_inclusions:.1f} %"
else:
    wrong = "no wrong group was ever accepted"
axis.set_title(
    f"The search finds C6 in {max(mean_recovery):.0f} % of samples of {best_size} points,\nand {wrong}"
)
run.figure(
    fig,
    "recovery",
    caption=f"The ring, {N_MANY:,} draws ({N_SOME} without margin and for the F test), bars: two "
    "standard errors. Wrong groups are counted in samples with no group, C2 or C6 planted. The F test "
    "needs more points than functions.",
)

# %%
cost_curves = {
    "no group": ("raw", costs[:, :, 0].T),
    "group found": ("haar", costs[:, :, 1].T),
    "group known": ("spec-avg", costs[:, :, 2].T),
}
last_costs = costs[-1].mean(axis=0)
shares = np.array([[share for share, _, _ in results] for results in spectral["C6"]])
last_shares = 100 * shares[-1].mean(axis=0)
HUES = {"C2": "templates", "C3": "samples", "C6": "haar", "D6": "raw"}
share_curves = {}
for i, group in enumerate(GROUPS["ring"]):
    share_curves[group] = (HUES[group], 100 * shares[:, :, i].T)

fig, axes = plt.subplots(1, 2, figsize=(9, 4))
panel(axes[0], SIZES, cost_curves, log="xy", xlabel="points")
axes[0].set_ylabel("squared error (function: 1)")
axes[0].set_title(
    f"At {SIZES[-1]} points the error is {last_costs[0]:.3f} without a group, "
    f"{last_costs[1]:.3f} with the one found"
)
panel(axes[1], LONG_SIZES, share_curves, log="x", xlabel="points")
axes[1].set_ylabel("share of the estimate outside invariants (%)")
axes[1].set_title(
    f"Of an estimate for C6 {last_shares[2]:.1f} % lie outside C6, {last_shares[3]:.1f} % outside D6"
)
run.figure(
    fig,
    "cost",
    caption=f"{N_SOME} draws, bars: two standard errors. Left: the cost of finding the group. Right: "
    "the evidence of spectral averaging; the share outside the invariants of right groups is noise.",
)

# %%
mean_costs = costs.mean(axis=1)
points_without, points_found, points_known = (
    crossing(-mean_costs[:, i], -ERROR_LEVEL) for i in range(3)
)
points_recovered = crossing(mean_recovery, 90)
run.say(
    "A squared error of a twentieth of the function's variance takes {known:.0f} points with the group "
    "known, {found:.0f} with the group found ({more:.1f} times as many) and {plain:.0f} without a group. "
    "The planted group is the answer in 90 % of samples of {recovered:.0f} points, {ratio:.1f} times as "
    "many as with the group known (nan: not reached).",
    known=points_known,
    found=points_found,
    more=points_found / points_known,
    plain=points_without,
    recovered=points_recovered,
    ratio=points_recovered / points_known,
)

# %%
n_c3 = LATTICES["ring"].subspaces["C3"].shape[1]
n_c6 = LATTICES["ring"].subspaces["C6"].shape[1]
run.say(
    "Without a margin it is the answer in at most {most:.1f} % of samples of any size: C6 frees C3 of "
    "{few} functions of {all}.",
    most=max(r.recovery.mean() for r in without_margin),
    few=n_c3 - n_c6,
    all=n_functions,
)
refutations = []
for planted in PLANTED:
    refutations += [r.false_refutation.mean() for r in ring[planted]]
f_refutations = []
for planted in ("C2", "C6"):
    for results in spectral[planted]:
        f_refutations.append(100 * np.mean([is_refuted for _, _, is_refuted in results]))
run.say(
    "A right group is refuted in at most {refuted:.1f} % of samples, by the F test in {f:.1f} %.",
    refuted=max(refutations),
    f=max(f_refutations),
)

# %% [markdown]
# ## Other lattices
#
# The same search on the three other lattices, with two planted groups each.

# %%
CASES = [
    ("orders", "halves"),
    ("orders", "all"),
    ("signs", "together"),
    ("signs", "of all"),
    ("sphere", "quarter"),
    ("sphere", "axis"),
]
rows = []
for name, planted in CASES:
    row = {"lattice": name, "planted": planted}
    for n in SIZES_OF_OTHERS:
        rates_of_case = rates(name, planted, n, N_FEW)
        row[f"found (%), n = {n}"] = f"{mean_se(rates_of_case.recovery):.0f}"
        row[f"wrong (%), n = {n}"] = f"{mean_se(rates_of_case.false_inclusion):.0f}"
    rows.append(row)
run.table(rows, "others", caption=f"{N_FEW} draws, margin 5 %, mean and standard error.")

# %% [markdown]
# ## Limits
#
# No test can distinguish an exact symmetry from one that is broken by less than the noise: with a margin,
# a supported group is a symmetry up to the margin, and without one, it helps the model. Planted functions
# in this notebook are either invariant or a tenth of their variance away from it.
#
# ## Try it
#
# `invariance run beyond/which_symmetry -p noise 1.0`: with twice the noise more points are needed,
# and the answer is "no group" for longer, not a wrong group.
