"""`ResidualNetwork`: a small network trained from scratch, which several notebooks compare with."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..core.extras import need
from ..core.parameters import stores_parameters


@stores_parameters
class ResidualNetwork(ClassifierMixin, BaseEstimator):
    """A convolutional network with residual blocks (He et al. 2016), cross-entropy, no copies.

    A convolution of 5 x 5 pixels in steps of two and, for sides above 32, a maximum over 2 x 2;
    one block of two convolutions for each width, in steps of two from the second on; a mean and a
    linear layer; batch normalisation. Stochastic gradients with Nesterov momentum, one cycle of
    rates up to ``learning_rate``. Needs PyTorch. ``shape`` is that of the flattened images, colours
    last, ``widths`` are the blocks' channels.

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
        images, target = self._images(X), torch.from_numpy(labels)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self.network_ = _network(self.shape, self.widths, len(self.classes_))
            batches, weights = -(-len(images) // self.batch_size), self.network_.parameters()
            how = {"momentum": 0.9, "weight_decay": self.weight_decay, "nesterov": True}
            descent = torch.optim.SGD(weights, lr=self.learning_rate, **how)
            steps = self.epochs * batches
            cycle = torch.optim.lr_scheduler.OneCycleLR(descent, self.learning_rate, steps)
            for _ in range(self.epochs):
                for rows in torch.randperm(len(images)).tensor_split(batches):
                    descent.zero_grad()
                    outputs = self.network_(images[rows])
                    torch.nn.functional.cross_entropy(outputs, target[rows]).backward()
                    descent.step()
                    cycle.step()
        self.network_.eval()
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most likely class of each image."""
        torch = need("torch", "torch")
        with torch.no_grad():
            scores = [self.network_(part) for part in self._images(X).split(500)]
        return self.classes_[torch.cat(scores).argmax(dim=1).numpy()]

    def _images(self, X: ArrayLike) -> Any:
        torch = need("torch", "torch")
        images = np.asarray(X, dtype=np.float32).reshape(-1, *(*self.shape, 1)[:3])
        return torch.from_numpy(images).permute(0, 3, 1, 2)


def _network(shape: tuple[int, ...], widths: tuple[int, ...], n_classes: int) -> Any:
    torch = need("torch", "torch")
    nn = torch.nn

    def convolution(before: int, after: int, size: int, step: int) -> list[Any]:
        kernel = nn.Conv2d(before, after, size, step, size // 2, bias=False)
        return [kernel, nn.BatchNorm2d(after)]

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, before: int, after: int, step: int):
            super().__init__()
            first, second = convolution(before, after, 3, step), convolution(after, after, 3, 1)
            self.change = nn.Sequential(*first, nn.ReLU(), *second)
            same = step == 1 and before == after
            self.kept = nn.Sequential(*([] if same else convolution(before, after, 1, step)))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.change(x) + self.kept(x))

    layers = [*convolution((*shape, 1)[2], widths[0], 5, 2), nn.ReLU()]
    layers += [nn.MaxPool2d(2)] if max(shape[:2]) > 32 else []
    for i, width in enumerate(widths):
        layers.append(Block(widths[max(i - 1, 0)], width, 1 if i == 0 else 2))
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], n_classes)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)
