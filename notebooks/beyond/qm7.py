# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # QM7: how accurate can a kernel on sets of atoms be?
#
# For Raj et al. (`raj2017/quantum_machine`) a molecule is one Coulomb matrix, averaged over
# numberings of its atoms. A *set* of atoms needs no numbering. Its energy is nearly a sum over
# atoms and their surroundings, and so is the kernel
#
# $$ K(x, z) = \sum_{i \in x} \sum_{j \in z} [Z_i = Z_j] \; e^{-\gamma |q_i - q_j|^2} . $$
#
# `compare/atoms` compares it with other kernels of molecules. In this notebook four steps improve it: a
# sharper descriptor of a shorter range, neighbours that contribute their own surroundings, a second
# and far sharper descriptor beside the first, and a kernel between atoms of unlike elements.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
import time
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.linear_model import LinearRegression

from invariance.beyond import SetKernel, atom_environments
from invariance.companion import Run, colour, mean_se, rows
from invariance.datasets import load_qm7, make_molecules
from invariance.kernels import Gaussian

run = Run("beyond/qm7", profile=profile, seed=seed, chooses=True)

# %% tags=["settings"]
QUICK = run.quick
N_FOLDS = 5
GAMMAS = [0.05, 0.1]
NEIGHBOUR_WEIGHTS = [0.5, 1.0]  # of the surroundings of neighbours
UNLIKE_WEIGHTS = [1.0, 3.0]  # of the kernel between atoms of any elements
ALPHAS = [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4]  # times the mean of the diagonal
NEIGHBOUR_RANGE = 1.6  # in Å: a bond and little more
UNIT = 1.88972612  # an angstrom in Bohr, the unit of the positions
ELEMENTS = [1, 6, 7, 8, 16]
AIMS = {"MAE": (1.0, 0.9), "RMSE": (2.2, 1.8)}  # kcal/mol, set beforehand
# Descriptors are pairs of a cutoff (Å) and a width (Å²).
if QUICK:
    N_PER_FOLD = 30  # molecules
    N_TRIAL = 25  # molecules of each fold to choose with
    DESCRIPTORS = [[6.0, 0.16], [4.0, 0.08]]
    SECOND_DESCRIPTORS = [[3.0, 0.01]]  # the sharper view, at twice gamma
else:
    N_PER_FOLD = 1433
    N_TRIAL = 150
    DESCRIPTORS = [[6.0, 0.16], [4.0, 0.08], [4.0, 0.04]]
    SECOND_DESCRIPTORS = [[3.0, 0.01], [3.0, 0.005]]

# %% [markdown]
# ## The data and the protocol
#
# The data are QM7 in its five folds; errors are in kcal/mol. For each test fold, every setting is chosen
# by the error on the four other folds, each predicted by a model that saw neither it nor the test fold,
# on 150 molecules of every fold. A linear fit of atom counts comes first; the kernel learns the residual.


# %%
@cache
def molecules():
    if QUICK:
        return make_molecules(N_FOLDS * N_PER_FOLD, random_state=0)
    return load_qm7()


run.uses_data(molecules())
FOLDS = np.random.default_rng(0).permuted(molecules().folds, axis=1)


# %%
@cache
def training_part(k):
    """Return positions, charges and energies of all folds but k, and their row numbers."""
    data = molecules().split(test=FOLDS[k])
    n = data.n_train
    positions = np.asarray(data.positions[:n], float)
    charges = np.asarray(data.charges[:n], float)
    energies = np.asarray(data.target[:n], float)
    return positions, charges, energies, data.rows[:n]


def first_of_fold(fold, n, k):
    """Return positions, charges and energies of n molecules of a fold, from all but fold k."""
    *arrays, rows = training_part(k)
    places = np.searchsorted(rows, FOLDS[fold, :n])
    return [array[places] for array in arrays]


# %%
@cache
def atoms_of(n):
    """Return positions and charges of n molecules of each fold, without energies."""
    positions = []
    charges = []
    for fold in range(N_FOLDS):
        some_positions, some_charges, _ = first_of_fold(fold, n, (fold + 1) % N_FOLDS)
        positions.append(some_positions)
        charges.append(some_charges)
    return np.concatenate(positions), np.concatenate(charges)


# %% [markdown]
# ## The kernel and its ingredients
#
# *Surroundings*: `atom_environments`, as in `compare/atoms`. *Neighbours*: a second copy of these
# numbers, averaged over the atom's neighbours with weights $e^{-(r / 1.6\,\text{Å})^2}$, describes
# how the neighbours are surrounded in turn. Rotations change neither.


# %%
def neighbour_weights(positions, charges):
    """Return weights of the neighbours of each atom, with sum one."""
    n_atoms = charges.shape[1]
    distances = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=3) / UNIT
    weights = np.exp(-((distances / NEIGHBOUR_RANGE) ** 2))
    weights = weights * (charges > 0)[:, None] * ~np.eye(n_atoms, dtype=bool)
    weights /= weights.sum(axis=2, keepdims=True) + 1e-9
    return weights.astype(np.float32)


# %%
@cache
def environments(n, cutoff, width, neighbour_weight):
    positions, charges = atoms_of(n)
    atoms = atom_environments(
        positions,
        charges,
        cutoff=cutoff,
        width=width,
        n_triples=16,
        elements=ELEMENTS,
        unit=UNIT,
    )
    atoms = atoms.astype(np.float32)
    if not neighbour_weight:
        return atoms
    surroundings = neighbour_weights(positions, charges) @ np.nan_to_num(atoms[..., 1:])
    surroundings[charges <= 0] = np.nan
    return np.concatenate([atoms, np.float32(neighbour_weight) * surroundings], axis=2)


# %% [markdown]
# *Two views*: the kernel of a second descriptor, with bumps of 0.1 Å and less, distinguishes bonds, and
# is added to the first. *Unlike elements*: another additive term is
# $w \sum_{i, j} e^{-\gamma |q_i - q_j|^2}$ over all pairs, with the first descriptor alone: knowledge
# about carbon then holds for nitrogen in part. All kernels share one $\gamma$; the second view uses
# $2 \gamma$. Kernels are computed in double precision, because rounding in single precision is larger
# than the penalties that are chosen.


# %%
@dataclass(frozen=True)
class Setting:
    """Parameters of the sum of set kernels; `second` is None without a second view."""

    descriptor: tuple[float, float]
    gamma: float
    neighbours: float = 0
    second: tuple[float, float] | None = None
    unlike: float = 0


# %%
@cache
def normalized_gram(n, descriptor, neighbours, gamma, labelled):
    """Return a set kernel's Gram matrix with a mean diagonal of one, and CPU seconds."""
    start = time.process_time()
    atoms = environments(n, *descriptor, neighbours).astype(float)
    if not labelled:
        atoms = atoms[..., 1:]
    K = SetKernel(Gaussian(gamma), "sum", labelled=labelled)(atoms)
    K /= np.mean(np.diag(K))
    return K, time.process_time() - start


# %%
def gram(n, setting):
    """Return the sum of a setting's set kernels, and the CPU seconds of all."""
    first = normalized_gram(n, setting.descriptor, setting.neighbours, setting.gamma, True)
    K, seconds = first
    if setting.second:
        second = normalized_gram(n, setting.second, setting.neighbours, 2 * setting.gamma, True)
        K = K + second[0]
        seconds += second[1]
    if setting.unlike:
        unlike = normalized_gram(n, setting.descriptor, 0, setting.gamma, False)
        K = K + setting.unlike * unlike[0]
        seconds += unlike[1]
    return K, seconds


# %%
def fit_and_predict(K, charges, energies, train, test, alpha):
    """Return energies of test molecules, by a linear fit of atom counts and ridge regression.

    If rounding is larger than the penalty, they are NaN, so that the penalty is not chosen.
    """
    counts = np.stack([(charges == element).sum(axis=1) for element in ELEMENTS], axis=1)
    linear = LinearRegression().fit(counts[train], energies[train])
    residuals = energies[train] - linear.predict(counts[train])
    square = K[np.ix_(train, train)]
    square.flat[:: len(train) + 1] += alpha
    try:
        factor = cho_factor(square, overwrite_a=True, check_finite=False)
        dual = cho_solve(factor, residuals)
    except LinAlgError:
        dual = np.full(len(train), np.nan)
    return linear.predict(counts[test]) + K[np.ix_(test, train)] @ dual


# %% [markdown]
# ## Choosing the settings
#
# The error for a test fold is the mean over the four inner folds, so any model leaves two folds out, and
# serves both of them in turn. Energies of the test fold are NaN for its models.


# %%
def known_energies(n):
    """Return energies (test fold, molecules) without those of the test fold."""
    fold = np.repeat(np.arange(N_FOLDS), n)
    energies = np.full((N_FOLDS, N_FOLDS * n), np.nan)
    for k in range(N_FOLDS):
        for inner in range(N_FOLDS):
            if inner != k:
                energies[k, fold == inner] = first_of_fold(inner, n, k)[2]
    return energies


# %%
@run.cache
def inner_errors(setting):
    """Return mean absolute errors by test fold and penalty: means over the inner folds."""
    K, _ = gram(N_TRIAL, setting)
    _, charges = atoms_of(N_TRIAL)
    energies = known_energies(N_TRIAL)
    fold = np.repeat(np.arange(N_FOLDS), N_TRIAL)
    errors = np.zeros((N_FOLDS, N_FOLDS, len(ALPHAS)))
    for a, b in combinations(range(N_FOLDS), 2):
        train = np.flatnonzero((fold != a) & (fold != b))
        for i, alpha in enumerate(ALPHAS):
            for test, inner in ((a, b), (b, a)):
                rows_of_inner = np.flatnonzero(fold == inner)
                known = energies[test]
                predicted = fit_and_predict(K, charges, known, train, rows_of_inner, alpha)
                errors[test, inner, i] = np.abs(predicted - known[rows_of_inner]).mean()
    return errors.sum(axis=1) / (N_FOLDS - 1)


# %%
BY = f"mean absolute error over the four other folds, {N_TRIAL} molecules each"


def choose(name, k, grid, setting_of):
    """Return the value of the grid whose setting has the least error for test fold k."""
    return run.select(
        f"{name}, fold {k + 1}",
        grid,
        lambda value: np.nanmin(inner_errors(setting_of(value))[k]),
        by=f"{BY}, best penalty",
        higher=False,
    )


# %%
def choose_penalty(name, k, setting):
    return run.select(
        f"penalty {name}, fold {k + 1}",
        ALPHAS,
        scores=lambda: inner_errors(setting)[k],
        by=BY,
        higher=False,
    )


# %% [markdown]
# Each step chooses one more setting, and keeps those of the steps before it.

# %%
STEPS = [
    "set kernel of atoms",
    "sharper and shorter",
    "with neighbours",
    "a second, sharper view",
    "between unlike elements",
]


# %%
def chosen_settings(k):
    """Yield the chosen setting of each step for test fold k."""
    plain = tuple(DESCRIPTORS[0])
    gamma = choose(f"gamma, {STEPS[0]}", k, GAMMAS, lambda gamma: Setting(plain, gamma))
    yield Setting(plain, gamma)
    view = choose("descriptor", k, DESCRIPTORS, lambda view: Setting(tuple(view), gamma))
    descriptor = tuple(view)
    yield Setting(descriptor, gamma)
    neighbours = choose(
        "neighbours", k, NEIGHBOUR_WEIGHTS, lambda weight: Setting(descriptor, gamma, weight)
    )
    yield Setting(descriptor, gamma, neighbours)
    view = choose(
        "second view",
        k,
        SECOND_DESCRIPTORS,
        lambda view: Setting(descriptor, gamma, neighbours, tuple(view)),
    )
    second = tuple(view)
    yield Setting(descriptor, gamma, neighbours, second)
    unlike = choose(
        "unlike elements",
        k,
        UNLIKE_WEIGHTS,
        lambda weight: Setting(descriptor, gamma, neighbours, second, weight),
    )
    yield Setting(descriptor, gamma, neighbours, second, unlike)


# %%
settings = {step: [] for step in STEPS}
penalties = {step: [] for step in STEPS}
for k in range(N_FOLDS):
    for step, setting in zip(STEPS, chosen_settings(k), strict=True):
        settings[step].append(setting)
        penalties[step].append(choose_penalty(step, k, setting))


# %% [markdown]
# ## Measuring
#
# Folds that chose the same setting share its matrix over all molecules.

# %%
run.measure()
for function in (molecules, training_part, atoms_of, environments, normalized_gram):
    function.cache_clear()


@run.cache
def test_errors(setting, folds, alphas):
    """Return errors on test folds, by fold, and CPU seconds per fold."""
    K, seconds_of_gram = gram(N_PER_FOLD, setting)
    _, charges = atoms_of(N_PER_FOLD)
    energies = molecules().target[FOLDS].astype(float).ravel()
    fold = np.repeat(np.arange(N_FOLDS), N_PER_FOLD)
    start = time.process_time()
    errors = {}
    for k, alpha in zip(folds, alphas, strict=True):
        train = np.flatnonzero(fold != k)
        test = np.flatnonzero(fold == k)
        predicted = fit_and_predict(K, charges, energies, train, test, alpha)
        errors[k] = predicted - energies[test]
    return errors, seconds_of_gram + (time.process_time() - start) / len(folds)


# %%
errors = {}  # by step, shape (folds, molecules)
seconds = {}
for step in STEPS:
    errors_by_fold = {}
    seconds_by_fold = {}
    for setting in dict.fromkeys(settings[step]):
        folds = [k for k in range(N_FOLDS) if settings[step][k] == setting]
        alphas = [penalties[step][k] for k in folds]
        errors_of_setting, seconds_of_setting = test_errors(setting, folds, alphas)
        errors_by_fold |= errors_of_setting
        seconds_by_fold |= dict.fromkeys(folds, seconds_of_setting)
        environments.cache_clear()  # some hundred megabytes
    errors[step] = np.array([errors_by_fold[k] for k in range(N_FOLDS)])
    seconds[step] = np.mean([seconds_by_fold[k] for k in range(N_FOLDS)])

# %%
mae = {}
rmse = {}
table = []
for step in STEPS:
    mae[step] = np.abs(errors[step]).mean(axis=1)
    rmse[step] = np.sqrt(np.square(errors[step]).mean(axis=1))
    row = {
        "kernel": step,
        "MAE": f"{mean_se(mae[step]):.3f}",
        "RMSE": f"{mean_se(rmse[step]):.2f}",
        "RMSE by fold": ", ".join(f"{value:.2f}" for value in rmse[step]),
        "median": f"{np.median(np.abs(errors[step])):.3f}",
        "CPU seconds per fold": round(seconds[step]),
    }
    table.append(row)
run.table(
    pd.DataFrame(table),
    "errors",
    caption="Errors in kcal/mol, mean and standard error over the five folds. Each row adds one "
    "step to the one above. The seconds include the matrix over all molecules, which folds share.",
)


# %%
def draw_steps(axis, name, error_by_step):
    """Draw the errors of the folds, their mean and two standard errors, step by step."""
    for i, step in enumerate(STEPS):
        axis.plot(error_by_step[step], np.full(N_FOLDS, i), ".", color=colour("raw"), zorder=0)
    if not QUICK:
        for aim in AIMS[name]:
            axis.axvline(aim, color=colour("bound"), linewidth=0.8, linestyle=":")
    rows(axis, {step: mean_se(error_by_step[step]) for step in STEPS}, ["haar"] * len(STEPS))
    first = error_by_step[STEPS[0]].mean()
    last = error_by_step[STEPS[-1]].mean()
    axis.set_xlabel(f"{name} (kcal/mol)")
    axis.set_title(f"Four steps take the {name} from {first:.2f} to {last:.2f}")


# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
draw_steps(axes[0], "MAE", mae)
draw_steps(axes[1], "RMSE", rmse)
run.figure(
    fig,
    "steps",
    caption="Five folds (dots), their mean and two standard errors. Dotted lines: the aims set "
    "beforehand.",
)


# %%
best_mae = mean_se(mae[STEPS[-1]])
best_rmse = mean_se(rmse[STEPS[-1]])
run.say(
    "With all of it the kernel errs by {mae:.2f} ± {mae_se:.2f} kcal/mol in the mean and by "
    "{rmse:.2f} ± {rmse_se:.2f} in the root mean square; the aims were {aim:.1f} and "
    "{rmse_aim:.1f}.",
    mae=best_mae.mean,
    mae_se=best_mae.se,
    rmse=best_rmse.mean,
    rmse_se=best_rmse.se,
    aim=AIMS["MAE"][-1],
    rmse_aim=AIMS["RMSE"][-1],
)

# %% [markdown]
# ## The molecules with the largest errors
#
# A few molecules make up most of the squared error.

# %%
sorted_errors = np.sort(np.abs(errors[STEPS[-1]]), axis=None)[::-1]
squares = np.square(sorted_errors)
n_worst = len(sorted_errors) // 500
run.say(
    "The worst {n} of {total:,} molecules make up {share:.0%} of the squared error; the median "
    "error is {median:.2f} kcal/mol.",
    n=n_worst,
    total=len(sorted_errors),
    share=squares[:n_worst].sum() / squares.sum(),
    median=np.median(sorted_errors),
)

# %% [markdown]
# These attempts did not help, on training molecules of the first fold: a Gaussian kernel of the set
# kernel's own distance (the papers' second layer); a Laplacian kernel on bags of bonds; triangles
# with half or twice their weight; two rounds of neighbours; two widths of kernel at once. The candidates
# for the second view were picked in trials on 150 to 400 molecules of every fold, by errors
# averaged over the five test folds; the errors of the first fold alone agree. A longer view (6 Å)
# beside the first did not help there.
