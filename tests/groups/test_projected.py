"""Projected transformations: the same orbits in fewer coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, LinearMaps, Rotations, VonMises
from invariance.kernels import Average, Gaussian


def test_it_is_the_action_and_then_the_projection():
    rng = np.random.default_rng(0)
    components = np.linalg.qr(rng.standard_normal((36, 5)))[0].T
    turns = Rotations((6, 6), density=VonMises(2.0))
    seen = turns.then(LinearMaps(components[None]))
    elements = seen.sample(4, 1)
    X = rng.standard_normal((3, 6, 6))
    assert_allclose(elements[:, 0], turns.sample(4, 1))
    expected = turns.act(elements[:, 0], X).reshape(4, 3, 36) @ components.T
    assert_allclose(seen.act(elements, X), expected)
    assert_allclose(seen.act(elements, X.reshape(3, -1)), expected)
    assert seen.shape == (6, 6) and not seen.unitary


def test_a_projection_that_loses_nothing_keeps_the_kernel():
    rng = np.random.default_rng(0)
    span = np.zeros((4, 8))
    span[:, ::2] = np.eye(4)
    X = rng.standard_normal((5, 4)) @ span
    group = CyclicShifts(4, block=2)  # keeps the even coordinates even
    exact = Average(Gaussian(0.2), group, side="both")(X)
    features = OrbitFourier(
        group.then(LinearMaps(span[None])), 4000, gamma=0.2, form="cos_sin", random_state=0
    ).fit(X)
    assert features.side_ == "first" and features.templates_.shape == (4000, 4)
    Z = features.transform(X)
    assert_allclose(Z @ Z.T, exact, atol=5 / np.sqrt(4000))


def test_a_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"shapes \(4,\) and \(3,\): both must act on the same"):
        CyclicShifts(4).then(LinearMaps(np.eye(3)[None])).act([[1, 2, 3, 4, 0]], np.ones((1, 4)))
