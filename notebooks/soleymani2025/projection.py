# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From the generators to the whole group: the quadratic program
#
# *Soleymani, Tahmasebi, Jegelka and Jaillet (2025), Propositions C.1 and C.2, sections 5 and B.5.*
#
# Take coefficients $\tilde f_\lambda$ of some estimate in one eigenspace of the Laplace-Beltrami
# operator. The nearest *invariant* coefficients solve a small quadratic program,
#
# $$\min_f\; |f - \tilde f_\lambda|^2 \quad\text{subject to}\quad D^\lambda(g)\, f = f
# \quad\text{for every generator } g. \tag{10}$$
#
# Isometries commute with the Laplacian, so $D^\lambda(g)$ exists; few generators suffice; and the
# program's solution is the average over the *whole* group (Reynolds operator).

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
order: int = 5  # of the rotations of the circle

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation
from scipy.stats import ortho_group

from invariance import beyond, groups, spectral
from invariance.companion import Run, look
from invariance.groups import CyclicShifts, Permutations, SignedPermutations, SignFlips
from invariance.spectral import Circle, SpectralAveraging, Sphere, Torus, project
from invariance.theory import soleymani2025 as theory

run = Run("soleymani2025/projection", profile=profile, seed=seed, order=order)


# %%
def turn(axis, angle):
    """The rotation matrix about an axis."""
    axis = np.asarray(axis, dtype=float)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()


icosahedral = groups.OrthogonalMatrices(
    [turn([0, 1, (1 + 5**0.5) / 2], 2 * np.pi / 5), turn([1, 1, 1], 2 * np.pi / 3)]
)
tilt = ortho_group.rvs(3, random_state=seed)
tilted_square = groups.OrthogonalMatrices(
    [tilt @ turn([0, 0, 1], np.pi / 2) @ tilt.T, tilt @ np.diag([1.0, -1.0, 1.0]) @ tilt.T]
)


# %% tags=["settings"]
def of(quick, full):
    """What differs between the profiles."""
    return quick if run.quick else full


CASES = {
    "sphere 2, icosahedral group": (Sphere(3, degree=of(6, 10)), icosahedral),
    "sphere 2, tilted square": (Sphere(3, degree=of(5, 8)), tilted_square),
    "sphere 2, signed permutations": (Sphere(3, degree=of(6, 9)), SignedPermutations(3)),
    "sphere 4, S_5": (Sphere(5, degree=of(3, 5)), Permutations(5)),
    "sphere 5, cyclic shifts": (Sphere(6, degree=of(3, 4)), CyclicShifts(6)),
    "sphere 3, antipodes": (Sphere(4, degree=5), groups.Negation()),
    "torus 4, sign flips": (Torus(4, degree=of(4, 7)), SignFlips(4)),
    "torus 4, S_4": (Torus(4, degree=of(3, 6)), Permutations(4)),
    "torus 2, translations 3 x 4": (Torus(2, degree=of(9, 20)), groups.TorusTranslations([3, 4])),
    "circle, rotations": (Circle(degree=20), groups.TorusTranslations([order], period=2 * np.pi)),
    "sphere 2 x torus 2": (
        beyond.Product([Sphere(3), Torus(2)], degree=of(20, 30)),
        groups.DirectProduct([CyclicShifts(3), SignFlips(2)]),
    ),
}
LARGE = {
    "torus 10, sign flips": (Torus(10, degree=3), SignFlips(10)),
    "sphere 29, S_30": (Sphere(30, degree=of(2, 3)), Permutations(30)),
    "sphere 9, signed permutations": (Sphere(10, degree=of(4, 5)), SignedPermutations(10)),
}
RANDOM_GROUPS, RANDOM_PROBLEMS, POINTS, ELEMENTS = of((30, 4, 60, 20), (400, 100, 400, 100))
# degrees at which primary estimators are projected (elsewhere 4), and their draws
PRIMARY, DRAWS = {"circle, rotations": 20, "sphere 2 x torus 2": 12}, of(range(2), range(20))

# %% [markdown]
# ## Isometries commute with the Laplacian
#
# Write the moved eigenfunctions $\phi_l(g x_i)$ at random points in terms of *all* eigenfunctions
# kept, by least squares. If $\Delta$ and $g$ commute, the matrix found must vanish outside the diagonal
# blocks, its blocks must be orthogonal, and they must be the $D^\lambda(g)$ of `basis.representation`.


# %%
def commutation(basis, group, rng):
    """Largest leak between eigenspaces, defects of orthogonality and of D, over generators."""
    X = basis.sample(3 * basis.n_functions_ + 50, rng.integers(2**31))
    values, leak, rotation, stated_D = basis.evaluate(X), [], [], []
    for generator in group.generators():
        moved = basis.evaluate(group.act(generator[None], X)[0])
        free = np.linalg.lstsq(values, moved, rcond=None)[0].T
        outside = free.copy()
        for k, block in enumerate(basis.slices()):
            outside[block, block] = 0
            stated = basis.representation(k, group, generator[None])[0].toarray()
            rotation.append(np.abs(stated @ stated.T - np.eye(len(stated))).max())
            stated_D.append(np.abs(free[block, block] - stated).max())
        leak.append(np.abs(outside).max())
    return [max(leak), max(rotation), max(stated_D)]


run.claim(
    "soleymani2025/commutation",
    difference=[gap for case in CASES.values() for gap in commutation(*case, run.rng)],
    tolerance=1e-10,
)

# %% [markdown]
# What $D^\lambda(g)$ looks like depends on the group, and decides how the program is solved.
# Permutations and sign flips merely permute the torus' products of sines and cosines (up to signs);
# translations turn pairs; a tilted rotation fills its blocks.


# %%
def whole(basis, group, size):
    """D(g) of the first generator on the eigenspaces of at most `size` functions in all."""
    kept = int(np.searchsorted(basis.counts_, size, side="right"))
    picture = np.zeros((basis.counts_[kept - 1],) * 2)
    for k, block in enumerate(basis.slices()[:kept]):
        picture[block, block] = basis.representation(k, group, group.generators()[:1])[0].toarray()
    return picture


shown = ("torus 4, S_4", "torus 2, translations 3 x 4", "sphere 4, S_5", "sphere 2, tilted square")
figure, axes = plt.subplots(1, 4, figsize=(12, 3.9))
for axis, name in zip(axes, shown, strict=True):
    picture = whole(*CASES[name], 60)
    axis.imshow(picture, cmap="RdBu_r", vmin=-1, vmax=1)
    filled = np.mean(np.abs(picture) > 1e-10)
    axis.set(title=f"{name}\n{filled:.1%} are not zero", xlabel="eigenfunction")
    axis.grid(False)
caption = r"$D^\lambda(g)$ of one generator, eigenspace after eigenspace; red +1, blue -1."
run.figure(figure, "representations", caption=caption)

# %% [markdown]
# ## How many generators?
#
# Proposition C.1: every further generator of a minimal generating set at least doubles the group, so
# there are at most $\log_2|G|$ of them. We drop redundant generators one by one until none can go.


# %%
def minimal_subset(permutations):
    """Size of what is left when generators are dropped while the group stays the same; its order."""
    kept = list(range(len(permutations)))
    order = groups.GeneratedPermutations(permutations).order
    for i in range(len(permutations)):
        fewer = [j for j in kept if j != i]
        if fewer and groups.GeneratedPermutations(permutations[fewer]).order == order:
            kept = fewer
    return (0 if order == 1 else len(kept)), order


named = [
    (len(group.generators()), group.order)
    for n in range(2, 31)
    for group in (Permutations(n), CyclicShifts(n), SignFlips(n), SignedPermutations(n))
]
named += [(2, icosahedral.order), (2, tilted_square.order)]
drawn = []
for _ in range(RANDOM_GROUPS):
    n, moves = int(run.rng.integers(3, 9)), int(run.rng.integers(1, 6))
    # Mostly short cycles: two random permutations nearly always generate A_n or S_n.
    permutations = np.tile(np.arange(n), (moves, 1))
    for row in permutations:
        support = run.rng.choice(n, size=int(run.rng.integers(2, min(n, 4) + 1)), replace=False)
        row[support] = np.roll(support, 1)
    drawn.append(minimal_subset(permutations))
run.claim(
    "soleymani2025/proposition-c1",
    lhs=[count for count, _ in named + drawn],
    rhs=[theory.generators_bound(order) for _, order in named + drawn],
    # Every element but the identity: what generating sets need not exceed.
    ceiling=[max(float(order) - 1, count) for count, order in named + drawn],
)

# %%
figure, axis = plt.subplots()
for label, pairs, method in (("named families", named, "group"), ("drawn", drawn, "samples")):
    logs = [np.log2(float(order)) for _, order in pairs]
    counts = [count for count, _ in pairs]
    axis.plot(logs, counts, linestyle="", alpha=0.5, label=label, **look(method)._asdict())
axis.plot([0, 35], [0, 35], color=look("bound").color, label=r"$\log_2 |G|$, proposition C.1")
above = sum(count > theory.generators_bound(order) for count, order in named + drawn)
axis.set(
    xlabel=r"$\log_2$ of the order of the group",
    ylabel="generators",
    xlim=(0, 36),
    ylim=(0, 36),
    title=f"{above} of {len(named + drawn)} generating sets exceed the bound",
)
axis.legend()
caption = "Sign flips need every one of their $\\log_2|G|$ generators; permutations need two."
run.figure(figure, "generators", caption=caption)

# %% [markdown]
# ## Five ways to one answer
#
# `project(coefficients, basis, group, method=...)` offers
#
# - `qp`: the program (10) as written, with cvxpy, an eigenspace at a time;
# - `closed_form`: $f = \tilde f - B^\top (B B^\top)^+ B \tilde f$ with $B$ the stacked
#   $D^\lambda(g) - I$ (Proposition C.2);
# - `components`: where generators permute the frame up to signs, average over orbits;
# - `null_space`: a singular value decomposition of each block that the generators do not mix;
# - `reynolds`: the average of $D^\lambda(g)$ over the listed group. This one needs all of $G$.


# %%
def from_reynolds(basis, group):
    """Largest difference of the coefficients of each way from the average over the group."""
    coefficients, found = run.rng.standard_normal(basis.n_functions_), []
    reference = project(coefficients, basis, group, method="reynolds")
    for method in ("qp", "closed_form", "components", "null_space"):
        try:
            projected = project(coefficients, basis, group, method=method)
        except ValueError:  # no permutation of the frame
            continue
        found.append(float(np.abs(projected - reference).max()))
    return found


differences = [gap for case in CASES.values() for gap in from_reynolds(*case)]
for _ in range(RANDOM_PROBLEMS):
    n = int(run.rng.integers(3, 6))
    group = groups.GeneratedPermutations(np.stack([run.rng.permutation(n) for _ in range(2)]))
    differences += from_reynolds((Sphere if run.rng.integers(2) else Torus)(n, degree=3), group)
run.claim("soleymani2025/proposition-c2", difference=differences, tolerance=1e-8)

# %% [markdown]
# ## The Sobolev kernel is shift-invariant and yet not invariant
#
# Because $D^\lambda(g)$ is orthogonal, $K(x, y) = \sum_\lambda D_\lambda^{-\alpha} \sum_l
# \phi_{\lambda l}(x) \phi_{\lambda l}(y)$ satisfies $K(gx, gy) = K(x, y)$ (section B.8). That does
# *not* make its regression estimates invariant: moving one argument alone changes the kernel.

# %%
shift, single = [], []
for basis, group in CASES.values():
    kernel = spectral.SobolevKernel(basis, smoothness=float(basis.manifold_dimension))
    X, Y = basis.sample(20, seed), basis.sample(20, seed + 1)
    K = kernel(X, Y)
    elements = np.concatenate([group.generators(), group.random_words(5, random_state=seed)])
    for moved_X, moved_Y in zip(group.act(elements, X), group.act(elements, Y), strict=True):
        shift.append(np.abs(kernel(moved_X, moved_Y) - K).max() / np.abs(K).max())
    moved = group.act(group.generators()[:1], X)[0]
    single.append(np.abs(kernel(moved, Y) - K).max() / np.abs(K).max())
run.claim(
    "soleymani2025/sobolev-kernel",
    difference=shift,
    tolerance=1e-10,
    note=f"relative; moving one argument alone changes the kernel by at least {min(single):.1%} "
    f"of its maximum",
)

# %% [markdown]
# ## Exact means exact
#
# What the projection is for: a fitted `SpectralAveraging` does not change when its argument moves by
# the generators, random elements and random words of length 20 in them. The largest discrepancy over
# random points is relative to the largest value of the function; beside it the same *without* a group.

# %%
gaps, without = [], []
for basis, group in (CASES | LARGE).values():
    rng = np.random.RandomState(seed)
    X = basis.sample(600, rng)
    wave = rng.standard_normal(X.shape[1])
    y = np.cos(2 * X @ wave) + rng.standard_normal(len(X))
    Z = basis.sample(POINTS, rng)
    for estimator in ("mean", "centered", "least_squares", "ridge"):
        model = SpectralAveraging(basis, group, degree=basis.degree, estimator=estimator)
        gaps.append(model.fit(X, y).discrepancy(Z, n_elements=ELEMENTS, random_state=seed))
    free = SpectralAveraging(basis, degree=min(basis.degree, 2), estimator="mean").fit(X, y)
    how = {"n_elements": 20, "relative": True}
    without.append(float(spectral.invariance_discrepancy(free.predict, group, Z[:20], **how)))
run.claim("soleymani2025/exact-invariance", difference=gaps, tolerance=1e-12)
run.say(
    "Without a group the functions change by {least:.0%} to {most:.0%} of their largest value.",
    least=min(without),
    most=max(without),
)

# %% [markdown]
# ## Any primary estimator
#
# Section 5 projects coefficients $\tilde f$ of "any primary estimator". For an invariant target
#
# $$ |f^\star - \tilde f|^2 = |f^\star - P \tilde f|^2 + |\tilde f - P \tilde f|^2 . $$
#
# Four estimators: the mean, least squares, ridge, and truncated Sobolev kernel ridge regression.


# %%
def primaries(values, y, kept, weights):
    """Coefficients of four estimates within the first `kept` functions."""
    n, inside = len(y), values[:, :kept]
    gram = (values * weights) @ values.T
    dual = np.linalg.solve(gram + 0.1 * np.trace(gram) / n * np.eye(n), y)
    return {
        "mean": inside.T @ y / n,
        "least squares": np.linalg.lstsq(inside, y, rcond=None)[0],
        "ridge": np.linalg.solve(inside.T @ inside + 0.1 * n * np.eye(kept), inside.T @ y),
        "truncated kernel ridge": (weights * (values.T @ dual))[:kept],
    }


def one_draw(basis, group, draw):
    """Distances from the target before and after, by estimator, and changes under the group."""
    rng = np.random.RandomState(draw)
    wide = basis.truncate(degree=3 * basis.degree // 2) if draw % 2 else basis
    kept, weights = basis.n_functions_, np.repeat(wide.counts_**-2.0, wide.dimensions_)
    target = project(rng.standard_normal(wide.n_functions_) * np.sqrt(weights), wide, group)
    X = basis.sample(2 * kept + 50, rng)
    values = wide.evaluate(X)
    y = values @ target + 0.5 * rng.standard_normal(len(X))
    tail, found, changes = np.sum(target[kept:] ** 2), {}, []
    for name, before in primaries(values, y, kept, weights).items():
        after = project(before, basis, group)
        found[name] = [np.sqrt(np.sum((f - target[:kept]) ** 2) + tail) for f in (before, after)]
        how = {"n_elements": 20, "relative": True}
        changes.append(spectral.Expansion(basis, after).discrepancy(X[:20], group, **how))
    return found, changes


SMALLER = {
    name: (basis.truncate(degree=min(basis.degree, PRIMARY.get(name, 4))), group)
    for name, (basis, group) in CASES.items()
}
results = [one_draw(*case, draw) for case in SMALLER.values() for draw in DRAWS]
distances = {name: np.array([found[name] for found, _ in results]) for name in results[0][0]}
before, after = np.concatenate(list(distances.values())).T
changes = np.concatenate([changes for _, changes in results])
run.claim(
    "soleymani2025/any-primary",
    trials=[(after, before, np.inf), (changes, 1e-10, 2.0)],
    note="distance after over distance before, in the median: "
    + ", ".join(f"{name} {np.median(d[:, 1] / d[:, 0]):.2f}" for name, d in distances.items()),
)

# %%
figure, axis = plt.subplots()
LOOKS = ("spec-avg", "spec-avg-least-squares", "spec-avg-ridge", "krr")
for (name, pairs), method in zip(distances.items(), LOOKS, strict=True):
    axis.plot(*pairs.T, linestyle="", alpha=0.5, label=name, **look(method)._asdict())
ends = [before.min(), before.max()]
axis.plot(ends, ends, color=look("bound").color)
axis.set(
    xscale="log",
    yscale="log",
    xlabel="distance of the estimate from the target",
    ylabel="distance after the projection",
    title=f"{np.sum(after > before)} of {len(after)} projections are further away",
)
axis.legend()
run.figure(figure, "primary", caption="Eleven groups, four estimates; the line: equal distances.")

# %% [markdown]
# ## Try it
#
# `invariance run soleymani2025/projection -p order 12`: only every twelfth frequency survives.
