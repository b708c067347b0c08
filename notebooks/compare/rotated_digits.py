# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Rotated digits: which method when
#
# The best fit over the circle is the most accurate method unless there are very many digits; then
# averages over the circle are.
#
# The digits are turned by uniformly random angles, and ten to a thousand of them have labels. In a
# basis of angular frequencies (`AngularBasis`) rotations act unitarily, without interpolation: Haar
# averages, local averages and best fits can be computed exactly. Should one average over the *whole*
# circle, so that a six and a nine become one, or *locally*, with more weight on small angles? And
# does exact invariance help a classifier that has seen few angles of each digit?
#
# Every method works on the coefficients in that basis (methods that need pixels reconstruct the image
# from them). Two methods are left out: spectral averaging needs a manifold with known eigenfunctions,
# and the best fit of the locality kernel has no fast algorithm (windows do not turn with the image).
# The protocol is that of `compare/digits`, with discrepancy under a random rotation.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from _comparison import show
from _trials import all_trials, classification_trial
from sklearn.neighbors import KNeighborsClassifier

from invariance.beyond import TangentDistance
from invariance.beyond.scattering import Scattering
from invariance.companion import Run
from invariance.datasets import balanced_sample, load_digits_images, make_rotated_mnist
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import VonMises
from invariance.kernels import Average, BestFit, Gaussian, Locality
from invariance.linear import RLSClassifier

run = Run("compare/rotated_digits", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
SHAPE = (28, 28)
N_NODES = 64  # on the circle
if FULL:
    SIZES = (10, 30, 100, 300, 1000)
    N_DRAWS = 5
    N_TEST = 500
    N_FEATURES = 500
    N_TRANSFORMED = 25  # images whose predicted classes are compared
    DATA_NOTE = ""
else:
    SIZES = (10, 30)
    N_DRAWS = 2
    N_TEST = 50
    N_FEATURES = 60
    N_TRANSFORMED = 8
    DATA_NOTE = " (bundled digits, rotated)"

# %%
if FULL:
    data = make_rotated_mnist(n_train=12_000, n_test=5000, random_state=seed)
else:
    bundled = load_digits_images()
    data = make_rotated_mnist(
        bundled.data, bundled.target, n_train=300, n_test=200, random_state=seed
    )
run.uses_data(data)
labels = data.target
images = data.data.reshape(len(data.data), -1)
basis = AngularBasis(SHAPE).fit(images[:1])
points = basis.transform(images).astype(np.float32)
circle = basis.rotations(n_nodes=N_NODES)


# %%
def draw(n, repetition):
    """Return training points and labels, and test points and labels."""
    rng = np.random.RandomState(1000 * seed + repetition)
    train = balanced_sample(labels[: data.n_train], n // 10, random_state=rng)
    test = data.n_train + rng.permutation(len(points) - data.n_train)[:N_TEST]
    return points[train], labels[train], points[test], labels[test]


# %% [markdown]
# ## The methods
#
# Averages use all nodes of the circle. *Haar* averages weigh them equally; *local* averages choose the
# von Mises concentration $\kappa$ among 0.2 and 1 by leave-one-out (Raj et al. 2017 take 0.2). CDF
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
learner = RLSClassifier()


def gaussians(X):
    gamma = median_gamma(X, random_state=0)
    return [Gaussian(gamma), Gaussian(3 * gamma)]


# %% [markdown]
# Leave-one-out chooses among the candidates of a method. Local methods have one per bandwidth and
# concentration.


# %%
def local_candidates(method, X, repetition):
    """Return the candidates of a method that averages around small angles."""
    candidates = []
    for base in gaussians(X):
        for kappa in (0.2, 1.0):
            group = basis.rotations(VonMises(kappa), n_nodes=N_NODES)
            if method == "lgika-rff":
                model = OrbitFourier(
                    group,
                    N_FEATURES,
                    gamma=base.gamma,
                    form="cos_sin",
                    random_state=repetition,
                )
            elif method == "lgika-nystrom":
                n_landmarks = min(N_FEATURES, len(X))
                model = OrbitNystroem(group, n_landmarks, gamma=base.gamma, random_state=repetition)
            else:
                model = Average(base, group)
            candidates.append(model)
    return candidates


# %%
def candidates(method, X, repetition):
    """Return the candidates of a method."""
    if method in ("lgika-rff", "lgika-nystrom", "local"):
        return local_candidates(method, X, repetition)
    if method == "cdf":
        options = {"s": "data", "random_state": repetition}
        return [GroupCDF(circle, N_FEATURES // 2, n_bins=n_bins, **options) for n_bins in (10, 25)]
    if method == "haar":
        return [Average(base, circle) for base in gaussians(X)]
    if method == "best-fit":
        return [BestFit(base, circle, precision="single") for base in gaussians(X)]
    return gaussians(X)


# %% [markdown]
# Three methods look at pixels: the tangent distance, the locality kernel and scattering.


# %%
def fit_neighbours(images, y):
    """Return the predictions of nearest neighbours by tangent distance."""
    vectors = ("rotation", "horizontal", "vertical", "thickness")
    distance = TangentDistance(SHAPE, vectors=vectors)
    model = KNeighborsClassifier(3, weights="distance", metric="precomputed")
    model.fit(distance(images), y)
    return lambda test_images: model.predict(distance(test_images, images))


def fit_scattering(images, y):
    """Return the predictions of a Gaussian kernel of scattering coefficients."""
    wavelets = Scattering(SHAPE, n_scales=2).fit(images)
    coefficients = wavelets.transform(images)
    predict = best_by_leave_one_out(gaussians(coefficients), learner, X=coefficients, y=y)
    return lambda test_images: predict(wavelets.transform(test_images))


# %%
def fit_on_pixels(method, images, y):
    """Return a function from images to classes."""
    if method == "tangent-distance":
        return fit_neighbours(images, y)
    if method == "scattering":
        return fit_scattering(images, y)
    kernel = Locality(SHAPE, 7, powers=(2, 4))
    return best_by_leave_one_out([kernel], learner, X=images, y=y)


# %%
def fit(method, X, y, repetition):
    """Return a function from coefficients to classes."""
    if method in ("tangent-distance", "scattering", "l"):
        predict = fit_on_pixels(method, basis.inverse_transform(X), y)
        return lambda X_test: predict(basis.inverse_transform(X_test))
    if method == "augmentation":
        copies = circle.act(circle.sample(4, repetition), X)
        return best_with_copies(gaussians(X), learner, X=X, y=y, moved=copies)
    return best_by_leave_one_out(candidates(method, X, repetition), learner, X=X, y=y)


# %%
@run.cache
def compare(method, n, repetition):
    X, y, X_test, y_test = draw(n, repetition)
    return classification_trial(
        lambda: fit(method, X, y, repetition),
        X_test,
        y_test,
        group=circle,
        n_transformed=N_TRANSFORMED,
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Scattering knows small shifts and deformations, the tangent distance knows small rotations, and the
# locality kernel knows that neighbouring pixels belong together. They do not know large rotations.

# %%
trials = all_trials(compare, NAMES, SIZES, N_DRAWS)

# %%
show(
    run,
    trials,
    NAMES,
    score=f"accuracy (%){DATA_NOTE}",
    discrepancy="share of classes that change",
    higher_is_better=True,
)
