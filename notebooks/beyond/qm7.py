# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How far can a kernel on sets of atoms go?
#
# For Raj et al. (`raj2017/quantum_machine`) a molecule is one Coulomb matrix, averaged over
# numberings of its atoms. A *set* of atoms needs no numbering. Its energy is nearly a sum over
# atoms and what surrounds each, and so is the kernel
#
# $$ K(x, z) = \sum_{i \in x} \sum_{j \in z} [Z_i = Z_j] \; e^{-\gamma |q_i - q_j|^2} . $$
#
# `compare/atoms` sets it beside other kernels of molecules. Here we ask which steps take it
# further: a sharper view of a shorter range, neighbours that bring their own surroundings, a second
# and far sharper view beside the first, and atoms of unlike elements that learn from each other.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
import time
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
FOLD, TRIAL = (30, 25) if QUICK else (1433, 150)  # molecules a fold: all, and to choose with
DESCRIPTORS = [[6.0, 0.16], [4.0, 0.08], [4.0, 0.04]][: 2 if QUICK else 3]  # cutoff (Å), width (Å²)
GAMMAS = [0.05, 0.1]
NEIGHBOURS = [0.5, 1.0]  # weight of what surrounds the neighbours
SECOND = [[3.0, 0.01], [3.0, 0.005]][: 1 if QUICK else 2]  # the sharper view, at twice gamma
UNLIKE = [1.0, 3.0]  # weight of the kernel between atoms of any elements
ALPHAS = [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4]  # times the mean of the diagonal
REACH = 1.6  # of a neighbour, in Å: a bond and little more
UNIT = 1.88972612  # an angstrom in Bohr, the unit of the positions
ELEMENTS = [1, 6, 7, 8, 16]
AIMS = {"MAE": (1.0, 0.9), "RMSE": (2.2, 1.8)}  # kcal/mol, set beforehand

# %% [markdown]
# ## The data and the protocol
#
# QM7, its five folds, errors in kcal/mol. For each test fold, every setting is chosen by the error
# on the four other folds, each predicted by a model that saw neither it nor the test fold, on 150
# molecules of every fold. A linear fit of atom counts comes first; the kernel learns the rest.


# %%
@cache
def molecules():
    return make_molecules(5 * FOLD, random_state=0) if QUICK else load_qm7()


run.uses_data(molecules())
FOLDS = np.random.default_rng(0).permuted(molecules().folds, axis=1)


@cache
def training_part(k):
    """Positions, charges and energies of all folds but k, and their numbers."""
    data = molecules().split(test=FOLDS[k])
    n, arrays = data.n_train, (data.positions, data.charges, data.target)
    return *(np.asarray(a[:n], float) for a in arrays), data.rows[:n]


def some_of(fold, n, k):
    """Positions, charges and energies of the first n molecules of a fold, from all but fold k."""
    *arrays, rows = training_part(k)
    return [array[np.searchsorted(rows, FOLDS[fold, :n])] for array in arrays]


@cache
def atoms_of(n):
    """Positions and charges of n molecules of each fold; they bring no energies."""
    parts = [some_of(fold, n, (fold + 1) % 5)[:2] for fold in range(5)]
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


# %% [markdown]
# ## The kernel and its ingredients
#
# *Surroundings*: `atom_environments`, as in `compare/atoms`. *Neighbours*: a second copy of these
# numbers, averaged over the atom's neighbours with weights $e^{-(r / 1.6\,\text{Å})^2}$, tells how
# these are surrounded in turn. Rotations change neither. *Two views*: the kernel of a descriptor
# with bumps of 0.1 Å and less, which tells bonds apart, is added to the first. *Unlike elements*: so
# is $w \sum_{i, j} e^{-\gamma |q_i - q_j|^2}$ over all pairs, with the first descriptor alone: what
# is learnt of carbon then holds for nitrogen in part. One $\gamma$ serves all, twice that the second.


# %%
@cache
def environments(n, cutoff, width, neighbours):
    R, Z = atoms_of(n)
    how = {"cutoff": cutoff, "width": width, "n_triples": 16, "elements": ELEMENTS, "unit": UNIT}
    atoms = atom_environments(R, Z, **how).astype(np.float32)
    if not neighbours:
        return atoms
    there = Z > 0
    distance = np.linalg.norm(R[:, :, None] - R[:, None], axis=3) / UNIT
    near = np.exp(-((distance / REACH) ** 2)) * there[:, None] * ~np.eye(Z.shape[1], dtype=bool)
    near /= near.sum(axis=2, keepdims=True) + 1e-9
    around = near.astype(np.float32) @ np.nan_to_num(atoms[..., 1:])
    around[~there] = np.nan
    return np.concatenate([atoms, np.float32(neighbours) * around], axis=2)


@cache
def part(n, descriptor, neighbours, gamma, labelled):
    """A set kernel at a mean diagonal of one, and its CPU seconds."""
    start = time.process_time()
    # rounding in single precision is larger than the penalties that are chosen
    atoms = environments(n, *descriptor, neighbours).astype(float)[..., not labelled :]
    K = SetKernel(Gaussian(gamma), "sum", labelled=labelled)(atoms)
    K /= np.mean(np.diag(K))
    return K, time.process_time() - start


def gram(n, descriptor, neighbours, gamma, second=None, unlike=0):
    """The sum of a setting's set kernels, and the CPU seconds of all."""
    parts = [(1, (descriptor, neighbours, gamma, True))]
    parts += [(1, (second, neighbours, 2 * gamma, True))] if second else []
    parts += [(unlike, (descriptor, 0, gamma, False))] if unlike else []
    found = [(weight, *part(n, tuple(view), *rest)) for weight, (view, *rest) in parts]
    return sum(weight * K for weight, K, _ in found), sum(spent for *_, spent in found)


def fit_and_predict(K, Z, y, train, test, alpha):
    """Energies of test molecules: a linear fit of atom counts, and ridge regression on its rest."""
    counts = np.stack([(Z == element).sum(axis=1) for element in ELEMENTS], axis=1)
    linear = LinearRegression().fit(counts[train], y[train])
    square = K[np.ix_(train, train)]
    square.flat[:: len(train) + 1] += alpha
    rest = y[train] - linear.predict(counts[train])
    try:
        dual = cho_solve(cho_factor(square, overwrite_a=True, check_finite=False), rest)
    except LinAlgError:  # rounding is larger than the penalty: it shall not be chosen
        dual = np.full(len(train), np.nan)
    return linear.predict(counts[test]) + K[np.ix_(test, train)] @ dual


# %% [markdown]
# ## Choosing


# %%
@run.cache
def inner_errors(*setting):
    """Mean absolute errors by test fold and penalty, (5, alphas): mean over the inner folds."""
    n, fold = TRIAL, np.repeat(np.arange(5), TRIAL)
    (K, _), Z = gram(n, *setting), atoms_of(n)[1]
    energies = np.full((5, 5 * n), np.nan)  # row k knows nothing of fold k
    for k, other in ((k, other) for k in range(5) for other in range(5) if k != other):
        energies[k, fold == other] = some_of(other, n, k)[2]
    errors = np.zeros((5, 5, len(ALPHAS)))
    for a, b in combinations(range(5), 2):
        train = np.flatnonzero((fold != a) & (fold != b))
        for i, alpha in enumerate(ALPHAS):
            for test, inner in ((a, b), (b, a)):
                held = np.flatnonzero(fold == inner)
                predicted = fit_and_predict(K, Z, energies[test], train, held, alpha)
                errors[test, inner, i] = np.abs(predicted - energies[test, held]).mean()
    return errors.sum(axis=1) / 4


BY = f"mean absolute error over the four other folds, {TRIAL} molecules each"


def choose(name, k, grid, errors):
    scores = {"by": f"{BY}, best penalty", "higher": False}
    return run.select(f"{name}, fold {k + 1}", grid, lambda v: np.nanmin(errors(v)[k]), **scores)


def with_penalty(name, k, *setting):
    """A setting followed by the penalty that goes with it."""
    scores = {"scores": lambda: inner_errors(*setting)[k], "by": BY, "higher": False}
    return (*setting, run.select(f"penalty {name}, fold {k + 1}", ALPHAS, **scores))


STEPS = ["set kernel of atoms", "sharper and shorter", "with neighbours"]
STEPS += ["a second, sharper view", "between unlike elements"]
chosen = {step: [] for step in STEPS}
for k in range(5):
    plain = DESCRIPTORS[0]
    gamma = choose(f"gamma, {STEPS[0]}", k, GAMMAS, lambda g, v=plain: inner_errors(v, 0, g))
    chosen[STEPS[0]].append(with_penalty(STEPS[0], k, plain, 0, gamma))
    view = choose("descriptor", k, DESCRIPTORS, lambda v, g=gamma: inner_errors(v, 0, g))
    found = [view, 0, gamma]
    chosen[STEPS[1]].append(with_penalty(STEPS[1], k, *found))
    found[1] = choose("neighbours", k, NEIGHBOURS, lambda w, f=found: inner_errors(f[0], w, f[2]))
    chosen[STEPS[2]].append(with_penalty(STEPS[2], k, *found))
    found.append(choose("second view", k, SECOND, lambda v, f=found: inner_errors(*f, v)))
    chosen[STEPS[3]].append(with_penalty(STEPS[3], k, *found))
    found.append(choose("unlike elements", k, UNLIKE, lambda w, f=found: inner_errors(*f, w)))
    chosen[STEPS[4]].append(with_penalty(STEPS[4], k, *found))

# %% [markdown]
# ## Measured

# %%
run.measure()
for loaded in (molecules, training_part, atoms_of, environments, part):
    loaded.cache_clear()


@run.cache
def test_errors(setting, jobs):
    """Errors on test folds, by (fold, penalty), and CPU seconds a fold."""
    K, shared = gram(FOLD, *setting)
    Z, y = atoms_of(FOLD)[1], molecules().target[FOLDS].astype(float).ravel()
    start = time.process_time()
    fold, errors = np.repeat(np.arange(5), FOLD), {}
    for k, alpha in jobs:
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        errors[k] = fit_and_predict(K, Z, y, train, test, alpha) - y[test]
    return errors, shared + (time.process_time() - start) / len(jobs)


errors, seconds = {}, {}
for step in STEPS:
    found, spent = {}, []
    for setting in {repr(one[:-1]): one[:-1] for one in chosen[step]}.values():  # each once
        jobs = [(k, one[-1]) for k, one in enumerate(chosen[step]) if one[:-1] == setting]
        some, cost = test_errors(setting, tuple(jobs))
        found |= some
        environments.cache_clear()  # some hundred megabytes
        spent += [cost] * len(jobs)
    errors[step] = np.array([found[k] for k in range(5)])
    seconds[step] = np.mean(spent)

# %%
mae = {step: np.abs(e).mean(axis=1) for step, e in errors.items()}
rmse = {step: np.sqrt(np.square(e).mean(axis=1)) for step, e in errors.items()}
run.table(
    pd.DataFrame(
        {
            "kernel": step,
            "MAE": f"{mean_se(mae[step]):.3f}",
            "RMSE": f"{mean_se(rmse[step]):.2f}",
            "RMSE by fold": ", ".join(f"{v:.2f}" for v in rmse[step]),
            "median": f"{np.median(np.abs(errors[step])):.3f}",
            "CPU seconds per fold": round(seconds[step]),
        }
        for step in STEPS
    ),
    "errors",
    caption="Errors in kcal/mol, mean and standard error over the five folds. Each row adds one "
    "step to the one above. The seconds hold the matrix over all molecules, which folds share.",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
for axis, (name, by_step) in zip(axes, {"MAE": mae, "RMSE": rmse}.items(), strict=True):
    for i, step in enumerate(STEPS):
        axis.plot(by_step[step], np.full(5, i), ".", color=colour("raw"), zorder=0)
    for aim in () if QUICK else AIMS[name]:
        axis.axvline(aim, color=colour("bound"), linewidth=0.8, linestyle=":")
    rows(axis, {step: mean_se(by_step[step]) for step in STEPS}, ["haar"] * len(STEPS))
    axis.set_xlabel(f"{name} (kcal/mol)")
    first, last = (np.mean(by_step[step]) for step in (STEPS[0], STEPS[-1]))
    axis.set_title(f"Four steps take the {name} from {first:.2f} to {last:.2f}")
run.figure(
    fig,
    "steps",
    caption="Five folds (dots), their mean and two standard errors. Dotted lines: the aims set "
    "beforehand.",
)
best = {}
for name, by_step in {"mae": mae, "rmse": rmse}.items():
    best[name], best[f"{name}_se"] = mean_se(by_step[STEPS[-1]])
run.say(
    "With all of it the kernel errs by {mae:.2f} ± {mae_se:.2f} kcal/mol in the mean and by "
    "{rmse:.2f} ± {rmse_se:.2f} in the root mean square; the aims were {aim:.1f} and "
    "{rmse_aim:.1f}.",
    **best,
    aim=AIMS["MAE"][-1],
    rmse_aim=AIMS["RMSE"][-1],
)

# %% [markdown]
# ## The molecules that are missed

# %%
last = np.abs(errors[STEPS[-1]])
worst = np.sort(last, axis=None)[::-1]
n = len(worst) // 500
run.say(
    "The worst {n} of {total:,} molecules make up {share:.0%} of the squared error; the median "
    "error is {median:.2f} kcal/mol.",
    n=n,
    total=len(worst),
    share=np.square(worst[:n]).sum() / np.square(worst).sum(),
    median=np.median(worst),
)

# %% [markdown]
# What did not help, tried on training molecules of the first fold: a Gaussian kernel of the set
# kernel's own distance (the papers' second layer); a Laplacian kernel on bags of bonds; triangles
# with half or twice their weight; two rounds of neighbours; two widths of kernel at once. Which
# second views to choose from was settled in trials on 150 to 400 molecules of every fold, by errors
# averaged over the five test folds; those of the first alone say the same. A longer view (6 Å)
# beside the first did not help there.
