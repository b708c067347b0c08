"""Feature maps ask for templates, transformations, a group that is one, and points as rows."""

import numpy as np
import pytest

from invariance.core.parameters import ParameterError
from invariance.features import AngularBasis, GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem
from invariance.groups import CyclicShifts
from invariance.kernels import Average, Gaussian

X = np.random.default_rng(0).standard_normal((8, 4))


@pytest.mark.parametrize("count", [0, -3, 2.5, True])
@pytest.mark.parametrize(
    ("features", "name"),
    [(OrbitFourier, "n_components"), (OrbitNystroem, "n_components"), (GroupCDF, "n_components")],
)
def test_templates(features, name, count):
    model = features(CyclicShifts(4)).set_params(**{name: count})
    with pytest.raises(
        ValueError, match=f"{features.__name__} needs {name} to be a whole number >= 1, got {count}"
    ):
        model.fit(X)


@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize("features", [OrbitFourier, OrbitNystroem, GroupCDF])
def test_transformations(features, count):
    model = features(CyclicShifts(4), 3, n_transforms=count)
    with pytest.raises(
        ValueError, match=f"{features.__name__} needs n_transforms to be a whole .*, got {count}"
    ):
        model.fit(X)


@pytest.mark.parametrize("features", [OrbitFourier, OrbitNystroem, GroupCDF, MaxFilter])
@pytest.mark.parametrize(
    "group, message",
    [
        (CyclicShifts, r"group to be .*CyclicShifts'>; make an instance .* CyclicShifts\(...\)"),
        ("shifts", "group to be a group or other Transformations.* got 'shifts'"),
    ],
)
def test_groups(features, group, message):
    with pytest.raises(TypeError, match=f"{features.__name__} needs {message}"):
        features(group, 3).fit(X)
    with pytest.raises(TypeError, match="Average needs group to be"):
        Average(Gaussian(), group)(X)


@pytest.mark.parametrize("features", [OrbitFourier(), OrbitNystroem(), GroupCDF(), AngularBasis()])
def test_images_are_given_as_rows(features):
    message = (
        rf"{type(features).__name__} expects points as rows of shape \(n, d\), got shape "
        r"\(8, 2, 2\); use X.reshape\(len\(X\), -1\)"
    )
    with pytest.raises(ValueError, match=message):
        features.fit(X.reshape(8, 2, 2))
    if not isinstance(features, OrbitNystroem):  # which would warn of too few points
        with pytest.raises(ValueError, match=message):
            features.fit(X).transform(X.reshape(8, 2, 2))


@pytest.mark.parametrize(
    "model, named",
    [
        (GroupCDF(n_components=10**9), "n_components=1000000000"),
        (GroupCDF(n_components=10**5, n_bins=10**9), "n_bins=1000000000"),
        (MaxFilter(n_components=10**9), "n_components=1000000000"),
        (OrbitFourier(n_components=10**9), "n_components=1000000000"),
        (OrbitNystroem(CyclicShifts(4), n_transforms=10**9), "n_transforms=1000000000"),
    ],
)
def test_counts_that_no_memory_holds_are_refused(model, named, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 2**15)  # a machine of one GiB
    with pytest.raises(ParameterError, match=f"{type(model).__name__}: more memory .*{named}"):
        model.fit(np.ones((3, 4)))
    model.set_params(**{named.split("=")[0]: 10**12})
    with pytest.raises(ParameterError, match="got 1000000000000; .* of counts to 2\\*\\*31"):
        model.fit(np.ones((3, 4)))
