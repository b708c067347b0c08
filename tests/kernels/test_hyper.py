"""The Gaussian kernel on top of another kernel's embedding."""

import numpy as np
from numpy.testing import assert_allclose

from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts
from invariance.kernels import Average, Gaussian, Hyperkernel, Linear, Polynomial

X, Y = (np.random.default_rng(seed).standard_normal((12 - 5 * seed, 5)) for seed in (0, 1))


def test_it_is_the_gaussian_kernel_of_explicit_features():
    assert_allclose(Hyperkernel(Linear(), gamma=0.3)(X, Y), Gaussian(0.3)(X, Y), rtol=1e-12)
    features = OrbitFourier(CyclicShifts(5), 40, gamma=0.2, random_state=0).fit(X)
    first, second = features.transform(X), features.transform(Y)
    kernel = Hyperkernel(Linear(), gamma=2.0)
    squares = [(Z**2).sum(axis=1) for Z in (first, second)]
    assert_allclose(kernel.of_gram(first @ second.T, *squares), Gaussian(2.0)(first, second))


def test_gram_matrix_is_symmetric_positive_definite_with_unit_diagonal():
    kernel = Hyperkernel(Average(Polynomial(3), CyclicShifts(5)), gamma=1e-3)
    gram = kernel(X)
    assert_allclose(gram, gram.T)
    assert_allclose(gram, kernel(X, X.copy()), atol=1e-9)
    assert_allclose(np.diag(gram), kernel.diag(X))
    assert np.linalg.eigvalsh(gram).min() > 0


def test_it_is_invariant_where_its_base_is():
    kernel = Hyperkernel(Average(Gaussian(0.2), CyclicShifts(5)), gamma=3.0)
    assert_allclose(kernel(np.roll(X, 2, axis=1), Y), kernel(X, Y), rtol=1e-10)
    assert not np.allclose(Hyperkernel(Gaussian(0.2), 3.0)(np.roll(X, 2, axis=1), Y), kernel(X, Y))
