"""Locality kernels agree with loops over windows and are positive semi-definite (lemma 3)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from invariance.kernels import Locality


def loops(kernel, x, z):
    """Kernel value by equations (5) and (6), window by window."""
    local = list(kernel.powers[:-1])
    final = kernel.powers[-1]
    count = len(local)
    as_list = lambda v: [v] * count if isinstance(v, (int, str)) else list(v)  # noqa: E731
    windows, paddings, strides = map(as_list, (kernel.window, kernel.padding, kernel.stride))
    dimensions = len(kernel.shape)
    shape = kernel.shape if dimensions == 2 else (1, *kernel.shape)
    scales = kernel.gammas or [
        *(1 / f**dimensions for f in windows),
        1 / (kernel.channels * kernel.shape[0]),
    ]
    product = (x * z).reshape(*shape, kernel.channels)
    layers = [product.sum(axis=2)] if kernel.mixed else list(np.moveaxis(product, 2, 0))
    for level, (f, pad, stride, degree) in enumerate(
        zip(windows, paddings, strides, local, strict=True)
    ):
        pad = {"same": (f - 1) // 2, "valid": 0}.get(pad, pad)
        high, down, step = (f, pad, stride) if dimensions == 2 else (1, 0, 1)
        following = []
        for layer in layers:
            padded = np.pad(layer, ((down, down), (pad, pad)))
            rows = range(0, padded.shape[0] - high + 1, step)
            columns = range(0, padded.shape[1] - f + 1, stride)
            following.append(
                np.array(
                    [
                        [
                            (1 + scales[level] * padded[r : r + high, c : c + f].sum()) ** degree
                            for c in columns
                        ]
                        for r in rows
                    ]
                )
            )
        layers = [sum(following)]
    return (1 + scales[-1] * layers[0].sum()) ** final


@st.composite
def kernels(draw):
    two = draw(st.booleans())
    shape = tuple(draw(st.lists(st.integers(3, 7), min_size=1 + two, max_size=1 + two)))
    depth = draw(st.integers(1, 3))
    return Locality(
        shape,
        window=draw(st.sampled_from([1, 3])),
        powers=tuple(draw(st.lists(st.integers(1, 3), min_size=depth + 1, max_size=depth + 1))),
        padding="same" if depth > 1 else draw(st.sampled_from(["same", "valid", 0])),
        stride=draw(st.integers(1, 2)) if depth == 1 else 1,
        channels=draw(st.integers(1, 3)),
        mixed=draw(st.booleans()),
        gammas=draw(st.sampled_from([None, (0.5,) * (depth + 1)])),
    )


@settings(max_examples=60, deadline=None)
@given(kernels(), st.integers(0, 10**6))
def test_locality_kernels_agree_with_loops_over_windows(kernel, seed):
    X, Z = np.random.default_rng(seed).uniform(-1, 1, (2, 3, kernel.n_features))
    expected = [[loops(kernel, x, z) for z in Z] for x in X]
    assert_allclose(kernel(X, Z), expected, rtol=1e-10)
    if kernel.window == 1 or len(kernel.powers) < 4:
        assert_allclose(kernel.set_params(storage="last")(X, Z), expected, rtol=1e-10)
    assert_allclose(kernel.diag(X), [loops(kernel, x, x) for x in X], rtol=1e-10)


@settings(max_examples=20, deadline=None)
@given(kernels(), st.integers(0, 10**6))
def test_lemma3_positive_semi_definite_at_any_depth(kernel, seed):
    gram = kernel(np.random.default_rng(seed).standard_normal((12, kernel.n_features)))
    assert_allclose(gram, gram.T, rtol=1e-9)
    values = np.linalg.eigvalsh((gram + gram.T) / 2)
    assert values[0] > -1e-9 * values[-1]


@pytest.mark.parametrize("window", [3, 5, 7])
def test_the_quadratic_layer_is_one_inner_product(window):
    rng = np.random.default_rng(0)
    X = rng.random((6, 90))
    Z = rng.random((5, 90))
    for padding, stride in [("same", 1), ("valid", 2), (1, 3)]:
        kernel = Locality((9, 10), window, powers=(2, 4), padding=padding, stride=stride)
        form = kernel.inner_form((9, 10, 1))
        first, second = (
            lift(A.reshape(-1, 9, 10, 1)).reshape(len(A), -1)
            for lift, A in ((form.first, X), (form.second, Z))
        )
        expected = [[loops(kernel, x, z) for z in Z] for x in X]
        assert_allclose(form.value(first @ second.T), expected, rtol=1e-11)
        assert_allclose(kernel(X, Z), expected, rtol=1e-11)
        assert_allclose(kernel.set_params(block_bytes=10_000)(X, Z), expected, rtol=1e-11)


def test_the_formula_of_the_papers_experiments():
    """((1/28) sum_w (1 + <x_w, z_w> / f^2)^2 + 1)^4 with zero padding."""
    x, z = np.random.default_rng(0).random((2, 28, 28))
    f = 5
    padded = np.pad(x * z, 2)
    places = [(i, j) for i in range(28) for j in range(28)]
    total = sum((1 + padded[i : i + f, j : j + f].sum() / f**2) ** 2 for i, j in places)
    expected = (total / 28 + 1) ** 4
    assert_allclose(Locality((28, 28), window=5)(x.reshape(1, -1), z.reshape(1, -1)), expected)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_work_counts_the_values_of_windows(n_layers):
    """Each place has a window, and a 3 x 3 window of a higher layer needs those around it."""
    places = [(i, j) for i in range(5) for j in range(4)]

    def values_for(place, layer):
        if layer == 0:
            return 1
        around = [p for p in places if abs(p[0] - place[0]) <= 1 and abs(p[1] - place[1]) <= 1]
        return 1 + sum(values_for(p, layer - 1) for p in around)

    powers = (2,) * (n_layers + 1)
    last = Locality((5, 4), 3, powers=powers, storage="last")
    assert last.work()[0] == sum(values_for(place, n_layers - 1) for place in places)
    layers = Locality((5, 4), 3, powers=powers, storage="layers")
    assert layers.work()[0] == n_layers * len(places)


@pytest.mark.parametrize("storage", ["layers", "last"])
@pytest.mark.parametrize("powers", [(2, 2), (3, 2), (2, 2, 2)])
def test_blocks_do_not_change_the_kernel(powers, storage):
    X, Z = (np.random.default_rng(0).random((n, 36)) for n in (9, 7))
    kernel = Locality((6, 6), 3, powers=powers, storage=storage)
    small = Locality((6, 6), 3, powers=powers, storage=storage, block_bytes=4000)
    assert_allclose(small(X, Z), kernel(X, Z), rtol=1e-12)
    assert_array_equal(small.set_params(n_jobs=2)(X), small.set_params(n_jobs=None)(X))
    assert_allclose(small(X), kernel(X, X), rtol=1e-12)
