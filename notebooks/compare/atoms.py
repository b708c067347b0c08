# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Molecules as sets of atoms
#
# The papers describe a molecule by its Coulomb matrix and average over numberings of its atoms. A
# set has no numbering, and the energy is nearly a sum over what surrounds each atom. How much does
# that gain on QM7?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %% tags=["hide-input"]
import time
from functools import cache, lru_cache, partial
from itertools import combinations_with_replacement

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.spatial.distance import cdist
from sklearn.linear_model import LinearRegression

from invariance.beyond import SetFeatures, SetKernel, atom_environments
from invariance.companion import Run, curve, mean_se
from invariance.datasets import load_qm7, make_molecules
from invariance.features import OrbitNystroem
from invariance.kernels import Gaussian

run = Run("compare/atoms", profile=profile, seed=seed, chooses=True)

# %% tags=["settings"]
FULL, SEED = not run.quick, run.seed
N_CHOICES = 5 if FULL else 2  # parts of the data that settings are chosen on
LANDMARKS = 600 if FULL else 50  # of each element, at most
DESCRIPTORS = [(6.0, 0.16), (8.0, 0.32)]  # cutoff (Å), width (Å²); the last is the published one
DESCRIPTORS += [(5.0, 0.16)] if FULL else []
GAMMAS = [0.1, 0.2, 0.4] if FULL else [0.1, 0.2]
BAG_GAMMAS = [1e-4, 3e-4, 1e-3, 3e-3]
ALPHAS = [1e-6, 5e-6, 2e-5, 1e-4]  # times the mean of the Gram matrix's diagonal
UNIT = 1.88972612  # an angstrom in Bohr, the unit of the positions
ELEMENTS = [1, 6, 7, 8, 16]

# %% [markdown]
# ## The idea
#
# Each atom is described by its surroundings: smooth histograms of its distances to each element and
# of its triangles with each pair of elements (`atom_environments`). No rotation changes them. Two
# molecules are compared by all pairs of atoms of one element:
#
# $$ K(x, z) = \sum_{i \in x} \sum_{j \in z} [Z_i = Z_j] \; e^{-\gamma |q_i - q_j|^2} . $$


# %%
def set_kernel(gamma, atoms):
    return SetKernel(Gaussian(gamma), "sum", labelled=True)(atoms)


def environments(R, Z, descriptor):
    cutoff, width = descriptor
    how = {"cutoff": cutoff, "width": width, "n_triples": 16, "elements": ELEMENTS, "unit": UNIT}
    return atom_environments(R, Z, **how).astype(np.float32)


# %% [markdown]
# Its explicit form is cheaper, linear in the number of atoms: Nystrom features of atoms, summed
# over each molecule. The usual alternative is a *bag of bonds*: for each pair of elements, the
# Coulomb terms $Z_i Z_j / |R_i - R_j|$ of a molecule in falling order; a Laplacian kernel compares
# these lists.


# %%
def set_features(gamma):
    atoms = OrbitNystroem(None, LANDMARKS, kernel=Gaussian(gamma), random_state=SEED)
    return SetFeatures(atoms, "sum", labelled=True, n_points=5000, random_state=SEED)


def bag_of_bonds(R, Z):
    bonds = np.linalg.norm(R[:, :, None] - R[:, None], axis=3)
    bonds = np.where(bonds > 0, Z[:, :, None] * Z[:, None] / np.where(bonds > 0, bonds, 1), 0)
    i, j = np.triu_indices(Z.shape[1], 1)
    bonds, low, high = bonds[:, i, j], *np.sort([Z[:, i], Z[:, j]], axis=0)
    bags = []
    for a, b in combinations_with_replacement(ELEMENTS, 2):
        bag = -np.sort(-np.where((low == a) & (high == b), bonds, 0), axis=1)
        bags.append(bag[:, bag.any(axis=0)])
    return np.concatenate(bags, axis=1)


# %% [markdown]
# A linear fit of the counts of atoms comes first; each method learns the rest by ridge regression.


# %%
def ridge(K, target, alpha):
    """Coefficients of kernel ridge regression, or of linear regression from normal equations.

    NaN where alpha is below the rounding of the kernel's single precision.
    """
    K = K.astype(float)
    K.flat[:: len(K) + 1] += alpha * np.trace(K) / len(K)
    try:
        return cho_solve(cho_factor(K, overwrite_a=True), target)
    except LinAlgError:
        return np.full(len(K), np.nan)


def mean_error(predicted, truth):
    return np.nan_to_num(np.abs(predicted - truth).mean(), nan=np.inf)


def of_counts(Z, y, train):
    """What a linear fit of atom counts to training molecules leaves of the energies."""
    counts = np.stack([(Z == element).sum(axis=1) for element in ELEMENTS], axis=1)
    return y - LinearRegression().fit(counts[train], y[train]).predict(counts)


# %% [markdown]
# ## The protocol
#
# - QM7, 7,165 molecules with energies in kcal/mol, in five folds. The settings (cutoff and width of
#   the descriptor, bandwidths) are chosen five times, each time **on one fold alone**, by
#   cross-validation within it.
# - Each choice is measured twice, on 1,433 molecules that it has not seen: on the fold before it,
#   and on molecules drawn from all other folds. The 5,732 others are for training.
# - The penalty is chosen in each draw on an eighth of its training molecules.


# %%
def load():
    return load_qm7() if FULL else make_molecules(300, random_state=0)


def arrays(data):
    """Positions, charges and energies."""
    return tuple(np.asarray(a, float) for a in (data.positions, data.charges, data.target))


folds = load().folds
run.uses_data(load())

# %% [markdown]
# ## Choosing
#
# Until `measure`, the loader hands out the molecules of one fold and withholds the others.


# %%
class OneFold:
    """Held-out errors of settings, by cross-validation among the molecules of one fold."""

    def __init__(self, k):
        data = load().split(test=np.setdiff1d(np.arange(folds.size), folds[k]))
        n = data.n_train
        self.R, self.Z, self.y = (a[:n] for a in arrays(data))
        self.parts = np.array_split(np.random.default_rng([SEED, k]).permutation(n), 5)
        self.atoms = lru_cache(1)(lambda descriptor: environments(self.R, self.Z, descriptor))

    def error(self, K):
        """Mean absolute error of each part, at the penalty that is best for all."""
        found = np.empty((len(ALPHAS), len(self.parts)))
        for p, held in enumerate(self.parts):
            kept = np.setdiff1d(np.arange(len(K)), held)
            target = of_counts(self.Z, self.y, kept)
            for a, alpha in enumerate(ALPHAS):
                dual = ridge(K[np.ix_(kept, kept)], target[kept], alpha)
                found[a, p] = mean_error(K[np.ix_(held, kept)] @ dual, target[held])
        return found[found.mean(axis=1).argmin()]

    def of_descriptor(self, descriptor, gamma=0.2):
        return self.error(set_kernel(gamma, self.atoms(descriptor)))

    def of_bag(self, gamma):
        bag = bag_of_bonds(self.R, self.Z)
        return self.error(np.exp(-gamma * cdist(bag, bag, "cityblock")))


chosen = []
for k in range(N_CHOICES):
    fold = OneFold(k)
    how = {"by": f"mean absolute error by cross-validation within fold {k}", "higher": False}
    descriptor = run.select(f"descriptor {k}", DESCRIPTORS, fold.of_descriptor, **how)
    gamma = run.select(f"gamma {k}", GAMMAS, partial(fold.of_descriptor, descriptor), **how)
    bag_gamma = run.select(f"gamma of bags {k}", BAG_GAMMAS, fold.of_bag, **how)
    chosen.append((tuple(descriptor), gamma, bag_gamma))
run.measure()

# %% [markdown]
# ## Measuring
#
# One matrix over all molecules serves every draw of a setting.


# %%
@cache
def draws(k):
    """Training and test molecules: two draws for the settings chosen on fold k."""
    everything = np.arange(folds.size)
    unseen = np.setdiff1d(everything, folds[k])
    drawn = np.random.default_rng([SEED, k, 1]).choice(unseen, len(folds[k]), replace=False)
    return [(np.setdiff1d(everything, test), test) for test in (folds[k - 1], np.sort(drawn))]


@cache
def molecules():
    return arrays(load())


@cache
def atoms_of(descriptor):
    start = time.process_time()
    return environments(*molecules()[:2], descriptor), time.process_time() - start


@cache
def bag_distances():
    bag = bag_of_bonds(*molecules()[:2])
    return cdist(bag, bag, "cityblock")


@cache
def gram(method, setting):
    """The kernel matrix of all molecules, and the CPU seconds that it took."""
    start = time.process_time()
    if method == "bag of bonds":
        return np.exp(-setting * bag_distances()), time.process_time() - start
    atoms, seconds = atoms_of(setting[0])
    start = time.process_time()
    return set_kernel(setting[1], atoms), seconds + time.process_time() - start


# %%
@run.cache
def measured(name, setting, k, d):
    """Errors on the test molecules of a draw, and CPU seconds."""
    train, test = draws(k)[d]
    explicit, normal = name == "features of atoms", {}
    found, seconds = atoms_of(setting[0]) if explicit else gram(name, setting)
    start = time.process_time()
    target = of_counts(*molecules()[1:], train)
    if explicit:
        F = set_features(setting[1]).fit(found[train]).transform(found).astype(float)

    def predicted(rows, alpha, at):
        """What a model of some molecules, at a penalty, says of others."""
        if not explicit:
            dual = ridge(found[np.ix_(rows, rows)], target[rows], alpha)
            return found[np.ix_(at, rows)] @ dual
        if len(rows) not in normal:
            normal[len(rows)] = F[rows].T @ F[rows]
        return F[at] @ ridge(normal[len(rows)], F[rows].T @ target[rows], alpha)

    rows = train[np.random.default_rng([SEED, k, d]).permutation(len(train))]
    kept, held = np.split(rows, [len(rows) * 7 // 8])
    alpha = min(ALPHAS, key=lambda alpha: mean_error(predicted(kept, alpha, held), target[held]))
    left = predicted(train, alpha, test) - target[test]
    return left, seconds + time.process_time() - start


METHODS = {"bag of bonds": "sorted", "features of atoms": "lgika-nystrom", "set kernel": "haar"}
results = {name: [] for name in METHODS}
for k, (descriptor, gamma, bag_gamma) in enumerate(chosen):
    for d in range(2):
        for name in METHODS:
            setting = bag_gamma if name == "bag of bonds" else (descriptor, gamma)
            results[name].append(measured(name, setting, k, d))

# %% [markdown]
# ## Results

# %%
errors = {name: [error for error, _ in found] for name, found in results.items()}
mae = {name: np.array([np.abs(e).mean() for e in found]) for name, found in errors.items()}
rows = []
for name, found in errors.items():
    row = {"method": name}
    rmse = np.array([np.sqrt(np.mean(e**2)) for e in found])
    for column, values in {"MAE": mae[name], "RMSE": rmse}.items():
        row[f"{column}, ten draws"] = f"{mean_se(values):.3f}"
        row[f"{column}, folds of the file"] = f"{mean_se(values[::2]):.3f}"
    rows.append(row | {"CPU seconds per draw": round(np.mean([s for _, s in results[name]]))})
run.table(
    rows,
    "errors",
    caption="Errors in kcal/mol, mean and standard error. The seconds are those of the descriptors "
    "and the kernel matrix over all molecules, and of choosing the penalty.",
)

# %%
share = 100 * np.mean(np.abs(np.concatenate(errors["set kernel"])) < 1)
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.6), width_ratios=[1, 1.35])
for place, (name, method) in enumerate(METHODS.items()):
    left.plot(mae[name], np.full(len(mae[name]), place + 0.15), ".", color="0.6")
    mean, se = mean_se(mae[name])
    curve(left, [mean], [place], method, xerr=2 * se)
    values = np.sort(np.abs(np.concatenate(errors[name])))
    below = 100 * np.arange(1, len(values) + 1) / len(values)
    curve(right, values, below, method, label=name, marker="")
left.set_yticks(range(len(METHODS)), METHODS)
title = f"The {min(mae, key=lambda name: mae[name].mean())} errs least"
left.set(ylim=(-0.6, len(METHODS) - 0.4), xlim=(0, None), title=title)
left.set_xlabel("mean absolute error (kcal/mol)")
right.axvline(1.0, color="0.4", lw=1, ls=":", zorder=0)
right.set(
    xscale="log",
    xlim=(0.02, 10),
    xlabel="absolute error of a molecule (kcal/mol)",
    ylabel="molecules with a smaller error (%)",
    title=f"The set kernel predicts {share:.0f} % to 1 kcal/mol",
)
right.legend(loc="upper left")
run.figure(
    fig,
    "errors",
    caption="Left: the draws (dots), their mean and two standard errors. Right: test molecules of "
    "all draws; the dotted line is 1 kcal/mol, chemical accuracy.",
)

# %% [markdown]
# ## What to take from it
#
# - Parts of a molecule are compared wherever they occur, and the sum over atoms grows with the
#   molecule as its energy does. Averaged Coulomb matrices, which compare molecules as wholes, are in
#   `raj2017/quantum_machine`.
# - The explicit features need no matrix of molecules x molecules. But landmarks stand for
#   environments that vary continuously.
# - Which steps take the set kernel further is the question of `beyond/qm7`.
