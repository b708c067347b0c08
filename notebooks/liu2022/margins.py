# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A larger margin from two points: Example 2
#
# *Liu, Kumar, Zhou and Liu (2022), example 2 and Figure 1(a).*
#
# An image of two pixels, translated cyclically: $(a, b) \to (b, a)$. One sample of each class,
# $X_1 = (1, 2)$ and $X_2 = (5, 2)$. Augmentation adds $X_3 = (2, 1)$ and $X_4 = (2, 5)$ and looks
# for a straight line. The best-fit kernel $K(x, z) = \max_T \frac{1}{2}\langle x, Tz\rangle$ needs
# the two samples only and may bend the line where it crosses the axis of symmetry.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
second: list[float] = [5.0, 2.0]  # the sample of the other class

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls
from sklearn.svm import SVC

from invariance.companion import Run, colour, mean_se, panel
from invariance.groups import CyclicShifts
from invariance.kernels import Average, BestFit, Linear, Polynomial

warnings.filterwarnings("ignore", "Polynomial of even degree")  # best fits follow both ends
run = Run("liu2022/margins", profile=profile, seed=seed, second=second)

# %% tags=["settings"]
PAIRS, DIRECTIONS, MANY = (20, 60, 30) if run.quick else (3000, 180, 400)

# %%
X, y = np.array([[1.0, 2.0], second]), np.array([-1, 1])
group = CyclicShifts(2)
augmented = group.act(group.elements(), X).reshape(-1, 2)
labels = np.tile(y, group.order)

hard = dict(C=1e6, tol=1e-10)
machines = {
    "best-fit": SVC(kernel=BestFit(Linear(), group), **hard).fit(X, y),
    "augmentation": SVC(kernel="linear", **hard).fit(augmented, labels),
    "average-fit": SVC(kernel=Average(Linear(), group), **hard).fit(X, y),
}

# %% [markdown]
# ## Margins
#
# All three decision functions are linear on either side of the axis of symmetry, so a sample's
# distance from the boundary is $|f(x)| / |\nabla f(x)|$, as we check by a fine walk along the boundary.


# %%
def margin(machine, points):
    """Least distance of the points from the boundary, and the same from points on the boundary."""
    f, step, distances = machine.decision_function, 1e-4 * np.eye(2), []
    for point in points:
        gradient = (f(point + step) - f(point - step)) / 2e-4
        distances.append(abs(f([point])[0]) / np.linalg.norm(gradient))
    # The boundary crosses every line x - y = const once: bisect along all of them at a time.
    along = np.linspace(-6, 6, 2401)
    low, high = (np.stack([total - along, total + along], axis=1) / 2 for total in (0, 10))
    for _ in range(60):
        middle = (low + high) / 2
        below = (f(middle) < 0)[:, None]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    walked = np.linalg.norm(points[:, None] - low, axis=2).min()
    return min(distances), walked


found = {name: margin(machine, augmented) for name, machine in machines.items()}
margins = {name: exact for name, (exact, _) in found.items()}
run.say(
    "Margins: {margins}. A walk along the boundaries finds the same to {gap:.0e}.",
    margins=", ".join(f"{name} {value:.4f}" for name, value in margins.items()),
    gap=max(abs(exact - walked) for exact, walked in found.values()),
)
run.claim(
    "liu2022/example2-margins",
    value=[margins["best-fit"], margins["augmentation"]],
    exact="two given points; nothing is random",
    note="exact values sqrt(10)/2 and sqrt(2), from two support-vector machines; the "
    f"average-fit margin is {margins['average-fit']:.4f}, too",
)

# %%
PRINTED = {"best-fit": np.sqrt(10) / 2, "augmentation": np.sqrt(2)}
grid = np.linspace(0, 6.5, 400)
plane = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
fig, axis = plt.subplots(figsize=(9, 5), subplot_kw={"aspect": "equal", "anchor": "W"})
for name, style in {"best-fit": "-", "augmentation": "-", "average-fit": ":"}.items():
    tint = colour("l-ti-ri" if name == "best-fit" else name)
    values = machines[name].decision_function(plane).reshape(400, 400)
    axis.contour(grid, grid, values, levels=[0], colors=[tint], linestyles=[style])
    said = f", the paper {PRINTED[name]:.3f}" if name in PRINTED else ""
    axis.plot([], [], style, color=tint, label=f"{name}: margin {margins[name]:.3f}{said}")
axis.plot(grid, grid, "k--", linewidth=0.8, label="axis of symmetry")
for k, (point, label) in enumerate(zip(augmented, labels, strict=True)):
    fill = "full" if k < len(X) else "none"
    axis.plot(*point, "ko" if label < 0 else "ks", markersize=9, fillstyle=fill)
    axis.annotate(f"$X_{k + 1}$", point, textcoords="offset points", xytext=(8, 5))
axis.set(
    xlabel="first pixel",
    ylabel="second pixel",
    title=f"Best fit: {margins['best-fit'] / margins['augmentation']:.2f} times the margin "
    "of augmentation",
)
axis.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
run.figure(fig, "example2", caption="The paper's Figure 1(a). Open: translated samples.")

# %% [markdown]
# ## Other kernels
#
# "For other kernels (e.g., polynomial kernels) ... the TI best-fit kernel will still provide a larger
# margin." With one sample of each class the support-vector machine has a closed form, $f(x) =
# a\,(K(x, x_2) - K(x, x_1)) + b$ with $f(x_2) = 1 = -f(x_1)$, and that holds for the average-fit
# kernel, which is augmentation (notebook `average_fit`), as for the best-fit one.

# %%
angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
compass = np.stack([np.cos(angles), np.sin(angles)], axis=1)


def two_point_machine(gram):
    """a and b of f = a (K(., x_2) - K(., x_1)) + b, from the Gram matrix of x_1 and x_2."""
    (low, both), (_, high) = gram
    a = 2 / (low + high - 2 * both)
    return a, a * (low - high) / 2


def distance(f, point, farthest):
    """From the point to the nearest change of sign along any direction."""
    sign = np.sign(f(point[None])[0])
    radii = np.linspace(0, farthest, 201)[1:]
    for some in radii.reshape(10, 20):  # no farther than to the first ring that is crossed
        points = point + some[:, None, None] * compass
        across = (sign * f(points.reshape(-1, 2)) <= 0).reshape(len(some), DIRECTIONS)
        if across.any():
            break
    ring = across.any(axis=1).argmax()
    ways = compass[across[ring]]
    low, high = np.repeat([[some[ring] - radii[0]], [some[ring]]], len(ways), axis=1)
    for _ in range(25):
        middle = (low + high) / 2
        beyond = sign * f(point + middle[:, None] * ways) <= 0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high.min()


def least_distance(kernel, x):
    """The boundary crosses the segment between the samples: no need to look farther."""
    (a, b), farthest = two_point_machine(kernel(x)), 1.001 * np.linalg.norm(x[1] - x[0])

    def decide(points):
        return a * (kernel(points, x) @ [-1, 1]) + b

    return min(distance(decide, point, farthest) for point in x)


@run.cache
def polynomial_margins(degree, seed, pairs, second):
    """(pairs + 1, 2): best fit and augmentation, in example 2 and for random pairs."""
    random = np.random.default_rng(seed).uniform(0, 6, (pairs, 2, 2))
    base = Polynomial(degree, gamma=1 / 2)
    kernels = BestFit(base, group), Average(base, group)
    return np.array([[least_distance(k, x) for k in kernels] for x in (X, *random)])


# %%
polynomial = {degree: polynomial_margins(degree, 22, PAIRS, second) for degree in (2, 4, 8)}
order, scores = [], {}
for degree, found in polynomial.items():
    for where, part in (("example 2", found[0]), ("random pairs", found[1:].T)):
        names = [f"{method}, degree {degree}, {where}" for method in ("best fit", "augmentation")]
        scores |= dict(zip(names, part, strict=True))
        order.append(" > ".join(names))
wins = {d: np.mean(found[1:, 0] > found[1:, 1]) for d, found in polynomial.items()}
run.claim(
    "liu2022/larger-margin-polynomial",
    order=order,
    scores=scores,
    paired=True,
    exact="example 2 is two given points",
    note="share of the random pairs with the larger margin: "
    + ", ".join(f"{share:.0%} at degree {d}" for d, share in wins.items()),
)

# %% [markdown]
# ## Higher dimensions
#
# "Benefits will be even more pronounced in higher dimensions." The augmented machine with a linear
# kernel sees brightness alone, in one direction of $m$; half the difference along it is its margin,
# $|\sum_p x_1^{(p)} - \sum_p x_2^{(p)}| / 2\sqrt m$. Best fit: $\{f \le 0\}$ is a union of $m$
# polyhedra, one for each $S$ that may attain $\max_S \langle x, S x_1 \rangle$,
#
# $$a \langle x, T x_2 \rangle - a \langle x, S x_1 \rangle + b \le 0
#   \quad\text{for all } T,$$
#
# and the distance of $x_2$ to each is a quadratic program.


# %%
def to_polyhedron(point, A, c):
    """Distance of a point to {x: A x <= c}, or infinity: Lawson and Hanson's least distance."""
    E = np.vstack([-A.T, A @ point - c])
    y, residual = nnls(E, np.eye(len(E))[-1])
    if residual < 1e-9:
        return np.inf
    r = E @ y - np.eye(len(E))[-1]
    return np.linalg.norm(r[:-1] / r[-1])


def best_fit_margin(x, shifts):
    """Least distance of two samples to the boundary of the linear best-fit machine."""
    m = x.shape[1]
    a, b = two_point_machine(BestFit(Linear(), shifts)(x) / m)
    first, second = a * shifts.act(shifts.elements(), x).swapaxes(0, 1) / m
    to_first = min(to_polyhedron(x[1], second - row, np.full(m, -b)) for row in first)
    to_second = min(to_polyhedron(x[0], first - row, np.full(m, b)) for row in second)
    return min(to_first, to_second)


@run.cache
def log_ratios(m, seed, pairs):
    """Logarithms of best-fit over augmented margin of random pairs."""
    random = np.random.default_rng([seed, m]).random((pairs, 2, m))
    best = np.array([best_fit_margin(x, CyclicShifts(m)) for x in random])
    augmented = np.abs(np.diff(random.sum(axis=2), axis=1)[:, 0]) / (2 * np.sqrt(m))
    return np.log(best / augmented)


assert abs(best_fit_margin(X, group) - margins["best-fit"]) < 1e-4  # by quadratic programs
pixels = (2, 4, 8, 16)
ratios = {m: log_ratios(m, 21, MANY) for m in pixels}
run.claim(
    "liu2022/margin-higher-dimension",
    order=" > ".join(f"{m} pixels" for m in pixels[::-1]),
    scores={f"{m} pixels": values for m, values in ratios.items()},
    note="mean logarithm of best-fit over augmented margin; median ratios "
    + ", ".join(f"{np.exp(np.median(values)):.1f}" for values in ratios.values()),
)

# %%
best, augmentation = np.moveaxis([found[1:] for found in polynomial.values()], 2, 0)
gaps = {d: mean_se(b - a) for d, b, a in zip(polynomial, best, augmentation, strict=True)}
ahead = [str(d) for d, (gap, error) in gaps.items() if gap > 2 * error]
means, errors = np.transpose([mean_se(values) for values in ratios.values()])
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
panel(
    left,
    [*polynomial],
    {"best fit": ("l-ti-ri", best.T), "augmentation": ("augmentation", augmentation.T)},
    xlabel="degree",
    ylabel="mean margin",
    ylim=(0, None),
    title=f"Polynomials: best fit is ahead at degrees {', '.join(ahead) or None}",
)
panel(
    right,
    pixels,
    {"": ("l-ti-ri", np.exp(means), {"error": np.exp(means) * errors})},
    log="x",
    ends=None,
    ylim=(0, None),
    xlabel="pixels",
    ylabel="best-fit over augmented margin",
    title=f"Linear: from {np.exp(means[0]):.1f} to {np.exp(means[-1]):.1f} times the margin",
)
caption = f"{PAIRS} random pairs on the left, {MANY} on the right; two standard errors."
run.figure(fig, "beyond-example2", caption=caption)

# %% [markdown]
# ## Try it
#
# `invariance run liu2022/margins -p second [5.0,4.0]`: near the axis the boundaries come close.
