"""Exercises: `check` prints whether an answer is right, or a hint, and the notebook goes on."""

from collections import Counter
from collections.abc import Callable
from inspect import isfunction
from typing import Any

# How often each exercise was answered wrongly in this session, by its hints.
_n_wrong: Counter[tuple[str, ...]] = Counter()


def check(answer: Any, right: Callable[[Any], Any], *hints: str, why: str = "") -> None:
    """Print whether an answer is right, with the reason `why`, or else a hint.

    `...` stands for no answer yet. Each wrong answer gets the next of the hints, and the last one
    remains.

    >>> hints = "its square is 49", "it is the seventh number of 1, 2, 3, ..."
    >>> check(..., lambda n: n**2 == 49, *hints)
    Not answered yet.
    >>> check(7.5, lambda n: n**2 == 49, *hints)
    Not yet: its square is 49. (The next wrong answer gets hint 2 of 2.)
    >>> check(8, lambda n: n**2 == 49, *hints)
    Not yet: it is the seventh number of 1, 2, 3, ...
    >>> check(7, lambda n: n**2 == 49, *hints, why="7 times 7 is 49")
    Right: 7 times 7 is 49.
    """
    if answer is ...:
        print("Not answered yet.")
        return
    problem = ""
    returned: list[Any] = []
    try:
        is_right = bool(right(_watched(answer, returned)))
    except Exception as error:  # An answer may be of any type.
        is_right = False
        problem = f" ({type(error).__name__}: {error})"
    if is_right:
        print(_sentence(f"Right: {why}" if why else "Right"))
        return
    number = min(_n_wrong[hints], len(hints) - 1)
    _n_wrong[hints] += 1
    if any(value is None for value in returned):
        problem = " (The function returns nothing: does it end with `return`?)"
    elif number + 1 < len(hints):
        problem += f" (The next wrong answer gets hint {number + 2} of {len(hints)}.)"
    print(_sentence(f"Not yet: {hints[number]}") + problem)


def _watched(answer: Any, returned: list[Any]) -> Any:
    """Return an answer; a function also adds the values that it returns to a list."""
    if not isfunction(answer):
        return answer

    def watched(*arguments: Any, **named: Any) -> Any:
        returned.append(answer(*arguments, **named))
        return returned[-1]

    return watched


def _sentence(text: str) -> str:
    return text if text.endswith(("?", ".", "!")) else f"{text}."
