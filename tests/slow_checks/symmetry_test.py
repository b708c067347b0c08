"""Size and power of `symmetry_test` and `find_symmetry`: `python symmetry_test.py [N]`.

Over 1,000 simulations each; takes a quarter of an hour on one core. What it prints stands in the
module of these functions. `python symmetry_test.py N find` is of `find_symmetry` alone.
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
    """The verdict on two models that are equally good."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = X.sum(axis=1) + rng.standard_normal(n)
    test = symmetry_test(half(True), Negation(), X, y, build=lambda *_: half(False))
    return test.gains[0].verdict


def found(seed: int) -> tuple[str, str]:
    """The verdicts on the right and on the wrong group, on data like the docstring's."""
    X = np.random.default_rng(seed).standard_normal((80, 4))
    y = np.tanh(X).sum(axis=1) ** 2
    groups = {"shifts": CyclicShifts(4), "signs": SignFlips(4)}
    test = symmetry_test(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    return test["shifts"].verdict, test["signs"].verdict


# -- `find_symmetry`: the model with the group sees some columns only ------------------------------

NOISE = {
    "Gaussian": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, n),
    "Laplace": lambda rng, n: rng.laplace(size=n) / 2**0.5,
    "Student's (3)": lambda rng, n: rng.standard_t(3, n) / 3**0.5,
}


def supported(model, X, y, without: slice, within: slice) -> bool:
    """Whether a group is supported whose model sees other columns than the one without it."""

    def seeing(columns: slice) -> Pipeline:
        return make_pipeline(FunctionTransformer(lambda X: X[:, columns]), model)

    groups = {"one": Negation()}
    found = find_symmetry(
        seeing(without), groups, X, y, parents={}, build=lambda *_: seeing(within)
    )
    return found.best is not None


def one_less(n: int, k: int, seed: int, *, noise: str = "Gaussian", worth: float = 1.0) -> bool:
    """The group frees least squares of k directions, which are worth so much of their noise.

    With Gaussian points and j coefficients least squares of m points errs by 1 + j / (m - j - 1)
    times the variance of the noise and of what the model does not see.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1 + k))
    few, many = (1 + j / (n - 1 - j - 1) for j in (2, 2 + k))
    coefficients = rng.standard_normal(k)
    coefficients *= np.sqrt(worth * (many / few - 1)) / np.linalg.norm(coefficients)
    y = X[:, 0] + X[:, 1:] @ coefficients + NOISE[noise](rng, n)
    return supported(RLSRegressor([1e-9]), X, y, slice(None), slice(1))


def exchanged(n: int, k: int, seed: int, *, labels: bool = False) -> bool:
    """The group exchanges k features for as many that are as good."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2 * k))
    y = X.sum(axis=1) / k**0.5 + rng.standard_normal(n)
    model = RLSClassifier([1e-9]) if labels else RLSRegressor([1e-9])
    return supported(model, X, y > 0 if labels else y, slice(k), slice(k, None))


def show(what: str, verdicts: list[bool]) -> None:
    share = np.mean(verdicts)
    error = 2 * (share * (1 - share) / len(verdicts)) ** 0.5
    print(f"{what}: {100 * share:.1f} % (two standard errors {100 * error:.1f} %)", flush=True)


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
        wrong = [exchanged(points, k, seed, labels=True) for seed in seeds]
        show(f"size, labels, {name}", wrong)
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
        wrong = n - verdicts["the data do not tell"]
        print(f"size at 5 %, {points} points: {100 * wrong / n:.1f} %", flush=True)
    right, wrong = zip(*map(found, range(n)), strict=True)
    print(f"power, right group: {100 * right.count('lowers the error') / n:.1f} %")
    print(f"power, wrong group: {100 * wrong.count('raises the error') / n:.1f} %")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, *sys.argv[2:])
