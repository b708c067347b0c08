"""Exercises: `check` prints whether an answer is right, or a hint, and the notebook goes on."""

from collections.abc import Callable
from typing import Any


def check(answer: Any, right: Callable[[Any], Any], hint: str) -> None:
    """Print whether an answer is right, or else a hint; `...` stands for no answer yet.

    >>> check(..., lambda n: n**2 == 49, "its square is 49")
    Not answered yet.
    >>> check(7.5, lambda n: n**2 == 49, "its square is 49")
    Not yet: its square is 49.
    """
    if answer is ...:
        print("Not answered yet.")
        return
    problem = ""
    try:
        is_right = bool(right(answer))
    except Exception as error:  # An answer may be of any type.
        is_right = False
        problem = f" ({type(error).__name__}: {error})"
    if is_right:
        print("Right.")
    else:
        print(f"Not yet: {hint}.{problem}")
