# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Targets that move with the points
#
# Turn a molecule, and the forces on its atoms turn with it. Shift the start of a flow, and the solution is
# shifted. Such functions satisfy $f(g x) = g f(x)$: they are *equivariant*, and an invariant kernel would
# be wrong. `EquivariantRidge` learns them, and `Augmented(..., act_on_targets=True)` teaches any other
# regressor by transformed copies.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold

from invariance.beyond import Augmented, EquivariantRidge, PlaneRotations
from invariance.companion import Run, panel
from invariance.groups import CyclicShifts
from invariance.kernels import Gaussian

run = Run("guides/equivariant", profile=profile, seed=seed)  # only stores the results
rng = np.random.default_rng(seed)

# %% tags=["settings"]
SIZES = [10, 20, 40] if run.quick else [10, 20, 40, 80]
N_TEST = 100 if run.quick else 500
N_GRID = 24 if run.quick else 64  # points at which a flow is observed
N_STEPS = 100 if run.quick else 3000  # of the network's training

# %% [markdown]
# ## 1. A force in the plane
#
# Three bodies attract each other, and the target is the force on the first one. The group turns the six
# coordinates of the bodies and the two of the force by the same angle.


# %%
def forces_on_first(X):
    """Forces of shape (n, 2) for positions of three bodies, shape (n, 6)."""
    bodies = X.reshape(-1, 3, 2)
    differences = bodies[:, 1:] - bodies[:, :1]
    squares = np.square(differences).sum(axis=2, keepdims=True)
    attractions = differences * np.exp(-squares)
    return attractions.sum(axis=1)


# %%
turns = PlaneRotations()
n_train = max(SIZES)
positions = rng.uniform(-1, 1, (n_train + N_TEST, 6))
forces = forces_on_first(positions)
test_positions = positions[n_train:]
test_forces = forces[n_train:]

# %% [markdown]
# ## 2. Three regressors
#
# - Plain kernel ridge regression knows nothing of rotations.
# - `Augmented` fits the same to eight turned copies of each point, whose forces are turned as well.
# - `EquivariantRidge` has the kernel $K(x, z) = \frac{1}{|G|} \sum_g k(x, g z) \, \rho(g)$, whose values are
#   matrices. $\rho(g)$ turns forces. It is ridge regression on *all* copies, at the cost of none.
#
# All use the same base kernel and penalty, so that only the symmetry differs.

# %%
base = Gaussian(0.5)
alpha = 1e-6


COPIES = 9  # of each point: itself and eight turned ones


def models(n):
    """Return the three regressors for n points; scikit-learn's penalty is n times ours."""
    plain = KernelRidge(kernel=base, alpha=n * alpha)
    ridge_for_copies = KernelRidge(kernel=base, alpha=COPIES * n * alpha)
    return {
        "plain": plain,
        "turned copies": Augmented(ridge_for_copies, turns, act_on_targets=True),
        "equivariant": EquivariantRidge(base, turns, alpha=alpha),
    }


# %%
explained = {"plain": [], "turned copies": [], "equivariant": []}
for n in SIZES:
    for name, model in models(n).items():
        model.fit(positions[:n], forces[:n])
        predicted = model.predict(test_positions)
        explained[name].append(r2_score(test_forces, predicted))

# %%
STYLES = {"plain": "raw", "turned copies": "augmentation", "equivariant": "haar"}
curves = {name: (STYLES[name], values) for name, values in explained.items()}
plain = explained["plain"][0]
equivariant = explained["equivariant"][0]
fig, ax = plt.subplots(figsize=(5.5, 3.6))
panel(ax, SIZES, curves, log="x", xlabel="number of points", ylabel="share of variance explained")
ax.set_title(
    f"With {SIZES[0]} points the equivariant model explains {equivariant:.2f}, "
    f"a plain one {plain:.2f}"
)
run.figure(fig, "forces", alt="Variance explained against the number of points, three regressors")

# %% [markdown]
# The symmetry is exact up to `tolerance`, since the rotations are represented by nodes. Over a finite
# group it is exact up to rounding.

# %%
model = EquivariantRidge(base, turns, alpha=alpha)
model.fit(positions[:20], forces[:20])
angle = [0.7]
turned_positions = turns.act(angle, test_positions)[0]
answer_to_turned = model.predict(turned_positions)
answer = model.predict(test_positions)
turned_answer = turns.act(angle, answer)[0]
difference = np.abs(answer_to_turned - turned_answer).max()
deviation = difference / np.abs(turned_answer).max()
assert deviation < 1e-3
print(f"{model.group_.order} nodes, largest relative deviation {deviation:.0e}")

# %% [markdown]
# ## 3. A flow: Burgers' equation
#
# $u_t + u u_x = \nu u_{xx}$ on a circle takes the function $u(0)$ to $u(1)$. A shifted start has a shifted
# solution: the group is `CyclicShifts`, and it acts on the targets as on the points. There are 30 starts
# to learn from.


# %%
def burgers(start, viscosity=0.05, time=1.0, n_steps=200):
    """Solve Burgers' equation for periodic starts (n, d) by Fourier series and Runge-Kutta."""
    d = start.shape[1]
    frequencies = np.fft.rfftfreq(d, 1 / d)
    is_resolved = frequencies < d / 3  # squares of these waves do not alias
    step = time / n_steps

    def slope(waves):
        values = np.fft.irfft(waves, d, axis=1)
        flux = np.fft.rfft(values**2 / 2, axis=1)
        transport = 1j * frequencies * flux * is_resolved
        diffusion = viscosity * frequencies**2 * waves
        return -(transport + diffusion)

    waves = np.fft.rfft(start, axis=1) * is_resolved
    for _ in range(n_steps):
        a = slope(waves)
        b = slope(waves + step / 2 * a)
        c = slope(waves + step / 2 * b)
        e = slope(waves + step * c)
        waves = waves + step / 6 * (a + 2 * b + 2 * c + e)
    return np.fft.irfft(waves, d, axis=1)


def random_starts(n, d=192, n_waves=4):
    """Smooth periodic functions of random Fourier coefficients, shape (n, d)."""
    x = 2 * np.pi * np.arange(d) / d
    total = np.zeros((n, d))
    for k in range(1, n_waves + 1):
        a, b = rng.standard_normal((2, n, 1)) / k
        total += a * np.cos(k * x) + b * np.sin(k * x)
    return total


# %%
N_STARTS = 30  # to learn from
starts = random_starts(N_STARTS + N_TEST)
solutions = burgers(starts)
every = starts.shape[1] // N_GRID
U = starts[:, ::every]
V = solutions[:, ::every]
U_train = U[:N_STARTS]
U_test = U[N_STARTS:]
V_train = V[:N_STARTS]
V_test = V[N_STARTS:]

# %% [markdown]
# Bandwidths are chosen by cross-validation among the 30 starts.

# %%
shifts = CyclicShifts(U.shape[1])
penalty = 1e-5
MODELS = {
    "plain ridge": KernelRidge(kernel=base, alpha=N_STARTS * penalty),
    "equivariant ridge": EquivariantRidge(base, shifts, alpha=penalty),
}
grid = {"kernel__gamma": [0.003, 0.01, 0.03]}
scores = {}
for name, model in MODELS.items():
    search = GridSearchCV(model, grid, cv=3)
    search.fit(U_train, V_train)
    predicted = search.predict(U_test)
    scores[name] = r2_score(V_test, predicted)

# %% [markdown]
# ## 4. What happens here depends on what was near
#
# The equation has a second structure: the solution at a place depends on the start near that place. With
# shifts, $f(x)$ at place $a$ is one function $F$ of the start, shifted so that $a$ comes first. A Gaussian
# kernel on the shifted starts gives the model above. **Weights that fall with the distance from the first
# place add the locality**, and the model stays equivariant.


# %%
def seen_from_each_place(U, width):
    """Starts as seen from every place, weighted by nearness, shape (n d, d)."""
    d = U.shape[1]
    places = np.arange(d)
    distances = np.minimum(places, d - places) * 2 * np.pi / d
    weights = np.exp(-np.square(distances / width) / 2)
    views = np.stack([np.roll(U, -place, axis=1) for place in places], axis=1)
    return views.reshape(-1, d) * weights


def search_local(width):
    """Return a search for gamma and penalty; places of one start stay in one fold."""
    views = seen_from_each_place(U_train, width)
    start_of_view = np.repeat(np.arange(N_STARTS), U.shape[1])
    local_grid = {"kernel__gamma": [0.03, 0.1], "alpha": [1e-3, 1e-2]}
    search = GridSearchCV(KernelRidge(kernel=Gaussian()), local_grid, cv=GroupKFold(3))
    return search.fit(views, V_train.ravel(), groups=start_of_view)


# %%
searches = {width: search_local(width) for width in (0.4, 0.8)}
best_width = max(searches, key=lambda width: searches[width].best_score_)
test_views = seen_from_each_place(U_test, best_width)
local_answers = searches[best_width].predict(test_views)
scores["equivariant and local"] = r2_score(V_test, local_answers.reshape(V_test.shape))

# %% [markdown]
# A small convolutional network with circular padding has both structures built in, and learns its filters.
# It needs PyTorch; the full profile trains it longer.

# %%
if find_spec("torch") is not None:
    import torch

    torch.manual_seed(seed)

    def convolution(n_in, n_out):
        return torch.nn.Conv1d(n_in, n_out, 7, padding=3, padding_mode="circular")

    def channel(fields):
        """Fields (n, d) as a tensor of one channel, (n, 1, d)."""
        return torch.tensor(fields.copy())[:, None]

    network = torch.nn.Sequential(
        convolution(1, 32),
        torch.nn.GELU(),
        convolution(32, 32),
        torch.nn.GELU(),
        convolution(32, 32),
        torch.nn.GELU(),
        convolution(32, 1),
    )
    network.double()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    inputs = channel(U_train)
    targets = channel(V_train)
    for _ in range(N_STEPS):
        optimizer.zero_grad()
        loss = torch.square(network(inputs) - targets).mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        answers = network(channel(U_test))
    scores["circular network"] = r2_score(V_test, answers[:, 0].numpy())

# %%
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
bars = ax.barh(list(scores), list(scores.values()), color="#5b6b8c")
ax.bar_label(bars, fmt=" {:.3f}")
ax.invert_yaxis()
ax.set(xlim=(0, 1.15), xlabel="share of variance explained on new starts")
equivariant = scores["equivariant ridge"]
local = scores["equivariant and local"]
plain = scores["plain ridge"]
ax.set_title(f"Equivariance raises {plain:.2f} to {equivariant:.2f}, locality to {local:.2f}")
run.figure(fig, "burgers", alt="Variance explained on Burgers' equation, one bar for each model")
for name, score in scores.items():
    print(f"{name}: {score:.3f}")

# %% [markdown]
# ## Which one to take
#
# - `EquivariantRidge` solves n p equations for n points with p targets: some thousand are fast. Groups are
#   finite, or have a quadrature rule (`CircleAction`, `PlaneRotations`, `Rotations3D`).
# - `act_on_targets` is the action on the targets if they have another shape than the points, such as
#   `CyclicShifts(8)` for one target at each of eight places with several channels.
# - If p targets form a grid that the group shifts, one regressor for all places on `np.roll`ed points is the
#   same model, and takes weights, features and classifiers as well.
# - For one number that changes its sign, take `Antisymmetric`; for vectors on a sphere or torus,
#   `SpectralAveraging(..., outputs=...)`.
# - Locality and a network add nothing to the symmetry here. For other operators they may: compare the bars
#   for yours before you choose a kernel.

# %% [markdown]
# ## Try it
#
#     invariance run guides/equivariant -p seed 1
