"""Features with very many sampled elements, and counted operations, for theorem 2 and remark 2."""

from dataclasses import dataclass

import numpy as np
from _groups import sphere

from invariance import groups
from invariance.features import GroupCDF, draw_templates
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

TEMPLATES_AT_ONCE = 500
CALIBRATION_DRAWS = 64  # templates, or elements, of one sample
N_CALIBRATED = 20  # templates of a sample that are tried with sampled elements
N_FEW = 10  # points on which the theorem itself is tried


def draw_accepted(n_templates, d, eps, rng):
    """Gaussian templates without the rejected ones."""
    templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
    return templates[_is_accepted(templates, eps)]


def _is_accepted(templates, eps):
    """Whether the squared norms of templates are below 1 + eps."""
    squared_norms = np.square(templates).sum(axis=1)
    return squared_norms < 1 + eps


def integrated(X, orbits, s):
    """Exact integrals over thresholds, summed over templates, from orbits (elements, templates, d)."""
    n_templates = orbits.shape[1]
    total = 0
    for j in range(n_templates):
        projections = X @ orbits[:, j].T
        total = total + theory.cdf_products(projections, s)
    return total


def excess_of_bins(group, X, bins, n_templates, eps, seed):
    """Largest, mean and least excess over exact integrals, shape (numbers of bins, 3)."""
    s = 1 + eps
    drawn = draw_templates(
        "gaussian",
        n_templates,
        n_features=X.shape[1],
        epsilon=eps,
        rejection="zero",
        random_state=seed,
    )
    is_accepted = np.isfinite(drawn[:, 0])
    accepted = drawn[is_accepted]
    n_accepted = len(accepted)
    orbits = group.act(group.elements(), accepted)
    exact = integrated(X, orbits, s) / n_templates
    rows = []
    for n in bins:
        # Whole weights at all thresholds, as printed; rejection="zero" halves the outermost.
        features = GroupCDF(group, n_accepted, n_bins=n, templates=accepted, epsilon=eps, s=s)
        Z = features.fit_transform(X)
        Z = Z * np.sqrt(n_accepted / n_templates)
        excess = Z @ Z.T - exact
        largest = np.abs(excess).max()
        rows.append((largest, excess.mean(), excess.min()))
    return np.array(rows)


def errors_of_templates(group, X, K, template_counts, eps, rng):
    """Largest error over pairs for nested sets of templates, one per number of templates."""
    d = X.shape[1]
    n_templates = template_counts[-1]
    templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
    is_accepted = _is_accepted(templates, eps)
    orbits = group.act(group.elements(), templates)
    total = np.zeros_like(K)
    n_done = 0
    errors = []
    for m in template_counts:
        new = slice(n_done, m)
        new_orbits = orbits[:, new]
        accepted_orbits = new_orbits[:, is_accepted[new]]
        total = total + integrated(X, accepted_orbits, 1 + eps)
        n_done = m
        error = np.abs(total / m - K)
        errors.append(error.max())
    return errors


def errors_of_elements(group, X, element_counts, n_templates, eps, rng):
    """Largest error over pairs against the whole group, one per number of sampled elements."""
    s = 1 + eps
    templates = draw_accepted(n_templates, X.shape[1], eps, rng)
    whole_orbits = group.act(group.elements(), templates)
    of_group = integrated(X, whole_orbits, s)
    group_seed = int(rng.integers(2**31))
    elements = group.sample(element_counts[-1], group_seed)
    orbits = group.act(elements, templates)
    errors = []
    for n_elements in element_counts:
        of_sampled = integrated(X, orbits[:n_elements], s)
        gap = of_sampled - of_group
        errors.append(np.abs(gap).max() / n_templates)
    return errors


@dataclass(frozen=True)
class Trials:
    """Draws of features at the sizes that corollary 1 asks for, on all pairs of ten points."""

    errors: np.ndarray  # largest error of each trial
    lowest: np.ndarray  # least deviation from 1 - d_G of each trial
    highest: np.ndarray  # largest deviation from 1 - d_G of each trial
    n_bins: int
    n_templates: int
    n_elements: int
    variation: float  # of the kernel
    ceiling: float  # largest possible error


def trials_of_theorem(group, d, budget, n_trials, eps, delta, rng):
    """Draw features for an error of at most `budget`, several times, for the same points."""
    s = 1 + eps
    points = sphere(N_FEW, d, rng)
    kernel = Average(CDF(epsilon=eps), group)
    K = kernel(points)
    orbits = group.act(group.elements(), points)
    D = theory.orbit_distance(orbits)
    n, m, n_elements = theory.corollary1_sizes(budget, N_FEW, delta=delta, s=s)
    sizes = {"n_bins": n, "n_templates": m, "n_elements": n_elements}
    errors = []
    deviations = []
    for _ in range(n_trials):
        gram = gram_of_counts(group, points, **sizes, eps=eps, rng=rng)
        errors.append(np.abs(gram - K).max())
        deviations.append(gram - (1 - D))
    # A template's term lies in [0, s + sqrt(s)], and bins add at most s / n.
    largest_gram = s + np.sqrt(s) + s / n
    ceiling = max(K.max(), largest_gram - K.min())
    return Trials(
        errors=np.array(errors),
        lowest=np.min(deviations, axis=(1, 2)),
        highest=np.max(deviations, axis=(1, 2)),
        **sizes,
        variation=np.ptp(K),
        ceiling=ceiling,
    )


def gram_of_counts(group, points, *, n_bins, n_templates, n_elements, eps, rng):
    """Inner products of features with given numbers of bins, templates and sampled elements.

    How often each element occurs is drawn once, so that `n_elements` may be larger than memory.
    """
    s = 1 + eps
    elements = group.elements()
    order = len(elements)
    n_points, d = points.shape
    uniform = np.full(order, 1 / order)
    counts = rng.multinomial(n_elements, uniform)
    share = counts / n_elements
    gram = np.zeros((n_points, n_points))
    for start in range(0, n_templates, TEMPLATES_AT_ONCE):
        n_drawn = min(TEMPLATES_AT_ONCE, n_templates - start)
        templates = draw_accepted(n_drawn, d, eps, rng)
        orbits = group.act(elements, templates)
        projections = np.einsum("pd,gtd->ptg", points, orbits)
        psi = _distributions(projections, share, n_bins, s)
        gram += psi @ psi.T
    return gram * s / (n_bins * n_templates)


def _distributions(projections, share, n_bins, s):
    """Cumulative distributions of projections (points, templates, elements) at the thresholds.

    Each projection adds its element's share at the first threshold at or above it. The cumulative
    sum over thresholds is the distribution function, shape (points, templates x thresholds).
    """
    n_points, n_templates, n_elements = projections.shape
    n_cells = 2 * n_bins + 2  # the last cell holds the projections above all thresholds
    first_threshold = np.ceil(projections * n_bins / s) + n_bins
    thresholds = first_threshold.reshape(-1, n_elements).astype(int)
    n_histograms = n_points * n_templates
    offsets = np.arange(n_histograms) * n_cells
    cells = offsets[:, None] + thresholds
    weights = np.broadcast_to(share, cells.shape)
    jumps = np.bincount(cells.ravel(), weights.ravel(), n_histograms * n_cells)
    jumps = jumps.reshape(n_points, n_templates, n_cells)
    distributions = jumps.cumsum(axis=2)[:, :, :-1]
    return distributions.reshape(n_points, -1)


def calibrated_constants(sixth, n_draws, eps, delta, rng):
    """C1 and C2 to which 95 % of the draws keep: two points in the plane, 64 draws per sample.

    `sixth` is the group of rotations of the plane by 60 degrees.
    """
    s = 1 + eps
    two_points = np.array([[1.0, 0.0], [-0.6, 0.8]])
    trivial = groups.OrthogonalMatrices([np.eye(2)])
    kernel = Average(CDF(epsilon=eps), trivial)
    K = kernel(two_points)
    template_errors = []
    element_errors = []
    for _ in range(n_draws):
        templates = draw_accepted(CALIBRATION_DRAWS, 2, eps, rng)
        total = integrated(two_points, templates[None], s)
        template_gap = total / CALIBRATION_DRAWS - K
        template_errors.append(np.abs(template_gap).max())
        element_gap = _sampled_less_group(sixth, two_points, templates[:N_CALIBRATED], s, rng)
        element_errors.append(np.abs(element_gap).max())
    template_error = np.quantile(template_errors, 1 - delta)
    element_error = np.quantile(element_errors, 1 - delta)
    C1 = CALIBRATION_DRAWS * template_error**2 / np.log(2 / delta)
    C2 = CALIBRATION_DRAWS * element_error**2 / np.log(2 * N_CALIBRATED / delta)
    return C1, C2


def _sampled_less_group(group, points, templates, s, rng):
    """Gram matrix of sampled elements less that of the group, for the same templates."""
    orbits = group.act(group.elements(), templates)
    order, n_templates, _ = orbits.shape
    indices = rng.integers(order, size=CALIBRATION_DRAWS)
    of_sampled = integrated(points, orbits[indices], s)
    of_group = integrated(points, orbits, s)
    return (of_sampled - of_group) / n_templates


def counted_operations(group, points, templates, n_bins, s, per_number):
    """Operations of the features and of equation (1), counted while both are computed.

    `per_number` is the number of multiplications for one transformed number.
    """
    elements = group.elements()
    stored = group.act(elements, templates)
    transformed = group.act(elements, points)
    n_points, d = points.shape
    projections = np.einsum("pd,gtd->ptg", points, stored)
    first_threshold = np.ceil(n_bins * projections / s)
    first_threshold = first_threshold.clip(-n_bins, n_bins + 1)
    counts = []
    for k in range(-n_bins, n_bins + 1):
        is_below = first_threshold <= k
        counts.append(is_below.sum(axis=2))
    counts = np.stack(counts, axis=-1)
    # A histogram touches each projection once, and each threshold is one sum.
    signatures = stored.size * (1 + per_number)
    signatures += projections.size * d + projections.size + counts.size
    # Equation (1) has a linear base kernel here, between all pairs of points, each pair once.
    i, j = np.triu_indices(n_points)
    pairs = np.einsum("gpd,hpd->ghp", transformed[:, i], transformed[:, j])
    kernel = transformed.size * (1 + per_number) + pairs.size * d
    return {"signatures": signatures, "kernel": kernel}


def formula_operations(group, *, d, per_number, n_points, n_templates, n_bins):
    """The same numbers by formulas, and those of the kernel with one orbit per pair of points."""
    order = group.order
    n_pairs = n_points * (n_points + 1) // 2
    per_orbit = order * d * (1 + per_number)
    n_thresholds = 2 * n_bins + 1
    per_signature = order * (d + 1) + n_thresholds
    n_signatures = n_points * n_templates
    orbits_of_templates = n_templates * per_orbit
    orbits_of_points = n_points * per_orbit
    return {
        "signatures": orbits_of_templates + n_signatures * per_signature,
        "kernel": orbits_of_points + n_pairs * order**2 * d,
        "one orbit": orbits_of_points + n_pairs * order * d,
    }
