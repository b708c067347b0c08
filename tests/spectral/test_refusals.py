"""Wrong values are refused by name, wherever they are given."""

import numpy as np
import pytest

from invariance.core.parameters import ParameterError
from invariance.groups import Permutations, SignFlips, Translations
from invariance.spectral import (
    Circle,
    Product,
    SobolevKernel,
    Sphere,
    Torus,
    augment,
    invariance_discrepancy,
    invariant_subspace,
    project,
    sobolev_target,
)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: invariant_subspace(Torus(36, degree=1), Translations((6, 6), 1)), "generators"),
        (lambda: project(np.zeros(9), Sphere(3, degree=2), None, method="reynolds"), "listed"),
        (lambda: project("abc", Sphere(3, degree=2), Permutations(3)), "coefficients"),
        (lambda: project(np.zeros(9), Sphere, Permutations(3)), "basis .* make an instance"),
        (lambda: Product([], degree=2).n_functions_, "factors"),
        (lambda: Product([Sphere], degree=2).n_functions_, "factors"),
        (lambda: Product([Sphere(3)], degree=-1).n_functions_, "degree"),
        (lambda: Torus(2, degree=np.inf).n_functions_, "degree"),
        (lambda: Torus(2, degree=1.5).n_functions_, "degree"),
        (lambda: Circle(degree="3").n_functions_, "degree"),
        (lambda: Sphere("3", degree=1).n_functions_, "n_features"),
        (lambda: Sphere(3).sample(-1), "n_samples"),
        (lambda: Torus(3).truncate(cutoff=np.inf), "cutoff"),
        (lambda: Torus(3).truncate(cutoff=None), "degree or cutoff"),
        (lambda: augment(np.eye(2), [1, 2], SignFlips(2), n_copies="all"), "n_copies"),
        (lambda: augment(np.eye(2), [1, 2], SignFlips), "group"),
        (
            lambda: sobolev_target(Torus(2, degree=4), SignFlips(2), smoothness=None),
            "smoothness",
        ),
        (lambda: SobolevKernel(Torus(2, degree=1), smoothness=0)([[0.0, 0.0]]), "smoothness"),
        (lambda: SobolevKernel("torus")([[0.0, 0.0]]), "basis"),
        (lambda: invariance_discrepancy(len, SignFlips(2), None), "X"),
    ],
)
def test_wrong_values_are_named(make, name):
    with pytest.raises(ParameterError, match=name):
        make()
