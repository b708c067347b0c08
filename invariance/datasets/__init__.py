"""Data sets as plain arrays: generated, embedded, or read from files with checksums."""

from .catalogue import DatasetInfo, available, download
from .dataset import Dataset, balanced_sample
from .files import DataError
from .generated import make_textures, make_vowels, make_xperm
from .images import load_cifar10, load_digits_images, load_emnist_letters, load_mnist
from .molecules import load_mutag, load_qm7, make_molecules
from .moved import deform_images, make_rotated_mnist, make_rotated_on_canvas, make_translated_mnist
from .series import load_ucr
from .speech import fixed_length, load_fsdd, load_synthetic_speech

__all__ = [
    "DataError", "Dataset", "DatasetInfo", "available", "balanced_sample",
    "deform_images", "download", "fixed_length", "load_cifar10", "load_digits_images",
    "load_emnist_letters", "load_fsdd", "load_mnist", "load_mutag", "load_qm7",
    "load_synthetic_speech", "load_ucr", "make_molecules", "make_rotated_mnist",
    "make_rotated_on_canvas", "make_textures", "make_translated_mnist", "make_vowels", "make_xperm",
]  # fmt: skip
