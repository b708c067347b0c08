# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The circle under rotations by $2\pi / k$
#
# *Soleymani, Tahmasebi, Jegelka and Jaillet (2025), Example 5.3.*
#
# The manifold is the circle, a point an angle $x$. Eigenspace $m$ of the Laplacian is spanned by
# $\sqrt2 \cos mx$ and $\sqrt2 \sin mx$, with eigenvalue $m^2$. The group of rotations by multiples of
# $2\pi/k$ is cyclic, so one generator, and one constraint per eigenspace, is enough:
#
# $$D^{(m)}(g_0)
# = \begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix},
# \qquad \theta = \frac{2\pi m}{k}, \qquad D^{(m)}(g_0) f_m = f_m .$$
#
# A plane rotation fixes nothing but the origin unless it is the identity. So $f_m = 0$ unless $k$
# divides $m$: the invariant functions are those of period $2\pi/k$, as they should be.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
k: int = 5  # order of the rotations in the picture
noise: float = 0.4  # standard deviation of the samples

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge

from invariance import spectral
from invariance.companion import Run, colour, family, panel
from invariance.groups import TorusTranslations
from invariance.spectral import Circle, SpectralAveraging, VonMisesKernel, project

run = Run("soleymani2025/circle_rotations", profile=profile, seed=seed, k=k, noise=noise)

# %% tags=["settings"]
many, large = [*range(1, 14), 21, 64, 100, 360], [200, 400, 800, 1600, 3200, 6400]
ORDERS, TOP, SIZES, REPETITIONS = {
    "quick": ([1, 2, 3, 5, 8, 13, 64], 40, [200, 400, 800], 5),
    "full": (many, 400, large, 40),
}[profile]


# %%
def rotations(k):
    """Rotations of the circle by multiples of 2 pi / k."""
    return TorusTranslations([k], period=2 * np.pi)


# %% [markdown]
# ## Oracle two is a plane rotation
#
# For many orders and frequencies: the difference of `basis.representation` from the matrix above;
# whether exactly the frequencies divisible by the order survive; and the projection of random
# coefficients against striking out all other frequencies by hand.

# %%
basis = Circle(degree=TOP)
frequency = np.repeat(np.arange(TOP + 1), basis.dimensions_)
differences = []
for order in ORDERS:
    group = rotations(order)
    # The trivial group has no generator; its only element is the identity.
    element = group.generators() if order > 1 else group.identity()
    assert len(group.generators()) == (order > 1)
    for m in range(TOP + 1):
        D = basis.representation(m, group, element)[0].toarray()
        c, s = np.cos(2 * np.pi * m / order), np.sin(2 * np.pi * m / order)
        differences.append(np.abs(D - ([[c, -s], [s, c]] if m else 1)).max())
    survive = np.arange(TOP + 1) % order == 0
    dimensions = [v.shape[1] for v in spectral.invariant_subspace(basis, group)]
    differences.append(float(np.abs(dimensions - survive * basis.dimensions_).max()))
    f = run.rng.standard_normal(basis.n_functions_)
    differences.append(np.abs(project(f, basis, group) - f * survive[frequency]).max())
run.claim(
    "soleymani2025/example5.3",
    difference=differences,
    tolerance=1e-10,
    note="D(g) against the plane rotation, dimensions of the invariants against divisibility, and "
    "the projection against striking out frequencies; every group has one generator, hence one "
    "constraint per eigenspace",
)

# %% [markdown]
# ## What it looks like
#
# Forty noisy values of a function with $k$-fold symmetry. Kernel ridge regression sees a function
# on the whole circle; Spec-Avg with the one generator sees all points folded into one $k$-th of it.

# %%
rng, group = np.random.RandomState(seed), rotations(k)


def target(x):
    return np.exp(np.sin(k * x)) - 1


x = Circle().sample(40, rng)
y = target(x[:, 0]) + noise * rng.standard_normal(40)
models = {
    "krr": KernelRidge(kernel=VonMisesKernel(eta=20.0, period=2 * np.pi), alpha=0.3),
    "spec-avg": SpectralAveraging(Circle(), group, degree=4 * k, estimator="mean"),
    "spec-avg-ridge": SpectralAveraging(
        Circle(), group, degree=8 * k, estimator="ridge", smoothness=2.0
    ),
}
fine = np.linspace(-np.pi, np.pi, 721)[:, None]
gaps = {
    name: float(
        spectral.invariance_discrepancy(model.fit(x, y).predict, group, fine[::10], relative=True)
    )
    for name, model in models.items()
}

# %%
figure, axis = plt.subplots(figsize=(8, 3.8))
axis.plot(fine, target(fine[:, 0]), color=colour("definition"), lw=1, label="target")
axis.plot(x[:, 0], y, "o", color="#bbbbbb", markersize=4, label="40 samples")
for name, model in models.items():
    words = f"{name}: discrepancy {gaps[name]:.0e}"
    axis.plot(fine, model.predict(fine), color=colour(name), label=words)
axis.set(
    xlabel="angle x, radians",
    ylabel="f(x)",
    title=f"Turned by 2π/{k}, kernel ridge regression changes by {gaps['krr']:.0%}, "
    f"Spec-Avg by {gaps['spec-avg']:.0e}",
)
figure.legend(loc="outside lower center", ncols=3)
caption = r"Relative discrepancies, all rotations of the group. The target is $\exp(\sin kx) - 1$."
run.figure(figure, "fits", caption=caption)

# %% [markdown]
# ## What invariance is worth
#
# With the cutoff fixed, the variance of an estimate is proportional to the number of functions that
# it estimates, and only one frequency in $k$ survives. So the same error is reached with almost $k$
# times fewer samples. The target here is $\cos 16x$, which is invariant under every group tried.

# %%
FACTORS = [1, 2, 4, 8, 16]


@run.cache
def squared_error(factor, n, noise, draw):
    """Of least squares among the functions that are invariant under rotations by 2 pi / factor."""
    rng, grid = np.random.RandomState(draw), np.linspace(-np.pi, np.pi, 513)[:-1, None]
    x = Circle().sample(n, rng)
    y = np.cos(16 * x[:, 0]) + noise * rng.standard_normal(n)
    model = SpectralAveraging(Circle(), rotations(factor), degree=16, estimator="least_squares")
    return np.mean((model.fit(x, y).predict(grid) - np.cos(16 * grid[:, 0])) ** 2)


draws = seed + np.arange(REPETITIONS)
errors = {
    f"k = {k}": np.array([[squared_error(k, n, noise, d) for n in SIZES] for d in draws])
    for k in FACTORS
}

# %%
first, *_, last = (values[:, -1].mean() for values in errors.values())
figure, axis = plt.subplots()
panel(
    axis,
    SIZES,
    family("spec-avg", errors),
    log="xy",
    ends=0.15,
    xlabel="samples n",
    ylabel="mean squared error",
    title=f"A group of order {FACTORS[-1]} divides the error by {first / last:.0f}",
)
run.figure(figure, "gain", caption=r"Target $\cos 16x$; mean and two standard errors.")

# %% [markdown]
# The gain is that of Theorem B.17: a share of $1/k$ of the functions, and hence of the variance.
#
# ## Try it
#
# `invariance run soleymani2025/circle_rotations -p k 8 -p noise 1.0`: more noise, more folds.
