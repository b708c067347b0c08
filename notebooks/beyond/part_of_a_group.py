# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Part of a group: how much do a few of its elements gain?
#
# If a group is too large, one can use a part of it: a few random elements in the kernel, or a few
# transformed copies of the data. How invariant is the result, and how much better would the whole group
# be? A part makes a kernel invariant only if that kernel cannot distinguish it from the whole; a
# Gaussian kernel always can. And a group of order $|G|$ is worth a factor $|G|$ in samples, as
# Tahmasebi and Jegelka (2023) prove, once there are enough samples.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
noise: float = 0.5  # standard deviation of the samples on circle, torus and sphere

# %%
from dataclasses import dataclass
from itertools import combinations
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from invariance import groups, spectral
from invariance.companion import Run, Score, fit_rate, label_ends, mean_se, panel, ticks
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import OrbitFourier
from invariance.groups import LinearMaps, Permutations
from invariance.kernels import Average, Gaussian, Linear, Polynomial
from invariance.linear import RLSRegressor

run = Run("beyond/part_of_a_group", profile=profile, seed=seed, noise=noise)

# %% tags=["settings"]
SMOOTHNESS = {"circle": 0.75, "torus": 1.5, "sphere": 1.5}
GAMMAS = (0.1, 0.3, 1.0)
PENALTIES = 10.0 ** np.arange(-7, 0.1, 0.25)
if run.quick:
    PARTS = [1, 12, 24]  # elements of 24
    N_PART_DRAWS = 2
    N_TRAIN = 10
    N_TEST = 50
    ORDERS = [1, 2, 4]
    SIZES = [50, 100, 200, 400, 800]
    N_GAIN_DRAWS = 3
    DEGREES = {"circle": 30, "torus": 20, "sphere": 6}  # number of eigenspaces
else:
    PARTS = [1, 4, 8, 12, 18, 23, 24]
    N_PART_DRAWS = 12
    N_TRAIN = 30
    N_TEST = 300
    ORDERS = [1, 2, 4, 8]
    SIZES = [500, 1000, 2000, 4000, 8000, 16_000]
    N_GAIN_DRAWS = 24
    DEGREES = {"circle": 160, "torus": 100, "sphere": 17}

# %% [markdown]
# ## When is a part enough?
#
# For a part $S$ of the group, both arguments are transformed by all elements of $S$:
#
# $$ K_S(x, z) = \frac{1}{|S|^2} \sum_{g, h \in S} k(g x, h z) . $$
#
# $K_S$ is invariant if and only if the averages of $k(\cdot, z)$ over $z \in S x$ and over $S g x$
# agree in the space of $k$, for all $x$ and $g$. A Gaussian kernel distinguishes any two finite sets of
# points. If some point has $|G|$ different images, $S x$ and $S g x$ are the same set for
# all $g$ only if $S = G$: every strict part has a positive discrepancy. A polynomial kernel sees
# only moments up to its degree, and a part with the right moments is enough. The even
# permutations of four letters are half of all, and first differ in a moment of degree 6 (the
# product of all differences of coordinates).


# %%
def matrices_of(group, n):
    """Return the group's elements as matrices, shape (r, n, n), the identity first."""
    matrices = group.act(group.elements(), np.eye(n)).swapaxes(1, 2)
    traces = np.trace(matrices, axis1=1, axis2=2)
    return matrices[np.argsort(-traces, kind="stable")]


def discrepancy(base, part, whole, X):
    """Return the largest change of K_S(x, z) under the group in x, relative to its maximum."""
    kernel = Average(base, LinearMaps(part), side="both")
    maps = LinearMaps(whole)
    grams = [kernel(transformed, X) for transformed in maps.act(maps.elements(), X)]
    return float(np.ptp(grams, axis=0).max() / np.abs(grams).max())


# %%
rng = np.random.default_rng(seed)
of_three = matrices_of(Permutations(3), 3)
of_four = matrices_of(Permutations(4), 4)
X = rng.standard_normal((6, 4))
random_rows = 1 + rng.permutation(23)[:11]
CHOSEN_PARTS = {
    "identity alone": of_four[:1],
    "4 cyclic shifts": matrices_of(groups.CyclicShifts(4), 4),
    "12 random permutations": of_four[np.r_[0, random_rows]],
    "12 even permutations": of_four[np.linalg.det(of_four) > 0],
    "all 24": of_four,
}
KERNELS = {
    "linear": Linear(),
    "degree 3": Polynomial(3, gamma=0.3),
    "degree 5": Polynomial(5, gamma=0.3),
    "degree 6": Polynomial(6, gamma=0.3),
    "Gaussian": Gaussian(0.5),
}
rows = []
for name, part in CHOSEN_PARTS.items():
    row = {"part": name}
    for kernel_name, kernel in KERNELS.items():
        row[kernel_name] = f"{discrepancy(kernel, part, of_four, X):.0e}"
    rows.append(row)
run.table(
    rows,
    "parts",
    caption="Largest change of the averaged kernel when one point is permuted, relative to its "
    "largest value, for parts of the permutations of four coordinates. About 1e-16 is rounding.",
)

# %% [markdown]
# The permutations of three coordinates have few enough parts to try all of them.

# %%
gaussian = Gaussian(0.5)
strict_discrepancies = []
for size in range(1, 6):
    for rows_of_part in combinations(range(6), size):
        part = of_three[list(rows_of_part)]
        strict_discrepancies.append(discrepancy(gaussian, part, of_three, X[:, :3]))
whole_discrepancy = discrepancy(gaussian, of_three, of_three, X[:, :3])
run.say(
    "Gaussian kernel, three coordinates: the least discrepancy of the {n} strict parts is "
    "{least:.1e}; that of the whole group is {whole:.0e}.",
    n=len(strict_discrepancies),
    least=min(strict_discrepancies),
    whole=whole_discrepancy,
)
assert whole_discrepancy < 1e-12 < min(strict_discrepancies)

# %% [markdown]
# ## Risk and discrepancy against the part
#
# The target is a function of four numbers in any order, learnt from few noisy samples. The part grows
# from the identity to all 24 permutations, one random element after the other, and is used in three
# ways: for copies of the data (augmentation), for averaged random features and for an averaged kernel.
# Bandwidth and penalty are chosen by leave-one-out; a point is left out together with all its copies.
#
# A first run had augmentation only with the penalty that is best without copies (`best_with_copies`).
# That penalty is too small for noisy copies that lie close together, so that the risk grew with the
# part. It stays as a fourth method, on new draws.

# %%
METHODS = {
    "augmentation": "copies",
    "lgika-rff": "features",
    "haar": "kernel",
    "raw": "copies, penalty chosen without",
}
group = Permutations(4)


def symmetric(X):
    return np.cos(X.sum(axis=1)) + np.log(np.mean(np.exp(X), axis=1))


# %% [markdown]
# Ridge regression on all copies needs its own leave-one-out, which removes a point and its copies at
# once: the residuals of a block of the dual solution follow from the same block of the inverse.


# %%
def left_out_errors(inverse, dual, n):
    """Return the residuals of each point's copies when all of them are left out, (n, r, 1)."""
    r = len(dual) // n
    points = np.arange(n)
    blocks = inverse.reshape(n, r, n, r)[points, :, points]
    return np.linalg.solve(blocks, dual.reshape(n, r, 1))


# %%
def fit_copies(bases, part, X, y):
    """Return the predictions of ridge regression on all copies."""
    n = len(X)
    r = len(part)
    copies = LinearMaps(part).act(np.arange(r), X).swapaxes(0, 1).reshape(n * r, -1)
    targets = np.repeat(y - y.mean(), r)
    least_error = np.inf
    for base in bases:
        values, vectors = np.linalg.eigh(base(copies))
        for penalty in 10.0 ** np.arange(-6, 3):
            inverse = (vectors / (np.maximum(values, 0) + penalty)) @ vectors.T
            dual = inverse @ targets
            error = np.mean(left_out_errors(inverse, dual, n) ** 2)
            if error < least_error:
                least_error = error
                best_dual = dual
                best_base = base
    return lambda X_test: best_base(X_test, copies) @ best_dual + y.mean()


# %%
def fit(method, part, X, y, draw):
    """Return a function that is fitted with a part of the group."""
    bases = [Gaussian(gamma) for gamma in GAMMAS]
    maps = LinearMaps(part)
    if method == "augmentation":
        return fit_copies(bases, part, X, y)
    if method == "raw":
        copies = maps.act(np.arange(len(part)), X)[1:]
        return best_with_copies(bases, RLSRegressor(), X=X, y=y, moved=copies)
    if method == "haar":
        candidates = [Average(base, maps, side="both") for base in bases]
    else:
        options = {"form": "cos_sin", "random_state": draw}
        candidates = [OrbitFourier(maps, 300, gamma=gamma, **options) for gamma in GAMMAS]
    return best_by_leave_one_out(candidates, RLSRegressor(), X=X, y=y)


# %%
@run.cache
def with_parts(method, sizes, draw):
    """Return risk, relative discrepancy and CPU seconds, (sizes, 3), for one growing part."""
    rng = np.random.default_rng([seed, 100 + draw])
    X = rng.standard_normal((N_TRAIN, 4))
    X_test = rng.standard_normal((N_TEST, 4))
    y = symmetric(X) + 0.1 * rng.standard_normal(N_TRAIN)
    order = np.r_[0, 1 + rng.permutation(23)]
    results = []
    for size in sizes:
        start = process_time()
        predict = fit(method, of_four[order[:size]], X, y, draw)
        risk = np.mean((predict(X_test) - symmetric(X_test)) ** 2)
        seconds = process_time() - start
        change = spectral.invariance_discrepancy(predict, group, X_test[:20], relative=True)
        results.append((risk, change, seconds))
    return results


# %%
risk_of_parts = {}
change_of_parts = {}
seconds_of_parts = {}
for method in METHODS:
    draws = np.array([with_parts(method, PARTS, draw) for draw in range(N_PART_DRAWS)])
    risk_of_parts[method] = draws[:, :, 0]
    change_of_parts[method] = draws[:, :, 1]
    seconds_of_parts[method] = draws[:, :, 2]

# %%
shares = [size / 24 for size in PARTS]
risk_curves = {}
change_curves = {}
for method, name in METHODS.items():
    risk_curves[name] = (method, np.maximum(risk_of_parts[method], 1e-16))
    change_curves[name] = (method, np.maximum(change_of_parts[method], 1e-16))
gains = []
for method in ("augmentation", "lgika-rff", "haar"):
    means = risk_of_parts[method].mean(axis=0)
    gains.append(means[0] / means[-1])
change_of_large_part = max(changes[:, -2].mean() for changes in change_of_parts.values())

fig, axes = plt.subplots(1, 2, figsize=(9, 4))
panel(axes[0], shares, risk_curves, log="y", ends=None, ylabel="mean squared error")
panel(axes[1], shares, change_curves, log="y", ends=None, ylabel="relative discrepancy")
axes[0].set_title(
    f"The whole group divides the risk by {min(gains):.1f} to {max(gains):.1f},\n"
    "unless the penalty is chosen without copies"
)
axes[1].set_title(f"{PARTS[-2]} of 24 elements leave a discrepancy of {change_of_large_part:.0e}")
for axis in axes:
    axis.set_xlabel("part of the group")
    axis.set_xticks([0, 0.5, 1], ["0", "1/2", "1"])
    label_ends(axis, room=0.6)
run.figure(
    fig,
    "part",
    caption=f"Means and two standard errors over {N_PART_DRAWS} draws of samples and parts.",
)


# %%
def cost_row(method, i):
    """Return risk, discrepancy and time of a method with the i-th part."""
    row = {
        "elements": PARTS[i],
        "used in": METHODS[method],
        "risk": f"{mean_se(risk_of_parts[method][:, i]):.4f}",
        "discrepancy": f"{change_of_parts[method][:, i].mean():.0e}",
        "CPU ms": round(1e3 * seconds_of_parts[method][:, i].mean()),
    }
    if PARTS[i] == 1:
        row["used in"] = "nothing"
    return row


# %%
run.table(
    [
        cost_row("haar", 0),
        cost_row("haar", len(PARTS) // 2),
        cost_row("raw", -1),
        cost_row("augmentation", -1),
        cost_row("haar", -1),
    ],
    "cost",
    caption="Means over draws, with the standard error of the risk. The time is to fit (three "
    "bandwidths) and to predict.",
)


# %% [markdown]
# ## The whole group is worth a factor |G| in samples
#
# Tahmasebi and Jegelka (2023) consider kernel ridge regression of an invariant function of
# smoothness $s$ on a manifold $M$ of dimension $d$. In our words: of the eigenfunctions up to
# some eigenvalue, one in $|G|$ is invariant, so the best risk with $n$ samples is that of $|G| n$
# samples without the group. Under a continuous group the number of invariant functions grows like
# that of a space of lower dimension, $\dim(M / G)$, and the exponent itself improves,
#
# $$ \text{risk} \sim \Big(\frac{\sigma^2 \operatorname{vol}(M / G)}{n}\Big)^{s / (s + d / 2)},
# \qquad d = \dim(M / G) . $$
#
# **Protocol**, fixed before the run. Circle ($s = 0.75$), torus and sphere of two dimensions
# ($s = 1.5$); cyclic groups of turns or translations, each in the next, so that one target,
# invariant under the largest, serves all of them. Kernel ridge regression with the Sobolev kernel
# averaged over each group, written in invariant eigenfunctions; risk by Parseval. Each group and
# size has the penalty of least mean risk, an oracle choice: best against best. The
# gain is $n' / n$, where $n'$ samples without the group have the same risk, interpolated between sizes
# on logarithmic axes, at the two smallest $n$; its exponent is the slope of $\log(n' / n)$ against
# $\log |G|$ through the origin. Intervals: two standard errors by the jackknife over draws of
# target and sample. They shall be no wider than ± 0.1; the table lists the number of draws which that
# takes.
#
# The prediction of theory at these $n$ is computed as well: bias and variance of ridge regression, with
# the energies of the targets and the number of invariant functions.

# %%
MANIFOLDS = {"circle": spectral.Circle(), "torus": spectral.Torus(2), "sphere": spectral.Sphere(3)}


def cyclic_group(name, m):
    """Return the cyclic group of order m on a manifold; the sphere turns about an axis."""
    if name == "circle":
        return groups.TorusTranslations([m], period=2 * np.pi)
    if name == "torus":
        return groups.TorusTranslations([m, 1], period=2.0)
    cosine = np.cos(2 * np.pi / m)
    sine = np.sin(2 * np.pi / m)
    return groups.OrthogonalMatrices([[[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]])


def basis_of(name):
    return MANIFOLDS[name].truncate(degree=DEGREES[name])


# %%
def invariants(name, m):
    """Return the functions invariant under the cyclic group of order m, a matrix per eigenspace."""
    if m == 1:
        return [sparse.eye_array(dimension) for dimension in basis_of(name).dimensions_]
    return spectral.invariant_subspace(basis_of(name), cyclic_group(name, m))


def decay(name):
    """Return the eigenvalues of the Sobolev kernel, one per eigenspace."""
    basis = basis_of(name)
    exponent = -2 * SMOOTHNESS[name] / basis.manifold_dimension
    return basis.counts_.astype(float) ** exponent


# %% [markdown]
# One target and one sample give the risks of all groups, sizes and penalties. The normal equations grow
# with the sample, and each group sees them in its invariant subspace.


# %%
def risks_by_penalty(V, gram, moments, scale, coefficients):
    """Return the risks of ridge regression in the subspace of V, one per penalty."""
    values, vectors = np.linalg.eigh(V.T @ gram @ V)
    rotated = (vectors.T @ (V.T @ moments))[:, None]
    shrunk = rotated / (np.maximum(values, 0)[:, None] + PENALTIES)
    estimate = scale[:, None] * (V @ (vectors @ shrunk))
    return np.sum((estimate - coefficients[:, None]) ** 2, axis=0)


# %%
@run.cache
def risks(name, orders, sizes, draw, noise, first_seed):
    """Return risks (orders, sizes, penalties) for one target and sample, and target energies."""
    basis = basis_of(name)
    rng = np.random.RandomState(first_seed + draw)
    spaces = [sparse.block_diag(invariants(name, m)).toarray() for m in orders]
    target = spectral.sobolev_target(
        basis,
        cyclic_group(name, max(orders)),
        smoothness=SMOOTHNESS[name],
        random_state=rng,
    )
    coefficients = target.coefficients
    X = basis.sample(max(sizes), rng)
    functions = basis.evaluate(X)
    y = functions @ coefficients + noise * rng.standard_normal(len(X))
    scale = np.repeat(decay(name) ** 0.5, basis.dimensions_)
    functions *= scale
    risk = np.empty((len(orders), len(sizes), len(PENALTIES)))
    gram = 0
    moments = 0
    start = 0
    for j, n in enumerate(sizes):
        new_rows = functions[start:n]
        gram = gram + new_rows.T @ new_rows
        moments = moments + new_rows.T @ y[start:n]
        start = n
        for i, V in enumerate(spaces):
            risk[i, j] = risks_by_penalty(V, gram / n, moments / n, scale, coefficients)
    energies = np.add.reduceat(coefficients**2, [part.start for part in basis.slices()])
    return risk, energies


# %% [markdown]
# Bias and variance of ridge regression predict the same risks without a sample.


# %%
def expected(name, orders, sizes, energies):
    """Return the risks that bias and variance of ridge regression predict, (orders, sizes)."""
    kernel = decay(name)[:, None]
    variance_factor = (kernel / (kernel + PENALTIES)) ** 2
    bias_factor = (PENALTIES / (kernel + PENALTIES)) ** 2
    counts = np.array([[part.shape[1] for part in invariants(name, m)] for m in orders])
    variance = noise**2 * (counts @ variance_factor)[:, None] / np.array(sizes)[:, None]
    return (variance + energies @ bias_factor).min(axis=-1)


# %% [markdown]
# The gain in samples is read from the mean risks, and the jackknife gives its standard error.


# %%
def at_best_penalty(draws):
    """Return risks (draws, orders, sizes) at the penalty of least mean risk."""
    risk = np.array([risk_of_draw for risk_of_draw, _ in draws])
    best = risk.mean(axis=0).argmin(axis=-1)
    return np.take_along_axis(risk, best[None, ..., None], axis=-1)[..., 0]


def log_gains(mean):
    """Return the logarithm of the gain in samples, (orders, 2), at the two smallest sizes."""
    log_sizes = np.log(SIZES)
    return np.interp(-np.log(mean[:, :2]), -np.log(mean[0]), log_sizes) - log_sizes[:2]


def gain_exponent(mean):
    log_orders = np.log(ORDERS)
    return (log_gains(mean) * log_orders[:, None]).sum() / (2 * log_orders @ log_orders)


# %%
def jackknife(statistic, samples):
    """Return a statistic of the mean of samples, and its standard error."""
    n = len(samples)
    mean = samples.mean(axis=0)
    values = [statistic((n * mean - sample) / (n - 1)) for sample in samples]
    return Score(statistic(mean), np.sqrt((n - 1) ** 2 / n * np.var(values, ddof=1)))


# %%
def exponent_columns(exponent, half_width, limit, prediction):
    """Return the columns of a measured exponent with its interval and the theory's values."""
    n_draws_needed = N_GAIN_DRAWS * (half_width / 0.1) ** 2
    return {
        "exponent": f"{exponent:.3f} ± {half_width:.3f}",
        "in the limit": limit,
        "at these n": f"{prediction:.3f}",
        "draws": N_GAIN_DRAWS,
        "draws for ± 0.1": int(np.ceil(n_draws_needed)),
    }


# %%
@dataclass
class Gain:
    """Risks (draws, orders, sizes), gains (orders, 2) and the exponent of one manifold."""

    risk: np.ndarray
    factors: np.ndarray
    exponent: Score


# %%
gains = {}
rows = []
for name in SMOOTHNESS:
    draws = [risks(name, ORDERS, SIZES, draw, noise, seed) for draw in range(N_GAIN_DRAWS)]
    risk = at_best_penalty(draws)
    factors = np.exp(log_gains(risk.mean(axis=0)))
    exponent = jackknife(gain_exponent, risk)
    gains[name] = Gain(risk, factors, exponent)
    energies = draws[0][1]
    prediction = gain_exponent(expected(name, ORDERS, SIZES, energies))
    row = {"manifold": name}
    for m, (first, second) in zip(ORDERS[1:], factors[1:], strict=True):
        row[f"gain of {m}"] = f"{first:.1f} and {second:.1f}"
    row |= exponent_columns(exponent.mean, 2 * exponent.se, 1, prediction)
    rows.append(row)
run.table(
    rows,
    "gain",
    caption=f"Gain in samples of cyclic groups with {SIZES[0]:,} and {SIZES[1]:,} samples, and the "
    "exponent of the order of the group, with two standard errors; the theory's exponent in the limit, "
    "and the prediction of bias and variance at these numbers; draws, and the draws that ± 0.1 takes.",
)


# %% [markdown]
# The left panel draws risks against $n |G|$, where the curves of all groups should agree.


# %%
def largest_ratio(mean):
    """Return the largest ratio, above one, of risks at equal n |G|."""
    ratios = []
    for i in range(len(ORDERS)):
        for j in range(len(SIZES) - i):
            ratio = mean[i, j] / mean[0, i + j]
            ratios.append(max(ratio, 1 / ratio))
    return max(ratios)


# %%
def draw_risks(axis, risk):
    """Draw the risks on the sphere against samples times the order of the group."""
    styles = ("raw", "bag-of-words", "haar", "local")
    curves = {}
    for i, m in enumerate(ORDERS):
        options = {"marker": "osD^"[i], "x": np.array(SIZES) * m}
        curves[f"order {m}"] = (styles[i], risk[:, i], options)
    panel(axis, SIZES, curves, log="xy", ends=None, xlabel="samples × |G|", ylabel="risk")
    ticks(
        axis, np.array(SIZES[:: len(ORDERS) - 1]).tolist() + [SIZES[-1] * m for m in ORDERS[1::2]]
    )
    difference = largest_ratio(risk.mean(axis=0)) - 1
    axis.set_title(f"On the sphere risks at equal n |G| differ by at most {difference:.0%}")
    axis.legend()


# %%
def draw_gains(axis):
    """Draw the gains in samples against the order of the group."""
    styles = {"circle": "haar", "torus": "cdf", "sphere": "spec-avg"}
    curves = {name: (styles[name], gain.factors.mean(axis=1)) for name, gain in gains.items()}
    curves["|G|"] = ("bound", ORDERS, {"ls": ":"})
    panel(axis, ORDERS, curves, log="xy")
    exponents = [gain.exponent.mean for gain in gains.values()]
    axis.set(xlabel="order of the group |G|", ylabel="gain in samples")
    axis.set_title(
        f"The gain in samples grows as |G| to the power {min(exponents):.2f} to {max(exponents):.2f}"
    )


# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4))
draw_risks(axes[0], gains["sphere"].risk)
draw_gains(axes[1])
run.figure(
    fig,
    "gain",
    caption=f"Means over {N_GAIN_DRAWS} draws; bars on the left: two standard errors. Right: mean of "
    "the gains at the two smallest numbers of samples.",
)

# %% [markdown]
# ## A continuous group: a lower dimension
#
# Torus and sphere under all translations along one side, or all turns about one axis (the truncated
# basis cannot distinguish $m = 64$ from all of them). The exponent should grow from $s / (s + 1)$ to
# $s / (s + 1/2)$.

# %%
s = SMOOTHNESS["torus"]
WIDE_SIZES = SIZES[:-1]
rates = []
for name in ("torus", "sphere"):
    draws = []
    for draw in range(N_GAIN_DRAWS):
        draws.append(risks(name, [1, 64], WIDE_SIZES, draw, noise, seed + 1000))
    risk = at_best_penalty(draws)
    energies = draws[0][1]
    prediction = expected(name, [1, 64], WIDE_SIZES, energies)
    for i, group_name, d in ((0, "none", 2), (1, "circle", 1)):
        fit_of_risk = fit_rate(WIDE_SIZES, risk[:, i])
        fit_of_prediction = fit_rate(WIDE_SIZES, prediction[i])
        half_width = (fit_of_risk.high - fit_of_risk.low) / 2
        limit = f"{s / (s + d / 2):.3f}"
        row = {"manifold": name, "group": group_name, "dimension left": d}
        row |= exponent_columns(-fit_of_risk.slope, half_width, limit, -fit_of_prediction.slope)
        rates.append(row)
run.table(
    rates,
    "rates",
    caption=f"Exponent of the risk against {WIDE_SIZES[0]:,} to {WIDE_SIZES[-1]:,} samples, with its "
    "95 % interval; the theory's exponent in the limit, and the prediction of bias and variance at "
    "these numbers.",
)

# %% [markdown]
# ## Try it
#
# `invariance run beyond/part_of_a_group -p noise 0.2`: less noise is like more samples. Is the gain
# closer to $|G|$?
