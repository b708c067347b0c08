"""`load_mnist`, `load_emnist_letters`, `load_cifar10`, and the bundled digits as a stand-in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .catalogue import CATALOGUE
from .dataset import Dataset, apply_filter
from .files import DataError, tar_members, unpack

#: Images in each of the six files of CIFAR-10.
_CIFAR_BATCH = 10_000


def _read_idx(content: bytes, path: Path) -> NDArray[np.uint8]:
    """Return an array of bytes in the IDX format of MNIST."""
    if content[:3] != b"\x00\x00\x08":
        raise DataError(f"{path} holds no IDX array of bytes: it starts with {content[:4]!r}")
    n_axes = content[3]
    shape = np.frombuffer(content, ">u4", n_axes, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    if values.size != np.prod(shape, dtype=np.int64):
        raise DataError(f"{path}: {values.size} bytes, but shape {tuple(shape)} is announced")
    return values.reshape(shape)


def read_idx_dataset(name: str, download_if_missing: bool = True) -> Dataset:
    """Return a data set of four files in MNIST's format, whole, without the filter of loaders."""
    entry = CATALOGUE[name]
    files = entry.fetched(download_if_missing)
    arrays = []
    for file_name, file in files.items():
        content = unpack(file.path, f"gzip/{file_name}.gz")
        arrays.append(_read_idx(content, file.path))
    train_images, train_labels, test_images, test_labels = arrays
    images = np.concatenate([train_images, test_images])
    labels = np.concatenate([train_labels, test_labels]).astype(np.int64)
    if name == "emnist":  # its files hold every image transposed
        images = np.ascontiguousarray(images.swapaxes(1, 2))
    return entry.dataset(files, images, labels, n_train=len(train_images))


def load_mnist(download_if_missing: bool = True) -> Dataset:
    """MNIST: 60,000 training and 10,000 test images of handwritten digits, in their usual order.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (70000, 28, 28), ``target`` int64 of shape (70000,).

    Raises
    ------
    DataError
        Names the file, the expected and the actual checksum, and how to get the file.
    """
    return apply_filter(read_idx_dataset("mnist", download_if_missing))


def load_emnist_letters(download_if_missing: bool = True) -> Dataset:
    """EMNIST letters: 124,800 training and 20,800 test images, upright, labels 1..26.

    The files hold every image transposed; here rows run down the letter, as in MNIST.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (145600, 28, 28), ``target`` int64.
    """
    return apply_filter(read_idx_dataset("emnist", download_if_missing))


def load_cifar10(download_if_missing: bool = True) -> Dataset:
    """CIFAR-10: 50,000 training and 10,000 test photographs, 32 x 32 x 3, ten classes.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (60000, 32, 32, 3), ``target`` int64; ``lossy_test_rows``: rows of
        the test part that a rebuilt file holds only as decoded from JPEG (empty for the official
        file).
    """
    entry = CATALOGUE["cifar10"]
    files = entry.fetched(download_if_missing)
    (file,) = files.values()
    batch_names = [f"data_batch_{i}.bin" for i in range(1, 6)]
    batch_names.append("test_batch.bin")
    lossy_name = "LOSSY_TEST_ROWS.json"
    pattern = "|".join(re.escape(name) for name in [*batch_names, lossy_name])
    members = tar_members(file.path, re.compile(pattern))
    content = b"".join(members[name] for name in batch_names)
    # A record is the label and three channels of 32 x 32 bytes.
    records = np.frombuffer(content, np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    channels_first = records[:, 1:].reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(channels_first.transpose(0, 2, 3, 1))
    lossy_rows: list[int] = []
    if lossy_name in members:
        lossy_rows = json.loads(members[lossy_name])["lossy_test_indices"]
    dataset = entry.dataset(
        files,
        images,
        records[:, 0].astype(np.int64),
        n_train=5 * _CIFAR_BATCH,
        details={"lossy_test_rows": np.array(lossy_rows, np.int64)},
    )
    return apply_filter(dataset)


def load_digits_images() -> Dataset:
    """scikit-learn's bundled 1,797 digits in the format of MNIST: an offline stand-in.

    The 8 x 8 digits are enlarged by cubic splines to 20 x 20 and placed in a 28 x 28 frame, like
    the digits of MNIST. They are far easier than MNIST, and far fewer: name them in results.

    Returns
    -------
    Dataset
        ``data`` uint8 of shape (1797, 28, 28), ``target`` int64.

    Examples
    --------
    >>> digits = load_digits_images()
    >>> digits.data.shape, digits.n_train
    ((1797, 28, 28), 1200)
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    # Splines are linear in the pixels, so one matrix enlarges either axis.
    enlarge = ndimage.zoom(np.eye(8), (2.5, 1), order=3)
    large = enlarge @ digits.images @ enlarge.T
    images = np.zeros((len(large), 28, 28), dtype=np.uint8)
    images[:, 4:24, 4:24] = np.clip(np.rint(large * (255 / 16)), 0, 255)
    dataset = Dataset(
        images,
        digits.target.astype(np.int64),
        description="scikit-learn's bundled digits (8 x 8, enlarged), a stand-in for MNIST",
        n_train=1200,
    )
    return apply_filter(dataset)
