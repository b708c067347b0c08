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
# # Which one when: molecules, however their atoms are numbered
#
# *Every method of the four papers that applies, on one task, by one protocol.*
#
# A molecule is given by its Coulomb matrix, and the energy does not depend on how the atoms are
# numbered. Here they are numbered *at random*, as in a file without an order. There are $23!$
# numberings, and most of them scramble what the matrix says. There are two ways out: choose one
# numbering (sort the atoms by the norm of their rows), or average over a few numberings near the
# sorted one (noise is added to the norms before sorting; Raj et al. 2017).
#
# Spectral averaging (Soleymani et al. 2025) is not among the methods: there is no manifold with
# known eigenfunctions on which molecules lie.
#
# ## The protocol
#
# - Test: 500 molecules drawn anew for each draw of the training molecules; mean absolute error in
#   kcal/mol, because a few molecules would decide a mean squared error.
# - Every representation is followed by regularised least squares, penalty and base kernel
#   (Gaussians of two bandwidths, a Laplacian) chosen by leave-one-out. The noise has standard
#   deviation 1 throughout; `raj2017/quantum_machine` chooses it by cross-validation.
# - Discrepancy is the largest change of the predicted energy under renumbering, relative to the
#   largest energy.
# - Times are CPU seconds on one core; the fit includes every choice. Peak memory is that of NumPy
#   arrays and Python objects, in a run of its own.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from sklearn.preprocessing import FunctionTransformer

from invariance.companion import Run
from invariance.companion.run.comparison import say_best, score_texts, show
from invariance.datasets import load_qm7, make_molecules
from invariance.evaluation.selection import best_by_leave_one_out, best_with_copies
from invariance.evaluation.trials import trial
from invariance.features import OrbitFourier, OrbitNystroem, draw_templates
from invariance.groups import (
    AtomPermutations,
    SortedNoise,
    coulomb_eigenvalues,
    coulomb_triangle,
    sort_coulomb,
)
from invariance.kernels import Average, BestFit, Gaussian, Laplacian
from invariance.linear import RLSRegressor
from invariance.spectral import invariance_discrepancy

run = Run("compare/molecules", profile=profile, seed=seed)

# %%
FULL = not run.quick
SIZES = (10, 30, 100, 300, 1000) if FULL else (10, 30, 100)
DRAWS, TEST, FEATURES = (5, 500, 1000) if FULL else (2, 50, 50)
NUMBERINGS = 10 if FULL else 5
SCALE = 4.0 if FULL else 1.0  # of bandwidths


# %% [markdown]
# The quick profile makes up small molecules with an energy of its own.


# %%
molecules = make_molecules(400, random_state=seed) if run.quick else load_qm7()
stand_in = "made-up molecules" if run.quick else None
for file, sha256 in molecules.sources.items():
    run.uses_data(file, sha256)
matrices, energies = molecules.data.astype(float), molecules.target.astype(float)
n_atoms = matrices.shape[1]
numbering = np.argsort(np.random.RandomState(seed).random_sample(matrices.shape[:2]), axis=1)
matrices = np.take_along_axis(matrices, numbering[:, :, None], axis=1)
matrices = np.take_along_axis(matrices, numbering[:, None, :], axis=2)
print(f"{len(matrices)} molecules of up to {n_atoms} atoms" + (f"; {stand_in}" if stand_in else ""))


def draw(n, repetition):
    rows = np.random.RandomState(1000 * seed + repetition).permutation(len(matrices))
    train, test = rows[TEST : TEST + n], rows[:TEST]
    flat = matrices.reshape(len(matrices), -1)
    return flat[train], energies[train], flat[test], energies[test]


# %% [markdown]
# ## The methods
#
# The plain kernel sees the random numbering; augmentation adds four further ones. *Sorted* and
# *eigenvalues* are canonical forms. The averages take the same number of noisy orders for each
# molecule (both arguments of the kernel; five of them there, because their number counts
# squared). The best fit is the largest kernel value of a sorted molecule and noisy orders of the
# other, made symmetric and clipped. CDF pooling looks at projections of noisy orders.

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
noisy = SortedNoise(n_atoms, 1.0, triangle=True)
learner = RLSRegressor()
BASES = (
    Gaussian(1 / (2 * (25 * SCALE) ** 2)),
    Gaussian(1 / (2 * (75 * SCALE) ** 2)),
    Laplacian(1 / (250 * SCALE)),
)


def histograms(X, templates, half_width, n_bins, noise):
    """Shares of projections of noisy orders below 2 n_bins + 1 thresholds, template by template."""
    moved = noisy.act(noise, X)
    thresholds = half_width * np.arange(-n_bins, n_bins + 1) / n_bins
    shares = [np.mean((moved @ t)[:, :, None] <= thresholds, axis=0) for t in templates]
    return np.concatenate(shares, axis=1)


# %%
def candidates(method, X, repetition):
    how = dict(random_state=repetition)
    if method == "cdf":
        noise = noisy.sample(NUMBERINGS, repetition)
        first = noisy.act(noise[:1], X)[0]
        templates = draw_templates(
            "gaussian", FEATURES // 10, n_features=first.shape[1], epsilon=0.2, **how
        )
        settings = dict(
            templates=templates,
            half_width=np.quantile(np.abs(first @ templates.T), 0.999),
            noise=noise,
        )
        return [
            FunctionTransformer(histograms, kw_args={**settings, "n_bins": b}) for b in (10, 25)
        ]
    if method == "lgika-rff":
        named = [
            ("gaussian", BASES[0].gamma),
            ("gaussian", BASES[1].gamma),
            ("laplacian", BASES[2].gamma),
        ]
        return [
            OrbitFourier(
                noisy, FEATURES, n_transforms=NUMBERINGS, kernel=k, gamma=g, form="cos_sin", **how
            )
            for k, g in named
        ]
    if method == "lgika-nystrom":
        few = min(FEATURES // 2, len(X))
        return [
            OrbitNystroem(noisy, few, n_transforms=NUMBERINGS, kernel=k, from_orbit=True, **how)
            for k in BASES
        ]
    if method == "local":
        return [Average(k, noisy, n_transforms=5, **how) for k in BASES]
    if method == "best-fit":
        return [
            BestFit(k, SortedNoise(n_atoms, 1.0), n_transforms=NUMBERINGS, **how) for k in BASES
        ]
    return list(BASES)


# %%
def canonical(method, X):
    """What the kernel sees of a Coulomb matrix."""
    if method == "sorted":
        return coulomb_triangle(sort_coulomb(X))
    if method == "definition":
        return coulomb_eigenvalues(X)
    return sort_coulomb(X).reshape(len(X), -1) if method == "best-fit" else X


def fit(method, X, y, repetition):
    """A function from Coulomb matrices to energies."""
    if method == "augmentation":
        everything = AtomPermutations(n_atoms)
        moved = everything.act(everything.sample(4, repetition), X)
        return best_with_copies(BASES, learner, X=X, y=y, moved=moved)
    points = canonical(method, X)
    options = candidates(method, points, repetition)
    f = best_by_leave_one_out(options, learner, X=points, y=y)
    return lambda Z: f(canonical(method, Z))


def renumbered(f, Z):
    return invariance_discrepancy(f, AtomPermutations(n_atoms), Z, n_elements=20, relative=True)


# %%
@run.cache
def compare(method, n, repetition):
    X, y, Z, truth = draw(n, repetition)
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: np.mean(np.abs(predicted - truth)),
        discrepancy=lambda f: renumbered(f, Z[:10]),
        memory=repetition == 0,
        apart=FULL,
    )


trials = {
    (method, n): [compare(method, n, r) for r in range(DRAWS)] for method in NAMES for n in SIZES
}

# %% [markdown]
# ## Results

# %%
on = f" ({stand_in})" if stand_in else ""
table = show(
    run,
    trials,
    NAMES,
    score=f"mean absolute error (kcal/mol){on}",
    discrepancy="relative invariance discrepancy",
    higher_is_better=False,
)

# %% [markdown]
# ## What it shows
#
# Mean absolute errors with one standard error:

# %%
say_best(run, trials, NAMES, unit="kcal/mol", higher_is_better=False)

# %% [markdown]
# *Sort, or average?* One sorted order against the average over five noisy ones. Sorting is
# invariant where no two rows have equal norms; where two have, the numbering decides. How many
# molecules are such, and how much do answers change?

# %%
said, fewest, most = score_texts(table), SIZES[0], SIZES[-1]
error = table.pivot(index="n", columns="method", values="score")
norms = np.sort(np.linalg.norm(matrices, axis=2), axis=1)
tied = (np.diff(norms, axis=1) < 1e-9 * norms[:, 1:]).any(axis=1)
run.say(
    "Sorting errs by {few:.2f} times as much as the average with {fewest} molecules and by "
    "{many:.2f} times as much with {most:,}.",
    few=error["sorted"][fewest] / error["local"][fewest],
    fewest=fewest,
    many=error["sorted"][most] / error["local"][most],
    most=most,
)
run.say(
    "{tied} of {n:,} molecules have two norms that are equal to nine digits. Discrepancy of "
    "sorting, draw by draw with the most training molecules: {gaps}.",
    tied=tied.sum(),
    n=len(tied),
    gaps=", ".join(f"{t.discrepancy:.0e}" for t in trials["sorted", most]),
)

# %% [markdown]
# *Is exact invariance enough?* Eigenvalues are invariant up to rounding, and forget much.

# %%
last = table[table["n"] == most].set_index("method")
run.say(
    "Eigenvalues change by {gap:.0e} when atoms are renumbered, and err by {error} kcal/mol; the "
    "average over noisy orders changes by {its:.0e} and errs by {average}.",
    gap=last["discrepancy"]["definition"],
    error=said["definition", most],
    its=last["discrepancy"]["local"],
    average=said["local", most],
)

# %% [markdown]
# *Average or maximum?* The best fit over orders drawn at random is a noisy number, and its
# indefinite matrix is clipped. CDF pooling sees projections only.

# %%
for n in (fewest, most):
    run.say(
        "{n:,} molecules: the best fit errs by {fit} kcal/mol, the average by {average}, CDF "
        "pooling by {cdf}.",
        n=n,
        fit=said["best-fit", n],
        average=said["local", n],
        cdf=said["cdf", n],
    )

# %% [markdown]
# *Features in place of the kernel?* Orbit Nystrom rests on landmarks; a draw that has bad ones is
# seen in the mean of few.

# %%
seconds = last["fit_s"] + last["predict_s"]
run.say(
    "With {most:,} molecules orbit Nystrom errs by {nystrom} kcal/mol in {share:.2f} of the "
    "averaged kernel's time.",
    most=most,
    nystrom=said["lgika-nystrom", most],
    share=seconds["lgika-nystrom"] / seconds["local"],
)
run.say(
    "Its errors with {n} molecules, draw by draw: {draws}.",
    n=SIZES[1],
    draws=", ".join(f"{t.score:.0f}" for t in trials["lgika-nystrom", SIZES[1]]),
)
