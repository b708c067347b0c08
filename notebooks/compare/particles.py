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
# which annihilate exactly the invariant functions. So the fitted function is invariant up to
# rounding. Otherwise one would average a kernel over a *sample* of the group; more elements
# make it better and slower.
#
# The protocol: normal noise of a tenth of the energy's standard deviation, mean squared error at
# 300 further points in units of its variance, discrepancy relative to the largest value, CPU
# seconds of fitting, choice of parameters included, and of predicting those points.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
from itertools import combinations

import numpy as np
import pandas as pd

from invariance.companion import Run, mean_se
from invariance.companion.run.comparison import say_best, show
from invariance.evaluation import best_by_leave_one_out, trial
from invariance.groups import Permutations, Rotations3D
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import Product, SpectralAveraging, Sphere, invariance_discrepancy

run = Run("compare/particles", profile=profile, seed=seed)

# %%
FULL = not run.quick
PARTICLES = (2, 3, 4, 5, 6) if FULL else (2, 3)
SIZE, DRAWS, TEST, NOISE = (200, 10, 300, 0.1) if FULL else (40, 2, 60, 0.1)
SAMPLED = (10, 40) if FULL else (30,)  # elements that kernels are averaged over
GAMMAS = (0.1, 0.3, 1.0) if FULL else (0.3, 1.0)
# The highest eigenvalue kept, by what it costs: about a second of work at most.
DEGREES = {2: 40, 3: 24 if FULL else 12, 4: 14, 5: 14, 6: 12}


# %%
def manifold(M):
    return Product([Sphere(3)] * M, exchangeable=True)


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
rows = []
for M in PARTICLES:
    points = manifold(M).sample(SIZE, seed)
    model = SpectralAveraging(manifold(M), Rotations3D(), degree=DEGREES[M], estimator="ridge")
    model.fit(points, energy(points))
    rows.append(
        {
            "particles": M,
            "highest eigenvalue": DEGREES[M],
            "eigenfunctions": model.basis_.n_functions_,
            "invariant": int(model.invariant_dimensions_.sum()),
            "evaluations, at most": SIZE * model.basis_.n_functions_,
            "evaluations made": model.oracle_calls_.eigenfunctions,
        }
    )
run.table(
    rows, "dimensions", caption="What is kept, what of it is invariant, and what a fit asks for."
)
print(pd.DataFrame(rows).round(2).to_string(index=False))

# %% [markdown]
# ## The methods
#
# The averaged kernel transforms both of its arguments by the sampled elements, and its bandwidth
# is chosen by leave-one-out, as for the plain kernel. Spectral averaging chooses its penalty by
# leave-one-out and nothing else.

# %%
NAMES = {"krr": "plain kernel ridge"}
NAMES |= {f"local-{r}": f"averaged kernel, {r} sampled elements" for r in SAMPLED}
NAMES |= {"spec-avg-ridge": "spectral averaging, ridge"}


def group(M):
    return Permutations(M, block=3).then(Rotations3D())


def fit(method, X, y, M, repetition):
    """A function from points to values."""
    if method == "spec-avg-ridge":
        model = SpectralAveraging(manifold(M), Rotations3D(), degree=DEGREES[M], estimator="ridge")
        return model.fit(X, y).predict
    kernels = [Gaussian(gamma) for gamma in GAMMAS]
    if method.startswith("local"):
        drawn = {"n_transforms": int(method.removeprefix("local-")), "random_state": repetition}
        kernels = [Average(kernel, group(M), **drawn) for kernel in kernels]
    return best_by_leave_one_out(kernels, RLSRegressor(), X=X, y=y)


@run.cache
def compare(method, M, repetition):
    X, y, Z, t = draw(M, repetition)
    return trial(
        lambda: fit(method, X, y, M, repetition),
        Z,
        score=lambda predicted: np.mean((predicted - t) ** 2),
        discrepancy=lambda f: invariance_discrepancy(
            f, group(M), Z[:10], n_elements=10, relative=True
        ),
        memory=repetition == 0,
        apart=FULL,
    )


trials = {
    (method, M): [compare(method, M, r) for r in range(DRAWS)]
    for M in PARTICLES
    for method in NAMES
}

# %% [markdown]
# ## Results

# %%
LOOKS = {"krr": "krr", "spec-avg-ridge": "spec-avg-ridge"}
LOOKS |= {f"local-{r}": look for r, look in zip(SAMPLED, ("local", "average-fit"), strict=False)}
shown = {(LOOKS[method], M): draws for (method, M), draws in trials.items()}
names = {LOOKS[method]: name for method, name in NAMES.items()}
show(
    run,
    shown,
    names,
    score="mean squared error / variance",
    discrepancy="relative discrepancy",
    higher_is_better=False,
    across="particles",
)
say_best(
    run, shown, names, unit="thousandths", scale=1000, across="particles", higher_is_better=False
)

# %% [markdown]
# Draw by draw, how much larger is the averaged kernel's error, and how do the times compare?

# %%
best = f"local-{SAMPLED[-1]}"
for M in PARTICLES:
    ours, theirs = (np.array(trials[method, M], dtype=float) for method in ("spec-avg-ridge", best))
    ratio = mean_se(np.log(theirs[:, 0] / ours[:, 0]))
    run.say(
        "{M} particles: {error:.1f} times the error (a factor of {factor:.2f} either way) in "
        "{time:.1f} times the time; largest discrepancy of spectral averaging {gap:.0e}.",
        M=M,
        error=np.exp(ratio.mean),
        factor=np.exp(ratio.se),
        time=theirs[:, 2:4].sum() / ours[:, 2:4].sum(),
        gap=ours[:, 1].max(),
    )
    assert ours[:, 1].max() < 1e-12

# %% [markdown]
# ## Forces
#
# The force on each particle is a vector that turns with the whole, $F(g x) = g F(x)$, and changes
# places with its particle. Such functions are the invariants of pairs of an eigenfunction and an
# output, so that the same projection finds them: `outputs` says how the values turn.


# %%
def force(X):
    """Minus the gradient of the energy along the sphere."""
    p = X.reshape(len(X), -1, 3)
    gaps = p[:, :, None] - p[:, None]
    pull = np.sum(gaps / (1 + np.sum(gaps**2, axis=3, keepdims=True)) ** 1.5, axis=2)
    return (pull - np.sum(pull * p, axis=2, keepdims=True) * p).reshape(X.shape)


X, Z = (manifold(3).sample(n, seed + n) for n in (SIZE, TEST))
turning = SpectralAveraging(
    manifold(3), Rotations3D(), outputs=Rotations3D(), degree=DEGREES[3], estimator="ridge"
).fit(X, force(X))
plain = RLSRegressor(kernel=Gaussian(0.3)).fit(X, force(X))
for name, model in {"equivariant": turning, "plain kernel ridge": plain}.items():
    gap = invariance_discrepancy(
        model.predict, Rotations3D(), Z, outputs=Rotations3D(), n_elements=5, relative=True
    ).max()
    run.say(
        "{name}: $R^2$ is {r2:.4f}, relative discrepancy {gap:.0e}.",
        name=name.capitalize(),
        r2=model.score(Z, force(Z)),
        gap=gap,
    )
assert turning.discrepancy(Z, n_elements=5) < 1e-12

# %% [markdown]
# ## What it shows
#
# A sample of an infinite group does not make a function invariant, however many elements it has;
# the projection does, to rounding. What it costs grows with the eigenspaces, and these grow fast
# with the number of particles, while the invariant functions among them stay few. From where the
# cutoff has to be low, the error is that of the functions left out and no longer that of the noise.

# %%
last = rows[-1]
run.say(
    "With {M} particles {kept} of {all:,} functions are invariant, up to the eigenvalue {degree}.",
    M=last["particles"],
    kept=last["invariant"],
    all=last["eigenfunctions"],
    degree=last["highest eigenvalue"],
)

# %% [markdown]
# The same projection finds equivariant forces. The plain kernel has to learn what a rotation does.
