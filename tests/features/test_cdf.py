"""GroupCDF against its definition and its expected kernel K_s; its curves in few components."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.features import BlockPCA, GroupCDF, block_pca, draw_templates
from invariance.groups import CyclicShifts, Negation, Permutations, SignFlips
from invariance.kernels import CDF, Average


def definition(model, X):
    """phi_jk(x) = sqrt(s / (n m)) / |G| sum_i 1[<g_i t_j, x> <= s k / n], loop by loop.

    With null templates the outermost thresholds count half, for the trapezoidal rule.
    """
    n, m = model.n_bins, model.n_components
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
    "templates": ["gaussian", "sphere"],
    "s": ["bound", "data", 0.3],
    "rejection": ["redraw", "zero"],
    "block_bytes": [2000, 10**8],
}
HOW = st.fixed_dictionaries({name: st.sampled_from(some) for name, some in OPTIONS.items()})


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(GROUPS), st.integers(1, 5), HOW, st.integers(0, 10**6))
def test_agrees_with_the_definition(group, m, how, seed):
    X = np.random.default_rng(seed).standard_normal((7, 6))
    model = GroupCDF(group, m, **how, epsilon=0.9, random_state=seed)
    assert_allclose(model.fit_transform(X), definition(model, X), atol=1e-12)


@pytest.mark.parametrize("n_bins", [5, 25])
def test_expected_inner_product_is_the_closed_form(n_bins):
    """E <Phi(x), Phi(z)> = K_s(x, z), truncation included, within five standard errors.

    Whole weights at the outermost thresholds would add s P / (2 n): 0.09, 0.018 and 0.0045.
    """
    group = CyclicShifts(5)
    X = np.random.default_rng(1).standard_normal((4, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    exact = Average(CDF(epsilon=0.3), group)(X)
    draws = []
    how = {"n_bins": n_bins, "epsilon": 0.3, "rejection": "zero"}
    for seed in range(200):
        Z = GroupCDF(group, 200, **how, random_state=seed).fit_transform(X)
        draws.append(Z @ Z.T)
    mean, error = np.mean(draws, axis=0), np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
    # A jump of the product of two distribution functions falls anywhere in its bin.
    assert np.all(np.abs(mean - exact) < 5 * error)


def test_rejected_templates():
    how = {"n_features": 10, "epsilon": 0.1, "random_state": 0}
    zero, redrawn = (
        draw_templates("gaussian", 4000, rejection=kind, **how) for kind in ("zero", "redraw")
    )
    assert np.all(np.square(redrawn).sum(axis=1) < 1.1)
    kept = ~np.isnan(zero[:, 0])
    # P(chi2_10 < 11) = 0.642; five standard errors.
    assert abs(kept.mean() - 0.6425) < 5 * np.sqrt(0.64 * 0.36 / 4000)
    X = np.random.default_rng(0).standard_normal((3, 10))
    model = GroupCDF(None, 50, n_bins=4, epsilon=0.1, rejection="zero", random_state=0).fit(X)
    Z = model.transform(X).reshape(3, 50, 9)
    assert not Z[:, np.isnan(model.templates_[:, 0])].any()


# -- common principal components of blocks: inner products kept, losses as stated ------------------


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
    assert np.isclose(pca.lost_, 1 - np.square(pca.transform(Z)).sum() / np.square(blocks).sum())
    assert 0 < pca.lost_ < 0.1
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(6), atol=1e-12)
    monkeypatch.setattr(block_pca, "_MOST", 200)
    few = BlockPCA(block=21, n_components=6, random_state=0).fit(Z)
    assert 0 < abs(few.lost_ - pca.lost_) < 0.02
