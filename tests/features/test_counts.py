"""Feature maps ask for at least one template and one transformation."""

import numpy as np
import pytest

from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import CyclicShifts

X = np.random.default_rng(0).standard_normal((8, 4))


@pytest.mark.parametrize("count", [0, -3, 2.5])
@pytest.mark.parametrize(
    ("features", "name"),
    [(OrbitFourier, "n_components"), (OrbitNystroem, "n_components"), (GroupCDF, "n_templates")],
)
def test_templates(features, name, count):
    model = features(CyclicShifts(4)).set_params(**{name: count})
    with pytest.raises(ValueError, match=f"{features.__name__} needs {name} >= 1.*{count}"):
        model.fit(X)


@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize("features", [OrbitFourier, OrbitNystroem, GroupCDF])
def test_transformations(features, count):
    model = features(CyclicShifts(4), 3, n_transforms=count)
    with pytest.raises(ValueError, match=f"{features.__name__} needs n_transforms >= 1.*{count}"):
        model.fit(X)
