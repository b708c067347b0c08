"""Small networks of PyTorch that are trained on transformed points: rivals on few labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Array = NDArray[Any]


def tensor(X: Array) -> torch.Tensor:
    """Return an array in single precision."""
    return torch.tensor(np.ascontiguousarray(X), dtype=torch.float32)


def train(
    network: nn.Module,
    loss: nn.Module,
    draw: Callable[[int], tuple[torch.Tensor, torch.Tensor]],
    *,
    n_steps: int,
) -> nn.Module:
    """Train by Adam with a falling step size; `draw` returns the points and targets of a step."""
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    for step in range(n_steps):
        inputs, targets = draw(step)
        optimizer.zero_grad()
        loss(network(inputs), targets).backward()
        optimizer.step()
        schedule.step()
    return network.eval()


@torch.no_grad()
def answers(network: nn.Module, X: Array) -> Array:
    """Return a network's outputs."""
    return network(tensor(X)).numpy()


class DeepSet(nn.Module):
    """A network for each point of a set, the maximum or mean over the points, and a second one."""

    def __init__(self, n_coordinates: int, n_outputs: int, *, pooling: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.pooling = pooling
        self.of_points = nn.Sequential(
            nn.Linear(n_coordinates, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU()
        )
        self.of_set = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, n_outputs))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        values = self.of_points(X)
        pooled = values.amax(dim=1) if self.pooling == "max" else values.mean(dim=1)
        return self.of_set(pooled)


def image_network(n_classes: int) -> nn.Module:
    """Return a small convolutional network of images (n, 1, height, width)."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for n_in, n_out in ((1, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.LazyLinear(n_classes)]
    return nn.Sequential(*layers)


class StrandNetwork(nn.Module):
    """Filters of twelve letters; the maximum over places and both strands; a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.filters = nn.Conv1d(4, 32, 12)
        self.last = nn.Sequential(nn.Dropout(0.3), nn.Linear(32, 2))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        letters = X.reshape(len(X), -1, 4).swapaxes(1, 2)
        strands = torch.stack([letters, letters.flip(1, 2)])
        values = torch.stack([self.filters(strand).amax(dim=2) for strand in strands])
        return self.last(values.amax(dim=0).relu())
