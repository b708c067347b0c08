"""The ledger: what the papers claim, one checkable claim an entry of ``notebooks/claims.yml``.

What a project says of its papers, pages and methods stands beside it, in ``notebooks/papers.yml``.
"""

import json
import re
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import LedgerError, hint
from ..files import AS_PRINTED, can_read_yaml, parse_yaml, read_text, read_yaml
from ..paths import Paths

KINDS = {
    "value": "samples=array (axis 0 = repetitions), or value=..., se=... or exact='why'",
    "order": 'order="a >= b > c", scores={name: samples, Score(mean, se) or number}',
    "bound": "lhs=array, rhs=array, ceiling=... (and allowed=fraction of trials that may violate)",
    "rate": "rates={name: fit_rate(x, y)}, expected={name: exponent}",
    "identity": "difference=array or float, tolerance=...",
    "same": "samples=differences (axis 0 = repetitions), or value=..., se=...",
}

OURS = ("protocol", "history", "note")


@dataclass(frozen=True)
class Earlier:
    """What a protocol gave that is no longer the registered one: what was different, the numbers as
    text, the verdict by the rules of that time."""

    protocol: str
    gave: str
    verdict: str = ""


@dataclass(frozen=True)
class Claim:
    """One checkable claim of a paper.

    The head of ``notebooks/claims.yml`` says what its owner's fields mean; ``paper`` holds the
    printed numbers, digit for digit. Ours are ``protocol`` (registered before the run that counts),
    ``history`` (what earlier protocols gave) and ``note`` (a standing remark).
    """

    id: str
    kind: str
    source: str
    data: str
    says: str = ""
    paper: tuple[str, ...] = ()
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

    #: The paper that the claim belongs to.
    paper_key = property(lambda self: self.id.split("/")[0])

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
        if self.margin.endswith("%"):
            share = float(self.margin.rstrip("% ")) / 100
            return tuple(share * abs(value) for value in self.values)
        return (float(self.margin or 0),) * max(1, len(self.paper))

    #: What the paper prints, as text: ``"10.82, 10.05"``, or empty.
    printed = property(lambda self: ", ".join(self.paper))


class Ledger(dict[str, Claim]):
    """Claims by id, in the order of the file."""

    def __missing__(self, claim_id: str) -> Claim:
        paper = str(claim_id).split("/")[0]
        near = [i for i in self if str(claim_id) in i or i.startswith(f"{paper}/")]
        said = hint(str(claim_id), near or self, "ids")
        raise LedgerError(f"claim {claim_id!r} is not in the ledger notebooks/claims.yml. {said}")


_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)"
#: What a field is, as a pattern and in words; any text where nothing is said.
_FORMS = {
    "id": ("[^/]+/[^/]+", "of the form <paper>/<claim>"),
    "kind": ("|".join(KINDS), f"one of {', '.join(KINDS)}"),
    "data": ("full|generated", "full or generated"),
    "better": ("higher|lower|neither", "higher, lower or neither"),
    "count": ("instructions", "instructions"),
    "program": ("true", "true"),
    "paper": (_NUMBER, "a finite number"),
    "margin": (rf"(?!-){_NUMBER}( ?%)?", "a finite number that is not negative"),
    "share": (r"0?\.\d*[1-9]\d*|1(\.0*)?", "above 0 and at most 1"),
}
_FIELDS = [field.name for field in fields(Claim)]
_NEEDED = ("id", "kind", "source", "data")
_NEEDED_BY = {"value": ("paper", "better", "margin"), "same": ("margin",)}


def _fault(entry: dict[str, Any]) -> str | None:
    """What is wrong with an entry's fields; None if nothing is."""
    for name, value in entry.items():
        if name not in _FIELDS:
            return f"unknown field {name!r}. {hint(name, _FIELDS, 'fields')}"
        pattern, words = _FORMS.get(name, ("(?s).*", "text"))
        for text in _listed(value) if name == "paper" else [value] * (name != "history"):
            if not isinstance(text, str) or not re.fullmatch(pattern, text):
                return f"{name}: {text!r} is not {words}"
    for name in (*_NEEDED, *_NEEDED_BY.get(entry.get("kind", ""), ())):
        if not entry.get(name):
            return f"has no field {name!r}"
    return "share: it is for orders" if "share" in entry and entry["kind"] != "order" else None


def _listed(printed: Any) -> list[Any]:
    return printed if isinstance(printed, list) else [printed]


def _claim(index: int, entry: Any) -> Claim:
    name = entry.get("id", index + 1) if isinstance(entry, dict) else index + 1
    where = f"claim {name!r} of the ledger"
    fault = _fault(entry) if isinstance(entry, dict) else f"{entry!r} is no mapping of fields"
    if fault:
        raise LedgerError(f"{where}: {fault}")
    given = entry | {name: _line(entry[name]) for name in ("protocol", "note") if name in entry}
    given["paper"] = tuple(_listed(entry.get("paper", [])))
    try:
        earlier = [{k: _line(v) for k, v in e.items()} for e in entry.get("history", [])]
        given["history"] = tuple(Earlier(**e) for e in earlier)
    except (TypeError, AttributeError):
        expected = "expected a list of {protocol: ..., gave: ..., verdict: ...}"
        raise LedgerError(f"{where}: history: {expected}") from None
    return Claim(**given)


def _line(text: str) -> str:
    return " ".join(text.split())


def load_ledger(path: Path | str) -> Ledger:
    """Read the ledger, a YAML file; a `LedgerError` names the claim and the field that is wrong."""
    return parse_ledger(read_text(Path(path)), str(path))


def parse_ledger(text: str, where: str) -> Ledger:
    """The ledger in a YAML text; `where` says in messages what the text is."""
    content = parse_yaml(text, where, AS_PRINTED)
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise LedgerError(f"the ledger {where} must hold one list named 'claims'")
    ledger = Ledger()
    for claim in map(_claim, range(len(content["claims"])), content["claims"]):
        if claim.id in ledger:
            raise LedgerError(f"claim {claim.id!r} stands twice in the ledger: keep one")
        ledger[claim.id] = claim
    return ledger


def paper_label(key: str) -> str:
    """A paper's key as a reader writes it.

    >>> paper_label("miller1999")
    'Miller 1999'
    """
    match = re.fullmatch(r"([a-z]+)(\d{4})[a-z]?", key)
    return f"{match[1].capitalize()} {match[2]}" if match else key.capitalize()


#: The keys and what is taken where one is missing: texts in Markdown, and what they are about.
_DEFAULTS: dict[str, Any] = {
    "name": "companion", "title": "Results", "text": "", "idea": "", "after": "",
    "repository": "", "doors": [], "papers": {}, "sections": {}, "pages": {}, "reference": [],
    "tasks": {}, "costs": {}, "findings": [], "glossary": {}, "statements": {}, "ideas": {},
    "pictures": {}, "methods": {}, "aliases": {},
}  # fmt: skip


def _looks(text: str) -> dict[str, dict[str, Any]]:
    """What figures need of the project's own words, read without PyYAML: one method per line.

    >>> _looks('methods:\\n  # ours\\n  haar: ["#d55e00", "D"]\\naliases:\\n  mean: haar  # too\\n')
    {'methods': {'haar': ['#d55e00', 'D']}, 'aliases': {'mean': 'haar'}}
    """
    found: dict[str, dict[str, Any]] = {}
    for key in ("methods", "aliases"):
        section = re.search(rf"(?m)^{key}:.*\n((?:(?: .*)?\n)*)", f"{text}\n")
        lines = re.findall(r"(?m)^  ([^\s#][^:]*): (.+?)(?: +#.*)?$", section[1] if section else "")
        found[key] = {
            name.strip("'\""): json.loads(said) if said.startswith("[") else said.strip("'\"")
            for name, said in lines
        }
    return found


def read_papers(paths: Paths) -> dict[str, Any]:
    """The project's own words, plain ones where it has none; `LedgerError` for malformed ones."""
    content: Any = {}
    if paths.papers.exists():
        content = read_yaml(paths.papers) if can_read_yaml() else _looks(read_text(paths.papers))
    where = f"{paths.papers}"
    if not isinstance(content, dict):
        content = {} if content is None else {"the whole": content}
    for key, value in content.items():
        if key not in _DEFAULTS:
            raise LedgerError(f"{where}: unknown key {key!r}. {hint(str(key), _DEFAULTS, 'keys')}")
        if not isinstance(value, type(_DEFAULTS[key])):
            raise LedgerError(f"{where}: {key}: {value!r:.60} is of the wrong kind")
    for key in ("papers", "sections"):
        for name, entry in content.get(key, {}).items():
            if not isinstance(entry, dict):
                raise LedgerError(f"{where}: {key}: {name}: {entry!r:.60} is no mapping")
    return _DEFAULTS | content
