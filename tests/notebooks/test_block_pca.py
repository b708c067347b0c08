"""Common principal components of blocks keep inner products, and lose what they state."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from invariance.features import GroupCDF
from invariance.groups import CyclicShifts

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/mroueh2015"))
from _block_pca import BlockPCA


def curves(n=80, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 12))
    features = GroupCDF(CyclicShifts(12), n_components=7, n_bins=10, s="data", random_state=0)
    return features.fit_transform(X / np.linalg.norm(X, axis=1, keepdims=True))


def test_all_components_keep_every_centred_inner_product():
    Z = curves()
    P = BlockPCA(block=21, n_components=21).fit(Z).transform(Z)
    Zc, Pc = Z - Z.mean(axis=0), P - P.mean(axis=0)
    np.testing.assert_allclose(Pc @ Pc.T, Zc @ Zc.T, atol=1e-12)


def test_the_loss_is_the_variance_left_out():
    Z = curves()
    pca = BlockPCA(block=21, n_components=6).fit(Z)
    blocks = Z.reshape(-1, 21) - Z.reshape(-1, 21).mean(axis=0)
    assert np.isclose(pca.lost_, 1 - np.square(pca.transform(Z)).sum() / np.square(blocks).sum())
    assert 0 < pca.lost_ < 0.1
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(6), atol=1e-12)
    # Of more than 200,000 blocks a sample is used, whose loss is nearly that of all blocks.
    n_copies = 1 + 200_000 // len(blocks)
    sampled = BlockPCA(block=21, n_components=6, random_state=0).fit(np.tile(Z, (n_copies, 1)))
    assert 0 < abs(sampled.lost_ - pca.lost_) < 0.02


@parametrize_with_checks([BlockPCA()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("block", "n_components", "message"),
    [(5, 1, "does not divide"), (4, 5, "1 to block = 4")],
)
def test_refusals_name_the_remedy(block, n_components, message):
    with pytest.raises(ValueError, match=message):
        BlockPCA(block, n_components).fit(np.ones((3, 16)))


def test_blank_images_lose_nothing():
    pca = BlockPCA(6, 2).fit(np.zeros((4, 36)))
    assert pca.lost_ == 0
    assert not pca.transform(np.zeros((2, 36))).any()
