"""Texts of numbers of the size of rounding, on every page: a bound instead of digits.

Their digits differ between machines, so a page with them would change after a faithful rerun.
Recorded numbers and tables keep all digits.
"""

import re

#: Numbers below this are rounding, if the quantities are about 1.
TINY = 1e-12

_BOUNDS = (TINY, 1e-9, 1e-6)
_EXPONENT = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?e[-−]\d+(?![\w.]*\d)", re.IGNORECASE)
# The words before a chosen bound, or before a bound that is printed already.
_BEFORE_BOUND = re.compile(r"(?:\btolerance(?: of)?|\bmargin(?: of)?|\bwithin|[<>≤≥])\s*$")


def number(value: float, spec: str = ".4g") -> str:
    """Return a number as text, and a bound for a number of the size of rounding.

    >>> number(0.25), number(-8.27e-15), number(0.0), number(2.5e-11, ".1e")
    ('0.25', '< 1e-12', '0', '2.5e-11')
    """
    if 0 < abs(value) < TINY:
        return f"< {TINY:.0e}"
    return format(value, spec)


def difference(value: float) -> str:
    """Return a difference as text, and a bound for a difference that is mere rounding.

    >>> difference(0.0), difference(4.6e-12), difference(3e-7), difference(0.27)
    ('< 1e-12', '< 1e-09', '< 1e-06', '2.70e-01')
    """
    for bound in _BOUNDS:
        if value < bound:
            return f"< {bound:.0e}"
    return f"{value:.2e}"


def without_rounding(text: str) -> str:
    """Return a text in which bounds replace the numbers of the size of rounding.

    >>> without_rounding("from 2.2e-15 to 2.5e-09, within the tolerance 1e-13, at most 5e-16")
    'from < 1e-12 to 2.5e-09, within the tolerance 1e-13, at most < 1e-12'
    """

    def bounded(match: re.Match[str]) -> str:
        value = abs(float(match[0].replace("−", "-")))
        if not 0 < value < TINY or _BEFORE_BOUND.search(text[: match.start()]):
            return match[0]
        return f"< {TINY:.0e}"

    return _EXPONENT.sub(bounded, text)
