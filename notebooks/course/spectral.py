# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 5: exact, under groups that nobody can list
#
# *45 minutes. You need `course/averaging` and Fourier series; ridge regression of scikit-learn.*
#
# Thirty particles may be numbered in $30! \approx 2.7 \cdot 10^{32}$ ways; an average over a sample
# of them is not invariant. **Can a model be exactly so, at the price of two renumberings?**

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
noise: float = 0.3  # standard deviation, beside a target of size 1

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from invariance.companion import Run, check, colour, panel
from invariance.groups import Permutations, TorusTranslations
from invariance.spectral import Circle, SpectralAveraging, Sphere, invariant_dimensions, project

run = Run("course/spectral", profile=profile, seed=seed, noise=noise)
sizes = [3, 10, 30]
n_draws = 3 if run.quick else 30
n_train = 200

# %% [markdown]
# ## The picture
#
# A function on the circle is a sum of waves. A wave is invariant under a rotation by $2\pi/m$ if its
# frequency is a multiple of $m$. So estimate all coefficients from noisy values, and **set the
# coefficients of all other waves to zero**: no rotation is applied to any point.

# %%
dense = np.linspace(0, 2 * np.pi, 400)[:, None]


def draw_estimate(panels, basis, coefficients, target, style, name):
    """Draw an estimate with its error, and its coefficients."""
    fit = basis.evaluate(dense) @ coefficients
    error = np.sqrt(np.mean((fit - target(dense)) ** 2))
    panels[0].plot(dense, fit, color=colour(style), label=f"{name}, error {error:.2f}")
    panels[1].plot(np.abs(coefficients), ".-", color=colour(style), label=name)


def projection(order=4, samples=60, frequencies=12):
    """Draw an estimate of an invariant function before and after the projection."""

    def target(x):
        return np.cos(order * x[:, 0]) + 0.5 * np.sin(2 * order * x[:, 0])

    rng = np.random.default_rng([seed, 7])
    angles = rng.uniform(0, 2 * np.pi, size=(samples, 1))
    observed = target(angles) + noise * rng.standard_normal(samples)
    basis = Circle(frequencies)
    values = basis.evaluate(angles)
    plain = values.T @ observed / samples
    rotations = TorusTranslations([order], period=2 * np.pi)
    projected = project(plain, basis, rotations)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4))
    left, right = panels
    left.plot(angles, observed, "o", ms=3, color=colour("raw"), label=f"{samples} noisy points")
    left.plot(dense, target(dense), color=colour("bound"), label="target")
    draw_estimate(panels, basis, plain, target, "krr", "plain")
    draw_estimate(panels, basis, projected, target, "spec-avg", "projected")
    left.set(xlabel="angle (radians)", title=f"The projection repeats after a turn by 2π/{order}")
    right.set(xlabel="eigenfunction", ylabel="size of the coefficient")
    right.set_title("The projection keeps the invariant coefficients")
    low, high = left.get_ylim()
    left.set_ylim(low, high + 0.5 * (high - low))  # room for the legend
    left.legend(loc="upper center", ncols=2)
    right.legend()
    plt.close(figure)
    return figure


# %%
if not run.batch:  # sliders, in JupyterLab
    from ipywidgets import interact

    interact(projection, order=(2, 6), samples=(10, 400), frequencies=(6, 30))
run.figure(projection(), "projection", caption="Coefficients before and after the projection.")

# %% [markdown]
# **Exercise 1.** Which of the frequencies 0 to 12 are invariant under rotations by a third of a turn?

# %% tags=["exercise"]
left_over = ...  # a list of numbers

# %% jupyter={"source_hidden": true} tags=["hide-input"]
angles = 2 * np.pi * np.random.default_rng(1).uniform(size=50)
rotated = angles + 2 * np.pi / 3
invariant = [k for k in range(13) if np.allclose(np.cos(k * rotated), np.cos(k * angles))]
check(
    left_over,
    lambda answer: sorted(answer) == invariant,
    "cos(k (θ + 2π/3)) must be cos(k θ) for every θ",
    "k times a third of a turn must be a number of turns; do not forget the constant, k = 0",
    why="k thirds of a turn are whole turns if 3 divides k",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# left_over = [0, 3, 6, 9, 12]
# ```
# </details>
#
# ## The idea
#
# A rotation by $\alpha$ turns the pair $(\cos k\theta, \sin k\theta)$ into itself, by a matrix
# $D^k(\alpha)$. In general a group of isometries maps each eigenspace of the Laplacian to itself by
# orthogonal matrices $D^\lambda(g)$, and $\hat f$ is invariant if its coefficients are, eigenspace
# by eigenspace:
#
# $$D^\lambda(g)\, \hat f_\lambda = \hat f_\lambda \quad \text{for each } g \text{ of a set of generators} .$$
#
# **Generators are enough**: coefficients that are invariant under the generators are invariant under
# their products. `Permutations(30)` has two generators: exchange two numbers, and move all numbers on by
# one. In code:

# %%
waves = Circle(12)
thirds = TorusTranslations([3], period=2 * np.pi)
coefficients = project(np.ones(waves.n_functions_), waves, thirds)
remaining = np.flatnonzero(coefficients)
print("1, cos θ, sin θ, cos 2θ, ...: of 25 coefficients these are left,", remaining)

# %% [markdown]
# **Exercise 2.** Write `projector(k, m)`, the mean of the 2 x 2 matrices that rotate by
# $2 \pi k j / m$, $j = 0, \dots, m - 1$. Which matrix is it if $m$ divides $k$, and which otherwise?

# %% tags=["exercise"]
projector = ...  # def projector(k, m): ...

# %% jupyter={"source_hidden": true} tags=["hide-input"]
check(
    projector,
    lambda P: all(
        np.allclose(P(k, m), np.eye(2) * (k % m == 0)) for m in (3, 4) for k in range(1, 9)
    ),
    "for each j fill [[cos, -sin], [sin, cos]]",
    "take the mean of the m matrices, over j",
    why="it is the identity if m divides k, and zero otherwise",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def projector(k, m):
#     angles = 2 * np.pi * k * np.arange(m) / m
#     cosine = np.cos(angles).mean()
#     sine = np.sin(angles).mean()
#     return np.array([[cosine, -sine], [sine, cosine]])
# ```
#
# The identity, or zero: the mean over a group projects on the invariant vectors.
# </details>
#
# ## The gain
#
# The points lie on a sphere in $d$ dimensions, and the function does not depend on the order of the
# coordinates. `SpectralAveraging` (Spec-Avg) is a scikit-learn regressor. Kernel ridge regression,
# with bandwidth and penalty by cross-validation, does not use the symmetry.

# %%
METHODS = {"kernel ridge": "krr", "spectral": "spec-avg"}
error = {name: np.empty((n_draws, len(sizes))) for name in METHODS}
change = {name: np.empty((n_draws, len(sizes))) for name in METHODS}


def make_models(d):
    grid = {"gamma": [0.1, 0.3, 1.0, 3.0], "alpha": [1e-3, 1e-2, 1e-1, 1.0]}
    return {
        "kernel ridge": GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5),
        "spectral": SpectralAveraging(Sphere(d), Permutations(d)),
    }


# %%
for i, d in enumerate(sizes):
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw])
        X = Sphere(d).sample(n_train + 500, random_state=draw + 1000 * seed)
        cubes = (X**3).sum(axis=1)
        target = cubes / np.std(cubes)
        y = target[:n_train] + noise * rng.standard_normal(n_train)
        X_test = X[n_train:]
        renumbered = X_test[:, rng.permutation(d)]
        for name, model in make_models(d).items():
            model.fit(X[:n_train], y)
            predicted = model.predict(X_test)
            residuals = predicted - target[n_train:]
            changes = model.predict(renumbered) - predicted
            error[name][draw, i] = np.sqrt(np.mean(residuals**2))
            change[name][draw, i] = np.abs(changes).max()

# %%
means = {name: values[:, -1].mean() for name, values in error.items()}
largest = {name: values.max() for name, values in change.items()}
error_curves = {name: (style, error[name]) for name, style in METHODS.items()}
change_curves = {name: (style, change[name]) for name, style in METHODS.items()}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
panel(left, sizes, error_curves, xlabel="coordinates, d")
panel(right, sizes, change_curves, log="y", xlabel="coordinates, d")
ridge = means["kernel ridge"]
spectral = means["spectral"]
left.set_title(f"30! orders lower the error from {ridge:.2f} to {spectral:.2f}")
left.set_ylabel("test error (the target has size 1)")
ridge = largest["kernel ridge"]
spectral = largest["spectral"]
right.set_title(f"A new order changes Spec-Avg by {spectral:.0e}, ridge by {ridge:.1f}")
right.set_ylabel("largest change of an answer")
caption = f"{n_train} points; bars: two standard errors over {n_draws} draws."
run.figure(fig, "sphere", caption=caption)

# %% [markdown]
# **Exercise 3.** Invariance leaves few functions. Of degree 1 there is one, the sum of the
# coordinates. How many are there of degree *exactly* 2 (harmonic, on a sphere in five dimensions,
# under all orders)?

# %% tags=["exercise"]
of_degree_two = ...  # a number

# %% jupyter={"source_hidden": true} tags=["hide-input"]
check(
    of_degree_two,
    lambda n: n == invariant_dimensions(Sphere(5, degree=2), Permutations(5))[2],
    "which polynomials of degree 2 are symmetric? There are two",
    "symmetric and of degree 2: (sum of x)^2 and the sum of x^2, which is constant on a sphere",
    why="of two symmetric polynomials of degree 2 one is constant on the sphere",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# of_degree_two = 1
# ```
#
# Out of 14 harmonics of degree 2. Thirteen coefficients fewer to estimate from noisy data.
# </details>
#
# **Keep:** project coefficients, not data; generators are enough; the answer is exact up to
# rounding. `soleymani2025/sphere_permutations` repeats the paper's example. Last,
# `course/when_it_hurts`.
#
# ## Try it
#
# `invariance run course/spectral -p noise 1.0`: does the gain grow with the noise?
