"""Wrong values are refused by name, wherever they are given."""

import numpy as np
import pytest

from invariance.core.parameters import ParameterError
from invariance.groups import Permutations, Translations
from invariance.spectral import Product, Sphere, Torus, invariant_subspace, project


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: invariant_subspace(Torus(36, degree=1), Translations((6, 6), 1)), "generators"),
        (lambda: project(np.zeros(9), Sphere(3, degree=2), None, method="reynolds"), "listed"),
        (lambda: project("abc", Sphere(3, degree=2), Permutations(3)), "coefficients"),
        (lambda: project(np.zeros(9), Sphere, Permutations(3)), "basis .* make an instance"),
        (lambda: Product([], degree=2).n_functions_, "factors"),
        (lambda: Product([Sphere], degree=2).n_functions_, "factors"),
        (lambda: Sphere(3).sample(-1), "n_samples"),
        (lambda: Torus(3).truncate(cutoff=np.inf), "cutoff"),
        (lambda: Torus(3).truncate(cutoff=None), "degree or cutoff"),
    ],
)
def test_wrong_values_are_named(make, name):
    with pytest.raises(ParameterError, match=name):
        make()
