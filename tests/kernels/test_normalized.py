"""``Average(..., normalize=True)``: the cosine of the mean embeddings of two orbits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.core.arrays import on_host
from invariance.groups import CyclicShifts, PlaneRotations, Rotations, SignFlips, Translations
from invariance.kernels import Average, Gaussian, Polynomial

RNG = np.random.default_rng(0)
CASES = [
    (Gaussian(0.2), CyclicShifts(6), {}),
    (Polynomial(3), SignFlips(6), {}),
    (Gaussian(0.2), Translations((2, 3), 1, boundary="zero"), {"side": "both"}),
    (Gaussian(0.2), Rotations((2, 3), degrees=[-10, 0, 10]), {}),
    (Gaussian(0.2), PlaneRotations(), {"tolerance": 1e-12}),  # nodes as many as points ask for
]


@pytest.mark.parametrize(("base", "group", "how"), CASES, ids=repr)
def test_is_the_kernel_divided_by_the_norms(base, group, how):
    X, Y = RNG.standard_normal((20, 6)), RNG.standard_normal((4, 6))
    plain, kernel = Average(base, group, **how), Average(base, group, normalize=True, **how)
    norms = [np.sqrt([plain(x[None])[0, 0] for x in A]) for A in (X, Y)]
    assert_allclose(kernel(X, Y), plain(X, Y) / np.outer(*norms), rtol=1e-8)
    assert_allclose(kernel(X).diagonal(), 1, rtol=1e-8)
    assert_allclose(kernel.diag(X), 1)


def test_gradients_and_tensors():
    X, group = RNG.standard_normal((18, 6)), CyclicShifts(6)
    kernel, step = Average(Gaussian(0.2), group, normalize=True), 1e-4
    _, gradient = kernel(X, eval_gradient=True)
    up, down = (Average(Gaussian(0.2 * np.exp(s)), group, normalize=True)(X) for s in (step, -step))
    assert_allclose(gradient[:, :, 0], (up - down) / (2 * step), atol=1e-7)
    for library in ("array_api_strict", "torch"):
        pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
        xp = pytest.importorskip(library, reason=f"{library} is not installed")
        found = kernel(xp.asarray(X), xp.asarray(X[:3]))
        assert_allclose(on_host(found), kernel(X, X[:3]), rtol=1e-12)
