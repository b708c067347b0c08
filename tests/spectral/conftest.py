"""Rotations for several test files, and whether cvxpy is installed."""

from importlib.util import find_spec

import numpy as np
from scipy.spatial.transform import Rotation

from invariance.groups import OrthogonalMatrices

#: The quadratic programs need cvxpy; the other methods are tested without it.
QP = ("qp",) if find_spec("cvxpy") else ()
GOLDEN = (1 + 5**0.5) / 2


def turn(axis, angle):
    axis = np.asarray(axis, dtype=float)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()


ICOSAHEDRAL = OrthogonalMatrices(
    [turn([0, 1, GOLDEN], 2 * np.pi / 5), turn([1, 1, 1], 2 * np.pi / 3)]
)
