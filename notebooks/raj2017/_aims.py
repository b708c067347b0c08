"""A measured value and the aim that it is held against, for the notebook `cost`."""

from typing import NamedTuple


class Aim(NamedTuple):
    """An aim, such as "at least 3 times faster", and the measured value."""

    name: str
    measured: float
    relation: str  # "at least", "at most" or "below"
    aim: float
    unit: str

    def is_reached(self) -> bool:
        """Return whether the measured value is on the right side of the aim."""
        if self.relation == "at least":
            return self.measured >= self.aim
        return self.measured <= self.aim

    def line(self) -> dict[str, str]:
        """Return the aim as a line of a table."""
        return {
            "what": self.name,
            "aim": f"{self.relation} {self.aim:g} {self.unit}",
            "measured": f"{self.measured:.2f}",
            "reached": "yes" if self.is_reached() else "no",
        }
