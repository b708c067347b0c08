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
profile: str = "quick"      # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, colour, marker, mean_se
from invariance.datasets import load_qm7
from invariance.features import OrbitFourier, OrbitNystroem, draw_templates
from invariance.groups import SortedNoise, coulomb_eigenvalues, coulomb_triangle, sort_coulomb
from invariance.kernels import Average, Gaussian, Laplacian
from invariance.linear import nested_ridge

run = Run("raj2017/quantum_machine", profile=profile, seed=seed)

# %% [markdown]
# ## The data and the protocol
#
# QM7: 7,165 molecules with energies in kcal/mol and five folds that come with the file. The matrices
# are stored sorted by the *L1* norm of their rows; "original" below means as stored. The quick
# profile makes up small molecules with an energy of its own: a check of the code, not of the claim.
#
# Every row of the table is a Gram matrix and ridge regression on it. Bandwidth, noise and
# regularisation are chosen for each test fold by cross-validation over the other four
# (`nested_ridge`), on features that never see an energy.

# %%
def make_molecules(n, random_state):
    """Made-up molecules of 4 to 7 atoms, with energies from a pair potential."""
    rng = np.random.default_rng(random_state)
    matrices, energies = np.zeros((n, 7, 7), dtype=np.float32), np.zeros(n)
    for i in range(n):
        atoms = rng.integers(4, 8)
        Z = rng.choice([1.0, 6.0, 7.0, 8.0], atoms, p=[0.5, 0.3, 0.1, 0.1])
        sites = rng.permutation(27)[:atoms]
        R = 2.5 * np.stack([sites // 9, sites // 3 % 3, sites % 3], axis=1) + rng.normal(0, 0.15, (atoms, 3))
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
s, r, n_landmarks = run.choose(quick=(300, 10, 100), full=(10_000, 70, 3000))
n_templates = run.choose(quick=50, full=500)            # of GICDF, 51 features each
lambdas = [1e-10, 1e-9, 1e-8, 1e-7]
# the one-sided average of random Coulomb matrices is not positive definite: it needs larger ones
large_lambdas = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]
bandwidths = run.choose(quick=[20.0, 80.0], full=[80.0, 160.0, 320.0])
print(f"{len(X)} molecules of up to {n_atoms} atoms; energies {energies.min():.0f} to {energies.max():.0f}")

# %% [markdown]
# ## The rows of the table
#
# `SortedNoise` is the paper's law on numberings; it depends on the molecule, so points are
# transformed and not templates. With ``triangle=True`` only half of each symmetric matrix is used,
# at the same distances. The second layer is an `OrbitFourier` without a group, on the features.

# %%
def representation(name):
    if name == "eigenvalues":
        return coulomb_eigenvalues(X.astype(float))
    return coulomb_triangle((X if name == "original" else sort_coulomb(X)).astype(float))


def orbit(noise):
    return SortedNoise(n_atoms, noise, triangle=True)


def first_layer(method, sigma, noise, kernel, draw):
    """Features of the original, sorted or averaged matrices; ``noise`` is None for the first two."""
    gamma = 1 / sigma if kernel == "laplacian" else 1 / (2 * sigma**2)
    how = {"kernel": kernel, "gamma": gamma, "random_state": draw}
    group, n_transforms, points = None, None, None
    if isinstance(noise, str):
        points = representation(noise)
    else:
        group, n_transforms, points = orbit(noise), r, X.reshape(len(X), -1)
    if method == "rf":
        # the real and the imaginary part of equation (7)
        model = OrbitFourier(group, s, n_transforms, form="cos_sin", **how)
    else:
        model = OrbitNystroem(group, n_landmarks, n_transforms, from_orbit=True, rcond=1e-10, **how)
        points = points.astype(float)
    return model.fit(points).transform(points)


def gram_matrix(method, sigma, noise, kernel, second, draw):
    if method == "exact":
        base = Laplacian(1 / sigma) if kernel == "laplacian" else Gaussian(1 / (2 * sigma**2))
        return base(representation(noise))
    if method == "random-coulomb":
        # k(x, P z) and k(P x, z) averaged, Montavon et al. 2012
        one_sided = Average(Gaussian(1 / (2 * sigma**2)), SortedNoise(n_atoms, noise), min(r, 16), "second", random_state=draw)
        gram = one_sided(sort_coulomb(X).reshape(len(X), -1).astype(float))
        return (gram + gram.T) / 2
    if method == "gicdf":
        return cdf_gram(noise, draw)
    Z = first_layer(method, sigma, noise, kernel, draw)
    if second is not None:
        layer = OrbitFourier(n_components=s, random_state=draw + 1).fit(Z.astype(np.float32))
        layer.set_params(gamma=second * layer.gamma_)
        Z = layer.fit_transform(Z.astype(np.float32))
    Z = Z.astype(np.float64)
    return Z @ Z.T


# %% [markdown]
# The histogram features of Mroueh et al. (2015), "GICDF", with the same numberings, 25 bins:

# %%
def cdf_gram(noise, draw):
    group, n_bins = orbit(noise), 25
    elements = group.sample(r, draw)
    d = n_atoms * (n_atoms + 1) // 2
    templates = draw_templates("gaussian", n_templates, d, 0.2, random_state=draw).astype(np.float32)
    moved = group.act(elements, X.reshape(len(X), -1))
    half_width = np.quantile(np.abs(moved[0] @ templates.T), 0.999)
    gram = np.zeros((len(X), len(X)))
    cells = 2 * n_bins + 2
    offset = cells * np.arange(len(X))[:, None]
    for block in np.array_split(templates, n_templates // 25):
        features = []
        for template in block:
            position = np.ceil(moved @ template * (n_bins / half_width)).clip(-n_bins, n_bins + 1).T
            index = offset + n_bins + position.astype(np.intp)
            counts = np.bincount(index.ravel(), minlength=cells * len(X)).reshape(len(X), cells)
            features.append(np.cumsum(counts[:, :-1], axis=1) / r)
        features = np.concatenate(features, axis=1)
        gram += features @ features.T
    return gram / n_templates


@run.cache
def evaluate(method, sigma, noise, kernel="gaussian", second=None, draw=0):
    """Inner errors and test predictions of one setting; some minutes each in the full profile."""
    gram = gram_matrix(method, sigma, noise, kernel, second, draw)
    path = large_lambdas if method == "random-coulomb" else lambdas
    found = nested_ridge(gram, energies, folds, path)
    return found.inner, found.predictions


def settings(method, noises, kernel="gaussian", seconds=(None,), sigmas=bandwidths):
    return [
        {"method": method, "sigma": sigma, "noise": noise, "kernel": kernel, "second": second, "draw": seed}
        for sigma in sigmas for noise in noises for second in seconds
    ]


NOISES = [1.0, 3.0]
SECOND = [0.03, 0.1]
middle = bandwidths[-2:]
ROWS = {
    "original, RF": settings("rf", ["original"]),
    "original, RF, 2 layers": settings("rf", ["original"], seconds=SECOND, sigmas=middle),
    "original, Nystrom": settings("nystrom", ["original"]),
    "original, Nystrom, 2 layers": settings("nystrom", ["original"], seconds=SECOND, sigmas=middle),
    "original, GP": settings("exact", ["original"]),
    "sorted, RF": settings("rf", ["sorted"]),
    "sorted, RF, 2 layers": settings("rf", ["sorted"], seconds=SECOND, sigmas=middle),
    "sorted, Nystrom": settings("nystrom", ["sorted"]),
    "sorted, Nystrom, 2 layers": settings("nystrom", ["sorted"], seconds=SECOND, sigmas=middle),
    "sorted, GP": settings("exact", ["sorted"]),
    "random Coulomb": settings("random-coulomb", NOISES),
    "GICDF": settings("gicdf", NOISES, sigmas=[0.0]),
    "LGIKA, RF": settings("rf", NOISES),
    "LGIKA, RF, 2 layers": settings("rf", NOISES, seconds=SECOND, sigmas=middle),
    "LGIKA, Nystrom": settings("nystrom", NOISES),
    "LGIKA, Nystrom, 2 layers": settings("nystrom", NOISES, seconds=SECOND, sigmas=middle),
    # beyond the paper
    "eigenvalues, GP": settings("exact", ["eigenvalues"]),
    "sorted, GP, Laplacian": settings("exact", ["sorted"], "laplacian", sigmas=run.choose(quick=[100.0], full=[500.0, 2000.0])),
    "orbit RF, Laplacian": settings("rf", NOISES, "laplacian", sigmas=run.choose(quick=[100.0], full=[500.0, 2000.0])),
}


def row(name):
    """Test errors by fold, each fold with the setting that the other four prefer."""
    inner, predictions = zip(*(evaluate(**setting) for setting in ROWS[name]), strict=True)
    best = np.array([path.min(axis=1) for path in inner]).argmin(axis=0)
    errors = [predictions[best[k]][fold] - energies[fold] for k, fold in enumerate(folds)]
    rmse = np.array([np.sqrt(np.mean(e**2)) for e in errors])
    mae = np.array([np.mean(np.abs(e)) for e in errors])
    return rmse, mae, [ROWS[name][i] for i in best]


results = {name: row(name) for name in ROWS}

# %% [markdown]
# ## Table 1

# %%
PAPER = {
    "original, RF": 14.01, "original, RF, 2 layers": 13.78, "original, Nystrom": 13.97,
    "original, Nystrom, 2 layers": 13.81, "original, GP": 13.48, "sorted, RF": 12.89,
    "sorted, RF, 2 layers": 12.49, "sorted, Nystrom": 12.83, "sorted, Nystrom, 2 layers": 12.51,
    "sorted, GP": 12.59, "random Coulomb": 11.40, "GICDF": 12.25, "LGIKA, RF": 10.82,
    "LGIKA, RF, 2 layers": 10.05, "LGIKA, Nystrom": 10.87, "LGIKA, Nystrom, 2 layers": 10.45,
}
table = []
for name, (rmse, mae, chosen) in results.items():
    error, absolute = mean_se(rmse), mean_se(mae)
    table.append({
        "method": name, "paper RMSE": PAPER.get(name, np.nan), "RMSE": f"{error.mean:.2f} ± {error.se:.2f}",
        "MAE": f"{absolute.mean:.2f} ± {absolute.se:.2f}", "by fold": ", ".join(f"{v:.1f}" for v in rmse),
        "bandwidths chosen": ", ".join(f"{c['sigma']:g}" for c in chosen),
    })
run.table(pd.DataFrame(table), "table1", caption="Root mean square and mean absolute errors in kcal/mol over the five test folds, with standard errors; the last three rows go beyond the paper.")

# %%
fig, ax = plt.subplots(figsize=(7.4, 5.6))
looks = {"original": "raw", "sorted": "sorted", "random": "random-coulomb", "GICDF": "cdf", "LGIKA": "lgika", "eigenvalues": "definition", "orbit": "fast"}
for i, (name, (rmse, _, _)) in enumerate(results.items()):
    look = looks[name.split(",")[0].split(" ")[0]]
    score = mean_se(rmse)
    ax.errorbar(score.mean, i, xerr=2 * score.se, color=colour(look), marker=marker(look), linestyle="none")
    if name in PAPER and stand_in is None:
        ax.plot(PAPER[name], i, color=colour("published"), marker=marker("published"), linestyle="none", label="paper" if i == 0 else None)
ax.set(yticks=range(len(results)), yticklabels=list(results), xlabel="test RMSE (kcal/mol)" + (f", {stand_in}" if stand_in else ""))
ax.set_xscale("log")
ax.invert_yaxis()
if stand_in is None:
    ax.legend()
run.figure(fig, "table1", alt="Test errors of nineteen methods with error bars and, on the full data, the paper's numbers as stars.", caption="Mean over five folds and two standard errors.")

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
        run.claim(claim, samples=samples[:, 0] if len(names) == 1 else samples)

# %% [markdown]
# ## How stable are these numbers?
#
# The errors are heavy-tailed: a few molecules decide the root mean square error of a fold, hence
# its standard error. Paired by fold, the *differences* between methods are far sharper than the
# numbers themselves.

# %%
pairs = [
    ("sorted, RF", "LGIKA, RF"), ("sorted, Nystrom", "LGIKA, Nystrom"),
    ("LGIKA, RF", "LGIKA, RF, 2 layers"), ("random Coulomb", "LGIKA, RF"), ("GICDF", "LGIKA, RF"),
]
gains = []
for worse, better in pairs:
    gain = mean_se(results[worse][0] - results[better][0])
    gains.append({"from": worse, "to": better, "gain in RMSE": f"{gain.mean:.2f} ± {gain.se:.2f}"})
run.table(gains, "gains", caption="Differences in test RMSE, paired by fold (kcal/mol).")
