r"""Bounds and exact values of Mroueh, Voinea and Poggio 2015.

*Learning with Group Invariant Features: A Kernel Perspective.* Throughout, d is the dimension of
the points, eps the slack in the norm bound :math:`|t|^2 < 1 + \varepsilon` of the templates, R the
largest norm of a point, :math:`s = R (1 + \varepsilon)` the half-width of the thresholds, n the
number of bins (2n + 1 thresholds), m the number of templates, :math:`|G|` the number of sampled
group elements and N the number of points.

Where a constant in the paper's proof differs from the algebra, the docstring says so, and the
function gives the printed and the derived one.
"""

from .theorem1 import (
    chi2_lower_tail_bound,
    chi2_upper_tail_bound,
    clark_max_moments,
    orbit_distance,
    sphere_gap,
    sphere_slack,
    theorem1_delta1,
    theorem1_delta2,
    theorem1_deviation,
    theorem1_gap,
    theorem1_sandwich,
)
from .theorem2 import (
    Sizes,
    cdf_products,
    corollary1_sandwich,
    corollary1_sizes,
    expected_inner_product,
    mean_maximum,
    remark4_kernel,
    theorem2_bins,
    theorem2_constants,
    theorem2_elements,
    theorem2_errors,
    theorem2_templates,
)
from .theorem3 import (
    lemma4_error,
    lemma5_risk,
    lemma6_deviation,
    loss_constants,
    rademacher_bound,
    theorem3_bound,
)

__all__ = [
    "Sizes",
    "cdf_products",
    "chi2_lower_tail_bound",
    "chi2_upper_tail_bound",
    "clark_max_moments",
    "corollary1_sandwich",
    "corollary1_sizes",
    "expected_inner_product",
    "lemma4_error",
    "lemma5_risk",
    "lemma6_deviation",
    "loss_constants",
    "mean_maximum",
    "orbit_distance",
    "rademacher_bound",
    "remark4_kernel",
    "sphere_gap",
    "sphere_slack",
    "theorem1_delta1",
    "theorem1_delta2",
    "theorem1_deviation",
    "theorem1_gap",
    "theorem1_sandwich",
    "theorem2_bins",
    "theorem2_constants",
    "theorem2_elements",
    "theorem2_errors",
    "theorem2_templates",
    "theorem3_bound",
]
