r"""Real spherical harmonics of S^2 and how rotations act on them, stable at any degree.

:math:`Y_{l0}, Y_{lm} \propto \mathrm{Re}, Y_{l,-m} \propto \mathrm{Im}` of :math:`P_l^m(z)
(x + iy)^m`, orthonormal for the uniform probability measure, without the sign :math:`(-1)^m` that
some texts put in. They are evaluated as homogeneous polynomials in (x, y, z), by the three-term
recurrence in l, in which nothing cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.transform import Rotation


def solid_harmonics(points: NDArray, top: int) -> Iterator[NDArray]:
    r"""Values of :math:`Y_{lm}` for l = 0, ..., top, one degree at a time.

    Parameters
    ----------
    points : ndarray of shape (3, n)
    top : int

    Yields
    ------
    ndarray of shape (2 l + 1, n), row l + m

    >>> import numpy as np
    >>> *_, last = solid_harmonics(np.array([[0.0], [0.0], [1.0]]), 2)
    >>> float((last[:, 0] ** 2).sum().round(12))           # every degree sums to 2 l + 1
    5.0
    """
    x, y, z = points
    n = len(z)
    squared = x * x + y * y + z * z
    # The polynomials in z that belong to m = 0, ..., l, and the powers (x + iy)^m.
    here, below = np.ones((1, n)), np.empty((0, n))
    waves = np.ones((top + 1, n), dtype=complex)
    for power in range(1, top + 1):
        np.multiply(waves[power - 1], x + 1j * y, out=waves[power])
    for degree in range(top + 1):
        if degree:
            m = np.arange(degree)[:, None]
            spread = degree**2 - m**2
            above = np.empty((degree + 1, n))
            np.multiply(here, z, out=above[:-1])
            above[:-1] *= np.sqrt((4 * degree**2 - 1) / spread)
            if degree > 1:
                ratio = (2 * degree + 1) / (2 * degree - 3)
                back = np.sqrt(ratio * ((degree - 1) ** 2 - m[:-1] ** 2) / spread[:-1])
                above[:-2] -= back * (below * squared)
            first = np.sqrt(3.0) if degree == 1 else np.sqrt((2 * degree + 1) / (2 * degree))
            above[-1] = first * here[-1]
            below, here = here, above
        values = np.empty((2 * degree + 1, n))
        np.multiply(here, waves[: degree + 1].real, out=values[degree:])
        np.multiply(here[:0:-1], waves[degree:0:-1].imag, out=values[:degree])
        yield values


@lru_cache(maxsize=256)
def angular_momentum(degree: int) -> tuple[sparse.csr_array, ...]:
    r"""How turning about the axes x, y and z changes the harmonics of a degree.

    Returns
    -------
    three sparse antisymmetric arrays M of shape (2 l + 1, 2 l + 1)
        :math:`Y(R_\epsilon x) = Y(x) + \epsilon M Y(x) + O(\epsilon^2)`.
    """
    m = np.arange(-degree, degree + 1)
    size = len(m)
    up = np.sqrt(degree * (degree + 1) - m[:-1] * (m[:-1] + 1.0))
    raising = sparse.csr_array(sparse.diags_array(up, offsets=-1, shape=(size, size)))
    lowering = raising.T
    turns = (raising + lowering) / 2, (raising - lowering) / 2j, sparse.diags_array(m.astype(float))
    # Complex harmonics of the ladder operators' phase convention, from real ones.
    rows, columns, entries = [degree], [degree], [1.0 + 0j]
    for k in range(1, degree + 1):
        plus, minus, phase = degree + k, degree - k, (-1.0) ** k
        rows += [plus, plus, minus, minus]
        columns += [plus, minus, plus, minus]
        entries += [phase / 2**0.5, 1 / 2**0.5, -1j * phase / 2**0.5, 1j / 2**0.5]
    real = sparse.csr_array((entries, (rows, columns)), (size, size))
    found = []
    for turn in turns:
        derivative = sparse.csr_array((real @ (1j * turn.T) @ real.conj().T).real)
        derivative.data[np.abs(derivative.data) < 1e-12] = 0
        derivative.eliminate_zeros()
        found.append(derivative)
    return tuple(found)


def rotated(degree: int, matrix: NDArray) -> NDArray | sparse.csr_array:
    """D with ``Y(A x) = D Y(x)`` for an orthogonal 3 x 3 matrix A, proper or not.

    Signed permutations that leave the z-axis in place permute the harmonics up to signs: D is then
    sparse and exact. Otherwise D is the exponential of a combination of `angular_momentum`, whose
    eigenvalues are known multiples of the angle.
    """
    flat = _dihedral(degree, matrix)
    if flat is not None:
        return flat
    proper = 1.0 if np.linalg.det(matrix) > 0 else -1.0
    turn = Rotation.from_matrix(proper * matrix).as_rotvec()
    generator = sum(w * m for w, m in zip(turn, angular_momentum(degree), strict=True))
    values, vectors = np.linalg.eigh(1j * generator.toarray())
    angle = np.linalg.norm(turn)
    if angle > 0:
        values = angle * np.round(values / angle)
    action = ((vectors * np.exp(-1j * values)) @ vectors.conj().T).real
    return proper**degree * action


def _dihedral(degree: int, matrix: NDArray) -> sparse.csr_array | None:
    """The action of a symmetry of the square (x, y) and of +-z, or None for other matrices."""
    whole = np.round(matrix)
    if np.abs(matrix - whole).max() > 1e-12 or abs(whole[2, 2]) != 1:
        return None
    # x + iy becomes unit (x + iy), or unit (x - iy) for a reflection.
    unit = complex(whole[0, 0], whole[1, 0])
    reflects = np.linalg.det(whole[:2, :2]) < 0
    m = np.arange(degree + 1)
    power = np.array([1, 1j, -1, -1j])[(m * round(np.angle(unit) / (np.pi / 2))) % 4]
    power = power * whole[2, 2] ** (degree - m)
    c, s, flip = power.real, power.imag, -1.0 if reflects else 1.0
    # (c + is)(C + i flip S): the real part C' and the imaginary part S'.
    values = np.concatenate([c, -flip * s[1:], s[1:], flip * c[1:]])
    plus, minus = degree + m, (degree - m)[1:]
    rows = np.concatenate([plus, plus[1:], minus, minus])
    columns = np.concatenate([plus, minus, plus[1:], minus])
    action = sparse.csr_array((values, (rows, columns)), (2 * degree + 1, 2 * degree + 1))
    action.eliminate_zeros()
    return action
