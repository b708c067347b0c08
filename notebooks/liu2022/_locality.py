"""The definition of the locality kernel, with a counter, for the notebook `locality`."""

from typing import NamedTuple

from numpy.typing import NDArray

GAMMA = 0.2
WINDOW_SIDE = 1  # entries on either side of a window's centre


class Count(NamedTuple):
    """Value of a kernel, and the window values that it took.

    `n_kept` window values are kept, and at most `n_sums` sums are under way at the same time.
    """

    value: float
    n_computed: int
    n_kept: int
    n_sums: int


def counted_kernel(products: NDArray, depth: int, stored: bool) -> Count:
    """Return the kernel of one pair of sequences by eq. (6), from the products of their entries.

    If `stored`, each window value is computed once and kept; otherwise those of the last layer are.
    """
    length = len(products)
    kept_values: dict[tuple[int, int], float] = {}
    n_computed = 0
    n_open_sums = 0
    n_sums = 0

    def window(layer: int, place: int) -> float:
        nonlocal n_computed, n_open_sums, n_sums
        if (layer, place) in kept_values:
            return kept_values[layer, place]
        n_open_sums += 1
        n_sums = max(n_sums, n_open_sums)
        total = 0.0
        for i in range(max(0, place - WINDOW_SIDE), min(length, place + WINDOW_SIDE + 1)):
            total += products[i] if layer == 1 else window(layer - 1, i)
        value = (1 + GAMMA * total) ** 2
        n_computed += 1
        n_open_sums -= 1
        if stored or layer == depth:
            kept_values[layer, place] = value
        return value

    total = sum(window(depth, i) for i in range(length))
    return Count(1 + GAMMA * total, n_computed, len(kept_values), n_sums)
