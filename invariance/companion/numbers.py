"""How numbers of the size of rounding are printed, on every page: below a bound, not by digits.

Their digits differ from one machine to the next, so that a page which prints them differs after a
faithful rerun. Recorded numbers and tables keep them.
"""

import re

#: A number below this, of quantities that are about 1, is rounding.
TINY = 1e-12

_BOUNDS = (TINY, 1e-9, 1e-6)
_EXPONENT = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?e[-−]\d+(?![\w.]*\d)", re.IGNORECASE)
# what stands before a bound that somebody has set, or before one that is printed already
_SET = re.compile(r"(?:\btolerance(?: of)?|\bmargin(?: of)?|\bwithin|[<>≤≥])\s*$")


def number(value: float, spec: str = ".4g") -> str:
    """A number as text; one of the size of rounding as a bound.

    >>> number(0.25), number(-8.27e-15), number(0.0), number(2.5e-11, ".1e")
    ('0.25', '< 1e-12', '0', '2.5e-11')
    """
    return f"< {TINY:.0e}" if 0 < abs(value) < TINY else format(value, spec)


def difference(value: float) -> str:
    """The size of a difference that is zero but for rounding: a bound for it, up to 1e-6.

    >>> difference(0.0), difference(4.6e-12), difference(3e-7), difference(0.27)
    ('< 1e-12', '< 1e-09', '< 1e-06', '2.70e-01')
    """
    for bound in _BOUNDS:
        if value < bound:
            return f"< {bound:.0e}"
    return f"{value:.2e}"


def without_rounding(text: str) -> str:
    """A text with bounds in place of the numbers in it that are of the size of rounding.

    >>> without_rounding("from 2.2e-15 to 2.5e-09, within the tolerance 1e-13, at most 5e-16")
    'from < 1e-12 to 2.5e-09, within the tolerance 1e-13, at most < 1e-12'
    """

    def bounded(match: re.Match[str]) -> str:
        value = abs(float(match[0].replace("−", "-")))
        if not 0 < value < TINY or _SET.search(text[: match.start()]):
            return match[0]
        return f"< {TINY:.0e}"

    return _EXPONENT.sub(bounded, text)
