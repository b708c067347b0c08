"""Inner products over orbits: reductions over group elements by the cheapest way.

A group says what it can do (`Transformations.as_shifts`, ``as_circle``, ``as_turns``, ``aligned``),
a base kernel what it is (``inner_form``), and `OrbitProducts` chooses: transformed points and
matrix products, correlation, circle, quarter turns, closed forms.
"""

from .circle import CircleProducts
from .engine import OrbitProducts
from .form import INNER, Form, form_of
from .reductions import Extremes, Histogram, Reduction, WeightedMean
from .way import Explanation, row_blocks

__all__ = [
    "INNER", "CircleProducts", "Explanation", "Extremes", "Form", "Histogram", "OrbitProducts",
    "Reduction", "WeightedMean", "form_of", "row_blocks",
]  # fmt: skip
