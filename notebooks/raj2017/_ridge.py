"""Ridge regression on features by conjugate gradients, which matrices near their Gram matrix guide."""

import numpy as np
from scipy.linalg import cho_solve, cholesky


def products(Z, x):
    """Z Z^T x, some rows of Z at a time in the precision of x."""
    parts = [slice(start, start + 64) for start in range(0, len(Z), 64)]
    inner = sum(Z[some].T @ x[some] for some in parts)
    return np.concatenate([Z[some] @ inner for some in parts])


def solved(Z, y, penalties, nearly, inside=1.0, rtol=1e-6):
    """Solutions of (Z Z^T + penalty) x = y, shape (n, t), in the precision of y.

    ``nearly`` lists rows and columns of y, and nearly the matrix of these rows, penalty included,
    in single precision; it is overwritten. Other rows have ``inside``, an array like y, zero.
    """
    guides = [[*at, cholesky(A.T, True, overwrite_a=True, check_finite=False)] for *at, A in nearly]
    x, left, direction, before = np.zeros_like(y), y, np.zeros_like(y), 1.0
    for _ in range(1000):
        near = np.zeros_like(y)
        for *at, lower in guides:
            near[*at] = cho_solve((lower, True), left[*at].astype(np.float32), check_finite=False)
        now = np.sum(left * near, axis=0)
        direction = near + now / before * direction
        image = inside * products(Z, direction) + penalties * direction
        step, before = now / np.sum(direction * image, axis=0), now
        x, left = x + step * direction, left - step * image
        if (np.linalg.norm(left, axis=0) < rtol * np.linalg.norm(y, axis=0)).all():
            return x
    raise ValueError("conjugate gradients have not converged: take larger alphas")
