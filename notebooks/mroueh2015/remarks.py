# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Other templates, other points, part of a group: remarks 1, 3 and 4
#
# *Mroueh, Voinea and Poggio (2015).*
#
# Theorem 1 is stated for Gaussian templates, points of norm one and a whole group. The remarks say
# that none of it is needed. All of them hold, and remark 1 holds with *better* constants: templates
# on the sphere need no rejection, and the kernel lies within $1 / (d \sqrt{2 \pi d})$ of its limit,
# at any dimension.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, mean_se, shades
from invariance.features import GroupCDF
from invariance.groups import (
    CyclicShifts,
    DirectProduct,
    OrthogonalMatrices,
    Permutations,
    SignFlips,
    Transformations,
)
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

run = Run("mroueh2015/remarks", profile=profile, seed=seed)
SETTINGS = {
    "quick": {
        "dimensions": (4, 16),
        "local dimensions": (8, 32),
        "points": 8,
        "maps": 10,
        "nodes": 40,
        "draws": 40,
    },
    "full": {
        "dimensions": (4, 8, 16, 64),
        "local dimensions": (8, 16, 32, 64, 128),
        "points": 12,
        "maps": 40,
        "nodes": 100,
        "draws": 400,
    },
}[profile]
slacks = (0.1, 0.3, 0.6, 0.9)


# %%
def turns(order, d):
    """Rotations of all d / 2 coordinate planes by multiples of 2 pi / order."""
    c, s = np.cos(2 * np.pi / order), np.sin(2 * np.pi / order)
    return OrthogonalMatrices([np.kron(np.eye(d // 2), [[c, -s], [s, c]])])


def groups(d):
    flips = SignFlips(4) if d == 4 else DirectProduct([SignFlips(4), CyclicShifts(1, block=d - 4)])
    return {
        "permutations": Permutations(4, block=d // 4),
        "cyclic shifts": CyclicShifts(4, block=d // 4),
        "sign flips": flips,
        "rotations": turns(24, d),
    }


def sphere(n, d, rng):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def both_sides(gap, d, eps, R):
    """K_s - (s - d_G) <= delta1 and (s - d_G) - K_s <= delta2, and what each can ever be."""
    most = 2 * R / np.sqrt(2 * np.pi * d)
    return [
        (gap, theory.theorem1_delta1(d, eps, R=R), most),
        (-gap, theory.theorem1_delta2(d, eps, R=R), R * (1 + eps)),
    ]


def inequalities(parts):
    """The numbers of a bound claim from (left, right, ceiling) of equal or single size."""
    rows = [np.broadcast_arrays(*part) for part in parts]
    names = ("lhs", "rhs", "ceiling")
    return {n: np.concatenate([np.ravel(r[i]) for r in rows]) for i, n in enumerate(names)}


# %% [markdown]
# ## Remark 1: templates on the sphere
#
# A direction on the sphere is a Gaussian vector divided by its length. Hence, exactly,
#
# $$ K_s - (s - d_G) = -(c_d - 1)\, d_G, \qquad
#    c_d = \sqrt{d/2}\; \Gamma(d/2) / \Gamma((d+1)/2) \le \sqrt{1 + 1/d}, \qquad s = 1 : $$
#
# theorem 1 with $\delta_1 = 0$ and $\delta_2 = 1 / (d \sqrt{2 \pi d})$ (`theory.sphere_slack`).
# The left side is measured by the definition: an integral over a grid of directions in two and
# three dimensions, of products of distribution functions (`theory.cdf_products`).
#
# Theorem 2's concentration carries over too: a template's term lies in $[0, 2s]$, now with $s =
# 1$, so that m templates err by at most $\sqrt{2 \log(2 N^2/\delta) / m}$ on all pairs of N
# points, with probability $1 - \delta$. That is tightest where the terms use their range: few
# dimensions, small groups.


# %%
def directions(d, n):
    """A grid of unit vectors in two or three dimensions and its weights."""
    angle = (np.arange(2 * n) + 0.5) * np.pi / n
    if d == 2:
        return np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(2 * n, 0.5 / n)
    height, share = np.polynomial.legendre.leggauss(n)
    radius = np.sqrt(1 - height**2)[:, None]
    parts = radius * np.cos(angle), radius * np.sin(angle), height[:, None] + 0 * angle
    return np.stack(parts, axis=-1).reshape(-1, 3), np.repeat(share / (4 * n), 2 * n)


def kernel_by_definition(group, X, templates, weights):
    """Expected integral over thresholds of the product of distribution functions; s = 1."""
    orbits = group.act(group.elements(), templates)
    terms = [theory.cdf_products(X @ orbits[:, j].T, 1 + 1e-12) for j in range(len(templates))]
    return np.tensordot(weights, np.array(terms), 1)


planar = {
    "identity": OrthogonalMatrices([np.eye(2)]),
    "sign flips": SignFlips(2),
    "turns by 60°": turns(6, 2),
}
spatial = {"permutations": Permutations(3), "cyclic shifts": CyclicShifts(3)}
parts, rows = [], []
for d, listed in ((2, planar), (3, spatial)):
    templates, weights = directions(d, SETTINGS["nodes"] if d == 3 else 20 * SETTINGS["nodes"])
    X = sphere(6, d, run.rng)
    pairs = np.triu_indices(len(X))
    for name, group in listed.items():
        D = theory.orbit_distance(group.act(group.elements(), X))[pairs]
        gap = 1 - D - kernel_by_definition(group, X, templates, weights)[pairs]
        parts.append((gap, theory.sphere_slack(d), 1.0))
        parts.append((-gap, 1e-9, 1.0))
        rows.append({"d": d, "group": name, "largest (s - d_G) - K_s": gap.max()})
for row in rows:
    row["bound"] = float(theory.sphere_slack(row["d"]))
    row["delta2 of Gaussian templates"] = float(theory.theorem1_delta2(row["d"], 0.5))
run.table(pd.DataFrame(rows).round(4), "sphere", caption="Theorem 1 for templates on the sphere.")

# %%
delta, concentration = 0.05, []
for d, name, N in ((2, "identity", 1), (2, "identity", 4), (2, "sign flips", 4), (3, "shifts", 4)):
    group = planar[name] if d == 2 else spatial["cyclic shifts"]
    X = sphere(N, d, run.rng)
    D = theory.orbit_distance(group.act(group.elements(), X))
    K = 1 - D + theory.sphere_gap(D, d)
    for m in (16, 64):
        errors = [
            np.abs(
                kernel_by_definition(group, X, sphere(m, d, run.rng), np.full(m, 1 / m)) - K
            ).max()
            for _ in range(SETTINGS["draws"])
        ]
        found = np.quantile(errors, 1 - delta)
        bound = np.sqrt(2 * np.log(2 * N**2 / delta) / m)
        parts.append((found, bound, 2.0))
        concentration.append(
            {
                "d": d,
                "group": name,
                "points": N,
                "templates": m,
                "95 % quantile": round(found, 4),
                "bound": round(bound, 4),
                "tightness": round(bound / found, 2),
            }
        )
run.table(concentration, "sphere-concentration", caption="Theorem 2 for templates on the sphere.")
run.claim(
    "mroueh2015/remark1-sphere",
    **inequalities(parts),
    note="theorem 1's two sides with s = 1, delta1 = 0 and delta2 = 1 / (d sqrt(2 pi d)), the "
    "kernel "
    "by quadrature over directions; theorem 2's concentration as 95 % quantiles over "
    f"{SETTINGS['draws']} draws of templates",
)

# %% [markdown]
# ## Remark 4: templates of any distribution
#
# For unit templates with any density the expected kernel is
#
# $$ K_s(x, z) = \int_G \int_G \Bigl( \int s - \max(\langle x, gt \rangle, \langle z, g't \rangle)\,
#    p(t)\, dt \Bigr) d\mu(g)\, d\mu(g') $$
#
# (`theory.remark4_kernel`, every pair of elements visited). The left side is again the definition,
# the integral over thresholds. Three densities: a von Mises density on directions of the plane,
# whole points of a data set with unequal weights, and one-hot vectors.

# %%
differences = []
angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
uneven = np.exp(2 * np.cos(angle - 1))
densities = [
    (planar, np.stack([np.cos(angle), np.sin(angle)], axis=1), uneven / uneven.sum()),
    (groups(8), sphere(20, 8, run.rng), run.rng.dirichlet(np.ones(20))),
    (groups(8), np.eye(8), run.rng.dirichlet(np.ones(8))),
]
for listed, templates, weights in densities:
    for group in listed.values():
        X = sphere(5, templates.shape[1], run.rng)
        orbits = group.act(group.elements(), templates)
        projections = np.einsum("nd,gtd->tng", X, orbits)
        visited = theory.remark4_kernel(projections, weights, s=1.0)
        differences.append(
            np.abs(visited - kernel_by_definition(group, X, templates, weights)).max()
        )
run.claim("mroueh2015/remark4-general-templates", difference=differences, tolerance=1e-10)

# %% [markdown]
# ## Remark 3.2: local invariance
#
# Nothing in the computation needs a whole group. Restrict $g$ to a subset $\mathcal G$ with a
# probability measure and the orbit distance becomes a local one. Any set of transformations will
# do; a class of ten lines makes one out of chosen elements of a group:


# %%
class Chosen(Transformations):
    """Some elements of a group, with equal probabilities."""

    def __init__(self, group, chosen):
        self.group = group
        self.chosen = chosen

    @property
    def shape(self):
        return self.group.shape

    @property
    def order(self):
        return len(self.chosen)

    def elements(self):
        return np.asarray(self.chosen)

    def sample(self, n_samples, random_state=None):
        return self.elements()[
            np.random.RandomState(random_state).randint(self.order, size=n_samples)
        ]

    def _act(self, elements, X):
        return self.group.act(elements, X)


def windows(d):
    """Local subsets closed under inverses: turns up to 45°, near shifts, one swap at most."""
    circle, shifts, swaps = (
        turns(24, d),
        CyclicShifts(8, block=d // 8),
        Permutations(4, block=d // 4),
    )
    angles = circle.elements()[:, 0, 0]
    swap = np.array([e for e in swaps.elements() if np.sum(e != np.arange(1, 5)) <= 2])
    return {
        "rotations within 45°": Chosen(
            circle, circle.elements()[angles > np.cos(np.pi / 4) - 1e-9]
        ),
        "shifts by at most one": Chosen(shifts, shifts.elements()[[0, 1, 7]]),
        "at most one swap": Chosen(swaps, swap),
    }


parts = []
for d in SETTINGS["local dimensions"]:
    for window in windows(d).values():
        X = sphere(SETTINGS["points"], d, run.rng)
        D = theory.orbit_distance(window.act(window.elements(), X))
        for eps in slacks:
            gap = Average(CDF(epsilon=eps), window)(X) - (1 + eps - D)
            parts += both_sides(gap, d, eps, 1.0)

# %% [markdown]
# The paper prints the local distance with $gx$ and $g'z$, while transformed *templates* give
# $g^{-1}x$ and $g'^{-1}z$. On a set that is closed under inverses, as all of the above, it is the
# same. On one that is not, it is the inverses that count. Here is what templates give: a
# large feature map for two permutations of three coordinates, a swap and a three-cycle that comes
# without its inverse:

# %%
third = Permutations(3)
uneven = Chosen(third, [[2, 1, 3], [2, 3, 1]])
mirrored = Chosen(third, third.inverse(uneven.elements()))
X = np.array([[-2.0, 1.0, 1.0]]) / np.sqrt(6)
estimates = []
for _ in range(SETTINGS["maps"]):
    features = GroupCDF(
        uneven,
        4000,
        n_bins=50,
        epsilon=0.9,
        rejection="zero",
        s=1.9,
        random_state=int(run.rng.integers(2**31)),
    )
    Z = features.fit_transform(X)
    estimates.append(Z[0] @ Z[0])
mean, error = mean_se(estimates)
as_printed = Average(CDF(epsilon=0.9), uneven)(X)[0, 0]
inverted = Average(CDF(epsilon=0.9), mirrored)(X)[0, 0]
pd.DataFrame(
    {"K_s(x, x)": [f"{mean:.4f} ± {error:.4f}", f"{as_printed:.4f}", f"{inverted:.4f}"]},
    index=["features", "integral of |gx - g'z|", "integral of |g⁻¹x - g'⁻¹z|"],
)

# %%
run.claim(
    "mroueh2015/remark3-local",
    **inequalities(parts),
    note="the sandwich of theorem 1 with the local distance, on subsets closed under inverses; "
    "on others "
    f"the distance runs over inverses: features {mean:.4f} ± {error:.4f}, the printed integral "
    f"{as_printed:.4f}, the one over inverses {inverted:.4f}",
)

# %% [markdown]
# What local invariance means is best seen along one orbit. Turn a point by $\theta$ and compare:

# %%
d = 16
circle = turns(72, d)
listed = circle.elements()
angle = np.degrees(np.arctan2(listed[:, 1, 0], listed[:, 0, 0]))
order = np.argsort(angle)
x = sphere(1, d, run.rng)
fig, axis = plt.subplots(figsize=(6.4, 3.8))
for width, shade in zip((0, 30, 90, 180), shades("local", 4), strict=True):
    window = Chosen(circle, listed[np.abs(angle) <= width + 1e-9]) if width < 180 else circle
    along = Average(CDF(epsilon=0.3), window)(x, circle.act(listed, x)[:, 0])[0]
    axis.plot(
        angle[order],
        along[order],
        color=shade,
        label=f"within ±{width}°" if width < 180 else "whole group",
    )
axis.set(
    xlabel="rotation of z = g x (degrees)",
    ylabel="$K_s(x, gx)$",
    xticks=np.arange(-180, 181, 60),
    title="The wider the window, the less the kernel notices a rotation",
)
axis.legend()
run.figure(
    fig,
    "local",
    alt="K_s between a point and its rotated copy against the angle: sharply peaked without "
    "averaging, flatter and lower with growing windows, constant for the whole group.",
    caption="The larger the window, the less the kernel notices a small rotation; a large one "
    "still counts.",
)

# %% [markdown]
# ## Remark 3.3: points of any norm
#
# With $|x| \le R$ and $s = R(1 + \varepsilon)$ equation (4) scales both slacks by $R$; the one
# call is `theory.theorem1_sandwich(d, eps, R=R)`. Norms are drawn uniformly up to $R$, with one
# point of norm $R$ itself.

# %%
parts = []
for R in (0.5, 2.0, 10.0):
    for d in SETTINGS["dimensions"]:
        for group in groups(d).values():
            X = sphere(10, d, run.rng) * R * np.r_[1.0, run.rng.uniform(0, 1, 9)][:, None]
            D = theory.orbit_distance(group.act(group.elements(), X))
            for eps in slacks:
                gap = Average(CDF(epsilon=eps, radius=R), group)(X) - (R * (1 + eps) - D)
                parts += both_sides(gap, d, eps, R)
run.claim("mroueh2015/remark3-norm", **inequalities(parts))
