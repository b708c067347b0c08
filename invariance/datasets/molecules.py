"""`load_qm7`: Coulomb matrices and atomisation energies of small organic molecules."""

from __future__ import annotations

from .catalogue import CATALOGUE
from .dataset import Dataset
from .files import DataError, fetch

__all__ = ["load_qm7"]


def load_qm7(download_if_missing: bool = True) -> Dataset:
    """QM7: 7,165 molecules of up to 23 atoms.

    Returns
    -------
    Dataset
        ``data`` float32 of shape (7165, 23, 23): Coulomb matrices in atomic units, padded with
        zeros, rows sorted by decreasing L1 norm as stored. ``target`` float32: atomisation
        energies in kcal/mol. ``folds`` int of shape (5, 1433): test indices of the five folds
        shipped with the data. ``positions`` (7165, 23, 3) in Bohr and ``charges`` (7165, 23), in
        the order of the atoms, which is not that of the sorted rows.

    Raises
    ------
    DataError
        Names the file, the expected and found checksum, and how to get it.
    """
    (file,) = CATALOGUE["qm7"].files
    found = fetch(file, download_if_missing)
    from scipy import io

    expected = {
        "X": (7165, 23, 23),
        "T": (1, 7165),
        "P": (5, 1433),
        "R": (7165, 23, 3),
        "Z": (7165, 23),
    }
    arrays = io.loadmat(found.path, variable_names=list(expected))
    for name, shape in expected.items():
        if name not in arrays or arrays[name].shape != shape:
            raise DataError(
                f"{found.path}: array {name} has shape "
                f"{getattr(arrays.get(name), 'shape', None)}, expected {shape}"
            )
    return Dataset(
        arrays["X"],
        arrays["T"].ravel(),
        description=CATALOGUE["qm7"].description,
        sources={found.source.path: found.sha256},
        details={
            "folds": arrays["P"].astype(int),
            "positions": arrays["R"],
            "charges": arrays["Z"],
        },
    )
