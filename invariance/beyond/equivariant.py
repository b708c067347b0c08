"""`EquivariantRidge`: functions with f(g x) = g f(x), whose values move with their arguments."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import validate_data
from ..core.messages import warn
from ..core.parameters import ParameterError, short, stores_parameters
from ..groups import Transformations
from ..groups.base import GROUP
from ..kernels.base import BASE, Kernel, preserved
from ..linear.classes import checked_weights
from ..orbits.nodes import enough_nodes, fastest_pairs, most_nodes

Array = NDArray[Any]

#: Valid values of a parameter ``act_on_targets``: the group itself, or an action of its elements.
ACTION = kinds.Kind("True", lambda value: value is True) | GROUP
#: Largest deviation of a matrix of the targets' action from an orthogonal one.
_ORTHOGONAL = 1e-8
#: Number of elements whose products are checked.
_N_CHECKED = 4


def moved_targets(group: Any, act_on_targets: Any, elements: Array, y: Array) -> Array:
    """Return transformed targets, shape (r, n) or (r, n, p), for targets of shape (n,) or (n, p).

    ``act_on_targets`` is an action of the group's elements, or True for the group itself.
    """
    action = group if act_on_targets is True else act_on_targets
    rows = y.reshape(len(y), -1).astype(float)
    images = np.asarray(action.act(elements, rows))
    return images.reshape(len(images), *y.shape)


@stores_parameters
class EquivariantRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Kernel ridge regression of functions with :math:`f(g x) = \rho(g) f(x)` for a group.

    The matrices :math:`\rho(g)` are the action on the targets: rotated points have rotated forces,
    and a shifted signal has a shifted solution. The model minimizes

    .. math:: \frac{1}{n} \sum_i |y_i - f(x_i)|^2 + \alpha \|f\|^2

    over the space of the kernel with matrices as values (Reisert and Burkhardt 2007)

    .. math:: K(x, z) = \frac{1}{|G|} \sum_{g \in G} k(x, g z) \, \rho(g) ,

    and equals kernel ridge regression with k on all transformed copies of points and targets. If
    the group does not preserve k, both arguments are transformed,
    :math:`K(x, z) = \sum_{g, h} \rho(h)^{-1} k(h x, g z) \, \rho(g) / |G|^2`.

    For n points with p targets, a system of n p equations is solved.

    Parameters
    ----------
    kernel : Kernel
    group : Transformations
        A finite group, or a circle or another group with a quadrature rule, whose nodes are doubled
        until the kernel's values change by no more than ``tolerance``.
    act_on_targets : True or Transformations
        The action on the targets, by the same elements; True takes the group itself. It must be
        linear and preserve lengths.
    alpha : float
        Penalty of the norm, on the scale of `RLSRegressor`.
    tolerance : float
        Largest change of the kernel matrix of some points, relative to its largest value, if nodes
        stand for an infinite group. A small ``alpha`` magnifies the change in predictions.

    Attributes
    ----------
    group_ : Transformations, a finite set that stands for the group
    dual_coef_ : ndarray of shape (n, p)

    Notes
    -----
    There is no intercept: a constant c need not be equivariant. The kernel ``Gaussian() +
    ConstantKernel()`` adds those constants that are, with :math:`\rho(g) c = c`.

    References
    ----------
    M. Reisert and H. Burkhardt, Learning equivariant functions with matrix valued kernels, Journal
    of Machine Learning Research 8, 2007.

    Examples
    --------
    A force that turns with the positions of two points of the plane:

    >>> from invariance.beyond import PlaneRotations
    >>> from invariance.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> y = X[:, :2] * (X[:, 2:] ** 2).sum(axis=1, keepdims=True)
    >>> model = EquivariantRidge(Gaussian(0.1), PlaneRotations(), tolerance=1e-9).fit(X, y)
    >>> turn = PlaneRotations().sample(1, random_state=1)
    >>> turned = PlaneRotations().act(turn, X)[0]
    >>> expected = PlaneRotations().act(turn, model.predict(X))[0]
    >>> bool(np.abs(model.predict(turned) - expected).max() < 1e-6)
    True
    """

    kernel: Annotated[Kernel, BASE]
    group: Annotated[Transformations, GROUP]
    _: KW_ONLY
    act_on_targets: Annotated[Any, ACTION] = True
    alpha: Annotated[float, kinds.Positive()] = 1e-3
    tolerance: Annotated[float, kinds.Positive()] = 1e-4

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> EquivariantRidge:
        """Fit the model to points X of shape (n, d) and targets y of shape (n,) or (n, p).

        Squared errors are averaged with ``sample_weight``.
        """
        kinds.check_parameters(self)
        points, targets = validate_data(self, X, y, multi_output=True, y_numeric=True)
        weights = checked_weights(sample_weight, points)
        check_is_group(self.group)
        self._is_flat = targets.ndim == 1
        counted = weights > 0
        self._X = points[counted]
        Y = targets.reshape(len(targets), -1)[counted].astype(float)
        n, p = Y.shape
        # Copies: changes of parameters after fitting must not change the fitted model.
        self._kernel = clone(self.kernel, safe=False)
        self._act_on_both = not preserved(self.kernel, self.group)
        self.group_ = self._finite_group(clone(self.group, safe=False), p)
        self._matrices = self._target_matrices(self.group_, p)
        gram = self._blocks(self._X, self._X, self.group_, self._matrices).reshape(n * p, n * p)
        shares = weights[counted] / weights[counted].sum()
        roots = np.repeat(np.sqrt(shares), p)
        system = roots[:, None] * gram * roots + self.alpha * np.eye(n * p)
        try:
            solution = linalg.solve(system, roots * Y.ravel(), assume_a="pos")
        except linalg.LinAlgError as error:
            raise ValueError(
                f"EquivariantRidge: the kernel matrix plus alpha={self.alpha:g} is not positive "
                "definite; take a larger alpha, or a kernel that is positive definite"
            ) from error
        self.dual_coef_ = (roots * solution).reshape(n, p)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return predicted targets, of shape (n,) or (n, p) as in `fit`."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False)
        elements, weights = self.group_.quadrature()
        if not self._act_on_both:
            values = self._values(points, elements, weights)
        else:
            values = np.zeros((len(points), self.dual_coef_.shape[1]))
            for element, weight, matrix in zip(elements, weights, self._matrices, strict=True):
                images = self.group_.act(element[None], points)[0]
                # The inverse of an orthogonal matrix is its transpose.
                values += weight * self._values(images, elements, weights) @ matrix
        return values[:, 0] if self._is_flat else values

    def _values(self, X: Array, elements: Array, weights: Array) -> Array:
        """Return the sums over j and g of w_g k(x, g x_j) rho(g) c_j for points x."""
        values = np.zeros((len(X), self.dual_coef_.shape[1]))
        for element, weight, matrix in zip(elements, weights, self._matrices, strict=True):
            templates = self.group_.act(element[None], self._X)[0]
            values += weight * self._kernel(X, templates) @ (self.dual_coef_ @ matrix.T)
        return values

    def _finite_group(self, group: Any, p: int) -> Any:
        """Return a group, or a finite rule that is fine enough for the training points."""
        if group.order < inf:
            return group
        if group.refined(1) is None:
            raise ParameterError(
                f"EquivariantRidge needs a group that can be listed or has a quadrature rule, got "
                f"{short(group)}: take a finite subgroup"
            )
        pairs = fastest_pairs(group, self._X, self._X, type(self).__name__)

        def mean(rule: Transformations) -> Array:
            matrices = self._target_matrices(rule, p)
            blocks = self._blocks(pairs.one, pairs.one, rule, matrices)
            return blocks.reshape(-1, 1)

        def node_limit(rule: Transformations) -> float:
            return most_nodes(self._X.shape[1], squared=self._act_on_both)

        rule = enough_nodes(group, mean, tolerance=self.tolerance, most=node_limit)
        if rule.error > self.tolerance:
            warn(
                f"EquivariantRidge: {rule.group.order} nodes of {short(group)} leave a relative "
                f"error of about {rule.error:.1e}; take a smaller gamma, or accept it by "
                f"tolerance={2 * rule.error:.0e}"
            )
        return rule.group

    def _target_matrices(self, group: Any, p: int) -> Array:
        """Return the matrices by which the elements act on the targets, shape (r, p, p)."""
        elements, _ = group.quadrature()
        action = group if self.act_on_targets is True else self.act_on_targets
        return action_on_targets(action, group, elements, p)

    def _blocks(self, X: Array, Z: Array, group: Any, matrices: Array) -> Array:
        """Return the matrices K(x, z) of all pairs, shape (n, p, m, p)."""
        elements, weights = group.quadrature()
        blocks = self._blocks_of_second(X, Z, group, elements, weights, matrices)
        if not self._act_on_both:
            return blocks
        total = np.zeros_like(blocks)
        for element, weight, matrix in zip(elements, weights, matrices, strict=True):
            images = group.act(element[None], X)[0]
            blocks = self._blocks_of_second(images, Z, group, elements, weights, matrices)
            total += weight * np.einsum("ba,nbmc->namc", matrix, blocks)
        return total

    def _blocks_of_second(
        self, X: Array, Z: Array, group: Any, elements: Array, weights: Array, matrices: Array
    ) -> Array:
        """Return the means over g of k(x, g z) rho(g), shape (n, p, m, p)."""
        grams = np.empty((len(elements), len(X), len(Z)))
        for i, element in enumerate(elements):
            grams[i] = weights[i] * self._kernel(X, group.act(element[None], Z)[0])
        return np.einsum("rnm,rab->namb", grams, matrices, optimize=True)


def check_is_group(group: Any) -> None:
    """Refuse a set that is no group, or a group with a density."""
    is_uniform = group.is_group and group.weights() is None
    if group.one_sided or (is_uniform and group.order < inf):
        return
    raise ParameterError(
        f"group={short(group)} is no group with equal weights: f(g x) = g f(x) is defined for "
        "groups, such as CyclicShifts(8) or PlaneRotations()"
    )


def action_on_targets(action: Any, group: Any, elements: Array, p: int) -> Array:
    """Return the matrices by which elements of a group act on p targets, shape (r, p, p).

    A ParameterError is raised if they are not orthogonal, or are multiplied in another way than the
    elements.
    """
    origin = np.zeros((1, p))
    try:
        images = action.act(elements, np.concatenate([np.eye(p), origin]))
    except ValueError as error:
        raise ParameterError(
            f"act_on_targets={short(action)} does not act on {p} targets by the elements of "
            f"{short(group)}: {error}"
        ) from error
    matrices = images[:, :p].swapaxes(1, 2)
    gaps = matrices @ matrices.swapaxes(1, 2) - np.eye(p)
    if max(np.abs(gaps).max(), np.abs(images[:, p]).max()) > _ORTHOGONAL:
        raise ParameterError(
            f"act_on_targets={short(action)} must be linear and preserve the lengths of {p} targets"
        )
    compose = getattr(group, "compose", None)
    if compose is not None and group.order < inf:
        first_elements = elements[-_N_CHECKED:]
        second_elements = elements[:_N_CHECKED]
        n_checked = min(len(first_elements), len(second_elements))
        products = compose(first_elements[:n_checked], second_elements[:n_checked])
        of_products = action.act(products, np.eye(p)).swapaxes(1, 2)
        expected = matrices[-_N_CHECKED:][:n_checked] @ matrices[:n_checked]
        if np.abs(of_products - expected).max() > _ORTHOGONAL:
            raise ParameterError(
                f"act_on_targets={short(action)} multiplies elements of {short(group)} in another "
                "order than the group: no function is equivariant"
            )
    return np.asarray(matrices)
