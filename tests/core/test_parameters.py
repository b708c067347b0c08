"""Parameters are validated and converted to Python numbers; signatures are readable."""

import inspect
from dataclasses import KW_ONLY
from importlib import import_module
from typing import Annotated

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone

from invariance.core import parameters as P
from invariance.kernels import Average, BestFit


@P.stores_parameters
class Box(BaseEstimator):
    shape: Annotated[tuple, P.Shape(2)] = (2, 3)
    n: Annotated[int, P.Whole(1)] = 1
    width: Annotated[float, P.Positive()] = 1.0
    side: Annotated[str, P.OneOf("left", "right")] = "left"
    centre: Annotated[list, P.Array(1) | None] = None


NARROW = {
    "shape": (np.uint8(200), np.uint8(200)),
    "n": np.int8(100),
    "width": np.float32(0.5),
    "side": np.str_("right"),
    "centre": np.array([200, 3], np.uint8),
}


@pytest.mark.parametrize("copied", [False, True])
def test_validated_parameters_are_python_numbers_also_in_a_clone(copied):
    box = Box(**NARROW)
    P.check_parameters(box)
    if copied:
        box = clone(box)
    assert box.shape[0] * box.shape[1] == 40_000 and box.n * 100 == 10_000
    types = [type(getattr(box, name)) for name in ("shape", "n", "width", "side")]
    assert types == [tuple, int, float, str]
    assert box.centre.dtype == np.int64
    assert repr(box).startswith("Box(centre=array([200,   3]), n=100, shape=(200, 200)")
    P.check_parameters(box.set_params(n=np.uint8(7)))
    assert type(box.n) is int and box.n == 7
    P.check_parameters(clone(Box(**NARROW)))


def test_functions_and_methods_receive_python_numbers():
    class Square:
        @P.arguments(side=P.Whole(1))
        def area(self, side):
            return side**2

    assert Square().area(np.uint8(200)) == 40_000
    with pytest.raises(P.ParameterError, match="Square.area needs side to be .* >= 1, got 0"):
        Square().area(side=0)
    values = {"a": np.float16(0.5), "b": [np.int8(100), 3], "c": np.int16(9)}
    checked = P.check_values("f", {"a": P.Number(), "b": P.Array(1)}, values)
    assert type(checked["a"]) is float and np.asarray(checked["b"]).dtype == np.int64
    assert checked["c"] == 9


# -- signatures ------------------------------------------------------------------------------------

#: Parameters that do not change results.
PLUMBING = ("block_bytes", "n_jobs", "verbose")
PACKAGES = ("beyond", "features", "groups", "kernels", "linear", "spectral")


def public_classes():
    for package in PACKAGES:
        module = import_module(f"invariance.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and hasattr(value, "get_params"):
                yield value


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_signatures_are_short_and_put_plumbing_last(cls):
    names = list(inspect.signature(cls).parameters)
    plumbing = [name for name in names if name in PLUMBING]
    assert names[len(names) - len(plumbing) :] == plumbing
    # names and defaults of the longest signature take 220 characters
    assert len(str(inspect.signature(cls))) <= 300
    assert "numpy._typing" not in str(inspect.signature(cls))


def test_the_signature_of_a_kernel_starts_with_base_and_group():
    for kernel in (Average, BestFit):
        signature = str(inspect.signature(kernel))
        assert signature.startswith("(base: 'Kernel', group: 'Transformations', *, n_transforms:")
        assert signature.endswith("random_state=0, block_bytes=None, n_jobs=None, verbose=0)")
        assert len(signature) <= 200


def test_plumbing_comes_last_in_the_signature_of_a_derived_class():
    """Fields of a base class come first, except for parameters that do not change results."""

    @P.stores_parameters
    class Base(BaseEstimator):
        first: int
        _: KW_ONLY
        verbose: P.Verbose = 0
        random_state: P.RandomState = None
        block_bytes: P.BlockBytes = None

    @P.stores_parameters
    class Derived(Base):
        second: float
        _: KW_ONLY
        width: Annotated[float | None, P.Positive() | None] = None

    text = "(first: 'int', second: 'float', *, width: 'float | None' = None, random_state=None, "
    assert str(inspect.signature(Derived)) == text + "block_bytes=None, verbose=0)"
    derived = Derived(1, 2.0, verbose=3, width=4.0)
    assert derived.get_params() == {
        "first": 1, "second": 2.0, "width": 4.0, "random_state": None, "block_bytes": None,
        "verbose": 3,
    }  # fmt: skip
    assert clone(derived).get_params() == derived.get_params()
    with pytest.raises(TypeError, match="positional"):
        Derived(1, 2.0, 4.0)


REFUSED = [
    *[(P.Array(), v) for v in (np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, 1j], ["1"], [np.nan])],
    *[(P.Array(), v) for v in (np.array([2**63], np.uint64), [[1.0, 2.0], [3.0]], [None])],
    *[(P.Number(), v) for v in (np.inf, 10**30, 1e160, True)],
    *[(P.Shape(2), v) for v in ((28,), (0, 3), "ab")],
    *((P.Each(P.Positive()), []), (P.Has("a kernel", "diag"), dict)),
]


@pytest.mark.parametrize(("kind", "value"), REFUSED, ids=lambda value: repr(value)[:30])
def test_invalid_values_are_refused(kind, value):
    assert not kind.accepts(value)


#: Values of symbols that are not sizes; bounds that only take arrays are excluded.
SYMBOLS = dict.fromkeys(("eps", "eps0", "epsilon", "delta", "delta1", "delta2", "rho"), 0.25)
SYMBOLS["loss"] = "hinge"
OF_ARRAYS = {"orbit_distance", "cdf_products", "remark4_kernel", "jacobian_factor"}


@pytest.mark.parametrize("paper", ["liu2022", "mroueh2015", "raj2017", "soleymani2025"])
@pytest.mark.parametrize("small", [np.int8(100), np.uint8(200), np.int16(200)], ids=repr)
@np.errstate(all="ignore")
def test_bounds_of_numpy_integers_agree_with_python_integers(paper, small):
    module = import_module(f"invariance.theory.{paper}")
    for name, f in inspect.getmembers(module, inspect.isfunction):
        if f.__module__ == module.__name__ and name[0] != "_" and name not in OF_ARRAYS:
            symbols = inspect.signature(f).parameters
            bound = f(**{s: SYMBOLS.get(s, small) for s in symbols})
            expected = f(**{s: SYMBOLS.get(s, int(small)) for s in symbols})
            assert_allclose(bound, expected, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("value", [[1e151, 0.0], (np.inf, -2e200), np.full(20, -1e160)])
def test_the_error_for_numbers_that_are_too_large_names_the_bound(value):
    """The numbers are finite, so a message that asks for finite numbers would not help."""
    with pytest.raises(P.ParameterError) as refused:
        P.check_values("Ball", {"centre": P.Array()}, {"centre": value})
    bound = "magnitudes beyond 1e150 overflow when they are multiplied; rescale the data"
    is_finite = all(abs(number) < np.inf for number in np.ravel(value).tolist())
    assert (bound in str(refused.value)) == is_finite
