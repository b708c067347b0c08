"""Tabulated linear actions against the actions themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance.features import OrbitFourier
from invariance.groups import Affine, LinearMaps, LogNormal, Normal, VonMises


def test_a_tabulated_affine_action_gives_the_same_points_and_features():
    rng = np.random.default_rng(0)
    affine = Affine(
        (8, 8),
        rotation=VonMises(9),
        scaling=LogNormal(0.3),
        translation=Normal(0.3),
        interpolation=1,
    )
    seen = affine.then(LinearMaps(rng.standard_normal((1, 5, 64))))
    elements, X = seen.sample(4, 1), rng.standard_normal((6, 64))
    maps = LinearMaps(seen.act(elements, np.eye(64)).swapaxes(1, 2))
    assert maps.order == 4 and maps.shape == (64,) and not maps.unitary
    assert_allclose(maps.act(maps.elements(), X), seen.act(elements, X), atol=1e-12)
    features = OrbitFourier(maps, 30, gamma=0.1, random_state=0).fit(X)
    assert features.side_ == "first"
    omega, phase = features.templates_, features.phases_
    plain = np.mean([np.cos(Z @ omega.T + phase) for Z in seen.act(elements, X)], axis=0)
    assert_allclose(features.transform(X), np.sqrt(2 / 30) * plain, atol=1e-12)


def test_samples_are_indices_and_every_map_is_drawn():
    maps = LinearMaps(np.arange(6.0).reshape(3, 1, 2))
    drawn = maps.sample(200, 0)
    assert_array_equal(np.unique(drawn), [0, 1, 2])
    assert_allclose(maps.act(drawn[:5], [[1.0, 1.0]])[:, 0, 0], 4 * drawn[:5] + 1)


@pytest.mark.parametrize("bad", [np.eye(3), np.zeros((0, 2, 2))])
def test_other_shapes_are_refused(bad):
    with pytest.raises(
        ValueError, match="matrices to be an array of 3 axes of finite numbers, at least one, got"
    ):
        LinearMaps(bad).elements()
