"""Time series of equal length: `load_ucr`, eight data sets of the UCR archive."""

from __future__ import annotations

import numpy as np

from ..core.parameters import Flag, OneOf, arguments
from .catalogue import CATALOGUE
from .dataset import Dataset, apply_filter
from .files import fetch

_FILES = {file.name.removesuffix(".npz"): file for file in CATALOGUE["ucr"].files}


@arguments(name=OneOf(*_FILES), download_if_missing=Flag())
def load_ucr(name: str, download_if_missing: bool = True) -> Dataset:
    """One of eight data sets of the UCR archive (Dau et al. 2019), with the archive's split.

    OSULeaf and ArrowHead are outlines of leaves and arrow heads. The point at which such a series
    begins is arbitrary, so cyclic shifts are a symmetry. They are not a symmetry of GunPoint,
    ItalyPowerDemand, Coffee, Trace, ACSF1 and PigCVP.

    Returns
    -------
    Dataset
        ``data`` float64 of shape (n, length), ``target`` int64.
    """
    file = fetch(_FILES[name], download_if_missing)
    with np.load(file.path, allow_pickle=False) as arrays:
        train_series = arrays["X_train"]
        series = np.concatenate([train_series, arrays["X_test"]])
        target = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
    entry = CATALOGUE["ucr"]
    return apply_filter(entry.dataset({name: file}, series, target, n_train=len(train_series)))
