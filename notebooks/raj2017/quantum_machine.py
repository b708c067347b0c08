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
# # Atomisation energies of molecules
#
# *Raj et al. (2017), section 4.1 and Table 1.*
#
# A molecule is given as its Coulomb matrix: $C_{ij} = Z_i Z_j / |R_i - R_j|$ off the diagonal and
# $\tfrac12 Z_i^{2.4}$ on it. Its energy does not depend on how the atoms are numbered, but the
# matrix does: 23 atoms can be numbered in $23! \approx 2.6 \cdot 10^{22}$ ways. No average over all
# of them can be taken, and none should: most numberings scramble what the matrix says.
#
# The paper averages *locally*. Atoms are sorted by the norm of their row after noise has been added
# to the norms (Montavon et al. 2012), so that only atoms of nearly equal norm change places. Features
# averaged over 70 such numberings should beat features of the sorted matrix alone.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, colour, marker, mean_se
from invariance.datasets import load_qm7
from invariance.features import OrbitFourier, OrbitNystroem, draw_templates, median_gamma
from invariance.groups import SortedNoise, coulomb_eigenvalues, coulomb_triangle, sort_coulomb
from invariance.kernels import Average, Gaussian, Hyperkernel, Laplacian, SpectrumRepair
from invariance.linear import nested_ridge

run = Run("raj2017/quantum_machine", profile=profile, seed=seed)

# %% [markdown]
# ## The data and the protocol
#
# QM7: 7,165 molecules with energies in kcal/mol and five folds that come with the file. The matrices
# are stored sorted by the *L1* norm of their rows; "original" below means as stored. The quick
# profile makes up small molecules with an energy of its own: a check of the code, not of the claim.
#
# Every row of the table is a Gram matrix and ridge regression on it (`nested_ridge`). For each test
# fold all parameters are chosen by cross-validation over the other four, which never
# see an energy of the test fold.
#
# All settings but the regularisation are tried on some molecules of each fold, and the one with the smallest inner error for a test fold goes to
# full scale; there the regularisation is chosen once more, by the two folds next to the test fold.
#
# - Original, sorted and local features of the Gaussian kernel, all alike: bandwidth, noise and second bandwidth are tried on 600 molecules a fold
#   with as many templates as at full scale, and for a second layer with the kernel that its random templates approach (`Hyperkernel`).
# - The other rows: bandwidth and noise on 300 molecules a fold.


# %%
def make_molecules(n, random_state):
    """Made-up molecules of 4 to 7 atoms, with energies from a pair potential."""
    rng = np.random.default_rng(random_state)
    matrices, energies = np.zeros((n, 7, 7), dtype=np.float32), np.zeros(n)
    for i in range(n):
        atoms = rng.integers(4, 8)
        Z = rng.choice([1.0, 6.0, 7.0, 8.0], atoms, p=[0.5, 0.3, 0.1, 0.1])
        sites = rng.permutation(27)[:atoms]
        R = 2.5 * np.stack([sites // 9, sites // 3 % 3, sites % 3], axis=1) + rng.normal(
            0, 0.15, (atoms, 3)
        )
        distance = np.linalg.norm(R[:, None] - R, axis=2) + np.eye(atoms)
        C = np.where(np.eye(atoms) > 0, 0.5 * Z**2.4, np.outer(Z, Z) / distance)
        order = np.argsort(-np.abs(C).sum(axis=1))
        matrices[i, :atoms, :atoms] = C[np.ix_(order, order)]
        bonds = np.sqrt(np.outer(Z, Z)) * np.exp(-distance / 2)
        energies[i] = -50 * Z.sum() ** 0.5 - 20 * np.triu(bonds, 1).sum()
    return matrices, energies, list(rng.permutation(n).reshape(5, -1))


if run.quick:
    X, energies, folds = make_molecules(200, seed)
    stand_in = "made-up molecules"
else:
    molecules = load_qm7()
    for name, sha256 in molecules.sources.items():
        run.uses_data(name, sha256)
    X, energies, folds = molecules.data, molecules.target.astype(float), list(molecules.folds)
    stand_in = None
n_atoms = X.shape[1]
s, r, n_landmarks = run.choose(quick=(300, 10, 100), full=(10_000, 70, 4000))
n_templates = run.choose(quick=100, full=2000)  # of GICDF, 51 features each
ALPHAS = run.choose(quick=np.logspace(-8, -3, 6), full=np.logspace(-10, -5, 6))
SIGMAS = run.choose(quick=[20.0, 80.0], full=[50.0, 150.0, 450.0, 1350.0])
L1_SIGMAS = run.choose(quick=[100.0, 400.0], full=[500.0, 1500.0, 4500.0, 13_500.0])
NOISES = run.choose(quick=[1.0, 3.0], full=[0.3, 1.0, 3.0, 10.0, 30.0])
REPAIRS = ["clip", "flip"]
N_WORST = 5  # molecules a fold, left out of a second root mean square error
SORTED_SIGMAS = run.choose(
    quick=SIGMAS, full=[75.0, 150.0, 300.0, 600.0]
)  # of original and sorted matrices
LOCAL_SIGMAS = run.choose(quick=SIGMAS, full=[75.0, 150.0, 300.0])
LOCAL_NOISES = run.choose(quick=NOISES, full=[3.0, 5.0, 8.0, 13.0])
SECONDS = run.choose(quick=[0.1, 1.0], full=[0.01, 0.03, 0.1])
FINE_ALPHAS = run.choose(quick=ALPHAS, full=np.logspace(-10.5, -7.5, 7))
N_INNER = 2  # folds that choose for a test fold at full scale
print(
    f"{len(X)} molecules of up to {n_atoms} atoms; energies {energies.min():.0f} to {energies.max():.0f}"
)

# %% [markdown]
# ## Kernels and features
#
# `SortedNoise` is the paper's law on numberings; it depends on the molecule, so points are
# transformed and not templates. With ``triangle=True`` only half of each symmetric matrix is used,
# at the same distances. Features take a cosine and a sine a template, the real and the
# imaginary part of equation (7). Nystrom landmarks are drawn from all molecules: they are matrices,
# without energies. The second layer is an `OrbitFourier` without a group, on the features.
#
# The random Coulomb kernel transforms one argument at a time. With $\phi$ for features of sorted
# matrices and $\psi$ for averaged ones it is
# $\tfrac12(\langle\phi,\psi'\rangle + \langle\psi,\phi'\rangle) = \tfrac14(\langle S,S'\rangle - \langle D,D'\rangle)$
# with $S=\phi+\psi$ and $D=\phi-\psi$: a difference, not positive semi-definite. A ridge that makes up for
# that would drown the energies, so negative eigenvalues are either set to zero (which forgets $D$) or
# replaced by their absolute values (which adds it); inner validation says which.


# %%
def representation(name, rows):
    if name == "eigenvalues":
        return coulomb_eigenvalues(X[rows].astype(float))
    return coulomb_triangle(
        (X[rows] if name == "original" else sort_coulomb(X[rows])).astype(float)
    )


def orbit(noise):
    return SortedNoise(n_atoms, noise, triangle=True)


def base(kernel, sigma):
    return Laplacian(1 / sigma) if kernel == "laplacian" else Gaussian(1 / (2 * sigma**2))


def random_coulomb(sigma, noise, repair, rows):
    """k(x, P z) and k(P x, z) averaged, Montavon et al. 2012, made positive semi-definite."""
    matrices, group, kernel = (
        sort_coulomb(X[rows]).astype(float),
        orbit(noise),
        base("gaussian", sigma),
    )
    points, fixed = matrices.reshape(len(matrices), -1), coulomb_triangle(matrices)
    gram = np.zeros((len(points), len(points)))
    for element in group.sample(r, seed):
        gram += kernel(fixed, group.act(element[None], points)[0])
    return SpectrumRepair(repair).fit_transform(gram / r)


def first_layer(method, matrices, kernel, sigma, rows, sizes):
    """Features of original or sorted matrices, or averaged ones (``matrices`` is then the noise)."""
    templates, landmarks, n_transforms = sizes
    how = {"kernel": kernel, "gamma": base(kernel, sigma).gamma, "random_state": seed}
    averaged = not isinstance(matrices, str)
    points = X[rows].reshape(len(X[rows]), -1) if averaged else representation(matrices, rows)
    group, n_transforms = (orbit(matrices), n_transforms) if averaged else (None, None)
    if method == "nystrom":
        points = points.astype(float)
        model = OrbitNystroem(
            group, landmarks, n_transforms=n_transforms, from_orbit=True, rcond=1e-10, **how
        )
    else:
        points = points.astype(np.float32)
        model = OrbitFourier(group, templates, n_transforms=n_transforms, form="cos_sin", **how)
    return model.fit(points).transform(points)


# %% [markdown]
# The histogram features of Mroueh et al. (2015), "GICDF", with the same numberings, 25 bins:


# %%
def cdf_gram(noise, rows, n_templates):
    group, n_bins, n = orbit(noise), 25, len(X[rows])
    elements = group.sample(r, seed)
    d = n_atoms * (n_atoms + 1) // 2
    templates = draw_templates(
        "gaussian", n_templates, n_features=d, epsilon=0.2, random_state=seed
    ).astype(np.float32)
    moved = group.act(elements, X[rows].reshape(n, -1))
    half_width = np.quantile(np.abs(moved[0] @ templates.T), 0.999)
    gram = np.zeros((n, n))
    cells = 2 * n_bins + 2
    offset = cells * np.arange(n)[:, None]
    for block in np.array_split(templates, n_templates // 25):
        features = []
        for template in block:
            position = np.ceil(moved @ template * (n_bins / half_width)).clip(-n_bins, n_bins + 1).T
            index = offset + n_bins + position.astype(np.intp)
            counts = np.bincount(index.ravel(), minlength=cells * n).reshape(n, cells)
            features.append(np.cumsum(counts[:, :-1], axis=1) / r)
        features = np.concatenate(features, axis=1)
        gram += features @ features.T
    return gram / n_templates


# %% [markdown]
# ## Gaussian kernels, one layer and two: settings on some molecules
#
# `nested_ridge` gives the inner errors of each setting, by test fold, and apart from them its predictions for the test folds; those of
# settings that are not chosen are not used. Random Fourier features choose; Nystrom features and the kernel itself take what they chose.

# %%
FULL, FULL_L1 = (s, n_landmarks, r), run.choose(quick=(100, 60, 5), full=(0, 1500, 8))


def first_of_each_fold(n):
    """The first n molecules of every fold, and where the folds are among them."""
    return np.concatenate([fold[:n] for fold in folds]), list(
        np.arange(n * len(folds)).reshape(len(folds), n)
    )


def feature_gram(features):
    """In double precision, a part of the features at a time."""
    gram = np.zeros((len(features), len(features)))
    for some in np.array_split(np.arange(features.shape[1]), 10):
        part = features[:, some].astype(float)
        gram += part @ part.T
    return gram


trial, trial_folds = first_of_each_fold(run.choose(quick=40, full=600))


@run.cache
def trial_errors(sigma, matrices):
    """Inner root mean square errors by test fold at the best alpha: of one layer (None), of two by second bandwidth."""
    Z = first_layer("rf", matrices, "gaussian", sigma, trial, FULL)
    unit, gram = median_gamma(Z, random_state=seed), feature_gram(Z)
    grams = {None: gram}
    for second in SECONDS:
        grams[second] = Hyperkernel(base("gaussian", sigma), second * unit).of_gram(
            gram, gram.diagonal()
        )
    return {
        second: nested_ridge(
            gram, energies[trial], folds=trial_folds, alphas=FINE_ALPHAS, relative_to="diagonal"
        ).inner.min(axis=1)
        for second, gram in grams.items()
    }


KINDS = {
    "original": list(product(SORTED_SIGMAS, ["original"])),
    "sorted": list(product(SORTED_SIGMAS, ["sorted"])),
    "LGIKA": list(product(LOCAL_SIGMAS, LOCAL_NOISES)),
}
trials = {
    kind: {setting: trial_errors(*setting) for setting in grid} for kind, grid in KINDS.items()
}
run.table(
    [
        {
            "matrices": kind if isinstance(matrices, str) else f"{kind}, noise {matrices:g}",
            "bandwidth": sigma,
        }
        | {
            "one layer" if second is None else f"second bandwidth {second:g}": ", ".join(
                f"{error:.1f}" for error in by_fold
            )
            for second, by_fold in errors.items()
        }
        for kind, tried in trials.items()
        for (sigma, matrices), errors in tried.items()
    ],
    "settings",
    caption=f"Inner root mean square errors (kcal/mol) of random Fourier features for each of the five test folds, on {len(trial)} molecules, each at its best alpha.",
)

# %% [markdown]
# ## Gaussian kernels at full scale


# %%
@run.cache
def full_model(method, sigma, matrices, second):
    """For every molecule by a model without its fold; alphas. Two layers unless second is None."""
    everything = slice(None)
    if method == "exact":
        gram = base("gaussian", sigma)(representation(matrices, everything))
    else:
        Z = first_layer(method, matrices, "gaussian", sigma, everything, FULL)
        if second is not None:
            Z = Z.astype(np.float32)
            gamma = second * median_gamma(Z, random_state=seed)
            Z = OrbitFourier(
                n_components=s, gamma=gamma, form="cos_sin", random_state=seed + 1
            ).fit_transform(Z)
        gram = feature_gram(Z)
    found = nested_ridge(
        gram,
        energies,
        folds=folds,
        alphas=FINE_ALPHAS,
        n_inner=N_INNER,
        relative_to="diagonal",
    )
    return found.predictions, found.chosen


def best(errors):
    """For each test fold the setting of the smallest inner error."""
    return [min(errors, key=lambda setting: errors[setting][k]) for k in range(len(folds))]


def errors_by_fold(settings, predict):
    """Root mean square errors, without each fold's worst molecules too, and mean absolute ones; settings and alphas."""
    rmse, trimmed, mae, alphas = [], [], [], []
    for k, (fold, setting) in enumerate(zip(folds, settings, strict=True)):
        predictions, chosen = predict(setting)
        error = np.sort(np.abs(predictions[fold] - energies[fold]))
        rmse.append(np.sqrt(np.mean(error**2)))
        trimmed.append(np.sqrt(np.mean(error[:-N_WORST] ** 2)))
        mae.append(np.mean(error))
        alphas.append(chosen[k])
    return np.array(rmse), np.array(trimmed), np.array(mae), settings, alphas


def full_errors(method, settings):
    return errors_by_fold(settings, lambda setting: full_model(method, *setting))


results = {}
for kind, tried in trials.items():
    one = best({(*setting, None): found[None] for setting, found in tried.items()})
    two = best(
        {
            (*setting, second): found[second]
            for setting, found in tried.items()
            for second in SECONDS
        }
    )
    for method, name in (("rf", "RF"), ("nystrom", "Nystrom")):
        results[f"{kind}, {name}"] = full_errors(method, one)
        results[f"{kind}, {name}, 2 layers"] = full_errors(method, two)
    if kind != "LGIKA":
        results[f"{kind}, GP"] = full_errors("exact", one)

# %% [markdown]
# ## The other rows: settings on some molecules

# %%
pool, pool_folds = first_of_each_fold(run.choose(quick=40, full=300))
# templates, landmarks, numberings; Laplacian kernels take few, for no matrix product helps with L1 distances
SMALL = run.choose(quick=(100, 60, 5), full=(0, 300, 8))


def small_gram(kind, kernel, sigma, matrices):
    if kind == "random-coulomb":
        return random_coulomb(sigma, *matrices, pool)
    if kind == "gicdf":
        return cdf_gram(matrices, pool, 100)
    if isinstance(matrices, str):
        return base(kernel, sigma)(representation(matrices, pool))
    Z = first_layer("nystrom", matrices, kernel, sigma, pool, SMALL).astype(float)
    return Z @ Z.T


@run.cache
def inner_errors(kind, kernel, sigma, matrices):
    """Inner root mean square errors by test fold at the best alpha."""
    return nested_ridge(
        small_gram(kind, kernel, sigma, matrices),
        energies[pool],
        folds=pool_folds,
        alphas=ALPHAS,
        relative_to="diagonal",
    ).inner.min(axis=1)


GRIDS = {
    "random Coulomb": ("random-coulomb", "gaussian", SIGMAS, list(product(NOISES, REPAIRS))),
    "GICDF": ("gicdf", "gaussian", [0.0], NOISES),
    "eigenvalues, GP": ("exact", "gaussian", SIGMAS, ["eigenvalues"]),
    "sorted, GP, Laplacian": ("exact", "laplacian", L1_SIGMAS, ["sorted"]),
    "orbit Nystrom, Laplacian": ("nystrom", "laplacian", L1_SIGMAS, NOISES),
}


def choose(kind, kernel, sigmas, matrices):
    """For each test fold: (sigma, matrices)."""
    return best(
        {
            (sigma, what): inner_errors(kind, kernel, sigma, what)
            for sigma in sigmas
            for what in matrices
        }
    )


chosen = {name: choose(*grid) for name, grid in GRIDS.items()}

# %% [markdown]
# ## The other rows at full scale


# %%
def gram_matrix(method, kernel, sigma, matrices):
    everything = slice(None)
    if method == "exact":
        return base(kernel, sigma)(representation(matrices, everything))
    if method == "random-coulomb":
        return random_coulomb(sigma, *matrices, everything)
    if method == "gicdf":
        return cdf_gram(matrices, everything, n_templates)
    Z = first_layer(method, matrices, kernel, sigma, everything, FULL_L1).astype(
        np.float64, copy=False
    )
    return Z @ Z.T


@run.cache
def test_predictions(method, kernel, sigma, matrices):
    """As `full_model`."""
    found = nested_ridge(
        gram_matrix(method, kernel, sigma, matrices),
        energies,
        folds=folds,
        alphas=ALPHAS,
        n_inner=N_INNER,
        relative_to="diagonal",
    )
    return found.predictions, found.chosen


for name, (method, kernel, *_) in GRIDS.items():
    results[name] = errors_by_fold(
        chosen[name],
        lambda setting, method=method, kernel=kernel: test_predictions(method, kernel, *setting),
    )

# %% [markdown]
# ## Beyond the paper: the averaged Laplacian kernel itself
#
# The best kernel of sorted matrices is a Laplacian, and Nystrom features with few landmarks lose more than averaging gains. So here is the
# averaged kernel without landmarks, $\frac{1}{r^2} \sum_{ij} k(P_i x, P'_j z)$, with $r = 5$ noisy numberings of each molecule, and the
# bandwidth and the noise chosen as those of the other rows.

# %%
n_numberings = run.choose(quick=3, full=5)


def averaged_laplacian(sigma, noise, rows):
    kernel = Average(
        base("laplacian", sigma),
        orbit(noise),
        n_transforms=n_numberings,
        side="both",
        random_state=seed,
    )
    return kernel(X[rows].reshape(len(X[rows]), -1).astype(float))


@run.cache
def averaged_errors(sigma, noise):
    """As `inner_errors`."""
    return nested_ridge(
        averaged_laplacian(sigma, noise, pool),
        energies[pool],
        folds=pool_folds,
        alphas=ALPHAS,
        relative_to="diagonal",
    ).inner.min(axis=1)


@run.cache
def averaged_predictions(sigma, noise):
    """As `test_predictions`."""
    gram = averaged_laplacian(sigma, noise, slice(None))
    found = nested_ridge(
        gram, energies, folds=folds, alphas=ALPHAS, n_inner=N_INNER, relative_to="diagonal"
    )
    return found.predictions, found.chosen


settings = best(
    {(sigma, noise): averaged_errors(sigma, noise) for sigma in L1_SIGMAS[1:] for noise in NOISES}
)
results["orbit, GP, Laplacian"] = errors_by_fold(
    settings, lambda setting: averaged_predictions(*setting)
)

# %% [markdown]
# ## Table 1

# %%
PAPER = {
    "original, RF": 14.01,
    "original, RF, 2 layers": 13.78,
    "original, Nystrom": 13.97,
    "original, Nystrom, 2 layers": 13.81,
    "original, GP": 13.48,
    "sorted, RF": 12.89,
    "sorted, RF, 2 layers": 12.49,
    "sorted, Nystrom": 12.83,
    "sorted, Nystrom, 2 layers": 12.51,
    "sorted, GP": 12.59,
    "random Coulomb": 11.40,
    "GICDF": 12.25,
    "LGIKA, RF": 10.82,
    "LGIKA, RF, 2 layers": 10.05,
    "LGIKA, Nystrom": 10.87,
    "LGIKA, Nystrom, 2 layers": 10.45,
}


def shown(setting):
    """The numbers and the repair of a setting, without names of matrices."""
    values = [v for part in setting for v in (part if isinstance(part, tuple) else (part,))]
    return " / ".join(
        f"{v:g}" if isinstance(v, float) else v
        for v in values
        if isinstance(v, float) or v in REPAIRS
    )


table = []
for name, (rmse, trimmed, mae, settings, alphas) in results.items():
    error, without, absolute = mean_se(rmse), mean_se(trimmed), mean_se(mae)
    table.append(
        {
            "method": name,
            "paper RMSE": PAPER.get(name, np.nan),
            "RMSE": f"{error.mean:.2f} ± {error.se:.2f}",
            f"RMSE without the {N_WORST} worst": f"{without.mean:.2f} ± {without.se:.2f}",
            "MAE": f"{absolute.mean:.2f} ± {absolute.se:.2f}",
            "by fold": ", ".join(f"{v:.1f}" for v in rmse),
            "chosen by fold": "; ".join(shown(setting) for setting in settings),
            "alpha": ", ".join(f"{alpha:.0e}" for alpha in alphas),
        }
    )
run.table(
    pd.DataFrame(table),
    "table1",
    caption="Root mean square and mean absolute errors in kcal/mol over the five test folds, with standard errors. Chosen: bandwidth, then noise and second bandwidth where there are such. The rows of eigenvalues and Laplacian kernels go beyond the paper.",
)

# %%
fig, ax = plt.subplots(figsize=(7.4, 5.6))
looks = {
    "original": "raw",
    "sorted": "sorted",
    "random": "random-coulomb",
    "GICDF": "cdf",
    "LGIKA": "lgika",
    "eigenvalues": "definition",
    "orbit": "fast",
}
for i, (name, (rmse, *_)) in enumerate(results.items()):
    look = looks[name.split(",")[0].split(" ")[0]]
    score = mean_se(rmse)
    ax.errorbar(
        score.mean, i, xerr=2 * score.se, color=colour(look), marker=marker(look), linestyle="none"
    )
    if name in PAPER and stand_in is None:
        ax.plot(
            PAPER[name],
            i,
            color=colour("published"),
            marker=marker("published"),
            linestyle="none",
            label="paper" if i == 0 else None,
        )
ax.set(
    yticks=range(len(results)),
    yticklabels=list(results),
    xlabel="test RMSE (kcal/mol)" + (f", {stand_in}" if stand_in else ""),
)
ax.invert_yaxis()
if stand_in is None:
    ax.legend()
run.figure(
    fig,
    "table1",
    alt=f"Test errors of {len(results)} methods with error bars and, on the full data, the paper's numbers as stars.",
    caption="Mean over five folds and two standard errors.",
)

# %%
PAIRS = {
    "raj2017/table1-original-rf": ["original, RF", "original, RF, 2 layers"],
    "raj2017/table1-original-nys": ["original, Nystrom", "original, Nystrom, 2 layers"],
    "raj2017/table1-original-gp": ["original, GP"],
    "raj2017/table1-sorted-rf": ["sorted, RF", "sorted, RF, 2 layers"],
    "raj2017/table1-sorted-nys": ["sorted, Nystrom", "sorted, Nystrom, 2 layers"],
    "raj2017/table1-sorted-gp": ["sorted, GP"],
    "raj2017/table1-random-coulomb": ["random Coulomb"],
    "raj2017/table1-gicdf": ["GICDF"],
    "raj2017/table1-lgika-rf": ["LGIKA, RF", "LGIKA, RF, 2 layers"],
    "raj2017/table1-lgika-nys": ["LGIKA, Nystrom", "LGIKA, Nystrom, 2 layers"],
}
for claim, names in PAIRS.items():
    # errors of made-up molecules say nothing about the paper's
    if stand_in is None:
        samples = np.stack([results[name][0] for name in names], axis=1)
        by_fold = " and ".join(
            ", ".join(f"{error:.1f}" for error in column) for column in samples.T
        )
        run.claim(
            claim, samples=samples[:, 0] if len(names) == 1 else samples, note=f"by fold {by_fold}"
        )

# %% [markdown]
# ## How stable are these numbers?
#
# The errors are heavy-tailed: a few molecules decide the root mean square error of a fold, hence
# its standard error. Paired by fold, the *differences* between methods are far sharper than the
# numbers themselves.

# %%
pairs = [
    ("sorted, RF", "LGIKA, RF"),
    ("sorted, Nystrom", "LGIKA, Nystrom"),
    ("sorted, GP, Laplacian", "orbit, GP, Laplacian"),
    ("LGIKA, RF", "LGIKA, RF, 2 layers"),
    ("random Coulomb", "LGIKA, RF"),
    ("GICDF", "LGIKA, RF"),
]
gains = []
for worse, better in pairs:
    gain = mean_se(results[worse][0] - results[better][0])
    gains.append({"from": worse, "to": better, "gain in RMSE": f"{gain.mean:.2f} ± {gain.se:.2f}"})
run.table(gains, "gains", caption="Differences in test RMSE, paired by fold (kcal/mol).")

# %% [markdown]
# **Where we differ.** The Nystrom rows have 4,000 landmarks where the paper has 10,000 templates: there are 7,165 molecules in all. Rows called GP
# are ridge regression with the kernel, which is a Gaussian process's mean; the noise is chosen by inner validation. Original, sorted and local
# features are chosen in the same way, so that the table of gains compares like with like. In one layer the local features choose the smallest bandwidth and the smallest
# noise of their grids for some folds, but inner errors are flat there: settings beside them are within a few tenths (second table). Sorted Nystrom features and GICDF lie about one standard
# error above their printed numbers, which we cannot tell from chance with five folds; like all rows they have the outliers spoken of next.
#
# Every printed number lies within two standard errors of ours, and that says less than it seems to: a handful of
# molecules, most of them in the first fold, make up much of the error of that fold, and so of the standard errors. The column
# without the five worst of each fold, and the mean absolute errors, are far steadier.
#
# - *Two layers.* With random Fourier features a second layer does not gain here: one layer reaches the printed number, two layers lose 0.7 ± 0.3 against it, 0.3 without the five
#   worst molecules of each fold. With Nystrom features two layers gain 0.6 without these. What earlier protocols gave stands in the ledger and on the
#   scoreboard: how settings are chosen matters less than which of a few molecules they miss, and what made the row of random Fourier features "matched"
#   after a first "short" was a wider standard error, not a better mean.
# - *Random Coulomb.* Inner validation always flips negative eigenvalues and never clips them. Clipping forgets the difference between a
#   sorted matrix and its averages; then only the smallest noise is any good, and the kernel is that of sorted matrices. The
#   paper quotes its number and did not compute it.
#
# The Laplacian kernel of sorted matrices, which needs no invariance beyond sorting, is far better than every Gaussian row. Averaged over a
# few noisy numberings of both molecules it is better still, by more than three standard errors of the paired difference: what the paper found for Gaussian
# kernels holds for it too.
