"""Every kernel, feature map and learner on the same numbers in other forms.

    python tests/slow_checks/fuzz_arrays.py [seed]

The answer to a contiguous float64 array is what every other form of its numbers must get: lists,
float16, big-endian, strided, read-only, objects, all sizes of integers, arrays without a mask; or
an error that says why not, for all of them. Complex numbers, masked entries and NaN are refused.
No answer to finite points holds NaN, and what was given is never written to.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

from invariance import beyond, features, groups, kernels, linear, spectral

WIDTH = 16
SHIFTS = groups.CyclicShifts(WIDTH)
GAUSSIAN, LAPLACIAN = kernels.Gaussian(2e-5), kernels.Laplacian(1e-3)
Answer = Callable[[Any], list[Any]]


def kernel(k: Any) -> Answer:
    return lambda X: [k(X), k(X[:3], X), k.diag(X)]


def transformer(model: Any) -> Answer:
    return lambda X: [model.fit_transform(X), model.transform(X[:3])]


def learner(model: Any) -> Answer:
    """Fitted to labels that two features decide, predicting the points again."""

    def answer(X: Any) -> list[Any]:
        numbers = np.arange(len(X)) % 3 % 2
        fitted = model.fit(X, numbers)
        decide = getattr(fitted, "decision_function", fitted.predict)
        return [decide(X), decide(X[:3])]

    return answer


def acting(group: Any) -> Answer:
    elements = group.sample(4, random_state=0)
    return lambda X: [group.act(elements, X)]


TARGETS: dict[str, Answer] = {
    **{
        f"kernel {k!r}": kernel(k)
        for k in (
            kernels.Linear(),
            kernels.Polynomial(2, 1e-3),
            GAUSSIAN,
            LAPLACIAN,
            kernels.CDF(0.2),
            kernels.Locality((4, 4), 3, powers=(2, 1)),
            kernels.Hyperkernel(GAUSSIAN, 0.5),
            beyond.SetKernel(GAUSSIAN, n_coordinates=2),
            beyond.MatchingKernel(GAUSSIAN, n_coordinates=2),
            spectral.SobolevKernel(spectral.Torus(WIDTH, period=200.0, degree=1), 9.0),
            kernels.Average(kernels.Linear(), SHIFTS),
            kernels.Average(kernels.Polynomial(2, 1e-3), groups.Negation()),
            kernels.Average(GAUSSIAN, groups.CyclicShifts(8, block=2)),
            kernels.Average(GAUSSIAN, groups.SignFlips(WIDTH)),
            kernels.Average(GAUSSIAN, groups.TorusTranslations([4, 4] + [1] * 14)),
            kernels.Average(GAUSSIAN, groups.Rotations((4, 4), degrees=[0, 45, 90]), side="second"),
            kernels.Average(GAUSSIAN, groups.CircleAction([0, 1, 1, 2, 2] + [0] * 11)),
            kernels.Average(LAPLACIAN, groups.GeneratedPermutations([[*range(1, WIDTH), 0]])),
            kernels.BestFit(GAUSSIAN, SHIFTS),
            kernels.BestFit(LAPLACIAN, groups.Permutations(WIDTH)),
            kernels.BestFit(kernels.Polynomial(2, 1e-3), groups.Translations((4, 4), 1)),
            beyond.OverlapFit(GAUSSIAN, groups.Translations((4, 4), 1)),
            spectral.VonMisesKernel(0.02),
            spectral.SignAveragedVonMises(0.02),
        )
    },
    **{
        f"features {model!r}"[:90]: transformer(model)
        for model in (
            features.GroupCDF(SHIFTS, 3, n_bins=4, s="data", random_state=0),
            beyond.MaxFilter(SHIFTS, 4, random_state=0),
            features.OrbitFourier(None, 5, gamma=2e-5, random_state=0),
            features.OrbitFourier(SHIFTS, 5, gamma=2e-5, random_state=0),
            features.OrbitNystroem(SHIFTS, 3, gamma=2e-5, random_state=0),
            beyond.PatchPooling(None, (4, 4), size=2),
            beyond.Scattering((4, 4), n_scales=1, orientations=4),
            features.AngularBasis((4, 4)),
            beyond.SetFeatures(n_coordinates=2),
            beyond.LogMel(8000, n_bands=2, frame=8, hop=4),
            kernels.GramTransformer(GAUSSIAN),
        )
    },
    **{
        f"learner {model!r}"[:90]: learner(model)
        for model in (
            linear.RLSRegressor([1e-3]),
            linear.RLSRegressor([1e-3], GAUSSIAN),
            linear.RLSClassifier([1e-3, 1e-1]),
            linear.BlockRidgeClassifier(1e-3, block_rows=5),
            spectral.SpectralAveraging(spectral.Torus(WIDTH, period=200.0), degree=1),
            beyond.Augmented(Ridge(), SHIFTS),
        )
    },
    **{
        f"act {group!r}"[:90]: acting(group)
        for group in (SHIFTS, groups.Permutations(WIDTH), groups.Rotations((4, 4)))
    },
    "TangentDistance": lambda X: [beyond.TangentDistance((4, 4))(X)],
    "median_gamma": lambda X: [features.median_gamma(X)],
    "invariance_discrepancy": lambda X: [
        spectral.invariance_discrepancy(lambda Z: np.asarray(Z)[:, 0], SHIFTS, X, random_state=0)
    ],
    "gershgorin_margin": lambda X: [kernels.gershgorin_margin(_square(X))],
    "left_out_with_copies": lambda X: [
        linear.left_out_with_copies(_definite(X), np.arange(len(X)) % 2, alphas=[0.1])
    ],
    "kernel_ridge": lambda X: [linear.kernel_ridge(_definite(X), np.arange(len(X)), alphas=[0.1])],
    "rls_by_cholesky": lambda X: [
        linear.rls_by_cholesky(_definite(X), np.arange(len(X)) % 2).dual_coef
    ],
}


def _definite(X: Any) -> Any:
    """A Gram matrix in the form that X has, of the points whose numbers X holds."""
    exact = np.asarray(X, dtype=complex if np.iscomplexobj(X) else float)
    G = np.round(exact @ exact.T / 2000) + 30 * np.eye(len(exact))
    if isinstance(X, list):
        return G.tolist()
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.array(G, mask=np.eye(len(G), dtype=bool) & X.mask.any())
    return sparse.csr_array(G) if sparse.issparse(X) else G.astype(X.dtype)


def _square(X: Any) -> Any:
    """The first four rows and columns, in the form that X has."""
    return [row[:4] for row in X[:4]] if isinstance(X, list) else X[:4, :4]


def values(seed: int) -> dict[str, np.ndarray]:
    """Points of whole numbers from 0 to 99, which all forms can hold; and extreme ones."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 100, (9, WIDTH)).astype(float)
    blank, tied = X.copy(), X.copy()
    blank[0], tied[3:6], tied[:, ::3] = 0, tied[:3], 7
    return {
        "points": X,
        "a blank first row": blank,
        "all blank": np.zeros_like(X),
        "one row": X[:1],
        "duplicates": tied,
        "huge": X * 1e300,
        "tiny": X * 1e-300,
        "NaN": np.where(X == X[2, 2], np.nan, X),
        "infinity": np.where(X == X[2, 1], np.inf, X),
    }


def _strided(A: np.ndarray) -> np.ndarray:
    wide = np.full((2 * len(A), 3 * A.shape[1]), np.nan)
    wide[::2, ::3] = A
    return wide[::2, ::3]


def _read_only(A: np.ndarray) -> np.ndarray:
    copied = A.copy()
    copied.flags.writeable = False
    return copied


#: The same numbers; those below only where they are whole.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda A: A.tolist(),
    "columns": np.asfortranarray,
    "strided": _strided,
    "backwards": lambda A: A[::-1].copy()[::-1],
    "read-only": _read_only,
    "big-endian": lambda A: A.astype(">f8"),
    "objects": lambda A: A.astype(object),
    "long double": lambda A: A.astype(np.longdouble),
    "without a mask": lambda A: np.ma.array(A, mask=False),
}
WHOLE: dict[str, Callable[[np.ndarray], Any]] = {
    **{
        str(np.dtype(t)): (lambda A, t=t: A.astype(t))
        for t in ("f2", "f4", ">f4", "i1", "i2", ">i4", "i8", "u1", "u2", "u4", "u8")
    },
    "whole objects": lambda A: A.astype(int).astype(object),
}
REFUSED: dict[str, Callable[[np.ndarray], Any]] = {
    "complex": lambda A: A + 1j,
    "masked": lambda A: np.ma.array(A, mask=np.eye(*A.shape, dtype=bool)),
    "sparse": sparse.csr_array,
    "text": lambda A: np.where(A == A[0, 0], "a", A.astype(str)),
}


def outcome(answer: Answer, X: Any) -> list[np.ndarray] | Exception:
    """Arrays, or a decent error; anything else is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(part) for part in answer(X)]
        except (ValueError, TypeError) as error:
            if isinstance(error, np.linalg.LinAlgError) or not str(error):
                raise
            return error


def verdict(name: str, expected: Any, A: np.ndarray, form: str) -> str | None:
    """What is wrong with the answer to numbers in some form; None where nothing is."""
    acts = name.startswith("act ")  # called too often to look for NaN, as it says
    answer, X = TARGETS[name], (FORMS | WHOLE | REFUSED)[form](A)
    before = X.copy() if hasattr(X, "copy") else X
    try:
        found = outcome(answer, X)
    except Exception as error:
        return f"crash: {type(error).__name__}: {error!s:.100}"
    if sparse.issparse(X):
        changed = (X != before).nnz > 0
    else:
        changed = not np.array_equal(np.asarray(X).astype(str), np.asarray(before).astype(str))
    if changed:
        return "the input was modified"
    if isinstance(found, Exception):
        if form in REFUSED or isinstance(expected, Exception):
            return None
        # functions may ask for numbers where estimators convert objects
        return None if "objects" in form else f"refused, which float64 is not: {found!s:.150}"
    if form in REFUSED:
        return "silent: an answer to what is no array of numbers"
    if isinstance(expected, Exception):
        return f"silent: an answer where float64 is refused: {expected!s:.100}"
    if not np.isfinite(A).all() and not acts:
        return "silent: an answer to NaN or infinity"
    for one, other in zip(found, expected, strict=True):
        if one.dtype.kind != other.dtype.kind:
            return f"silent: an answer of type {one.dtype}"
        if not np.isfinite(one).all() and np.isfinite(A).all():
            return "silent: NaN or infinity for finite points"
        single = form == "float32"
        scale = np.abs(other).max(initial=1e-300)
        if not np.isfinite(A).all():  # moved where the numbers are
            one, other = np.nan_to_num(one), np.nan_to_num(other)
        if one.shape != other.shape:
            return f"silent: shape {one.shape}, not {other.shape}"
        if (off := np.abs(one - other).max() / scale) > (2e-2 if single else 1e-9):
            return f"silent: {off:.1e} off"
    return None


def cases(seed: int) -> list[tuple[str, str, str]]:
    """(target, values, form)"""
    found = []
    for name in TARGETS:
        for which in values(seed):
            whole = which not in ("huge", "tiny", "NaN", "infinity")
            forms = [*FORMS, *(WHOLE if whole else ()), *(REFUSED if which == "points" else ())]
            found += [(name, which, form) for form in forms]
    return found


def failures(chosen: list[tuple[str, str, str]], seed: int) -> dict[tuple[str, str, str], str]:
    """What is wrong, by case."""
    arrays, expected, wrong = values(seed), {}, {}
    for case in chosen:
        name, which, form = case
        A, answer = arrays[which], TARGETS[name]
        if (name, which) not in expected:
            try:
                expected[name, which] = outcome(answer, A.copy())
            except Exception as error:
                expected[name, which] = error
                wrong[name, which, "float64"] = f"crash: {type(error).__name__}: {error!s:.100}"
        due = expected[name, which]
        found = verdict(name, due, A, form)
        if found:
            wrong[case] = found
    return wrong


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int(np.random.SeedSequence().entropy % 2**32)
    chosen = cases(seed)
    print(f"seed {seed}: {len(chosen)} cases of {len(TARGETS)} targets", flush=True)
    wrong = failures(chosen, seed)
    for (name, which, form), what in wrong.items():
        print(f"{name} | {which} | {form}: {what}")
    print(Counter(what.split(":")[0] for what in wrong.values()) or "nothing wrong")
    sys.exit(bool(wrong))
