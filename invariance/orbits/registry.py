"""`Algorithm`: a way to reduce a kernel over orbits, and the registry of all algorithms.

An algorithm is a class with six methods: `applies_to` a problem, how many `operations` it takes,
`prepare` templates, `compute` the reduction for a block of points, and the memory of both,
`prepared_bytes` and `row_bytes`. It registers itself:

    @register
    class MyAlgorithm(Algorithm):
        ...

in a module of `orbits/ways` that ``ways/__init__.py`` imports. `plan.py` then compares its cost
with that of the others, and a test holds it to the plain product (`product.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

if TYPE_CHECKING:
    from .blocks import Workers
    from .orbit_products import OrbitProducts
    from .plan import Problem
    from .reductions import Reduction

Array = NDArray[Any]
_Class = TypeVar("_Class", bound="type[Algorithm]")

#: Share of the memory bound for one thread's block: several threads work at once.
_SHARE_OF_BOUND = 1 / 8


class Prepared(NamedTuple):
    """Templates as an algorithm needs them."""

    #: Bound on the norms of the transformed templates.
    largest_norm: float
    content: Any


class Algorithm(ABC):
    """A way to solve a `Problem`: a block of points X against all prepared templates.

    It holds nothing that depends on the points. Prepared templates are handed from `prepare` to
    `compute`.
    """

    #: Name in `OrbitProducts.explain`.
    name: str
    #: Whether it goes through the elements of the group, and through nodes of an infinite one.
    by_elements = True
    #: Largest number of points X in a block.
    rows = 1024
    #: Largest number of pieces of templates, and fewest templates per piece, if half of a symmetric
    #: matrix is left out.
    triangle_pieces = 8
    triangle_width = 64
    #: Duration of an operation, relative to one of a large matrix product.
    slowness = 1.0
    #: Whether it solves problems in which squared distances are computed from differences.
    by_differences = False

    def __init__(self, problem: Problem):
        self.problem = problem

    @classmethod
    @abstractmethod
    def applies_to(cls, problem: Problem) -> bool:
        """Whether the algorithm solves the problem."""

    @abstractmethod
    def operations(self, n: int, m: int) -> float:
        """Number of floating-point operations for n points and m templates."""

    def cost(self, n: int, m: int) -> float:
        """Duration for n points and m templates, in operations of a large matrix product."""
        return self.slowness * self.operations(n, m)

    @abstractmethod
    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        """Yield what `compute` needs of the templates, for some elements of the group at a time.

        ``offsets`` are added to the inner products with each template. ``workers.map`` applies a
        function to several arguments, in threads if that pays.
        """

    @abstractmethod
    def compute(
        self, X: Array, prepared: Any, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        """Reduce over the prepared elements: arrays of shape (len(X), m, ...).

        ``row_terms`` (len(X),), times `Problem.row_factors`, are added to the inner products.
        """

    # Memory.

    @abstractmethod
    def prepared_bytes(self, m: int) -> float:
        """Bytes that `prepare` takes for m templates and all elements."""

    @abstractmethod
    def row_bytes(self, width: int) -> float:
        """Bytes of temporary arrays for a single point against ``width`` templates."""

    def pieces(self, m: int) -> int:
        """Number of pieces into which m templates are cut to stay within the memory bound."""
        bytes_for_templates = self.problem.block_bytes / 2
        templates_per_piece = max(1, int(bytes_for_templates // self.prepared_bytes(1)))
        return -(-m // templates_per_piece)

    def row_step(self, width: int) -> int:
        """Number of points in a block, against ``width`` templates."""
        budget = self.problem.block_bytes * _SHARE_OF_BOUND
        n_rows = int(budget // self.row_bytes(width))
        return min(max(1, n_rows), self.rows)

    def check(self) -> None:
        """Raise an error if the algorithm goes through elements that are too many to be listed."""
        return

    # Shortcuts that depend on the points.

    def for_support(self, support: Array, n: int) -> Algorithm:
        """Return the algorithm for n points that are zero outside the support, shape (d,)."""
        return self

    def row_order(self, X: Array) -> Array | None:
        """Return the order in which points are best processed, or None if it does not matter."""
        return None


class ArrayLibrary(Protocol):
    """Reductions for arrays of libraries other than NumPy."""

    def reduce(self, orbits: OrbitProducts, X: Any, reduction: Reduction) -> list[Any]: ...

    def is_exact(self, orbits: OrbitProducts, X: Any, reduction: Reduction) -> bool: ...


_ALGORITHMS: list[type[Algorithm]] = []
_ARRAY_LIBRARIES: list[ArrayLibrary] = []


def register(algorithm: _Class) -> _Class:
    """Class decorator: let `OrbitProducts` consider an algorithm."""
    _ALGORITHMS.append(algorithm)
    return algorithm


def algorithms() -> tuple[type[Algorithm], ...]:
    """Return all registered algorithms, in the order of their registration."""
    return tuple(_ALGORITHMS)


def register_for_arrays(cls: type[ArrayLibrary]) -> type[ArrayLibrary]:
    """Class decorator: let `OrbitProducts` hand arrays of other libraries to this class."""
    _ARRAY_LIBRARIES.append(cls())
    return cls


def array_library() -> ArrayLibrary:
    """Return what computes with arrays of other libraries."""
    return _ARRAY_LIBRARIES[-1]
