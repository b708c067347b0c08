"""`check_group` holds a class to its promises; `departure_from_unitary` measures one of them."""

from __future__ import annotations

from collections import Counter
from math import inf
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.stats import binom
from sklearn.utils import check_random_state

from ..core.parameters import (
    Array,
    Number,
    ParameterError,
    Seed,
    Whole,
    arguments,
    check_memory,
    short,
)
from .base import ENUMERATION_LIMIT, GROUP, FiniteGroup, Group, Transformations

#: A set of at most this many elements is checked on every one of them, where their images of a
#: point are at most that many numbers; half as many are held in draws at a time.
_LISTED, _ENTRIES = 2000, 2**22
#: Probability, over the seeds, that a correct `sample` is called wrong.
_FALSE_ALARM = 1e-6
#: Least number of draws from a set that is listed; half of those from one that is not.
_DRAWS = 1000


@arguments(n_trials=Whole(1, 10_000), random_state=Seed(), tolerance=Number(1e-14, 0.01))
def check_group(
    group: Transformations,
    n_trials: int = 10,
    *,
    random_state: Any = 0,
    tolerance: float = 1e-8,
) -> None:
    """Check axioms, action, unitarity, order and measure.

    A set of at most 2,000 elements is checked on every one of them, and a group on the products of
    each with the generators; a larger set on random elements. How often each listed element is
    drawn is compared with `weights`; of a larger group with its Haar measure at least half of 2,000
    draws must differ. Over the seeds a correct `sample` fails with probability at most 1e-6.

    Points are normal vectors: an action on others only (on angles, as that of `TorusTranslations`,
    or on symmetric matrices) cannot be checked.

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
    if not isinstance(group, Transformations):
        due = " of Transformations, Group or FiniteGroup", short(group)
        if isinstance(group, type):
            due = "", f"the class {group.__name__}: pass {group.__name__}(...)"
        raise ParameterError(f"check_group(group) takes an instance{due[0]}, got {due[1]}")
    check = _Check(group, check_random_state(random_state), tolerance)
    check.returns()
    check.know(group.sample(n_trials, check.rng) if check.listed is None else check.listed)
    check.action()
    if isinstance(group, Group):
        check.axioms(n_trials)
    check.measure()


class _Check:
    """One set of transformations under examination.

    Elements are told apart by what they do to a point: by three random coordinates of gx, their
    signature. ``tried`` are examined one by one, all elements where they can be ``listed``;
    ``alike`` numbers the first of these that acts alike.
    """

    def __init__(self, group: Transformations, rng: np.random.RandomState, tolerance: float):
        self.group, self.rng, self.tolerance = group, rng, tolerance
        shape = group.shape
        if shape is not None and (np.ndim(shape) != 1 or np.asarray(shape).dtype.kind not in "iu"):
            self.fail(f"shape must be a property: a tuple of integers or None; got {shape!r:.80}")
        # 60 entries are rows of points of up to six coordinates, where any length will do.
        self.X = rng.standard_normal((3, group.n_features or 60))
        self.scale = np.linalg.norm(self.X, axis=1).max()
        self.listed: NDArray[Any] | None = None

    def fail(self, what: str, *elements: Any) -> NoReturn:
        named = ", ".join(np.array2string(np.asarray(g)) for g in elements)
        raise AssertionError(f"{self.group!r}: {what}" + (f" for {named}" if named else ""))

    def agree(self, what: str, left: Any, right: Any, *batches: NDArray[Any]) -> None:
        """Fail where images differ, with the elements; a batch of one belongs to every image."""
        gaps = np.abs(left - right).max(axis=(1, 2)) / self.scale
        worst = int(np.argmax(gaps))
        if not gaps[worst] <= self.tolerance:
            self.fail(f"{what} by {gaps[worst]:.2g}", *(b[worst % len(b)] for b in batches))

    def images(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        """Transformed points, of the due shape and finite."""
        group, due = self.group, (len(elements), *X.shape)
        moved = group.act(elements, X)
        # Sets such as `LinearMaps` return other coordinates than they take.
        same_points = group.keeps_shape or group.unitary or isinstance(group, Group)
        if moved.shape != due and (same_points or moved.ndim != 3 or moved.shape[:2] != due[:2]):
            self.fail(f"act returned shape {moved.shape}, expected {due}")
        finite = np.isfinite(moved).all(axis=(1, 2))
        if not finite.all():
            self.fail("act returned nan or infinite values", elements[np.argmin(finite)])
        return moved

    def each(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        """g_i x_i, shape (r, 1, d)."""
        pairs = zip(elements[:, None], X, strict=True)
        return np.array([self.images(g, x)[0] for g, x in pairs])

    def know(self, tried: NDArray[Any]) -> None:
        """Take elements for those that others are compared with."""
        self.tried = tried
        width = self.images(tried[:1], self.X).shape[2]
        self.directions = self.rng.standard_normal((width, 3)) / np.sqrt(width)
        signatures = self.signatures(tried)
        self.tree = cKDTree(signatures)
        self.alike = self.find(signatures)

    def signatures(self, elements: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.images(elements, self.X[:1])[:, 0] @ self.directions)

    def find(self, signatures: NDArray[Any]) -> NDArray[Any]:
        """The first of the known elements that acts alike, or -1."""
        near = self.tree.query_ball_point(signatures, self.tolerance * self.scale)
        return np.array([min(indices, default=-1) for indices in near], dtype=np.intp)

    def returns(self) -> None:
        """What each method returns, called before those that rely on it."""
        group, order = self.group, self.group.order
        if not (isinstance(order, Real) and order >= 1 and (order == inf or order % 1 == 0)):
            self.fail(f"order must be a property: an integer >= 1 or math.inf; got {order!r:.80}")
        unit: NDArray[Any] | None = None
        if isinstance(group, Group):
            unit = self.batch("identity()", group.identity(), 1)
        if isinstance(group, FiniteGroup):
            few = self.batch("generators()", group.generators(), None, unit)
            few = np.concatenate([unit, few]) if len(few) else unit
            self.algebra(few, unit)
            if type(group).elements is FiniteGroup.elements and order <= _LISTED:
                self.powers(few, unit)
        if order <= min(_LISTED, _ENTRIES // self.X.shape[1]):
            if type(group).elements is Transformations.elements and group._listed() is None:
                self.fail(
                    f"order says {order}, but elements() is missing: list the elements there, or "
                    "derive from FiniteGroup, which closes the generators"
                )
            self.listed = self.batch("elements()", group.elements(), None, unit)
            if len(self.listed) != order:
                self.fail(f"order says {order}, but elements() lists {len(self.listed)}")
        drawn = self.batch("sample(4)", group.sample(4, 7), 4, unit)
        if not np.array_equal(drawn, group.sample(4, 7)):
            self.fail("sample(4, 7) differs between calls with the same seed")
        if unit is not None:
            self.algebra(drawn, unit)
        moved = group._act(drawn, self.X)
        if not isinstance(moved, np.ndarray):
            self.fail(
                "_act(elements, X) must return an array of shape (r, n, d), here "
                f"{(4, *self.X.shape)}; got {moved!r:.80}"
            )

    def batch(
        self, method: str, value: Any, length: int | None, like: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """The value, if it is an array of that many elements (``None``: of any number)."""
        due = f"{method} must return an array of elements, one a row"
        if like is not None:
            sides = "".join(f", {side}" for side in like.shape[1:]) or ","
            due += f", here of shape ({'k' if length is None else length}{sides})"
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

    def algebra(self, elements: NDArray[Any], unit: NDArray[Any]) -> None:
        group, n = self.group, len(elements)
        for pair in ((elements, unit), (unit, elements)):
            self.batch("compose(first, second)", group.compose(*pair), n, unit)
        self.batch("inverse(elements)", group.inverse(elements), n, unit)

    def powers(self, elements: NDArray[Any], unit: NDArray[Any]) -> None:
        """g^order = e as written: where compose does not reduce, listing would hardly end."""
        group, order = self.group, int(self.group.order)
        powers = np.repeat(unit, len(elements), axis=0)
        for digit in f"{order:b}":
            powers = group.compose(powers, powers)
            if digit == "1":
                powers = group.compose(powers, elements)
        for g, power in zip(elements, powers, strict=True):
            if not np.allclose(power, unit[0], atol=1e-6):
                self.fail(
                    f"order says {order}, but compose gives g^{order} = {power}, not the identity "
                    f"{unit[0]} (is each element written in one way, reduced by its period?)",
                    g,
                )

    def action(self) -> None:
        """Linear, as the action of a group is and any unitary one; unitary where claimed."""
        X, g, unitary = self.X, self.tried, self.group.unitary
        moved = self.images(g, X)
        if unitary or isinstance(self.group, Group):
            mixed = 2 * moved[:, :1] - 3 * moved[:, 1:2]
            direct = self.images(g, 2 * X[:1] - 3 * X[1:2])
            self.agree("linearity of the action fails", direct, mixed, g)
        if unitary:
            inner, due = moved @ moved.swapaxes(1, 2) / self.scale, X @ X.T / self.scale
            self.agree("unitary is claimed, but <gx, gz> differs from <x, z>", inner, due, g)

    def axioms(self, n_trials: int) -> None:
        """The axioms for each element and its products with the generators or a few draws."""
        group, g, x, images = self.group, self.tried, self.X[:1], self.images
        law, e, complete = "action: (gh)x = g(hx) fails", group.identity(), self.listed is not None
        self.agree("identity: e x = x fails", images(e, x), x, e)
        if complete:
            a, b, c = g[self.rng.randint(len(g), size=(3, n_trials))]
        else:
            a, b, c = (group.sample(n_trials, self.rng) for _ in range(3))
        moved, products = images(g, x), []
        undone = self.each(group.inverse(g), moved)
        self.agree("inverse: g^-1 (g x) = x fails", undone, x, g)
        generated = complete and isinstance(group, FiniteGroup)
        partners = group.generators() if generated else b[:3]
        for h in partners[:, None]:
            nested = images(g, images(h, x)[0])
            self.agree(law, images(group.compose(g, h), x), nested, g, h)
            hg = images(group.compose(h, g), x)
            self.agree(law, hg, images(h, moved[:, 0]).swapaxes(0, 1), h, g)
            products.append(self.find(hg[:, 0] @ self.directions))
        ab = group.compose(a, b)
        self.agree(law, images(ab, x), self.each(a, images(b, x)), a, b)
        left, right = group.compose(ab, c), group.compose(a, group.compose(b, c))
        self.agree("associativity fails", images(left, x), images(right, x), a, b, c)
        if complete:
            self.closed(partners, products)

    def closed(self, partners: NDArray[Any], products: list[NDArray[Any]]) -> None:
        """Each product is listed, once, and what is listed is a product of generators."""
        group, listed, n = self.group, self.tried, len(self.tried)
        twins = np.flatnonzero(self.alike != np.arange(n))
        if isinstance(group, FiniteGroup) and len(twins):
            self.fail(
                f"order says {group.order}, but only {n - len(twins)} elements act differently: "
                "there is no difference",
                listed[self.alike[twins[0]]],
                listed[twins[0]],
            )
        for h, product in zip(partners, products, strict=True):
            if product.min() < 0:
                self.fail("closure: elements() lacks the product gh", h, listed[product.argmin()])
        (unit,) = self.find(self.signatures(group.identity()))
        if unit < 0:
            self.fail("closure: elements() lacks the identity", group.identity()[0])
        if not isinstance(group, FiniteGroup):
            return
        # The orbits of the generators on the group: one, if they generate it.
        ends = np.concatenate([*products, self.alike[:0]])
        steps = np.tile(np.arange(n), len(products)), ends
        graph = coo_array((np.ones(len(ends)), steps), shape=(n, n))
        orbits = connected_components(graph, directed=False)[1]
        missed = np.flatnonzero(orbits != orbits[unit])
        if len(missed):
            self.fail(
                f"order says {group.order}, but the generators give only {n - len(missed)} "
                "elements: no product is found",
                listed[missed[0]],
            )

    def measure(self) -> None:
        """Weights are probabilities, and draws follow them."""
        group = self.group
        listable = group.order <= ENUMERATION_LIMIT
        weights = group.weights() if listable else None
        if weights is not None:
            self.probabilities(weights)
        haar = isinstance(group, Group) and group.symmetric
        if self.listed is not None:
            weights = self.frequencies(weights)
            if haar:
                self.symmetry(weights)
        elif weights is None and (
            listable or (haar and getattr(group, "density", None) is None)
        ):  # Of more than 2,000 equally likely elements 1,264 or more of 2,000 draws differ on
            # average. One draw changes that by one at most: below 1,000 with probability 1e-30.
            drawn = group.sample(2 * _DRAWS, self.rng)
            different = len({g.tobytes() for g in drawn})
            if different < _DRAWS:
                self.fail(
                    f"of {len(drawn)} draws of sample only {different} differ, too few where "
                    f"{group.order} elements are equally likely: it repeats itself",
                    drawn[0],
                )

    def probabilities(self, weights: NDArray[Any]) -> None:
        due = f"weights() must return None or an array of {self.group.order} probabilities"
        if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "iuf":
            self.fail(f"{due}; got {weights!r:.80} (return np.array(...))")
        if weights.shape != (self.group.order,):
            self.fail(f"{due}; got shape {weights.shape}")
        if not np.all(weights >= 0):
            self.fail(f"{due}; the least is {weights.min()}")
        if not abs(weights.sum() - 1) <= 1e-6:
            self.fail(f"{due}, which sum to one; they sum to {weights.sum():.6g}")

    def frequencies(self, weights: NDArray[Any] | None) -> NDArray[Any]:
        """Each element is drawn as often as its weight says, by binomial tests; the weights."""
        group, listed, n = self.group, self.tried, len(self.tried)
        weights = np.full(n, 1 / n) if weights is None else weights
        # Elements that act alike count together.
        due = np.minimum(np.bincount(self.alike, weights, n), 1)
        # Where 30 draws an element are due, one that never comes is unlikely enough to be found.
        n_draws = max(_DRAWS, 30 * n)
        counts: Counter[bytes] = Counter()
        size = max(1, _ENTRIES // 2 // listed[0].size)
        for start in range(0, n_draws, size):
            drawn = group.sample(min(size, n_draws - start), self.rng)
            counts.update(g.tobytes() for g in drawn)
        different = np.frombuffer(b"".join(counts), drawn.dtype).reshape(-1, *drawn.shape[1:])
        cells = self.find(self.signatures(different))
        if cells.min() < 0:
            self.fail("sample draws what elements() does not list", different[cells.argmin()])
        drawn = np.bincount(cells, list(counts.values()), n)
        tails = binom.cdf(drawn, n_draws, due), binom.sf(drawn - 1, n_draws, due)
        chances = 2 * n * np.minimum(*tails)
        worst = int(chances.argmin())
        if chances[worst] < _FALSE_ALARM:
            self.fail(
                f"sample does not follow the weights: of {n_draws} draws {drawn[worst]:.0f} "
                f"instead of {n_draws * due[worst]:.4g} (chance below {_FALSE_ALARM:g})",
                listed[worst],
            )
        return due

    def symmetry(self, weights: NDArray[Any]) -> None:
        """An element and its inverse weigh the same."""
        inverses = self.find(self.signatures(self.group.inverse(self.tried)))
        if inverses.min() < 0:
            self.fail("closure: elements() lacks the inverse", self.tried[inverses.argmin()])
        weight, opposite = weights[self.alike], weights[inverses]
        unlike = np.isclose(weight, opposite).argmin()
        if not np.isclose(weight[unlike], opposite[unlike]):
            self.fail(
                f"symmetric is claimed, but the weights {weight[unlike]:.4g} and, of the inverse, "
                f"{opposite[unlike]:.4g} differ",
                self.tried[unlike],
            )


class Departure(NamedTuple):
    """Largest and root mean square departures over the sampled elements and the points."""

    norm: float
    norm_rms: float
    inner_product: float
    inner_product_rms: float
    inverse: float | None
    inverse_rms: float | None


@arguments(group=GROUP, X=Array(), n_samples=Whole(1), random_state=Seed())
def departure_from_unitary(
    group: Transformations, X: ArrayLike, *, n_samples: int = 50, random_state: Any = 0
) -> Departure:
    r"""Measure how far an action is from unitary on given points.

    Parameters
    ----------
    group : Transformations
    X : array of shape (n, d) or (n, *shape)
    n_samples : int
        Elements drawn from the measure.
    random_state : int, RandomState or None

    Returns
    -------
    Departure
        ``norm``: \| \|gx\| / \|x\| - 1 \|; ``inner_product``: \|<gx, gz> - <x, z>\| / (\|x\| \|z\|)
        over all pairs; ``inverse``: \|g^-1 g x - x\| / \|x\|, None where there is no inverse. Each
        as the largest value and, with ``_rms``, as a root mean square.

    Examples
    --------
    >>> from invariance.groups import Rotations, Translations
    >>> X = np.random.default_rng(0).standard_normal((4, 8, 8))
    >>> departure_from_unitary(Translations((8, 8), max_shift=2), X).inner_product < 1e-12
    True
    >>> departure_from_unitary(Rotations((8, 8)), X).norm > 0.1        # noise does not rotate
    True
    """
    points = np.asarray(X, dtype=float)
    if points.ndim < 2:
        raise ParameterError(f"departure_from_unitary needs X of shape (n, d), got {short(X)}")
    flat = points.reshape(len(points), -1)
    norms = np.linalg.norm(flat, axis=1)
    if not np.all(norms > 0):
        raise ParameterError(f"X: point {int(norms.argmin())} is zero: its departure is undefined")
    check_memory("departure_from_unitary", 8 * n_samples * flat.size, n_samples=n_samples)
    elements = group.sample(n_samples, random_state)
    moved = group.act(elements, points).reshape(len(elements), *flat.shape)
    gram = (moved @ moved.swapaxes(1, 2) - flat @ flat.T) / np.outer(norms, norms)
    stretch = np.linalg.norm(moved, axis=2) / norms - 1
    undone = None
    if hasattr(group, "inverse"):
        back = group.inverse(elements)
        residue = [group.act(back[i : i + 1], moved[i])[0] - flat for i in range(len(back))]
        undone = np.linalg.norm(residue, axis=2) / norms

    def both(values: Any) -> tuple[float, float]:
        return float(np.abs(values).max()), float(np.sqrt(np.mean(np.square(values))))

    inverse = (None, None) if undone is None else both(undone)
    return Departure(*both(stretch), *both(gram), *inverse)
