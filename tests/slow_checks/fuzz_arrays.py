"""Every kernel, feature map and learner with the same numbers in different array types.

    python tests/slow_checks/fuzz_arrays.py [seed]

Lists, float16, big-endian, strided and read-only arrays, objects, all sizes of integers and arrays
without a mask must give the result of a contiguous float64 array, or all of them an error with the
reason. Complex numbers, masked entries and NaN are refused. Results for finite points contain no
NaN, and inputs are never modified.
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
GAUSSIAN = kernels.Gaussian(2e-5)
LAPLACIAN = kernels.Laplacian(1e-3)
Answer = Callable[[Any], list[Any]]


def kernel(k: Any) -> Answer:
    return lambda X: [k(X), k(X[:3], X), k.diag(X)]


def transformer(model: Any) -> Answer:
    return lambda X: [model.fit_transform(X), model.transform(X[:3])]


def learner(model: Any) -> Answer:
    """Fit a model to labels, and predict the training points."""

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
            beyond.REMatchKernel(GAUSSIAN, n_coordinates=2),
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
            beyond.EquivariantRidge(GAUSSIAN, groups.Negation()),
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
    """Gram matrix of the points X, in the same form as X."""
    exact = np.asarray(X, dtype=complex if np.iscomplexobj(X) else float)
    G = np.round(exact @ exact.T / 2000) + 30 * np.eye(len(exact))
    if isinstance(X, list):
        return G.tolist()
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.array(G, mask=np.eye(len(G), dtype=bool) & X.mask.any())
    return sparse.csr_array(G) if sparse.issparse(X) else G.astype(X.dtype)


def _square(X: Any) -> Any:
    """The first four rows and columns, in the same form as X."""
    return [row[:4] for row in X[:4]] if isinstance(X, list) else X[:4, :4]


def values(seed: int) -> dict[str, np.ndarray]:
    """Points of integers from 0 to 99, which all forms represent exactly; and extreme points."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 100, (9, WIDTH)).astype(float)
    blank = X.copy()
    tied = X.copy()
    blank[0] = 0
    tied[3:6] = tied[:3]
    tied[:, ::3] = 7
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


#: Forms of arbitrary numbers; the forms in `INTEGER_FORMS` need integers.
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
INTEGER_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
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
    """Arrays, or an error with a message; other errors are raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(part) for part in answer(X)]
        except (ValueError, TypeError) as error:
            if isinstance(error, np.linalg.LinAlgError) or not str(error):
                raise
            return error


def is_modified(X: Any, before: Any) -> bool:
    if sparse.issparse(X):
        return (X != before).nnz > 0
    return not np.array_equal(np.asarray(X).astype(str), np.asarray(before).astype(str))


def difference(
    actual: np.ndarray, expected: np.ndarray, *, is_finite: bool, tolerance: float
) -> str | None:
    """Describe how a result differs from the result for float64, or return None."""
    if actual.dtype.kind != expected.dtype.kind:
        return f"silent: an answer of type {actual.dtype}"
    if is_finite and not np.isfinite(actual).all():
        return "silent: NaN or infinity for finite points"
    scale = np.abs(expected).max(initial=1e-300)
    if not is_finite:  # infinite entries move with the numbers
        actual = np.nan_to_num(actual)
        expected = np.nan_to_num(expected)
    if actual.shape != expected.shape:
        return f"silent: shape {actual.shape}, not {expected.shape}"
    gap = np.abs(actual - expected).max() / scale
    return f"silent: {gap:.1e} off" if gap > tolerance else None


def verdict(name: str, expected: Any, A: np.ndarray, form: str) -> str | None:
    """Describe the failure for numbers in some form, or return None."""
    X = (FORMS | INTEGER_FORMS | REFUSED)[form](A)
    before = X.copy() if hasattr(X, "copy") else X
    try:
        result = outcome(TARGETS[name], X)
    except Exception as error:
        return f"crash: {type(error).__name__}: {error!s:.100}"
    if is_modified(X, before):
        return "the input was modified"
    if isinstance(result, Exception):
        # functions may require numbers, although estimators convert objects
        if form in REFUSED or isinstance(expected, Exception) or "objects" in form:
            return None
        return f"refused, which float64 is not: {result!s:.150}"
    if form in REFUSED:
        return "silent: an answer to something that is not an array of numbers"
    if isinstance(expected, Exception):
        return f"silent: an answer where float64 is refused: {expected!s:.100}"
    is_finite = bool(np.isfinite(A).all())
    # `act` does not check for NaN, as it documents
    if not is_finite and not name.startswith("act "):
        return "silent: an answer to NaN or infinity"
    tolerance = 2e-2 if form == "float32" else 1e-9
    for actual, wanted in zip(result, expected, strict=True):
        failure = difference(actual, wanted, is_finite=is_finite, tolerance=tolerance)
        if failure:
            return failure
    return None


def cases(seed: int) -> list[tuple[str, str, str]]:
    """All cases (target, values, form)."""
    all_cases = []
    for name in TARGETS:
        for which in values(seed):
            is_integer = which not in ("huge", "tiny", "NaN", "infinity")
            forms = [
                *FORMS,
                *(INTEGER_FORMS if is_integer else ()),
                *(REFUSED if which == "points" else ()),
            ]
            all_cases += [(name, which, form) for form in forms]
    return all_cases


def failures(chosen: list[tuple[str, str, str]], seed: int) -> dict[tuple[str, str, str], str]:
    """Failures by case."""
    arrays = values(seed)
    expected = {}
    failed = {}
    for case in chosen:
        name, which, form = case
        A = arrays[which]
        answer = TARGETS[name]
        if (name, which) not in expected:
            try:
                expected[name, which] = outcome(answer, A.copy())
            except Exception as error:
                expected[name, which] = error
                failed[name, which, "float64"] = f"crash: {type(error).__name__}: {error!s:.100}"
        due = expected[name, which]
        failure = verdict(name, due, A, form)
        if failure:
            failed[case] = failure
    return failed


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int(np.random.SeedSequence().entropy % 2**32)
    chosen = cases(seed)
    print(f"seed {seed}: {len(chosen)} cases of {len(TARGETS)} targets", flush=True)
    failed = failures(chosen, seed)
    for (name, which, form), failure in failed.items():
        print(f"{name} | {which} | {form}: {failure}")
    print(Counter(failure.split(":")[0] for failure in failed.values()) or "no failures")
    sys.exit(bool(failed))
