"""OrbitFourier agrees with its definition and approximates its kernel, on either side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.features import OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import (
    CircleAction,
    CyclicShifts,
    Negation,
    Permutations,
    SignFlips,
    SortedNoise,
    Transformations,
    Translations,
    VonMises,
)
from invariance.kernels import Average, Gaussian, Laplacian


class Scalings(Transformations):
    """Multiplication by e^t with t ~ N(mean, 0.3^2): a user-defined set that is not unitary."""

    def __init__(self, mean=0.0):
        self.mean = mean

    @property
    def symmetric(self):
        return self.mean == 0

    unitary = False
    order = np.inf

    def sample(self, n_samples, random_state=None):
        rng = np.random.RandomState(random_state) if isinstance(random_state, int) else random_state
        return np.exp(self.mean + 0.3 * rng.standard_normal(n_samples))

    def _act(self, elements, X):
        return elements[:, None, None].astype(X.dtype) * X


def definition(model, X):
    """Return psi_j(x) = sqrt(2/s) sum_i w_i cos(<omega_j, g_i x> + b_j) by loops."""
    columns = []
    for omega, b in zip(model.templates_, model.phases_, strict=True):
        total = np.zeros((len(X), 1 if model.form == "phase" else 2))
        elements = [None] if model.elements_ is None else model.elements_
        for g, w in zip(elements, model.weights_, strict=True):
            transformed = X
            template = omega
            if g is not None and model.side_ == "first":
                transformed = model.group.act(g[None], X)[0]
            elif g is not None:
                template = model.group.act(g[None], omega[None])[0, 0]
            inner = transformed @ template
            if model.form == "phase":
                total[:, 0] += w * np.sqrt(2) * np.cos(inner + b)
            else:
                total += w * np.stack([np.cos(inner), np.sin(inner)], axis=1)
        columns.append(total / np.sqrt(model.n_components))
    return np.concatenate([np.array(columns)[..., i].T for i in range(columns[0].shape[1])], axis=1)


GROUPS = [
    *(None, CyclicShifts(6), SignFlips(6), Permutations(3, block=2), Negation(), Scalings()),
    CircleAction([0, 0, 1, 1, 2, 2], VonMises(0.7), n_nodes=5),
    CircleAction([1, 1, 0, 3, 3, 0], VonMises(0.7, loc=0.4)),
]
OPTIONS = {
    "n_transforms": [1, 4, 300],
    "form": ["phase", "cos_sin"],
    "side": ["auto", "first"],
    "kernel": ["gaussian", "laplacian"],
    "block_bytes": [1000, 10**8],
    "n_jobs": [None, 2],
}
CHOICES = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS.items()})


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(GROUPS), st.integers(1, 9), CHOICES, st.integers(0, 10**6))
def test_orbit_fourier_agrees_with_the_definition(group, s, options, seed):
    X = np.random.default_rng(seed).standard_normal((5, 6))
    model = OrbitFourier(group, s, **options, random_state=seed)
    assert_allclose(model.fit_transform(X), definition(model, X), atol=1e-10)


@pytest.mark.parametrize("rows", [1, 700])
def test_many_points_and_templates_in_blocks_agree_with_the_definition(rows):
    X = np.random.default_rng(rows).standard_normal((rows, 6))
    for group in (CyclicShifts(6), CircleAction([0, 0, 1, 1, 2, 2], n_nodes=6)):
        model = OrbitFourier(group, n_components=400, gamma=0.1, random_state=1).fit(X)
        assert_allclose(model.transform(X), definition(model, X), atol=1e-10)


#: The density of the last action is not symmetric, but its inverses are available.
UNITARY = [
    CyclicShifts(4),
    Permutations(4),
    SignFlips(4),
    CircleAction([1, 1, 2, 2], VonMises(2, 1)),
]


@pytest.mark.parametrize("group", UNITARY, ids=repr)
@pytest.mark.parametrize("n_transforms", [None, 6])
def test_either_side_gives_the_same_features_for_a_unitary_group(group, n_transforms):
    X = np.random.default_rng(0).standard_normal((9, 4))
    options = {
        "n_transforms": n_transforms or (30 if group.order == np.inf else None),
        "gamma": 0.3,
    }
    first, second = (
        OrbitFourier(group, 20, side=side, random_state=2, **options).fit(X)
        for side in ("auto", "first")
    )
    assert (first.side_, second.side_) == ("second", "first")
    assert_allclose(first.transform(X), second.transform(X), atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "base", "form"),
    [("gaussian", Gaussian(0.2), "cos_sin"), ("laplacian", Laplacian(0.2), "phase")],
)
def test_inner_products_are_unbiased_for_the_orbit_kernel(kernel, base, form):
    group = CyclicShifts(3)
    X = np.random.default_rng(1).standard_normal((3, 3))
    exact = Average(base, group, side="both")(X)
    grams = []
    options = {"kernel": kernel, "gamma": 0.2, "form": form}
    for seed in range(300):
        Z = OrbitFourier(group, 16, **options, random_state=seed).fit_transform(X)
        grams.append(Z @ Z.T)
    error = np.mean(grams, axis=0) - exact
    standard_error = np.std(grams, axis=0) / np.sqrt(len(grams))
    # Six entries within 4.5 standard errors: one false alarm in 25,000 seeds.
    assert np.all(np.abs(error) <= 4.5 * standard_error + 1e-12)


def test_point_dependent_actions_act_on_points():
    C = np.random.default_rng(0).standard_normal((5, 4, 4))
    X = (C + C.swapaxes(1, 2)).reshape(5, -1)
    full = OrbitFourier(SortedNoise(4, 0.5), 300, n_transforms=8, gamma=0.01, random_state=0).fit(X)
    assert full.side_ == "first"
    # The triangle preserves distances: the same kernel with fewer coordinates.
    triangle = OrbitFourier(
        SortedNoise(4, 0.5, triangle=True), 300, n_transforms=8, gamma=0.01, random_state=0
    ).fit(X)
    assert triangle.templates_.shape == (300, 10)
    grams = [m.transform(X) @ m.transform(X).T for m in (full, triangle)]
    assert_allclose(*grams, atol=6 / np.sqrt(300))


def test_the_unsuitable_side_is_refused_or_causes_a_warning():
    X = np.random.default_rng(0).standard_normal((9, 5))
    with pytest.raises(ValueError, match=r"density .* is not symmetric .* side='first'"):
        OrbitFourier(Scalings(mean=0.5), 4, n_transforms=10, side="second", random_state=0).fit(X)
    with pytest.warns(UserWarning, match="not unitary"):
        OrbitFourier(Scalings(), 4, n_transforms=10, side="second", random_state=0).fit(X)
    assert OrbitFourier(Scalings(), 4, n_transforms=10, random_state=0).fit(X).side_ == "first"
    with pytest.raises(TypeError, match=r"sample\(n_samples"):
        OrbitFourier(Scalings(), 3).fit(X)


@pytest.mark.parametrize("max_shift", [1, 3, 7])
def test_the_median_bandwidth_is_that_of_points_transformed_at_random(max_shift):
    """Shifts with zero fill shorten points; the first one that is listed, most of all."""
    X = np.random.default_rng(0).standard_normal((300, 8))
    group = Translations(8, max_shift, boundary="zero")
    features = OrbitFourier(group, 20, random_state=0).fit(X)
    orbits = np.concatenate(group.act(group.elements(), X))
    assert features.gamma_ == pytest.approx(median_gamma(orbits, random_state=0), rel=0.2)


def test_the_warning_about_a_side_names_a_kernel_that_is_not_preserved():
    X = np.random.default_rng(0).standard_normal((9, 4))
    rotations = CircleAction([1, 1, 1, 1], n_nodes=5)
    with pytest.warns(UserWarning, match="not known to preserve the kernel Laplacian"):
        OrbitNystroem(rotations, 4, kernel="laplacian", side="second", random_state=0).fit(X)
