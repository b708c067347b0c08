r"""Real spherical harmonics of S^2 and the action of rotations on them, stable at any degree.

:math:`Y_{l0}, Y_{lm} \propto \mathrm{Re}, Y_{l,-m} \propto \mathrm{Im}` of :math:`P_l^m(z)
(x + iy)^m`, orthonormal for the uniform probability measure, without the sign :math:`(-1)^m` that
some texts include. They are evaluated as homogeneous polynomials in (x, y, z), by the three-term
recurrence in l, in which nothing cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.transform import Rotation


def solid_harmonics(points: NDArray, top: int, lowest: int = 0) -> Iterator[NDArray]:
    r"""Values of :math:`Y_{lm}` for l = lowest, ..., top, one degree at a time.

    Parameters
    ----------
    points : ndarray of shape (3, n)
    top, lowest : int

    Yields
    ------
    ndarray of shape (2 l + 1, n), row l + m

    Examples
    --------
    >>> import numpy as np
    >>> *_, last = solid_harmonics(np.array([[0.0], [0.0], [1.0]]), 2)
    >>> float((last[:, 0] ** 2).sum().round(12))           # every degree sums to 2 l + 1
    5.0
    """
    x, y, z = points
    n = len(z)
    squared_norms = x * x + y * y + z * z
    # The powers (x + iy)^m.
    waves = np.ones((top + 1, n), dtype=complex)
    for m in range(1, top + 1):
        np.multiply(waves[m - 1], x + 1j * y, out=waves[m])
    # The polynomials in z for m = 0, ..., l, and those of one degree less.
    polynomials = np.ones((1, n))
    previous = np.empty((0, n))
    for degree in range(top + 1):
        if degree > 0:
            following = _next_polynomials(degree, polynomials, previous, z, squared_norms)
            previous = polynomials
            polynomials = following
        if degree < lowest:
            continue
        values = np.empty((2 * degree + 1, n))
        np.multiply(polynomials, waves[: degree + 1].real, out=values[degree:])
        np.multiply(polynomials[:0:-1], waves[degree:0:-1].imag, out=values[:degree])
        yield values


def _next_polynomials(
    degree: int, polynomials: NDArray, previous: NDArray, z: NDArray, squared_norms: NDArray
) -> NDArray:
    """Return the polynomials in z of a degree, from those of the two degrees below it."""
    factors, previous_factors, last_factor = _recurrence(degree)
    result = np.empty((degree + 1, len(z)))
    np.multiply(polynomials, z, out=result[:-1])
    result[:-1] *= factors
    if degree > 1:
        lower = previous * squared_norms
        lower *= previous_factors
        result[:-2] -= lower
    np.multiply(last_factor, polynomials[-1], out=result[-1])
    return result


@lru_cache(maxsize=256)
def _recurrence(degree: int) -> tuple[NDArray, NDArray, float]:
    """Return the factors of a degree's recurrence, which do not depend on the points.

    They are those of the polynomials one degree lower and two degrees lower, both of shape
    (orders m, 1), and that of the polynomial with m = degree.
    """
    m = np.arange(degree)[:, None]
    squares = degree**2 - m**2
    factors = np.sqrt((4 * degree**2 - 1) / squares)
    if degree == 1:
        return factors, np.empty((0, 1)), float(np.sqrt(3.0))
    last_factor = float(np.sqrt((2 * degree + 1) / (2 * degree)))
    ratio = (2 * degree + 1) / (2 * degree - 3)
    previous_squares = (degree - 1) ** 2 - m[:-1] ** 2
    previous_factors = np.sqrt(ratio * previous_squares / squares[:-1])
    return factors, previous_factors, last_factor


@lru_cache(maxsize=256)
def angular_momentum(degree: int) -> tuple[sparse.csr_array, ...]:
    r"""Return the derivatives of the harmonics of a degree under turns about the axes x, y and z.

    Returns
    -------
    three sparse antisymmetric arrays M of shape (2 l + 1, 2 l + 1)
        :math:`Y(R_\epsilon x) = Y(x) + \epsilon M Y(x) + O(\epsilon^2)`.
    """
    m = np.arange(-degree, degree + 1)
    size = len(m)
    ladder = np.sqrt(degree * (degree + 1) - m[:-1] * (m[:-1] + 1.0))
    raising = sparse.csr_array(sparse.diags_array(ladder, offsets=-1, shape=(size, size)))
    lowering = raising.T
    about_x = (raising + lowering) / 2
    about_y = (raising - lowering) / 2j
    about_z = sparse.diags_array(m.astype(float))
    to_real = _complex_to_real(degree)
    derivatives = []
    for operator in (about_x, about_y, about_z):
        product = to_real @ (1j * operator.T) @ to_real.conj().T
        derivative = sparse.csr_array(product.real)
        derivative.data[np.abs(derivative.data) < 1e-12] = 0
        derivative.eliminate_zeros()
        derivatives.append(derivative)
    return tuple(derivatives)


def _complex_to_real(degree: int) -> sparse.csr_array:
    """Return real harmonics in terms of complex ones, in the phases of the ladder operators."""
    rows = [degree]
    columns = [degree]
    entries = [1.0 + 0j]
    for m in range(1, degree + 1):
        plus = degree + m
        minus = degree - m
        phase = (-1.0) ** m
        rows += [plus, plus, minus, minus]
        columns += [plus, minus, plus, minus]
        entries += [phase / 2**0.5, 1 / 2**0.5, -1j * phase / 2**0.5, 1j / 2**0.5]
    size = 2 * degree + 1
    return sparse.csr_array((entries, (rows, columns)), (size, size))


def rotated(degree: int, matrix: NDArray) -> NDArray | sparse.csr_array:
    """Return D with ``Y(A x) = D Y(x)`` for an orthogonal 3 x 3 matrix A, proper or not.

    Signed permutations that keep the z-axis permute the harmonics up to signs: D is then sparse and
    exact. Otherwise D is the exponential of a combination of `angular_momentum`, whose eigenvalues
    are whole multiples of the angle.
    """
    sparse_action = _dihedral(degree, matrix)
    if sparse_action is not None:
        return sparse_action
    sign = 1.0 if np.linalg.det(matrix) > 0 else -1.0
    rotation = Rotation.from_matrix(sign * matrix).as_rotvec()
    about_x, about_y, about_z = angular_momentum(degree)
    generator = rotation[0] * about_x + rotation[1] * about_y + rotation[2] * about_z
    values, vectors = np.linalg.eigh(1j * generator.toarray())
    angle = np.linalg.norm(rotation)
    if angle > 0:
        values = angle * np.round(values / angle)
    phases = np.exp(-1j * values)
    action = ((vectors * phases) @ vectors.conj().T).real
    return sign**degree * action


def _dihedral(degree: int, matrix: NDArray) -> sparse.csr_array | None:
    """Return the action of a symmetry of the square (x, y) and of +-z, or None for others."""
    rounded = np.round(matrix)
    if np.abs(matrix - rounded).max() > 1e-12 or abs(rounded[2, 2]) != 1:
        return None
    # x + iy becomes unit (x + iy), or unit (x - iy) for a reflection.
    unit = complex(rounded[0, 0], rounded[1, 0])
    sign = -1.0 if np.linalg.det(rounded[:2, :2]) < 0 else 1.0
    quarter_turns = round(np.angle(unit) / (np.pi / 2))
    m = np.arange(degree + 1)
    powers = np.array([1, 1j, -1, -1j])[(m * quarter_turns) % 4]
    powers = powers * rounded[2, 2] ** (degree - m)
    cosines = powers.real
    sines = powers.imag
    # In (cosine + i sine) (C + i sign S), C' is the real part and S' the imaginary part.
    values = np.concatenate([cosines, -sign * sines[1:], sines[1:], sign * cosines[1:]])
    plus = degree + m
    minus = (degree - m)[1:]
    rows = np.concatenate([plus, plus[1:], minus, minus])
    columns = np.concatenate([plus, minus, plus[1:], minus])
    size = 2 * degree + 1
    action = sparse.csr_array((values, (rows, columns)), (size, size))
    action.eliminate_zeros()
    return action
