"""Size and power of `symmetry_test`, over 1,000 simulations each: `python symmetry_test.py [N]`.

Takes ten minutes on one core. What it prints stands in the function's docstring.
"""

import sys
from collections import Counter

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from invariance.evaluation import symmetry_test
from invariance.groups import CyclicShifts, Negation, SignFlips
from invariance.kernels import Gaussian
from invariance.linear import RLSRegressor


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


def main(n: int) -> None:
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
