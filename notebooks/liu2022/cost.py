# ---
# jupyter:
#   invariance:
#     alone: true
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A maximum over 2,475 transformations, without visiting each
#
# *Beyond Liu, Kumar, Zhou and Liu (2022): how the Gram matrices of Table 2 are computed here.*
#
# By its definition a best-fit kernel is evaluated transformation by transformation: for L-TI-RI,
# 2,475 locality kernels of 784 windows each. Four facts make that unnecessary.
#
# 1. $t \mapsto (1 + t)^8$ increases on $t \ge -1$, so the power is taken once, of the largest.
# 2. All inner products with translates are a cross-correlation. A Fourier transform along one axis
#    turns the shifts along it into phases; those along the other stay matrix products. The inverse
#    transform is wanted at 11 of 28 shifts only: a matrix product with an 11 × 28 matrix, or
#    rather with its even and odd halves, because $\max(E + O, E - O) = E + |O|$.
# 3. A quadratic locality kernel is an inner product too, $\sum_w \langle x_w, z_w \rangle^2 =
#    \sum_\delta \sum_p k(p, p + \delta)\, x_p x_{p+\delta}\, z_p z_{p+\delta}$, with $k$ the
#    number of windows that hold both pixels: 85 offsets $\delta$ for windows of 7, and one channel
#    for the linear term. So *one* inverse transform of a sum over 86 channels, taken frequency by
#    frequency as a matrix product, serves all shifts of a pair.
# 4. What is applied after the translations moves to the other argument as its transpose: $\langle
#    x, R\, S z \rangle = \langle R^\top x, S z \rangle$.
#
# Test images are processed in the order of their bounding boxes: blank columns are spared.
#
# Rotations alone (RI) have no such structure on pixels, apart from quarter turns: what can be saved
# there is precision, blank columns, powers and passes over memory.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
window: int = 7  # side of the windows of the locality kernel

# %%
import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from invariance.companion import Run, fit_rate, instructions, look, ticks
from invariance.datasets import load_digits_images, load_mnist
from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Locality, Polynomial
from invariance.orbits.correlation import shift_correlation

run = Run("liu2022/cost", profile=profile, seed=seed, window=window)

# %% tags=["settings"]
quick = run.quick
N_TRAIN, N_TEST, CHECKED = (20, 40, (2, 4)) if quick else (500, 2000, (40, 30))  # images
PIXELS, STEP = ((2, 3), 5) if quick else ((5, 7), 1)  # by which TI and the others shift
DEGREES = range(-10, 10, STEP), range(-5, 6, STEP)
ROUNDS, SIDE = (3, 300) if quick else (5, 2000)  # of timing; of a bare product
# test rows and transformations on which the plain definition is timed
TIMED = {"TI": (2000, 121), "RI": (2000, 20), "TI-RI": (1000, 200), "L-TI": (1000, 4)}
TIMED |= {"L-TI-RI": (1000, 8)}
if quick:
    TIMED = {"TI": (40, 25), "RI": (40, 4), "TI-RI": (40, 20), "L-TI": (40, 2), "L-TI-RI": (40, 2)}
data = load_digits_images() if quick else load_mnist()
run.uses_data(data)
X, y = data.data.reshape(len(data.data), -1) / 255, data.target
rows = np.random.default_rng(seed).permutation(len(X))
train, test = X[rows[:N_TRAIN]], X[rows[N_TRAIN : N_TRAIN + N_TEST]]
y_train = y[rows[:N_TRAIN]]

# %% [markdown]
# ## The plain definition
#
# One kernel evaluation per transformation, in double precision, and the running maximum.


# %%
def plain_polynomial(A, B):
    return (1 + A @ B.T / 784) ** 8


def plain_locality(A, B):
    pad = window // 2
    first, second = (
        np.pad(images.reshape(-1, 28, 28), ((0, 0), (pad, pad), (pad, pad))) for images in (A, B)
    )
    total = np.zeros((len(A), len(B)))
    for i in range(28):
        for j in range(28):
            one = first[:, i : i + window, j : j + window].reshape(len(A), -1)
            other = second[:, i : i + window, j : j + window].reshape(len(B), -1)
            total += (1 + one @ other.T / window**2) ** 2
    return (total / 28 + 1) ** 4


shape = (28, 28)
small, shifts = (Translations(shape, max_shift=k) for k in PIXELS)
turns, few_turns = (Rotations(shape, degrees=some) for some in DEGREES)
polynomial, local = Polynomial(8, gamma=1 / 784), Locality(shape, window, powers=(2, 4))
CASES = {  # base kernel, its plain definition, transformations
    "TI": (polynomial, plain_polynomial, small),
    "RI": (polynomial, plain_polynomial, turns),
    "TI-RI": (polynomial, plain_polynomial, shifts.then(turns)),
    "L-TI": (local, plain_locality, shifts),
    "L-TI-RI": (local, plain_locality, few_turns.then(shifts)),
}


def fast(name):
    base, _, group = CASES[name]
    return BestFit(base, group, precision="single", n_jobs=1)


# %% [markdown]
# ## Values and predictions
#
# On a few images the plain definition is evaluated for *all* transformations and compared with what
# `BestFit` returns in single precision; so are predictions of the two SVMs.


# %%
def over_all(definition, group, A, B):
    """The plain maximum over every transformation, two hundred of them at a time."""
    elements, best = group.elements(), -np.inf
    for start in range(0, len(elements), 200):
        moved = group.act(elements[start : start + 200], B)
        values = definition(A, moved.reshape(-1, B.shape[1])).reshape(len(A), len(moved), len(B))
        best = np.maximum(best, values.max(axis=1))
    return best


few_test, few_train = test[: CHECKED[0]], train[: CHECKED[1]]
errors, same = [], []
for name, (_, definition, group) in CASES.items():
    kernel = fast(name)
    both = [
        [over_all(definition, group, points, few_train), kernel(points, few_train)]
        for points in (few_train, few_test)
    ]
    errors.append(np.abs(both[1][1] / both[1][0] - 1).max())
    assert errors[-1] <= 1e-5, f"{name}: values differ from the definition by {errors[-1]:.1e}"
    labels = y_train[: CHECKED[1]]
    slow, swift = (
        SVC(kernel="precomputed").fit(gram, labels).predict(values)
        for gram, values in zip(*both, strict=True)
    )
    same.append(np.mean(slow == swift))
run.say(
    "Over every transformation, {a} test and {b} training images: values agree to {error:.1e} of "
    "theirs, and {same:.0%} of the predictions.",
    a=CHECKED[0],
    b=CHECKED[1],
    error=max(errors),
    same=np.mean(same),
)

# %% [markdown]
# ## Time
#
# Processor seconds on one thread. The fast way is timed in full. The plain one is timed on the first
# rows of the test set and on the first transformations, as the table states, and scaled linearly to
# all of them; moving the training images is scaled by transformations only. Memory is the largest sum
# of arrays alive during the fast evaluation, its arguments not included.


# %%
def plain_seconds(name):
    """Seconds of the plain definition: measured, and scaled up to everything."""
    _, definition, group = CASES[name]
    n_rows, n_elements = TIMED[name]
    best, moving, evaluating = np.full((n_rows, len(train)), -np.inf), 0.0, 0.0
    for element in group.elements()[:n_elements]:
        start = time.process_time()
        moved = group.act(element[None], train)[0]
        middle = time.process_time()
        np.maximum(best, definition(test[:n_rows], moved), out=best)
        moving += middle - start
        evaluating += time.process_time() - middle
    scaled = group.order / n_elements * (moving + evaluating * len(test) / n_rows)
    return moving + evaluating, scaled


def fast_seconds(name):
    """Seconds (means of three where short), and MiB."""
    kernel = fast(name)
    tracemalloc.start()
    kernel(test, train)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    start, repeats = time.process_time(), 0
    while repeats < 3 and time.process_time() - start < 20:
        kernel(test, train)
        repeats += 1
    return (time.process_time() - start) / repeats, peak


processed, table = {}, []
with threadpool_limits(1, "blas"):
    for name, (n_rows, n_elements) in TIMED.items():
        (ours, peak), (sampled, slow) = fast_seconds(name), plain_seconds(name)
        processed[name] = slow, ours
        run.timing(f"{name}, ours", ours)
        some = f"{n_rows:,} rows, {n_elements} of {CASES[name][2].order:,} transformations"
        times = f"{slow:.1f}", f"{ours:.2f}", f"{slow / ours:.1f}"
        table.append((name, f"{sampled:.1f}", some, *times, f"{peak:.0f}"))
columns = ["kernel", "plain, measured (s)", "on", "plain, scaled to all (s)", "ours (s)", "ratio"]
table = pd.DataFrame(table, columns=[*columns, "peak memory (MiB)"])
run.table(table, "time", caption=f"{N_TRAIN} training and {N_TEST:,} test images.")

# %%
gains = {name: slow / ours for name, (slow, ours) in processed.items()}
most = max(gains, key=gains.get)
fig, axis = plt.subplots(figsize=(7.4, 2.8))
for way, method, label in ((0, "definition", "plain definition"), (1, "fast", "BestFit")):
    seconds = [pair[way] for pair in processed.values()]
    how = look(method)._asdict()
    axis.plot(seconds, range(len(seconds)), linestyle="none", label=label, **how)
axis.set_yticks(range(len(gains)), [f"{name}: {gain:.0f} times" for name, gain in gains.items()])
axis.set(
    xscale="log",
    xlabel="processor time (s)",
    ylim=(len(gains) - 0.5, -0.5),
    title=f"{most}: {gains[most]:.0f} times faster than its definition",
)
axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
caption = f"One matrix of {N_TEST:,} test and {N_TRAIN} training images."
run.figure(fig, "answer", caption=caption)

# %% [markdown]
# ## Single methods are cheap, combinations are not
#
# Section 4.2 says that L-, TI- and RI-SVM cost little more time than the plain SVM, and their
# combinations much more. The verdict rests on a count: multiplications of the definition for one
# pair of images, with the windows and transformations of Table 2.

# %%
OWN = {"SVM": polynomial, "L": Locality(shape, window=9, powers=(2, 4))}
OWN["L-RI"] = BestFit(Locality(shape, 3, powers=(2, 4)), few_turns, precision="single", n_jobs=1)
names = ("SVM", "L", "TI", "RI", "L-TI", "L-RI", "TI-RI", "L-TI-RI")
METHODS = {name: OWN[name] if name in OWN else fast(name) for name in names}
spent = {name: np.empty(ROUNDS) for name in METHODS}
with threadpool_limits(1, "blas"):
    for k in range(ROUNDS):
        for name, kernel in METHODS.items():
            start = time.process_time()
            SVC(kernel="precomputed").fit(kernel(train, train), y_train)
            spent[name][k] = time.process_time() - start

singles, combined = ("L", "TI", "RI"), ("L-TI", "L-RI", "TI-RI", "L-TI-RI")
counted = {"SVM": 784, "L": 784 * 9**2, "TI": 784 * 11**2, "RI": 784 * 20}
counted |= {"L-TI": 784 * 7**2 * 15**2, "L-RI": 784 * 3**2 * 11}
counted |= {"TI-RI": 784 * 15**2 * 20, "L-TI-RI": 784 * 7**2 * 11 * 15**2}
added = {f"ten times what {name} adds": 10.0 * (counted[name] - 784) for name in singles}
run.claim(
    "liu2022/single-methods-cheap",
    order=[f"what L-TI-RI adds > {name}" for name in added]
    + [f"{c} > {name}" for c in combined for name in singles if name in c.split("-")],
    scores={"what L-TI-RI adds": float(counted["L-TI-RI"] - 784)} | added | counted,
    exact="multiplications of the definition for a pair of images",
    note="with the fast ways of this page, processor seconds: "
    + ", ".join(f"{name} {times.mean():.2f}" for name, times in spent.items()),
)

# %% [markdown]
# ## What LIBSVM's own polynomial kernel costs
#
# Section 3: "the time complexity of computing the polynomial kernel is between $O(n^2 m)$ and $O(n^3
# m)$ based on LIBSVM, while space complexity is $O(n^2)$", $m$ features of $n$ samples. Time is
# counted in machine instructions of a fit, space in bytes of the Gram matrix.

# %%
LIBSVM = """
import numpy as np
from sklearn.svm import SVC

def prepare(size):
    n, m = size
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, m)) + 0.2 * y[:, None]
    return lambda: SVC(kernel="poly", degree=8, gamma=1 / m, coef0=1, C=1).fit(X, y)
"""
FEATURES = [(400, m) for m in (2048, 4096, 8192, 16384)]
SAMPLES = [(n, 128) for n in (200, 300, 450, 675, 1012)]
found = None if run.quick else instructions(LIBSVM, FEATURES + SAMPLES)


def peak_bytes(n):
    """Largest sum of arrays alive while the Gram matrix of n samples is computed."""
    X = np.random.default_rng(0).standard_normal((n, 32))
    tracemalloc.start()
    Polynomial(8, gamma=1 / 32)(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


held = [500, 1000, 2000] if run.quick else [4000, 5600, 8000, 11200, 16000]
space = fit_rate(held, [peak_bytes(n) for n in held])
run.say("Space grows as the power {power:.2f} of the number of samples.", power=space.slope)
if found:
    count = [float(one) for one in found]
    exponents = {
        "instructions, features m": fit_rate([m for _, m in FEATURES], count[: len(FEATURES)]),
        "instructions, samples n": fit_rate([n for n, _ in SAMPLES], count[len(FEATURES) :]),
        "bytes, samples n": space,
    }
    run.claim(
        "liu2022/svm-complexity",
        rates=exponents,
        expected=dict(zip(exponents, (1.0, 3.0, 2.0), strict=True)),
        upper_bound=True,
    )
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    parts = ("features m", FEATURES, 1, count[:4]), ("samples n", SAMPLES, 0, count[4:])
    for axis, (words, sizes, which, y) in zip(axes, parts, strict=True):
        values = [size[which] for size in sizes]
        axis.plot(values, y, **look("definition")._asdict())
        power = exponents[f"instructions, {words}"].slope
        axis.set(xscale="log", yscale="log", xlabel=words, title=f"The power {power:.2f}")
        ticks(axis, values)
    axes[0].set_ylabel("instructions of a fit")
    run.figure(fig, "libsvm", caption="Degree 8; 400 samples (left) and 128 features (right).")

# %% [markdown]
# ## What bounds it
#
# Operations of every stage, counted, and the time that this machine's matrix product (square
# matrices, one thread) would take for as many. Products with small matrices, which the partial
# inverse transforms consist of, run at a lower rate, measured here at their own sizes.


# %%
def rate(dtype, m, k, n):
    """Operations a second of a matrix product; a complex multiplication counts as four."""
    draw = np.random.default_rng(seed).standard_normal
    one, other = draw((m, k)).astype(dtype), draw((k, n)).astype(dtype)
    out, best = np.empty((m, n), dtype), np.inf
    operations = (8 if np.iscomplexobj(out) else 2) * m * k * n
    repeats = 1 + int(2e8 // operations)
    for _ in range(5):
        start = time.process_time()
        for _ in range(repeats):
            np.matmul(one, other, out=out)
        best = min(best, (time.process_time() - start) / repeats)
    return operations / best


def of_shifts(group, channels, **how):
    """Operations by stage for a pair of images."""
    correlation = shift_correlation(shape, group.elements(), channels, np.float32, **how)
    return correlation.operations(*([how["shown"][1]] if how else []))


# %%
with threadpool_limits(1, "blas"):
    single = rate(np.float32, SIDE, SIDE, SIDE)
    rates = {
        "products": single,
        "rows": rate(np.complex64, 15, 28, 372),
        "columns": rate(np.float32, 6, 15, 5_632),
    }
# Columns that a test image spans, and the pixels of these that any image uses.
seen = test.reshape(-1, *shape) > 0
columns, used = seen.any(axis=1), seen.any(axis=0).sum(axis=0)
first, last = columns.argmax(axis=1), 28 - columns[:, ::-1].argmax(axis=1)
share, before = (last - first).mean() / 28, np.append(0, np.cumsum(used))
inside = (before[last] - before[first]).mean()
channels = local.inner_form(local.point_shape).n_channels
STAGES = {  # operations, and how many times
    "TI": (of_shifts(small, 1, shown=(1, share)), 1),
    "RI": ({"products": round(2 * inside), "rows": 0, "columns": 0}, turns.order),
    "TI-RI": (of_shifts(shifts, 1), turns.order),
    "L-TI": (of_shifts(shifts, channels), 1),
    "L-TI-RI": (of_shifts(shifts, channels), few_turns.order),
}
bounds = []
for name, (stages, times) in STAGES.items():
    plain, ours = processed[name]
    pairs = times * N_TRAIN * N_TEST
    bare = pairs * sum(stages.values()) / single
    expected = pairs * sum(stages[stage] / each for stage, each in rates.items())
    flop = [f"{times * count:,}" for count in stages.values()]
    found = [f"{value:.2f}" for value in (bare, expected, ours, ours / bare)]
    bounds.append((name, *flop, *found, f"{plain / bare:.1f}"))
columns = ["kernel", *(f"{stage}, flop a pair" for stage in stages), "bare product of as many (s)"]
columns += ["inverse at its own rate (s)", "ours (s)", "ours / bare", "plain / bare"]
run.table(
    pd.DataFrame(bounds, columns=columns),
    "bounds",
    caption="Operations by stage, times of bare single-precision products, and the ratio that a "
    "computation at exactly that speed would have to the plain definition.",
)

# %% [markdown]
# The last column is about the most that this arrangement could gain over the plain definition.
#
# ## Try it
#
# `invariance run liu2022/cost -p window 5`: smaller windows have fewer offsets, so fewer channels.
