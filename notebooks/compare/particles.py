# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Particles on a sphere: exchange and rotation at once
#
# *Two to six particles that cannot be told apart, an energy that no rotation changes, and forces
# that turn with them.*
#
# A point is $x = (x_1, \dots, x_M)$ with $x_i$ on the unit sphere, and the energy
#
# $$f(x) = \sum_{i < j} \frac{1}{\sqrt{1 + |x_i - x_j|^2}}$$
#
# changes neither when particles change places nor when all of them turn together: its group is
# $S_M \times SO(3)$, which is infinite. Spectral averaging (Soleymani et al. 2025) takes the
# group by its generators: two exchanges, and the three generators of the Lie algebra of $SO(3)$,
# which annihilate exactly the invariant functions. Otherwise one would average a kernel over a
# *sample* of the group; more elements make it better and slower.
#
# The protocol: normal noise of a tenth of the energy's standard deviation, mean squared error at
# 300 further points in units of its variance; discrepancy and times as in `compare/torus`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
from itertools import combinations

import numpy as np
from _comparison import show

from invariance.beyond import Product, Rotations3D
from invariance.companion import Run
from invariance.evaluation import best_by_leave_one_out, trial
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import SpectralAveraging, Sphere, invariance_discrepancy

run = Run("compare/particles", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
PARTICLES = (2, 3, 4, 5, 6) if FULL else (2, 3)
SIZE, DRAWS, TEST, NOISE = (200, 10, 300, 0.1) if FULL else (40, 2, 60, 0.1)
SAMPLED = {"local": 10, "average-fit": 40} if FULL else {"local": 30}  # elements averaged over
GAMMAS = (0.1, 0.3, 1.0) if FULL else (0.3, 1.0)
DEGREES = {2: 40, 3: 24 if FULL else 12, 4: 14, 5: 14, 6: 12}  # eigenvalues, for a second's work


# %%
def manifold(M):
    return Product([Sphere(3)] * M, exchangeable=True)


def averaging(M, **how):
    group = Rotations3D()
    return SpectralAveraging(manifold(M), group, degree=DEGREES[M], estimator="ridge", **how)


def energy(X):
    particles = X.reshape(len(X), -1, 3)
    pairs = combinations(particles.swapaxes(0, 1), 2)
    return sum(1 / np.sqrt(1 + np.sum((a - b) ** 2, axis=1)) for a, b in pairs)


def draw(M, repetition):
    rng = np.random.RandomState(1000 * seed + repetition)
    X, Z = manifold(M).sample(SIZE, rng), manifold(M).sample(TEST, rng)
    reference = energy(manifold(M).sample(5000, 0))
    y, t = ((energy(points) - reference.mean()) / reference.std() for points in (X, Z))
    return X, y + NOISE * rng.standard_normal(SIZE), Z, t


# %% [markdown]
# How many functions are invariant, of how many? And how many values of eigenfunctions does a fit
# ask for, of the n D that there are?

# %%
for M in PARTICLES:
    points = manifold(M).sample(SIZE, seed)
    model = averaging(M).fit(points, energy(points))
    run.say(
        "{M} particles, eigenvalues up to {degree}: {kept} of {all:,} functions are invariant; a "
        "fit asks for {share:.0%} of their values.",
        M=M,
        degree=DEGREES[M],
        kept=int(model.invariant_dimensions_.sum()),
        all=model.basis_.n_functions_,
        share=model.oracle_calls_.eigenfunctions / (SIZE * model.basis_.n_functions_),
    )

# %% [markdown]
# ## The methods
#
# Kernels have bandwidth and penalty by leave-one-out; the averaged one transforms both arguments.
# Spectral averaging chooses its penalty by leave-one-out and nothing else.

# %%
NAMES = {"krr": "plain kernel ridge"}
NAMES |= {name: f"averaged kernel, {r} sampled elements" for name, r in SAMPLED.items()}
NAMES |= {"spec-avg-ridge": "spectral averaging, ridge"}


def group(M):
    return Permutations(M, block=3).then(Rotations3D())


def fit(method, X, y, M, repetition):
    """A function from points to values."""
    if method == "spec-avg-ridge":
        return averaging(M).fit(X, y).predict
    kernels = [Gaussian(gamma) for gamma in GAMMAS]
    if method in SAMPLED:
        drawn = {"n_transforms": SAMPLED[method], "random_state": repetition}
        kernels = [Average(kernel, group(M), **drawn) for kernel in kernels]
    return best_by_leave_one_out(kernels, RLSRegressor(), X=X, y=y)


@run.cache
def compare(method, M, repetition):
    X, y, Z, t = draw(M, repetition)
    how = dict(n_elements=10, relative=True)
    return trial(
        lambda: fit(method, X, y, M, repetition),
        Z,
        score=lambda predicted: np.mean((predicted - t) ** 2),
        discrepancy=lambda f: invariance_discrepancy(f, group(M), Z[:10], **how),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# A sample of an infinite group does not make a function invariant; the projection does, to
# rounding. Its cost grows with the eigenspaces, and these grow fast with the number of particles.
# Where the cutoff has to be low, the error is that of the functions left out.

# %%
table = show(
    run,
    {(m, M): [compare(m, M, r) for r in range(DRAWS)] for M in PARTICLES for m in NAMES},
    NAMES,
    score="mean squared error / variance",
    discrepancy="relative discrepancy",
    higher_is_better=False,
    across="particles",
)
assert table.set_index("method").loc["spec-avg-ridge", "discrepancy"].max() < 1e-12

# %% [markdown]
# ## Forces
#
# The force on each particle is a vector that turns with the whole, $F(g x) = g F(x)$. Such functions
# are the invariants of pairs of an eigenfunction and an output, and the same projection finds them:
# `outputs` says how the values turn. The plain kernel has to learn what a rotation does.


# %%
def force(X):
    """Minus the gradient of the energy along the sphere."""
    p = X.reshape(len(X), -1, 3)
    gaps = p[:, :, None] - p[:, None]
    pull = np.sum(gaps / (1 + np.sum(gaps**2, axis=3, keepdims=True)) ** 1.5, axis=2)
    return (pull - np.sum(pull * p, axis=2, keepdims=True) * p).reshape(X.shape)


X, Z = (manifold(3).sample(n, seed + n) for n in (SIZE, TEST))
turning = averaging(3, outputs=Rotations3D()).fit(X, force(X))
plain = RLSRegressor(kernel=Gaussian(0.3)).fit(X, force(X))
for name, model in {"equivariant": turning, "plain kernel ridge": plain}.items():
    how = dict(outputs=Rotations3D(), n_elements=5, relative=True)
    run.say(
        "{name}: $R^2$ is {r2:.4f}, relative discrepancy {gap:.0e}.",
        name=name.capitalize(),
        r2=model.score(Z, force(Z)),
        gap=invariance_discrepancy(model.predict, Rotations3D(), Z, **how).max(),
    )
assert turning.discrepancy(Z, n_elements=5) < 1e-12
