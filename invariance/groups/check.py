"""`check_group` verifies the promises of a class; `departure_from_unitary` measures one of them."""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.stats import binom
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.parameters import ParameterError, arguments, check_memory, short
from .base import GROUP, FiniteGroup, Group, Transformations, closure

Elements: TypeAlias = NDArray[Any]
Points: TypeAlias = NDArray[np.float64]

#: Every element is checked if there are at most this many of them.
_MOST_LISTED = 2000
#: Every element is checked if the images of one point have at most this many entries in all; half
#: as many entries are drawn at a time.
_MOST_ENTRIES = 2**22
#: Probability, over the seeds, that a correct `sample` is reported as faulty.
_FALSE_ALARM = 1e-6
#: Number of random elements tried for each property that is not checked on all of them.
_TRIALS = 10
#: Least number of draws from a set that is listed; half the number of draws from a larger one.
_DRAWS = 1000


@arguments(group=GROUP, random_state=kinds.Seed(), tolerance=kinds.Number(1e-14, 0.01))
def check_group(group: Transformations, *, random_state: Any = 0, tolerance: float = 1e-8) -> None:
    """Check axioms, action, unitarity, order and measure.

    A set of at most 2,000 elements is checked on every one of them, and a group on the products of
    each with the generators; a larger set on random elements. The number of times that each listed
    element is drawn is compared with `weights`; of 2,000 draws from a larger group, half must
    differ. A correct `sample` fails with probability at most 1e-6. Points are normal vectors.

    Parameters
    ----------
    group : Transformations
        A `Group` must satisfy the axioms; any other set only its shape and its claims.
    tolerance : float
        Largest difference, relative to the points' norm, that counts as rounding.

    Raises
    ------
    AssertionError
        Names the property that fails, the elements that break it, and by how much.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> check_group(CyclicShifts(6))
    """
    check = _Check(group, check_random_state(random_state), tolerance)
    check.action()
    if isinstance(group, Group):
        check.axioms()
    if check.is_listed:
        check.frequencies()
        return
    has_density = getattr(group, "density", None) is not None
    if isinstance(group, Group) and group.symmetric and not has_density:
        check.differ()


class _Check:
    """Examination of one set of transformations, on the elements ``trials``.

    These are all elements if ``is_listed``. Two elements count as equal if they act alike on a
    point, judged by three random coordinates of gx: ``first_alike`` holds the index of the first
    element that acts in the same way.
    """

    def __init__(self, group: Any, rng: np.random.RandomState, tolerance: float):
        self.group = group
        self.rng = rng
        self.tolerance = tolerance
        # If vectors of any length are accepted, 60 entries suit rows of points with up to six
        # coordinates.
        n_features = group.n_features or 60
        self.X = rng.standard_normal((3, n_features))
        self.scale = np.linalg.norm(self.X, axis=1).max()
        most_listed = min(_MOST_LISTED, _MOST_ENTRIES // n_features)
        self.is_listed = group.order <= most_listed
        self.n_generated = 0
        self.trials = self.elements()
        width = self.images(self.trials[:1], self.X).shape[2]
        self.directions = rng.standard_normal((width, 3)) / np.sqrt(width)
        self.tree = cKDTree(self.signatures(self.trials))
        self.first_alike = self.find(self.trials)

    @property
    def has_generators(self) -> bool:
        """Whether the elements are listed and come from generators."""
        return self.is_listed and isinstance(self.group, FiniteGroup)

    def fail(self, message: str, *elements: Any) -> NoReturn:
        names = [np.array2string(np.asarray(element)) for element in elements]
        if names:
            message = f"{message} for {', '.join(names)}"
        raise AssertionError(f"{self.group!r}: {message}")

    def agree(self, message: str, left: Any, right: Any, *batches: Elements) -> None:
        """Fail if images differ, with the elements; a batch of one belongs to every image."""
        differences = np.abs(left - right)
        gaps = differences.max(axis=(1, 2)) / self.scale
        worst = int(np.argmax(gaps))
        worst_gap = gaps[worst]
        # Written so that NaN fails.
        if not worst_gap <= self.tolerance:
            culprits = [batch[worst % len(batch)] for batch in batches]
            self.fail(f"{message} by {worst_gap:.2g}", *culprits)

    def elements(self) -> Elements:
        """All elements if they are listed, otherwise a few draws."""
        if self.has_generators:
            self.n_generated = self.generated_order()
        if self.is_listed:
            trials = self.group.elements()
            if len(trials) != self.group.order:
                self.fail(f"order says {self.group.order}, but elements() lists {len(trials)}")
            self.weights(len(trials))  # before the draws, which follow them
        else:
            trials = self.group.sample(_TRIALS, self.rng)
        draws = self.group.sample(4, 7)
        if not np.array_equal(draws, self.group.sample(4, 7)):
            self.fail("sample(4, 7) differs between calls with the same seed")
        return np.asarray(trials)

    def generated_order(self) -> int:
        """Number of products of generators, which must not exceed the order."""
        group = self.group
        order = int(group.order)
        name = type(group).__name__
        # The limit ends a listing that would go on if `compose` did not reduce its results.
        try:
            products = closure(group.identity(), group.generators(), group.compose, name, order)
        except ValueError as error:
            self.fail(f"order says {order}, but {error} (each in one way of writing?)")
        return len(products)

    def images(self, elements: Elements, X: Points) -> Points:
        """Transformed points; they must be finite and have the right shape."""
        group = self.group
        images = group.act(elements, X)
        expected = (len(elements), *X.shape)
        if images.shape != expected:
            # Sets such as `LinearMaps` return other coordinates than they take.
            keeps_points = group.keeps_shape or group.unitary or isinstance(group, Group)
            has_rows = images.ndim == 3 and images.shape[:2] == expected[:2]
            if keeps_points or not has_rows:
                self.fail(f"act returned shape {images.shape}, expected {expected}")
        is_finite = np.isfinite(images).all(axis=(1, 2))
        if not is_finite.all():
            self.fail("act returned nan or infinite values", elements[np.argmin(is_finite)])
        return np.asarray(images)

    def each(self, elements: Elements, X: Points) -> Points:
        """g_i x_i, shape (r, 1, d)."""
        images = []
        for element, points in zip(elements, X, strict=True):
            image = self.images(element[None], points)
            images.append(image[0])
        return np.array(images)

    def signatures(self, elements: Elements) -> Points:
        """Three random coordinates of gx for each element, shape (r, 3)."""
        images = self.images(elements, self.X[:1])
        return np.asarray(images[:, 0] @ self.directions)

    def find(self, elements: Elements, message: str = "", *factors: Any) -> NDArray[np.intp]:
        """Index of the first of the trials that acts alike; -1 (or a failure) if no trial does."""
        signatures = self.signatures(elements)
        neighbours = self.tree.query_ball_point(signatures, self.tolerance * self.scale)
        first_indices = [min(indices, default=-1) for indices in neighbours]
        result = np.array(first_indices, dtype=np.intp)
        if message and result.min() < 0:
            self.fail(message, *factors, elements[result.argmin()])
        return result

    def action(self) -> None:
        """Check linearity, which groups and unitary actions have, and unitarity if claimed."""
        X = self.X
        trials = self.trials
        is_unitary = self.group.unitary
        images = self.images(trials, X)
        if is_unitary or isinstance(self.group, Group):
            combination = 2 * X[:1] - 3 * X[1:2]
            combined_before = self.images(trials, combination)
            combined_after = 2 * images[:, :1] - 3 * images[:, 1:2]
            self.agree("linearity of the action fails", combined_before, combined_after, trials)
        if is_unitary:
            gram = X @ X.T / self.scale
            image_grams = images @ images.swapaxes(1, 2) / self.scale
            message = "unitary is claimed, but <gx, gz> differs from <x, z>"
            self.agree(message, image_grams, gram, trials)

    def axioms(self) -> None:
        """Check each element, and its products with the generators or with a few draws."""
        group = self.group
        trials = self.trials
        x = self.X[:1]
        identity = group.identity()
        self.agree("identity: e x = x fails", self.images(identity, x), x, identity)
        images = self.images(trials, x)
        restored = self.each(group.inverse(trials), images)
        self.agree("inverse: g^-1 (g x) = x fails", restored, x, trials)
        if self.has_generators:
            self.check_twins()
        for factor in self.factors():
            self.check_products(factor[None], images)
        n_trials = len(trials)
        left, right = trials[self.rng.randint(n_trials, size=(2, _TRIALS))]
        products = group.compose(left, right)
        nested_images = self.each(left, self.images(right, x))
        self.check_action_law(products, nested_images, left, right)
        if self.has_generators and self.n_generated < n_trials:
            only = f"only {self.n_generated} elements"
            self.fail(f"order says {n_trials}, but the generators give {only}")

    def check_twins(self) -> None:
        """Fail if two listed elements act alike."""
        n_trials = len(self.trials)
        twins = np.flatnonzero(self.first_alike != np.arange(n_trials))
        if len(twins) == 0:
            return
        twin = twins[0]
        original = self.first_alike[twin]
        self.fail(
            f"order says {n_trials}, but only {n_trials - len(twins)} elements act differently",
            self.trials[original],
            self.trials[twin],
        )

    def factors(self) -> Elements:
        """Elements by which the trials are multiplied: the generators, or three at random."""
        if self.is_listed:
            random_elements = self.trials[self.rng.randint(len(self.trials), size=3)]
        else:
            random_elements = self.group.sample(3, self.rng)
        if self.has_generators:
            return np.asarray(self.group.generators())
        return np.asarray(random_elements)

    def check_products(self, factor: Elements, images: Points) -> None:
        """Multiply all trials, with these images of a point, by an element from either side."""
        trials = self.trials
        x = self.X[:1]
        right_products = self.group.compose(trials, factor)
        right_images = self.images(trials, self.images(factor, x)[0])
        self.check_action_law(right_products, right_images, trials, factor)
        left_products = self.group.compose(factor, trials)
        left_images = self.images(factor, images[:, 0]).swapaxes(0, 1)
        self.check_action_law(left_products, left_images, factor, trials)
        message = "closure: elements() lacks the product gh" if self.is_listed else ""
        self.find(left_products, message)

    def check_action_law(
        self, products: Elements, nested_images: Points, left: Elements, right: Elements
    ) -> None:
        """Compare (gh)x with g(hx)."""
        images = self.images(products, self.X[:1])
        self.agree("action: (gh)x = g(hx) fails", images, nested_images, left, right)

    def frequencies(self) -> None:
        """Compare draws with the weights by binomial tests, and weights with those of inverses."""
        n = len(self.trials)
        # Elements that act alike count together.
        probabilities = np.minimum(np.bincount(self.first_alike, self.weights(n), n), 1)
        # With 30 expected draws per element, an element that never comes is detected.
        n_draws = max(_DRAWS, 30 * n)
        counts = self.count_draws(n_draws)
        p_values = n * _two_sided(counts, n_draws, probabilities)
        worst = int(p_values.argmin())
        if p_values[worst] < _FALSE_ALARM:
            expected = n_draws * probabilities[worst]
            self.fail(
                f"sample does not follow the weights: of {n_draws} draws {counts[worst]:.0f} "
                f"instead of {expected:.4g} or so",
                self.trials[worst],
            )
        if isinstance(self.group, Group) and self.group.symmetric:
            self.check_symmetry(probabilities)

    def weights(self, n: int) -> NDArray[np.float64]:
        """Probabilities of the n listed elements; they must be valid."""
        weights = self.group.weights()
        if weights is None:
            return np.full(n, 1 / n)
        message = f"weights() must return None or an array of {n} probabilities"
        if not isinstance(weights, np.ndarray) or weights.shape != (n,):
            shape = getattr(weights, "shape", weights)
            self.fail(f"{message}; got {shape!r:.80}")
        total = weights.sum()
        least = weights.min()
        if not (least >= 0 and abs(total - 1) <= 1e-6):
            self.fail(f"{message}; the least is {least}, their sum {total:.6g}")
        return weights

    def count_draws(self, n_draws: int) -> NDArray[np.intp]:
        """Number of draws of each listed element; elements that act alike count together."""
        counts: Counter[bytes] = Counter()
        entries_per_element = self.trials[0].size
        block_size = max(1, _MOST_ENTRIES // 2 // entries_per_element)
        for start in range(0, n_draws, block_size):
            n_in_block = min(block_size, n_draws - start)
            draws = self.group.sample(n_in_block, self.rng)
            counts.update(element.tobytes() for element in draws)
        flat_elements = np.frombuffer(b"".join(counts), draws.dtype)
        distinct = flat_elements.reshape(-1, *draws.shape[1:])
        indices = self.find(distinct, "sample draws what elements() does not list")
        return np.bincount(indices, list(counts.values()), len(self.trials))

    def check_symmetry(self, probabilities: NDArray[np.float64]) -> None:
        """Fail if an element and its inverse have different weights."""
        inverses = self.group.inverse(self.trials)
        inverse_indices = self.find(inverses, "closure: elements() lacks the inverse")
        weights = probabilities[self.first_alike]
        inverse_weights = probabilities[inverse_indices]
        is_close = np.isclose(weights, inverse_weights)
        if is_close.all():
            return
        index = int(is_close.argmin())
        pair = f"{weights[index]:.4g} and, of the inverse, {inverse_weights[index]:.4g}"
        message = f"symmetric is claimed, but the weights {pair} differ"
        self.fail(message, self.trials[index])

    def differ(self) -> None:
        """Check that draws from a large group are rarely equal.

        Of 2,000 draws from more than 2,000 equally likely elements, at least 1,264 differ on
        average. One draw changes that number by at most one, so that it falls below 1,000 with
        probability 1e-30.
        """
        draws = self.group.sample(2 * _DRAWS, self.rng)
        n_different = len({element.tobytes() for element in draws})
        if n_different >= _DRAWS:
            return
        message = f"of {len(draws)} draws of sample only {n_different} differ"
        order = self.group.order
        self.fail(f"{message}, where {order} elements are equally likely", draws[0])


def _two_sided(
    counts: NDArray[np.intp], n_draws: int, probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P-values of two-sided binomial tests."""
    lower_tails = binom.cdf(counts, n_draws, probabilities)
    upper_tails = binom.sf(counts - 1, n_draws, probabilities)
    return np.asarray(2 * np.minimum(lower_tails, upper_tails))


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
        over all pairs. Each is the largest value over elements and points and, with "_rms", the
        root mean square.

    Examples
    --------
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
    rows = points.reshape(len(points), -1)
    largest = np.abs(rows).max(axis=1)
    if not np.all(largest > 0):
        point = int(largest.argmin())
        raise ParameterError(f"X: point {point} is zero: its departure is undefined")
    check_memory("departure_from_unitary", 8 * n_samples * rows.size, n_samples=n_samples)
    elements = group.sample(n_samples, random_state)
    images = group.act(elements, points).reshape(len(elements), *rows.shape)
    # The results have no unit: points and images are scaled so that no square vanishes.
    _, exponents = np.frexp(largest)
    rows = np.ldexp(rows, -exponents[:, None])
    images = np.ldexp(images, -exponents[:, None])
    norms = np.linalg.norm(rows, axis=1)
    norm_gaps = np.linalg.norm(images, axis=2) / norms - 1
    gram_gaps = images @ images.swapaxes(1, 2) - rows @ rows.T
    inner_product_gaps = gram_gaps / np.outer(norms, norms)
    return {
        "norm": _largest(norm_gaps),
        "inner_product": _largest(inner_product_gaps),
        "norm_rms": _root_mean_square(norm_gaps),
        "inner_product_rms": _root_mean_square(inner_product_gaps),
    }


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.abs(values).max())


def _root_mean_square(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))
