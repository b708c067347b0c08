"""`BestFit.best_element`: the element that it returns attains the maximum over the group."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import beyond as B
from invariance import groups as G
from invariance.core.parameters import ParameterError
from invariance.kernels import BestFit, Gaussian, Laplacian, Linear, Locality, Polynomial

RNG = np.random.default_rng(0)
ALL_X, ALL_Y = RNG.standard_normal((2, 3, 24))
ROTATIONS = B.Rotations3D()

#: Groups with the number of features of their points.
GROUPS = {
    "cyclic shifts": (G.CyclicShifts(6), 6),
    "shifts of images": (G.CyclicTranslations((3, 4)), 12),
    "shifts that lose points": (G.Translations((1, 6), 2, boundary="zero"), 6),
    "permutations": (G.Permutations(6), 6),
    "permutations of blocks": (G.Permutations(3, block=2), 6),
    "many permutations": (G.Permutations(20), 20),
    "many permutations of blocks": (G.Permutations(12, block=2), 24),
    "generated permutations": (G.GeneratedPermutations([[1, 2, 0, 3]]), 4),
    "sign changes": (G.SignFlips(6), 6),
    "many sign changes": (G.SignFlips(24), 24),
    "signed permutations": (G.SignedPermutations(4), 4),
    "many signed permutations": (G.SignedPermutations(12), 12),
    "negation": (G.Negation(), 5),
    "side by side": (G.DirectProduct([G.Permutations(10), G.SignFlips(10)]), 20),
    "two shifts": (G.DirectProduct([G.CyclicShifts(3), G.CyclicShifts(2)]), 5),
    "rotated images": (G.Rotations((3, 3), degrees=[0, 20, 90]), 9),
    "nodes of a circle": (G.CircleAction([0, 1, 1, 2, 2], n_nodes=8), 5),
    "a circle": (G.CircleAction([0, 1, 1, 2, 2, 5, 5]), 7),
    "a circle of one frequency": (G.CircleAction([0, 3, 3, 3, 3]), 5),
    "rotations of the plane": (B.PlaneRotations(), 6),
    "rotations of space": (ROTATIONS, 12),
    "nodes in space": (B.Rotations3D(2), 6),
    "rotations of some columns": (ROTATIONS.on_columns([0, 2, 3]), 5),
    "rotations of labelled points": (G.OnPoints(B.PlaneRotations(6), 3, coordinates=(1, 2)), 6),
    "mirror images": (ROTATIONS.then(G.Negation()), 9),
    "shifts, then any rotation": (G.CyclicShifts(3, block=3).then(ROTATIONS), 9),
    "any rotation, then signs and shifts": (
        ROTATIONS.then(G.SignFlips(2).on_columns([1, 5])).then(G.CyclicShifts(2, block=3)),
        6,
    ),
    "lost points, then any rotation": (
        G.Translations((2, 3), 1, boundary="zero").then(ROTATIONS),
        6,
    ),
    "rotations and mirror images of points": (G.OnPoints(ROTATIONS.then(G.Negation()), 3), 6),
    "a composition": (G.CyclicShifts(4).then(G.SignFlips(4)), 4),
    "teams": (B.Wreath(G.Permutations(2), G.Permutations(2), block=2), 8),
}


def values_at_elements(base, group, elements, X, Y):
    """k_0(x, g z) at the element g of each pair: the definition, one pair at a time."""
    values = np.empty(elements.shape[:2])
    for i, j in np.ndindex(values.shape):
        moved = group.act(elements[i, [j]], Y[[j]]).reshape(1, -1)
        values[i, j] = base(X[[i]], moved)[0, 0]
    return values


@pytest.mark.parametrize("base", [Gaussian(0.1), Polynomial(2, 0.5)], ids=["Gaussian", "even"])
@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.filterwarnings("ignore:.*do not commute")
def test_the_best_element_attains_the_kernel_and_no_element_is_better(name, base):
    group, d = GROUPS[name]
    X = ALL_X[:, :d]
    Y = ALL_Y[:2, :d]
    kernel = BestFit(base, group)
    elements = kernel.best_element(X, Y)
    assert elements.shape[:2] == (3, 2)
    attained = values_at_elements(base, group, elements, X, Y)
    assert_allclose(attained, kernel(X, Y), rtol=1e-9, atol=1e-12)
    if group.order <= 1000:
        others = group.elements()
    else:
        others = group.sample(300, random_state=0)
    for moved in group.act(others, Y):
        assert np.all(base(X, moved.reshape(2, -1)) <= attained + 1e-12)


@pytest.mark.parametrize(
    "base",
    [Laplacian(0.1), Locality((3, 3), 3, powers=(2, 3)), Gaussian(0.1) + Linear(), Linear()],
    ids=["Laplacian", "Locality", "sum", "Linear"],
)
def test_kernels_of_any_kind_over_shifts(base):
    group = G.CyclicTranslations((3, 3))
    X = ALL_X[:, :9]
    Y = ALL_Y[:2, :9]
    kernel = BestFit(base, group)
    attained = values_at_elements(base, group, kernel.best_element(X, Y), X, Y)
    assert_allclose(attained, kernel(X, Y), rtol=1e-9)


def test_the_other_side_drawn_elements_and_one_argument():
    group = G.Rotations((3, 3), degrees=[-30, 0, 30, 90])
    X = ALL_X[:, :9]
    Y = ALL_Y[:2, :9]
    first = BestFit(Gaussian(0.1), group, side="first")
    elements = first.best_element(X, Y)
    attained = values_at_elements(Gaussian(0.1), group, elements.swapaxes(0, 1), Y, X).T
    assert_allclose(attained, first(X, Y))
    drawn = BestFit(Gaussian(0.1), G.Permutations(9), n_transforms=4)
    elements = drawn.best_element(X)
    attained = values_at_elements(Gaussian(0.1), G.Permutations(9), elements, X, X)
    assert_allclose(attained, drawn(X))
    shifts = BestFit(Gaussian(0.1), G.CyclicShifts(9))
    own = shifts.best_element(X)[np.arange(3), np.arange(3)]
    assert_allclose(own, np.tile(np.arange(1, 10), (3, 1)))  # the identity


def test_points_whose_kernel_vanishes_are_aligned_too():
    x = 100 * np.arange(5.0)
    z = np.roll(x, 2)
    group = G.CyclicShifts(5)
    element = BestFit(Gaussian(10.0), group).best_element([x + 7], [z])[0]
    assert_allclose(group.act(element, z[None])[0, 0], x)


def test_a_superposition_undoes_a_rotation():
    points = RNG.standard_normal((1, 15))
    rotation = ROTATIONS.sample(1, random_state=1)
    moved = ROTATIONS.act(rotation, points)[0]
    (element,) = BestFit(Gaussian(1.0), ROTATIONS).best_element(points, moved)
    assert_allclose(element[0], rotation[0].T, atol=1e-12)
    assert_allclose(np.linalg.det(element[0]), 1.0)


def test_a_set_without_a_best_element_says_so():
    group = G.Rotations((3, 3))
    with pytest.raises(ParameterError, match="infinitely many elements"):
        BestFit(Gaussian(0.1), group).best_element(ALL_X[:, :9])


def test_tensors_have_the_same_best_elements():
    pytest.importorskip(
        "array_api_compat", reason="array-api-compat (extra torch) is not installed"
    )
    torch = pytest.importorskip("torch", reason="torch (extra torch) is not installed")
    X = torch.tensor(ALL_X[:, :6], requires_grad=True)
    kernel = BestFit(Gaussian(0.1), G.Permutations(6))
    assert np.array_equal(kernel.best_element(X), kernel.best_element(ALL_X[:, :6]))
