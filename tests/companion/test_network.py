"""The residual network learns shapes at any position, and fits are reproducible."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.companion.network import ResidualNetwork

torch = pytest.importorskip("torch", reason="needs the extra `torch`")


@pytest.fixture(autouse=True)
def _convolutions_of_pytorch_itself():
    """On an EPYC of the first generation, oneDNN's convolutions (PyTorch 2.13) corrupt memory."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


def bars(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images of upright or lying bars at random positions, and their labels."""
    rng = np.random.default_rng(seed)
    images = np.zeros((n, 16, 16))
    labels = np.array(["lying", "upright"])[rng.integers(0, 2, n)]
    for image, label, place, start in zip(
        images, labels, rng.integers(0, 16, n), rng.integers(0, 8, n), strict=True
    ):
        image[place, start : start + 8] = 1
        if label == "upright":
            image[:] = image.T.copy()
    return images.reshape(n, -1), labels


def test_the_network_learns_shapes_that_single_pixels_do_not_show():
    X, y = bars(90, 0)
    Z, truth = bars(100, 1)
    network = ResidualNetwork((16, 16), (4, 8), epochs=15).fit(X, y)
    assert network.score(Z, truth) > 0.9
    assert set(network.predict(Z)) == {"lying", "upright"}
    untrained = clone(network).set_params(epochs=1, learning_rate=1e-6).fit(X, y)
    assert untrained.score(Z, truth) < 0.8


def parameters(network: ResidualNetwork) -> np.ndarray:
    """Return all weights of a fitted network."""
    return np.concatenate([p.detach().numpy().ravel() for p in network.network_.parameters()])


def test_the_seed_alone_determines_the_network():
    X, y = bars(33, 0)  # Two batches of 16 images, and one more image.
    network = ResidualNetwork((16, 16), (4, 8), epochs=2, batch_size=16)
    before = torch.get_rng_state()
    first = parameters(network.fit(X, y))
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    again = parameters(network.fit(X, y))
    np.testing.assert_array_equal(first, again)
    with_another_seed = parameters(network.set_params(random_state=1).fit(X, y))
    assert not np.allclose(first, with_another_seed)


def test_colours_are_the_last_axis():
    rng = np.random.default_rng(0)
    images = rng.random((60, 8, 8, 3))
    y = np.arange(60) % 2
    images[..., 2] += y[:, None, None]  # One colour, not one row or column, depends on the label.
    X = images.reshape(60, -1)
    network = ResidualNetwork((8, 8, 3), (4,), epochs=10).fit(X[:30], y[:30])
    assert network.score(X[30:], y[30:]) > 0.9
    assert network.network_[0].weight.shape[1] == 3
