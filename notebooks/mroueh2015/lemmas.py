# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The lemmas behind the theorems, each on its own
#
# *Mroueh, Voinea and Poggio (2015), lemmas 2 to 7, theorems 4 and 5 of the appendix.*
#
# The three theorems rest on six lemmas and two theorems of others. Each is tested where it is hardest
# to satisfy: on quantities that come close to the bound. An inequality "with probability $1 - \delta$"
# holds if the quantile at $1 - \delta$ of the measured quantity, over many draws, is within the bound.
# The last figure shows the bound over that quantile: one where the lemma cannot be improved.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
dimension: int = 4  # of the points of lemmas 4 to 6, and order of the group of cyclic shifts
epsilon: float = 0.5  # slack of the range of thresholds

# %%
import matplotlib.pyplot as plt
import numpy as np
from _groups import sphere
from scipy import stats

from invariance.companion import Run, colour, curve, mean_se, rows, shades
from invariance.theory import mroueh2015 as theory
from invariance.theory.raj2017 import hilbert_average_bound

run = Run("mroueh2015/lemmas", profile=profile, seed=seed, dimension=dimension, epsilon=epsilon)

# %% tags=["settings"]
n_cases, n_maxima = (50, 2000) if run.quick else (300, 20_000)  # of lemma 2
n_vectors = 1000 if run.quick else 20_000  # draws of lemma 7
n_draws, n_points = (60, 40) if run.quick else (1000, 100)  # of lemmas 4 to 6

# %% [markdown]
# ## Lemma 2: the maximum of two Gaussians
#
# The proof of theorem 1 turns on $\int_{-s}^{s} 1[a \le \tau]\, 1[b \le \tau]\, d\tau = s -
# \max(a, b)$ and on Clark's formulas for the mean and variance of the maximum of two correlated
# Gaussians, `theory.clark_max_moments`. Against direct integration of the density of the maximum:


# %%
def integrated_moments(mean_x, mean_y, sd_x, sd_y, rho):
    """Moments of max(X, Y) by integrating its density on a fine grid."""
    z = np.linspace(-30, 30, 60_001)
    density = 0.0
    for a, sa, b, sb in ((mean_x, sd_x, mean_y, sd_y), (mean_y, sd_y, mean_x, sd_x)):
        conditional = stats.norm.cdf(z, b + rho * sb / sa * (z - a), sb * np.sqrt(1 - rho**2))
        density = density + stats.norm.pdf(z, a, sa) * conditional
    mass = density * (z[1] - z[0])
    return mass @ z, mass @ (z - mass @ z) ** 2


cases = [
    (*run.rng.uniform(-2, 2, 2), *run.rng.uniform(0.2, 2, 2), run.rng.uniform(-0.98, 0.98))
    for _ in range(n_cases)
]
clark = np.array([theory.clark_max_moments(*m, sd_x=a, sd_y=b, rho=rho) for *m, a, b, rho in cases])
integrated = np.array([integrated_moments(*case) for case in cases])
# Equation (11): for unit x and z the mean maximum of the projections is |x - z| / sqrt(2 pi d).
eleven = []
for d in (2, 5, 50):
    x, z = sphere(2, d, run.rng)
    distance = theory.orbit_distance(x[None, None], z[None, None])[0, 0]
    eleven.append(distance - integrated_moments(0, 0, 1, 1, x @ z)[0] / np.sqrt(d))

# %%
some = np.linspace(-0.9, 0.9, 7)
u, v = run.rng.standard_normal((2, 7, n_maxima))
maxima = np.maximum(u, some[:, None] * u + np.sqrt(1 - some**2)[:, None] * v)
drawn = maxima.T, (maxima - maxima.mean(axis=1, keepdims=True)).T ** 2
exact = theory.clark_max_moments(0, 0, sd_x=1, sd_y=1, rho=some)
apart = max(
    np.abs((mean_se(x)[0] - y) / mean_se(x)[1]).max() for x, y in zip(drawn, exact, strict=True)
)

fine = np.linspace(-1, 1, 101)
formula = theory.clark_max_moments(0, 0, sd_x=1, sd_y=1, rho=fine)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for axis, line, values, what in zip(axes, formula, drawn, ("mean", "variance"), strict=True):
    axis.plot(fine, line, color=colour("bound"), label="Clark's formula")
    curve(axis, some, values, "cdf", ls="none", label="simulation")
    axis.set(xlabel=r"correlation $\rho$", ylabel=f"{what} of max(X, Y)")
axes[0].legend()
fig.suptitle(f"Clark's formula and simulation are at most {apart:.1f} standard errors apart")
run.figure(fig, "clark", caption=f"{n_maxima:,} draws per point, bars of two standard errors.")
run.claim(
    "mroueh2015/lemma2-clark",
    difference=np.r_[(clark - integrated).ravel(), eleven],
    tolerance=1e-8,
)

# %% [markdown]
# ## Lemma 3: how far out a chi-square variable lies
#
# From above $P(\chi^2_k / k \ge 1 + \varepsilon) \le e^{-k\varepsilon^2/8}$
# (`theory.chi2_upper_tail_bound`), and from below by what `theory.chi2_lower_tail_bound` leaves to
# one, for two degrees of freedom or more. The probability is known, so there is nothing to draw.
#
# ## Lemma 7: a mean of bounded vectors
#
# For vectors of norm at most $M$ in a Hilbert space, with probability $1 - \delta$,
#
# $$ \Bigl\lVert \frac1K \sum_j X_j - E X_1 \Bigr\rVert \le
#    \frac{M}{\sqrt K} \Bigl(1 + \sqrt{2 \log \tfrac1\delta}\Bigr) . $$
#
# The hardest vectors have the largest norm everywhere: signs $\pm M$ on a line, directions on a
# sphere, and steps $1[u \le \tau]$ with random u, which the lemma is used for.

# %%
k, eps = np.arange(2, 300)[:, None], np.linspace(0.005, 0.995, 100)
beyond = stats.chi2.sf(k * (1 + eps), k)
tails = {
    "from above": (beyond, theory.chi2_upper_tail_bound(k, eps)),
    "from below": (1 - theory.chi2_lower_tail_bound(k, eps), beyond),
}


def mean_norms(space, K, n_draws, rng):
    """Norm of the mean of K vectors of norm at most one, less its expectation, for each draw."""
    if space == "signs":
        return np.abs(2 * rng.binomial(K, 0.5, n_draws) - K) / K
    if space == "steps":  # distance of an empirical distribution from the uniform one, in L2
        u = np.sort(rng.random((n_draws, K)), axis=1)
        steps = (2 * np.arange(1, K + 1) - 1) / (2 * K)
        return np.sqrt(1 / (12 * K**2) + np.square(u - steps).mean(axis=1))
    d = int(space.split()[-1])
    blocks = range(0, n_draws, 500)
    means = [
        sphere(min(500, n_draws - i) * K, d, rng).reshape(-1, K, d).mean(axis=1) for i in blocks
    ]
    return np.linalg.norm(np.concatenate(means), axis=1)


measured = [(f"lemma 3, {name}", *(part.ravel() for part in pair)) for name, pair in tails.items()]
deltas = np.array([0.5, 0.1, 0.05, 0.01])
for space in ("signs", "steps", "sphere in 2", "sphere in 50"):
    for K in (4, 16, 64):
        norms = mean_norms(space, K, n_vectors, run.rng)
        bound = [float(hilbert_average_bound(K, 1.0, delta=delta)) for delta in deltas]
        measured.append((f"lemma 7, {space}", np.quantile(norms, 1 - deltas), np.array(bound)))
lhs, rhs = (np.concatenate([row[i] for row in measured]) for i in (1, 2))
run.claim(
    "mroueh2015/lemma3-7-concentration",
    lhs=lhs,
    rhs=rhs,
    ceiling=1.0,
    note="lemma 3: exact probabilities for k = 2 to 299, each at 100 slacks; lemma 7: quantiles "
    f"of the norm over {n_vectors:,} draws, K = 4, 16, 64, failure probabilities from 0.5 to 0.01",
)

# %% [markdown]
# ## Lemmas 4 and 5: a finite class comes close to any function
#
# Lemma 4 takes $f(x) = \iint w(t, \tau)\, \psi(x, t, \tau)\, d\tau\, dt$ with $|w| \le C\,p(t)$
# and puts finitely many templates, elements and bins in its place. The norm of one template's part
# is at most $2sC$, and the lemma is tight where that norm is large: we take $w = C
# \operatorname{sign}(t_1)\, p(t)$, on the boundary of the class. A template's part is then $\pm
# C\,(s - \text{mean}_g \langle x, gt\rangle)$, of norm about $sC$, and
#
# $$ f(x) = -C\, E|t_1|\; \text{mean}_g \langle x, g e_1 \rangle . $$
#
# Lemma 5 turns the distance into risk, $E_V(\tilde f) - E_V(f) \le L \lVert \tilde f - f \rVert$.
# With the hinge loss, labels of one sign and no margin above one the loss is linear.

# %%
d, delta, s = dimension, 0.05, 1 + epsilon
C = 0.4 / s
shifts = np.stack([np.roll(np.eye(d), i, axis=0) for i in range(d)])  # the group: cyclic shifts
X = sphere(n_points, d, run.rng)
mean_size = np.sqrt(2 / (np.pi * d)) * stats.chi2.cdf(d * s, d + 1)  # of t_1, zero where rejected
f = -C * mean_size * X.mean(axis=1)


def approximation(m, G, n, rng):
    """Values on X of lemma 4's function: m templates, G sampled elements (0: all), n bins."""
    t = rng.standard_normal((m, d)) / np.sqrt(d)
    t, sign = t[kept := np.square(t).sum(axis=1) < s], np.sign(t[:, 0])[kept]
    which = np.arange(d) if G == 0 else rng.integers(d, size=G)
    share = np.bincount(which, minlength=d) / len(which)
    total = np.zeros(len(X))
    for g, weight in zip(shifts, share, strict=True):
        thresholds = n + 1 - np.ceil(n / s * X @ (t @ g.T).T)  # how many lie above each projection
        total += weight * thresholds @ sign
    return C * s / n * total / m


trials = [(16, 0, 500), (64, 0, 500), (256, 0, 500), (256, 0, 8), (256, 256, 32), (1024, 1024, 64)]
bounds = []
for m, G, n in trials:
    values = np.array([approximation(m, G, n, run.rng) for _ in range(n_draws)])
    allowed = delta if G == 0 else 2 * delta
    distance = np.quantile(np.sqrt(np.square(values - f).mean(axis=1)), 1 - allowed)
    risk = np.quantile((f - values).mean(axis=1), 1 - allowed)
    sizes = {"n": n, "C": C, "s": s, "delta1": delta, "delta2": delta}
    bound = theory.lemma4_error(m, G or np.inf, **sizes)
    most = (2 + 1 / n) * s * C + np.abs(f).max()
    bounds.append((distance, bound, most))
    bounds.append((risk, theory.lemma5_risk(m, G or np.inf, L=1.0, **sizes), most))
    measured.append(("lemma 4, distance", np.array([distance]), np.array([bound])))
    measured.append(("lemma 5, risk", np.array([risk]), np.array([bound])))
run.claim(
    "mroueh2015/lemma4-5-approximation",
    trials=bounds,
    note=f"quantiles at the stated probability over {n_draws} draws of templates and elements",
)

# %% [markdown]
# ## Lemma 6: expected against empirical risk, the worst function of the class
#
# The lemma bounds $\sup_{f \in \tilde{\mathcal F}} |E_V(f) - \hat E_V(f)|$. Where the loss is linear
# on the class the supremum is attained at a corner of the box,
#
# $$ \frac{sC}{mn} \sum_{j,k} \Bigl| E\bigl[y \hat\psi_{jk}(x)\bigr]
#    - \frac1N \sum_i y_i \hat\psi_{jk}(x_i) \Bigr| , $$
#
# exactly. Two such losses: the hinge loss with $C$ as above, and $V(u) = -u$ with $V(0) = 0$. Beside
# it the Rademacher complexity: $E \sup |\frac1N \sum_i \sigma_i f(x_i)| \le Cs/\sqrt N$ as printed.

# %%
m, n = 20, 10
t = run.rng.standard_normal((m, d)) / np.sqrt(d)
levels = s * np.arange(-n, n + 1) / n
projections = np.einsum("pd,gmd->pmg", X, np.stack([t @ g.T for g in shifts]))
psi = (projections[..., None] <= levels).mean(axis=2).reshape(len(X), -1)
psi *= np.repeat(np.square(t).sum(axis=1) < s, len(levels))
positive = run.rng.uniform(0, 1, len(X))  # P(y = 1 | x)
expected = (2 * positive - 1) @ psi / len(X)
bounds = []
for N in (25, 100, 400, 1600):
    points = run.rng.integers(len(X), size=(n_draws, N))
    y = np.where(run.rng.random(points.shape) < positive[points], 1.0, -1.0)
    signs = run.rng.choice([-1.0, 1.0], points.shape)
    sums = []
    for values in (y, signs):
        counts = np.zeros((len(points), len(X)))
        np.add.at(counts, (np.arange(len(points))[:, None], points), values)
        sums.append(counts @ psi / N)
    scale = s * C / (m * n)
    worst = np.quantile(scale * np.abs(sums[0] - expected).sum(axis=1), 1 - delta)
    rademacher = scale * np.abs(sums[1]).sum(axis=1).mean()
    sizes = {"L": 1.0, "C": C, "s": s, "delta": delta}
    most = (2 + 1 / n) * s * C
    for name, found, bound, ceiling in (
        ("hinge loss", worst, theory.lemma6_deviation(N, V0=1.0, **sizes), 2 * most),
        ("loss -u", worst, theory.lemma6_deviation(N, V0=0.0, **sizes), 2 * most),
        ("Rademacher", rademacher, theory.rademacher_bound(N, C, s=s), most),
    ):
        bounds.append((found, bound, ceiling))
        measured.append((f"lemma 6, {name}", np.array([found]), np.array([bound])))
run.claim(
    "mroueh2015/lemma6-estimation",
    trials=bounds,
    note=f"the supremum over the class exactly, its 95 % quantile over {n_draws} samples; the "
    "Rademacher complexity as a mean over as many",
)

# %% [markdown]
# ## Theorem 4: how far an empirical distribution function strays
#
# $$ P\Bigl\{ \sup_\tau |\hat F_m(\tau) - F(\tau)| > \gamma \Bigr\} \le 2 e^{-2 m \gamma^2} $$
#
# for every m, $\gamma$ and F. The left side is known exactly: for continuous F it is the law of
# Kolmogorov's statistic; for a Bernoulli F the binomial law; for three values a multinomial sum.


# %%
def multinomial_outcomes(m, p):
    """Largest distance of F_m from F, and probability, of all counts of three values."""
    one, two = np.meshgrid(np.arange(m + 1), np.arange(m + 1), indexing="ij")
    one, two = one[one + two <= m], two[one + two <= m]
    counts = np.stack([one, two, m - one - two], axis=1)
    reached = np.cumsum(counts[:, :2], axis=1) / m - np.cumsum(p)[:2]
    return np.abs(reached).max(axis=1), stats.multinomial.pmf(counts, m, p)


def binomial_outcomes(m, p):
    k = np.arange(m + 1)
    return np.abs(k / m - p), stats.binom.pmf(k, m, p)


steps, sample_sizes = np.linspace(0.05, 3.5, 60), (1, 2, 3, 5, 10, 20, 50, 100, 300, 1000)
strayed = []  # kind of F, m, gamma, exact probability
for m in sample_sizes:
    gammas = (steps / np.sqrt(m))[steps < np.sqrt(m)]
    strayed += [("continuous", m, g, stats.kstwo.sf(g, m)) for g in gammas]
    discrete = [("Bernoulli", binomial_outcomes(m, p)) for p in (0.5, 0.3, 0.1)]
    if m <= 50:
        laws = (np.full(3, 1 / 3), np.array([0.6, 0.3, 0.1]))
        discrete += [("three values", multinomial_outcomes(m, p)) for p in laws]
    for kind, (distance, weight) in discrete:
        strayed += [(kind, m, g, weight[distance > g].sum()) for g in gammas]
kinds, ms, gammas, probability = (np.array(part) for part in zip(*strayed, strict=True))
cdf_bound = 2 * np.exp(-2 * ms * gammas**2)
for kind in dict.fromkeys(kinds):
    measured.append((f"theorem 4, {kind}", probability[kinds == kind], cdf_bound[kinds == kind]))
run.claim("mroueh2015/theorem4-cdf", lhs=probability, rhs=cdf_bound, ceiling=1.0)

# %% [markdown]
# ## Theorem 5: risk against empirical risk, over a class
#
# For $|f| \le C$ and an $L$-Lipschitz loss, with probability $1 - \delta$ every f of the class has
#
# $$ \mathcal E_V(f) \le \hat{\mathcal E}_V(f) + 4 L\, \mathcal R_N(\mathcal F)
#    + \frac{2 V(0)}{\sqrt N} + L C \sqrt{\tfrac{1}{2N} \log \tfrac1\delta} . $$
#
# Two losses that are linear on $[-C, C]$, $\max(0, 1 - u)$ with $C = 1$ and $-u$, and two classes
# for which both sides are known. *One function* of size C, whose labels are fair coins: the
# deviation is binomial, exactly, at any $\delta$. *All functions* of size C on P points: the
# supremum is $C \sum_p |\frac1N \sum_{i: x_i = p} y_i - E[y\, 1_p]|$. Both $\mathcal R_N$ are exact.


# %%
def mean_of_signs(k):
    """E |sum of k signs|, exactly."""
    return 2 * np.ceil(k / 2) * stats.binom.pmf(np.ceil(k / 2), k, 0.5) if k else 0.0


def complexity(N, points):
    """R_N of all functions of size one on so many points, equally likely."""
    k = np.arange(N + 1)
    likely = stats.binom.pmf(k, N, 1 / points)
    return sum(
        points * weight * mean_of_signs(i) / N
        for i, weight in zip(k[likely > 1e-17], likely[likely > 1e-17], strict=True)
    )


def allowed_gap(N, R, V0, delta, spread=1.0):
    """What theorem 5 adds to the empirical risk, L = C = 1; `spread` is its last constant."""
    return 4 * R + 2 * V0 / np.sqrt(N) + spread * np.sqrt(np.log(1 / delta) / (2 * N))


rare = np.array([0.5, 0.05, 1e-3, 1e-6, 1e-12, 1e-20, 1e-30, 1e-40])
usual = np.array([0.5, 0.1, 0.05, 0.01])
rng = np.random.default_rng(run.seed + 1)
gaps, printed, repaired, single = [], [], [], []
for N in (100, 1000, 10_000):
    tail = stats.binom.sf(np.arange(N + 1), N, 0.5)
    exact_gap = 2 * (tail > rare[:, None]).sum(axis=1) / N - 1
    classes = [(exact_gap, rare, complexity(N, 1))]
    single.append((N, exact_gap))
    for points in (1, 5, 50):
        per_point = rng.multinomial(N, np.full(points, 1 / points), 10 * n_draws)
        worst = np.abs(2 * rng.binomial(per_point, 0.5) - per_point).sum(axis=1) / N
        classes.append((np.quantile(worst, 1 - usual), usual, complexity(N, points)))
    for found, deltas, R in classes:
        for V0 in (0.0, 1.0):
            gaps.append(found)
            printed.append(allowed_gap(N, R, V0, deltas))
            repaired.append(allowed_gap(N, R, V0, deltas, spread=2.0))
gaps, printed, repaired = map(np.concatenate, (gaps, printed, repaired))
run.say(
    "Of {n} cases {printed} exceed the printed bound, {repaired} the one with 2 L C in its last "
    "term.",
    n=len(gaps),
    printed=int((gaps > printed).sum()),
    repaired=int((gaps > repaired).sum()),
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.8))
for m, shade in zip((2, 10, 1000), shades("cdf", 3), strict=True):
    for kind, line in (("continuous", "-"), ("Bernoulli", ":")):
        here = np.flatnonzero((kinds == kind) & (ms == m))[: (steps < np.sqrt(m)).sum()]
        here = here[probability[here] > 1e-9]
        ratio = probability[here] / cdf_bound[here]
        label = f"{kind}, m = {m:,}"
        axes[0].plot(np.sqrt(m) * gammas[here], ratio, line, color=shade, label=label)
axes[0].axhline(1, color=colour("bound"), ls="--")
axes[0].set(
    xlabel=r"$\sqrt{m}\,\gamma$",
    ylabel="probability / bound",
    title=f"Theorem 4: at most {np.max(probability / cdf_bound):.3f} of the bound",
)
axes[0].legend(fontsize=8)
likely = -np.log10(rare)
for (N, found), shade in zip(single, shades("samples", 3), strict=True):
    root = np.sqrt(N)
    axes[1].plot(likely, root * found, "o", color=shade, label=f"one function, N = {N:,}")
R = complexity(10_000, 1)
for spread, line in ((1.0, "--"), (2.0, ":")):
    bound = 100 * allowed_gap(10_000, R, 0.0, rare, spread)
    label = "as printed" if spread == 1 else "with 2 L C"
    axes[1].plot(likely, bound, line, color=colour("bound"), label=label)
axes[1].set(
    xlabel=r"$-\log_{10} \delta$",
    ylabel=r"$\sqrt{N}$ (risk − empirical risk), loss −u",
    title=f"Theorem 5: {(gaps > printed).sum()} of {len(gaps)} cases exceed it",
)
axes[1].legend(fontsize=8)
caption = f"With 2 L C in theorem 5's last term {(gaps > repaired).sum()} cases exceed it."
run.figure(fig, "appendix", caption=caption)
run.claim(
    "mroueh2015/theorem5-rademacher",
    lhs=gaps,
    rhs=printed,
    ceiling=2.0,
    note="The last term has L C where McDiarmid's inequality asks for the loss's range, 2 L C; "
    "it shows only at very small delta.",
)

# %% [markdown]
# Where the step fails: changing one sample changes the empirical risk by up to $2LC/N$, because
# $V$ can run from $V(0) - LC$ to $V(0) + LC$, and McDiarmid's inequality then gives $2LC
# \sqrt{\log(1/\delta) / 2N}$. The slack in $4 L \mathcal R_N$ hides it at every usual $\delta$.
#
# ## How much room the lemmas leave

# %%
tightest = {}
for name, found, bound in measured:
    least = (bound[found > 0] / found[found > 0]).min()
    tightest[name] = min(least, tightest.get(name, np.inf))
closest = min(tightest, key=tightest.get)
fig, axis = plt.subplots(figsize=(7.4, 4.4))
rows(axis, {name: (v, 0) for name, v in tightest.items()}, ["dimension"] * len(tightest))
for i, value in enumerate(tightest.values()):
    axis.annotate(f"{value:.2f}", (value, i), xytext=(8, -3), textcoords="offset points")
axis.axvline(1, color=colour("bound"), ls="--")
axis.set(
    xscale="log",
    xlim=(0.9, 2 * max(tightest.values())),
    xlabel="bound / measured, at the closest case",
    title=f"The closest bound, {closest}, leaves {100 * (tightest[closest] - 1):.1g} % of room",
)
axis.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
axis.minorticks_off()
run.figure(fig, "tightness", caption="At the dashed line a bound would be violated.")

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/lemmas -p dimension 8`: lemma 4's distance falls. Or `-p epsilon 0.9`.
