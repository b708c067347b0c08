"""Kernels that were called before give the values of a new kernel with the same parameters."""

import copy
import functools
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.svm import SVC

from invariance import groups as G
from invariance import kernels as K

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 12))
Z = RNG.standard_normal((5, 12))


def lines(n, seed):
    """A permutation of n indices that leaves the first and the last 20 in place."""
    permutation = np.arange(n)
    inside = permutation[20:-20].copy()
    np.random.default_rng(seed).shuffle(inside)
    permutation[20:-20] = inside
    return permutation


def fresh(kernel):
    """A copy of the kernel that has never been called."""
    return clone(kernel)


def large_maps(seed):
    return np.random.default_rng(seed).standard_normal((40, 40))


LARGE = RNG.standard_normal((6, 1200))
SMALL = RNG.standard_normal((6, 40))


class Held:
    """An object that holds an array and does not show it in its repr."""

    def __init__(self, values, private=False):
        setattr(self, "_values" if private else "values", values)

    def __repr__(self):
        return "Held()"


class Slotted:
    __slots__ = ("values",)

    def __init__(self, values):
        self.values = values


def array_in(value):
    """The array inside a container."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, functools.partial):
        return value.keywords["weights"]
    if callable(value):
        return value.__closure__[0].cell_contents
    if isinstance(value, dict):
        return array_in(value["weights"])
    if isinstance(value, (list, tuple)):
        return array_in(value[0])
    return value.values if hasattr(value, "values") else value._values


def weighted_by(weights):
    return lambda x: x * weights


CONTAINERS = {
    "array": lambda a: a,
    "list": lambda a: [a],
    "tuple": lambda a: (a,),
    "dict": lambda a: {"weights": a},
    "nested": lambda a: [({"weights": [a]},)],
    "object": Held,
    "private attribute": lambda a: Held(a, private=True),
    "slots": Slotted,
    "partial": lambda a: functools.partial(np.multiply, weights=a),
    "closure": weighted_by,
}


class Weighted(K.Kernel):
    """Inner products with weights, which a container holds."""

    def __init__(self, held):
        self.held = held

    def _gram(self, X, Y):
        return (X * array_in(self.held)[: X.shape[1]]) @ (X if Y is None else Y).T


class Scaled(G.Transformations):
    """Points times weights, which a container holds; the weights are the elements."""

    unitary = False
    linear = True

    def __init__(self, held):
        self.held = held

    def _listed(self):
        return array_in(self.held)[:2]

    def _act(self, elements, X):
        return elements[:, None, None] * X


@pytest.mark.parametrize("build", [G.GeneratedPermutations, G.LinearMaps])
@pytest.mark.parametrize("kernel", [K.Average, K.BestFit])
def test_a_new_list_of_large_arrays_is_a_new_group(kernel, build):
    if build is G.LinearMaps:
        name = "matrices"
        points = SMALL
        n_transforms = None
        first_list = [large_maps(1)]
        second_list = [large_maps(2)]
    else:
        name = "permutations"
        points = LARGE
        n_transforms = 3
        first_list = [lines(1200, 1)]
        second_list = [lines(1200, 2)]
    group = build(first_list)
    reduced = kernel(K.Gaussian(1e-3), group, n_transforms=n_transforms, side="first")
    before = reduced(points)
    reduced.set_params(**{f"group__{name}": second_list})
    assert_array_equal(reduced(points), fresh(reduced)(points))
    assert np.any(reduced(points) != before)
    reduced.set_params(group=build(first_list))
    assert_array_equal(reduced(points), before)


def test_a_learner_that_is_fitted_again_uses_the_new_group():
    y = np.arange(6) % 2
    kernel = K.BestFit(K.Gaussian(1e-3), G.LinearMaps([large_maps(1)]), side="first")
    model = SVC(kernel=kernel, C=10.0).fit(SMALL, y)
    model.set_params(kernel__group__matrices=[large_maps(2)]).fit(SMALL, y)
    new = SVC(kernel=fresh(kernel), C=10.0).fit(SMALL, y)
    assert_array_equal(model.decision_function(SMALL), new.decision_function(SMALL))


@pytest.mark.parametrize("holds", CONTAINERS)
@pytest.mark.parametrize("size", [3, 3000])
def test_changes_in_place_take_effect_in_every_container(holds, size):
    held = CONTAINERS[holds](np.linspace(1, 2, max(size, 12)))
    plain = Weighted(held)
    nested = K.Hyperkernel(Weighted(held), 0.1)
    orbit = K.Average(K.Gaussian(0.1), Scaled(held), side="second")
    best = K.BestFit(K.Gaussian(0.1), Scaled(held))
    for kernel in (plain, nested, orbit, best):
        kernel(X, Z)
    array_in(held)[:] *= 1.5
    for kernel in (plain, nested, orbit, best):
        assert_array_equal(kernel(X, Z), copy.copy(kernel)(X, Z))
        if holds != "closure":  # closures cannot be pickled
            assert_array_equal(kernel(X, Z), pickle.loads(pickle.dumps(kernel))(X, Z))
        before = kernel(X, Z)
        array_in(held)[:2] *= 1 + 1e-9
        assert np.any(kernel(X, Z) != before)


def test_a_change_in_the_middle_of_an_array_takes_effect():
    permutation = lines(1200, 1)
    group = G.GeneratedPermutations([permutation])
    kernel = K.BestFit(K.Linear(), group, n_transforms=4)
    before = kernel(LARGE)
    permutation[600], permutation[601] = permutation[601], permutation[600]
    assert_array_equal(kernel(LARGE), fresh(kernel)(LARGE))
    assert np.any(kernel(LARGE) != before)


def test_changes_in_place_are_validated():
    permutation = np.array([1, 0, 2, 3])
    kernel = K.BestFit(K.Linear(), G.GeneratedPermutations([permutation]))
    kernel(X[:, :4])
    permutation[0] = 0  # no longer a permutation
    with pytest.raises(ValueError, match="permutations of 0"):
        kernel(X[:, :4])
    permutation[0] = 1
    kernel(X[:, :4])


def test_a_change_in_the_array_of_a_density_takes_effect():
    class Table(G.Density):
        symmetric = True
        periodic = True  # the values are those on the circle

        def __init__(self, values):
            self.values = values

        def pdf(self, x):
            return np.interp(x, np.linspace(-np.pi, np.pi, len(self.values)), self.values)

        def _distribution(self):
            raise NotImplementedError

    values = np.ones(2001)
    group = G.CircleAction([0, 0, 1, 1, 2, 2], Table(values), n_nodes=16)
    kernel = K.Average(K.Gaussian(0.1), group, tolerance=1e3)
    points = X[:, :6]
    before = kernel(points)
    values[900:1100] = 50.0
    assert_array_equal(kernel(points), copy.deepcopy(kernel)(points))
    assert np.abs(kernel(points) - before).max() > 1e-3


def test_nested_parameters_that_are_set_or_replaced_take_effect():
    kernel = K.Hyperkernel(K.Average(K.Gaussian(0.1), G.CyclicShifts(12)), 0.5)
    kernel(X)
    kernel.set_params(base__base__gamma=0.7)
    assert_array_equal(kernel(X), fresh(kernel)(X))
    kernel.base.group = G.CyclicShifts(4, block=3)
    assert_array_equal(kernel(X), fresh(kernel)(X))
    kernel.base.base = RBF(1.3)
    assert_array_equal(kernel(X), fresh(kernel)(X))
    kernel.base.base.length_scale = 0.4
    assert_array_equal(kernel(X), fresh(kernel)(X))
    product = K.Average(ConstantKernel(2.0) * DotProduct(), G.CyclicShifts(12))
    product(X)
    product.set_params(base__k1__constant_value=5.0)
    assert_allclose(product(X), fresh(product)(X))


def test_parameters_of_another_type_are_validated_even_if_they_are_equal():
    kernel = K.Polynomial(2)
    kernel(X)
    kernel.degree = 2.0
    with pytest.raises(ValueError, match="degree"):
        kernel(X)
    kernel.degree = True
    with pytest.raises(ValueError, match="degree"):
        kernel(X)
    shifts = G.Translations((3, 4), shifts=[[0, 0], [0, 1]])
    fit = K.BestFit(K.Linear(), shifts)
    fit(X)
    shifts.shifts[1][1] = 2
    assert_array_equal(fit(X), fresh(fit)(X))


def test_clones_and_pickles_give_the_values_of_the_kernel():
    kernel = K.BestFit(K.Gaussian(1e-3), G.LinearMaps([large_maps(1)]), side="first")
    gram = kernel(SMALL)
    for twin in (clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert_array_equal(twin(SMALL), gram)
        twin.set_params(group__matrices=[large_maps(2)])
        assert np.any(twin(SMALL) != gram)
        assert_array_equal(kernel(SMALL), gram)


def test_changes_in_objects_that_refer_to_each_other_take_effect():
    first = Held(np.ones(20))
    second = Held(np.ones(20))
    first.other, second.other = second, first
    kernel = Weighted(first)
    before = kernel(X)
    second.values[3] = 5.0
    assert_array_equal(kernel(X), before)
    first.values[3] = 5.0
    assert np.any(kernel(X) != before)


def test_a_call_does_not_depend_on_the_calls_before_it():
    points = np.vstack([X[:, :5], -X[:, :5], 2 * X[::-1, :5]])
    kernel = K.BestFit(DotProduct(0.5), G.CyclicShifts(5))
    gram = kernel(points)
    for _ in range(3):
        kernel.theta = kernel.theta
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(kernel(points), gram)
        with pytest.warns(UserWarning, match="not positive definite"):
            kernel(points, eval_gradient=True)


# -- a subclass that loses a fast method causes a warning when it is defined -----------------------


def test_a_kernel_class_that_overrides_call_warns_about_the_methods_it_loses():
    with pytest.warns(UserWarning, match=r"Logged.*__call__.*inner_form = Gaussian\.inner_form"):

        class Logged(K.Gaussian):
            def __call__(self, X, Y=None, eval_gradient=False):
                return super().__call__(X, Y, eval_gradient)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K.Average(Logged(0.1), G.CyclicShifts(12))(X)  # the warning came when the class was defined

        class Declared(K.Gaussian):
            inner_form = K.Gaussian.inner_form
            closed_form = K.Gaussian.closed_form

            def __call__(self, X, Y=None, eval_gradient=False):
                return super().__call__(X, Y, eval_gradient)

        class Slower(K.Gaussian):
            inner_form = K.Kernel.inner_form

            def _gram(self, X, Y):
                return super()._gram(X, Y) ** 2

        class Sharper(K.Gaussian):  # no fast method depends on is_stationary
            def is_stationary(self):
                return False

        class New(K.Kernel):
            def _gram(self, X, Y):
                return X @ (X if Y is None else Y).T

    assert (
        K.Average(Declared(0.1), G.CyclicShifts(12)).explain(X).way != "product, kernel evaluated"
    )


def test_a_group_class_that_overrides_elements_warns_about_the_methods_it_loses():
    with pytest.warns(UserWarning, match=r"Tagged.*elements.*as_shifts = CyclicShifts\.as_shifts"):

        class Tagged(G.CyclicShifts):
            def elements(self):
                return super().elements()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Tagged(4).as_shifts(Tagged(4).elements()) is None

        class Same(G.CyclicShifts):
            as_shifts = G.CyclicShifts.as_shifts

            def elements(self):
                return super().elements()

        class FirstTwo(G.CyclicShifts):
            as_shifts = G.Transformations.as_shifts

            def elements(self):
                return super().elements()[:2]

        class Named(G.CyclicShifts):
            def __repr__(self):
                return "Named"

        class Trivial(G.FiniteGroup):
            order = 1
            identity = generators = compose = inverse = _act = lambda self, *args: np.ones(1)

    assert Same(4).as_shifts(Same(4).elements()) is not None
    assert FirstTwo(4).as_shifts(FirstTwo(4).elements()) is None


def test_a_closed_form_that_would_never_be_used_causes_a_warning():
    with pytest.warns(UserWarning, match=r"Silent.*closed_form.*preserved_by"):

        class Silent(K.Kernel):
            def _gram(self, X, Y):
                return X @ (X if Y is None else Y).T

            def closed_form(self, group, largest):
                return None

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Heard(K.Kernel):
            unitary_invariant = True

            def _gram(self, X, Y):
                return X @ (X if Y is None else Y).T

            def closed_form(self, group, largest):
                return None
