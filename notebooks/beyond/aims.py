# ---
# jupyter:
#   invariance:
#     reads: [beyond/average_the_kernel, beyond/find_generators, beyond/reflection_groups,
#       beyond/symmetry_tests, beyond/series, beyond/sorted_coorbits, beyond/qm7, beyond/records,
#       beyond/fewest_labels, beyond/rotated_mnist, beyond/cifar10, beyond/small_and_exact]
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What the notebooks aimed at, and what they reached
#
# Aims were set before the runs. This page reads the published tables of the other notebooks and puts each
# aim beside the number that was reached, its interval, and the revision of the code that computed it. It
# measures nothing itself. Reasons for aims that were missed follow the table.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full

# %%
import re
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from invariance.companion import Run, colour, recorded, saved

run = Run("beyond/aims", profile=profile)

# %% [markdown]
# ## Reading
#
# An aim is met if the number is at the aim or on its better side; an exponent, if it is within 0.1 of the
# aim. The verdict is "not certain" if the
# interval has both sides.


# %%
@dataclass
class Reached:
    """A number with the ends of its interval."""

    value: float
    low: float
    high: float


def verdict(aim, better, tolerance, reached):
    """Return whether an aim is met; `better` is "more", "less" or "equal" (up to the tolerance)."""
    if aim is None:
        return "nothing to compare with"
    values = np.array([reached.value, reached.low, reached.high]) - aim
    if better == "equal":
        good = np.abs(values) <= tolerance
    elif better == "more":
        good = values >= 0
    else:
        good = values <= 0
    answer = "met" if good[0] else "missed"
    # An interval may have both ends on the far sides of an aim in its middle.
    certain = np.all(good) or (not np.any(good) and np.all(np.sign(values) == np.sign(values[0])))
    return answer if certain else f"{answer}, not certain"


# %%
rows = []
missing = []


def add(subject, notebook, table, aim, better, read, tolerance=0.0):
    """Add an aim. `read` takes the cells of a published table and returns what was reached."""
    source = saved(notebook, table, profile)
    reached = None
    if source is not None:
        cells, results = source
        reached = read(cells)
    if reached is None:
        missing.append(subject)
        return
    row = {
        "subject": subject,
        "aim": "" if aim is None else f"{aim:g}",
        "reached": f"{reached.value:.5g}",
        "interval": f"{reached.low:.5g} to {reached.high:.5g}",
        "verdict": verdict(aim, better, tolerance, reached),
        "notebook": notebook,
        "revision": results["provenance"]["code"].rpartition("+g")[2][:8],
    }
    rows.append(row)


# %% [markdown]
# Cells are written as "mean ± standard error", with an interval of two standard errors, or with the ends of
# their interval in brackets.


# %%
def as_reached(text):
    """Return the number in a cell of a table, with its interval; None for "more than" a number."""
    if str(text).startswith("more than"):
        return None
    numbers = [float(number) for number in re.findall(r"-?[0-9.]+", str(text))]
    if len(numbers) == 3:
        return Reached(*numbers)
    half = 2 * numbers[1] if len(numbers) == 2 else 0.0
    return Reached(numbers[0], numbers[0] - half, numbers[0] + half)


def cell(column, where):
    """Return a function that reads one cell; its result is None if there is no such cell."""

    def read(cells):
        for name, value in where.items():
            if name not in cells:
                return None
            cells = cells[cells[name].astype(str) == value]
        if len(cells) != 1 or column not in cells:
            return None
        return as_reached(cells.iloc[0][column])

    return read


def columns(value, low, high, where):
    """Return a function that reads a number and its interval from three columns."""

    def read(cells):
        found = [cell(column, where)(cells) for column in (value, low, high)]
        if None in found:
            return None
        return Reached(*[reached.value for reached in found])

    return read


# %% [markdown]
# ## The aims
#
# Kernels and answers averaged, generators found, best fits, tests:

# %%
claim = recorded("beyond/average_the_kernel", "soleymani2025/average-the-kernel", profile)
if claim is None:
    missing.append("exponents of the gain in samples")
else:
    for recipe, rate in claim["rates"].items():
        reached = Reached(rate["slope"], rate["low"], rate["high"])
        add(
            f"exponent of the gain in samples: {recipe}",
            "beyond/average_the_kernel",
            "gains",
            rate["expected"],
            "equal",
            lambda cells, reached=reached: reached,
            tolerance=0.1,
        )

# %%
GENERATORS = "beyond/find_generators"
for name in ("so(3)", "so(4)", "so(1,3)"):
    read = cell("both (%)", {"planted": name})
    add(f"{name}: right generators (% of draws)", GENERATORS, "planted", 95, "more", read)
read = cell("a generator (%)", {"without symmetry": "100 waves"})
add("no symmetry: false generators (% of draws)", GENERATORS, "without", 5, "less", read)
LIEGAN = 0.9998  # computed from its published weights
for space, points in (
    ("one matrix for all vectors", "1000"),
    ("a matrix for each vector", "1000"),
    ("a matrix for each vector", "4000"),
):
    where = {"two bodies": space, "noise": "0.0", "points": points}
    read = columns("cosine, median", "smallest", "largest", where)
    subject = f"two bodies: cosine, {space}, {points} points"
    add(subject, GENERATORS, "spaces", LIEGAN, "more", read)


# %%
def total(column):
    def read(cells):
        number = cells[column].astype(int).sum()
        return Reached(number, number, number)

    return read


for kind in ("linear", "Gaussian"):
    subject = f"reflection groups with indefinite best fits: {kind} kernel"
    add(subject, "beyond/reflection_groups", "catalogue", 0, "less", total(f"exceptions, {kind}"))

for n_widths in (5, 10):
    add(
        f"power of the randomisation test, covariance 0.99, {n_widths} widths (%)",
        "beyond/symmetry_tests",
        "widths",
        47.0,  # published
        "more",
        cell(f"{n_widths} widths (%)", {"covariance": "0.99"}),
    )

# %% [markdown]
# Series, features and records. For the smallest numbers of labels no published number was found.


# %%
def mean_against_hydra(cells):
    """Return the mean difference to MultiRocket-Hydra over the data sets, if it was measured."""
    means = cells.assign(mean=[as_reached(text).value for text in cells["accuracy (%)"]])
    table = means.pivot(index="data", columns="method", values="mean")
    hydras = [method for method in table if "Hydra" in method]
    if not hydras:
        return None
    differences = (table["ours"] - table[hydras[0]]).dropna()
    half = 2 * differences.std() / np.sqrt(len(differences))
    return Reached(differences.mean(), differences.mean() - half, differences.mean() + half)


add(
    "series: points above MultiRocket-Hydra (interval over data sets)",
    "beyond/series",
    "accuracy",
    0,
    "more",
    mean_against_hydra,
)

# %%
add(
    "sorted coorbits: distortion with two templates per dimension",
    "beyond/sorted_coorbits",
    "distortion",
    5,
    "less",
    columns("16 templates", "smallest, 2 d", "largest, 2 d", {"map": "sorted, tight"}),
)
read = cell("MAE", {"kernel": "between unlike elements"})
add("QM7: mean absolute error (kcal/mol)", "beyond/qm7", "errors", 1.19, "less", read)
read = cell("ours (%)", {"training images": "640"})
add("CIFAR-10, 640 images (%)", "beyond/records", "few-photographs", 42.63, "more", read)
for data in ("MNIST", "EMNIST letters"):
    read = cell("scattering, copies", {"data": data})
    subject = f"{data}: fewest images of a class"
    add(subject, "beyond/fewest_labels", "smallest", None, "less", read)
read = cell("accuracy (%)", {"features and kernel": "edges and edges of edges"})
add("rotated MNIST (%)", "beyond/rotated_mnist", "accuracy", 99.2, "more", read)
read = cell("accuracy (%)", {"features": "Gaussian kernel, at full size"})
add("CIFAR-10, 46,000 images (%)", "beyond/cifar10", "accuracy", 82.0, "more", read)

# %% [markdown]
# Small and exact statements:


# %%
def wrong_ranks(cells):
    """Return the number of degrees at which a rank differs from the number of partitions."""
    rank = cells.columns[cells.columns.str.startswith("d = ")][-1]
    wrong = int(np.sum(cells[rank].astype(int) != cells["partitions"].astype(int)))
    return Reached(wrong, wrong, wrong)


def two_suffice(cells):
    """Return the per cent of draws in which two rotations suffice: the worst row."""
    shares = cells["two suffice (%)"].astype(float)
    return Reached(shares.min(), cells["95 % interval from"].astype(float).min(), 100.0)


def largest_rate(cells):
    rates = cells["rate / epsilon"].astype(float)
    return Reached(rates.max(), rates.min(), rates.max())


EXACT = "beyond/small_and_exact"
add("ranks that depend on the dimension", EXACT, "ranks", 0, "less", wrong_ranks)
add("two rotations suffice (% of draws)", EXACT, "rotations", 100, "more", two_suffice)
add("rate of repeated averages / epsilon", EXACT, "averages", 1, "less", largest_rate)

# %% [markdown]
# ## All of them

# %%
run.table(
    rows,
    "aims",
    caption="Aims, and what the published runs reached. Revision: of the code of that run.",
)
if missing:
    run.say("Not measured yet: {missing}.", missing="; ".join(missing))

# %%
answers = [row["verdict"].partition(",")[0] for row in rows]
counts = {answer: answers.count(answer) for answer in ("met", "missed")}
run.say("Of {n} aims {met} are met and {missed} are missed.", n=sum(counts.values()), **counts)

# %%
fig, axis = plt.subplots(figsize=(7, 1.8))
certain = [sum(row["verdict"] == answer for row in rows) for answer in counts]
axis.barh(list(counts), list(counts.values()), color=colour("raw"), label="not certain")
axis.barh(list(counts), certain, color=colour("haar"), label="certain")
axis.invert_yaxis()
axis.set(xlabel="aims", title=f"{counts['met']} of {sum(counts.values())} aims are met")
axis.legend(fontsize=9)
run.figure(fig, "aims", caption="Certain: the whole interval is on one side of the aim.")

# %% [markdown]
# ## Why aims were missed
#
# - *Exponents*: the estimates agree with the aims, but six dimensions leave intervals wider than asked for.
# - *Generators*: in trials with other seeds, the draws of so(1,3) that fail are mostly those in which the
#   likelihood chose a small ridge, of which most fail, while nearly all with a large one are right. How well
#   a quadratic function fits the values made no difference.
# - *Two bodies, a matrix for each vector*: there are fewer points than the published method had; the cosine
#   grows with their number.
# - *Power of the randomisation test*: five widths of the kernels are part of the reason. Ten close about half of
#   the distance on the same samples, and what is left is within two standard errors of both rates.
# - *Rotated MNIST*: a third layer adds nothing, and none of three more ideas helps on training images
#   (`beyond/records`).
#
# The number for few photographs is that of convolutional tangent kernels; the kernels of Shankar et al. do
# better, and their table could not be had.
