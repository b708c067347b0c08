"""`check_group` holds a class to its promises; `departure_from_unitary` measures one of them."""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.stats import binom
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.parameters import ParameterError, arguments, check_memory, short
from .base import GROUP, FiniteGroup, Group, Transformations, closure

#: A set of at most this many elements is checked on every one of them, where their images of a
#: point are at most that many numbers; half as many are held in draws at a time.
_LISTED, _ENTRIES = 2000, 2**22
#: Probability, over the seeds, that a correct `sample` is called wrong.
_FALSE_ALARM = 1e-6
#: Random elements tried for each property that is not checked on all of them.
_TRIALS = 10
#: Least number of draws from a set that is listed; half of those from one that is not.
_DRAWS = 1000


@arguments(group=GROUP, random_state=kinds.Seed(), tolerance=kinds.Number(1e-14, 0.01))
def check_group(group: Transformations, *, random_state: Any = 0, tolerance: float = 1e-8) -> None:
    """Check axioms, action, unitarity, order and measure.

    A set of at most 2,000 elements is checked on every one of them, and a group on the products of
    each with the generators; a larger set on random elements. How often each listed element is
    drawn is compared with `weights`; of a larger group half of 2,000 draws must differ. A correct
    `sample` fails with probability at most 1e-6. Points are normal vectors.

    Parameters
    ----------
    group : Transformations
        A `Group` is held to the axioms; any other set only to its shape and its claims.
    tolerance : float
        Largest difference, relative to the points' norm, that counts as rounding.

    Raises
    ------
    AssertionError
        Names the property that fails, the elements that break it, and by how much.

    >>> from invariance.groups import CyclicShifts
    >>> check_group(CyclicShifts(6))
    """
    check = _Check(group, check_random_state(random_state), tolerance)
    check.action()
    if isinstance(group, Group):
        check.axioms()
    if check.whole:
        check.frequencies()
    elif isinstance(group, Group) and group.symmetric and getattr(group, "density", None) is None:
        check.differ()


class _Check:
    """One set of transformations under examination, on the elements ``tried``.

    These are all elements where the set is listed ``whole``. Elements are told apart by what they
    do to a point, by three random coordinates of gx: ``alike`` numbers the first that acts so.
    """

    def __init__(self, group: Any, rng: np.random.RandomState, tolerance: float):
        self.group, self.rng, self.tolerance = group, rng, tolerance
        # 60 entries are rows of points of up to six coordinates, where any length will do.
        self.X = rng.standard_normal((3, group.n_features or 60))
        self.scale = np.linalg.norm(self.X, axis=1).max()
        self.whole = group.order <= min(_LISTED, _ENTRIES // self.X.shape[1])
        self.tried = self.elements()
        width = self.images(self.tried[:1], self.X).shape[2]
        self.directions = rng.standard_normal((width, 3)) / np.sqrt(width)
        self.tree = cKDTree(self.images(self.tried, self.X[:1])[:, 0] @ self.directions)
        self.alike = self.find(self.tried)

    def fail(self, what: str, *elements: Any) -> NoReturn:
        named = ", ".join(np.array2string(np.asarray(g)) for g in elements)
        raise AssertionError(f"{self.group!r}: {what}" + (f" for {named}" if named else ""))

    def agree(self, what: str, left: Any, right: Any, *batches: NDArray[Any]) -> None:
        """Fail where images differ, with the elements; a batch of one belongs to every image."""
        gaps = np.abs(left - right).max(axis=(1, 2)) / self.scale
        worst = int(np.argmax(gaps))
        if not gaps[worst] <= self.tolerance:
            self.fail(f"{what} by {gaps[worst]:.2g}", *(b[worst % len(b)] for b in batches))

    def elements(self) -> NDArray[Any]:
        """All of them, as many as order says, or some draws, the same ones for the same seed."""
        group, order = self.group, self.group.order
        if self.whole and isinstance(group, FiniteGroup):
            letters, name = group.generators(), type(group).__name__
            try:  # where compose does not reduce, listing would hardly end
                made = closure(group.identity(), letters, group.compose, name, int(order))
            except ValueError as error:
                self.fail(f"order says {order}, but {error} (each in one way of writing?)")
            self.given = len(made)
        tried = group.elements() if self.whole else group.sample(_TRIALS, self.rng)
        if self.whole and len(tried) != order:
            self.fail(f"order says {order}, but elements() lists {len(tried)}")
        if not np.array_equal(group.sample(4, 7), group.sample(4, 7)):
            self.fail("sample(4, 7) differs between calls with the same seed")
        return np.asarray(tried)

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
        return np.asarray(moved)

    def each(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        """g_i x_i, shape (r, 1, d)."""
        pairs = zip(elements[:, None], X, strict=True)
        return np.array([self.images(g, x)[0] for g, x in pairs])

    def find(self, elements: NDArray[Any], missing: str = "", *others: Any) -> NDArray[Any]:
        """The first of the tried elements that acts alike; -1 or a failure where none does."""
        signatures = self.images(elements, self.X[:1])[:, 0] @ self.directions
        near = self.tree.query_ball_point(signatures, self.tolerance * self.scale)
        found = np.array([min(indices, default=-1) for indices in near], dtype=np.intp)
        if missing and found.min() < 0:
            self.fail(missing, *others, elements[found.argmin()])
        return found

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

    def axioms(self) -> None:
        """For each element, and its products with the generators or a few draws."""
        group, g, x, images = self.group, self.tried, self.X[:1], self.images
        law, e, n = "action: (gh)x = g(hx) fails", group.identity(), len(self.tried)
        self.agree("identity: e x = x fails", images(e, x), x, e)
        moved = images(g, x)
        undone = self.each(group.inverse(g), moved)
        self.agree("inverse: g^-1 (g x) = x fails", undone, x, g)
        generated = self.whole and isinstance(group, FiniteGroup)
        lacks = "closure: elements() lacks the product gh" if self.whole else ""
        twins = np.flatnonzero(self.alike != np.arange(n))
        if generated and len(twins):
            same = g[self.alike[twins[0]]], g[twins[0]]
            self.fail(f"order says {n}, but only {n - len(twins)} elements act differently", *same)
        some = g[self.rng.randint(n, size=3)] if self.whole else group.sample(3, self.rng)
        for h in (group.generators() if generated else some)[:, None]:
            nested, hg = images(g, images(h, x)[0]), group.compose(h, g)
            self.agree(law, images(group.compose(g, h), x), nested, g, h)
            self.agree(law, images(hg, x), images(h, moved[:, 0]).swapaxes(0, 1), h, g)
            self.find(hg, lacks)
        a, b = g[self.rng.randint(n, size=(2, _TRIALS))]
        self.agree(law, images(group.compose(a, b), x), self.each(a, images(b, x)), a, b)
        if generated and self.given < n:
            self.fail(f"order says {n}, but the generators give only {self.given} elements")

    def frequencies(self) -> None:
        """Elements are drawn as often as their weights say, by binomial tests; inverses alike."""
        group, listed, n = self.group, self.tried, len(self.tried)
        weights = group.weights()
        weights = np.full(n, 1 / n) if weights is None else weights
        words = f"weights() must return None or an array of {n} probabilities"
        if not isinstance(weights, np.ndarray) or weights.shape != (n,):
            self.fail(f"{words}; got {getattr(weights, 'shape', weights)!r:.80}")
        if not (np.all(weights >= 0) and abs(weights.sum() - 1) <= 1e-6):
            self.fail(f"{words}; the least is {weights.min()}, their sum {weights.sum():.6g}")
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
        cells = self.find(different, "sample draws what elements() does not list")
        drawn = np.bincount(cells, list(counts.values()), n)
        tails = binom.cdf(drawn, n_draws, due), binom.sf(drawn - 1, n_draws, due)
        chances = 2 * n * np.minimum(*tails)
        worst = int(chances.argmin())
        if chances[worst] < _FALSE_ALARM:
            found = f"of {n_draws} draws {drawn[worst]:.0f} instead of {n_draws * due[worst]:.4g}"
            self.fail(f"sample does not follow the weights: {found} or so", listed[worst])
        if isinstance(group, Group) and group.symmetric:
            back = due[self.find(group.inverse(listed), "closure: elements() lacks the inverse")]
            unlike = int(np.isclose(due[self.alike], back).argmin())
            mine = due[self.alike[unlike]]
            if not np.isclose(mine, back[unlike]):
                words = f"the weights {mine:.4g} and, of the inverse, {back[unlike]:.4g} differ"
                self.fail(f"symmetric is claimed, but {words}", listed[unlike])

    def differ(self) -> None:
        """Draws from a large group are hardly ever the same.

        Of more than 2,000 equally likely elements 1,264 or more of 2,000 draws differ on average.
        One draw changes that by one at most: below 1,000 with probability 1e-30.
        """
        drawn = self.group.sample(2 * _DRAWS, self.rng)
        if (different := len({g.tobytes() for g in drawn})) < _DRAWS:
            found = f"of {len(drawn)} draws of sample only {different} differ"
            self.fail(f"{found}, where {self.group.order} elements are equally likely", drawn[0])


@arguments(group=GROUP, X=kinds.Array(), n_samples=kinds.Whole(1), random_state=kinds.Seed())
def departure_from_unitary(
    group: Transformations, X: ArrayLike, *, n_samples: int = 50, random_state: Any = 0
) -> dict[str, float]:
    r"""Measure how far an action is from unitary on points X (n, d) or (n, ...).

    ``n_samples`` elements are drawn from the measure.

    Returns
    -------
    dict
        "norm": \| \|gx\| / \|x\| - 1 \|; "inner_product": \|<gx, gz> - <x, z>\| / (\|x\| \|z\|)
        over all pairs. Each as the largest value over elements and points and, with "_rms", as a
        root mean square.

    >>> from invariance.groups import Rotations, Translations
    >>> X = np.random.default_rng(0).standard_normal((4, 8, 8))
    >>> departure_from_unitary(Translations((8, 8), max_shift=2), X)["inner_product"] < 1e-12
    True
    >>> departure_from_unitary(Rotations((8, 8)), X)["norm"] > 0.1        # noise does not rotate
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
    gaps = {
        "norm": np.linalg.norm(moved, axis=2) / norms - 1,
        "inner_product": (moved @ moved.swapaxes(1, 2) - flat @ flat.T) / np.outer(norms, norms),
    }
    found = {name: float(np.abs(gap).max()) for name, gap in gaps.items()}
    return found | {f"{name}_rms": float(np.sqrt(np.mean(gap**2))) for name, gap in gaps.items()}
