"""`load_mnist`, `load_emnist_letters`, `load_cifar10`, and the bundled digits as a stand-in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .catalogue import CATALOGUE
from .dataset import Dataset
from .files import DataError, tar_members, unpack

#: Images in each of the six files of CIFAR-10.
_CIFAR_BATCH = 10_000


def _read_idx(content: bytes, path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the IDX format of MNIST."""
    if content[:3] != b"\x00\x00\x08":
        raise DataError(f"{path} holds no IDX array of bytes: it starts with {content[:4]!r}")
    n_axes = content[3]
    shape = np.frombuffer(content, ">u4", n_axes, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    if values.size != np.prod(shape, dtype=np.int64):
        raise DataError(f"{path}: {values.size} bytes where shape {tuple(shape)} is announced")
    return values.reshape(shape)


def _idx(name: str, download_if_missing: bool, transposed: bool = False) -> Dataset:
    """Four files in MNIST's format: training images and labels, test images and labels."""
    entry = CATALOGUE[name]
    found = entry.fetched(download_if_missing)
    X, y, test_X, test_y = (
        _read_idx(unpack(f.path, f"gzip/{file}.gz"), f.path) for file, f in found.items()
    )
    data, target = np.concatenate([X, test_X]), np.concatenate([y, test_y]).astype(np.int64)
    data = np.ascontiguousarray(data.swapaxes(1, 2)) if transposed else data
    return entry.dataset(found, data, target, n_train=len(X))


def load_mnist(download_if_missing: bool = True) -> Dataset:
    """MNIST: 60,000 training and 10,000 test images of handwritten digits, in their usual order.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (70000, 28, 28), ``target`` int64 of shape (70000,).

    Raises
    ------
    DataError
        Names the file, the expected and found checksum, and how to get it.
    """
    return _idx("mnist", download_if_missing)


def load_emnist_letters(download_if_missing: bool = True) -> Dataset:
    """EMNIST letters: 124,800 training and 20,800 test images, upright, labels 1..26.

    The files hold every image transposed; here rows run down the letter, as in MNIST.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (145600, 28, 28), ``target`` int64.
    """
    return _idx("emnist", download_if_missing, transposed=True)


def load_cifar10(download_if_missing: bool = True) -> Dataset:
    """CIFAR-10: 50,000 training and 10,000 test photographs, 32 x 32 x 3, ten classes.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (60000, 32, 32, 3), ``target`` int64; ``lossy_test_rows``: rows of
        the test part that a rebuilt file holds only as decoded from JPEG (none in the official
        file).
    """
    entry = CATALOGUE["cifar10"]
    found = entry.fetched(download_if_missing)
    (file,) = found.values()
    names = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
    lossy = "LOSSY_TEST_ROWS.json"
    members = tar_members(file.path, re.compile("|".join(map(re.escape, [*names, lossy]))))
    content = b"".join(members[name] for name in names)
    records = np.frombuffer(content, np.uint8).reshape(-1, 3073)
    rows = json.loads(members[lossy])["lossy_test_indices"] if lossy in members else []
    images = np.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    target, details = records[:, 0].astype(np.int64), {"lossy_test_rows": np.array(rows, np.int64)}
    return entry.dataset(found, images, target, n_train=5 * _CIFAR_BATCH, details=details)


def load_digits_images() -> Dataset:
    """scikit-learn's bundled 1,797 digits in the format of MNIST: an offline stand-in.

    The 8 x 8 digits are enlarged by cubic splines to 20 x 20 and set into a 28 x 28 frame, where
    MNIST's digits are. Far easier than MNIST, and far fewer: label results as what they are.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (1797, 28, 28), ``target`` int64.

    >>> digits = load_digits_images()
    >>> digits.data.shape, digits.n_train
    ((1797, 28, 28), 1200)
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    one_axis = ndimage.zoom(np.eye(8), (2.5, 1), order=3)  # splines are linear in the pixels
    large = one_axis @ digits.images @ one_axis.T
    data = np.zeros((len(large), 28, 28), dtype=np.uint8)
    data[:, 4:24, 4:24] = np.clip(np.rint(large * (255 / 16)), 0, 255)
    what = "scikit-learn's bundled digits (8 x 8, enlarged), a stand-in for MNIST"
    return Dataset(data, digits.target.astype(np.int64), description=what, n_train=1200)
