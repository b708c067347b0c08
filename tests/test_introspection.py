"""`dir` and `hasattr` work for every object, as completion and scikit-learn require."""

import inspect
import time

import numpy as np
import pytest

from invariance import beyond
from invariance import groups as G
from invariance import kernels as K
from invariance import spectral as S

from .test_estimators import ESTIMATORS
from .test_fuzz_parameters import public, target

CLASSES = [name for name in public() if inspect.isclass(target(name)[0])]


def check_names(thing):
    """Check that `dir` lists all public methods and parameters, and that `hasattr` never raises."""
    names = dir(thing)
    for name in object.__dir__(thing):
        hasattr(thing, name)
    methods = inspect.getmembers_static(type(thing), inspect.isfunction)
    expected = {name for name, _ in methods if name[0] != "_"}
    if hasattr(thing, "get_params"):
        expected |= set(thing.get_params(deep=False))
    assert expected <= set(names)


@pytest.mark.parametrize("name", CLASSES)
def test_public_objects_list_their_names(name):
    made, arguments = target(name)
    check_names(made(**arguments))


@pytest.mark.filterwarnings("ignore:OrbitNystroem. n_components")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_estimators_list_their_names_before_and_after_fit(estimator):
    check_names(estimator)
    rng = np.random.default_rng(0)
    X = rng.random((12, 3 if isinstance(estimator, S.SpectralAveraging) else 64))
    if getattr(estimator, "kernel", None) == "precomputed":
        X = X @ X.T
    check_names(estimator.fit(X, np.arange(12) % 2))


BASES = [
    S.Sphere(3),
    S.Torus(2),
    S.Circle(),
    beyond.Product([S.Torus(2)] * 2),
    beyond.Product([S.Circle()]),
]


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_infinite_bases_have_no_list_of_functions(basis):
    check_names(basis)
    assert not any(hasattr(basis, name) for name in ("labels_", "counts_", "n_functions_"))
    with pytest.raises(ValueError, match="infinitely many functions; truncate it first"):
        _ = basis.n_functions_
    finite = basis.truncate(degree=2)
    check_names(finite)
    assert finite.n_functions_ == finite.counts_[-1] and "n_functions_" in dir(finite)


@pytest.mark.parametrize("basis", [S.Sphere(40, degree=6), S.Torus(30, degree=6)], ids=repr)
def test_names_are_listed_without_computing_what_they_hold(basis):
    """Computing these millions of functions would take minutes and gigabytes."""
    start = time.process_time()
    assert {"evaluate", "truncate", "labels_"} <= set(dir(basis))
    assert time.process_time() - start < 0.5


INVALID = [
    (S.Sphere("x"), "evaluate"),
    (S.Torus(-1), "evaluate"),
    (beyond.Product([1, 2]), "evaluate"),
    (S.Circle(degree="y"), "evaluate"),
    (G.DirectProduct([G.CyclicShifts(3), G.Negation()]), "elements"),
    (G.DirectProduct("x"), "elements"),
    (beyond.Wreath(G.Permutations(2), G.Negation()), "elements"),
    (G.Composition(G.Permutations(2), G.Permutations(3)), "act"),
    (G.OnPoints(G.Permutations(2), "x"), "act"),
    (G.CyclicShifts(-1), "generators"),
    (G.OrthogonalMatrices([[[2.0]]]), "generators"),
    (G.VonMises("x"), "pdf"),
    (K.Gaussian("x"), "diag"),
    (K.Polynomial(gamma=[1.0]), "diag"),
    (K.Average(K.Gaussian(None), G.CyclicShifts(-1)), "explain"),
    (K.Locality("x"), "diag"),
    (S.VonMisesKernel("x"), "diag"),
]


@pytest.mark.parametrize("invalid, name", INVALID, ids=lambda value: " ".join(repr(value).split()))
def test_names_of_objects_with_invalid_parameters_are_listed(invalid, name):
    """Parameters are validated when the object is used; completion does not use it."""
    assert name in dir(invalid)
