"""Common principal components of blocks: inner products kept, losses as stated."""

import numpy as np

from invariance.features import BlockPCA, GroupCDF, block_pca
from invariance.groups import CyclicShifts


def curves(n=80, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 12))
    features = GroupCDF(CyclicShifts(12), n_components=7, n_bins=10, s="data", random_state=0)
    return features.fit_transform(X / np.linalg.norm(X, axis=1, keepdims=True))


def test_all_components_keep_every_centred_inner_product():
    Z = curves()
    P = BlockPCA(block=21, n_components=21).fit(Z).transform(Z)
    Zc, Pc = Z - Z.mean(axis=0), P - P.mean(axis=0)
    np.testing.assert_allclose(Pc @ Pc.T, Zc @ Zc.T, atol=1e-12)


def test_the_loss_is_the_variance_left_out(monkeypatch):
    Z = curves()
    pca = BlockPCA(block=21, n_components=6).fit(Z)
    blocks = Z.reshape(-1, 21) - Z.reshape(-1, 21).mean(axis=0)
    kept = np.square(pca.transform(Z)).sum()
    assert np.isclose(pca.lost_, 1 - kept / np.square(blocks).sum())
    assert 0 < pca.lost_ < 0.1
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(6), atol=1e-12)
    monkeypatch.setattr(block_pca, "_MOST", 200)
    few = BlockPCA(block=21, n_components=6, random_state=0).fit(Z)
    assert 0 < abs(few.lost_ - pca.lost_) < 0.02
