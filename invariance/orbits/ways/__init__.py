"""Algorithms that are faster than the plain product for some groups, one idea per module.

Each module registers its algorithms when it is imported (`registry.register`).
"""

from . import (
    arrays,
    circle,
    closed_forms,
    definition,
    infinite_part,
    quarter_turns,
    shifts,
)

__all__ = [
    "arrays", "circle", "closed_forms", "definition", "infinite_part", "quarter_turns", "shifts",
]  # fmt: skip
