"""Features of sets: sums over points, patches as points, molecules as sets of atoms."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from invariance.beyond import (
    PlaneRotations,
    SetFeatures,
    SetKernel,
    atom_environments,
    graph_nodes,
    pad_sets,
    patch_sets,
)
from invariance.core.parameters import ParameterError
from invariance.features import OrbitFourier, OrbitNystroem
from invariance.groups import SignFlips
from invariance.kernels import Average, Gaussian, Hyperkernel

RNG = np.random.default_rng(0)
SETS = [RNG.standard_normal((m, 2)) for m in RNG.integers(1, 7, 12)]
X = pad_sets(SETS)


@pytest.mark.parametrize("block_bytes", [None, 300])
def test_set_features_are_means_or_sums_of_features_of_points(block_bytes):
    psi = OrbitFourier(n_components=5, gamma=0.5, random_state=0)
    model = SetFeatures(psi, block_bytes=block_bytes).fit(X)
    of_points = [model.features_[None].transform(points) for points in SETS]
    assert_allclose(model.transform(X), [values.mean(axis=0) for values in of_points])
    total = SetFeatures(psi, "sum", block_bytes=block_bytes).fit(X).transform(X)
    assert_allclose(total, [values.sum(axis=0) for values in of_points])
    assert_allclose(SetFeatures().fit_transform(X)[0], SETS[0].mean(axis=0))


def test_nystrom_features_with_all_landmarks_reproduce_the_set_kernel():
    labels = (3 * RNG.random(X.shape[:2])[..., None]).round()
    everything = np.concatenate([np.where(np.isnan(X[..., :1]), np.nan, labels), X], axis=2)
    for group in (None, SignFlips(2)):
        base = Gaussian(0.7) if group is None else Average(Gaussian(0.7), group)
        psi = OrbitNystroem(None, 200, kernel=base, random_state=0)
        with pytest.warns(UserWarning, match="landmarks"):
            features = SetFeatures(psi, labelled=True).fit_transform(everything)
        expected = SetKernel(base, labelled=True)(everything)
        assert_allclose(features @ features.T, expected, atol=1e-8)


def test_each_point_of_a_set_is_transformed_independently():
    group = PlaneRotations(16)
    model = SetFeatures(OrbitFourier(group, 30, gamma=0.3, random_state=0)).fit(X)
    turned = X.copy()
    for point in turned.reshape(-1, 2):
        point[:] = group.act(RNG.choice(group.elements(), 1), point[None])[0, 0]
    assert_allclose(model.transform(turned), model.transform(X), atol=1e-12)


def test_new_sets_may_have_other_sizes_and_labels():
    labelled = np.concatenate([np.where(np.isnan(X[..., :1]), np.nan, 1.0), X], axis=2)
    model = SetFeatures(labelled=True).fit(labelled)
    new = np.array([[[1.0, 5.0, 6.0], [2.0, 7.0, 8.0]]])
    assert_allclose(
        model.transform(new), [[2.5, 3.0]]
    )  # points of label 2 contribute half of the mean
    assert_allclose(model.transform(new[:, 1:]), [[0.0, 0.0]])


# -- images as sets of patches ---------------------------------------------------------------------


def test_patches_are_in_reading_order_with_their_positions():
    images = RNG.random((3, 5 * 6 * 2))
    sets = patch_sets(images, (5, 6, 2), size=3, stride=2, place=0.5)
    assert sets.shape == (3, 2 * 2, 3 * 3 * 2 + 2)
    assert_allclose(sets[1, 3, :-2], images.reshape(3, 5, 6, 2)[1, 2:5, 2:5].ravel())
    assert_allclose(sets[1, :, -2:], [[0, 0], [0, 1], [1, 0], [1, 1]])
    assert patch_sets(images, (5, 6, 2), size=5).shape == (3, 2, 50)


# -- molecules as sets of atoms --------------------------------------------------------------------

WATER = np.array([[0.0, 0.0, 0.12], [0.76, 0.0, -0.48], [-0.76, 0.0, -0.48]])
METHANOL = np.array(
    [
        *([0.75, 0.02, 0.0], [-0.66, -0.02, 0.0]),
        *([1.13, -0.49, 0.89], [1.13, -0.49, -0.89], [1.1, 1.05, 0.0], [-1.0, 0.87, 0.1]),
    ]
)
CHARGES = np.array([[8, 1, 1, 0, 0, 0], [6, 8, 1, 1, 1, 1]])
POSITIONS = np.stack([np.concatenate([WATER, np.zeros((3, 3))]), METHANOL])


def plain_environment(R, Z, i, elements, cutoff, n_pairs, n_triples):
    """FCHL19 of one atom, term by term (Christensen et al. 2020, eqs. 5 to 13)."""
    atoms = [j for j in range(len(Z)) if Z[j] and j != i]
    pairs = np.zeros((len(elements), n_pairs))
    pairs_of = [(e, f) for a, e in enumerate(elements) for f in elements[a:]]
    triples = np.zeros((2, len(pairs_of), n_triples))

    def r(a, b):
        return np.linalg.norm(R[a] - R[b])

    def fade(d):
        return (np.cos(np.pi * d / cutoff) + 1) / 2 if d < cutoff else 0.0

    def cosine(a, b, c):
        """Cosine of the angle at a."""
        return (R[b] - R[a]) @ (R[c] - R[a]) / r(a, b) / r(a, c)

    reads = cutoff * np.arange(1, n_pairs + 1) / n_pairs
    for j in atoms:
        d = r(i, j)
        spread = np.log(1 + 0.32 / d**2)
        mean = np.log(d / np.sqrt(1 + 0.32 / d**2))
        bump = np.exp(-((np.log(reads) - mean) ** 2) / (2 * spread))
        bump /= reads * np.sqrt(spread) * np.sqrt(2 * np.pi)
        pairs[elements.index(Z[j])] += bump * fade(d) * d**-1.8
    reads = cutoff * np.arange(1, n_triples + 1) / n_triples
    for j in atoms:
        for k in atoms:
            if j < k:
                of = pairs_of.index(tuple(sorted((Z[j], Z[k]))))
                three = 1 + 3 * cosine(i, j, k) * cosine(j, i, k) * cosine(k, i, j)
                three *= 13.4 * np.sqrt(2.7 / np.pi) / (r(i, j) * r(i, k) * r(j, k)) ** 0.57
                radial = np.exp(-2.7 * ((r(i, j) + r(i, k)) / 2 - reads) ** 2)
                radial *= fade(r(i, j)) * fade(r(i, k)) * three * 2 * np.exp(-(np.pi**2) / 2)
                angle = np.arccos(cosine(i, j, k))
                triples[:, of] += np.outer([np.cos(angle), np.sin(angle)], radial)
    return np.concatenate([pairs.ravel(), triples.ravel()])


@pytest.mark.parametrize("cutoff", [8.0, 2.0])
def test_atomic_environments_agree_with_their_formulas(cutoff):
    atoms = atom_environments(POSITIONS, CHARGES, cutoff=cutoff, n_pairs=5, n_triples=4)
    assert atoms.shape == (2, 6, 1 + 3 * 5 + 12 * 4)
    for m, Z in enumerate(CHARGES):
        for i, z in enumerate(Z):
            if z:
                expected = plain_environment(POSITIONS[m], Z, i, [1, 6, 8], cutoff, 5, 4)
                assert atoms[m, i, 0] == z
                assert_allclose(atoms[m, i, 1:], expected, atol=1e-12)
            else:
                assert np.isnan(atoms[m, i]).all()


def test_atomic_environments_do_not_depend_on_pose_order_units_or_precision():
    atoms = atom_environments(POSITIONS, CHARGES)
    orthogonal = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    assert_allclose(atom_environments(POSITIONS @ orthogonal + 5, CHARGES), atoms, atol=1e-10)
    bohr = atom_environments(1.88972612 * POSITIONS, CHARGES, unit=1.88972612)
    assert_allclose(bohr, atoms, atol=1e-10)
    order = RNG.permutation(6)
    reordered = atom_environments(POSITIONS[:, order], CHARGES[:, order])
    assert_allclose(reordered, atoms[:, order], atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = atom_environments(POSITIONS.astype(np.float32), CHARGES.astype(np.float32))
    assert_allclose(single, atoms, rtol=1e-4, atol=1e-5)
    assert atom_environments(POSITIONS, CHARGES, n_triples=0).shape == (2, 6, 1 + 3 * 24)


CELL = np.array([[2.6, 0.0, 0.1], [0.4, 3.1, 0.0], [-0.3, 0.5, 2.9]])
ATOMS = np.array([[0.1, 0.2, 0.0], [1.2, 1.4, 1.1], [0.3, 1.5, 2.0]])
LABELS = np.array([8, 1, 8])


@pytest.mark.parametrize("n_triples", [0, 3])
def test_environments_in_a_crystal_are_those_among_explicit_images(n_triples):
    cutoff = 3.3
    crystal = atom_environments(
        np.stack([ATOMS, ATOMS + 40]),
        np.stack([LABELS, [1, 1, 0]]),
        cell=np.stack([CELL, 2 * CELL]),
        cutoff=cutoff,
        n_pairs=5,
        n_triples=n_triples,
    )
    assert crystal.shape == (2, 3, 1 + 2 * 5 + 6 * n_triples)
    assert np.isnan(crystal[1, 2]).all()
    for m, (labels, cell) in enumerate([(LABELS, CELL), (np.array([1, 1]), 2 * CELL)]):
        # The cell itself is first, so that atom i is the centre.
        multiples = sorted(product(range(-3, 4), repeat=3), key=np.linalg.norm)
        images = np.concatenate([ATOMS[: len(labels)] + n @ cell for n in np.array(multiples)])
        all_labels = np.tile(labels, len(multiples))
        for i, label in enumerate(labels):
            is_near = np.linalg.norm(images - images[i], axis=1) < cutoff
            is_near[i] = True
            centre = int(is_near[:i].sum())
            near_labels = all_labels[is_near]
            expected = plain_environment(
                images[is_near], near_labels, centre, [1, 8], cutoff, 5, n_triples
            )
            assert crystal[m, i, 0] == label
            assert_allclose(crystal[m, i, 1:], expected, atol=1e-12)


def test_environments_in_a_crystal_do_not_depend_on_the_choice_of_the_cell():
    options = {"cutoff": 4.0, "n_pairs": 6, "n_triples": 4}
    crystal = atom_environments(ATOMS[None], LABELS[None], cell=CELL, **options)
    shifted = ATOMS + np.array([[3, -1, 0], [0, 0, 5], [0, 2, 0]]) @ CELL + 0.7
    sheared = np.array([[1, 1, 0], [0, 1, 0], [0, 2, 1]]) @ CELL
    for cell in (CELL, sheared):
        same = atom_environments(shifted[None], LABELS[None], cell=cell, **options)
        assert_allclose(same, crystal, atol=1e-10)
    doubled = np.concatenate([ATOMS, ATOMS + CELL[1]])
    larger_cell = CELL * [[1], [2], [1]]
    larger = atom_environments(doubled[None], np.tile(LABELS, 2)[None], cell=larger_cell, **options)
    assert_allclose(larger[0], np.concatenate([crystal[0], crystal[0]]), atol=1e-10)
    bohr = atom_environments(2 * ATOMS[None], LABELS[None], cell=2 * CELL, unit=2.0, **options)
    assert_allclose(bohr, crystal, atol=1e-10)
    in_a_large_box = atom_environments(ATOMS[None], LABELS[None], cell=50 * np.eye(3), **options)
    alone = atom_environments(ATOMS[None], LABELS[None], **options)
    assert_allclose(in_a_large_box, alone, atol=1e-12)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (np.eye(2), r"cell needs shape \(3, 3\)"),
        (np.ones((2, 3, 3)), r"cell needs shape \(3, 3\)"),
        ([[1, 0, 0], [0, 1, 0], [1, 1, 0]], "one plane"),
        (0.01 * np.eye(3), "images of a cell.*smaller cutoff"),
        ([[1.1, 1.2, 1.1], [0, 3, 0], [0, 0, 3]], "images of others"),
        (np.full((3, 3), np.nan), "cell"),
    ],
)
def test_invalid_cells_are_refused(cell, message):
    with pytest.raises(ParameterError, match=message):
        atom_environments(ATOMS[None, [0, 1]], LABELS[None, :2], cell=cell, cutoff=3.0)


# -- sets of sets ----------------------------------------------------------------------------------

TEAMS = [
    [RNG.standard_normal((m, 2)) for m in RNG.integers(1, 5, n)] for n in RNG.integers(1, 4, 7)
]


@pytest.mark.parametrize("outer", ["mean", "sum"])
def test_features_of_sets_of_sets_are_pooled_twice(outer):
    psi = OrbitFourier(n_components=4, gamma=0.5, random_state=0)
    model = SetFeatures(SetFeatures(psi), outer).fit(pad_sets(TEAMS))
    of_points = model.features_[None].features_[None].transform
    pool = np.mean if outer == "mean" else np.sum
    expected = [pool([of_points(p).mean(axis=0) for p in teams], axis=0) for teams in TEAMS]
    assert_allclose(model.transform(pad_sets(TEAMS)), expected)
    # New sets may have other sizes, at both levels.
    assert_allclose(model.transform(pad_sets(TEAMS[:2])), expected[:2])
    shuffled = [[p[::-1] for p in teams[::-1]] for teams in TEAMS]
    assert_allclose(model.transform(pad_sets(shuffled)), expected)


@pytest.mark.parametrize("normalize", [False, True])
def test_kernels_of_sets_of_sets_agree_with_the_double_mean(normalize):
    inner = SetKernel(Gaussian(0.7), normalize=normalize)

    def definition(first, second):
        return np.mean([[inner(pad_sets([a]), pad_sets([b]))[0, 0] for b in second] for a in first])

    kernel = SetKernel(inner)
    expected = [[definition(a, b) for b in TEAMS[:3]] for a in TEAMS]
    assert_allclose(kernel(pad_sets(TEAMS), pad_sets(TEAMS[:3])), expected)
    assert_allclose(kernel.diag(pad_sets(TEAMS)), kernel(pad_sets(TEAMS)).diagonal())


def test_a_nonlinear_kernel_between_the_levels_separates_sets_of_sets():
    """Means of means ignore which points share a set; a Gaussian kernel in between does not."""
    labelled_teams = [[np.c_[np.arange(len(p)) % 2, p] for p in teams] for teams in TEAMS]
    inner = SetKernel(Gaussian(0.7), labelled=True)
    X = pad_sets(labelled_teams)
    middle = SetKernel(Hyperkernel(inner, 2.0))
    kernel = Hyperkernel(middle, 0.5)

    def squared(k, a, b):
        return k(a, a) + k(b, b) - 2 * k(a, b)

    def teams(a, b):
        return inner(pad_sets([a]), pad_sets([b]))[0, 0]

    def matches(first, second):
        return np.mean([[np.exp(-2 * squared(teams, a, b)) for b in second] for a in first])

    expected = [
        [np.exp(-0.5 * squared(matches, a, b)) for b in labelled_teams[:3]] for a in labelled_teams
    ]
    assert_allclose(kernel(X, X[:3]), expected)
    # A feature map between the levels separates them too: two players change teams.
    before = np.arange(4.0).reshape(1, 2, 2, 1)
    after = np.array([0.0, 2, 1, 3]).reshape(1, 2, 2, 1)
    plain = SetFeatures(SetFeatures(OrbitFourier(None, 20, gamma=0.3, random_state=0))).fit(before)
    assert_allclose(plain.transform(before), plain.transform(after))
    nonlinear = make_pipeline(plain.features, OrbitFourier(None, 20, gamma=3.0, random_state=0))
    nonlinear = SetFeatures(nonlinear).fit(before)
    assert np.abs(nonlinear.transform(before) - nonlinear.transform(after)).max() > 1e-3
    assert middle.explain(X).operations == SetKernel(inner).explain(X).operations > 0


# -- nodes of graphs: random walks, counted one by one ---------------------------------------------


def graph(n, seed, weighted=False):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 0.5, 1) * (rng.random((n, n)) if weighted else 1.0)
    return A + A.T, rng.standard_normal((n, 2))


def walks(A, i, j, steps):
    """Weights of all walks from i to j, by enumeration."""
    total = 0.0
    for between in product(range(len(A)), repeat=steps - 1):
        total += np.prod([A[a, b] for a, b in pairwise((i, *between, j))])
    return total


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.integers(2, 5), st.integers(0, 2), st.booleans(), st.integers(0, 999))
def test_walk_features_agree_with_an_enumeration_of_walks(n, n_walks, n_hops, weighted, seed):
    A, X = graph(n, seed, weighted)
    nodes = graph_nodes(A, X, n_walks=n_walks, n_hops=n_hops)
    for i in range(n):
        expected = [sum(A[i])]
        expected += [np.log(1 + walks(A, i, i, k)) for k in range(3, n_walks + 1)]
        expected += list(X[i])
        for h in range(1, n_hops + 1):
            expected += list(sum(walks(A, i, j, h) * X[j] for j in range(n)))
        assert_allclose(nodes[i], expected, rtol=0, atol=1e-10)


def test_walk_features_separate_two_triangles_from_a_hexagon():
    """One round of the degrees of neighbours does not distinguish them."""
    ring = np.roll(np.eye(6), 1, axis=1)
    triangles = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    nodes = graph_nodes([ring + ring.T, triangles, np.ones((3, 3)) - np.eye(3)])
    assert [len(a) for a in nodes] == [6, 6, 3]
    K = SetKernel(Gaussian(0.1), normalize=True)(pad_sets(nodes))
    assert K[0, 1] < 0.9 and abs(K[1, 2] - 1) < 1e-12
