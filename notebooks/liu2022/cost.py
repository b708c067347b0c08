# ---
# jupyter:
#   invariance:
#     alone: true
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A maximum over 2,475 transformations, without visiting each
#
# *Beyond Liu, Kumar, Zhou and Liu (2022): how the Gram matrices of Table 2 are computed here, and
# what that saves.*
#
# By its definition a best-fit kernel is evaluated transformation by transformation: 121 polynomial
# kernels for TI, 20 for RI, and for L-TI-RI 2,475 locality kernels of 784 windows each. Four facts
# make that unnecessary.
#
# 1. $t \mapsto (1 + t)^8$ increases on $t \ge -1$, so the power is taken once, of the largest
#    inner product. (An even power of values below zero is the exception; there the smallest inner
#    product is followed too, and a warning says so.)
# 2. All inner products with translates are a cross-correlation. A Fourier transform along one axis
#    turns the shifts along it into phases; those along the other stay matrix products. The inverse
#    transform is wanted at 11 of 28 shifts only: a matrix product with an 11 × 28 matrix, or
#    rather with its even and odd halves, because $\max(E + O, E - O) = E + |O|$. Three real
#    products make a complex one.
# 3. A quadratic locality kernel is an inner product too, $\sum_w \langle x_w, z_w \rangle^2 =
#    \sum_\delta \sum_p k(p, p + \delta)\, x_p x_{p+\delta}\, z_p z_{p+\delta}$, with $k$ the
#    number of windows that hold both pixels: 85 offsets $\delta$ for windows of 7, and one channel
#    for the linear term. Zero padding sits in $k$, on the side that is not transformed, and cyclic
#    shifts of the other side commute with its products. So *one* inverse transform of a sum over
#    86 channels, taken frequency by frequency as a matrix product, serves all shifts of a pair.
# 4. What is applied after the translations moves to the other argument as its transpose: $\langle
#    x, R\, S z \rangle = \langle R^\top x, S z \rangle$.
#
# Blank columns are not multiplied: test images are processed in the order of their bounding boxes,
# so that a block of them occupies the same few columns. Digits are narrower than tall: matrix
# products run over columns, the Fourier transform along the other axis.
#
# Rotations alone (RI) have no such structure on pixels, apart from quarter turns: there the 20
# inner products of a pair are 20 inner products, and what can be saved is precision, blank
# columns, powers and passes over memory. We say below how far that goes.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
jobs: int = 2  # threads

# %%
import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from invariance.companion import Run, colour, marker
from invariance.datasets import load_digits_images, load_mnist
from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Locality, Polynomial
from invariance.orbits.correlation import shift_correlation

run = Run("liu2022/cost", profile=profile, seed=seed, jobs=jobs)

# %% tags=["settings"]
# all that differs between the two profiles
SETTINGS = {
    "quick": {
        "images to train and test": (20, 40),
        "pixels": (2, 3),  # by which one shifts, in TI and in the others
        "degrees": (range(-10, 10, 5), range(-5, 6, 5)),  # likewise, in L-TI-RI alone the second
        "TI, rows and transformations": (40, 25),
        "RI, rows and transformations": (40, 4),
        "TI-RI, rows and transformations": (40, 20),
        "L-TI, rows and transformations": (40, 2),
        "L-TI-RI, rows and transformations": (40, 2),
        "images checked": (2, 4),
        "matrices": 300,
    },
    "full": {
        "images to train and test": (500, 2000),
        "pixels": (5, 7),
        "degrees": (range(-10, 10), range(-5, 6)),
        "TI, rows and transformations": (2000, 121),
        "RI, rows and transformations": (2000, 20),
        "TI-RI, rows and transformations": (1000, 200),
        "L-TI, rows and transformations": (1000, 4),
        "L-TI-RI, rows and transformations": (1000, 8),
        "images checked": (40, 30),
        "matrices": 2000,
    },
}[profile]

# %%
data = load_digits_images() if run.quick else load_mnist()
for file, sha256 in data.sources.items():
    run.uses_data(file, sha256)
X, y = data.data.reshape(len(data.data), -1) / 255, data.target
rows = np.random.default_rng(seed).permutation(len(X))
n_train, n_test = SETTINGS["images to train and test"]
train, test = X[rows[:n_train]], X[rows[n_train : n_train + n_test]]
y_train = y[rows[:n_train]]

# %% [markdown]
# ## The plain definition
#
# One kernel evaluation per transformation, in the double precision that scikit-learn's SVC uses,
# and the running maximum. For locality, window by window, as in the authors' scripts.


# %%
def plain_polynomial(A, B):
    return (1 + A @ B.T / 784) ** 8


def plain_locality(A, B, window=7):
    pad = window // 2
    first = np.pad(A.reshape(-1, 28, 28), ((0, 0), (pad, pad), (pad, pad)))
    second = np.pad(B.reshape(-1, 28, 28), ((0, 0), (pad, pad), (pad, pad)))
    total = np.zeros((len(A), len(B)))
    for i in range(28):
        for j in range(28):
            one = first[:, i : i + window, j : j + window].reshape(len(A), -1)
            other = second[:, i : i + window, j : j + window].reshape(len(B), -1)
            total += (1 + one @ other.T / window**2) ** 2
    return (total / 28 + 1) ** 4


shape = (28, 28)
small, shifts = (Translations(shape, max_shift=k) for k in SETTINGS["pixels"])
turns, few_turns = (Rotations(shape, degrees=some) for some in SETTINGS["degrees"])
polynomial, local = Polynomial(8, gamma=1 / 784), Locality(shape, window=7, powers=(2, 4))
#: Base kernel, transformations, plain definition, and how many test rows and transformations of it
#: are timed.
CASES = {
    "TI": (polynomial, small, plain_polynomial, SETTINGS["TI, rows and transformations"]),
    "RI": (polynomial, turns, plain_polynomial, SETTINGS["RI, rows and transformations"]),
    "TI-RI": (
        polynomial,
        shifts.then(turns),
        plain_polynomial,
        SETTINGS["TI-RI, rows and transformations"],
    ),
    "L-TI": (local, shifts, plain_locality, SETTINGS["L-TI, rows and transformations"]),
    "L-TI-RI": (
        local,
        few_turns.then(shifts),
        plain_locality,
        SETTINGS["L-TI-RI, rows and transformations"],
    ),
}

# %% [markdown]
# ## Values and predictions
#
# Agreement first. On a few images the plain definition is evaluated for *all* transformations and
# compared with what `BestFit` returns in single precision; predictions of the two SVMs are
# compared as well.

# %%
a, b = SETTINGS["images checked"]
agreement = []


def over_all(definition, group, A, B):
    """The plain maximum over every transformation, two hundred of them at a time."""
    elements, best = group.elements(), -np.inf
    for start in range(0, len(elements), 200):
        moved = group.act(elements[start : start + 200], B)
        values = definition(A, moved.reshape(-1, B.shape[1])).reshape(len(A), len(moved), len(B))
        best = np.maximum(best, values.max(axis=1))
    return best


for name, (base, group, definition, _) in CASES.items():
    fast = BestFit(base, group, precision="single", n_jobs=jobs)
    exact, gram = (
        over_all(definition, group, points, train[:b]) for points in (test[:a], train[:b])
    )
    values = fast(test[:a], train[:b])
    error = np.abs(values / exact - 1).max()
    if error > 1e-5:
        raise ValueError(f"{name}: values differ from the definition by {error:.1e}")
    machines = [
        SVC(kernel="precomputed").fit(G, y_train[:b]) for G in (gram, fast(train[:b], train[:b]))
    ]
    same = np.mean(machines[0].predict(exact) == machines[1].predict(values))
    agreement.append(
        {
            "kernel": name,
            "transformations": group.order,
            "largest relative difference": f"{error:.1e}",
            "equal predictions": f"{same:.0%}",
        }
    )
run.table(
    agreement,
    "agreement",
    caption=f"Single-precision values against the definition over every transformation; {a} test "
    f"and {b} "
    "training images.",
)

# %% [markdown]
# ## Time
#
# The fast way is timed in full. The plain one is timed on the first rows of the test set and on
# the first transformations, as the table states, and scaled linearly to all of them; moving the
# training images does not depend on test rows and is scaled by transformations only. Smaller
# arrays suit the processor's cache, so this favours the plain way. Both ways use the same
# matrix-product library and may use as many threads: ours for blocks of test images, the plain one
# within its matrix products, or one thread where that is quicker. Seconds are by the clock, on an
# otherwise idle machine; processor seconds, summed over threads, stand beside them (the plain
# way's on one thread, for the library's threads spin while they wait). Memory is the largest sum
# of arrays alive during the fast evaluation, its arguments not included; it is measured apart,
# because counting takes time.
#
# Where the plain way has visited everything, all values and the predictions for the whole test set
# are compared too.


# %%
def now():
    """By the clock, and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def plain_seconds(definition, group, n_rows, n_elements, threads):
    """Seconds of the plain definition, measured and scaled up, and its maximum so far."""
    elements = group.elements()[:n_elements]
    some = test[:n_rows]
    best = np.full((len(some), len(train)), -np.inf)
    moving, evaluating = np.zeros((2, 2))
    with threadpool_limits(threads, "blas"):
        for element in elements:
            start = now()
            moved = group.act(element[None], train)[0]
            middle = now()
            np.maximum(best, definition(some, moved), out=best)
            moving += middle - start
            evaluating += now() - middle
    share = group.order / len(elements)
    return moving + evaluating, share * (moving + evaluating * len(test) / len(some)), best


# %%
def fast_seconds(base, group):
    """Seconds (means of three where short) and peak bytes; the values."""
    kernel = BestFit(base, group, precision="single", n_jobs=jobs)
    tracemalloc.start()
    values = kernel(test, train)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    start, repeats = now(), 0
    while repeats < 3 and (now() - start)[0] < 20:
        kernel(test, train)
        repeats += 1
    return (now() - start) / repeats, peak, values


clocked, processed, table, whole = {}, {}, [], []
with threadpool_limits(1, "blas"):
    for name, (base, group, definition, some) in CASES.items():
        ours, peak, values = fast_seconds(base, group)
        alone = plain_seconds(definition, group, *some, 1)
        together = plain_seconds(definition, group, *some, jobs)
        sampled, slow, exact = min(alone, together, key=lambda way: way[1][0])
        clocked[name], processed[name] = (slow[0], ours[0]), (alone[1][1], ours[1])
        run.timing(f"{name}, ours", ours[0])
        n_rows, n_elements = some
        table.append(
            {
                "kernel": name,
                "transformations": group.order,
                "plain, measured (s)": f"{sampled[0]:.1f}",
                "on": f"{n_rows:,} rows, {n_elements} transformations",
                "plain, scaled to all (s)": f"{slow[0]:.1f}",
                "ours (s)": f"{ours[0]:.2f}",
                "ratio": f"{slow[0] / ours[0]:.1f}",
                "processor seconds, plain": f"{alone[1][1]:.1f}",
                "ours": f"{ours[1]:.2f}",
                "their ratio": f"{alone[1][1] / ours[1]:.1f}",
                "peak memory (MiB)": f"{peak / 2**20:.0f}",
            }
        )
        if len(exact) == len(test) and n_elements == group.order:
            machine = SVC(kernel="precomputed").fit(
                over_all(definition, group, train, train), y_train
            )
            predicted = machine.predict(values)
            whole.append(
                {
                    "kernel": name,
                    "largest relative difference": f"{np.abs(values / exact - 1).max():.1e}",
                    "equal predictions": f"{np.mean(machine.predict(exact) == predicted):.2%}",
                }
            )
run.table(
    table,
    "time",
    caption=f"{n_train} training and {n_test:,} test images; {jobs} threads, in one run.",
)

# %%
fig, axis = plt.subplots(figsize=(6.4, 2.8))
for i, (slow, fast) in enumerate(processed.values()):
    axis.plot([fast, slow], [i, i], color=colour("gemm"), linewidth=0.6, zorder=0)
    for seconds, look, label in (
        (slow, "definition", "plain definition"),
        (fast, "fast", "BestFit"),
    ):
        how = {"color": colour(look), "marker": marker(look), "linestyle": "none"}
        axis.plot(seconds, i, label=label if i == 0 else None, **how)
    axis.annotate(f"{slow / fast:.0f} times", ((slow * fast) ** 0.5, i - 0.15), ha="center")
gains = {name: slow / fast for name, (slow, fast) in processed.items()}
most = max(gains, key=gains.get)
axis.set(
    xscale="log",
    xlabel="processor time (s)",
    yticks=range(len(processed)),
    yticklabels=processed,
    ylim=(len(processed) - 0.5, -0.7),
    title=f"{most}: {gains[most]:.0f} times faster than its definition",
)
axis.legend(loc="upper right")
run.figure(
    fig,
    "answer",
    alt="Processor time of the plain definition and of BestFit for five kernels, on a logarithmic "
    f"axis. BestFit is {min(gains.values()):.0f} to {max(gains.values()):.0f} times faster; most "
    f"for {most}.",
    caption=f"One matrix of {n_test:,} test and {n_train} training images; the plain definition "
    "is measured on some rows and transformations and scaled to all.",
)
if whole:
    run.table(
        whole,
        "whole",
        caption=f"All {n_test:,} x {n_train} values and the predictions of a support-vector "
        f"machine from them.",
    )

# %% [markdown]
# ## Single methods are cheap, combinations are not
#
# Section 4.2 says that L-, TI- and RI-SVM cost little more time than the plain SVM, and their
# combinations much more. Here is how it is with the fast implementations above: processor seconds
# to train, that is for the Gram matrix of the training images and the fit, for each method.

# %%
METHODS = {
    "SVM": polynomial,
    "L": Locality(shape, window=9, powers=(2, 4)),
    "TI": BestFit(polynomial, small, precision="single"),
    "RI": BestFit(polynomial, turns, precision="single"),
    "L-TI": BestFit(local, shifts, precision="single"),
    "L-RI": BestFit(Locality(shape, window=3, powers=(2, 4)), few_turns, precision="single"),
    "TI-RI": BestFit(polynomial, shifts.then(turns), precision="single"),
    "L-TI-RI": BestFit(local, few_turns.then(shifts), precision="single"),
}
rounds = {"quick": 3, "full": 5}[profile]
spent = {name: np.empty(rounds) for name in METHODS}
with threadpool_limits(1, "blas"):
    for k in range(rounds):
        for name, kernel in METHODS.items():
            start = time.process_time()
            SVC(kernel="precomputed").fit(kernel(train, train), y_train)
            spent[name][k] = time.process_time() - start
singles, combined = ("L", "TI", "RI"), ("L-TI", "L-RI", "TI-RI", "L-TI-RI")
run.table(
    [
        {
            "method": name,
            "processor seconds": f"{times.mean():.3f}",
            "times the plain SVM": f"{np.mean(times / spent['SVM']):.1f}",
        }
        for name, times in spent.items()
    ],
    "methods",
    caption=f"Training on {n_train} images, means of {rounds} rounds in turns.",
)

# %% [markdown]
# The verdict rests on a count: multiplications of the definition for one pair of images, with the
# windows and transformations of Table 2.

# %%
counted = {"SVM": 784, "L": 784 * 9**2, "TI": 784 * 11**2, "RI": 784 * 20}
counted |= {"L-TI": 784 * 7**2 * 15**2, "L-RI": 784 * 3**2 * 11}
counted |= {"TI-RI": 784 * 15**2 * 20, "L-TI-RI": 784 * 7**2 * 11 * 15**2}
added = {f"ten times what {name} adds": 10.0 * (counted[name] - 784) for name in singles}
whole_adds = counted["L-TI-RI"] - 784
run.claim(
    "liu2022/single-methods-cheap",
    order=[f"what L-TI-RI adds > {name}" for name in added]
    + [f"{c} > {name}" for c in combined for name in singles if name in c.split("-")],
    scores={"what L-TI-RI adds": float(whole_adds)} | added | counted,
    exact="multiplications of the definition for a pair of images",
    note="with the fast ways of this page, processor seconds: "
    + ", ".join(f"{name} {times.mean():.2f}" for name, times in spent.items()),
)

# %% [markdown]
# ## What bounds it
#
# From here on in processor seconds. Operations of every stage, counted, and the time that this
# machine's matrix product (square matrices, one thread) would take for as many. Products with
# small matrices, which the partial inverse transforms consist of, run at a lower rate, measured
# here at their own sizes: each number that they read takes part in a few operations only. So the
# numbers must stay close: pairs are processed a few hundred at a time, so that their transforms fit
# into a core's own cache, and the table of rates shows what larger batches would cost.

# %%
generator = np.random.default_rng(seed)


def rate(dtype, m, k, n):
    """Operations a second of a matrix product; a complex multiplication counts as four."""
    one, other = (
        generator.standard_normal((m, k)).astype(dtype),
        generator.standard_normal((k, n)).astype(dtype),
    )
    out, best = np.empty((m, n), dtype), np.inf
    operations = (8 if np.iscomplexobj(out) else 2) * m * k * n
    repeats = 1 + int(2e8 // operations)
    for _ in range(5):
        start = time.process_time()
        for _ in range(repeats):
            np.matmul(one, other, out=out)
        best = min(best, (time.process_time() - start) / repeats)
    return operations / best


size = SETTINGS["matrices"]
pairs = n_train * n_test
with threadpool_limits(1, "blas"):
    single, double = rate(np.float32, size, size, size), rate(np.float64, size, size, size)
    transform_rates = {
        "rows": rate(np.complex64, 15, 28, 372),
        "columns": rate(np.float32, 6, 15, 5_632),
    }
    batches = [
        {
            "stage": "columns, 6 x 15 times 15 x n",
            "n": f"{n:,}",
            "Gflop/s": f"{rate(np.float32, 6, 15, n) / 1e9:.0f}",
        }
        for n in (5_632, 50_000, 500_000)
    ]
    batches += [
        {
            "stage": "rows, 15 x 28 times 28 x n, complex",
            "n": f"{n:,}",
            "Gflop/s": f"{rate(np.complex64, 15, 28, n) / 1e9:.0f}",
        }
        for n in (372, 3_720, 37_200)
    ]
run.table(
    batches,
    "rates",
    caption="Rates of products with the small matrices of the inverse transforms: first at the "
    "size used, then in larger batches.",
)
print(
    f"matrix product: {single / 1e9:.0f} Gflop/s in single, {double / 1e9:.0f} in double precision"
)
channels = local.inner_form(local.point_shape).n_channels

# %%
# What test images show: their columns as a share of the frame, and the pixels of these columns
# that any image uses.
seen = test.reshape(-1, *shape) > 0
columns, used = seen.any(axis=1), seen.any(axis=0).sum(axis=0)
first, last = columns.argmax(axis=1), 28 - columns[:, ::-1].argmax(axis=1)
share, before = (last - first).mean() / 28, np.append(0, np.cumsum(used))
inside = (before[last] - before[first]).mean()
print(
    f"a test image spans {share:.0%} of the columns; these hold {inside:.0f} of the {used.sum()} "
    f"pixels that any of them uses"
)
STAGES = {
    "TI": (
        shift_correlation(shape, small.elements(), 1, np.float32, shown=(1, share)).operations(
            share
        ),
        1,
    ),
    "RI": ({"products": round(2 * inside), "rows": 0, "columns": 0}, turns.order),
    "TI-RI": (shift_correlation(shape, shifts.elements(), 1, np.float32).operations(), turns.order),
    "L-TI": (shift_correlation(shape, shifts.elements(), channels, np.float32).operations(), 1),
    "L-TI-RI": (
        shift_correlation(shape, shifts.elements(), channels, np.float32).operations(),
        few_turns.order,
    ),
}
bounds = []
for name, (stages, times) in STAGES.items():
    plain_time, ours = processed[name]
    inverse = stages["rows"] + stages["columns"]
    bare = times * pairs * (stages["products"] + inverse) / single
    expected = (
        times
        * pairs
        * (
            stages["products"] / single
            + sum(stages[stage] / each for stage, each in transform_rates.items())
        )
    )
    bounds.append(
        {"kernel": name}
        | {f"{stage}, flop a pair": f"{times * count:,}" for stage, count in stages.items()}
        | {
            "bare product of as many (s)": f"{bare:.2f}",
            "inverse at its own rate (s)": f"{expected:.2f}",
            "ours (s)": f"{ours:.2f}",
            "ours / bare": f"{ours / bare:.2f}",
            "plain / bare": f"{plain_time / bare:.1f}",
        }
    )
run.table(
    bounds,
    "bounds",
    caption="Operations by stage, times of bare single-precision products, and the ratio that a "
    "computation at exactly "
    "that speed would have to the plain definition.",
)

# %% [markdown]
# The last column is about the most that this arrangement of the computation could gain over the
# plain definition: operations count the columns that a single test image spans, a block of them
# spans a few more. (Rotated test images, TI-RI, are blank nowhere: cubic splines reach
# everywhere.) For RI we compute what the definition does: 20 inner products per pair, of the
# columns that are not blank.

# %%
bare_single, bare_double = (20 * 2 * 784 * pairs / speed for speed in (single, double))
slow, ours = processed["RI"]
run.table(
    [
        {
            "RI": "plain definition",
            "s": f"{slow:.2f}",
            "times the bare product in its precision": f"{slow / bare_double:.2f}",
        },
        {
            "RI": "bare product of all pixels, double precision",
            "s": f"{bare_double:.2f}",
            "times the bare product in its precision": "1",
        },
        {
            "RI": "ours",
            "s": f"{ours:.2f}",
            "times the bare product in its precision": f"{ours / bare_single:.2f}",
        },
        {
            "RI": "bare product of all pixels, single precision",
            "s": f"{bare_single:.2f}",
            "times the bare product in its precision": "1",
        },
    ],
    "rotations",
    caption="Rotations alone: both ways against the matrix product.",
)
print(
    f"RI: a factor of ten over {slow:.2f} s would be {slow / 10:.2f} s; the matrix product alone "
    f"takes {bare_single:.2f} s in single precision."
)
for name, aim in {"TI": 10, "RI": 10, "L-TI-RI": 60}.items():
    slow, ours = clocked[name]
    print(
        f"{name}, by the clock: aimed at {aim} times the plain definition's speed, measured "
        f"{slow / ours:.1f} times"
        f"{'' if slow / ours >= aim else ': not reached'}"
    )

# %% [markdown]
# Could fewer inner products do? Twenty rotations by one degree are nearly alike, so perhaps the
# orbit of an image is nearly of low dimension. It is not low enough: the table shows how many of
# the 20 dimensions are needed so that what is left out is below a given share of the orbit's norm.
# The values must agree to $10^{-5}$.

# %%
orbits = turns.act(turns.elements(), train[:100]).swapaxes(0, 1)
singular = np.linalg.svd(orbits, compute_uv=False)
tails = np.sqrt(
    np.cumsum(singular[:, ::-1] ** 2, axis=1)[:, ::-1] / (singular**2).sum(axis=1, keepdims=True)
)
run.table(
    [
        {
            "share left out": f"{share:g}",
            "dimensions, median image": int(np.median((tails > share).sum(axis=1))),
            "dimensions, worst image": int((tails > share).sum(axis=1).max()),
        }
        for share in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
    ],
    "orbits",
    caption="Numerical dimension of the orbits of 100 training images under 20 rotations of one "
    "degree.",
)

# %% [markdown]
# ## Memory
#
# Blocks bound the temporary arrays: `block_bytes` (256 MiB) for what is kept of a block of
# training images, and a fixed tile per thread. For L-TI-RI the transforms of all rotated training
# images would take the memory below if kept at once; they are processed in blocks.

# %%
correlation = shift_correlation(shape, shifts.elements(), channels, np.float32)
print(
    f"transforms: {correlation.spectrum_bytes / 2**20:.2f} MiB an image, "
    f"{correlation.spectrum_bytes * n_train * few_turns.order / 2**30:.2f} GiB for all"
)

# %% [markdown]
# ## Try it
#
# `Locality(shape, window=7, powers=(3, 2))` has no such shortcut: `BestFit` then evaluates its
# definition, by blocks. Compare.
