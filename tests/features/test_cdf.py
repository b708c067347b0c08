"""GroupCDF agrees with its definition and its expected kernel K_s; principal components."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.beyond import MaxFilter
from invariance.core.parameters import ParameterError
from invariance.features import GroupCDF, draw_templates
from invariance.groups import (
    CircleAction,
    CyclicShifts,
    CyclicTranslations,
    LinearMaps,
    Negation,
    Permutations,
    Rotations,
    SignFlips,
    Translations,
)
from invariance.kernels import CDF, Average


def definition(model, X):
    """Return phi_jk(x) = sqrt(s / (n m)) / |G| sum_i 1[<g_i t_j, x> <= s k / n] by loops.

    With null templates the outermost thresholds count half, for the trapezoidal rule.
    """
    n = model.n_bins
    m = model.n_components
    elements = model.elements_
    columns = []
    for t in model.templates_:
        orbit = t[None, None] if elements is None else model.group.act(elements, t[None])
        for k in range(-n, n + 1):
            below = np.mean([X @ gt[0] <= model.s_ * k / n for gt in orbit], axis=0)
            if model.rejection == "zero" and abs(k) == n:
                below = np.sqrt(1 / 2) * below
            columns.append(below if np.isfinite(t[0]) else 0 * below)
    return np.sqrt(model.s_ / (n * m)) * np.array(columns).T


GROUPS = [None, CyclicShifts(6), SignFlips(6), Permutations(3, block=2), Negation()]
OPTIONS = {
    "n_bins": [1, 2, 5, 7],
    "n_transforms": [None, 1, 4],
    "templates": ["gaussian", "sphere", "data"],
    "s": ["bound", "data", 0.3],
    "rejection": ["redraw", "zero"],
    "block_bytes": [2000, 10**8],
}
CHOICES = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS.items()})


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(GROUPS), st.integers(1, 5), CHOICES, st.integers(0, 10**6))
def test_group_cdf_agrees_with_the_definition(group, m, options, seed):
    X = np.random.default_rng(seed).standard_normal((7, 6))
    model = GroupCDF(group, m, **options, epsilon=0.9, random_state=seed)
    assert_allclose(model.fit_transform(X), definition(model, X), atol=1e-12)


@pytest.mark.parametrize("n_bins", [5, 25])
def test_expected_inner_product_is_the_closed_form(n_bins):
    """E <Phi(x), Phi(z)> = K_s(x, z), including the truncation, within five standard errors.

    Full weights at the outermost thresholds would add s P / (2 n): 0.09, 0.018 and 0.0045.
    """
    group = CyclicShifts(5)
    X = np.random.default_rng(1).standard_normal((4, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    exact = Average(CDF(epsilon=0.3), group)(X)
    draws = []
    options = {"n_bins": n_bins, "epsilon": 0.3, "rejection": "zero"}
    for seed in range(200):
        Z = GroupCDF(group, 200, **options, random_state=seed).fit_transform(X)
        draws.append(Z @ Z.T)
    mean = np.mean(draws, axis=0)
    error = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    # The product of two distribution functions may jump anywhere in a bin.
    assert np.all(np.abs(mean - exact) < 5 * error)


def test_rejected_templates_are_replaced_by_zero_or_drawn_again():
    options = {"n_features": 10, "epsilon": 0.1, "random_state": 0}
    zero, redrawn = (
        draw_templates("gaussian", 4000, rejection=kind, **options) for kind in ("zero", "redraw")
    )
    assert np.all(np.square(redrawn).sum(axis=1) < 1.1)
    accepted = ~np.isnan(zero[:, 0])
    # P(chi2_10 < 11) = 0.642; five standard errors.
    assert abs(accepted.mean() - 0.6425) < 5 * np.sqrt(0.64 * 0.36 / 4000)
    X = np.random.default_rng(0).standard_normal((3, 10))
    model = GroupCDF(None, 50, n_bins=4, epsilon=0.1, rejection="zero", random_state=0).fit(X)
    Z = model.transform(X).reshape(3, 50, 9)
    assert not Z[:, np.isnan(model.templates_[:, 0])].any()


# -- inner products that equal a threshold, as zero often does -------------------------------------

SHAPE = (12, 12)
SHIFTS = CyclicTranslations(SHAPE)
TURNS = Rotations(SHAPE, degrees=[0, 90, 180, 270])
EXACT = {
    "none": None,
    "shifts": CyclicShifts(144),
    "blocks": CyclicShifts(48, block=3),
    "translations": SHIFTS,
    "one axis": CyclicTranslations(SHAPE, axes=(1,)),
    "frame": Translations(SHAPE, max_shift=2, boundary="zero"),
    "some": Translations(SHAPE, shifts=[[0, 0], [1, -2], [3, 1]]),
    "turns": TURNS,
    "turn, shift": TURNS.then(SHIFTS),
    "shift, turn": SHIFTS.then(TURNS),
    "permutations": Permutations(4, block=36),
    "negation": Negation(),
    "scaling": LinearMaps([np.eye(144), 10 * np.eye(144), np.eye(144)[::-1]]),
}


def test_templates_from_data_are_training_points_of_norm_one():
    X = np.random.default_rng(0).standard_normal((7, 6)) * 10.0 ** np.arange(-3, 4)[:, None]
    X[2] = 0
    directions = np.delete(X, 2, axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for n_templates in (4, 6, 15):
        for model in (
            GroupCDF(Negation(), n_templates, templates="data", random_state=3),
            MaxFilter(Negation(), n_templates, templates="data", random_state=3),
        ):
            templates = model.fit(X).templates_
            distances = np.linalg.norm(templates[:, None] - directions, axis=2)
            assert_allclose(distances.min(axis=1), 0, atol=1e-12)
            # No point is drawn twice before all others have been drawn once.
            counts = np.bincount(distances.argmin(axis=1), minlength=6)
            assert np.ptp(counts) <= 1 and counts.sum() == n_templates
            assert np.array_equal(templates, model.fit(X).templates_)
            model.set_params(random_state=4)
            assert not np.array_equal(templates, model.fit(X).templates_)
    extreme = np.array([[1e-200, 1e-200], [3e-320, 0], [1e300, -1e300]])
    drawn = draw_templates("data", 3, n_features=2, epsilon=None, points=extreme, random_state=0)
    assert_allclose(np.linalg.norm(drawn, axis=1), 1)


def test_templates_from_unsuitable_points_are_refused():
    with pytest.raises(ParameterError, match="point other than zero"):
        GroupCDF(Negation(), 2, templates="data").fit(np.zeros((3, 4)))
    with pytest.raises(ParameterError, match="points=X"):
        draw_templates("data", 3, n_features=2, epsilon=None)
    with pytest.raises(ParameterError, match="need 2 features, got 3"):
        draw_templates("data", 3, n_features=2, epsilon=None, points=np.ones((2, 3)))
    with pytest.raises(ValueError, match="points"):
        draw_templates("data", 3, n_features=2, epsilon=None, points=[[1.0, np.nan]])
    with pytest.raises(ParameterError, match="templates"):
        MaxFilter(Negation(), 2, templates="points").fit(np.ones((3, 4)))


def exact_shares(group, X, templates, half_width, n_bins):
    """Share of elements with n <x, g t> <= s k in integer arithmetic, shape (n, m, 2 n + 1)."""
    transformed = templates[None]
    if group is not None:
        transformed = np.rint(group.act(group.elements(), templates.astype(float))).astype(int)
    values = n_bins * np.einsum("nd,gmd->gnm", X, transformed)
    return np.stack(
        [np.mean(values <= half_width * k, axis=0) for k in range(-n_bins, n_bins + 1)], axis=-1
    )


def shares(group, X, templates, half_width, n_bins=6):
    """Features of GroupCDF without their factor."""
    m = len(templates)
    model = GroupCDF(group, m, templates=templates, s=half_width, n_bins=n_bins).fit(X)
    factor = np.sqrt(half_width / (n_bins * m))
    return model.transform(X).reshape(len(X), m, -1) / factor, model


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("group", EXACT.values(), ids=EXACT)
def test_integer_points_and_templates_are_counted_exactly(group, dtype):
    """The counts stay exact after scaling by a factor that is not exact in floating point."""
    rng = np.random.default_rng(0)
    codes = rng.choice([-1, 1], (20, 144))
    integers = rng.integers(-3, 4, (20, 144))
    flat = np.repeat(np.arange(1, 21)[:, None], 144, axis=1)
    balanced = integers[:12] - integers[:12, ::-1]
    cases = [
        (codes, codes[:12], 36),
        (integers, integers[:12], 72),
        (integers + 10, balanced, 72),
        (flat, balanced, 12),
    ]
    for points, templates, half_width in cases:
        for n_bins in (6, 7):
            expected = exact_shares(group, points, templates, half_width, n_bins)
            for x_scale, t_scale in ((1, 1), (1e-8, 1), (1e8, 0.1), (0.3, 1e-8), (0.7, 1e8)):
                X = (points * x_scale).astype(dtype)
                T = (templates * t_scale).astype(dtype)
                counted, _ = shares(group, X, T, half_width * x_scale * t_scale, n_bins)
                assert_allclose(counted, expected, atol=1e-5 if dtype == np.float32 else 1e-12)


def test_the_cases_above_use_every_method():
    X = np.random.default_rng(0).standard_normal((20, 144))
    ways = {shares(group, X, X[:12], 12)[1].explain(X).way for group in EXACT.values()}
    assert {"product", "correlation", "product, with quarter turns"} <= ways


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [4, 31, 144, 784])
def test_features_of_transformed_codes_and_constant_images_are_unchanged(n_features, dtype):
    rng = np.random.default_rng(1)
    codes = rng.choice([-0.1, 0.1], (30, n_features)).astype(dtype)
    group = CyclicShifts(n_features)
    model = GroupCDF(group, 20, templates=codes[:20], s="data").fit(codes)
    features = model.transform(codes)
    for shift in (1, n_features // 2, n_features - 1):
        assert_allclose(model.transform(np.roll(codes, shift, axis=1)), features, atol=1e-7)
    flat = np.repeat(rng.uniform(-1, 1, (50, 1)), n_features, axis=1).astype(dtype)
    templates = rng.standard_normal((20, n_features))
    templates -= templates.mean(axis=1, keepdims=True)
    features = GroupCDF(group, 20, templates=templates.astype(dtype), s=1.0).fit_transform(flat)
    assert len(np.unique(features, axis=0)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inner_products_of_zero_on_a_circle_count_at_the_threshold(dtype):
    """Points and templates without a common frequency are orthogonal at all angles."""
    rng = np.random.default_rng(2)
    X, T = rng.standard_normal((2, 50, 8))
    X[:, 4:] = 0
    T[:, :4] = 0
    group = CircleAction([1, 1, 2, 2, 3, 3, 0, 0], n_nodes=32)
    counted, model = shares(group, X.astype(dtype), T.astype(dtype), 3.0)
    assert model.explain(X.astype(dtype)).way == "circle"
    assert_allclose(counted, np.broadcast_to(np.arange(-6, 7) >= 0, counted.shape), atol=1e-6)


@pytest.mark.parametrize("group", [SHIFTS, Negation(), TURNS])
def test_features_of_templates_and_points_of_many_sizes_are_exact(group):
    """The tolerance is relative to each pair, so that small templates keep their signs."""
    rng = np.random.default_rng(3)
    X, T = rng.integers(-3, 4, (2, 20, 144))
    x_scales, t_scales = (10.0 ** rng.integers(-9, 1, (2, 20, 1))).astype(np.float32)
    counted, _ = shares(group, X * x_scales, T * t_scales, 1e9)
    signs = exact_shares(group, X, T, 10**9, 6)
    assert_allclose(counted, signs, atol=1e-5)


@pytest.mark.parametrize("power", [-560, -200, 200, 500])
@pytest.mark.parametrize("s", ["bound", "data"])
def test_features_scale_with_the_square_root_of_the_scale_of_the_points(power, s):
    """Half-widths scale with the points even if squares of entries underflow or overflow."""
    X = np.random.default_rng(4).standard_normal((9, 6))
    model = GroupCDF(CyclicShifts(6), 4, s=s, random_state=0)
    expected = model.fit_transform(X)
    half_width = model.s_
    scaled = model.fit_transform(np.ldexp(X, power))
    assert model.s_ == np.ldexp(half_width, power)
    assert_allclose(scaled, np.sqrt(2.0) ** power * expected, rtol=1e-12)
