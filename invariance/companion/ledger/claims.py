"""The ledger: what the papers claim, one checkable claim an entry of ``notebooks/claims.yml``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path

from invariance.companion.errors import LedgerError, hint
from invariance.companion.ledger.reading import AS_PRINTED, read_yaml

__all__ = ["KINDS", "OURS", "OWNERS", "Claim", "Earlier", "Ledger", "load_ledger", "paper_label"]

KINDS = {
    "value": "samples=array (axis 0 = repetitions), or value=..., se=... or exact='why'",
    "order": 'order="a >= b > c", scores={name: samples, Score(mean, se) or number}',
    "bound": "lhs=array, rhs=array, ceiling=... (and allowed=fraction of trials that may violate)",
    "rate": "rates={name: fit_rate(x, y)}, expected={name: exponent}",
    "identity": "difference=array or float, tolerance=...",
    "same": "samples=differences (axis 0 = repetitions), or value=..., se=...",
}

OWNERS = (
    *("id", "kind", "source", "says", "paper", "unit", "margin", "better", "share", "count"),
    *("limits", "program", "data"),
)
OURS = ("protocol", "history", "note")


@dataclass(frozen=True)
class Earlier:
    """What a protocol gave that is no longer the registered one.

    Attributes
    ----------
    protocol : str
        What was different.
    gave : str
        The numbers, as text.
    verdict : str
        By the rules of that time.
    """

    protocol: str
    gave: str
    verdict: str = ""


@dataclass(frozen=True)
class Claim:
    """One checkable claim of a paper.

    Attributes
    ----------
    id : str
        ``<paper>/<claim>``.
    kind : str
        How a verdict is reached: value, order, bound, rate, identity or same.
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
        Which side of the paper's number is an improvement: ``"higher"``, ``"lower"``, or
        ``"neither"`` for a row that the paper only compares with.
    margin : str
        How far from the paper would no longer be the same result: in `unit`, or ``"10 %"``.
    share : str
        Of an order: the share of all gaps that must hold, where the paper says "in general" or "in
        many cases"; empty asks for every gap.
    count : str
        ``"instructions"`` where a cost is judged by what is counted, not by the clock.
    limits : str
        Why a claim that passes is weakly tested, or holds by construction.
    program : str
        ``"true"`` where the row repeats the authors' own deterministic program.
    protocol : str
        Data, sizes, choices and seeds, registered before the run that counts; empty: none is.
    history : tuple of Earlier
        What earlier protocols gave.
    note : str
        A standing remark of this project.
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
    margin: str = ""
    share: str = ""
    count: str = ""
    limits: str = ""
    program: str = ""
    protocol: str = ""
    history: tuple[Earlier, ...] = ()
    note: str = ""

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

    @cached_property
    def margins(self) -> tuple[float, ...]:
        """The margin of each printed number, in its unit; one margin where none is printed."""
        share = _SHARE.fullmatch(self.margin)
        if share:
            return tuple(float(share[1]) / 100 * abs(value) for value in self.values)
        return (float(self.margin or 0),) * max(1, len(self.paper))

    @property
    def printed(self) -> str:
        """What the paper prints, as text: ``"10.82, 10.05"``, or empty."""
        return ", ".join(self.paper)


_SHARE = re.compile(r"([0-9.]+) ?%")


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
    known = (*OWNERS, *OURS)
    for field, value in entry.items():
        if field not in known:
            raise LedgerError(f"{where}: unknown field {field!r}. {hint(field, known, 'fields')}")
        if field not in ("paper", "history") and not isinstance(value, str):
            raise LedgerError(f"{where}: {field}: {value!r} is not text")
    if entry["id"].count("/") != 1:
        raise LedgerError(f"{where}: an id has the form <paper>/<claim>")
    for field, allowed in {
        "kind": tuple(KINDS),
        "data": ("full", "generated"),
        "better": ("higher", "lower", "neither"),
        "count": ("instructions",),
        "program": ("true",),
    }.items():
        if field in entry and entry[field] not in allowed:
            raise LedgerError(
                f"{where}: {field}: {entry[field]!r} is not one of {', '.join(allowed)}"
            )
    fields = {name: value for name, value in entry.items() if name not in ("paper", "history")}
    fields |= {
        name: " ".join(fields[name].split()) for name in ("protocol", "note") if name in entry
    }
    if "paper" in entry:
        printed = entry["paper"]
        fields["scalar"] = not isinstance(printed, list)
        listed = printed if isinstance(printed, list) else [printed]
        fields["paper"] = tuple(_number(where, "paper", text) for text in listed)
    needed = {"value": ("paper", "better", "margin"), "same": ("margin",)}.get(entry["kind"], ())
    if not all(entry.get(field) for field in needed):
        names = " and ".join(map(repr, needed))
        raise LedgerError(f"{where}: a claim of kind {entry['kind']} needs the fields {names}")
    if "share" in entry and (
        entry["kind"] != "order" or not 0 < float(_number(where, "share", entry["share"])) <= 1
    ):
        raise LedgerError(f"{where}: share: {entry['share']} is for orders, above 0 and at most 1")
    if "margin" in entry:
        share = _SHARE.fullmatch(entry["margin"])
        if float(_number(where, "margin", share[1] if share else entry["margin"])) < 0:
            raise LedgerError(f"{where}: margin: {entry['margin']} is negative")
    fields["history"] = _history(where, entry.get("history", []))
    return Claim(**fields)


def _history(where: str, entries: object) -> tuple[Earlier, ...]:
    known = {"protocol", "gave", "verdict"}
    if not isinstance(entries, list) or not all(
        isinstance(e, dict) and {"protocol", "gave"} <= set(e) <= known for e in entries
    ):
        raise LedgerError(
            f"{where}: history: expected a list of {{protocol: ..., gave: ..., verdict: ...}}"
        )
    return tuple(Earlier(**{k: " ".join(str(v).split()) for k, v in e.items()}) for e in entries)


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
    content = read_yaml(Path(path), AS_PRINTED)
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

    >>> paper_label("miller1999")
    'Miller 1999'
    """
    match = re.fullmatch(r"([a-z]+)(\d{4})[a-z]?", key)
    return f"{match[1].capitalize()} {match[2]}" if match else key.capitalize()
