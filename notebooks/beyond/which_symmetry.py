# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which symmetry is there?
#
# Six numbers in a ring, and a function of them. Is it the same after a shift by one place, or only by
# two, or by three, or never? `find_symmetry` compares the model with each group to the models with the
# groups inside it, on points left out, and names the largest group that the data support, or none.
# Here groups are planted, a thousand times over: how often is the planted one found, and how often
# does a wrong one pass?
#
# Beside it stands the evidence of spectral averaging itself, an F test. It *refutes* groups; what it
# lets stand may be true or merely unseen. `find_symmetry` *supports* them; what it leaves out may be
# true as well. Where both meet, the symmetry is known.
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
# - The margin is 5 % (of the absolute error); none is the other curve. Both were settled before, in
#   trials on fifty draws of degree three from other seeds.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1  # trials had others
noise: float = 0.5  # standard deviation, beside one of the function

# %%
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
# all that differs between the two profiles
MANY, SOME, FEW = (4, 3, 2) if run.quick else (1000, 200, 100)
SIZES = (50, 100) if run.quick else (50, 100, 200, 400, 800)
OTHERS = (100,) if run.quick else (100, 400)
MARGIN, FAR, LEVEL = 0.05, 0.1, 0.05  # of the error; of the variance, twice


# %% [markdown]
# ## Four lattices
#
# The ring: shifts by three places (C2), by two (C3), by one (C6), and reflections too (D6). Orders of
# six numbers, within blocks. Signs. Rotations of a sphere, some of them about an axis (up to degree
# eight, the invariants of a seventeenth of a turn are those of all turns).


# %%
def orders(*cycles):
    """The group of orders of six numbers that some cycles generate."""
    lines = np.tile(np.arange(6), (len(cycles), 1))
    for line, cycle in zip(lines, cycles, strict=True):
        line[list(cycle)] = np.roll(cycle, -1)
    return GeneratedPermutations(lines.tolist())


def turns(*parts):
    """Rotations about the third axis that these parts of a turn generate."""
    angles = [(np.cos(2 * np.pi / k), np.sin(2 * np.pi / k)) for k in parts]
    return OrthogonalMatrices([[[c, -s, 0], [s, c, 0], [0, 0, 1]] for c, s in angles])


RING, REFLECTED = [1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0]
GROUPS = {
    "ring": {
        "C2": GeneratedPermutations([[3, 4, 5, 0, 1, 2]]),
        "C3": GeneratedPermutations([[2, 3, 4, 5, 0, 1]]),
        "C6": CyclicShifts(6),
        "D6": GeneratedPermutations([RING, REFLECTED]),
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
    # the axis holds quarter turns too: its invariants are among theirs
    "sphere": {"half": turns(2), "quarter": turns(4), "axis": turns(17, 4), "all": Rotations3D()},
}
BASES = dict.fromkeys(GROUPS, Torus(6, degree=2)) | {"sphere": Sphere(3, degree=8)}


# %% [markdown]
# A group's invariants are what `invariant_subspace` finds; H is inside G where the invariants of G
# are among those of H.


# %%
def lattice_of(basis, groups):
    """Invariant subspaces by name, and the groups inside each."""
    found = {
        k: sparse.block_diag(invariant_subspace(basis, g)).toarray() for k, g in groups.items()
    }
    inside = {
        k: [h for h in found if h != k and np.allclose(found[h] @ (found[h].T @ V), V)]
        for k, V in found.items()
    }
    return found, inside


SUBSPACES, INSIDE = {}, {}
for name, groups in GROUPS.items():
    SUBSPACES[name], INSIDE[name] = lattice_of(BASES[name], groups)
run.table(
    [
        {
            "lattice": name,
            "group": k,
            "contains": ", ".join(INSIDE[name][k]) or "no other",
            "invariants": f"{V.shape[1]} of {len(V)}",
        }
        for name, found in SUBSPACES.items()
        for k, V in found.items()
    ],
    "lattices",
)


# %% [markdown]
# ## One sample
#
# `build` says what the model with a group is. The rest is one call.


# %%
def right_groups(name, planted):
    """The planted group and those inside it."""
    return {planted, *INSIDE[name].get(planted, ())}


def draw(name, planted, n, number):
    """Values of the eigenfunctions at n points, noisy values of a function, its coefficients."""
    basis, rng = BASES[name], np.random.default_rng((seed, number, n))
    labels = np.repeat(basis.labels_, basis.dimensions_).astype(float)
    found, outside = SUBSPACES[name], [0.0]
    wrong = [V for k, V in found.items() if k not in right_groups(name, planted)]
    while min(outside, default=1.0) < FAR:
        c = rng.standard_normal(len(labels)) / (1 + labels)
        c = found[planted] @ (found[planted].T @ c) if planted in found else c
        c[0] = 0.0
        c /= np.linalg.norm(c)
        outside = [1 - np.sum((V.T @ c) ** 2) for V in wrong]
    Phi = basis.evaluate(basis.sample(n, rng.integers(2**31)))
    return Phi, Phi @ c + noise * rng.standard_normal(n), c


def search(name, Phi, y, **how):
    """`find_symmetry` among a lattice's groups."""
    subspaces = {id(group): SUBSPACES[name][k] for k, group in GROUPS[name].items()}

    def build(model, group):
        V = subspaces[id(group)]
        return make_pipeline(FunctionTransformer(lambda values: values @ V), model)

    how = {"parents": INSIDE[name], "margin": MARGIN} | how
    return find_symmetry(RLSRegressor(), GROUPS[name], Phi, y, build=build, **how)


shown = SIZES[min(2, len(SIZES) - 1)]
Phi, y, _ = draw("ring", "C6", shown, 0)
found = search("ring", Phi, y)
print(found)

# %%
PLACES = {"no group": (1, 0), "C2": (0, 1), "C3": (2, 1), "C6": (1, 2), "D6": (1, 3)}
SHADES = {"supported": "haar", "refuted": "raw", "the data do not tell": "bag-of-words"}
fig, axis = plt.subplots(figsize=(6, 3.8))
plain = found["C2"] if found["C2"]["over"] == "no group" else found["C3"]
axis.text(*PLACES["no group"], f"no group\nerror {plain['without']:.2f}", ha="center", va="center")
for k, inside in INSIDE["ring"].items():
    for other in inside or ["no group"]:
        if not any(other in INSIDE["ring"][mid] for mid in inside):
            ends = np.transpose([PLACES[k], PLACES[other]])
            axis.plot(*ends, color=colour("bound"), lw=0.6, zorder=0)
    row = found[k]
    words = f"{k}: {row['verdict']}\nerror {row['error']:.2f}"
    box = {"boxstyle": "round", "fc": "white", "ec": colour(SHADES[row["verdict"]]), "lw": 2}
    axis.text(*PLACES[k], words, ha="center", va="center", bbox=box)
axis.texts[0].set_bbox({"boxstyle": "round", "fc": "white", "ec": colour("bound")})
axis.set(xlim=(-0.8, 2.8), ylim=(-0.4, 3.4))
axis.set_title(f"{shown} points, C6 planted, found: {found.best}")
axis.set_axis_off()
run.figure(
    fig,
    "lattice",
    alt=f"The lattice of groups of a ring; {found}".replace("\n", "; ").replace("->", "to"),
    caption="Absolute errors on points left out. Lines join a group with the largest inside it.",
)

# %% [markdown]
# ## A thousand samples
#
# A group is wrong where it is not inside the planted one.


# %%
@run.cache
def searches(name, planted, n, draws, how):
    """Answers and supported groups, draw by draw."""
    found = []
    for number in range(draws):
        Phi, y, _ = draw(name, planted, n, number)
        one = search(name, Phi, y, **how)
        passed = [row["group"] for row in one.rows if row["verdict"] == "supported"]
        refuted = [row["group"] for row in one.rows if row["verdict"] == "refuted"]
        found.append((one.best or "nothing", passed, refuted))
    return found


def rates(name, planted, found):
    """Shares (%) of draws with the planted group as answer, a wrong one in, a right one refuted."""
    right = right_groups(name, planted)
    return 100 * np.transpose(
        [[best == planted, not right >= set(passed), bool(right & set(refuted))]
         for best, passed, refuted in found]
    )  # fmt: skip


PLANTED = ("nothing", "C2", "C6")
ring = {
    planted: [rates("ring", planted, searches("ring", planted, n, MANY, {})) for n in SIZES]
    for planted in PLANTED
}
strict = [rates("ring", "C6", searches("ring", "C6", n, SOME, {"margin": 0.0})) for n in SIZES]

# %% [markdown]
# ## What spectral averaging says
#
# With values $y = \Phi c + \varepsilon$ at n points, normal noise, and more points than functions, least
# squares gives $\hat c$. The share of the estimate outside the invariants of G,
# $|\hat c - P_G \hat c|^2 / |\hat c|^2$, is noise alone if f is invariant; beside the noise it is
#
# $$F_G = \frac{(\mathrm{RSS}_G - \mathrm{RSS}) / (D - r_G)}{\mathrm{RSS} / (n - D)}
# \sim F(D - r_G,\ n - D) ,$$
#
# exactly, for D functions of which $r_G$ are invariant: at uniform points
# $\mathrm{RSS}_G - \mathrm{RSS} \approx n\, |\hat c - P_G \hat c|^2$. All groups are tested at once
# (Holm), and the answer is the largest that is not refuted.


# %%
def f_tests(Phi, y, subspaces):
    """By group, the share of the estimate's norm outside the invariants, and the p-value."""
    n, D = Phi.shape
    c = np.linalg.lstsq(Phi, y)[0]
    rss, found = np.sum((y - Phi @ c) ** 2), {}
    for k, V in subspaces.items():
        own = np.sum((y - Phi @ (V @ np.linalg.lstsq(Phi @ V, y)[0])) ** 2)
        p = D - V.shape[1]
        outside = np.sum((c - V @ (V.T @ c)) ** 2) / np.sum(c**2)
        found[k] = outside, stats.f.sf((own - rss) / p / (rss / (n - D)), p, n - D)
    return found


def standing(found):
    """Groups that Holm's method does not refute."""
    order = sorted(found, key=lambda k: found[k][1])
    refuted = [found[k][1] * (len(order) - i) <= 0.05 for i, k in enumerate(order)]
    return order[refuted.index(False) if False in refuted else len(order) :]


@run.cache
def evidence(planted, n, draws):
    """Draw by draw: shares outside, the answer, and whether the planted group is refuted."""
    subspaces, kept = SUBSPACES["ring"], []
    for number in range(draws):
        Phi, y, _ = draw("ring", planted, n, number)
        found = f_tests(Phi, y, subspaces)
        left = standing(found)
        best = min(left, key=lambda k: subspaces[k].shape[1], default="nothing")
        kept.append(([found[k][0] for k in subspaces], best, planted not in left))
    return kept


LONG = [n for n in SIZES if n > 1.3 * len(SUBSPACES["ring"]["C6"])]
spectral = {planted: [evidence(planted, n, SOME) for n in LONG] for planted in PLANTED}


# %% [markdown]
# ## What finding it costs
#
# The squared error of the function (its variance is one) with the group known, with the group that was
# found, and with none.


# %%
@run.cache
def errors(planted, n, draws):
    """Squared errors without a group, with the group that was found and with the planted one."""
    kept, answers = [], searches("ring", planted, n, MANY, {})
    for number in range(draws):
        Phi, y, c = draw("ring", planted, n, number)
        own, best = [], answers[number][0]
        for k in ("nothing", best, planted):
            V = SUBSPACES["ring"].get(k, np.eye(len(c)))
            gap = V @ RLSRegressor().fit(Phi @ V, y).coef_.ravel() - c
            own.append(np.sum(gap[1:] ** 2))
        kept.append(own)
    return kept


costs = np.array([errors("C6", n, SOME) for n in SIZES])  # (sizes, draws, 3)


def crossing(curve, level):
    """The size at which a curve first rises to a level, between sizes on a logarithmic scale."""
    reached = np.flatnonzero(np.array(curve) >= level)
    if not len(reached):
        return np.nan
    around = slice(max(reached[0] - 1, 0), reached[0] + 1)
    return np.exp(np.interp(level, curve[around], np.log(SIZES[around])))


# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
curves = {
    "5 % margin": ("haar", np.transpose([found[0] for found in ring["C6"]])),
    "no margin": ("average-fit", np.transpose([found[0] for found in strict])),
}
by_f = [[100 * (best == "C6") for _, best, _ in found] for found in spectral["C6"]]
curves["F test"] = ("spec-avg", np.transpose(by_f), {"ls": ":", "x": LONG})
most = [found[0].mean() for found in ring["C6"]]
panel(
    axes[0],
    SIZES,
    curves,
    log="x",
    xlabel="points",
    ylabel="answers that are the planted group (%)",
    title=f"C6 planted: found in {most[0]:.0f} to {max(most):.0f} % of samples",
)
wrong = {planted: np.transpose([found[1] for found in ring[planted]]) for planted in PLANTED}
top = max(values.mean(axis=0).max() for values in wrong.values())
looks = dict(zip(PLANTED, ("raw", "bag-of-words", "haar"), strict=True))
axes[1].axhline(5, color=colour("bound"), lw=0.8, ls="--")
panel(
    axes[1],
    SIZES,
    {f"{planted} planted": (looks[planted], wrong[planted]) for planted in PLANTED},
    log="x",
    xlabel="points",
    ylabel="samples with a wrong group supported (%)",
    title=f"False inclusions: at most {top:.1f} % of samples",
)
run.figure(
    fig,
    "recovery",
    caption=f"The ring, {MANY:,} draws ({SOME} without margin and for the F test), bars: two standard "
    "errors. Dashes: 5 %. The F test needs more points than functions.",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
named = {"no group": "raw", "group found": "haar", "group known": "spec-avg"}
panel(
    axes[0],
    SIZES,
    {k: (look, costs[:, :, i].T) for i, (k, look) in enumerate(named.items())},
    log="xy",
    xlabel="points",
    ylabel="squared error (function: 1)",
    title=f"At {SIZES[-1]} points: {costs[-1, :, 0].mean():.3f} without, "
    f"{costs[-1, :, 1].mean():.3f} found, {costs[-1, :, 2].mean():.3f} known",
)
shares = np.array([[share for share, _, _ in found] for found in spectral["C6"]])
hues = dict(zip(SUBSPACES["ring"], ("templates", "samples", "haar", "raw"), strict=True))
panel(
    axes[1],
    LONG,
    {k: (hues[k], 100 * shares[:, :, i].T) for i, k in enumerate(SUBSPACES["ring"])},
    log="x",
    xlabel="points",
    ylabel="share of the estimate outside invariants (%)",
    title=f"C6 planted: {100 * shares[-1, :, 2].mean():.1f} % outside C6, "
    f"{100 * shares[-1, :, 3].mean():.1f} % outside D6",
)
run.figure(
    fig,
    "cost",
    caption=f"{SOME} draws, bars: two standard errors. Left: what finding the group costs. Right: the "
    "evidence of spectral averaging; what is outside the invariants of right groups is noise.",
)

# %%
plain, by_found, known = (crossing(-costs[:, :, i].mean(axis=1), -LEVEL) for i in range(3))
recovered = crossing(most, 90)
run.say(
    "A squared error of a twentieth of the function's variance takes {known:.0f} points with the group "
    "known, {found:.0f} with the group found ({more:.1f} times as many) and {plain:.0f} without a group. "
    "The planted group is the answer in 90 % of samples of {recovered:.0f} points, {ratio:.1f} times as "
    "many as with the group known (nan: not reached).",
    known=known,
    found=by_found,
    more=by_found / known,
    plain=plain,
    recovered=recovered,
    ratio=recovered / known,
)
run.say(
    "Without a margin it is the answer in at most {most:.1f} % of samples of any size: C6 frees C3 of "
    "{few} functions of {all}.",
    most=max(found[0].mean() for found in strict),
    few=SUBSPACES["ring"]["C3"].shape[1] - SUBSPACES["ring"]["C6"].shape[1],
    all=len(SUBSPACES["ring"]["C3"]),
)
refuted = max(found[2].mean() for values in ring.values() for found in values)
f_refuted = max(100 * np.mean([r for _, _, r in v]) for p in PLANTED[1:] for v in spectral[p])
run.say(
    "A right group is refuted in at most {refuted:.1f} % of samples, by the F test in {f:.1f} %.",
    refuted=refuted,
    f=f_refuted,
)

# %% [markdown]
# ## Other lattices

# %%
CASES = [("orders", "halves"), ("orders", "all"), ("signs", "together"), ("signs", "of all")]
CASES += [("sphere", "quarter"), ("sphere", "axis")]
lines = []
for name, planted in CASES:
    row = {"lattice": name, "planted": planted}
    for n in OTHERS:
        hit, wrong_in, _ = map(mean_se, rates(name, planted, searches(name, planted, n, FEW, {})))
        row |= {f"found (%), n = {n}": f"{hit:.0f}", f"wrong (%), n = {n}": f"{wrong_in:.0f}"}
    lines.append(row)
run.table(lines, "others", caption=f"{FEW} draws, margin 5 %, mean and standard error.")

# %% [markdown]
# ## What this does not say
#
# No test tells an exact symmetry from one that is broken by less than noise: with a margin, what passes
# is a symmetry up to the margin, and without one, it helps the model. Planted functions here are either
# invariant or a tenth of their variance away from it.
#
# ## Try it
#
# `invariance run beyond/which_symmetry -p noise 1.0`: with four times the noise more points are needed,
# and the answer is "no group" for longer, not a wrong one.
