"""`left_out_with_copies` against machines that are trained again and again."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import left_out_with_copies

N, COPIES = 24, 3
rng = np.random.default_rng(0)
POINTS = rng.standard_normal((N, 4))
LABELS = np.array(["a", "b", "c"])[np.digitize(POINTS[:, 0] + POINTS[:, 1], [-0.6, 0.6])]
AUGMENTED = np.concatenate([POINTS, *(POINTS + 0.3 * rng.standard_normal((2, N, 4)))])


def again_and_again(copies, alpha):
    """Every point left out with its copies; penalty and mean of the targets stay."""
    X, classes = AUGMENTED[: copies * N], np.unique(LABELS)
    Y = np.where(LABELS[:, None] == classes, 1.0, -1.0)
    right = []
    for i in range(N):
        kept = np.arange(len(X)) % N != i
        model = KernelRidge(alpha=alpha * len(X), kernel=Gaussian(0.5))
        model.fit(X[kept], np.tile(Y - Y.mean(axis=0), (copies, 1))[kept])
        right.append(classes[np.argmax(model.predict(X[[i]]) + Y.mean(axis=0))] == LABELS[i])
    return np.mean(right)


@pytest.mark.parametrize("copies", [1, COPIES])
def test_it_is_what_training_again_and_again_gives(copies):
    alphas = [1e-6, 1e-3, 0.1]
    gram = Gaussian(0.5)(AUGMENTED[: copies * N])
    found = left_out_with_copies(gram, LABELS, alphas=alphas)
    assert found.tolist() == [again_and_again(copies, alpha) for alpha in alphas]
    assert len(np.unique(found)) > 1


def test_the_copies_of_a_point_do_not_give_it_away():
    """Of labels at random, which copies taken for points of their own would give away."""
    labels = rng.permutation(LABELS)
    gram = Gaussian(5.0)(AUGMENTED[np.arange(2 * N) % N])
    assert left_out_with_copies(gram, labels, alphas=[1e-6])[0] < 0.7
    assert left_out_with_copies(gram, np.tile(labels, 2), alphas=[1e-6])[0] == 1


def test_errors_name_what_is_wrong():
    gram = Gaussian(0.5)(AUGMENTED)
    with pytest.raises(ValueError, match="as many rows for one label"):
        left_out_with_copies(gram, LABELS[:7], alphas=[1e-3])
    with pytest.raises(ValueError, match="class"):
        left_out_with_copies(gram, np.zeros(N), alphas=[1e-3])
    assert np.isnan(left_out_with_copies(-gram, LABELS, alphas=[1e-3])).all()
