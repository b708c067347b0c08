# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which one when: digits at any angle
#
# Digits turned by uniformly random angles, ten to a thousand of them with labels. In a basis of
# angular frequencies (`AngularBasis`) rotations act unitarily, without interpolation: Haar
# averages, local averages and best fits can be had exactly. Should one average over the *whole*
# circle, so that a six and a nine become one, or *locally*, with more weight on small angles? And
# does exact invariance help a classifier that has seen few angles of each digit?
#
# Every method works on the coefficients in that basis (those that need pixels get the image back
# from them). Two are left out: spectral averaging needs a manifold with known eigenfunctions, and
# the best fit of the locality kernel has no fast way (windows do not turn with the image). The
# protocol is that of `compare/digits`, with discrepancy under a random rotation.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from _comparison import show
from sklearn.neighbors import KNeighborsClassifier

from invariance.beyond import TangentDistance
from invariance.beyond.scattering import Scattering
from invariance.companion import Run
from invariance.datasets import balanced_sample, load_digits_images, make_rotated_mnist
from invariance.evaluation.selection import best_by_leave_one_out, best_with_copies
from invariance.evaluation.trials import share_of_changes, trial
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import VonMises
from invariance.kernels import Average, BestFit, Gaussian, Locality
from invariance.linear import RLSClassifier

run = Run("compare/rotated_digits", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
SIZES = (10, 30, 100, 300, 1000) if FULL else (10, 30)
DRAWS, TEST, FEATURES = (5, 500, 500) if FULL else (2, 50, 60)
MOVED = 25 if FULL else 8  # images that are turned to see whether their class changes
NODES = 64  # on the circle
some = () if FULL else (load_digits_images().data, load_digits_images().target)
n_train, n_test = (12_000, 5000) if FULL else (300, 200)
data = make_rotated_mnist(*some, n_train=n_train, n_test=n_test, random_state=seed)
on = "" if FULL else " (bundled digits, rotated)"

# %%
run.uses_data(data)
shape, labels = (28, 28), data.target
basis = AngularBasis(shape).fit(data.data[:1].reshape(1, -1))
points = basis.transform(data.data.reshape(len(data.data), -1)).astype(np.float32)
circle = basis.rotations(n_nodes=NODES)


def draw(n, repetition):
    rng = np.random.RandomState(1000 * seed + repetition)
    train = balanced_sample(labels[: data.n_train], n // 10, random_state=rng)
    test = data.n_train + rng.permutation(len(points) - data.n_train)[:TEST]
    return points[train], labels[train], points[test], labels[test]


# %% [markdown]
# ## The methods
#
# Averages use all nodes of the circle. *Haar* weighs them equally; *local* ones choose the von
# Mises concentration $\kappa$ among 0.2 and 1 by leave-one-out (Raj et al. 2017 take 0.2). CDF
# pooling averages over the whole circle, as its paper does.

# %%
NAMES = {
    "raw": "plain kernel",
    "augmentation": "four random rotations more",
    "tangent-distance": "tangent distance, 3-NN",
    "scattering": "scattering, Gaussian kernel",
    "l": "locality (L)",
    "haar": "averaged kernel, Haar",
    "local": "averaged kernel, local",
    "lgika-rff": "orbit random Fourier, local",
    "lgika-nystrom": "orbit Nystrom, local",
    "cdf": "CDF pooling, Haar",
    "best-fit": "best fit over the circle",
}
learner, pixels = RLSClassifier(), basis.inverse_transform


def gaussians(X):
    gamma = median_gamma(X, random_state=0)
    return [Gaussian(gamma), Gaussian(3 * gamma)]


def candidates(method, X, repetition):
    how, bases = dict(random_state=repetition), gaussians(X)
    around = [basis.rotations(VonMises(kappa), n_nodes=NODES) for kappa in (0.2, 1.0)]
    both = [(base, group) for base in bases for group in around]
    few = min(FEATURES, len(X))
    if method == "cdf":
        return [GroupCDF(circle, FEATURES // 2, n_bins=b, s="data", **how) for b in (10, 25)]
    if method == "lgika-rff":
        how |= dict(form="cos_sin")
        return [OrbitFourier(group, FEATURES, gamma=k.gamma, **how) for k, group in both]
    if method == "lgika-nystrom":
        return [OrbitNystroem(group, few, gamma=k.gamma, **how) for k, group in both]
    if method == "local":
        return [Average(base, group) for base, group in both]
    if method == "haar":
        return [Average(base, circle) for base in bases]
    if method == "best-fit":
        return [BestFit(base, circle, precision="single") for base in bases]
    return bases


# %%
def on_pixels(method, X, y):
    """The methods that look at images."""
    P = pixels(X)
    if method == "tangent-distance":
        vectors = ("rotation", "horizontal", "vertical", "thickness")
        distance = TangentDistance(shape, vectors=vectors)
        model = KNeighborsClassifier(3, weights="distance", metric="precomputed")
        model.fit(distance(P), y)
        return lambda Z: model.predict(distance(pixels(Z), P))
    if method == "l":
        f = best_by_leave_one_out([Locality(shape, 7, powers=(2, 4))], learner, X=P, y=y)
        return lambda Z: f(pixels(Z))
    wavelets = Scattering(shape, n_scales=2).fit(P)
    S = wavelets.transform(P)
    f = best_by_leave_one_out(gaussians(S), learner, X=S, y=y)
    return lambda Z: f(wavelets.transform(pixels(Z)))


def fit(method, X, y, repetition):
    """A function from coefficients to classes."""
    if method in ("tangent-distance", "scattering", "l"):
        return on_pixels(method, X, y)
    if method == "augmentation":
        moved = circle.act(circle.sample(4, repetition), X)
        return best_with_copies(gaussians(X), learner, X=X, y=y, moved=moved)
    return best_by_leave_one_out(candidates(method, X, repetition), learner, X=X, y=y)


@run.cache
def compare(method, n, repetition):
    X, y, Z, truth = draw(n, repetition)
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: 100 * np.mean(predicted == truth),
        discrepancy=lambda f: share_of_changes(f, circle, X=Z[:MOVED]),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Scattering knows small shifts and deformations, the tangent distance small rotations, the locality
# kernel that near pixels belong together. None knows large rotations.

# %%
show(
    run,
    {(m, n): [compare(m, n, r) for r in range(DRAWS)] for m in NAMES for n in SIZES},
    NAMES,
    score=f"accuracy (%){on}",
    discrepancy="share of classes that change",
    higher_is_better=True,
)
