"""The ledger of the papers' claims: `load_ledger` joins its three files.

``notebooks/claims.yml`` states the claims, one entry each, and its head explains the fields.
``protocols.yml`` describes how each claim is tested, ``history.yml`` holds earlier results and
remarks. A small project may write protocol, history and note into ``claims.yml`` instead. The texts
about papers, pages and methods are in ``notebooks/papers.yml``.
"""

import hashlib
import json
import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import LedgerError, hint
from ..files import (
    AS_PRINTED,
    can_read_yaml,
    file_digest,
    parse_yaml,
    read_text,
    read_yaml,
)
from ..paths import Paths

#: The kinds of claims, each with the arguments of ``Run.claim`` that it needs.
KINDS = {
    "value": "samples=array (axis 0 = repetitions), or value=..., se=... or exact='why'",
    "order": 'order="a >= b > c", scores={name: samples, Score(mean, se) or number}',
    "bound": "lhs=array, rhs=array, ceiling=... (and allowed=fraction of trials that may violate)",
    "rate": "rates={name: fit_rate(x, y)}, expected={name: exponent}",
    "identity": "difference=array or float, tolerance=...",
    "same": "samples=differences (axis 0 = repetitions), or value=..., se=...",
}

#: The data on which a claim is tested, in words.
DATA = {
    "generated": "generated data",
    "full": "the paper's data",
    "rebuilt": "the paper's data, rebuilt from the same source",
    "stand-in": "other data of the same kind",
}

#: The files beside ``claims.yml`` that belong to the ledger.
PROTOCOLS = "protocols.yml"
HISTORY = "history.yml"

#: The fields of a claim that define it and its reproduction.
STATEMENT = ("kind", "source", "says", "paper", "unit", "better", "margin", "share", "count")


@dataclass(frozen=True)
class Earlier:
    """A result under an earlier protocol.

    ``protocol`` describes the difference to the registered one, ``gave`` holds the numbers as text,
    and ``verdict`` the verdict by the rules of that time.
    """

    protocol: str
    gave: str
    verdict: str = ""


@dataclass(frozen=True)
class Rewording:
    """A change of a claim's words after a run.

    ``before`` and ``now`` are the digests of both statements (`statement_digest`), and ``words``
    the earlier words. ``stands`` is the reason why a result under the earlier words answers the
    present ones too; if it is empty, that result does not count.
    """

    before: str
    now: str
    words: str = ""
    stands: str = ""


@dataclass(frozen=True)
class Erratum:
    """A formula that is wrong as printed, and the formula that holds."""

    printed: str
    holds: str


@dataclass(frozen=True)
class Claim:
    """One checkable claim of a paper.

    The head of ``notebooks/claims.yml`` explains the fields of its owner; ``paper`` holds the
    printed numbers, digit for digit. The other fields are ``protocol`` (registered before the run
    that counts), ``history`` (results under earlier protocols), ``note`` (a standing remark) and
    ``reworded`` (the latest change of the claim's words after a run).
    """

    id: str
    kind: str
    source: str
    data: str
    about: str = ""
    says: str = ""
    paper: tuple[str, ...] = ()
    unit: str = ""
    better: str = ""
    margin: str = ""
    share: str = ""
    count: str = ""
    limits: str = ""
    program: str = ""
    erratum: Erratum | None = None
    counterfactual: str = ""
    scored: str = "true"
    protocol: str = ""
    history: tuple[Earlier, ...] = ()
    note: str = ""
    reworded: Rewording | None = None

    @property
    def paper_key(self) -> str:
        """The key of the paper to which the claim belongs."""
        return self.id.split("/")[0]

    @property
    def topic(self) -> str:
        """The field ``about``; without it, the topic that kind and data suggest."""
        if self.about:
            return self.about
        if self.kind == "value":
            return "number"
        return "theorem" if self.data == "generated" else "finding"

    @property
    def is_scored(self) -> bool:
        """Whether the scoreboard counts the claim."""
        return self.scored == "true"

    @property
    def printed(self) -> str:
        """The printed numbers as text: ``"10.82, 10.05"``, or empty."""
        return ", ".join(self.paper)

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The printed numbers as floats."""
        return tuple(float(text) for text in self.paper)

    @cached_property
    def decimals(self) -> tuple[int, ...]:
        """The digits printed after the decimal point, for each number."""
        return tuple(len(text.partition(".")[2]) for text in self.paper)

    @cached_property
    def margins(self) -> tuple[float, ...]:
        """The margin of each printed number, in its unit; one margin if no number is printed."""
        if self.margin.endswith("%"):
            share = float(self.margin.rstrip("% ")) / 100
            return tuple(share * abs(value) for value in self.values)
        return (float(self.margin or 0),) * max(1, len(self.paper))


def statement_digest(claim: Claim) -> str:
    """Return 16 digits that identify a claim's statement.

    >>> statement_digest(Claim("p/c", "order", "f1", "full", says="a beats b"))
    '145de288c70d1b4d'
    """
    statement = {name: getattr(claim, name) for name in STATEMENT if getattr(claim, name)}
    text = json.dumps(statement, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Ledger(dict[str, Claim]):
    """Claims by id, in the order of the file."""

    def __missing__(self, claim_id: str) -> Claim:
        name = str(claim_id)
        problem = f"claim {claim_id!r} is not in the ledger notebooks/claims.yml"
        raise LedgerError(f"{problem}. {self._similar(name)}")

    def full_id(self, name: str) -> str:
        """Return the id that is `name`, or the only one that ends with it.

        A `LedgerError` lists the ids if several end with it, and similar ones if none does.
        """
        if name in self:
            return name
        same = [claim_id for claim_id in self if claim_id.endswith(f"/{name}")]
        ending = same or [claim_id for claim_id in self if name and claim_id.endswith(name)]
        if not ending:
            return self[name].id
        if len(ending) > 1:
            raise LedgerError(f"{len(ending)} claims end with {name!r}: {', '.join(ending)}")
        return ending[0]

    def _similar(self, name: str) -> str:
        """Return a sentence with similar ids, or with those of the paper, or with the papers."""
        containing = [claim_id for claim_id in self if name and name in claim_id]
        if containing:
            return f"Ids with this text: {', '.join(containing)}"
        ids_by_end = {claim_id.partition("/")[2]: claim_id for claim_id in self}
        close = get_close_matches(name, [*ids_by_end, *self], n=3, cutoff=0.7)
        if close:
            close = list(dict.fromkeys(ids_by_end.get(match, match) for match in close))
            return f"Did you mean {' or '.join(map(repr, close))}?"
        paper = name.partition("/")[0]
        of_paper = [claim_id for claim_id in self if claim_id.startswith(f"{paper}/")]
        if of_paper:
            return f"The ids of {paper}: {', '.join(of_paper)}"
        papers = {claim_id.partition("/")[0] for claim_id in self}
        return f"The papers are {', '.join(sorted(papers))}; 'invariance claim PAPER' lists ids"


_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)"
#: The form of a field, as a pattern and in words. All other fields hold any text.
_FORMS = {
    "id": ("[^/]+/[^/]+", "of the form <paper>/<claim>"),
    "kind": ("|".join(KINDS), f"one of {', '.join(KINDS)}"),
    "about": ("theorem|cost|finding|number", "theorem, cost, finding or number"),
    "data": ("|".join(DATA), f"one of {', '.join(DATA)}"),
    "scored": ("true|false", "true or false"),
    "better": ("higher|lower|neither", "higher, lower or neither"),
    "count": ("instructions", "instructions"),
    "program": ("true", "true"),
    "paper": (_NUMBER, "a finite number"),
    "margin": (rf"(?!-){_NUMBER}( ?%)?", "a finite number that is not negative"),
    "share": (r"0?\.\d*[1-9]\d*|1(\.0*)?", "above 0 and at most 1"),
}
#: The fields that hold a mapping, or a list of mappings, with their types.
_RECORDS: dict[str, type[Erratum | Rewording | Earlier]] = {
    "erratum": Erratum,
    "reworded": Rewording,
    "history": Earlier,
}
_FIELDS = [field.name for field in fields(Claim)]
_REQUIRED = ("id", "kind", "source", "data")
_REQUIRED_BY_KIND = {"value": ("paper", "better", "margin"), "same": ("margin",)}


def _problem_of(entry: dict[str, Any]) -> str | None:
    """Return the first problem of an entry's fields, or None."""
    for name, value in entry.items():
        if name not in _FIELDS:
            return f"unknown field {name!r}. {hint(name, _FIELDS, 'fields')}"
        if name not in _RECORDS:
            problem = _problem_of_field(name, value)
            if problem is not None:
                return problem
    kind = entry.get("kind", "")
    for name in (*_REQUIRED, *_REQUIRED_BY_KIND.get(kind, ())):
        if not entry.get(name):
            return f"has no field {name!r}"
    if kind == "same":
        n_printed = len(_as_list(entry.get("paper", [])))
        if n_printed > 1:
            return f"paper: a claim of kind same has one difference, not {n_printed} numbers"
        if n_printed == 0 and entry["margin"].endswith("%"):
            return f"margin: {entry['margin']!r} is a share of a printed number; none is here"
    if "share" in entry and kind != "order":
        return "share: it is for orders"
    return None


def _problem_of_field(name: str, value: Any) -> str | None:
    pattern, description = _FORMS.get(name, ("(?s).*", "text"))
    texts = [value]
    if name == "paper":
        texts = _as_list(value)
    for text in texts:
        if not isinstance(text, str) or not re.fullmatch(pattern, text):
            return f"{name}: {text!r} is not {description}"
    return None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _claim(index: int, entry: Any) -> Claim:
    """Return the claim of an entry; a `LedgerError` names it by its id or its position."""
    if not isinstance(entry, dict):
        raise LedgerError(f"claim {index + 1} of the ledger: {entry!r} is no mapping of fields")
    title = f"claim {entry.get('id', index + 1)!r} of the ledger"
    problem = _problem_of(entry)
    if problem is not None:
        raise LedgerError(f"{title}: {problem}")
    values = dict(entry)
    for name in ("protocol", "note"):
        if name in entry:
            values[name] = _in_one_line(entry[name])
    values["paper"] = tuple(_as_list(entry.get("paper", [])))
    for name in _RECORDS.keys() & entry.keys():
        values[name] = _records(name, entry[name], title)
    return Claim(**values)


def _records(name: str, content: Any, title: str) -> Any:
    """Return the record, or the tuple of records, that a field holds."""
    record = _RECORDS[name]
    try:
        if name == "history":
            return tuple(record(**_in_lines(result)) for result in content)
        return record(**_in_lines(content))
    except (TypeError, AttributeError):
        names = ": ..., ".join(field.name for field in fields(record))
        form = f"{{{names}: ...}}"
        expected = f"a list of {form}" if name == "history" else form
        raise LedgerError(f"{title}: {name}: expected {expected}") from None


def _in_lines(mapping: dict[str, str]) -> dict[str, str]:
    return {name: _in_one_line(text) for name, text in mapping.items()}


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def load_ledger(path: Path | str) -> Ledger:
    """Read ``claims.yml`` at `path` and the ledger's files beside it, if they exist.

    A `LedgerError` names the claim and the malformed field.
    """
    texts = []
    for file in ledger_files(path)[1:]:
        texts.append(read_text(file) if file.is_file() else "")
    return parse_ledger(read_text(Path(path)), str(path), *texts)


def ledger_files(path: Path | str) -> list[Path]:
    """Return the paths of the ledger's files: claims, protocols, history."""
    claims = Path(path)
    return [claims, claims.with_name(PROTOCOLS), claims.with_name(HISTORY)]


def ledger_digest(path: Path | str) -> str:
    """Return the SHA-256 of the ledger's files together."""
    digests = [file_digest(file) or "" for file in ledger_files(path)]
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def parse_ledger(text: str, title: str, protocols: str = "", history: str = "") -> Ledger:
    """Return the ledger in YAML texts; messages call the text of the claims `title`.

    >>> text = "claims: [{id: p/c, kind: order, source: f1, data: full}]"
    >>> parse_ledger(text, "the ledger", "p/c: ten draws")["p/c"].protocol
    'ten draws'
    """
    content = parse_yaml(text, title, AS_PRINTED)
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise LedgerError(f"the ledger {title} must hold one list named 'claims'")
    additions = _additions(protocols, history)
    ledger = Ledger()
    for index, entry in enumerate(content["claims"]):
        if isinstance(entry, dict):
            entry = _joined(entry, additions.pop(str(entry.get("id")), {}))
        claim = _claim(index, entry)
        if claim.id in ledger:
            raise LedgerError(f"claim {claim.id!r} stands twice in the ledger: keep one")
        ledger[claim.id] = claim
    for claim_id in additions:
        problem = f"{PROTOCOLS} or {HISTORY} names the claim {claim_id!r}"
        raise LedgerError(f"{problem}, which is not in {title}. {hint(claim_id, ledger, 'ids')}")
    return ledger


def _additions(protocols: str, history: str) -> dict[str, dict[str, Any]]:
    """Return the fields of each claim that the files beside ``claims.yml`` hold."""
    additions: dict[str, dict[str, Any]] = {}
    for claim_id, protocol in _mapping(protocols, PROTOCOLS).items():
        additions[claim_id] = {"protocol": protocol}
    for claim_id, entry in _mapping(history, HISTORY).items():
        if not isinstance(entry, dict) or not entry.keys() <= _HISTORY_FIELDS.keys():
            expected = f"a mapping with {', '.join(_HISTORY_FIELDS)}"
            raise LedgerError(f"{HISTORY}: {claim_id}: {entry!r:.60} is not {expected}")
        named = {_HISTORY_FIELDS[name]: value for name, value in entry.items()}
        additions.setdefault(claim_id, {}).update(named)
    return additions


#: The keys of an entry of ``history.yml``, with the fields of a claim that they fill.
_HISTORY_FIELDS = {"earlier": "history", "note": "note", "reworded": "reworded"}


def _mapping(text: str, title: str) -> dict[str, Any]:
    content = parse_yaml(text, title, AS_PRINTED)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise LedgerError(f"{title} must hold a mapping from the ids of claims")
    return content


def _joined(entry: dict[str, Any], addition: dict[str, Any]) -> dict[str, Any]:
    twice = entry.keys() & addition.keys()
    if twice:
        fields_twice = ", ".join(sorted(twice))
        raise LedgerError(f"claim {entry['id']!r} has {fields_twice} in two files: keep one")
    return entry | addition


def paper_label(key: str) -> str:
    """Return a paper's key as a reader writes it.

    >>> paper_label("miller1999")
    'Miller 1999'
    """
    match = re.fullmatch(r"([a-z]+)(\d{4})[a-z]?", key)
    if match is None:
        return key.capitalize()
    author, year = match.groups()
    return f"{author.capitalize()} {year}"


#: The keys of ``papers.yml`` with their default values. Texts are Markdown.
_DEFAULTS: dict[str, Any] = {
    "name": "companion", "title": "Results", "text": "", "idea": "", "after": "",
    "repository": "", "address": "", "start": {}, "search": {}, "doors": [],
    "papers": {}, "sections": {}, "pages": {}, "reference": [],
    "tasks": {}, "costs": {}, "findings": [], "glossary": {}, "statements": {}, "ideas": {},
    "pictures": {}, "methods": {}, "aliases": {}, "not_in_browser": {},
    "late_packages": {},
}  # fmt: skip


def read_papers(paths: Paths) -> dict[str, Any]:
    """Return the content of ``papers.yml``, with defaults; `LedgerError` if it is malformed."""
    content: Any = None
    if paths.papers.exists():
        if can_read_yaml(paths.papers):
            content = read_yaml(paths.papers)
        else:
            content = _looks(read_text(paths.papers))
    if content is None:
        content = {}
    if not isinstance(content, dict):
        content = {"the whole": content}
    for key, value in content.items():
        problem = _problem_of_key(key, value)
        if problem is not None:
            raise LedgerError(f"{paths.papers}: {problem}")
    return _DEFAULTS | content


def _problem_of_key(key: Any, value: Any) -> str | None:
    if key not in _DEFAULTS:
        return f"unknown key {key!r}. {hint(str(key), _DEFAULTS, 'keys')}"
    if not isinstance(value, type(_DEFAULTS[key])):
        return f"{key}: {value!r:.60} is of the wrong kind"
    if key in ("papers", "sections"):
        for name, entry in value.items():
            if not isinstance(entry, dict):
                return f"{key}: {name}: {entry!r:.60} is no mapping"
    if key == "methods":
        for name, entry in value.items():
            if not isinstance(entry, list) or len(entry) != 2:
                form = 'expected [colour, marker], such as ["#0072b2", "o"]'
                return f"{key}: {name}: {entry!r:.60}: {form}"
    return None


def _looks(text: str) -> dict[str, dict[str, Any]]:
    """Return the colours and markers in ``papers.yml``, read without PyYAML: one method per line.

    >>> _looks('methods:\\n  # ours\\n  haar: ["#d55e00", "D"]\\naliases:\\n  mean: haar  # too\\n')
    {'methods': {'haar': ['#d55e00', 'D']}, 'aliases': {'mean': 'haar'}}
    """
    looks: dict[str, dict[str, Any]] = {}
    for key in ("methods", "aliases"):
        section = re.search(rf"(?m)^{key}:.*\n((?:(?: .*)?\n)*)", f"{text}\n")
        lines = section[1] if section else ""
        entries = re.findall(r"(?m)^  ([^\s#][^:]*): (.+?)(?: +#.*)?$", lines)
        looks[key] = {_unquoted(name): _scalar_or_list(value) for name, value in entries}
    return looks


def _scalar_or_list(text: str) -> Any:
    return json.loads(text) if text.startswith("[") else _unquoted(text)


def _unquoted(text: str) -> str:
    return text.strip("'\"")
