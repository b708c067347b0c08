"""A harness for small tasks: draw data, let every method answer, and count its lines of code."""

import ast
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import accuracy_score, r2_score

from invariance.evaluation import mean_se

#: A method takes training points, their targets and test points, and returns its answers.
Method = Callable[..., Any]
#: Draws points and targets from a random generator and a number of points.
Draw = Callable[..., tuple[NDArray[Any], NDArray[Any]]]


@dataclass(frozen=True)
class Task:
    """A task and the methods that are compared on it; the first method is this package's.

    Attributes
    ----------
    name : str
    draw : callable
        Takes a random generator and a number of points; returns points and targets.
    n_train : int
    methods : sequence of callable
    earlier_score, earlier_rival : float
        Scores of the earlier trial: this package's, and the best of the rest.
    also_ours : sequence of callable
        Further methods of this package, which are no rivals.
    """

    name: str
    draw: Draw
    n_train: int
    methods: Sequence[Method]
    earlier_score: float
    earlier_rival: float
    also_ours: Sequence[Method] = ()

    @property
    def all_methods(self) -> list[Method]:
        """The method of this package, the rivals, and further methods of this package."""
        return [*self.methods, *self.also_ours]


@dataclass
class Outcome:
    """Scores of a task's methods, split by split, and the coverage of intervals if there are any.

    A score is a share of right answers if the targets are labels, else R2. Seconds are those of the
    processor, for fit and prediction.
    """

    task: Task
    has_labels: bool = False
    scores: list[list[float]] = field(default_factory=list)
    coverage: list[list[float]] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)

    def of_method(self, number: int) -> NDArray[np.float64]:
        """Return one method's scores, one per split."""
        return np.array(self.scores)[:, number]

    def best_rival(self) -> int:
        """Return the number of the best of the others' methods."""
        means = np.mean(self.scores, axis=0)[: len(self.task.methods)]
        return 1 + int(means[1:].argmax())

    def gain(self) -> tuple[float, float]:
        """Return the mean paired difference of our score and the best rival's, and its width."""
        return interval(self.of_method(0) - self.of_method(self.best_rival()))

    def row(self) -> dict[str, Any]:
        """Return our method beside the best rival, as a row of the table of tasks."""
        task = self.task
        rival = self.best_rival()
        gain, width = self.gain()
        ours = self._columns(0)
        others = self._columns(rival)
        return {
            "task": task.name,
            "n": task.n_train,
            "ours": ours["method"],
            "score": ours["score"],
            "lines": ours["lines"],
            "seconds": ours["seconds"],
            "otherwise": others["method"],
            "its score": others["score"],
            "its lines": others["lines"],
            "its seconds": others["seconds"],
            "difference": f"{gain:+.4f} ± {width:.4f}",
            "then": f"{task.earlier_score:.3f} / {task.earlier_rival:.3f}",
            "is": verdict(gain, width),
        }

    def rows_of_methods(self) -> list[dict[str, Any]]:
        """Return one row of the table of methods for each method."""
        numbers = range(len(self.task.all_methods))
        return [{"task": self.task.name, **self._columns(number)} for number in numbers]

    def _columns(self, number: int) -> dict[str, Any]:
        method = self.task.all_methods[number]
        seconds = np.mean(self.seconds, axis=0)[number]
        return {
            "method": title_of(method),
            "score": written(self.of_method(number)),
            "lines": lines_of(method),
            "seconds": f"{seconds:.2f}",
        }


def compare(
    task: Task, *, n_splits: int, n_test: int, noise: float, seed: Sequence[int]
) -> Outcome:
    """Return the scores of all methods on splits that are drawn anew.

    Scores are R2 for numbers and accuracies for labels. Gaussian `noise`, a share of the targets'
    spread, is added to training targets that are numbers.
    """
    outcome = Outcome(task)
    for split in range(n_splits):
        rng = np.random.default_rng((*seed, split))
        X, y = task.draw(rng, task.n_train + n_test)
        X_train = X[: task.n_train]
        X_test = X[task.n_train :]
        y_test = y[task.n_train :]
        y_train = y[: task.n_train]
        score = accuracy_score
        if y.dtype.kind not in "iU":
            y_train = y_train + noise * y.std() * rng.standard_normal(y_train.shape)
            score = r2_score
        outcome.has_labels = score is accuracy_score
        answers = []
        seconds = []
        for method in task.all_methods:
            begin = time.process_time()
            answers.append(method(X_train, y_train, X_test))
            seconds.append(time.process_time() - begin)
        outcome.seconds.append(seconds)
        if isinstance(answers[0], tuple):
            outcome.coverage.append([_coverage(*answer, y_test) for answer in answers])
            answers = [mean for mean, _ in answers]
        outcome.scores.append([score(y_test, answer) for answer in answers])
    return outcome


def _coverage(mean: NDArray[Any], deviation: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the share of values within 1.96 standard deviations of the predicted mean."""
    return float(np.mean(abs(mean - y) < 1.96 * deviation))


def interval(values: NDArray[Any]) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % interval, by Student's t."""
    mean, se = mean_se(values)
    quantile = student.ppf(0.975, len(values) - 1)
    return mean, quantile * se


def written(values: NDArray[Any]) -> str:
    """Return the mean of scores and half the width of its interval, as text."""
    mean, width = interval(values)
    return f"{mean:.4f} ± {width:.4f}"


def verdict(gain: float, width: float = 0.0) -> str:
    """Return whether a gain is beyond the half width of its interval, and in which direction."""
    if gain > width:
        return "ahead"
    if gain < -width:
        return "behind"
    return "level"


def title_of(method: Method) -> str:
    """Return the name of a method in words."""
    return method.__name__.replace("_", " ")


def lines_of(method: Method) -> int:
    """Return the lines of a method, one per statement, with those of its module's helpers."""
    method = inspect.unwrap(method)  # A cached function is a wrapper.
    source = dedent(inspect.getsource(method))
    body = ast.parse(source).body[0].body  # type: ignore[attr-defined]
    lines = ast.unparse(body).split("\n")
    n_lines = len(lines) - lines.count("")
    for name in method.__code__.co_names:
        helper = method.__globals__.get(name)
        if getattr(helper, "__module__", "") == method.__module__:
            n_lines += lines_of(helper)
    return n_lines
