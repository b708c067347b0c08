"""The ledger: what the papers claim, one checkable claim an entry of ``notebooks/claims.yml``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from pathlib import Path

import yaml

from invariance.companion.errors import LedgerError, hint

__all__ = ["KINDS", "Claim", "Ledger", "load_ledger", "paper_label"]

KINDS = {
    "value": "value=..., se=... or samples=array (axis 0 = repetitions)",
    "order": 'order="a >= b > c", scores={name: samples, Score(mean, se) or number}',
    "bound": "lhs=array, rhs=array (and allowed=fraction of trials that may violate)",
    "rate": "rates={name: fit_rate(x, y)}, expected={name: exponent}",
    "identity": "difference=array or float, tolerance=...",
}

_FIELDS = {
    "id",
    "kind",
    "source",
    "says",
    "paper",
    "unit",
    "better",
    "data",
    "tolerance",
    "two_sided",
}


@dataclass(frozen=True)
class Claim:
    """One checkable claim of a paper.

    Attributes
    ----------
    id : str
        ``<paper>/<claim>``.
    kind : str
        How a verdict is reached: value, order, bound, rate or identity.
    source : str
        Where it stands in the paper.
    data : str
        ``"full"`` (real data) or ``"generated"``.
    says : str
        The statement; empty where `source` says it all.
    paper : tuple of str
        The printed numbers, digit for digit; empty unless the kind is value.
    scalar : bool
        Whether the paper prints one number and not a list.
    unit : str
    better : str
        ``"higher"``, ``"lower"`` or empty: which side of the paper's number is an improvement.
    tolerance : float
        Deviation from the paper that still counts as the same, in `unit` (for a rate: of the
        exponent).
    two_sided : bool
        For a rate: a steeper slope is not an improvement.
    """

    id: str
    kind: str
    source: str
    data: str
    says: str = ""
    paper: tuple[str, ...] = ()
    scalar: bool = True
    unit: str = ""
    better: str = ""
    tolerance: float = 0.0
    two_sided: bool = False

    @property
    def paper_key(self) -> str:
        """The paper that the claim belongs to."""
        return self.id.split("/")[0]

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The printed numbers as floats."""
        return tuple(float(text) for text in self.paper)

    @cached_property
    def decimals(self) -> tuple[int, ...]:
        """Digits printed after the decimal point, number by number."""
        return tuple(len(text.partition(".")[2]) for text in self.paper)

    @property
    def printed(self) -> str:
        """What the paper prints, as text: ``"10.82, 10.05"``, or empty."""
        return ", ".join(self.paper)


class Ledger(Mapping[str, Claim]):
    """Claims by id, in the order of the file."""

    def __init__(self, claims: list[Claim]):
        self._claims = {claim.id: claim for claim in claims}

    def __getitem__(self, claim_id: str) -> Claim:
        try:
            return self._claims[claim_id]
        except KeyError:
            paper = str(claim_id).split("/")[0]
            same_paper = [i for i in self._claims if i.startswith(f"{paper}/")]
            raise LedgerError(
                f"claim {claim_id!r} is not in the ledger notebooks/claims.yml. "
                + hint(str(claim_id), same_paper or self._claims, "ids")
            ) from None

    def __contains__(self, claim_id: object) -> bool:
        return claim_id in self._claims

    def __iter__(self):
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)


def _number(where: str, field: str, text: object) -> str:
    try:
        finite = isfinite(float(str(text)))
    except ValueError:
        finite = False
    if not finite:
        raise LedgerError(f"{where}: {field}: {text!r} is not a finite number")
    return str(text)


def _claim(index: int, entry: object) -> Claim:
    where = f"claim {index + 1} of the ledger"
    if not isinstance(entry, dict):
        raise LedgerError(f"{where} is {entry!r}: expected a mapping with id, kind, source, data")
    where = f"claim {entry.get('id', index + 1)!r} of the ledger"
    for field in ("id", "kind", "source", "data"):
        if not entry.get(field):
            raise LedgerError(f"{where} has no field {field!r}")
    for field in entry:
        if field not in _FIELDS:
            raise LedgerError(f"{where}: unknown field {field!r}. {hint(field, _FIELDS, 'fields')}")
    if entry["id"].count("/") != 1:
        raise LedgerError(f"{where}: an id has the form <paper>/<claim>")
    for field, allowed in {
        "kind": tuple(KINDS),
        "data": ("full", "generated"),
        "better": ("higher", "lower"),
        "two_sided": ("true", "false"),
    }.items():
        if field in entry and entry[field] not in allowed:
            raise LedgerError(
                f"{where}: {field}: {entry[field]!r} is not one of {', '.join(allowed)}"
            )
    fields = {name: entry[name] for name in ("id", "kind", "source", "data")}
    fields |= {name: entry[name] for name in ("says", "unit", "better") if name in entry}
    if "paper" in entry:
        printed = entry["paper"]
        fields["scalar"] = not isinstance(printed, list)
        listed = printed if isinstance(printed, list) else [printed]
        fields["paper"] = tuple(_number(where, "paper", text) for text in listed)
    if entry["kind"] == "value" and not (fields.get("paper") and fields.get("better")):
        raise LedgerError(f"{where}: a claim of kind value needs the fields 'paper' and 'better'")
    if "tolerance" in entry:
        tolerance = float(_number(where, "tolerance", entry["tolerance"]))
        if not 0 <= tolerance < inf:
            raise LedgerError(f"{where}: tolerance: {tolerance} is negative")
        fields["tolerance"] = tolerance
    fields["two_sided"] = entry.get("two_sided") == "true"
    return Claim(**fields)


def load_ledger(path: Path | str) -> Ledger:
    """Read and validate the ledger.

    Parameters
    ----------
    path : path
        A YAML file with one list, ``claims``.

    Raises
    ------
    LedgerError
        Naming the claim and the field that is wrong.
    """
    try:
        # BaseLoader keeps every scalar as it is printed: 11.40 has two digits, not one
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    except OSError as error:
        raise LedgerError(f"cannot read the ledger {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise LedgerError(f"the ledger {path} is not YAML: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise LedgerError(f"the ledger {path} must hold one list named 'claims'")
    claims = [_claim(i, entry) for i, entry in enumerate(content["claims"])]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise LedgerError(f"claim {claim.id!r} stands twice in the ledger: keep one")
        seen.add(claim.id)
    return Ledger(claims)


def paper_label(key: str) -> str:
    """A paper's key as a reader writes it.

    >>> paper_label("mroueh2015")
    'Mroueh 2015'
    """
    match = re.fullmatch(r"([a-z]+)(\d{4})[a-z]?", key)
    return f"{match[1].capitalize()} {match[2]}" if match else key.capitalize()
