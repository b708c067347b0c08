"""Reductions of kernels over the orbits of points, each by the cheapest algorithm.

A group states what it can do (`Transformations.as_shifts`, ``as_circle``, ``as_turns``,
``aligned``), a base kernel whether it is a function of inner products (``inner_form``), and
`OrbitProducts` chooses: the plain product, or one of the algorithms in `orbits.ways`.
"""

from . import ways as ways
from .blocks import row_blocks
from .cost import Explanation
from .form import INNER, Form, form_of
from .orbit_products import OrbitProducts
from .reductions import Extremes, Histogram, JointMeans, Reduction, Sorted, WeightedMean
from .ways.best_elements import best_elements
from .ways.circle import CircleProducts

__all__ = [
    "INNER", "CircleProducts", "Explanation", "Extremes", "Form", "Histogram", "JointMeans",
    "OrbitProducts", "Reduction", "Sorted", "WeightedMean", "best_elements",
    "form_of", "row_blocks",
]  # fmt: skip
