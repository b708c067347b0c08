"""Time series of one length: `load_ucr`, eight data sets of the UCR archive."""

from __future__ import annotations

import numpy as np

from ..core.parameters import Flag, OneOf, arguments
from .catalogue import CATALOGUE
from .dataset import Dataset
from .files import fetch

_FILES = {file.name.removesuffix(".npz"): file for file in CATALOGUE["ucr"].files}


@arguments(name=OneOf(*_FILES), download_if_missing=Flag())
def load_ucr(name: str, download_if_missing: bool = True) -> Dataset:
    """One of eight data sets of the UCR archive (Dau et al. 2019), with the archive's split.

    OSULeaf and ArrowHead are outlines of leaves and arrow heads, where it is arbitrary at which
    point a series begins: cyclic shifts are a symmetry. In GunPoint, ItalyPowerDemand, Coffee,
    Trace, ACSF1 and PigCVP they are none.

    Returns
    -------
    Dataset
        ``data`` float64 of shape (n, length), ``target`` int64.
    """
    entry = CATALOGUE["ucr"]
    found = {name: fetch(_FILES[name], download_if_missing)}
    with np.load(found[name].path, allow_pickle=False) as arrays:
        parts = [arrays[f"{part}_{split}"] for part in "Xy" for split in ("train", "test")]
    X, target = np.concatenate(parts[:2]), np.concatenate(parts[2:]).astype(np.int64)
    return entry.dataset(found, X, target, n_train=len(parts[0]))
