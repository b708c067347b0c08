# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which one when: molecules, however their atoms are numbered
#
# A molecule is given by its Coulomb matrix, and the energy does not depend on how the atoms are
# numbered. Here they are numbered *at random*, as in a file without an order. There are $23!$
# numberings, and most of them scramble what the matrix says. There are two ways out: choose one
# numbering (sort the atoms by the norm of their rows), or average over a few numberings near the
# sorted one (noise is added to the norms before sorting; Raj et al. 2017). Spectral averaging
# (Soleymani et al. 2025) needs a manifold with known eigenfunctions, and is left out.
#
# ## The protocol
#
# - Test: 500 molecules drawn anew for each draw of the training molecules; mean absolute error in
#   kcal/mol, because a few molecules would decide a mean squared error.
# - Regularised least squares throughout, penalty and base kernel (Gaussians of two bandwidths, a
#   Laplacian) chosen by leave-one-out. The noise has standard deviation 1;
#   `raj2017/quantum_machine` chooses it by cross-validation.
# - Discrepancy is the largest change of the predicted energy under renumbering, relative to the
#   largest energy. Times and memory are measured as in `compare/digits`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from _comparison import show
from sklearn.preprocessing import FunctionTransformer

from invariance import groups
from invariance.companion import Run
from invariance.datasets import load_qm7, make_molecules
from invariance.evaluation.selection import best_by_leave_one_out, best_with_copies
from invariance.evaluation.trials import trial
from invariance.features import OrbitFourier, OrbitNystroem, draw_templates
from invariance.groups import SortedNoise, sort_coulomb
from invariance.kernels import Average, BestFit, Gaussian, Laplacian
from invariance.linear import RLSRegressor
from invariance.spectral import invariance_discrepancy

run = Run("compare/molecules", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
SIZES = (10, 30, 100, 300, 1000) if FULL else (10, 30, 100)
DRAWS, TEST, FEATURES = (5, 500, 1000) if FULL else (2, 50, 50)
NUMBERINGS, SCALE = (10, 4.0) if FULL else (5, 1.0)  # the second: of bandwidths
molecules = load_qm7() if FULL else make_molecules(400, random_state=seed)
on = "" if FULL else " (made-up molecules)"

# %%
run.uses_data(molecules)
matrices, energies = molecules.data.astype(float), molecules.target.astype(float)
numbering = np.argsort(np.random.RandomState(seed).random_sample(matrices.shape[:2]), axis=1)
matrices = np.take_along_axis(matrices, numbering[:, :, None], axis=1)
matrices = np.take_along_axis(matrices, numbering[:, None, :], axis=2)
n_atoms, flat = matrices.shape[1], matrices.reshape(len(matrices), -1)


def draw(n, repetition):
    rows = np.random.RandomState(1000 * seed + repetition).permutation(len(flat))
    train, test = rows[TEST : TEST + n], rows[:TEST]
    return flat[train], energies[train], flat[test], energies[test]


# %% [markdown]
# ## The methods
#
# The plain kernel sees the random numbering; augmentation adds four further ones. *Sorted* and
# *eigenvalues* are canonical forms. The averages take noisy orders of each molecule (of both
# arguments of the kernel; fewer there, because their number counts squared). The best fit is the
# largest kernel value of a sorted molecule and noisy orders of the other, made symmetric and
# clipped. CDF pooling looks at projections of noisy orders.

# %%
NAMES = {
    "raw": "plain kernel",
    "augmentation": "four random numberings more",
    "sorted": "sorted",
    "definition": "eigenvalues",
    "local": "averaged kernel, noisy sorting",
    "lgika-rff": "orbit random Fourier, noisy sorting",
    "lgika-nystrom": "orbit Nystrom, noisy sorting",
    "cdf": "CDF pooling, noisy sorting",
    "best-fit": "best fit, noisy sorting",
}
noisy, everything = SortedNoise(n_atoms, 1.0, triangle=True), groups.AtomPermutations(n_atoms)
learner = RLSRegressor()
BASES = [Gaussian(1 / (2 * (width * SCALE) ** 2)) for width in (25, 75)]
BASES += [Laplacian(1 / (250 * SCALE))]


def histograms(X, templates, half_width, n_bins, noise):
    """Shares of projections of noisy orders below 2 n_bins + 1 thresholds, template by template."""
    moved = noisy.act(noise, X)
    thresholds = half_width * np.arange(-n_bins, n_bins + 1) / n_bins
    shares = [np.mean((moved @ t)[:, :, None] <= thresholds, axis=0) for t in templates]
    return np.concatenate(shares, axis=1)


def pooling(X, how):
    """CDF pooling over noisy orders, a candidate a number of bins."""
    noise = noisy.sample(NUMBERINGS, how["random_state"])
    first = noisy.act(noise[:1], X)[0]
    shape = dict(n_features=first.shape[1], epsilon=0.2)
    templates = draw_templates("gaussian", FEATURES // 10, **shape, **how)
    width = np.quantile(np.abs(first @ templates.T), 0.999)
    given = dict(templates=templates, half_width=width, noise=noise)
    return [FunctionTransformer(histograms, kw_args=given | {"n_bins": b}) for b in (10, 25)]


# %%
def candidates(method, X, repetition):
    how, many = dict(random_state=repetition), dict(n_transforms=NUMBERINGS)
    if method == "cdf":
        return pooling(X, how)
    if method == "lgika-rff":
        names = zip(("gaussian", "gaussian", "laplacian"), BASES, strict=True)
        how |= dict(form="cos_sin") | many
        return [OrbitFourier(noisy, FEATURES, kernel=k, gamma=b.gamma, **how) for k, b in names]
    if method == "lgika-nystrom":
        how |= dict(n_components=min(FEATURES // 2, len(X)), from_orbit=True) | many
        return [OrbitNystroem(noisy, kernel=k, **how) for k in BASES]
    if method == "local":
        return [Average(k, noisy, n_transforms=5, **how) for k in BASES]
    if method == "best-fit":
        return [BestFit(k, SortedNoise(n_atoms, 1.0), **many, **how) for k in BASES]
    return BASES


def canonical(method, X):
    """What the kernel sees of a Coulomb matrix."""
    if method == "sorted":
        return groups.coulomb_triangle(sort_coulomb(X))
    if method == "definition":
        return groups.coulomb_eigenvalues(X)
    return sort_coulomb(X).reshape(len(X), -1) if method == "best-fit" else X


def fit(method, X, y, repetition):
    """A function from Coulomb matrices to energies."""
    if method == "augmentation":
        moved = everything.act(everything.sample(4, repetition), X)
        return best_with_copies(BASES, learner, X=X, y=y, moved=moved)
    points = canonical(method, X)
    f = best_by_leave_one_out(candidates(method, points, repetition), learner, X=points, y=y)
    return lambda Z: f(canonical(method, Z))


# %%
@run.cache
def compare(method, n, repetition):
    X, y, Z, truth = draw(n, repetition)
    how = dict(n_elements=20, relative=True)
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: np.mean(np.abs(predicted - truth)),
        discrepancy=lambda f: invariance_discrepancy(f, everything, Z[:10], **how),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Sorting is invariant where no two rows have equal norms; where two have, the numbering decides.
# Eigenvalues are invariant up to rounding, and forget much. The best fit over orders drawn at
# random is a noisy number, and its indefinite matrix is clipped. CDF pooling sees projections only;
# orbit Nystrom rests on landmarks, and a draw that has bad ones is seen in the mean of few.

# %%
show(
    run,
    {(m, n): [compare(m, n, r) for r in range(DRAWS)] for m in NAMES for n in SIZES},
    NAMES,
    score=f"mean absolute error (kcal/mol){on}",
    discrepancy="relative invariance discrepancy",
    higher_is_better=False,
)
norms = np.sort(np.linalg.norm(matrices, axis=2), axis=1)
tied = (np.diff(norms, axis=1) < 1e-9 * norms[:, 1:]).any(axis=1)
run.say(
    "{tied} of {n:,} molecules have two norms that are equal to nine digits.",
    tied=tied.sum(),
    n=len(tied),
)
