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
# *Two to six indistinguishable particles, an energy that no rotation changes, and forces that rotate
# with the particles. Spectral averaging by ridge regression has by far the least error.*
#
# A point is $x = (x_1, \dots, x_M)$ with $x_i$ on the unit sphere, and the energy
#
# $$f(x) = \sum_{i < j} \frac{1}{\sqrt{1 + |x_i - x_j|^2}}$$
#
# changes neither when particles change places nor when all of them turn together: its group is
# $S_M \times SO(3)$, which is infinite. Spectral averaging (Soleymani et al. 2025) needs only the
# generators of the group: two exchanges, and the three generators of the Lie algebra of $SO(3)$,
# which annihilate exactly the invariant functions. The alternative is to average a kernel over a
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
from _trials import regression_trial

from invariance.beyond import Product, Rotations3D
from invariance.companion import Run
from invariance.evaluation import best_by_leave_one_out
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import SpectralAveraging, Sphere, invariance_discrepancy

run = Run("compare/particles", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
NOISE = 0.1
DEGREES = {2: 40, 3: 24, 4: 14, 5: 14, 6: 12}  # largest eigenvalues, for one second of work
if FULL:
    PARTICLES = (2, 3, 4, 5, 6)
    N_TRAIN = 200
    N_TEST = 300
    N_DRAWS = 10
    N_ELEMENTS = {"local": 10, "average-fit": 40}  # averaged over, by method
    GAMMAS = (0.1, 0.3, 1.0)
else:
    PARTICLES = (2, 3)
    N_TRAIN = 40
    N_TEST = 60
    N_DRAWS = 2
    N_ELEMENTS = {"local": 30}
    GAMMAS = (0.3, 1.0)
    DEGREES[3] = 12


# %%
def manifold(n_particles):
    return Product([Sphere(3)] * n_particles, exchangeable=True)


def averaging(n_particles, outputs=None):
    return SpectralAveraging(
        manifold(n_particles),
        Rotations3D(),
        degree=DEGREES[n_particles],
        estimator="ridge",
        outputs=outputs,
    )


# %%
def energy(X):
    """Return the sum over pairs of particles."""
    particles = X.reshape(len(X), -1, 3).swapaxes(0, 1)
    total = 0
    for first, second in combinations(particles, 2):
        squares = np.sum((first - second) ** 2, axis=1)
        total = total + 1 / np.sqrt(1 + squares)
    return total


# %%
def draw(n_particles, repetition):
    """Return training points and noisy energies, and test points and energies, standardized."""
    rng = np.random.RandomState(1000 * seed + repetition)
    space = manifold(n_particles)
    X = space.sample(N_TRAIN, rng)
    X_test = space.sample(N_TEST, rng)
    reference = energy(space.sample(5000, 0))
    y = (energy(X) - reference.mean()) / reference.std()
    y_test = (energy(X_test) - reference.mean()) / reference.std()
    return X, y + NOISE * rng.standard_normal(N_TRAIN), X_test, y_test


# %% [markdown]
# How many of the functions are invariant? And what share of the n D values of eigenfunctions does a
# fit compute?

# %%
for M in PARTICLES:
    points = manifold(M).sample(N_TRAIN, seed)
    model = averaging(M).fit(points, energy(points))
    n_functions = model.basis_.n_functions_
    run.say(
        "{M} particles, eigenvalues up to {degree}: {kept} of {all:,} functions are invariant; a "
        "fit asks for {share:.0%} of their values.",
        M=M,
        degree=DEGREES[M],
        kept=int(model.invariant_dimensions_.sum()),
        all=n_functions,
        share=model.oracle_calls_.eigenfunctions / (N_TRAIN * n_functions),
    )

# %% [markdown]
# ## The methods
#
# Kernels have bandwidth and penalty by leave-one-out; the averaged one transforms both arguments.
# Spectral averaging chooses its penalty by leave-one-out and nothing else.

# %%
NAMES = {"krr": "plain kernel ridge"}
for method, n_elements in N_ELEMENTS.items():
    NAMES[method] = f"averaged kernel, {n_elements} sampled elements"
NAMES["spec-avg-ridge"] = "spectral averaging, ridge"


def group_of(n_particles):
    return Permutations(n_particles, block=3).then(Rotations3D())


# %%
def fit(method, X, y, n_particles, repetition):
    """Return a function from points to values."""
    if method == "spec-avg-ridge":
        return averaging(n_particles).fit(X, y).predict
    kernels = [Gaussian(gamma) for gamma in GAMMAS]
    if method in N_ELEMENTS:
        group = group_of(n_particles)
        options = {"n_transforms": N_ELEMENTS[method], "random_state": repetition}
        kernels = [Average(kernel, group, **options) for kernel in kernels]
    return best_by_leave_one_out(kernels, RLSRegressor(), X=X, y=y)


# %%
@run.cache
def compare(method, n_particles, repetition):
    X, y, X_test, y_test = draw(n_particles, repetition)
    return regression_trial(
        lambda: fit(method, X, y, n_particles, repetition),
        X_test,
        y_test,
        group=group_of(n_particles),
        n_elements=10,
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# A sample of an infinite group does not make a function invariant; the projection does, to
# rounding. Its cost grows with the eigenspaces, and these grow fast with the number of particles.
# With many particles the cutoff has to be low, and the error is that of the omitted functions.

# %%
trials = {}
for M in PARTICLES:
    for method in NAMES:
        trials[method, M] = [compare(method, M, repetition) for repetition in range(N_DRAWS)]

# %%
table = show(
    run,
    trials,
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
# the parameter `outputs` is the group's action on the values. The plain kernel has to learn the effect
# of a rotation.


# %%
def force(X):
    """Return minus the gradient of the energy along the sphere."""
    particles = X.reshape(len(X), -1, 3)
    gaps = particles[:, :, None] - particles[:, None]
    squares = np.sum(gaps**2, axis=3, keepdims=True)
    pull = np.sum(gaps / (1 + squares) ** 1.5, axis=2)
    radial = np.sum(pull * particles, axis=2, keepdims=True)
    return (pull - radial * particles).reshape(X.shape)


X = manifold(3).sample(N_TRAIN, seed + N_TRAIN)
X_test = manifold(3).sample(N_TEST, seed + N_TEST)
equivariant = averaging(3, outputs=Rotations3D()).fit(X, force(X))
plain = RLSRegressor(kernel=Gaussian(0.3)).fit(X, force(X))

# %%
for name, model in {"Equivariant": equivariant, "Plain kernel ridge": plain}.items():
    discrepancy = invariance_discrepancy(
        model.predict,
        Rotations3D(),
        X_test,
        outputs=Rotations3D(),
        n_elements=5,
        relative=True,
    )
    run.say(
        "{name}: $R^2$ is {r2:.4f}, relative discrepancy {gap:.0e}.",
        name=name,
        r2=model.score(X_test, force(X_test)),
        gap=discrepancy.max(),
    )
assert equivariant.discrepancy(X_test, n_elements=5) < 1e-12
