"""The Python code of README.md does what it says, on generated and bundled data."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from invariance.groups import CyclicShifts

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def _said(block: str) -> float:
    """The number in the comment beside ``print``."""
    (number,) = re.findall(r"print\(.*\) +# about ([\d.]+)$", block, re.MULTILINE)
    return float(number)


def test_ten_lines_to_a_first_model(capsys):
    first = BLOCKS[0]
    statements = [line for line in first.splitlines() if not re.match(r"from .* import|$", line)]
    assert len(statements) <= 10
    names = {}
    exec(first, names)
    printed = float(capsys.readouterr().out)
    assert printed == pytest.approx(_said(first), abs=0.01)
    assert f"{len(names['X']):,} sequences" in first and names["X"].shape[1] == 40
    assert names["group"].order == 120 and "order 120" in first
    # sequences that had no label, and their letters in another order: the same answer
    unlabelled = np.flatnonzero(np.arange(len(names["X"])) % 16)
    some = np.random.default_rng(0).choice(unlabelled, 500, replace=False)
    rest = names["X"][some]
    answer = names["model"].predict(rest)
    assert np.mean(answer == names["y"][some]) > 0.94
    moved = rest.reshape(-1, 5, 8)[:, ::-1].reshape(-1, 40)
    assert np.array_equal(names["model"].predict(moved), answer)


def test_a_kernel_that_scikit_learn_takes_as_it_is():
    images, digit = load_digits(return_X_y=True)
    profiles = images.reshape(-1, 8, 8).sum(axis=1) / 16  # eight numbers an image, by column
    one_or_eight = np.isin(digit, (1, 8))
    X_train, y_train = profiles[one_or_eight], digit[one_or_eight]
    names = {"X_train": X_train, "y_train": y_train}
    exec(BLOCKS[1].replace("SVC(kernel", "model = SVC(kernel"), names)
    kernel, model = names["kernel"], names["model"]
    assert model.score(X_train, y_train) > 0.8
    shifted = np.roll(X_train, 3, axis=1)
    np.testing.assert_allclose(kernel(shifted, X_train), kernel(X_train, X_train), atol=1e-12)
    assert np.array_equal(model.predict(shifted), model.predict(X_train))


def test_tensors_go_in_and_come_out():
    torch = pytest.importorskip("torch")
    names = {"CyclicShifts": CyclicShifts}  # imported two blocks above
    exec(BLOCKS[2], names)
    assert isinstance(names["Z"], torch.Tensor) and names["Z"].device == names["X"].device
    on_host = names["features"].transform(names["X"].cpu().numpy())
    np.testing.assert_allclose(names["Z"].cpu().numpy(), on_host, atol=1e-4)


def test_every_block_is_run_here():
    assert len(BLOCKS) == 3
