# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Small and exact: how little of a large group is enough
#
# Groups are large, and three results say that little of them matters.
#
# 1. **The rank of an invariant polynomial kernel does not depend on the dimension** (Díaz,
#    Drusvyatskiy, Kendrick and Thomas 2025). Under all orders of the numbers, the kernels of degree
#    2, 3 and 4 have rank 4, 7 and 12, whether points have four numbers or forty. As many samples as the
#    rank determine an invariant polynomial.
# 2. **Two random rotations have the invariants of all rotations.** They generate a dense subgroup, so
#    that two constraints project a polynomial on the invariant ones; one constraint does not.
# 3. **Averages over a few random elements, repeated, are averages over the group to rounding.** If one
#    average over k elements shrinks everything that is not invariant by a factor $\varepsilon$, then m
#    averages leave $\varepsilon^m$, at the cost of k m elements. The number k grows like the logarithm
#    of the group's order (Alon and Roichman 1994; Loh and Schulman 2004).
#
# ## The protocol
#
# - *Rank.* `Average(Polynomial(m), Permutations(d))` for m = 2 to 6 and eight dimensions from 2 to 40, at
#   100 normal points with random scales. The rank counts eigenvalues of the normalised Gram matrix above
#   $10^{-13}$ of the largest. Expected is the number of symmetric polynomials: partitions of 0, 1, ..., m
#   into at most d parts. Then the kernel interpolates an invariant cubic function at n points, without
#   noise, for ten draws; *exact* means an error below a millionth of the function on new points.
# - *Two rotations.* Functions of two vectors, polynomials of degrees 2, 4 and 6. The invariants of 1, 2 and
#   3 Haar-random rotations are the null space of the stacked constraints D(g) - 1, singular values below
#   $10^{-8}$. Expected are the polynomials in the three inner products of the vectors. 200 draws in three
#   dimensions; 50 draws at degree 4 in four and five dimensions.
# - *Repeated averages.* Random elements and their inverses: shifts of 64 numbers, k = 8; all orders of ten
#   numbers, acting on polynomials of degree three, k = 4; rotations of space, acting on polynomials of
#   degree four in two vectors, k = 4. The error of a random function after m averages is compared with
#   $\varepsilon^m$ and with one average over as many elements, in ten draws.
# - *How many elements.* Elements are drawn one after the other, until $\varepsilon \le 1/2$ for functions on
#   the whole group: for shifts of n numbers and for sign flips, in 50 draws of each, by the characters of
#   the group. Aim: the number k is linear in $\log_2 |G|$, and its median at most $8 \ln (4 |G|)$. (Each of
#   $|G|$ means of k numbers in [-1, 1] exceeds 1/2 with a probability of at most $2 e^{-k/8}$, by Hoeffding,
#   so that with so many elements none does in half of all draws.)

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 40  # trials had others

# %%
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from _polynomials import actions, exponents, n_symmetric_polynomials, permutation_actions
from scipy import stats
from scipy.linalg import hadamard

from invariance.companion import Run, colour, panel
from invariance.groups import Permutations
from invariance.kernels import Average, Polynomial

run = Run("beyond/small_and_exact", profile=profile, seed=seed)

# %% tags=["settings"]
if run.quick:
    DEGREES = (2, 3, 4)
    DIMENSIONS = (2, 4, 10)
    N_INTERPOLATIONS = 2
    N_ROTATIONS = 3  # draws in three dimensions
    N_ROTATIONS_ABOVE = 1  # draws in four and five dimensions
    ROTATION_DEGREES = (2, 4)
    N_REPEATED = 2
    N_COUNTS = 5
    LOG_ORDERS = (4, 6, 8)
else:
    DEGREES = (2, 3, 4, 5, 6)
    DIMENSIONS = (2, 3, 4, 5, 6, 10, 20, 40)
    N_INTERPOLATIONS = 10
    N_ROTATIONS = 200
    N_ROTATIONS_ABOVE = 50
    ROTATION_DEGREES = (2, 4, 6)
    N_REPEATED = 10
    N_COUNTS = 50
    LOG_ORDERS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
ZERO_EIGENVALUE = 1e-13  # relative to the largest
ZERO_SINGULAR_VALUE = 1e-8  # of D(g) - 1, whose scale is one
EXACT = 1e-6  # relative error of an interpolation
INTERPOLATED_DEGREE = 3
INTERPOLATED_DIMENSIONS = (5, 10, 20)
MOST_SAMPLES = 12
MOST_REPEATS = 120

# %% [markdown]
# ## The rank does not depend on the dimension
#
# For a polynomial kernel, $k(x, z) = (1 + \langle x, z \rangle / d)^m$, the average over all orders has a
# closed form, though the group has d! elements. The kernel's functions are the symmetric polynomials up
# to degree m. There are as many as there are sums: $x_1 + \dots$, $x_1^2 + \dots$, $x_1 x_2 + \dots$,
# and these do not become more numerous once $d \ge m$.


# %%
def scaled_points(n_points, d, rng):
    """Return normal points with random scales, so that no relation holds among their norms."""
    return rng.standard_normal((n_points, d)) * rng.uniform(0.5, 2, (n_points, 1))


def kernel_of(degree, d):
    return Average(Polynomial(degree, gamma=1 / d), Permutations(d))


# %%
def rank_of(degree, d):
    """Return the numerical rank of the Gram matrix, and the gap of its eigenvalues there."""
    points = scaled_points(100, d, np.random.default_rng([seed, degree, d]))
    gram = kernel_of(degree, d)(points)
    roots = np.sqrt(gram.diagonal())
    eigenvalues = np.linalg.eigvalsh(gram / np.outer(roots, roots))[::-1]
    relative = np.abs(eigenvalues) / eigenvalues[0]
    rank = int(np.sum(relative > ZERO_EIGENVALUE))
    return rank, relative[rank - 1]


# %%
rows = []
n_wrong_ranks = 0
for degree in DEGREES:
    row = {"degree": degree}
    smallest = 1.0
    for d in DIMENSIONS:
        rank, last = rank_of(degree, d)
        smallest = min(smallest, last)
        n_wrong_ranks += rank != n_symmetric_polynomials(degree, d)
        row[f"d = {d}"] = rank
    row["partitions"] = n_symmetric_polynomials(degree, degree)
    row["smallest eigenvalue"] = f"{smallest:.0e}"
    rows.append(row)
run.table(
    rows,
    "ranks",
    caption="Ranks of averaged polynomial kernels. Partitions: the number of symmetric polynomials for "
    "d of at least the degree. Smallest eigenvalue: the least one counted, relative to the largest.",
)


# %% [markdown]
# ## As many samples as the rank
#
# A function of the kernel's space is a random combination of 50 kernel functions. Its values at n points
# are interpolated with the smallest norm.


# %%
def interpolation_error(d, n_samples, draw):
    """Return the relative error of the interpolant of an invariant polynomial on new points."""
    rng = np.random.default_rng([seed, d, draw])
    kernel = kernel_of(INTERPOLATED_DEGREE, d)
    centres = scaled_points(50, d, rng)
    coefficients = rng.standard_normal(50)
    train = scaled_points(MOST_SAMPLES, d, rng)[:n_samples]
    test = scaled_points(200, d, rng)
    y = kernel(train, centres) @ coefficients
    truth = kernel(test, centres) @ coefficients
    weights, *_ = np.linalg.lstsq(kernel(train), y, rcond=ZERO_EIGENVALUE)
    prediction = kernel(test, train) @ weights
    return np.linalg.norm(prediction - truth) / np.linalg.norm(truth)


@run.cache
def interpolation_errors(d, n_draws):
    """Return relative errors, shape (draws, number of samples)."""
    sizes = range(1, MOST_SAMPLES + 1)
    return np.array([[interpolation_error(d, n, i) for n in sizes] for i in range(n_draws)])


# %%
SAMPLES = np.arange(1, MOST_SAMPLES + 1)
interpolations = {}
enough = {}
for d in INTERPOLATED_DIMENSIONS:
    errors = interpolation_errors(d, N_INTERPOLATIONS)
    interpolations[d] = errors
    exact_in_all = np.all(errors < EXACT, axis=0)
    enough[d] = int(SAMPLES[exact_in_all][0]) if exact_in_all.any() else 0
right_rank = n_symmetric_polynomials(INTERPOLATED_DEGREE, INTERPOLATED_DEGREE)

# %% [markdown]
# ## Two rotations are enough
#
# A rotation R acts on polynomials of the vectors x and y by $f(x, y) \mapsto f(Rx, Ry)$. In an orthonormal
# basis (monomials times the roots of multinomial coefficients) this is an orthogonal matrix D(R), and f is
# invariant under the generated group if $(D(R) - 1) f = 0$ for each R.


# %%
@dataclass(frozen=True)
class NullSpaces:
    """Per draw and number of rotations: dimension of the invariants, smallest other value."""

    dimensions: np.ndarray
    gaps: np.ndarray


def null_space(matrices):
    """Return the dimension of the common null space of D - 1, and the least other value."""
    constraints = np.concatenate([matrix - np.eye(len(matrix)) for matrix in matrices])
    values = np.linalg.svd(constraints, compute_uv=False)
    is_zero = values < ZERO_SINGULAR_VALUE
    return int(is_zero.sum()), float(values[~is_zero].min())


# %%
@run.cache
def null_spaces(d, degree, n_draws):
    """Return dimensions and gaps, both of shape (draws, 3)."""
    rng = np.random.default_rng([seed, d, degree])
    rotations = stats.special_ortho_group.rvs(d, 3 * n_draws, random_state=rng)
    dimensions = np.zeros((n_draws, 3), dtype=int)
    gaps = np.zeros((n_draws, 3))
    for draw in range(n_draws):
        matrices = actions(rotations[3 * draw : 3 * draw + 3], degree, 2)
        for k in (1, 2, 3):
            dimensions[draw, k - 1], gaps[draw, k - 1] = null_space(matrices[:k])
    return dimensions, gaps


# %%
def n_gram_polynomials(degree):
    """Return the number of polynomials of an even degree in three inner products."""
    half = degree // 2
    return (half + 1) * (half + 2) // 2


CASES = [(3, degree, N_ROTATIONS) for degree in ROTATION_DEGREES]
CASES += [(d, 4, N_ROTATIONS_ABOVE) for d in (4, 5)]
rows = []
shares_enough = {}
dimensions_found = {}
for d, degree, n_draws in CASES:
    spaces = NullSpaces(*null_spaces(d, degree, n_draws))
    expected = n_gram_polynomials(degree)
    n_right = (spaces.dimensions == expected).sum(axis=0)
    interval = stats.binomtest(int(n_right[1]), n_draws).proportion_ci(0.95)
    shares_enough[d, degree] = (int(n_right[1]), n_draws)
    dimensions_found[d, degree] = np.median(spaces.dimensions, axis=0)
    row = {"d": d, "degree": degree, "draws": n_draws, "invariants": expected}
    for k in (1, 2, 3):
        row[f"null space, {k}"] = f"{np.median(spaces.dimensions[:, k - 1]):.0f}"
    row["two suffice (%)"] = f"{100 * n_right[1] / n_draws:.0f}"
    row["95 % interval from"] = f"{100 * interval.low:.1f}"
    row["smallest gap, 2"] = f"{spaces.gaps[:, 1].min():.2g}"
    row["smallest gap, 3"] = f"{spaces.gaps[:, 2].min():.2g}"
    rows.append(row)
run.table(
    rows,
    "rotations",
    caption="Homogeneous polynomials of two vectors. Null space: dimension for 1, 2 and 3 random "
    "rotations, median of the draws. Gap: the smallest singular value that is not zero.",
)

# %% [markdown]
# ## Averages, repeated
#
# One average over k elements and their inverses is a symmetric operator, the identity on invariants. On
# the rest its norm is $\varepsilon$, and m averages shrink the rest by $\varepsilon^m$.


# %%
@dataclass(frozen=True)
class Representation:
    """Random elements of a group as orthogonal matrices, and a projection on the invariants.

    Attributes
    ----------
    draw : callable
        From a number and a generator to so many matrices of random elements, shape (k, D, D).
    projection : ndarray of shape (D, D)
    k : int
        Number of elements in one average; their inverses are added.
    order : float
    """

    draw: Callable
    projection: np.ndarray
    k: int
    order: float


# %%
def shift_matrices(n_elements, rng):
    shifts = rng.integers(0, 64, n_elements)
    return np.array([np.roll(np.eye(64), shift, axis=0) for shift in shifts])


def order_matrices(n_elements, rng):
    permutations = np.array([rng.permutation(10) for _ in range(n_elements)])
    return np.array(list(permutation_actions(permutations, 3)))


def rotation_matrices(n_elements, rng):
    rotations = stats.special_ortho_group.rvs(3, n_elements, random_state=rng)
    return actions(rotations.reshape(-1, 3, 3), 4, 2)


# %%
def projection_on_null_space(matrices):
    """Return the projection on the common invariants of orthogonal matrices."""
    constraints = np.concatenate([matrix - np.eye(len(matrix)) for matrix in matrices])
    _, values, rows = np.linalg.svd(constraints)
    invariants = rows[values < ZERO_SINGULAR_VALUE]
    return invariants.T @ invariants


def projection_on_orbits(degree, d):
    """Return the projection on sums of monomials with the same set of exponents."""
    kinds = np.sort(exponents(degree, d), axis=1)
    same = np.all(kinds[:, None] == kinds[None], axis=2).astype(float)
    return same / same.sum(axis=1)


# %%
REPRESENTATIONS = {
    "shifts of 64": Representation(shift_matrices, np.full((64, 64), 1 / 64), 8, 64),
    "orders of ten": Representation(order_matrices, projection_on_orbits(3, 10), 4, 3_628_800),
    "rotations of space": Representation(
        rotation_matrices,
        projection_on_null_space(rotation_matrices(4, np.random.default_rng(0))),
        4,
        np.inf,
    ),
}


# %%
def repeated(representation, rng):
    """Return epsilon and the errors after 1, 2, ... averages, relative to the part to remove."""
    matrices = representation.draw(representation.k, rng)
    average = (matrices.mean(axis=0) + matrices.mean(axis=0).T) / 2
    epsilon = np.linalg.norm(average - representation.projection, 2)
    function = rng.standard_normal(len(average))
    target = representation.projection @ function
    scale = np.linalg.norm(function - target)
    errors = []
    for _ in range(MOST_REPEATS):
        function = average @ function
        errors.append(np.linalg.norm(function - target) / scale)
    return epsilon, np.array(errors)


def single(representation, n_batches, rng):
    """Return the error of one average over k n elements and their inverses."""
    function = rng.standard_normal(len(representation.projection))
    target = representation.projection @ function
    total = np.zeros_like(function)
    for _ in range(n_batches):
        matrices = representation.draw(representation.k, rng)
        average = (matrices.mean(axis=0) + matrices.mean(axis=0).T) / 2
        total += average @ function
    return np.linalg.norm(total / n_batches - target) / np.linalg.norm(function - target)


# %%
@run.cache
def averages(name, n_draws):
    """Return epsilons (draws,), errors of repeated averages, and of single ones."""
    representation = REPRESENTATIONS[name]
    epsilons = []
    repeated_errors = []
    single_errors = []
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw])
        epsilon, errors = repeated(representation, rng)
        epsilons.append(epsilon)
        repeated_errors.append(errors)
        single_errors.append([single(representation, n, rng) for n in SINGLE_REPEATS])
    return np.array(epsilons), np.array(repeated_errors), np.array(single_errors)


SINGLE_REPEATS = (1, 2, 4, 8, 15, 30)
by_group = {name: averages(name, N_REPEATED) for name in REPRESENTATIONS}

# %% [markdown]
# The bound holds if no error exceeds $\varepsilon^m$ by more than rounding. The rate is the factor by which
# the error shrinks at each of the last averages that are above rounding; it should be $\varepsilon$.

# %%
ROUNDING = 1e-13
rows = []
n_above_bound = 0
n_bounds = 0
rates_over_epsilon = {}
for name, (epsilons, errors, _) in by_group.items():
    representation = REPRESENTATIONS[name]
    bounds = epsilons[:, None] ** np.arange(1, MOST_REPEATS + 1)
    n_above_bound += int(np.sum(errors > bounds + ROUNDING))
    n_bounds += bounds.size
    rates = []
    n_needed = []
    for curve_of_draw in errors:
        above = np.flatnonzero(curve_of_draw > 1e-11)
        last = above[-1]
        first = max(last - 5, 0)
        ratio = curve_of_draw[last] / curve_of_draw[first]
        rates.append(ratio ** (1 / (last - first)) if last > first else np.nan)
        n_needed.append(last + 2)
    rates_over_epsilon[name] = np.nanmedian(np.array(rates) / epsilons)
    row = {
        "group": name,
        "order": f"{representation.order:,.0f}",
        "k": representation.k,
        "epsilon, median": f"{np.median(epsilons):.3f}",
        "epsilon, largest": f"{np.max(epsilons):.3f}",
        "rate / epsilon": f"{rates_over_epsilon[name]:.4f}",
        "averages to 1e-11": f"{np.median(n_needed):.0f}",
        "elements to 1e-11": f"{2 * representation.k * np.median(n_needed):.0f}",
    }
    rows.append(row)
run.table(
    rows,
    "averages",
    caption=f"{N_REPEATED} draws. Elements: k random ones and their inverses at each average. A value "
    f"beside 1e-11 of {MOST_REPEATS + 1} averages was not reached.",
)

# %% [markdown]
# ## How many elements
#
# For functions on an abelian group, the average is a convolution, and its norm is the largest Fourier
# coefficient of the elements that were drawn, but for the constant one.


# %%
def shift_characters(log_order, n_elements, rng):
    """Return real parts of the characters of random shifts, shape (k, |G| - 1)."""
    order = 2**log_order
    shifts = rng.integers(0, order, n_elements)
    return np.cos(2 * np.pi * np.outer(shifts, np.arange(1, order)) / order)


def sign_characters(log_order, n_elements, rng):
    """Return the characters of random sign flips, shape (k, |G| - 1)."""
    order = 2**log_order
    flips = rng.integers(0, order, n_elements)
    return hadamard(order)[flips, 1:].astype(float)


CHARACTERS = {"shifts": shift_characters, "sign flips": sign_characters}


# %%
@run.cache
def elements_needed(name, log_order, n_draws):
    """Return, for each draw, the smallest k for which epsilon is at most 1/2."""
    most = 20 * (log_order + 2)
    needed = []
    for draw in range(n_draws):
        rng = np.random.default_rng([seed, draw, log_order])
        characters = CHARACTERS[name](log_order, most, rng)
        means = np.cumsum(characters, axis=0) / np.arange(1, most + 1)[:, None]
        epsilons = np.abs(means).max(axis=1)
        needed.append(np.flatnonzero(epsilons <= 0.5)[0] + 1)
    return np.array(needed)


needed = {}
for name in CHARACTERS:
    needed[name] = np.array([elements_needed(name, size, N_COUNTS) for size in LOG_ORDERS])


# %%
def slope_with_interval(counts, rng):
    """Return the slope of mean counts over log2 |G|, and its bootstrap interval of 95 %."""
    n_draws = counts.shape[1]
    slopes = []
    for _ in range(1000):
        chosen = rng.integers(0, n_draws, n_draws)
        slopes.append(np.polyfit(LOG_ORDERS, counts[:, chosen].mean(axis=1), 1)[0])
    slope = np.polyfit(LOG_ORDERS, counts.mean(axis=1), 1)[0]
    return slope, np.quantile(slopes, [0.025, 0.975])


HOEFFDING = 8 * np.log(2) * (np.array(LOG_ORDERS) + 2)
rows = []
slopes = {}
for name, counts in needed.items():
    slope, interval = slope_with_interval(counts, np.random.default_rng(seed))
    slopes[name] = slope
    line = np.polyfit(LOG_ORDERS, counts.mean(axis=1), 1)
    residual = counts.mean(axis=1) - np.polyval(line, LOG_ORDERS)
    rows.append(
        {
            "group": name,
            "slope of k in log2 |G|": f"{slope:.2f}",
            "95 % interval": f"{interval[0]:.2f} to {interval[1]:.2f}",
            "R squared": f"{1 - residual.var() / counts.mean(axis=1).var():.3f}",
            "largest median k / bound": f"{np.max(np.median(counts, axis=1) / HOEFFDING):.2f}",
        }
    )
run.table(
    rows,
    "counts",
    caption=f"{N_COUNTS} draws at each of {len(LOG_ORDERS)} orders; the bound is 8 ln(4 |G|).",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
STYLES = ("haar", "cdf", "spec-avg")
curves = {}
for d, style in zip(INTERPOLATED_DIMENSIONS, STYLES, strict=True):
    curves[f"d = {d}"] = (style, np.maximum(interpolations[d], 1e-16))
panel(axes[0], SAMPLES, curves, log="y", xlabel="samples")
axes[0].axvline(right_rank, color=colour("bound"), ls="--", lw=0.8)
axes[0].set_ylabel("relative error on new points")
samples_needed = " or ".join(map(str, sorted(set(enough.values()))))
axes[0].set_title(
    f"An invariant cubic is exact after {samples_needed} samples,\n"
    f"the rank is {right_rank} in every dimension"
)
degrees = [degree for d, degree, _ in CASES if d == 3]
ROTATION_STYLES = {"one": "raw", "two": "haar", "three": "average-fit"}
for k, (word, style) in enumerate(ROTATION_STYLES.items()):
    heights = [dimensions_found[3, degree][k] for degree in degrees]
    places = np.arange(len(degrees)) + 0.27 * (k - 1)
    axes[1].bar(places, heights, 0.25, color=colour(style), label=word)
for i, degree in enumerate(degrees):
    axes[1].hlines(n_gram_polynomials(degree), i - 0.42, i + 0.42, color=colour("bound"))
axes[1].set(xticks=range(len(degrees)), xticklabels=degrees, yscale="log")
axes[1].set(xlabel="degree of the polynomials", ylabel="dimension of the invariants")
axes[1].legend(title="random rotations", fontsize=9)
n_right = sum(right for (d, _), (right, _) in shares_enough.items() if d == 3)
n_draws_right = sum(total for (d, _), (_, total) in shares_enough.items() if d == 3)
axes[1].set_title(
    f"Two rotations have the invariants of all\nin {n_right} of {n_draws_right} draws"
)
run.figure(
    fig,
    "exact",
    caption="Left: means of draws, bars: two standard errors; dashes: the rank. Right: medians of draws; "
    "lines: the invariants of all rotations.",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
repeats = np.arange(1, MOST_REPEATS + 1)
for (name, results), style in zip(by_group.items(), STYLES, strict=True):
    epsilons, errors, single_errors = results
    n_elements = 2 * REPRESENTATIONS[name].k
    medians = np.median(errors, axis=0)
    axes[0].plot(n_elements * repeats, medians, color=colour(style), label=name)
    bound = np.median(epsilons[:, None] ** repeats, axis=0)
    axes[0].plot(n_elements * repeats, bound, color=colour(style), ls=":", lw=0.9)
    single_counts = n_elements * np.array(SINGLE_REPEATS)
    axes[0].plot(single_counts, np.median(single_errors, axis=0), "x", color=colour(style))
axes[0].plot([], [], "x", color=colour("bound"), label="one average")
axes[0].plot([], [], ":", color=colour("bound"), label="ε to the power m")
axes[0].set(yscale="log", xlim=(0, 1000), ylim=(1e-16, 2))
axes[0].set(xlabel="elements applied", ylabel="relative error")
axes[0].legend(fontsize=9, loc="lower left")
axes[0].set_title(f"Repeated averages exceed the bound\nin {n_above_bound} of {n_bounds:,} cases")
curves = {}
for name, style in zip(needed, ("haar", "cdf"), strict=True):
    curves[name] = (style, needed[name].T.astype(float))
curves["8 ln(4 |G|)"] = ("bound", HOEFFDING, {"marker": "", "linestyle": ":"})
panel(axes[1], LOG_ORDERS, curves, xlabel="log2 of the order of the group")
axes[1].set_ylabel("elements for ε = 1/2")
axes[1].set_title(
    "Each doubling of the group adds\n"
    + " or ".join(f"{slope:.1f}" for slope in slopes.values())
    + " elements"
)
run.figure(
    fig,
    "averages",
    caption="Left: medians of draws; elements and their inverses are counted; crosses: a single average "
    "over as many elements. Right: means, bars: two standard errors.",
)

# %%
run.say(
    "Of {n_ranks} ranks {wrong} differ from the number of partitions. Two random rotations have the "
    "invariants of all rotations in {right} of {draws} draws. Repeated averages exceed their bound in "
    "{above} of {cases} cases, and their rate is {rate:.3f} of epsilon at least.",
    n_ranks=len(DEGREES) * len(DIMENSIONS),
    wrong=n_wrong_ranks,
    right=n_right,
    draws=n_draws_right,
    above=n_above_bound,
    cases=n_bounds,
    rate=min(rates_over_epsilon.values()),
)

# %% [markdown]
# ## Limits
#
# The rank counts exact functions; eigenvalues fall with dimension and degree, so that noise hides the
# last ones. Two rotations generate all of them in the limit of long products, and the gap says how well a
# computer sees it: a smaller gap needs more digits. Averages need coefficients, so that an average
# costs k products; for a function that can only be evaluated, m averages over k elements are $k^m$
# evaluations.
#
# ## Try it
#
# `invariance run beyond/small_and_exact -p seed 7`: other points, rotations and elements, the same ranks.
