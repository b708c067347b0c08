"""`check_group`: does a class keep its promises about axioms, action, unitarity and measure?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.utils import check_random_state

from .base import ENUMERATION_LIMIT, FiniteGroup, Group, Transformations

__all__ = ["check_group"]

#: A set of at most this many elements is checked on every one of them.
_LISTED = 2000
#: Probability, over the seeds, that a correct `sample` is called wrong.
_FALSE_ALARM = 1e-6
#: Least number of draws from a set that is listed; half of those from one that is not.
_DRAWS = 1000
#: Numbers in an array of elements or of transformed points held at once.
_ENTRIES = 2**21


def check_group(
    group: Transformations, n_trials: int = 10, random_state=0, tolerance: float = 1e-8
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
    TypeError
        When ``group`` is a class, or no instance of `Transformations`.

    >>> from invariance.groups import CyclicShifts
    >>> check_group(CyclicShifts(6))
    """
    if isinstance(group, type):
        name = group.__name__
        raise TypeError(f"check_group takes an instance, got the class {name}: pass {name}(...)")
    if not isinstance(group, Transformations):
        raise TypeError(
            f"check_group takes an instance of Transformations, Group or FiniteGroup, got {group!r}"
        )
    check = _Check(group, check_random_state(random_state), tolerance)
    listed = check.kinds()
    tried = group.sample(n_trials, check.rng) if listed is None else listed
    check.action(tried)
    if isinstance(group, Group):
        check.axioms(tried, listed is not None, n_trials)
    check.measure(listed)


class _Check:
    """A group, the random points that it is tried on, and how it fails."""

    def __init__(self, group: Transformations, rng: np.random.RandomState, tolerance: float):
        self.group, self.rng, self.tolerance = group, rng, tolerance

    def fail(self, what: str, *elements) -> None:
        named = ", ".join(np.array2string(np.asarray(g)) for g in elements)
        raise AssertionError(f"{self.group!r}: {what}" + (f" for {named}" if named else ""))

    def hold(self, gaps: NDArray, what: str, *batches: NDArray) -> None:
        """Fail with the largest gap and its elements; a batch of one belongs to every gap."""
        worst = int(np.argmax(gaps))
        if not gaps[worst] <= self.tolerance:
            self.fail(f"{what} by {gaps[worst]:.2g}", *(b[worst % len(b)] for b in batches))

    def gaps(self, left: NDArray, right: NDArray) -> NDArray:
        """Largest difference an element, relative to the points' norm."""
        return np.abs(left - right).max(axis=(1, 2)) / self.scale

    def kinds(self) -> NDArray | None:
        """What each method returns, called before those that rely on it; all elements, if few."""
        group, order, shape = self.group, self.group.order, self.group.shape
        if not (isinstance(order, Real) and order >= 1 and (order == inf or order % 1 == 0)):
            self.fail(f"order must be a property: an integer >= 1 or math.inf; got {order!r:.80}")
        if shape is not None and (np.ndim(shape) != 1 or np.asarray(shape).dtype.kind not in "iu"):
            self.fail(f"shape must be a property: a tuple of integers or None; got {shape!r:.80}")
        self.X = self.rng.standard_normal((3, group.n_features or 5))
        self.scale = np.linalg.norm(self.X, axis=1).max()
        identity = listed = None
        if isinstance(group, Group):
            identity = self.batch("identity()", group.identity(), 1)
        if isinstance(group, FiniteGroup):
            few = self.batch("generators()", group.generators(), None, identity)
            few = np.concatenate([identity, few]) if len(few) else identity
            self.algebra(few, identity)
            if type(group).elements is FiniteGroup.elements and order <= _LISTED:
                self.powers(few, identity)
        if order <= _LISTED:
            if type(group).elements is Transformations.elements:
                self.fail(
                    f"order says {order}, but elements() is missing: list the elements there, or "
                    "derive from FiniteGroup, which closes the generators"
                )
            listed = self.batch("elements()", group.elements(), None, identity)
            if len(listed) != order:
                self.fail(f"order says {order}, but elements() lists {len(listed)}")
        drawn = self.batch("sample(4)", group.sample(4, 7), 4, identity)
        if not np.array_equal(drawn, group.sample(4, 7)):
            self.fail("sample(4, 7) differs between calls with the same seed")
        if isinstance(group, Group):
            self.algebra(drawn, identity)
        moved = group._act(drawn, self.X)
        if not isinstance(moved, np.ndarray):
            self.fail(
                "_act(elements, X) must return an array of shape (r, n, d), here "
                f"{(4, *self.X.shape)}; got {moved!r:.80}"
            )
        return listed

    def algebra(self, elements: NDArray, identity: NDArray) -> None:
        group, n = self.group, len(elements)
        for pair in ((elements, identity), (identity, elements)):
            self.batch("compose(first, second)", group.compose(*pair), n, identity)
        self.batch("inverse(elements)", group.inverse(elements), n, identity)

    def batch(
        self, method: str, value, length: int | None, like: NDArray | None = None
    ) -> NDArray:
        """The value, if it is an array of that many elements (``None``: of any number)."""
        due = f"{method} must return an array of elements, one a row"
        if like is not None:
            count = "k" if length is None else str(length)
            sides = "".join(f", {side}" for side in like.shape[1:]) or ","
            due += f", here of shape ({count}{sides})"
        if not isinstance(value, np.ndarray):
            self.fail(f"{due}; got {value!r:.80} (return np.array(...))")
        if length is None and value.size == 0:
            return value  # np.array([]): the trivial group has no generators
        if value.dtype.kind not in "biufc":
            self.fail(f"{due}, of numbers; got dtype {value.dtype}")
        row_fits = like is None or value.shape[1:] == like.shape[1:]
        if value.ndim == 0 or length not in (None, len(value)) or not row_fits:
            self.fail(f"{due}; got shape {value.shape}")
        return value

    def powers(self, elements: NDArray, identity: NDArray) -> None:
        """g^order = e as written: where compose does not reduce, listing would hardly end."""
        group, order = self.group, int(self.group.order)
        powers = np.repeat(identity, len(elements), axis=0)
        for digit in f"{order:b}":
            powers = group.compose(powers, powers)
            if digit == "1":
                powers = group.compose(powers, elements)
        for g, power in zip(elements, powers, strict=True):
            if not np.allclose(power, identity[0], atol=1e-6):
                self.fail(
                    f"order says {order}, but compose gives g^{order} = {power}, not the identity "
                    f"{identity[0]} (is the order right, and is each element written in one way, "
                    "reduced by its period?)", g,
                )

    def images(self, elements: NDArray, X: NDArray) -> NDArray:
        """Transformed points, of the due shape and finite."""
        group, due = self.group, (len(elements), *X.shape)
        moved = group.act(elements, X)
        # Sets such as `Projected` overwrite `act` and return other coordinates than they take.
        same_points = group.unitary or isinstance(group, Group)
        if moved.shape != due and (same_points or moved.ndim != 3 or moved.shape[:2] != due[:2]):
            self.fail(f"act returned shape {moved.shape}, expected {due}")
        finite = np.isfinite(moved).all(axis=(1, 2))
        if not finite.all():
            self.fail("act returned nan or infinite values", elements[np.argmin(finite)])
        return moved

    def blocks(self, elements: NDArray, n_points: int) -> Iterator[NDArray]:
        size = max(1, _ENTRIES // (n_points * self.X.shape[1]))
        for start in range(0, len(elements), size):
            yield elements[start : start + size]

    def signatures(self, elements: NDArray, x: NDArray) -> NDArray:
        """Three random coordinates of gx, shape (r, 3): equal for elements that act alike."""
        parts = [self.images(g, x)[:, 0] @ self.directions for g in self.blocks(elements, 1)]
        return np.concatenate(parts)

    def cells(self, signatures: NDArray) -> NDArray:
        """The first of the listed elements that acts alike, or -1."""
        near = self.tree.query_ball_point(signatures, self.tolerance * self.scale)
        return np.array([min(indices, default=-1) for indices in near], dtype=np.intp)

    def action(self, elements: NDArray) -> None:
        """Linear and unitary; what the elements do to a point is kept to compare others with."""
        X, unitary = self.X, self.group.unitary
        width = self.images(elements[:1], X).shape[2]
        self.directions = self.rng.standard_normal((width, 3)) / np.sqrt(width)
        signatures = []
        for g in self.blocks(elements, len(X)):
            moved = self.images(g, X)
            signatures.append(moved[:, 0] @ self.directions)
            if unitary or isinstance(self.group, Group):
                linear = self.images(g, 2 * X[:1] - 3 * X[1:2])
                gaps = self.gaps(linear, 2 * moved[:, :1] - 3 * moved[:, 1:2])
                self.hold(gaps, "linearity of the action fails", g)
            if unitary:
                gaps = self.gaps(moved @ moved.swapaxes(1, 2), X @ X.T) / self.scale
                self.hold(gaps, "unitary is claimed, but <gx, gz> differs from <x, z>", g)
        self.tree = cKDTree(np.concatenate(signatures))
        self.own = self.cells(self.tree.data)

    def axioms(self, elements: NDArray, complete: bool, n_trials: int) -> None:
        """The axioms for each element and its products with the generators or a few draws."""
        group, x = self.group, self.X[:1]
        law = "action: (gh)x = g(hx) fails"
        e = group.identity()
        self.hold(self.gaps(self.images(e, x), x), "identity: e x = x fails", e)
        if complete:
            a, b, c = elements[self.rng.randint(len(elements), size=(3, n_trials))]
        else:
            a, b, c = (group.sample(n_trials, self.rng) for _ in range(3))
        partners = group.generators() if complete and isinstance(group, FiniteGroup) else b[:3]
        reached = [[] for _ in partners]
        for g in self.blocks(elements, 1):
            moved, back = self.images(g, x), group.inverse(g)
            undone = np.array([self.images(back[[i]], moved[i])[0] for i in range(len(g))])
            self.hold(self.gaps(undone, x), "inverse: g^-1 (g x) = x fails", g)
            for h, signatures in zip(partners[:, None], reached, strict=True):
                gh = self.images(group.compose(g, h), x)
                self.hold(self.gaps(gh, self.images(g, self.images(h, x)[0])), law, g, h)
                hg = self.images(group.compose(h, g), x)
                nested = self.images(h, moved[:, 0]).swapaxes(0, 1)
                self.hold(self.gaps(hg, nested), law, h, g)
                signatures.append(hg[:, 0] @ self.directions)
        ab, bx = group.compose(a, b), self.images(b, x)
        nested = np.concatenate([self.images(a[[i]], bx[i]) for i in range(n_trials)])
        self.hold(self.gaps(self.images(ab, x), nested), law, a, b)
        left, right = group.compose(ab, c), group.compose(a, group.compose(b, c))
        gaps = self.gaps(self.images(left, x), self.images(right, x))
        self.hold(gaps, "associativity fails", a, b, c)
        if complete:
            products = [self.cells(np.concatenate(signatures)) for signatures in reached]
            self.closure(elements, partners, products)

    def closure(self, listed: NDArray, partners: NDArray, products: list[NDArray]) -> None:
        """Each product is listed, once, and what is listed is a product of generators."""
        group, n = self.group, len(listed)
        twins = np.flatnonzero(self.own != np.arange(n))
        if isinstance(group, FiniteGroup) and len(twins):
            self.fail(
                f"order says {group.order}, but only {n - len(twins)} elements act differently: "
                "there is no difference", listed[self.own[twins[0]]], listed[twins[0]],
            )
        for h, product in zip(partners, products, strict=True):
            if product.min() < 0:
                self.fail("closure: elements() lacks the product gh", h, listed[product.argmin()])
        (unit,) = self.cells(self.signatures(group.identity(), self.X[:1]))
        if unit < 0:
            self.fail("closure: elements() lacks the identity", group.identity()[0])
        if not isinstance(group, FiniteGroup):
            return
        # The orbits of the generators on the group: one, if they generate it.
        steps = (np.tile(np.arange(n), len(products)), np.concatenate([*products, self.own[:0]]))
        graph = coo_array((np.ones(len(steps[0])), steps), shape=(n, n))
        orbits = connected_components(graph, directed=False)[1]
        missed = np.flatnonzero(orbits != orbits[unit])
        if len(missed):
            self.fail(
                f"order says {group.order}, but the generators give only {n - len(missed)} "
                "elements: no product is found", listed[missed[0]],
            )

    def measure(self, listed: NDArray | None) -> None:
        """Weights are probabilities, and draws follow them or the Haar measure."""
        group = self.group
        listable = group.order <= ENUMERATION_LIMIT
        weights = group.weights() if listable else None
        if weights is not None:
            self.probabilities(weights)
        if listed is not None:
            self.frequencies(listed, weights)
            return
        haar = (
            isinstance(group, Group) and group.symmetric and weights is None
            and getattr(group, "density", None) is None
        )
        if haar or (listable and weights is None):
            drawn = group.sample(2 * _DRAWS, self.rng)
            # Of more than 2,000 equally likely elements 1,264 or more differ on average. One draw
            # changes this number by one at most, so it is below 1,000 with probability 1e-30.
            different = len({g.tobytes() for g in drawn})
            if different < _DRAWS:
                self.fail(
                    f"of {len(drawn)} draws of sample only {different} differ, too few where "
                    f"{group.order} elements are equally likely: it repeats itself", drawn[0],
                )
        if haar:
            self.invariance(drawn)

    def probabilities(self, weights: NDArray) -> None:
        due = f"weights() must return None or an array of {self.group.order} probabilities"
        if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "iuf":
            self.fail(f"{due}; got {weights!r:.80} (return np.array(...))")
        if weights.shape != (self.group.order,):
            self.fail(f"{due}; got shape {weights.shape}")
        if not np.all(weights >= 0):
            self.fail(f"{due}; the least is {weights.min()}")
        if not abs(weights.sum() - 1) <= 1e-6:
            self.fail(f"{due}, which sum to one; they sum to {weights.sum():.6g}")

    def frequencies(self, listed: NDArray, weights: NDArray | None) -> None:
        """How often each element is drawn: as often as its weight says, by binomial tests."""
        group, x, n = self.group, self.X[:1], len(listed)
        if weights is None:
            weights = np.full(n, 1 / n)
        # Elements that act alike count together.
        due = np.minimum(np.bincount(self.own, weights, n), 1)
        # Where 30 draws an element are due, one that never comes is unlikely enough to be found.
        n_draws, counts = max(_DRAWS, 30 * n), Counter()
        size = max(1, _ENTRIES // listed[0].size)
        for start in range(0, n_draws, size):
            drawn = group.sample(min(size, n_draws - start), self.rng)
            counts.update(g.tobytes() for g in drawn)
        different = np.frombuffer(b"".join(counts), drawn.dtype).reshape(-1, *drawn.shape[1:])
        cells = self.cells(self.signatures(different, x))
        if cells.min() < 0:
            self.fail("sample draws what elements() does not list", different[cells.argmin()])
        drawn = np.bincount(cells, list(counts.values()), n)
        tails = stats.binom.cdf(drawn, n_draws, due), stats.binom.sf(drawn - 1, n_draws, due)
        chances = 2 * n * np.minimum(*tails)
        worst = int(chances.argmin())
        if chances[worst] < _FALSE_ALARM:
            self.fail(
                f"sample does not follow the weights: of {n_draws} draws {drawn[worst]:.0f} "
                f"instead of {n_draws * due[worst]:.4g} (chance below {_FALSE_ALARM:g})",
                listed[worst],
            )
        if isinstance(group, Group) and group.symmetric:
            inverses = self.cells(self.signatures(group.inverse(listed), x))
            if inverses.min() < 0:
                self.fail("closure: elements() lacks the inverse", listed[inverses.argmin()])
            weight, opposite = due[self.own], due[inverses]
            unlike = np.isclose(weight, opposite).argmin()
            if not np.isclose(weight[unlike], opposite[unlike]):
                self.fail(
                    f"symmetric is claimed, but the weights {weight[unlike]:.4g} and, of the "
                    f"inverse, {opposite[unlike]:.4g} differ", listed[unlike],
                )

    def invariance(self, drawn: NDArray) -> None:
        """<t, gx> is distributed as <t, ghx>, for every h where g has the Haar measure."""
        group, x = self.group, self.X[:1]
        n = int(np.clip(4 * _ENTRIES // x.size, 100, len(drawn) // 2))
        shifts = group.sample(5, self.rng)
        if isinstance(group, FiniteGroup):
            shifts = group.generators()[:5]
        # Rounded, so that equal values stay equal when they are computed in two ways.
        digits = int(-np.log10(max(self.tolerance, 1e-12)))
        still = self.signatures(drawn[:n], x).round(digits)
        for h in shifts[:, None]:
            moved = self.signatures(drawn[-n:], self.images(h, x)[0]).round(digits)
            tests = [stats.ks_2samp(*pair) for pair in zip(still.T, moved.T, strict=True)]
            if len(tests) * len(shifts) * min(test.pvalue for test in tests) < _FALSE_ALARM:
                self.fail(
                    "sample is not the Haar measure: <t, gx> and <t, ghx> are distributed "
                    f"differently (chance below {_FALSE_ALARM:g}; a measure that is meant to be "
                    "another one is announced by an attribute density)", h[0],
                )
