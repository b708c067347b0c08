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
sizes, draws, n_train = [3, 10, 30], 3 if run.quick else 30, 200

# %% [markdown]
# ## The picture
#
# A function on the circle is a sum of waves. The same after a rotation by $2\pi/m$ are those whose
# frequency is a multiple of $m$. So estimate all coefficients from noisy values, and **set the
# others to zero**: no rotation was applied to anything.


# %%
def projection(order=4, samples=60, frequencies=12):
    rng, basis = np.random.default_rng([seed, 7]), Circle(frequencies)
    angles = rng.uniform(0, 2 * np.pi, size=(samples, 1))
    dense = np.linspace(0, 2 * np.pi, 400)[:, None]

    def target(x):
        return np.cos(order * x[:, 0]) + 0.5 * np.sin(2 * order * x[:, 0])

    observed = target(angles) + noise * rng.standard_normal(samples)
    plain = basis.evaluate(angles).T @ observed / samples
    projected = project(plain, basis, TorusTranslations([order], period=2 * np.pi))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2))
    left.plot(angles, observed, "o", ms=3, color=colour("raw"), label=f"{samples} noisy points")
    left.plot(dense, target(dense), color=colour("bound"), label="target")
    for values, look, name in ((plain, "krr", "plain"), (projected, "spec-avg", "projected")):
        fit = basis.evaluate(dense) @ values
        error = np.sqrt(np.mean((fit - target(dense)) ** 2))
        left.plot(dense, fit, color=colour(look), label=f"{name}, error {error:.2f}")
        right.plot(np.abs(values), ".-", color=colour(look), label=name)
    left.set(xlabel="angle (radians)", title=f"invariant under rotations by 2π/{order}")
    right.set(xlabel="eigenfunction", title="sizes of the coefficients")
    low, high = left.get_ylim()
    left.set_ylim(low, high + 0.5 * (high - low))  # room for the legend
    left.legend(fontsize=8, loc="upper center", ncols=2)
    right.legend()
    plt.close(figure)
    return figure


if not run.batch:  # sliders, where somebody can move them
    from ipywidgets import interact

    interact(projection, order=(2, 6), samples=(10, 400), frequencies=(6, 30))
run.figure(projection(), "projection", caption="Coefficients before and after the projection.")

# %% [markdown]
# **Exercise 1.** Which of the frequencies 0 to 12 are left under rotations by a third of a turn?

# %% tags=["exercise"]
left_over = ...  # a list of numbers

# %% tags=["hide-input"]
third = 2 * np.pi * np.random.default_rng(1).uniform(size=50)
same = [np.allclose(np.cos(k * (third + 2 * np.pi / 3)), np.cos(k * third)) for k in range(13)]
check(
    left_over,
    lambda some: sorted(some) == np.flatnonzero(same).tolist(),
    "cos(k (θ + 2π/3)) must be cos(k θ) for every θ; do not forget the constant",
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
# **Generators are enough**: what they leave alone, their products leave alone. `Permutations(30)` has
# two: exchange two numbers, and move all on by one. In code:

# %%
waves, thirds = Circle(12), TorusTranslations([3], period=2 * np.pi)
left = project(np.ones(waves.n_functions_), waves, thirds)
print("1, cos θ, sin θ, cos 2θ, ...: of 25 coefficients these are left,", np.flatnonzero(left))

# %% [markdown]
# **Exercise 2.** Write `projector(k, m)`, the mean of the 2 x 2 matrices that rotate by
# $2 \pi k j / m$, $j = 0, \dots, m - 1$. What is it when $m$ divides $k$, and what otherwise?

# %% tags=["exercise"]
projector = ...  # def projector(k, m): ...

# %% tags=["hide-input"]
check(
    projector,
    lambda P: all(np.allclose(P(k, 4), np.eye(2) * (k % 4 == 0)) for k in range(1, 9)),
    "for each j fill [[cos, -sin], [sin, cos]], then take the mean",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def projector(k, m):
#     angles = 2 * np.pi * k * np.arange(m) / m
#     c, s = np.cos(angles).mean(), np.sin(angles).mean()
#     return np.array([[c, -s], [s, c]])
# ```
#
# The identity, or zero: the mean over a group projects on what the group leaves alone.
# </details>
#
# ## What it is worth
#
# Points on a sphere in $d$ dimensions, and a function that does not depend on the order of the
# coordinates. `SpectralAveraging` (Spec-Avg) is a scikit-learn regressor; kernel ridge regression,
# bandwidth and penalty by cross-validation, knows nothing of the order.

# %%
error, change = (
    {n: np.empty((draws, len(sizes))) for n in ("kernel ridge", "spectral")} for _ in "ab"
)
grid = {"gamma": [0.1, 0.3, 1.0, 3.0], "alpha": [1e-3, 1e-2, 1e-1, 1.0]}
for i, d in enumerate(sizes):
    models = {
        "kernel ridge": GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5),
        "spectral": SpectralAveraging(Sphere(d), Permutations(d)),
    }
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        X = Sphere(d).sample(n_train + 500, random_state=draw + 1000 * seed)
        f = (X**3).sum(axis=1) / np.std((X**3).sum(axis=1))
        y = f[:n_train] + noise * rng.standard_normal(n_train)
        X_test, renumbered = X[n_train:], X[n_train:, rng.permutation(d)]
        for name, model in models.items():
            answer = model.fit(X[:n_train], y).predict(X_test)
            error[name][draw, i] = np.sqrt(np.mean((answer - f[n_train:]) ** 2))
            change[name][draw, i] = np.abs(model.predict(renumbered) - answer).max()
fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6))
looks = {"kernel ridge": "krr", "spectral": "spec-avg"}
for axes, values, log in ((left, error, ""), (right, change, "y")):
    curves = {name: (looks[name], some) for name, some in values.items()}
    panel(axes, sizes, curves, log=log, xlabel="coordinates, d")
mean = {name: values[:, -1].mean() for name, values in error.items()}
left.set_title(f"30! orders: error {mean['spectral']:.2f}, not {mean['kernel ridge']:.2f}")
left.set_ylabel("test error (the target has size 1)")
most = {name: values.max() for name, values in change.items()}
right.set_title(f"renumbered: {most['spectral']:.0e}, not {most['kernel ridge']:.1f}")
right.set_ylabel("largest change of an answer")
caption = f"{n_train} points; bars: two standard errors over {draws} draws."
run.figure(fig, "sphere", caption=caption)

# %% [markdown]
# **Exercise 3.** Invariance leaves few functions. Of degree 1 there is one, the sum of the
# coordinates. How many are there of degree *exactly* 2 (harmonic, on a sphere in five dimensions,
# under all orders)?

# %% tags=["exercise"]
of_degree_two = ...  # a number

# %% tags=["hide-input"]
check(
    of_degree_two,
    lambda n: n == invariant_dimensions(Sphere(5, degree=2), Permutations(5))[2],
    "symmetric and of degree 2: (sum of x)^2 and the sum of x^2, which is constant on a sphere",
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
