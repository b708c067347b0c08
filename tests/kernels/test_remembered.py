"""What kernels remember: the answer is that of a new kernel with the same parameters."""

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
X, Z = RNG.standard_normal((8, 12)), RNG.standard_normal((5, 12))


def lines(n, seed):
    """A permutation of n places that leaves the first and the last 20 alone."""
    moved = np.arange(n)
    inside = moved[20:-20].copy()
    np.random.default_rng(seed).shuffle(inside)
    moved[20:-20] = inside
    return moved


def fresh(kernel):
    """The same kernel, which remembers nothing."""
    return clone(kernel)


def large_maps(seed):
    return np.random.default_rng(seed).standard_normal((40, 40))


LARGE = RNG.standard_normal((6, 1200))
SMALL = RNG.standard_normal((6, 40))


class Held:
    """An array in an object whose repr says nothing of it."""

    def __init__(self, values, private=False):
        setattr(self, "_values" if private else "values", values)

    def __repr__(self):
        return "Held()"


class Slotted:
    __slots__ = ("values",)

    def __init__(self, values):
        self.values = values


def array_in(value):
    """The array that some container holds."""
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
    """Inner products with weights, wherever these are held."""

    def __init__(self, held):
        self.held = held

    def _gram(self, X, Y):
        return (X * array_in(self.held)[: X.shape[1]]) @ (X if Y is None else Y).T


class Scaled(G.Transformations):
    """Points times weights, wherever these are held; plans keep the elements."""

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
def test_another_list_of_large_arrays_is_another_group(kernel, build):
    if build is G.LinearMaps:
        name, points, n_transforms = "matrices", SMALL, None
        one, two = [large_maps(1)], [large_maps(2)]
    else:
        name, points, n_transforms = "permutations", LARGE, 3
        one, two = [lines(1200, 1)], [lines(1200, 2)]
    group = build(one)
    made = kernel(K.Gaussian(1e-3), group, n_transforms=n_transforms, side="first")
    before = made(points)
    made.set_params(**{f"group__{name}": two})
    assert_array_equal(made(points), fresh(made)(points))
    assert np.any(made(points) != before)
    made.set_params(group=build(one))
    assert_array_equal(made(points), before)


def test_a_learner_that_is_fitted_again_sees_the_new_group():
    y = np.arange(6) % 2
    kernel = K.BestFit(K.Gaussian(1e-3), G.LinearMaps([large_maps(1)]), side="first")
    model = SVC(kernel=kernel, C=10.0).fit(SMALL, y)
    model.set_params(kernel__group__matrices=[large_maps(2)]).fit(SMALL, y)
    new = SVC(kernel=fresh(kernel), C=10.0).fit(SMALL, y)
    assert_array_equal(model.decision_function(SMALL), new.decision_function(SMALL))


@pytest.mark.parametrize("holds", CONTAINERS)
@pytest.mark.parametrize("size", [3, 3000])
def test_changes_in_place_are_seen_wherever_the_array_is(holds, size):
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
        if holds != "closure":  # Python pickles none
            assert_array_equal(kernel(X, Z), pickle.loads(pickle.dumps(kernel))(X, Z))
        moved = kernel(X, Z)
        array_in(held)[:2] *= 1 + 1e-9
        assert np.any(kernel(X, Z) != moved)


def test_an_entry_in_the_middle_counts_as_much_as_one_at_the_end():
    permutation = lines(1200, 1)
    group = G.GeneratedPermutations([permutation])
    kernel = K.BestFit(K.Linear(), group, n_transforms=4)
    before = kernel(LARGE)
    permutation[600], permutation[601] = permutation[601], permutation[600]
    assert_array_equal(kernel(LARGE), fresh(kernel)(LARGE))
    assert np.any(kernel(LARGE) != before)


def test_changes_in_place_are_checked():
    permutation = np.array([1, 0, 2, 3])
    kernel = K.BestFit(K.Linear(), G.GeneratedPermutations([permutation]))
    kernel(X[:, :4])
    permutation[0] = 0  # now no permutation
    with pytest.raises(ValueError, match="permutations of 0"):
        kernel(X[:, :4])
    permutation[0] = 1
    kernel(X[:, :4])


def test_a_density_with_an_array_of_its_own():
    class Table(G.Density):
        symmetric = True

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


def test_nested_parameters_that_are_set_or_replaced():
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


def test_values_that_are_equal_but_not_the_same_are_checked_anew():
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


def test_clones_and_pickles_answer_as_the_kernel():
    kernel = K.BestFit(K.Gaussian(1e-3), G.LinearMaps([large_maps(1)]), side="first")
    gram = kernel(SMALL)
    for twin in (clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert_array_equal(twin(SMALL), gram)
        twin.set_params(group__matrices=[large_maps(2)])
        assert np.any(twin(SMALL) != gram)
        assert_array_equal(kernel(SMALL), gram)


def test_objects_that_hold_each_other_are_followed_once():
    one, two = Held(np.ones(20)), Held(np.ones(20))
    one.other, two.other = two, one
    kernel = Weighted(one)
    before = kernel(X)
    two.values[3] = 5.0
    assert_array_equal(kernel(X), before)
    one.values[3] = 5.0
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


# -- a class that loses the fast ways is told so when it is defined --------------------------------


def test_a_kernel_that_only_passes_calls_on_is_told_what_it_loses():
    with pytest.warns(UserWarning, match=r"Logged.*__call__.*inner_form = Gaussian\.inner_form"):

        class Logged(K.Gaussian):
            def __call__(self, X, Y=None, eval_gradient=False):
                return super().__call__(X, Y, eval_gradient)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K.Average(Logged(0.1), G.CyclicShifts(12))(X)  # once, when it is defined

        class Said(K.Gaussian):
            inner_form = K.Gaussian.inner_form
            closed_form = K.Gaussian.closed_form

            def __call__(self, X, Y=None, eval_gradient=False):
                return super().__call__(X, Y, eval_gradient)

        class Slower(K.Gaussian):
            inner_form = K.Kernel.inner_form

            def _gram(self, X, Y):
                return super()._gram(X, Y) ** 2

        class Sharper(K.Gaussian):  # changes nothing that a fast way rests on
            def is_stationary(self):
                return False

        class New(K.Kernel):
            def _gram(self, X, Y):
                return X @ (X if Y is None else Y).T

    assert K.Average(Said(0.1), G.CyclicShifts(12)).explain(X).way != "product, kernel evaluated"


def test_a_group_that_only_passes_its_elements_on_is_told_what_it_loses():
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

        class Other(G.CyclicShifts):
            as_shifts = G.Transformations.as_shifts

            def elements(self):
                return super().elements()[:2]

        class Named(G.CyclicShifts):
            def __repr__(self):
                return "Named"

        class Own(G.FiniteGroup):
            order = 1
            identity = generators = compose = inverse = _act = lambda self, *given: np.ones(1)

    assert Same(4).as_shifts(Same(4).elements()) is not None
    assert Other(4).as_shifts(Other(4).elements()) is None


def test_closed_forms_that_nobody_will_ask_for_are_told_of():
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
