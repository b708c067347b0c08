# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Propositions C.1 and C.2: from the generators to the whole group
#
# *Soleymani, Tahmasebi, Jegelka and Jaillet (2025), Propositions C.1 and C.2, sections 5 and B.5.*
#
# Take coefficients $\tilde f_\lambda$ of some estimate in one eigenspace of the Laplace-Beltrami
# operator. The nearest *invariant* coefficients solve a small quadratic program,
#
# $$\min_f\; |f - \tilde f_\lambda|^2 \quad\text{subject to}\quad D^\lambda(g)\, f = f
# \quad\text{for every generator } g. \tag{10}$$
#
# Isometries commute with the Laplacian, so $D^\lambda(g)$ exists. Few generators suffice. The solution of
# the program is the average over the *whole* group (Reynolds operator), for every method that computes
# it, and a projected function is invariant up to rounding, even under groups too large to list.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
order: int = 5  # of the rotations of the circle

# %%
import matplotlib.pyplot as plt
import numpy as np
from _projection import (
    commutation_errors,
    differences_from_reynolds,
    draw_permutations,
    icosahedral_group,
    minimal_subset,
    projected_estimates,
    representation_matrix,
    tilted_square_group,
)
from scipy.stats import ortho_group

from invariance import beyond, groups, spectral
from invariance.companion import Run, look
from invariance.groups import CyclicShifts, Permutations, SignedPermutations, SignFlips
from invariance.spectral import Circle, SpectralAveraging, Sphere, Torus
from invariance.theory import soleymani2025 as theory

run = Run("soleymani2025/projection", profile=profile, seed=seed, order=order)

# %% tags=["settings"]
if run.quick:
    DEGREES = {
        "sphere 2, icosahedral group": 6,
        "sphere 2, tilted square": 5,
        "sphere 2, signed permutations": 6,
        "sphere 4, S_5": 3,
        "sphere 5, cyclic shifts": 3,
        "torus 4, sign flips": 4,
        "torus 4, S_4": 3,
        "torus 2, translations 3 x 4": 9,
        "sphere 2 x torus 2": 20,
        "sphere 29, S_30": 2,
        "sphere 9, signed permutations": 4,
    }
    n_random_groups = 30  # of proposition C.1
    n_random_problems = 4  # of proposition C.2
    n_test_points = 60  # of the discrepancy
    n_elements = 20  # of the discrepancy
    draws = range(2)  # of primary estimates
else:
    DEGREES = {
        "sphere 2, icosahedral group": 10,
        "sphere 2, tilted square": 8,
        "sphere 2, signed permutations": 9,
        "sphere 4, S_5": 5,
        "sphere 5, cyclic shifts": 4,
        "torus 4, sign flips": 7,
        "torus 4, S_4": 6,
        "torus 2, translations 3 x 4": 20,
        "sphere 2 x torus 2": 30,
        "sphere 29, S_30": 3,
        "sphere 9, signed permutations": 5,
    }
    n_random_groups = 400
    n_random_problems = 100
    n_test_points = 400
    n_elements = 100
    draws = range(20)
# Degrees at which primary estimates are projected; elsewhere it is 4.
PRIMARY_DEGREES = {"circle, rotations": 20, "sphere 2 x torus 2": 12}

# %% [markdown]
# ## The cases: manifolds, groups and degrees
#
# Eleven groups can be listed, so that every method can be compared with the average. Three are too
# large for that.

# %%
icosahedral = icosahedral_group()
tilted_square = tilted_square_group(ortho_group.rvs(3, random_state=seed))
MANIFOLDS_AND_GROUPS = {
    "sphere 2, icosahedral group": (Sphere(3), icosahedral),
    "sphere 2, tilted square": (Sphere(3), tilted_square),
    "sphere 2, signed permutations": (Sphere(3), SignedPermutations(3)),
    "sphere 4, S_5": (Sphere(5), Permutations(5)),
    "sphere 5, cyclic shifts": (Sphere(6), CyclicShifts(6)),
    "sphere 3, antipodes": (Sphere(4), groups.Negation()),
    "torus 4, sign flips": (Torus(4), SignFlips(4)),
    "torus 4, S_4": (Torus(4), Permutations(4)),
    "torus 2, translations 3 x 4": (Torus(2), groups.TorusTranslations([3, 4])),
    "circle, rotations": (Circle(), groups.TorusTranslations([order], period=2 * np.pi)),
    "sphere 2 x torus 2": (
        beyond.Product([Sphere(3), Torus(2)]),
        groups.DirectProduct([CyclicShifts(3), SignFlips(2)]),
    ),
    "torus 10, sign flips": (Torus(10), SignFlips(10)),
    "sphere 29, S_30": (Sphere(30), Permutations(30)),
    "sphere 9, signed permutations": (Sphere(10), SignedPermutations(10)),
}
FIXED_DEGREES = {"sphere 3, antipodes": 5, "circle, rotations": 20, "torus 10, sign flips": 3}
LARGE = ("torus 10, sign flips", "sphere 29, S_30", "sphere 9, signed permutations")

# %%
ALL_CASES = {}  # basis and group by name
for name, (manifold, group) in MANIFOLDS_AND_GROUPS.items():
    degree = (DEGREES | FIXED_DEGREES)[name]
    ALL_CASES[name] = (manifold.truncate(degree=degree), group)
CASES = {name: case for name, case in ALL_CASES.items() if name not in LARGE}

# %% [markdown]
# ## Isometries commute with the Laplacian
#
# Write the moved eigenfunctions $\phi_l(g x_i)$ at random points in terms of *all* eigenfunctions
# kept, by least squares. If $\Delta$ and $g$ commute, the matrix found must vanish outside the diagonal
# blocks, its blocks must be orthogonal, and they must be the $D^\lambda(g)$ of `basis.representation`.

# %%
commutation = []
for basis, group in CASES.values():
    commutation += commutation_errors(basis, group, run.rng)

# %% [markdown]
# The structure of $D^\lambda(g)$ depends on the group, and decides how the program is solved.
# Permutations and sign flips merely permute the torus' products of sines and cosines (up to signs);
# translations turn pairs; a tilted rotation fills its blocks.

# %%
shown = ("torus 4, S_4", "torus 2, translations 3 x 4", "sphere 4, S_5", "sphere 2, tilted square")
figure, axes = plt.subplots(2, 2, figsize=(8, 8.4))
for axis, name in zip(axes.flat, shown, strict=True):
    matrix = representation_matrix(*CASES[name], max_functions=60)
    share_filled = np.mean(np.abs(matrix) > 1e-10)
    axis.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set(
        title=f"{name}:\n{share_filled:.1%} of the entries are not zero", xlabel="eigenfunction"
    )
    axis.grid(False)
caption = r"$D^\lambda(g)$ of one generator, eigenspace after eigenspace; red +1, blue -1."
run.figure(figure, "representations", caption=caption)

# %% tags=["claims"]
run.claim("soleymani2025/commutation", difference=commutation, tolerance=1e-10)

# %% [markdown]
# ## How many generators?
#
# Proposition C.1: every further generator of a minimal generating set at least doubles the group, so
# there are at most $\log_2|G|$ of them. We drop redundant generators one by one until none can go.

# %%
named_sets = []  # pairs (number of generators, order of the group)
for n in range(2, 31):
    for group in (Permutations(n), CyclicShifts(n), SignFlips(n), SignedPermutations(n)):
        named_sets.append((len(group.generators()), group.order))
named_sets += [(2, icosahedral.order), (2, tilted_square.order)]
drawn_sets = [minimal_subset(draw_permutations(run.rng)) for _ in range(n_random_groups)]
all_sets = named_sets + drawn_sets

# %%
figure, axis = plt.subplots()
for label, pairs, method in (
    ("named families", named_sets, "group"),
    ("drawn", drawn_sets, "samples"),
):
    logs = [np.log2(float(group_order)) for _, group_order in pairs]
    counts = [count for count, _ in pairs]
    axis.plot(logs, counts, linestyle="", alpha=0.5, label=label, **look(method)._asdict())
axis.plot([0, 35], [0, 35], color=look("bound").color, label=r"$\log_2 |G|$, proposition C.1")
n_above = sum(count > theory.generators_bound(group_order) for count, group_order in all_sets)
axis.set(
    xlabel=r"$\log_2$ of the order of the group",
    ylabel="generators",
    xlim=(0, 36),
    ylim=(0, 36),
    title=f"{n_above} of {len(all_sets)} generating sets exceed the bound",
)
axis.legend()
caption = "Sign flips need every one of their $\\log_2|G|$ generators; permutations need two."
run.figure(figure, "generators", caption=caption)

# %% tags=["claims"]
run.claim(
    "soleymani2025/proposition-c1",
    lhs=[count for count, _ in all_sets],
    rhs=[theory.generators_bound(group_order) for _, group_order in all_sets],
    # All elements but the identity generate the group, so no minimal set is larger.
    ceiling=[max(float(group_order) - 1, count) for count, group_order in all_sets],
)

# %% [markdown]
# ## Five ways to one answer
#
# `project(coefficients, basis, group, method=...)` offers
#
# - `qp`: the program (10) as written, with cvxpy, an eigenspace at a time;
# - `closed_form`: $f = \tilde f - B^\top (B B^\top)^+ B \tilde f$ with $B$ the stacked
#   $D^\lambda(g) - I$ (Proposition C.2);
# - `components`: the average over orbits, if the generators permute the frame up to signs;
# - `null_space`: a singular value decomposition of each block that the generators do not mix;
# - `reynolds`: the average of $D^\lambda(g)$ over the listed group. This one needs all of $G$.

# %%
differences = []
for basis, group in CASES.values():
    differences += differences_from_reynolds(basis, group, run.rng)

# %% [markdown]
# The same for random permutation groups on small spheres and tori.

# %%
for _ in range(n_random_problems):
    n = int(run.rng.integers(3, 6))
    permutations = np.stack([run.rng.permutation(n) for _ in range(2)])
    group = groups.GeneratedPermutations(permutations)
    manifold = Sphere if run.rng.integers(2) else Torus
    differences += differences_from_reynolds(manifold(n, degree=3), group, run.rng)

# %% tags=["claims"]
run.claim("soleymani2025/proposition-c2", difference=differences, tolerance=1e-8)

# %% [markdown]
# ## The Sobolev kernel is shift-invariant and yet not invariant
#
# Because $D^\lambda(g)$ is orthogonal, $K(x, y) = \sum_\lambda D_\lambda^{-\alpha} \sum_l
# \phi_{\lambda l}(x) \phi_{\lambda l}(y)$ satisfies $K(gx, gy) = K(x, y)$ (section B.8). That does
# *not* make its regression estimates invariant: moving one argument alone changes the kernel.

# %%
shift_changes = []  # both arguments moved
single_changes = []  # the first argument alone
for basis, group in CASES.values():
    kernel = spectral.SobolevKernel(basis, smoothness=float(basis.manifold_dimension))
    X = basis.sample(20, seed)
    Y = basis.sample(20, seed + 1)
    K = kernel(X, Y)
    scale = np.abs(K).max()
    elements = np.concatenate([group.generators(), group.random_words(5, random_state=seed)])
    for gX, gY in zip(group.act(elements, X), group.act(elements, Y), strict=True):
        shift_changes.append(np.abs(kernel(gX, gY) - K).max() / scale)
    gX = group.act(group.generators()[:1], X)[0]
    single_changes.append(np.abs(kernel(gX, Y) - K).max() / scale)

# %% tags=["claims"]
run.claim(
    "soleymani2025/sobolev-kernel",
    difference=shift_changes,
    tolerance=1e-10,
    note="relative; moving one argument alone changes the kernel by at least "
    f"{min(single_changes):.1%} of its maximum",
)

# %% [markdown]
# ## Exact means exact
#
# This is the purpose of the projection: a fitted `SpectralAveraging` does not change when its argument moves by
# the generators, random elements and random words of length 20 in them. The largest discrepancy over
# random points is relative to the largest value of the function; we also measure it *without* a group.

# %%
gaps = []
gaps_without_group = []
for basis, group in ALL_CASES.values():
    rng = np.random.RandomState(seed)
    X = basis.sample(600, rng)
    wave = rng.standard_normal(X.shape[1])
    y = np.cos(2 * X @ wave) + rng.standard_normal(len(X))
    Z = basis.sample(n_test_points, rng)
    for estimator in ("mean", "centered", "least_squares", "ridge"):
        model = SpectralAveraging(basis, group, degree=basis.degree, estimator=estimator)
        model.fit(X, y)
        gaps.append(model.discrepancy(Z, n_elements=n_elements, random_state=seed))
    plain = SpectralAveraging(basis, degree=min(basis.degree, 2), estimator="mean").fit(X, y)
    gap = spectral.invariance_discrepancy(
        plain.predict, group, Z[:20], n_elements=20, relative=True
    )
    gaps_without_group.append(float(gap))
run.say(
    "Without a group the functions change by {least:.0%} to {most:.0%} of their largest value.",
    least=min(gaps_without_group),
    most=max(gaps_without_group),
)

# %% tags=["claims"]
run.claim("soleymani2025/exact-invariance", difference=gaps, tolerance=1e-12)

# %% [markdown]
# ## Any primary estimator
#
# Section 5 projects coefficients $\tilde f$ of "any primary estimator". For an invariant target
#
# $$ |f^\star - \tilde f|^2 = |f^\star - P \tilde f|^2 + |\tilde f - P \tilde f|^2 . $$
#
# Four estimators: the mean, least squares, ridge, and truncated Sobolev kernel ridge regression.

# %%
results = []
for name, (basis, group) in CASES.items():
    degree = min(basis.degree, PRIMARY_DEGREES.get(name, 4))
    smaller = basis.truncate(degree=degree)
    results += [projected_estimates(smaller, group, draw) for draw in draws]
distances = {}  # by estimator, shape (problems, 2): before and after the projection
for name in results[0][0]:
    distances[name] = np.array([by_estimator[name] for by_estimator, _ in results])
before, after = np.concatenate(list(distances.values())).T
changes = np.concatenate([changes for _, changes in results])

# %%
figure, axis = plt.subplots()
METHODS = ("spec-avg", "spec-avg-least-squares", "spec-avg-ridge", "krr")
for (name, pairs), method in zip(distances.items(), METHODS, strict=True):
    axis.plot(*pairs.T, linestyle="", alpha=0.5, label=name, **look(method)._asdict())
ends = [before.min(), before.max()]
axis.plot(ends, ends, color=look("bound").color)
axis.set(
    xscale="log",
    yscale="log",
    xlabel="distance of the estimate from the target",
    ylabel="distance after the projection",
    title=f"{np.sum(after > before)} of {len(after)} projections are further from the target",
)
axis.legend()
run.figure(figure, "primary", caption="Eleven groups, four estimates; the line: equal distances.")

# %% tags=["claims"]
medians = {name: np.median(pairs[:, 1] / pairs[:, 0]) for name, pairs in distances.items()}
run.claim(
    "soleymani2025/any-primary",
    trials=[(after, before, np.inf), (changes, 1e-10, 2.0)],
    note="distance after over distance before, in the median: "
    + ", ".join(f"{name} {median:.2f}" for name, median in medians.items()),
)

# %% [markdown]
# ## Try it
#
# `invariance run soleymani2025/projection -p order 12`: only every twelfth frequency survives.
