"""scikit-learn's contract, once for every public class with ``fit``."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from invariance import beyond
from invariance import features as F
from invariance import linear as L
from invariance.beyond import Augmented
from invariance.groups import Negation, Transformations
from invariance.kernels import Gaussian, GramTransformer, Polynomial
from invariance.spectral import SpectralAveraging


class Identity(Transformations):
    """The trivial group, for points of any length."""

    order = 1

    def elements(self):
        return np.zeros(1)

    def _act(self, elements, X):
        return np.repeat(X[None], len(elements), axis=0)


PACKAGES = (
    "groups",
    "kernels",
    "features",
    "linear",
    "spectral",
    "evaluation",
    "datasets",
    "beyond",
)
ESTIMATORS = [
    F.AngularBasis(concentration=0.9),
    Augmented(Ridge(), Identity()),
    L.BlockRidgeClassifier(alpha=1e-3, block_rows=7),
    beyond.DilatedCDF(n_features=168, random_state=0),
    beyond.EquivariantRidge(Gaussian(0.1), Negation(), act_on_targets=Negation(), alpha=1e-4),
    GramTransformer(Gaussian(0.1), repair="flip"),
    GramTransformer("precomputed"),
    F.GroupCDF(Negation(), n_components=5, n_bins=3, s="data", random_state=0),
    F.GroupCDF(Negation(), n_components=5, n_bins=3, templates="data", random_state=0),
    beyond.MaxFilter(Negation(), 5, templates="data", random_state=0),
    beyond.LogMel(),
    beyond.MaxFilter(Negation(), 5, templates="sphere", random_state=0),
    F.OrbitFourier(Negation(), n_components=5, n_transforms=3, side="first", random_state=0),
    F.OrbitNystroem(Negation(), 5, kernel=Polynomial(2), from_orbit=True, random_state=0),
    beyond.PatchPooling(),
    L.RLSClassifier([0.1], Gaussian(0.1), class_weight="balanced"),
    L.RLSRegressor([1e-3], Gaussian(0.1)),
    beyond.Scattering(n_scales=1, orientations=2),
    beyond.SetFeatures(n_coordinates=1),
    beyond.SortedCoorbits(Negation(), 5, n_ranks=1, random_state=0),
    SpectralAveraging(),
]


def public_estimators():
    """Every public class with ``fit``, by name."""
    classes = {}
    for package in PACKAGES:
        module = import_module(f"invariance.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and hasattr(thing, "fit") and not inspect.isabstract(thing):
                classes[name] = thing
    return classes


def default_estimators():
    """Every public estimator without required arguments, with default parameters."""
    for estimator in public_estimators().values():
        parameters = inspect.signature(estimator).parameters.values()
        if all(parameter.default is not parameter.empty for parameter in parameters):
            yield estimator()


def expected_failures(estimator):
    """Copies of a point change leave-one-out, which chooses alpha and probabilities.

    scikit-learn has no tag for a single check, and lists its own exceptions in the same way.
    """
    chooses_alpha = isinstance(estimator, L.RLSRegressor) and estimator.alphas is None
    if not (chooses_alpha or isinstance(estimator, L.RLSClassifier)):
        return {}
    reason = "leaves out one copy, or all of a weight"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@pytest.mark.filterwarnings("ignore:OrbitNystroem. n_components")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:OrbitNystroem. n_components")
@pytest.mark.filterwarnings("ignore:Can't test estimator SetFeatures")
@parametrize_with_checks([*default_estimators()], expected_failed_checks=expected_failures)
def test_default_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_tags_of_set_features_state_the_input_dimensions():
    assert get_tags(beyond.SetFeatures()).input_tags.three_d_array
    assert not get_tags(beyond.SetFeatures()).input_tags.two_d_array
    assert get_tags(beyond.SetFeatures(n_coordinates=2)).input_tags.two_d_array


def test_every_estimator_is_checked():
    checked = {type(estimator).__name__ for estimator in ESTIMATORS}
    assert set(public_estimators()) == checked
    by_default = {type(estimator).__name__ for estimator in default_estimators()}
    assert by_default == checked - {"Augmented", "EquivariantRidge"}


@pytest.mark.parametrize("path", ["Makefile", ".github/workflows/tests.yml"])
def test_the_array_checks_of_scikit_learn_are_enabled(path):
    """Five checks of scikit-learn are skipped without this variable."""
    text = (Path(__file__).parents[1] / path).read_text(encoding="utf-8")
    assert re.search(r"SCIPY_ARRAY_API\W+1", text)
