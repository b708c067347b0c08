"""What is kept between calls is of the kept points, whichever side moves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import config_context
from invariance.features import GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem
from invariance.groups import CircleAction, CyclicShifts, Negation, Translations
from invariance.kernels import Gaussian, Laplacian
from invariance.orbits import Extremes, Histogram, OrbitProducts, WeightedMean

GROUPS = {
    "shifts": CyclicShifts(9),
    "grid": Translations((3, 3), max_shift=1, boundary="zero"),
    "circle": CircleAction([0, 1, 1, 2, 2, 3, 3, 0, 0], n_nodes=8),
    "signs": Negation().then(CyclicShifts(9)),
}
REDUCTIONS = [
    WeightedMean(),
    WeightedMean([np.cos]),
    WeightedMean([np.tanh], raw=True),
    Extremes(),
    Histogram(3, 2.0),
    Histogram(5, 1.0),
]


@pytest.mark.parametrize("side", ["first", "second"])
@pytest.mark.parametrize("base", [None, Gaussian(0.1), Laplacian(0.1)], ids=repr)
@pytest.mark.parametrize("name", GROUPS)
def test_nothing_is_kept_of_the_points_of_an_earlier_call(name, base, side):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((4, 9))
    how = {"base": base, "side": side}
    kept = OrbitProducts(Z, GROUPS[name], keep=True, **how)
    for dtype in (float, np.float32):
        for n in (5, 3):
            X = rng.standard_normal((n, 9)).astype(dtype)
            for reduction in REDUCTIONS:
                fresh = OrbitProducts(Z, GROUPS[name], **how).reduce(X, reduction)
                for one, other in zip(kept.reduce(X, reduction), fresh, strict=True):
                    assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", GROUPS)
def test_tensors_meet_what_was_prepared_before(name, monkeypatch):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((4, 9)), rng.standard_normal((5, 9))
    orbits, some = OrbitProducts(Z, GROUPS[name], keep=True), [REDUCTIONS[0], *REDUCTIONS[3:]]
    for reduction in some:
        fresh = OrbitProducts(Z, GROUPS[name]).reduce(X, reduction)[0]
        assert_allclose(orbits.reduce(torch.from_numpy(X), reduction)[0], fresh, atol=1e-12)
    graded = torch.from_numpy(X).requires_grad_()
    orbits.reduce(graded, some[0])[0].sum().backward()
    slopes = [orbits.reduce(np.eye(9), some[0])[0].sum(axis=1)] * len(X)
    assert_allclose(graded.grad, slopes, atol=1e-12)
    for way, _ in list(orbits._kept.values()):
        monkeypatch.setattr(type(way), "prepare", lambda *_: pytest.fail("prepared anew"))
    for reduction in some:
        orbits.reduce(torch.from_numpy(X[:2]), reduction)
    orbits.reduce(graded, some[0])


@pytest.mark.parametrize("kind", [GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem])
@pytest.mark.parametrize("name", ["shifts", "grid", "circle"])
def test_a_lower_bound_on_memory_after_a_first_transform(name, kind):
    X = np.random.default_rng(0).standard_normal((40, 9))
    model = kind(GROUPS[name], 30, random_state=0).fit(X)
    Z = model.transform(X)
    for block_bytes in (4000, 20_000, 2**28):
        with config_context(block_bytes=block_bytes):
            assert_allclose(model.transform(X), Z, rtol=1e-9, atol=1e-12)
