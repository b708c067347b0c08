"""What each method of a set of transformations returns."""

from __future__ import annotations

from math import inf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import FiniteGroup, Group, Transformations
from .subject import Subject

__all__ = ["check_returns"]

#: A set of at most this many elements is checked on every one of them.
_LISTED = 2000


def check_returns(subject: Subject) -> NDArray[Any] | None:
    """What each method returns, called before those that rely on it; all elements, if few."""
    group = subject.group
    _check_order(subject)
    order = group.order
    identity: NDArray[Any] | None = None
    listed: NDArray[Any] | None = None
    if isinstance(group, Group):
        identity = _batch(subject, "identity()", group.identity(), 1)
    if isinstance(group, FiniteGroup):
        assert identity is not None
        few = _batch(subject, "generators()", group.generators(), None, identity)
        few = np.concatenate([identity, few]) if len(few) else identity
        _check_algebra(subject, few, identity)
        if type(group).elements is FiniteGroup.elements and order <= _LISTED:
            _check_powers(subject, few, identity)
    if order <= _LISTED:
        if type(group).elements is Transformations.elements:
            subject.fail(
                f"order says {order}, but elements() is missing: list the elements there, or "
                "derive from FiniteGroup, which closes the generators"
            )
        listed = _batch(subject, "elements()", group.elements(), None, identity)
        if len(listed) != order:
            subject.fail(f"order says {order}, but elements() lists {len(listed)}")
    drawn = _batch(subject, "sample(4)", group.sample(4, 7), 4, identity)
    if not np.array_equal(drawn, group.sample(4, 7)):
        subject.fail("sample(4, 7) differs between calls with the same seed")
    if identity is not None:
        _check_algebra(subject, drawn, identity)
    moved = group._act(drawn, subject.X)
    if not isinstance(moved, np.ndarray):
        subject.fail(
            "_act(elements, X) must return an array of shape (r, n, d), here "
            f"{(4, *subject.X.shape)}; got {moved!r:.80}"
        )
    return listed


def _check_order(subject: Subject) -> None:
    order = subject.group.order
    if not (isinstance(order, Real) and order >= 1 and (order == inf or order % 1 == 0)):
        subject.fail(f"order must be a property: an integer >= 1 or math.inf; got {order!r:.80}")


def _check_algebra(subject: Subject, elements: NDArray[Any], identity: NDArray[Any]) -> None:
    group, n = subject.group, len(elements)
    for pair in ((elements, identity), (identity, elements)):
        _batch(subject, "compose(first, second)", group.compose(*pair), n, identity)
    _batch(subject, "inverse(elements)", group.inverse(elements), n, identity)


def _check_powers(subject: Subject, elements: NDArray[Any], identity: NDArray[Any]) -> None:
    """g^order = e as written: where compose does not reduce, listing would hardly end."""
    group, order = subject.group, int(subject.group.order)
    powers = np.repeat(identity, len(elements), axis=0)
    for digit in f"{order:b}":
        powers = group.compose(powers, powers)
        if digit == "1":
            powers = group.compose(powers, elements)
    for g, power in zip(elements, powers, strict=True):
        if not np.allclose(power, identity[0], atol=1e-6):
            subject.fail(
                f"order says {order}, but compose gives g^{order} = {power}, not the identity "
                f"{identity[0]} (is the order right, and is each element written in one way, "
                "reduced by its period?)",
                g,
            )


def _batch(
    subject: Subject, method: str, value: Any, length: int | None, like: NDArray[Any] | None = None
) -> NDArray[Any]:
    """The value, if it is an array of that many elements (``None``: of any number)."""
    due = f"{method} must return an array of elements, one a row"
    if like is not None:
        count = "k" if length is None else str(length)
        sides = "".join(f", {side}" for side in like.shape[1:]) or ","
        due += f", here of shape ({count}{sides})"
    if not isinstance(value, np.ndarray):
        subject.fail(f"{due}; got {value!r:.80} (return np.array(...))")
    if length is None and value.size == 0:
        return value  # np.array([]): the trivial group has no generators
    if value.dtype.kind not in "biufc":
        subject.fail(f"{due}, of numbers; got dtype {value.dtype}")
    row_fits = like is None or value.shape[1:] == like.shape[1:]
    if value.ndim == 0 or length not in (None, len(value)) or not row_fits:
        subject.fail(f"{due}; got shape {value.shape}")
    return value
