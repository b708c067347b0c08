"""`check`: an answer to an exercise is right, or there is a hint; the notebook goes on."""

from collections.abc import Callable
from typing import Any


def check(answer: Any, right: Callable[[Any], Any], hint: str) -> None:
    """Say whether an answer is right, or else a hint; `...` is one that is still to come.

    >>> check(..., lambda n: n**2 == 49, "its square is 49")
    Not answered yet.
    >>> check(7.5, lambda n: n**2 == 49, "its square is 49")
    Not yet: its square is 49.
    """
    try:
        good, fault = answer is not ... and bool(right(answer)), ""
    except Exception as error:  # whatever an answer does
        good, fault = False, f" ({type(error).__name__}: {error})"
    print(
        "Right." if good else "Not answered yet." if answer is ... else f"Not yet: {hint}.{fault}"
    )
