"""Was a claim registered before its run? `Registrar` says so only if that is shown.

A *registered* claim has a statement and a protocol that were committed before the run that counts.

- **Statement**: the fields of a claim's line that say what is claimed and when it counts as
  reproduced (`STATEMENT`): kind, source, words, printed numbers, unit, margin and the like. How a
  claim is counted apart (its data, its limits) is no part of it.
- **Protocol**: the claim's protocol and the chosen settings of its notebook.

A full run records a digest of both, the verdicts in the claim's history, the edition of the
ledger's owner, and the commit of the code. The rules:

1. *Shown* means: the commit that the results name is in this history, nothing was uncommitted at
   the run, and statement and protocol are the same in that commit, in the results and in the ledger
   as it is now. Whatever else is the case is counted, with its reason, as not shown.
2. A statement or a protocol that is another than at the run needs a new entry at the end of the
   claim's `history`: one change, one entry. Without it the change is an error.
   The same holds for a result and the one that it replaced, as far as that one was committed.
3. Entries of a history are never removed, and their verdicts never change.
4. The ledger's owner is whoever decides what has to be reproduced, and may be somebody else than
   those who reproduce it. If a project has an owner's edition (``notebooks/claims.sha256``), the
   statements are the owner's: they change with a new edition and no other way (`guard.departures`),
   without an entry in the history. The results then stand, are judged by the new statement, and are
   counted as not shown until they are run again. The protocol is ours, and rule 2 holds for it.
5. Results that differ from the commit that they name, or from ``SHA256SUMS``, are an error.

Results that were recorded before statements had a digest are compared with the ledger of the commit
that they name. Changed and changed back is no change. A claim under a new name is a new claim.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CompanionError, LedgerError
from ..files import file_digest, read_text
from ..paths import Paths
from .claims import Claim, Ledger, parse_ledger
from .guard import departures, recorded_digests
from .repository import NO_REPOSITORY, SHALLOW, Repository
from .results import read_results
from .settings import parse_settings, protocol_digest, registered, settings_digest

#: The fields of a claim that say what is claimed, and when it counts as reproduced.
STATEMENT = ("kind", "source", "says", "paper", "unit", "better", "margin", "share", "count")

NO_COMMIT = "no commit named by the run"
UNCOMMITTED = "uncommitted changes at the run"
NO_LEDGER = "no ledger in the commit"
NOT_IN_COMMIT = "no such claim in the commit"
UNRECORDED = "results that nobody has recorded in SHA256SUMS"
DECLARED = "statement changed since the run, as its history says"
NEW_EDITION = "statement changed by the ledger's owner since the run"


@dataclass(frozen=True)
class Registration:
    """Whether a result's claim is shown to have been registered before its run.

    `gap` is the reason why not, `fault` an error in one sentence; both are empty if it is shown.
    """

    gap: str = ""
    fault: str = ""

    @property
    def shown(self) -> bool:
        return not (self.gap or self.fault)

    @property
    def said(self) -> str:
        """The same in a few words."""
        if self.shown:
            return "registered before the run"
        return f"not shown to be registered before the run: {self.fault or self.gap}"

    @property
    def elsewhere(self) -> bool:
        """Whether a copy of the project with more of its history may show it."""
        return self.gap in (NO_REPOSITORY, SHALLOW)


def statement_digest(claim: Claim) -> str:
    """Sixteen digits of what a claim states.

    >>> statement_digest(Claim("p/c", "order", "f1", "full", says="a beats b"))
    '145de288c70d1b4d'
    """
    stated = {name: value for name in STATEMENT if (value := getattr(claim, name))}
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:16]


def owners_edition(paths: Paths) -> str:
    """SHA-256 of the edition of the ledger's owner, as the project names it; empty without one."""
    if not paths.owners_digest.is_file():
        return ""
    return read_text(paths.owners_digest).partition(" ")[0].strip()


@dataclass(frozen=True)
class _AtRun:
    """What a run was promised: digests, verdicts in the history, and the claim itself if known."""

    statement: str
    earlier: list[str]
    claim: Claim | None


class _Commit:
    """Ledger and settings of one commit of the project's repository."""

    def __init__(self, paths: Paths, repository: Repository, commit: str) -> None:
        self._paths = paths
        self._repository = repository
        self._commit = commit
        self._protocol_settings: dict[str, str] = {}
        try:
            self.ledger: Ledger | None = parse_ledger(
                repository.text(commit, paths.ledger), "the ledger"
            )
        except (CompanionError, LookupError):
            self.ledger = None

    def settings(self, notebook: str) -> str:
        """Digest of what a notebook had chosen by then."""
        if notebook not in self._protocol_settings:
            self._protocol_settings[notebook] = self._settings_digest(notebook)
        return self._protocol_settings[notebook]

    def _settings_digest(self, notebook: str) -> str:
        try:
            text = self._repository.text(self._commit, self._paths.settings(notebook))
        except LookupError:
            return settings_digest(None)
        try:
            return settings_digest(parse_settings(text))
        except (LedgerError, ValueError, TypeError, LookupError, AttributeError):
            return "unreadable"


class Registrar:
    """Looks up, for results of a project, whether their claims were registered before the run."""

    def __init__(self, paths: Paths) -> None:
        self.repository = Repository(paths)
        self._paths = paths
        self._commits: dict[str, _Commit] = {}
        self._former: dict[tuple[str, str], Any] = {}
        self._edition_holds: bool | None = None
        self._recorded: dict[str, str] | None = None
        self._files: dict[str, tuple[str, str]] = {}

    def _look_into(self, commit: str) -> _Commit:
        if commit not in self._commits:
            self._commits[commit] = _Commit(self._paths, self.repository, commit)
        return self._commits[commit]

    # -- one result ----------------------------------------------------------------------------

    def of(
        self, claim: Claim, entry: Mapping[str, Any], results: Mapping[str, Any]
    ) -> Registration:
        """Registration of a claim of `results`, whose entry there is `entry`."""
        notebook = results["notebook"]
        gap, fault = self._file(notebook)
        if fault:
            return Registration(fault=fault)
        commit, clean = commit_of(results["provenance"]["code"])
        committed, why = self._committed(claim.id, commit, clean)
        if why == NOT_IN_COMMIT or (committed and self._contradicts(entry, committed, results)):
            what = f"{claim.id}: {notebook} records another statement or protocol for it than"
            fault = f"{what} {commit}, the commit that it names: run the notebook again"
            return Registration(fault=fault)
        fault, changed = self._changes(claim, entry, notebook, _at_run(entry, committed))
        if commit and not self.repository.unknown(commit):
            fault = fault or self._replaced(claim, entry, results, commit)
        return Registration(gap=gap or changed or why, fault=fault)

    def _replaced(
        self, claim: Claim, entry: Mapping[str, Any], results: Mapping[str, Any], commit: str
    ) -> str:
        """What changed since the results that `results` replaced, if no history tells of it."""
        notebook = results["notebook"]
        former = self._published(commit, notebook)
        try:
            before = former["claims"][claim.id]
            made_by, _ = commit_of(former["provenance"]["code"])
            same_edition = former["provenance"].get("edition", "") == _edition(results)
            promised = [before.get("statement"), before.get("protocol"), before["verdict"]]
            earlier = before.get("earlier")
        except (LookupError, TypeError, AttributeError):
            return ""  # none were published, or they are of another form
        statement, protocol, verdict = promised
        another_statement = same_edition and None not in (statement, entry.get("statement"))
        another_statement = another_statement and statement != entry.get("statement")
        if protocol in (None, entry.get("protocol")) and not another_statement:
            return ""
        if earlier is None:  # recorded before histories were
            committed, _ = self._committed(claim.id, made_by, clean=True)
            earlier = committed.history if committed else ()
        if len(claim.history) > len(earlier):
            return ""
        what = f"its {'statement' if another_statement else 'protocol'} changed between two runs of"
        gave = f"the one before, published by {commit}, gave {verdict!r}"
        return f"{claim.id}: {what} {notebook}; {gave}. Add that at the end of its history"

    def _published(self, commit: str, notebook: str) -> Any:
        """The results of a notebook that were published last when a commit was made."""
        if (commit, notebook) not in self._former:
            try:
                path = self._paths.published(notebook) / "results.json"
                content = json.loads(self.repository.last_text(commit, path))
            except (LookupError, ValueError, RecursionError):
                content = None
            self._former[commit, notebook] = content
        return self._former[commit, notebook]

    def undeclared(self, claim: Claim, entry: Mapping[str, Any], results: Mapping[str, Any]) -> str:
        """The change since `results` that the claim's history does not tell of, in a sentence."""
        commit, clean = commit_of(results["provenance"]["code"])
        committed, _ = self._committed(claim.id, commit, clean)
        return self._changes(claim, entry, results["notebook"], _at_run(entry, committed))[0]

    def _contradicts(
        self, entry: Mapping[str, Any], committed: Claim, results: Mapping[str, Any]
    ) -> bool:
        """Whether results of a clean checkout differ from the ledger of its commit."""
        statement = entry.get("statement")
        if statement is not None and statement != statement_digest(committed):
            return True
        commit, _ = commit_of(results["provenance"]["code"])
        settings = self._look_into(commit).settings(results["notebook"])
        return entry.get("protocol") not in (None, protocol_digest(committed, settings))

    def _file(self, notebook: str) -> tuple[str, str]:
        """Why the published results of a notebook show nothing, and what is wrong with them."""
        if notebook not in self._files:
            self._files[notebook] = self._look_at_file(notebook)
        return self._files[notebook]

    def _look_at_file(self, notebook: str) -> tuple[str, str]:
        path = self._paths.published(notebook) / "results.json"
        if self._recorded is None:
            try:
                self._recorded = recorded_digests(self._paths)
            except LedgerError:
                self._recorded = {}
        name = path.relative_to(self._paths.root).as_posix()
        if name not in self._recorded:
            return UNRECORDED, ""
        if file_digest(path) != self._recorded[name]:
            return "", f"{name}: is not what was recorded. Restore it, or run the notebook again"
        return "", ""

    def _committed(self, claim_id: str, commit: str, clean: bool) -> tuple[Claim | None, str]:
        """The claim as it was in the commit of a run, or why that is not known."""
        if not commit:
            return None, NO_COMMIT
        if not clean:
            return None, UNCOMMITTED
        if why := self.repository.unknown(commit):
            return None, why
        ledger = self._look_into(commit).ledger
        if ledger is None:
            return None, NO_LEDGER
        return (ledger[claim_id], "") if claim_id in ledger else (None, NOT_IN_COMMIT)

    def _changes(
        self,
        claim: Claim,
        entry: Mapping[str, Any],
        notebook: str,
        at_run: _AtRun | None,
    ) -> tuple[str, str]:
        """What is wrong with the changes since a run, and why they leave nothing to be shown."""
        now = registered(claim, self._paths, notebook)
        known = not claim.protocol or now is not None  # else `check` says what ails the settings
        another_protocol = known and entry.get("protocol") not in (None, now)
        another_statement = at_run is not None and at_run.statement != statement_digest(claim)
        history = [earlier.verdict for earlier in claim.history]
        before = at_run.earlier if at_run else []
        if history[: len(before)] != before:
            what = "an entry that was there at the run is gone, or its verdict is another"
            return f"{claim.id}: history: {what}. Entries are added at the end, and stay", ""
        owners = another_statement and self._is_the_owners()
        ours = another_protocol or (another_statement and not owners)
        declared = len(history) > len(before)
        if ours and not declared:
            was = at_run.claim if at_run else None
            changed = _named(claim, was, another_protocol, another_statement and not owners)
            remedy = "Add what it was, and what it gave, at the end of its history, or restore it"
            return f"{claim.id}: its {changed} since the run of {notebook}. {remedy}", ""
        if owners:
            return "", NEW_EDITION
        return "", DECLARED if another_statement else ""

    def _is_the_owners(self) -> bool:
        """Whether the ledger is, but for our fields, its owner's edition."""
        if self._edition_holds is None:
            named = bool(owners_edition(self._paths))
            self._edition_holds = named and not departures(self._paths)
        return self._edition_holds


def commit_of(code: str) -> tuple[str, bool]:
    """The commit in a code's version, and whether nothing else was uncommitted then.

    >>> commit_of("0.1.0+g1234abcd99-dirty"), commit_of("0.1.0")
    (('1234abcd99', False), ('', True))
    """
    match = re.search(r"\+g([0-9a-f]{7,40})(-dirty)?$", code)
    return (match[1], match[2] is None) if match else ("", True)


def _edition(results: Mapping[str, Any]) -> str:
    return str(results["provenance"].get("edition", ""))


def _at_run(entry: Mapping[str, Any], committed: Claim | None) -> _AtRun | None:
    """What is known of a claim as it was at a run, from its results or else from its commit."""
    if entry.get("statement") is not None:
        return _AtRun(entry["statement"], list(entry.get("earlier") or ()), committed)
    if committed is None:
        return None
    earlier = [one.verdict for one in committed.history]
    return _AtRun(statement_digest(committed), earlier, committed)


def _named(claim: Claim, before: Claim | None, protocol: bool, statement: bool) -> str:
    """What of a claim has changed, with values if they are known: the middle of a sentence."""
    parts = []
    if statement and before is None:
        parts.append("statement (words, printed numbers, margin or the like)")
    elif statement and before is not None:
        names = [n for n in STATEMENT if getattr(claim, n) != getattr(before, n)]
        values = [f"{n} from {_shown(before, n)} to {_shown(claim, n)}" for n in names]
        parts.append(f"statement ({', '.join(values)})")
    if protocol:
        same_text = before is not None and before.protocol == claim.protocol
        parts.append("protocol (the settings of its notebook)" if same_text else "protocol")
    return f"{' and its '.join(parts)} changed"


def _shown(claim: Claim, name: str) -> str:
    value = getattr(claim, name)
    text = ", ".join(value) if isinstance(value, tuple) else value
    return f"{text:.60}" if text else "none"


def undeclared(paths: Paths, notebook: str, ledger: Ledger, registrar: Registrar) -> list[str]:
    """Changes of a notebook's claims since its published full run that no history tells of."""
    results, _ = read_results(paths.published(notebook), notebook)
    if results is None or results["profile"] != "full":
        return []
    recorded = results["claims"].items()
    told = [registrar.undeclared(ledger[n], entry, results) for n, entry in recorded if n in ledger]
    return list(filter(None, told))


def registration_sentence(registrations: Sequence[Registration]) -> str:
    """For how many results that count registration is shown, and why not for the others.

    >>> registration_sentence([Registration(), Registration(NO_COMMIT)])
    'Registered before the run, statement and protocol: shown for 1 of 2 results. Not shown:
    no commit named by the run (1).'
    """
    total = len(registrations)
    if not total:
        return ""
    number = sum(one.shown for one in registrations)
    said = f"Registered before the run, statement and protocol: shown for {number} of {total} "
    said += "result." if total == 1 else "results."
    if number == total:
        return said
    gaps: dict[str, int] = {}
    for one in registrations:
        if not one.shown:
            reason = "an error that 'invariance check' names" if one.fault else one.gap
            gaps[reason] = gaps.get(reason, 0) + 1
    reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(gaps.items()))
    return f"{said} Not shown: {reasons}."
