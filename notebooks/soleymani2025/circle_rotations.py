# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Example 5.3: the circle under rotations by $2\pi / k$
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
# divides $m$: the invariant functions are those of period $2\pi/k$, as expected. The computed projection
# agrees to rounding, and invariance is worth almost $k$ times as many samples.

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
if run.quick:
    orders = [1, 2, 3, 5, 8, 13, 64]  # of the rotations, for the oracle
    top_frequency = 40
    sizes = [200, 400, 800]  # samples, for the gain
    n_repetitions = 5
else:
    orders = [*range(1, 14), 21, 64, 100, 360]
    top_frequency = 400
    sizes = [200, 400, 800, 1600, 3200, 6400]
    n_repetitions = 40


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
basis = Circle(degree=top_frequency)
frequencies = np.arange(top_frequency + 1)


def plane_rotation(m, order):
    """D^(m) of the rotation by 2 pi / order, as printed; one by one for the constant function."""
    if m == 0:
        return np.ones((1, 1))
    angle = 2 * np.pi * m / order
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# %%
def oracle_errors(order):
    """Errors of the representation and of the dimensions of the invariants."""
    group = rotations(order)
    assert len(group.generators()) == (order > 1)
    # The trivial group has no generator; its only element is the identity.
    element = group.generators() if order > 1 else group.identity()
    errors = []
    for m in frequencies.tolist():
        D = basis.representation(m, group, element)[0].toarray()
        errors.append(np.abs(D - plane_rotation(m, order)).max())
    invariants = spectral.invariant_subspace(basis, group)
    dimensions = [vectors.shape[1] for vectors in invariants]
    expected = basis.dimensions_ * (frequencies % order == 0)
    errors.append(float(np.abs(dimensions - expected).max()))
    return errors


# %%
differences = []
for order in orders:
    differences += oracle_errors(order)
    coefficients = run.rng.standard_normal(basis.n_functions_)
    divisible = np.repeat(frequencies % order == 0, basis.dimensions_)
    projected = project(coefficients, basis, rotations(order))
    differences.append(np.abs(projected - coefficients * divisible).max())

# %% tags=["claims"]
run.claim(
    "soleymani2025/example5.3",
    difference=differences,
    tolerance=1e-10,
    note="D(g) against the plane rotation, dimensions of the invariants against divisibility, and "
    "the projection against striking out frequencies; every group has one generator, hence one "
    "constraint per eigenspace",
)

# %% [markdown]
# ## A picture of forty samples
#
# Forty noisy values of a function with $k$-fold symmetry. Kernel ridge regression sees a function
# on the whole circle; Spec-Avg with the one generator sees all points folded into one $k$-th of it.


# %%
def target(x):
    """Function with k-fold symmetry."""
    return np.exp(np.sin(k * x)) - 1


rng = np.random.RandomState(seed)
group = rotations(k)
X = Circle().sample(40, rng)
y = target(X[:, 0]) + noise * rng.standard_normal(40)
kernel = VonMisesKernel(eta=20.0, period=2 * np.pi)
models = {
    "krr": KernelRidge(kernel=kernel, alpha=0.3),
    "spec-avg": SpectralAveraging(Circle(), group, degree=4 * k, estimator="mean"),
    "spec-avg-ridge": SpectralAveraging(
        Circle(), group, degree=8 * k, estimator="ridge", smoothness=2.0
    ),
}

NAMES = {
    "krr": "kernel ridge",
    "spec-avg": "Spec-Avg",
    "spec-avg-ridge": "Spec-Avg, ridge",
}

# %%
fine = np.linspace(-np.pi, np.pi, 721)[:, None]
gaps = {}
for name, model in models.items():
    model.fit(X, y)
    gap = spectral.invariance_discrepancy(model.predict, group, fine[::10], relative=True)
    gaps[name] = float(gap)

# %%
figure, axis = plt.subplots(figsize=(8, 3.8))
axis.plot(fine, target(fine[:, 0]), color=colour("definition"), lw=1, label="target")
axis.plot(X[:, 0], y, "o", color="#bbbbbb", markersize=4, label="40 samples")
for name, model in models.items():
    label = f"{NAMES[name]}: discrepancy {gaps[name]:.0e}"
    axis.plot(fine, model.predict(fine), color=colour(name), label=label)
axis.set(
    xlabel="angle x, radians",
    ylabel="f(x)",
    title=f"A turn by 2π/{k} changes kernel ridge regression by {gaps['krr']:.0%}, "
    f"Spec-Avg by {gaps['spec-avg']:.0e}",
)
figure.legend(loc="outside lower center", ncols=3)
caption = r"Relative discrepancies, all rotations of the group. The target is $\exp(\sin kx) - 1$."
run.figure(figure, "fits", caption=caption)

# %% [markdown]
# ## The gain in samples
#
# With the cutoff fixed, the variance of an estimate is proportional to the number of functions that
# it estimates, and only one frequency in $k$ survives. So the same error is reached with almost $k$
# times fewer samples. The target here is $\cos 16x$, which is invariant under every group tried.

# %%
gain_orders = [1, 2, 4, 8, 16]


def wave(X):
    """Target that is invariant under every group tried."""
    return np.cos(16 * X[:, 0])


@run.cache
def squared_error(order, n, noise, draw):
    """Error of least squares among the functions that are invariant under rotations."""
    rng = np.random.RandomState(draw)
    X = Circle().sample(n, rng)
    y = wave(X) + noise * rng.standard_normal(n)
    model = SpectralAveraging(Circle(), rotations(order), degree=16, estimator="least_squares")
    model.fit(X, y)
    grid = np.linspace(-np.pi, np.pi, 513)[:-1, None]
    return np.mean((model.predict(grid) - wave(grid)) ** 2)


# %%
errors = {}
for order in gain_orders:
    draws = []
    for draw in range(seed, seed + n_repetitions):
        draws.append([squared_error(order, n, noise, draw) for n in sizes])
    errors[f"k = {order}"] = np.array(draws)

# %% [markdown]
# Up to frequency 16 there are 33 functions, and 17, 9, 5 and 3 of them are invariant under the groups of
# order 2, 4, 8 and 16. The curves should be about parallel, with errors near these proportions.

# %%
without_group = errors["k = 1"][:, -1].mean()
with_largest = errors[f"k = {gain_orders[-1]}"][:, -1].mean()
figure, axis = plt.subplots()
panel(
    axis,
    sizes,
    family("spec-avg", errors),
    log="xy",
    ends=0.15,
    xlabel="samples n",
    ylabel="mean squared error",
    title=f"A group of order {gain_orders[-1]} divides the error by {without_group / with_largest:.0f}",
)
run.figure(figure, "gain", caption=r"Target $\cos 16x$; mean and two standard errors.")

# %% [markdown]
# The gain is that of Theorem B.17: a share of $1/k$ of the functions, and hence of the variance.
#
# ## Try it
#
# `invariance run soleymani2025/circle_rotations -p k 8 -p noise 1.0`: more noise, more folds.
