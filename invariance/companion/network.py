"""`ResidualNetwork`: a small network trained from scratch, for comparisons in notebooks."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..core.extras import need
from ..core.parameters import stores_parameters


@stores_parameters
class ResidualNetwork(ClassifierMixin, BaseEstimator):
    """A convolutional network with residual blocks (He et al. 2016), without data augmentation.

    The layers are a convolution of 5 x 5 pixels with stride two; for sides above 32, a maximum over
    2 x 2 pixels; one block of two convolutions per width, with stride two from the second block on;
    a mean and a linear layer. Batch normalization follows every convolution. The cross-entropy is
    minimized by stochastic gradient descent with Nesterov momentum, with one cycle of learning
    rates up to ``learning_rate``. Needs PyTorch.

    ``shape`` is the shape of the images before flattening, colours last; ``widths`` are the numbers
    of channels of the blocks.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 256))
    >>> network = ResidualNetwork((16, 16), (4, 4), epochs=20)
    >>> network.fit(X, X[:, 0] > 0).predict(X).shape                        # doctest: +SKIP
    (20,)
    """

    shape: tuple[int, ...]
    widths: tuple[int, ...] = (16, 32, 64, 128)
    _: KW_ONLY
    learning_rate: float = 0.1
    epochs: int = 30
    batch_size: int = 32
    weight_decay: float = 5e-4
    random_state: int = 0

    def fit(self, X: ArrayLike, y: ArrayLike) -> ResidualNetwork:
        """Train from random weights."""
        torch = need("torch", "torch")
        self.classes_, labels = np.unique(y, return_inverse=True)
        images = self._images(X)
        target = torch.from_numpy(labels)
        n_batches = -(-len(images) // self.batch_size)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self.network_ = _network(self.shape, self.widths, len(self.classes_))
            optimizer = torch.optim.SGD(
                self.network_.parameters(),
                lr=self.learning_rate,
                momentum=0.9,
                weight_decay=self.weight_decay,
                nesterov=True,
            )
            n_steps = self.epochs * n_batches
            scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.learning_rate, n_steps)
            for _ in range(self.epochs):
                for rows in torch.randperm(len(images)).tensor_split(n_batches):
                    optimizer.zero_grad()
                    outputs = self.network_(images[rows])
                    torch.nn.functional.cross_entropy(outputs, target[rows]).backward()
                    optimizer.step()
                    scheduler.step()
        self.network_.eval()
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the most likely class of each image."""
        torch = need("torch", "torch")
        with torch.no_grad():
            scores = [self.network_(part) for part in self._images(X).split(500)]
        return self.classes_[torch.cat(scores).argmax(dim=1).numpy()]

    def _images(self, X: ArrayLike) -> Any:
        torch = need("torch", "torch")
        height, width, n_colours = _with_colours(self.shape)
        images = np.asarray(X, dtype=np.float32).reshape(-1, height, width, n_colours)
        return torch.from_numpy(images).permute(0, 3, 1, 2)


def _with_colours(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return height, width and number of colours; a shape without colours has one."""
    height, width, n_colours = (*shape, 1)[:3]
    return height, width, n_colours


def _network(shape: tuple[int, ...], widths: tuple[int, ...], n_classes: int) -> Any:
    torch = need("torch", "torch")
    nn = torch.nn

    def convolution(n_in: int, n_out: int, size: int, stride: int) -> list[Any]:
        layer = nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False)
        return [layer, nn.BatchNorm2d(n_out)]

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, n_in: int, n_out: int, stride: int):
            super().__init__()
            first = convolution(n_in, n_out, 3, stride)
            second = convolution(n_out, n_out, 3, 1)
            self.residual = nn.Sequential(*first, nn.ReLU(), *second)
            if stride == 1 and n_in == n_out:
                self.shortcut = nn.Identity()
            else:
                self.shortcut = nn.Sequential(*convolution(n_in, n_out, 1, stride))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.residual(x) + self.shortcut(x))

    height, width, n_colours = _with_colours(shape)
    layers = [*convolution(n_colours, widths[0], 5, 2), nn.ReLU()]
    if max(height, width) > 32:
        layers.append(nn.MaxPool2d(2))
    layers.append(Block(widths[0], widths[0], 1))
    for n_in, n_out in pairwise(widths):
        layers.append(Block(n_in, n_out, 2))
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], n_classes)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)
