"""Gradients of kernels of PyTorch's tensors, through both arguments and through `normalize`.

The definition is a sum, or a maximum, over listed elements, in which PyTorch does everything: the
elements are matrices. Where no elements can be listed, finite differences stand for it.
"""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import ConstantKernel, Exponentiation, Product, Sum

from invariance import beyond as B
from invariance import groups as G
from invariance.kernels import Average, BestFit, Gaussian, Laplacian, Linear, Locality, Polynomial

pytest.importorskip("array_api_compat", reason="array-api-compat (extra torch) is not installed")
torch = pytest.importorskip("torch", reason="torch (extra torch) is not installed")

RNG = np.random.default_rng(0)
ALL_POINTS = RNG.standard_normal((4, 16))

#: Quarter turns about two axes of a cube.
CUBE = [[[0, -1, 0], [1, 0, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]]
#: Groups whose elements can be listed, with the length of the points.
LISTED = {
    "shifts": (G.CyclicShifts(6), 6),
    "shifts of an image": (G.CyclicTranslations((2, 3)), 6),
    "shifts that lose points": (G.Translations((1, 6), 2, boundary="zero"), 6),
    "permutations": (G.Permutations(4), 4),
    "permutations of blocks": (G.Permutations(3, block=2), 6),
    "generated permutations": (G.GeneratedPermutations([[1, 2, 0, 3]]), 4),
    "sign changes": (G.SignFlips(4), 4),
    "signed permutations": (G.SignedPermutations(3), 3),
    "negation": (G.Negation(), 4),
    "rotations of an image": (G.Rotations((2, 3), degrees=[0, 20, 90]), 6),
    "rotations of a cube": (G.OrthogonalMatrices(CUBE).on_each(2), 6),
    "rotations of labelled points": (
        G.OnPoints(B.PlaneRotations(4), 3, coordinates=(1, 2)),
        6,
    ),
    "coefficients on a circle": (G.CircleAction([0, 1, 1, 2, 2], n_nodes=6), 5),
    "shifts, then a rotation": (G.CyclicShifts(2, block=2).then(B.PlaneRotations(3)), 4),
    "orders within and of teams": (B.Wreath(G.Permutations(2), G.Permutations(2)), 4),
    "moved angles": (G.TorusTranslations([2, 3]), 2),
    "maps to fewer numbers": (G.LinearMaps(RNG.standard_normal((2, 3, 4))), 4),
}
#: Groups of infinitely many, or of too many, elements.
NOT_LISTED = {
    "the circle": (G.CircleAction([0, 1, 1, 2, 2]), 5),
    "all rotations of the plane": (B.PlaneRotations(), 4),
    "all rotations of space": (B.Rotations3D(), 6),
    "shifts, then any rotation": (G.CyclicShifts(2, block=3).then(B.Rotations3D()), 6),
    "rotations and mirror images": (B.Rotations3D().then(G.Negation()), 6),
}


def tensors(d, n=2, m=2):
    X = torch.tensor(ALL_POINTS[:n, :d], requires_grad=True)
    Y = torch.tensor(ALL_POINTS[2 : 2 + m, :d] + 0.1, requires_grad=True)
    return X, Y


def matrices_and_shifts(group, d):
    """The elements as g x = A x + b, with their weights."""
    elements, weights = group.quadrature()
    origin = group.act(elements, np.zeros((1, d))).reshape(len(elements), -1)
    images = group.act(elements, np.eye(d)).reshape(len(elements), d, -1)
    return [torch.tensor(part) for part in (images - origin[:, None], origin, weights)]


def moved(group, X):
    matrices, shifts, weights = matrices_and_shifts(group, X.shape[1])
    return torch.matmul(X, matrices) + shifts[:, None], weights


def base_values(base, X, Y):
    """k(x, z) for all pairs of rows."""
    if isinstance(base, Sum):
        return base_values(base.k1, X, Y) + base_values(base.k2, X, Y)
    if isinstance(base, Product):
        return base_values(base.k1, X, Y) * base_values(base.k2, X, Y)
    if isinstance(base, Exponentiation):
        return base_values(base.kernel, X, Y) ** base.exponent
    if isinstance(base, ConstantKernel):
        return torch.full((len(X), len(Y)), base.constant_value, dtype=X.dtype)
    if isinstance(base, Laplacian):
        return torch.exp(-base.gamma * (X[:, None] - Y).abs().sum(axis=2))
    if isinstance(base, Gaussian):
        return torch.exp(-base.gamma * ((X[:, None] - Y) ** 2).sum(axis=2))
    return (base.coef0 + base.gamma * X @ Y.T) ** base.degree


def mean_of_orbits(base, group, X, Y):
    moved_X, weights = moved(group, X)
    moved_Y, _ = moved(group, Y)
    values = base_values(base, moved_X.flatten(0, 1), moved_Y.flatten(0, 1))
    values = values.reshape(len(weights), len(X), len(weights), len(Y))
    return torch.einsum("g,h,gnhm->nm", weights, weights, values)


def normalized_mean(base, group, X, Y):
    means = mean_of_orbits(base, group, X, Y)
    norms_X = mean_of_orbits(base, group, X, X).diagonal() ** 0.5
    norms_Y = mean_of_orbits(base, group, Y, Y).diagonal() ** 0.5
    return means / norms_X[:, None] / norms_Y


def largest_of_orbit(base, group, X, Y):
    moved_Y, _ = moved(group, Y)
    return torch.stack([base_values(base, X, g_Y) for g_Y in moved_Y]).amax(axis=0)


def assert_same_derivatives(function, expected, *points):
    """Values, and gradients with respect to all points, of a random combination of the values."""
    values = function(*points)
    expected_values = expected(*points)
    weights = torch.tensor(np.random.default_rng(1).standard_normal(tuple(values.shape)))
    gradients = torch.autograd.grad((weights * values).sum(), points)
    expected_gradients = torch.autograd.grad((weights * expected_values).sum(), points)
    assert_allclose(values.detach(), expected_values.detach(), rtol=1e-9, atol=1e-12)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        assert float(expected_gradient.abs().max()) > 1e-3
        assert_allclose(gradient, expected_gradient, rtol=1e-7, atol=1e-9)


BASES = [Gaussian(0.3), Polynomial(3, 0.3)]


@pytest.mark.parametrize("base", BASES, ids=["Gaussian", "Polynomial"])
@pytest.mark.parametrize("name", LISTED)
def test_gradients_are_those_of_the_definition(name, base):
    group, d = LISTED[name]
    points = tensors(d)
    definition = partial(mean_of_orbits, base, group)
    assert_same_derivatives(Average(base, group), definition, *points)
    normalized = Average(base, group, normalize=True)
    assert_same_derivatives(normalized, partial(normalized_mean, base, group), *points)
    if group.keeps_shape:
        definition = partial(largest_of_orbit, base, group)
        assert_same_derivatives(BestFit(base, group), definition, *points)


#: Kernels that are evaluated for each element.
EVALUATED = {
    "Laplacian": Laplacian(0.4),
    "sum": Gaussian(0.3) + Polynomial(2, 0.1),
    "product": Laplacian(0.2) * Gaussian(0.1),
    "scaled, and a constant": ConstantKernel(2.0) * Gaussian(0.3) + ConstantKernel(0.5),
    "power": (Gaussian(0.2) + Laplacian(0.1)) ** 2,
}


@pytest.mark.parametrize("base", EVALUATED)
@pytest.mark.parametrize("name", ["shifts", "sign changes", "coefficients on a circle"])
def test_sums_products_and_laplacians_have_gradients(assert_derivatives, name, base):
    group, d = LISTED[name]
    kernel = EVALUATED[base]
    X, Y = tensors(d)
    assert_same_derivatives(Average(kernel, group), partial(mean_of_orbits, kernel, group), X, Y)
    assert_same_derivatives(BestFit(kernel, group), partial(largest_of_orbit, kernel, group), X, Y)
    normalized = partial(normalized_mean, kernel, group)
    assert_same_derivatives(Average(kernel, group, normalize=True), normalized, X, Y)
    assert_derivatives(Average(kernel, group), X, Y)


def test_a_subclass_with_its_own_values_has_not_the_gradients_of_its_parent():
    class Halved(Laplacian):
        closed_form = Laplacian.closed_form

        def _gram(self, X, Y):
            return super()._gram(X, Y) / 2

    with pytest.raises(TypeError, match="Halved takes NumPy arrays only"):
        Halved(0.1)(tensors(4)[0])


@pytest.mark.parametrize("name", ["shifts", "sign changes", "rotations of a cube"])
def test_both_arguments_may_be_the_same_tensor(assert_derivatives, name):
    group, d = LISTED[name]
    X, _ = tensors(d)
    base = Gaussian(0.3)
    for kernel, definition in (
        (Average(base, group), mean_of_orbits),
        (Average(base, group, normalize=True), normalized_mean),
        (BestFit(base, group), largest_of_orbit),
    ):
        for gram in (kernel, lambda A, kernel=kernel: kernel(A, A)):
            assert_same_derivatives(
                gram, lambda A, definition=definition: definition(base, group, A, A), X
            )
        assert_derivatives(kernel, X)


@pytest.mark.parametrize("name", ["shifts", "sign changes", "coefficients on a circle"])
def test_derivatives_of_second_order_and_in_forward_mode(assert_derivatives, name):
    group, d = LISTED[name]
    X, Y = tensors(d, 1, 1)
    for kernel in (Average(Gaussian(0.3), group), BestFit(Gaussian(0.3), group)):
        assert_derivatives(kernel, X, Y, forward=True)
        assert torch.autograd.gradgradcheck(kernel, (X, Y))


def test_equal_points_have_the_mixed_derivatives_of_a_gaussian():
    """d^2/dx dz exp(-gamma (x - z)^2) = 2 gamma at x = z, however distances are rounded."""
    points = 3 * RNG.standard_normal((20, 1))
    X = torch.tensor(points, requires_grad=True)
    Y = torch.tensor(points, requires_grad=True)
    (slope,) = torch.autograd.grad(Gaussian(0.3)(X, Y).diagonal().sum(), X, create_graph=True)
    (mixed,) = torch.autograd.grad(slope.sum(), Y)
    assert_allclose(mixed, np.full((20, 1), 0.6))


@pytest.mark.parametrize("kind", [Average, BestFit])
@pytest.mark.parametrize("name", NOT_LISTED)
def test_gradients_over_infinite_groups_agree_with_finite_differences(
    assert_derivatives, name, kind
):
    group, d = NOT_LISTED[name]
    kernel = kind(Gaussian(0.1), group)
    X, Y = tensors(d, 1, 2)
    values = kernel(X, Y).detach()
    expected = kernel(X.detach().numpy(), Y.detach().numpy())
    assert_allclose(values, expected, atol=1e-4 if kind is Average else 1e-10)
    assert_derivatives(kernel, X, Y)


@pytest.mark.parametrize("group", [G.Permutations(12), G.Permutations(8, block=2)], ids=repr)
@pytest.mark.parametrize("base", [Gaussian(0.01), Polynomial(2, 0.1)], ids=["Gaussian", "even"])
@pytest.mark.filterwarnings("ignore:.*do not commute")
def test_maxima_over_groups_that_are_too_large_to_list_have_gradients(
    assert_derivatives, group, base
):
    X, Y = tensors(group.n_features, 1, 2)
    kernel = BestFit(base, group)
    assert_allclose(kernel(X, Y).detach(), kernel(X.detach().numpy(), Y.detach().numpy()))
    assert_derivatives(kernel, X, Y)


@pytest.mark.parametrize("side", ["first", "second"])
@pytest.mark.parametrize("kind", [Average, BestFit])
def test_either_side_has_gradients_through_both_arguments(kind, side):
    group, d = LISTED["rotations of an image"]
    kernel = kind(Gaussian(0.3), group, side=side)
    X, Y = tensors(d)
    base = Gaussian(0.3)

    def definition(A, Z):
        if side == "first":
            return definition_of_second(Z, A).T
        return definition_of_second(A, Z)

    def definition_of_second(A, Z):
        values = torch.stack([base_values(base, A, g_Z) for g_Z in moved(group, Z)[0]])
        return values.mean(axis=0) if kind is Average else values.amax(axis=0)

    assert_same_derivatives(kernel, definition, X, Y)


def test_a_kernel_that_is_evaluated_has_gradients_over_a_group():
    """`Locality` lifts points with NumPy: every transformed point is evaluated instead."""
    base = Locality((3, 3), 3, powers=(2, 2))
    group = G.CyclicTranslations((3, 3))
    X, Y = tensors(9)
    elements = group.elements()
    for kind in (Average, BestFit):
        values = kind(base, group, side="second")

        def definition(A, Z, kind=kind):
            Z_moved = torch.stack(
                [Z @ torch.tensor(group.act(g[None], np.eye(9))[0]) for g in elements]
            )
            grams = torch.stack([base(A, g_Z) for g_Z in Z_moved])
            return grams.mean(axis=0) if kind is Average else grams.amax(axis=0)

        assert_same_derivatives(values, definition, X, Y)


@pytest.mark.parametrize("kind", [Average, BestFit])
def test_points_far_from_the_origin_keep_their_gradients(kind):
    group, d = LISTED["shifts"]
    X, Y = tensors(d)
    base = Gaussian(0.3)
    definition = mean_of_orbits if kind is Average else largest_of_orbit

    def far(A, Z):
        return kind(base, group)(A + 1e6, Z + 1e6)

    expected = definition(base, group, X, Y).detach()
    assert_allclose(far(X, Y).detach(), expected, rtol=1e-6)
    values = far(X, Y)
    gradients = torch.autograd.grad(values.sum(), (X, Y))
    expected = torch.autograd.grad(definition(base, group, X, Y).sum(), (X, Y))
    for gradient, expected_gradient in zip(gradients, expected, strict=True):
        assert_allclose(gradient, expected_gradient, rtol=1e-5, atol=1e-8)


def test_maps_that_are_not_linear_are_refused_with_a_remedy():
    group = G.SortedNoise(3)
    X, Y = tensors(9)
    with pytest.raises(ValueError, match="no gradient passes through it: transform the other"):
        Average(Linear(), group, side="second", n_transforms=2)(X, Y)


def test_single_precision_and_drawn_elements():
    group, d = LISTED["permutations"]
    kernel = Average(Gaussian(0.3), group, n_transforms=5, side="second")
    X, Y = tensors(d)
    elements = kernel.elements()

    def definition(A, Z):
        moved_Z = [Z @ torch.tensor(group.act(g[None], np.eye(d))[0]) for g in elements]
        return torch.stack([base_values(Gaussian(0.3), A, g_Z) for g_Z in moved_Z]).mean(axis=0)

    assert_same_derivatives(kernel, definition, X, Y)
    single = [points.detach().float().requires_grad_() for points in (X, Y)]
    gradients = torch.autograd.grad(kernel(*single).sum(), single)
    expected = torch.autograd.grad(kernel(X, Y).sum(), (X, Y))
    for gradient, expected_gradient in zip(gradients, expected, strict=True):
        assert gradient.dtype == torch.float32
        assert_allclose(gradient, expected_gradient, atol=1e-5)
