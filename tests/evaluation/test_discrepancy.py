import numpy as np

from invariance.evaluation.discrepancy import share_of_changes
from invariance.groups import Negation

X = np.random.default_rng(0).standard_normal((40, 3))


def test_share_of_changes_counts_pairs_of_point_and_element():
    group = Negation()
    moved = group.act(group.sample(8, 0), X)
    signs = X[:, 0] > 0
    expected = np.mean([(Y[:, 0] > 0) != signs for Y in moved])
    assert 0 < expected < 1
    assert share_of_changes(lambda Z: Z[:, 0] > 0, group, X=X) == expected
    assert share_of_changes(lambda Z: np.abs(Z[:, 0]) > 1, group, X=X) == 0
