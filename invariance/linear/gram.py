"""`check_gram`: what every learner asks of a Gram matrix."""

from __future__ import annotations

from numpy.typing import NDArray

from ..checks import check_finite

__all__ = ["check_gram"]


def check_gram(gram: NDArray, targets: NDArray, called: str = "label") -> None:
    """Refuse a Gram matrix that is not square or not finite, or other than one target a row."""
    n = len(targets) if targets.ndim == 1 else -1
    if n < 1 or gram.shape != (n, n):
        raise ValueError(
            f"expected a square Gram matrix and one {called} a row, got shapes {gram.shape} and "
            f"{targets.shape}"
        )
    check_finite("the Gram matrix", gram)
