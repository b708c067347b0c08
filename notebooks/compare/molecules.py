# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # QM7 with randomly numbered atoms: which method when
#
# The averaged kernel over noisy orders has the least error if there are many molecules.
#
# A molecule is given by its Coulomb matrix, and the energy does not depend on how the atoms are
# numbered. In this notebook they are numbered *at random*, as in a file without an order. There are
# $23!$ numberings, and most of them scramble the matrix. There are two ways out: choose one
# numbering (sort the atoms by the norm of their rows), or average over a few numberings near the
# sorted one (noise is added to the norms before sorting; Raj et al. 2017). Spectral averaging
# (Soleymani et al. 2025) needs a manifold with known eigenfunctions, and is left out.
#
# ## The protocol
#
# - Test: 500 molecules drawn anew for each draw of the training molecules; mean absolute error in
#   kcal/mol, because a few molecules would decide a mean squared error.
# - All methods use regularised least squares, with penalty and base kernel (Gaussians of two
#   bandwidths, a Laplacian) chosen by leave-one-out. The noise has standard deviation 1;
#   `raj2017/quantum_machine` chooses it by cross-validation.
# - Discrepancy is the largest change of the predicted energy under renumbering, relative to the
#   largest energy. Times and memory are measured as in `compare/digits`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from _comparison import show
from _trials import all_trials, regression_trial
from sklearn.preprocessing import FunctionTransformer

from invariance import groups
from invariance.companion import Run
from invariance.datasets import load_qm7, make_molecules
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import OrbitFourier, OrbitNystroem, draw_templates
from invariance.groups import SortedNoise, sort_coulomb
from invariance.kernels import Average, BestFit, Gaussian, Laplacian
from invariance.linear import RLSRegressor

run = Run("compare/molecules", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
if run.quick:
    SIZES = (10, 30, 100)
    N_DRAWS = 2
    N_TEST = 50
    N_FEATURES = 50
    N_ORDERS = 5
    BANDWIDTH_SCALE = 1.0
    DATA_NOTE = " (synthetic molecules)"
else:
    SIZES = (10, 30, 100, 300, 1000)
    N_DRAWS = 5
    N_TEST = 500
    N_FEATURES = 1000
    N_ORDERS = 10
    BANDWIDTH_SCALE = 4.0
    DATA_NOTE = ""

# %%
if run.quick:
    molecules = make_molecules(400, random_state=seed)
else:
    molecules = load_qm7()
run.uses_data(molecules)
matrices = molecules.data.astype(float)
energies = molecules.target.astype(float)
keys = np.random.RandomState(seed).random_sample(matrices.shape[:2])
numbering = np.argsort(keys, axis=1)
matrices = np.take_along_axis(matrices, numbering[:, :, None], axis=1)
matrices = np.take_along_axis(matrices, numbering[:, None, :], axis=2)
n_atoms = matrices.shape[1]
flat = matrices.reshape(len(matrices), -1)


# %%
def draw(n, repetition):
    """Return training molecules and energies, and test molecules and energies."""
    rows = np.random.RandomState(1000 * seed + repetition).permutation(len(flat))
    test = rows[:N_TEST]
    train = rows[N_TEST : N_TEST + n]
    return flat[train], energies[train], flat[test], energies[test]


# %% [markdown]
# ## The methods
#
# The plain kernel sees the random numbering; augmentation adds four further numberings. *Sorted* and
# *eigenvalues* are canonical forms. The averages use noisy orders of each molecule. The averaged kernel
# transforms both arguments and therefore uses fewer orders, because its cost grows with their square.
# The best fit is the largest kernel value of a sorted molecule and noisy orders of the other one, made
# symmetric and clipped. CDF pooling uses projections of noisy orders.

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
noisy_orders = SortedNoise(n_atoms, 1.0, triangle=True)
all_orders = groups.AtomPermutations(n_atoms)
learner = RLSRegressor()
BASES = [
    Gaussian(1 / (2 * (25 * BANDWIDTH_SCALE) ** 2)),
    Gaussian(1 / (2 * (75 * BANDWIDTH_SCALE) ** 2)),
    Laplacian(1 / (250 * BANDWIDTH_SCALE)),
]

# %% [markdown]
# CDF pooling over a random set of orders is not in the library, because noisy orders are not a group.
# A few lines are enough.


# %%
def histograms(X, templates, half_width, n_bins, noise):
    """Return shares of projections below 2 n_bins + 1 thresholds, template by template."""
    orders = noisy_orders.act(noise, X)
    thresholds = half_width * np.arange(-n_bins, n_bins + 1) / n_bins
    shares = []
    for template in templates:
        projections = orders @ template
        shares.append(np.mean(projections[:, :, None] <= thresholds, axis=0))
    return np.concatenate(shares, axis=1)


# %%
def pooling(X, repetition):
    """Return the candidates of CDF pooling over noisy orders, one per number of bins."""
    noise = noisy_orders.sample(N_ORDERS, repetition)
    first = noisy_orders.act(noise[:1], X)[0]
    templates = draw_templates(
        "gaussian",
        N_FEATURES // 10,
        n_features=first.shape[1],
        epsilon=0.2,
        random_state=repetition,
    )
    half_width = np.quantile(np.abs(first @ templates.T), 0.999)
    options = {"templates": templates, "half_width": half_width, "noise": noise}
    candidates = []
    for n_bins in (10, 25):
        candidates.append(FunctionTransformer(histograms, kw_args=options | {"n_bins": n_bins}))
    return candidates


# %% [markdown]
# Leave-one-out chooses among the candidates of a method, one per base kernel.


# %%
def feature_map(method, base, n, repetition):
    """Return an orbit feature map of a base kernel."""
    options = {"n_transforms": N_ORDERS, "random_state": repetition}
    if method == "lgika-rff":
        name = type(base).__name__.lower()
        return OrbitFourier(
            noisy_orders, N_FEATURES, kernel=name, gamma=base.gamma, form="cos_sin", **options
        )
    n_landmarks = min(N_FEATURES // 2, n)
    return OrbitNystroem(
        noisy_orders, n_components=n_landmarks, kernel=base, from_orbit=True, **options
    )


# %%
def candidates(method, X, repetition):
    if method == "cdf":
        return pooling(X, repetition)
    if method in ("lgika-rff", "lgika-nystrom"):
        return [feature_map(method, base, len(X), repetition) for base in BASES]
    if method == "local":
        options = {"n_transforms": 5, "random_state": repetition}
        return [Average(base, noisy_orders, **options) for base in BASES]
    if method == "best-fit":
        options = {"n_transforms": N_ORDERS, "random_state": repetition}
        return [BestFit(base, SortedNoise(n_atoms, 1.0), **options) for base in BASES]
    return BASES


# %%
def canonical(method, X):
    """Return the form of Coulomb matrices that a method's kernel compares."""
    if method == "sorted":
        return groups.coulomb_triangle(sort_coulomb(X))
    if method == "definition":
        return groups.coulomb_eigenvalues(X)
    if method == "best-fit":
        return sort_coulomb(X).reshape(len(X), -1)
    return X


# %%
def fit(method, X, y, repetition):
    """Return a function from Coulomb matrices to energies."""
    if method == "augmentation":
        copies = all_orders.act(all_orders.sample(4, repetition), X)
        return best_with_copies(BASES, learner, X=X, y=y, moved=copies)
    points = canonical(method, X)
    options = candidates(method, points, repetition)
    predict = best_by_leave_one_out(options, learner, X=points, y=y)
    return lambda X_test: predict(canonical(method, X_test))


# %%
@run.cache
def compare(method, n, repetition):
    X, y, X_test, y_test = draw(n, repetition)
    return regression_trial(
        lambda: fit(method, X, y, repetition),
        X_test,
        y_test,
        group=all_orders,
        n_elements=20,
        risk=np.abs,
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Sorting is invariant if no two rows have equal norms; if two have, the numbering decides.
# Eigenvalues are invariant up to rounding, but they lose much information. The best fit over random
# orders is a noisy number, and its indefinite matrix is clipped. CDF pooling sees projections only.
# Orbit Nystrom depends on its landmarks: with few draws, one draw with bad landmarks shows in the mean.

# %%
trials = all_trials(compare, NAMES, SIZES, N_DRAWS)

# %%
show(
    run,
    trials,
    NAMES,
    score=f"mean absolute error (kcal/mol){DATA_NOTE}",
    discrepancy="relative invariance discrepancy",
    higher_is_better=False,
)

# %% [markdown]
# How many molecules have rows of equal norm, so that sorting does not fix their numbering?

# %%
norms = np.sort(np.linalg.norm(matrices, axis=2), axis=1)
gaps = np.diff(norms, axis=1)
tied = (gaps < 1e-9 * norms[:, 1:]).any(axis=1)
run.say(
    "{tied} of {n:,} molecules have two norms that are equal to nine digits.",
    tied=tied.sum(),
    n=len(tied),
)
