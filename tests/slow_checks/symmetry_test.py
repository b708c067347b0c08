"""Size and power of `symmetry_test` and `find_symmetry`: `python symmetry_test.py [N]`.

Each number comes from 1,000 simulations, which take a quarter of an hour on one core. The module of
these functions documents the results. `python symmetry_test.py N find` runs `find_symmetry` alone.
"""

import sys
from collections import Counter

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from invariance.beyond import find_symmetry, symmetry_test
from invariance.groups import CyclicShifts, Negation, SignFlips
from invariance.kernels import Gaussian
from invariance.linear import RLSClassifier, RLSRegressor


def half(first: bool) -> Pipeline:
    """Least squares on one half of six features; both halves are equally good on average."""
    columns = slice(3) if first else slice(3, 6)
    return make_pipeline(FunctionTransformer(lambda X: X[:, columns]), LinearRegression())


def alarm(n: int, seed: int) -> str:
    """Verdict on two models that are equally good."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = X.sum(axis=1) + rng.standard_normal(n)
    test = symmetry_test(half(True), Negation(), X, y, build=lambda *_: half(False))
    return test.gains[0].verdict


def verdicts_on_groups(seed: int) -> tuple[str, str]:
    """Verdicts on the true and on a false group, with data as in the docstring."""
    X = np.random.default_rng(seed).standard_normal((80, 4))
    y = np.tanh(X).sum(axis=1) ** 2
    groups = {"shifts": CyclicShifts(4), "signs": SignFlips(4)}
    test = symmetry_test(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    return test["shifts"].verdict, test["signs"].verdict


# -- `find_symmetry`: the model with the group uses only some columns ------------------------------

NOISE = {
    "Gaussian": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, n),
    "Laplace": lambda rng, n: rng.laplace(size=n) / 2**0.5,
    "Student's (3)": lambda rng, n: rng.standard_t(3, n) / 3**0.5,
}


def supported(model, X, y, without: slice, within: slice) -> bool:
    """Whether a group is supported; the models with and without it use different columns."""

    def seeing(columns: slice) -> Pipeline:
        return make_pipeline(FunctionTransformer(lambda X: X[:, columns]), model)

    groups = {"one": Negation()}
    result = find_symmetry(
        seeing(without), groups, X, y, parents={}, build=lambda *_: seeing(within)
    )
    return result.best is not None


def one_less(n: int, k: int, seed: int, *, noise: str = "Gaussian", worth: float = 1.0) -> bool:
    """Test a group that removes k directions, which gain `worth` times the cost of their noise.

    For Gaussian points and j coefficients, the squared error of least squares with m points is
    1 + j / (m - j - 1) times the variance of the noise and of the unused columns.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1 + k))
    few, many = (1 + j / (n - 1 - j - 1) for j in (2, 2 + k))
    coefficients = rng.standard_normal(k)
    coefficients *= np.sqrt(worth * (many / few - 1)) / np.linalg.norm(coefficients)
    y = X[:, 0] + X[:, 1:] @ coefficients + NOISE[noise](rng, n)
    return supported(RLSRegressor([1e-9]), X, y, slice(None), slice(1))


def exchanged(n: int, k: int, seed: int, *, labels: bool = False) -> bool:
    """Test a group that replaces k features by k equally good features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2 * k))
    y = X.sum(axis=1) / k**0.5 + rng.standard_normal(n)
    model = RLSClassifier([1e-9]) if labels else RLSRegressor([1e-9])
    return supported(model, X, y > 0 if labels else y, slice(k), slice(k, None))


def show(name: str, verdicts: list[bool]) -> None:
    share = np.mean(verdicts)
    error = 2 * (share * (1 - share) / len(verdicts)) ** 0.5
    print(f"{name}: {100 * share:.1f} % (two standard errors {100 * error:.1f} %)", flush=True)


def of_find_symmetry(n: int) -> None:
    seeds = range(n)
    for noise, points, k in [
        *(("Gaussian", 50, k) for k in (1, 4, 16)),
        *(("Gaussian", 150, k) for k in (1, 10, 30)),
        *((noise, 50, 8) for noise in NOISE if noise != "Gaussian"),
    ]:
        name = f"size, {k} directions worth their noise, {points} points, {noise} noise"
        show(name, [one_less(points, k, seed, noise=noise) for seed in seeds])
    for points, k in ((50, 4), (50, 16), (150, 10)):
        name = f"{k} features exchanged, {points} points"
        show(f"size, {name}", [exchanged(points, k, seed) for seed in seeds])
        alarms = [exchanged(points, k, seed, labels=True) for seed in seeds]
        show(f"size, labels, {name}", alarms)
    for points, k in ((50, 4), (50, 8), (50, 16), (150, 10), (150, 30)):
        name = f"power, {k} directions worth nothing, {points} points"
        show(name, [one_less(points, k, seed, worth=0.0) for seed in seeds])


def main(n: int, of: str = "") -> None:
    of_find_symmetry(n)
    if of == "find":
        return
    print(
        f"seeds 0 to {n - 1}; two binomial standard errors: {200 * (0.05 * 0.95 / n) ** 0.5:.1f} %"
    )
    for points in (40, 150):
        verdicts = Counter(alarm(points, seed) for seed in range(n))
        alarms = n - verdicts["the data do not tell"]
        print(f"size at 5 %, {points} points: {100 * alarms / n:.1f} %", flush=True)
    on_true, on_false = zip(*map(verdicts_on_groups, range(n)), strict=True)
    print(f"power, right group: {100 * on_true.count('lowers the error') / n:.1f} %")
    print(f"power, wrong group: {100 * on_false.count('raises the error') / n:.1f} %")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, *sys.argv[2:])
