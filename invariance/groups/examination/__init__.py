"""`check_group`: does a class keep its promises about axioms, action, unitarity and measure?"""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from ...core.parameters import (
    Number,
    ParameterError,
    Seed,
    Whole,
    arguments,
    short,
)
from ..base import Group, Transformations
from .axioms import check_action, check_axioms
from .measure import check_measure
from .returns import check_returns
from .subject import Recogniser, Subject

__all__ = ["check_group"]


@arguments(n_trials=Whole(1, 1_000_000), random_state=Seed(), tolerance=Number(1e-14, 0.01))
def check_group(
    group: Transformations,
    n_trials: int = 10,
    *,
    random_state: Any = 0,
    tolerance: float = 1e-8,
) -> None:
    """Check axioms, action, unitarity, order and measure.

    A set of at most 2,000 elements is checked on every one of them, and a group on the products
    of each with the generators; a larger set is checked on random elements.

    The measure is tested on draws. How often each listed element comes is compared with `weights`
    (binomial tests). A larger or infinite group has its Haar measure, unless it has a ``density``
    or `weights` or is not ``symmetric``: at least half of 2,000 draws must differ, and <t, gx>
    must be distributed as <t, ghx> for up to five h (Kolmogorov-Smirnov tests). Over the seeds a
    correct `sample` fails with probability at most 1e-6; a seed always gives the same verdict.

    Points are drawn from a normal distribution, so that an action on others only (on angles, as
    that of `TorusTranslations`, or on symmetric matrices) cannot be checked.

    Parameters
    ----------
    group : Transformations
        A `Group` is held to the axioms; any other set only to its shape and its claims.
    n_trials : int
        Random elements tried for each property that is not checked on all of them.
    random_state : int, RandomState or None
    tolerance : float
        Largest difference, relative to the points' norm, that counts as rounding.

    Raises
    ------
    AssertionError
        Names the property that fails and the elements that break it, or the method that returns
        something of the wrong kind, and what it must return.
    ParameterError
        When ``group`` is a class, or no instance of `Transformations`.

    >>> from invariance.groups import CyclicShifts
    >>> check_group(CyclicShifts(6))
    """
    if isinstance(group, type):
        name = group.__name__
        raise ParameterError(
            f"check_group(group) takes an instance, got the class {name}: pass {name}(...)"
        )
    if not isinstance(group, Transformations):
        raise ParameterError(
            "check_group(group) takes an instance of Transformations, Group or FiniteGroup, got "
            f"{short(group)}"
        )
    subject = Subject(group, check_random_state(random_state), tolerance)
    listed = check_returns(subject)
    tried = group.sample(n_trials, subject.rng) if listed is None else listed
    check_action(subject, tried)
    known = Recogniser(subject, tried)
    if isinstance(group, Group):
        check_axioms(subject, known, tried, listed is not None, n_trials)
    check_measure(subject, known, listed)
