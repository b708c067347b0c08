# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What exact invariance costs, counted
#
# *Soleymani, Tahmasebi, Jegelka and Jaillet (2025), theorem 1, remarks 4.1 and C.3.*
#
# Theorem 1 says what an exactly invariant regression costs: calls of two oracles, values of
# eigenfunctions $\phi(x)$ and entries of $D^\lambda(g)$, and time:
#
# | quantity | stated order |
# |---|---|
# | oracle calls to fit | $\rho\, n^{2/(1+\alpha)} + n^{(2+\alpha)/(1+\alpha)}$ |
# | time to fit | $\rho^3 n^{3/(1+\alpha)} + n^{(2+\alpha)/(1+\alpha)}$ |
# | calls for one prediction | $n^{1/(1+\alpha)}$ |
#
# with $\rho \le \log_2 |G|$ generators; averaging over the group costs $|G|$ instead. Time is counted
# in machine instructions, which two runs repeat to seven digits; the clock decides nothing.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
degree: int = 0  # of the sphere's basis under dihedral groups; 0 is the profile's own

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import (
    Run,
    colour,
    fit_rate,
    instructions,
    panel,
    processor_seconds,
    ticks,
)
from invariance.groups import Permutations, SignFlips, TorusTranslations
from invariance.spectral import Circle, Expansion, SpectralAveraging, Sphere, Torus
from invariance.theory import soleymani2025 as theory

run = Run("soleymani2025/cost", profile=profile, seed=seed, degree=degree)

# %% tags=["settings"]
quick = run.quick
DEGREE = degree or (6 if quick else 12)
SIZES = {
    # just enough samples for a cutoff of as many functions
    "fit": tuple(int(D**2.5) + 2 for D in ((11, 15, 21) if quick else range(51, 112, 10))),
    "generators": (8, 16, 32) if quick else (16, 32, 64, 128),
    "dimension": (6, 8, 12) if quick else (76, 91, 108, 128, 152),
    "averaging": (4, 8, 16) if quick else (64, 128, 256, 512),
    "predict": (50, 100, 200) if quick else (1600, 2263, 3200, 4525, 6400),
    "dihedral": (8, 16, 64) if quick else (4, 8, 16, 64, 256),
    "eigenspace": (10, 14, 20) if quick else (121, 135, 151, 169, 189, 211, 237, 265, 297),
    "program": (2, 3, 4) if quick else (6, 7, 8, 9, 10, 11),
}
ROTATION = TorusTranslations([2], period=2 * np.pi)

# %% [markdown]
# ## Counting at the source
#
# `counted` puts a counter inside the two functions of a manifold that compute something: the values
# of eigenfunctions and the entries of the action of one element. Whatever a method computes is counted.

# %%
tally = {"values": 0, "entries": 0}


def counted(manifold):
    """A basis that counts what is computed of it, from now on."""

    class Counted(type(manifold)):
        def _values(self, X, chosen):
            tally["values"] += len(X) * len(chosen)
            return super()._values(X, chosen)

        def frame_action(self, k, matrix, shift):
            action = super().frame_action(k, matrix, shift)
            tally["entries"] += getattr(action, "nnz", np.size(action))
            return action

    tally.update(values=0, entries=0)
    return Counted(**manifold.get_params())


CASES = {
    "circle, half turn": (Circle(), ROTATION, 1.0),
    "2-torus, sign flips": (Torus(2), SignFlips(2), 1.5),
    "3-torus, permutations": (Torus(3), Permutations(3), 2.0),
    "2-sphere, permutations": (Sphere(3), Permutations(3), 2.0),
}
found = []
for manifold, group, s in CASES.values():
    for n in (500, 2000, 8000):
        X, how = manifold.sample(n, seed), {"cutoff": "theorem", "estimator": "mean"}
        model = SpectralAveraging(counted(manifold), group, smoothness=s, **how)
        model.fit(X, np.cos(X).sum(axis=1))
        d, rho = manifold.manifold_dimension, len(group.generators())
        by_averaging = n * model.basis_.n_functions_ * group.order
        stated = theory.oracle_calls(n, s, d=d, generators=rho)
        found.append((sum(tally.values()), stated, by_averaging))
calls, stated, averaging = np.array(found).T
run.claim(
    "soleymani2025/theorem1-oracle-calls",
    lhs=calls,
    rhs=stated,
    ceiling=np.inf,
    note="values of eigenfunctions and entries of D(g), counted where they are computed; there is "
    "no most that a method could ask (averaging over these small groups would ask up to "
    f"{(averaging / stated).max():.1f} times the stated count)",
)

# %%
fig, axis = plt.subplots(figsize=(7, 4))
for name, x, share in zip(
    CASES, stated.reshape(-1, 3), (calls / stated).reshape(-1, 3), strict=True
):
    axis.plot(x, share, "o-", color=colour("spec-avg"))
    axis.annotate(f" {name}", (x[-1], share[-1]), va="center", fontsize=8)
axis.axhline(1, color=colour("bound"), ls="--", label="stated")
axis.set(
    xscale="log",
    xlim=(None, 40 * stated.max()),
    ylim=(0, 1.1 * max(1, (calls / stated).max())),
    xlabel=r"stated count $\rho\, n^{2/(1+\alpha)} + n^{(2+\alpha)/(1+\alpha)}$",
    ylabel="calls counted / stated",
    title=f"A fit asks its oracles at most {(calls / stated).max():.2f} times as often as stated",
)
run.figure(fig, "oracle_calls", caption="500, 2,000 and 8,000 samples.")

# %% [markdown]
# ## Work to count
#
# Each line of theorem 1 and of the two remarks, run under valgrind, less its preparation.
#
# - `fit`: a fit at the theorem's cutoff on the circle, $s = 0.75$, against the samples $n$;
# - `generators`: a projection with random permutations of $S_{10}$ (10-torus, 1,161 functions);
# - `dimension`: all eigenfunctions of degree at most 2 of the $d$-torus at 50 points;
# - `averaging`: the kernel $\frac1{|G|} \sum_g k(x, g z)$ over rotations of the circle;
# - `predict`: 400 predictions from the $D$ functions of the 2-torus that a cutoff keeps;
# - `dihedral`: a full fit on the sphere under a tilted dihedral group, two generators at any order;
# - `eigenspace`, `program`: proposition C.2 for one eigenspace, $f = \tilde f - B^\top (B
#   B^\top)^+ B \tilde f$ with $B$ the stacked $D^\lambda(g) - I$, against its dimension at two
#   generators, and against the number of generators at dimension 41.

# %%
WORK = f"""
import numpy as np
from invariance import groups, spectral
from invariance.kernels import Average

rng, period, DEGREE = np.random.default_rng({seed}), 2 * np.pi, {DEGREE}

def fit(n):
    X, half_turn = spectral.Circle().sample(n, {seed + 1}), groups.TorusTranslations([2], period=period)
    model = spectral.SpectralAveraging(
        spectral.Circle(), half_turn, smoothness=0.75, cutoff="theorem", estimator="mean")
    return lambda: model.fit(X, np.cos(2 * X[:, 0]))

def generators(rho):
    basis = spectral.Torus(10, degree=3)
    group = groups.GeneratedPermutations(rng.permuted(np.tile(np.arange(10), (rho, 1)), axis=1))
    coefficients = rng.standard_normal(basis.n_functions_)
    return lambda: spectral.project(coefficients, basis, group)

def dimension(d):
    basis, X = spectral.Torus(d, degree=2), spectral.Torus(d).sample(50, {seed})
    return lambda: basis.evaluate(X)

def averaging(order):
    X, turns = spectral.Circle().sample(60, {seed}), groups.TorusTranslations([order], period=period)
    kernel = Average(spectral.VonMisesKernel(eta=1.0, period=period), turns, side="second")
    return lambda: kernel(X)

def predict(degree):
    basis = spectral.Torus(2, degree=degree)
    X, f = basis.sample(400, {seed}), rng.standard_normal(basis.n_functions_)
    return lambda: spectral.Expansion(basis, f).predict(X)
"""

# %%
WORK += """
def turned(orders):
    # rotations about one tilted axis by 4 pi / order, and a reflection through it
    tilt = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    angles = 4 * np.pi / np.asarray(orders)
    made = [np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
            for a in angles] + [np.diag([1.0, -1.0, 1.0])]
    return groups.OrthogonalMatrices([tilt @ g @ tilt.T for g in made])

def dihedral(order):
    basis = spectral.Sphere(3, degree=DEGREE)
    X = basis.sample(500, 0)
    model = spectral.SpectralAveraging(
        basis, turned([order]), degree=DEGREE, estimator="mean")
    return lambda: model.fit(X, X[:, 0] ** 2)

def pseudo_inverse(size, orders):
    k, group = size // 2, turned(orders)
    basis = spectral.Sphere(3, degree=k)
    maps = [basis.representation(k, group, g[None])[0].toarray() for g in group.generators()]
    B, f = np.concatenate([D - np.eye(2 * k + 1) for D in maps]), rng.standard_normal(2 * k + 1)
    return lambda: f - B.T @ (np.linalg.pinv(B @ B.T, rcond=1e-10) @ (B @ f))

def eigenspace(size):
    return pseudo_inverse(size, [64])

def program(rho):
    return pseudo_inverse(41, 64 / np.arange(1, rho))

def prepare(size):
    return globals()[size[0]](size[1])
"""

sizes = [(name, value) for name, values in SIZES.items() for value in values]
found = None if quick else instructions(WORK, sizes)  # a quick run looks at the clock
clock = dict(zip(sizes, processor_seconds(WORK, sizes), strict=True))
count = clock if found is None else dict(zip(sizes, found, strict=True))
unit = "instructions" if found else "processor seconds"
run.say("Below: {unit} of each piece of work.", unit=unit)

# %%
made: dict = {}
exec(WORK, made)
kept, values, calls = [], [], []
for predicted in SIZES["predict"]:
    basis = counted(Torus(2, degree=predicted))
    Expansion(basis, np.ones(basis.n_functions_)).predict(basis.sample(1, seed))
    kept.append(basis.n_functions_)
    values.append(tally["values"])
for order in SIZES["dihedral"]:
    basis, group = counted(Sphere(3, degree=DEGREE)), made["turned"]([order])
    X = basis.sample(500, 0)
    SpectralAveraging(basis, group, degree=DEGREE, estimator="mean").fit(X, X[:, 0])
    calls.append(sum(tally.values()))
against = SIZES | {"predict": kept}


def rates(numbers):
    """Fitted exponents by work."""
    return {
        name: fit_rate(against[name], [float(numbers[name, v]) for v in SIZES[name]])
        for name in SIZES
    }


power, by_clock, a = rates(count), rates(clock), theory.alpha(0.75, 1)
STATED = {  # what grows, the exponent that the paper states
    "fit": ("samples n", (2 + a) / (1 + a)),
    "generators": ("generators", 1),
    "dimension": ("dimension d, degree 2", 2),
    "averaging": ("order |G|, averaging", 1),
    "predict": ("functions kept, D", 1),
    "dihedral": ("order |G|, two generators", 0),
    "eigenspace": ("dimension of an eigenspace", 3),
    "program": ("generators of its program", 3),
}

# %%
fig, axes = plt.subplots(2, 4, figsize=(13, 6))
for axis, (name, (words, exponent)) in zip(axes.flat, STATED.items(), strict=True):
    panel(
        axis,
        against[name],
        {"": ("spec-avg", [count[name, v] for v in SIZES[name]])},
        log="xy",
        ends=None,
        xlabel=words,
        title=f"The power {power[name].slope:.2f}, stated {exponent:g}",
    )
    ticks(axis, against[name], most=3)
for axis in axes[:, 0]:
    axis.set_ylabel(unit)
run.figure(fig, "work", caption="One call of each; stated powers of n and of C.3 are upper bounds.")
table = [
    (words, f"{exponent:g}", f"{power[name].slope:.3f}", f"{by_clock[name].slope:.2f}")
    for name, (words, exponent) in STATED.items()
]
table = pd.DataFrame(table, columns=["against", "stated", unit, "by the clock"])
run.table(table, "exponents", caption="Fitted exponents.")


# %%
def record(claim, names, upper_bound=False, note=None, **counted_at_source):
    """Record fitted exponents by the name of what grows; nothing without counts."""
    if found:
        named = {STATED[name][0]: power[name] for name in names}
        stated = {STATED[name][0]: STATED[name][1] for name in names}
        for name, y in counted_at_source.items():
            named[f"calls, {name}"] = fit_rate(against[name], np.array(y, dtype=float))
            stated[f"calls, {name}"] = STATED[name][1]
        run.claim(claim, rates=named, expected=stated, upper_bound=upper_bound, note=note)


record("soleymani2025/theorem1-time", ("fit", "generators", "dimension", "averaging"), True)
record("soleymani2025/theorem1-predict-cost", ("predict",), predict=values)
record("soleymani2025/remark4.1-generators", ("dihedral",), dihedral=calls)
record("soleymani2025/remarkC.3-cost", ("eigenspace", "program"), True)

# %% [markdown]
# ## The number of generators counts, not the order of the group
#
# Remark 4.1 replaces $\log_2 |G|$ by the size of a smallest generating set. The dihedral groups
# above have two generators whatever their order, and a full fit costs the same. The pseudo-inverse of
# remark C.3 is that of a matrix with as many rows as generators times functions, hence both cubes.
#
# ## Try it
#
# `invariance run soleymani2025/cost -p degree 8`: larger eigenspaces, no more time for a larger group.
