"""Registration of claims before their runs, checked by `Registrar`.

A *registered* claim has a statement and a protocol that were committed before the run that counts.

- **Statement**: the fields of a claim that define it and its reproduction (`STATEMENT`): kind,
  source, words, printed numbers, unit, margin and the like. Fields that only classify a claim (its
  data, its limits) do not belong to it.
- **Protocol**: the text of the claim's protocol, in whichever file of the ledger it stands, and the
  chosen settings of its notebook.

A full run records a digest of both, the verdicts in the claim's history, the edition of the
ledger's owner, and the commit of the code. The rules:

1. Registration is *shown* if the commit that the results name is in this history, if nothing was
   uncommitted at the run, and if statement and protocol are the same in that commit, in the results
   and in the present ledger. All other cases are counted as not shown, with the reason.
2. If a statement or a protocol differs from that at the run, the claim's `history` needs a new
   entry at its end: one change, one entry. A change without an entry is an error. The same holds
   for a result and the committed result that it replaced.
3. Entries of a history are never removed, and their verdicts never change.
4. A result counts only if it answers the present words: the statement is the one at the run, or the
   history declares the rewording, with both statements' digests and the reason why earlier results
   stand (`settings.answers`). All other results wait for a new run.
5. The ledger's owner decides what has to be reproduced, and may be someone other than those who
   reproduce it. If a project has an owner's edition (``notebooks/claims.sha256``), the statements
   change only with a new edition (`guard.departures`), and without an entry in the history. The
   protocol is ours, and rule 2 applies to it.
6. Results that differ from the commit that they name, or from ``SHA256SUMS``, are an error.

Results recorded before statements had a digest are compared with the ledger of the commit that they
name; if their words have changed since, the history has to declare it. A change that was undone is
no change. A claim under a new name is a new claim.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import CompanionError, LedgerError
from ..files import file_digest, read_text
from ..paths import Paths
from .claims import (
    STATEMENT,
    Claim,
    Ledger,
    Rewording,
    ledger_files,
    parse_ledger,
    statement_digest,
)
from .guard import departures, recorded_digests
from .repository import NO_REPOSITORY, SHALLOW, Repository
from .results import Entry, Results, read_results
from .settings import parse_settings, protocol_digest, registered, settings_digest

NO_COMMIT = "no commit named by the run"
UNCOMMITTED = "uncommitted changes at the run"
NO_LEDGER = "no ledger in the commit"
NOT_IN_COMMIT = "no such claim in the commit"
WITHOUT_DIGEST = "statement changed since a run that recorded no digest of it"
UNRECORDED = "results that nobody has recorded in SHA256SUMS"
DECLARED = "statement changed since the run, as its history says"
NEW_EDITION = "statement changed by the ledger's owner since the run"


@dataclass(frozen=True)
class Registration:
    """Whether a result's claim is shown to have been registered before its run.

    `gap` is the reason if it is not shown; `fault` is an error, in one sentence. Both are empty if
    it is shown.
    """

    gap: str = ""
    fault: str = ""

    @property
    def shown(self) -> bool:
        return not self.gap and not self.fault

    @property
    def said(self) -> str:
        """The result in a few words."""
        if self.shown:
            return "registered before the run"
        return f"not shown to be registered before the run: {self.fault or self.gap}"

    @property
    def elsewhere(self) -> bool:
        """Whether a copy of the project with more of its history may show it."""
        return self.gap in (NO_REPOSITORY, SHALLOW)


def owners_edition(paths: Paths) -> str:
    """Return the SHA-256 of the ledger owner's edition, or "" if there is no edition."""
    if not paths.owners_digest.is_file():
        return ""
    digest, _, _ = read_text(paths.owners_digest).partition(" ")
    return digest.strip()


@dataclass(frozen=True)
class _AtRun:
    """A claim at the time of a run: its statement's digest, and the verdicts in its history.

    `statement` is None if nothing is known of that time, `claim` if only digests are known.
    """

    statement: str | None
    history: list[str]
    claim: Claim | None


class _Commit:
    """The ledger and the settings in one commit of the project's repository."""

    def __init__(self, paths: Paths, repository: Repository, commit: str) -> None:
        self._paths = paths
        self._repository = repository
        self._commit = commit
        self._settings: dict[str, str] = {}
        self.ledger = self._read_ledger()

    def _read_ledger(self) -> Ledger | None:
        claims, *others = ledger_files(self._paths.ledger)
        try:
            text = self._repository.text(self._commit, claims)
            return parse_ledger(text, "the ledger", *map(self._text_if_any, others))
        except (CompanionError, LookupError):
            return None

    def _text_if_any(self, path: Path) -> str:
        """Return a file of the commit; in old commits, one file is the whole ledger."""
        try:
            return self._repository.text(self._commit, path)
        except LookupError:
            return ""

    def settings(self, notebook: str) -> str:
        """Return the digest of the settings that a notebook had chosen by then."""
        if notebook not in self._settings:
            self._settings[notebook] = self._settings_digest(notebook)
        return self._settings[notebook]

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
    """Finds out whether claims were registered before the runs of their results."""

    def __init__(self, paths: Paths) -> None:
        self.repository = Repository(paths)
        self._paths = paths
        self._commits: dict[str, _Commit] = {}
        self._earlier_results: dict[tuple[str, str], Any] = {}
        self._files: dict[str, Registration] = {}

    def of(self, claim: Claim, entry: Entry, results: Results) -> Registration:
        """Return the registration of a claim of `results`, whose entry there is `entry`."""
        notebook = results["notebook"]
        file = self._registration_of_file(notebook)
        if file.fault:
            return file
        commit, clean = commit_of(results["provenance"]["code"])
        committed, gap_of_commit = self._claim_in_commit(claim.id, commit, clean)
        contradicts = gap_of_commit == NOT_IN_COMMIT or (
            committed is not None and self._contradicts(entry, committed, results)
        )
        if contradicts:
            problem = f"{notebook} records another statement or protocol for it than {commit}"
            remedy = "the commit that it names: run the notebook again"
            return Registration(fault=f"{claim.id}: {problem}, {remedy}")
        changes = self._changes_since(claim, entry, notebook, _at_run(entry, committed))
        fault = changes.fault
        if not fault and commit and not self.repository.unknown(commit):
            fault = self._undeclared_replacement(claim, entry, results, commit)
        return Registration(gap=file.gap or changes.gap or gap_of_commit, fault=fault)

    def undeclared(self, claim: Claim, entry: Entry, results: Results) -> str:
        """Return a sentence about a change since `results` without an entry in the history."""
        commit, clean = commit_of(results["provenance"]["code"])
        committed, _ = self._claim_in_commit(claim.id, commit, clean)
        at_run = _at_run(entry, committed)
        return self._changes_since(claim, entry, results["notebook"], at_run).fault

    # ------------------------------------------------------------------- the file of results

    def _registration_of_file(self, notebook: str) -> Registration:
        """Return the gap or the fault of a notebook's published file, whatever it holds."""
        if notebook not in self._files:
            path = self._paths.published(notebook) / "results.json"
            self._files[notebook] = self._compare_with_record(path)
        return self._files[notebook]

    def _compare_with_record(self, path: Path) -> Registration:
        name = path.relative_to(self._paths.root).as_posix()
        if name not in self._recorded:
            return Registration(gap=UNRECORDED)
        if file_digest(path) != self._recorded[name]:
            remedy = "Restore it, or run the notebook again"
            return Registration(fault=f"{name}: is not what was recorded. {remedy}")
        return Registration()

    @cached_property
    def _recorded(self) -> dict[str, str]:
        try:
            return recorded_digests(self._paths)
        except LedgerError:
            return {}

    # ------------------------------------------------------------------ the commit of the run

    def _commit(self, commit: str) -> _Commit:
        if commit not in self._commits:
            self._commits[commit] = _Commit(self._paths, self.repository, commit)
        return self._commits[commit]

    def _claim_in_commit(self, claim_id: str, commit: str, clean: bool) -> tuple[Claim | None, str]:
        """Return a claim as it was in the commit of a run, or None and the reason."""
        if not commit:
            return None, NO_COMMIT
        if not clean:
            return None, UNCOMMITTED
        reason = self.repository.unknown(commit)
        if reason:
            return None, reason
        ledger = self._commit(commit).ledger
        if ledger is None:
            return None, NO_LEDGER
        if claim_id not in ledger:
            return None, NOT_IN_COMMIT
        return ledger[claim_id], ""

    def _contradicts(self, entry: Entry, committed: Claim, results: Results) -> bool:
        """Return whether results of a clean checkout differ from the ledger of its commit."""
        statement = entry.get("statement")
        if statement is not None and statement != statement_digest(committed):
            return True
        commit, _ = commit_of(results["provenance"]["code"])
        settings = self._commit(commit).settings(results["notebook"])
        return entry.get("protocol") not in (None, protocol_digest(committed, settings))

    # -------------------------------------------------------------------- changes since the run

    def _changes_since(
        self, claim: Claim, entry: Entry, notebook: str, at_run: _AtRun
    ) -> Registration:
        """Return the gap or the fault that the changes since a run cause."""
        history = [earlier.verdict for earlier in claim.history]
        if history[: len(at_run.history)] != at_run.history:
            problem = "an entry of the run's time is missing, or its verdict has changed"
            remedy = "Entries are added at the end, and stay"
            return Registration(fault=f"{claim.id}: history: {problem}. {remedy}")

        another_protocol = self._has_another_protocol(claim, entry, notebook)
        fault, gap = self._change_of_statement(claim, entry, at_run)
        is_declared = len(history) > len(at_run.history)
        undeclared_statement = fault == WITHOUT_DIGEST or (bool(fault) and not is_declared)
        if undeclared_statement or (another_protocol and not is_declared):
            change = _change_in_words(claim, at_run.claim, another_protocol, undeclared_statement)
            remedy = "Add what it was, and what it gave, at the end of its history, or restore it"
            if undeclared_statement:
                remedy += f"; or declare it there as reworded: {{before: {at_run.statement}, ...}}"
            sentence = f"{claim.id}: its {change} since the run of {notebook}. {remedy}"
            return Registration(fault=sentence)
        return Registration(gap=gap)

    def _change_of_statement(self, claim: Claim, entry: Entry, at_run: _AtRun) -> tuple[str, str]:
        """Return why a change of the words since a run is a fault, if it is, and its gap.

        Without a digest in the results, a copy without the repository's history could not know that
        the words have changed: then only a declared rewording is no fault.
        """
        if at_run.statement in (None, statement_digest(claim)):
            return "", ""
        if _declares(claim.reworded, at_run.statement, claim):
            return "", DECLARED
        if entry.get("statement") is None:
            return WITHOUT_DIGEST, DECLARED
        if self._edition_holds:
            return "", NEW_EDITION
        return "changed by ourselves", DECLARED

    def _has_another_protocol(self, claim: Claim, entry: Entry, notebook: str) -> bool:
        digest = registered(claim, self._paths, notebook)
        if claim.protocol and digest is None:
            return False  # The settings cannot be read; `invariance check` reports it.
        return entry.get("protocol") not in (None, digest)

    @cached_property
    def _edition_holds(self) -> bool:
        """Whether the ledger is the owner's edition, apart from our fields."""
        return bool(owners_edition(self._paths)) and not departures(self._paths)

    # --------------------------------------------------------------- results that were replaced

    def _undeclared_replacement(
        self, claim: Claim, entry: Entry, results: Results, commit: str
    ) -> str:
        """Return a sentence about a change since the replaced results without a history entry."""
        notebook = results["notebook"]
        replaced = self._published_in(commit, notebook)
        try:
            replaced_entry = replaced["claims"][claim.id]
            replaced_commit, _ = commit_of(replaced["provenance"]["code"])
            same_edition = _edition(replaced) == _edition(results)
            statement = replaced_entry.get("statement")
            protocol = replaced_entry.get("protocol")
            verdict = replaced_entry["verdict"]
            history = replaced_entry.get("earlier")
        except (LookupError, TypeError, AttributeError):
            return ""  # None were published, or they have another form.
        new_statement = entry.get("statement")
        has_statements = statement is not None and new_statement is not None
        another_statement = same_edition and has_statements and statement != new_statement
        another_protocol = protocol not in (None, entry.get("protocol"))
        if not another_protocol and not another_statement:
            return ""
        if history is None:  # The results are older than the records of histories.
            committed, _ = self._claim_in_commit(claim.id, replaced_commit, clean=True)
            history = []
            if committed is not None:
                history = committed.history
        if len(claim.history) > len(history):
            return ""
        subject = "protocol"
        if another_statement:
            subject = "statement"
        change = f"its {subject} changed between two runs of {notebook}"
        result = f"the one before, published by {commit}, gave {verdict!r}"
        return f"{claim.id}: {change}; {result}. Add that at the end of its history"

    def _published_in(self, commit: str, notebook: str) -> Any:
        """Return the results of a notebook that were published when a commit was made, or None."""
        key = commit, notebook
        if key not in self._earlier_results:
            path = self._paths.published(notebook) / "results.json"
            try:
                content = json.loads(self.repository.last_text(commit, path))
            except (LookupError, ValueError, RecursionError):
                content = None
            self._earlier_results[key] = content
        return self._earlier_results[key]


def commit_of(code: str) -> tuple[str, bool]:
    """Return the commit in a code's version, and whether all changes were committed.

    >>> commit_of("0.1.0+g1234abcd99-dirty"), commit_of("0.1.0")
    (('1234abcd99', False), ('', True))
    """
    match = re.search(r"\+g([0-9a-f]{7,40})(-dirty)?$", code)
    if match is None:
        return "", True
    commit, dirty = match.groups()
    return commit, dirty is None


def _declares(reworded: Rewording | None, before: str | None, claim: Claim) -> bool:
    """Return whether a rewording leads from one statement to the present one."""
    if reworded is None:
        return False
    return (reworded.before, reworded.now) == (before, statement_digest(claim))


def _edition(results: Results) -> str:
    return str(results["provenance"].get("edition", ""))


def _at_run(entry: Entry, committed: Claim | None) -> _AtRun:
    """Return a claim at the time of a run, from its results or else from its commit."""
    if entry.get("statement") is not None:
        return _AtRun(entry["statement"], list(entry.get("earlier") or ()), committed)
    if committed is None:
        return _AtRun(statement=None, history=[], claim=None)
    history = [earlier.verdict for earlier in committed.history]
    return _AtRun(statement_digest(committed), history, committed)


def _change_in_words(
    claim: Claim, claim_at_run: Claim | None, another_protocol: bool, another_statement: bool
) -> str:
    """Describe the changes of a claim, with values if they are known; the middle of a sentence."""
    parts = []
    if another_statement and claim_at_run is None:
        parts.append("statement (words, printed numbers, margin or the like)")
    elif another_statement and claim_at_run is not None:
        changes = []
        for name in STATEMENT:
            if getattr(claim, name) != getattr(claim_at_run, name):
                before = _short_text(claim_at_run, name)
                changes.append(f"{name} from {before} to {_short_text(claim, name)}")
        parts.append(f"statement ({', '.join(changes)})")
    if another_protocol:
        if claim_at_run is not None and claim_at_run.protocol == claim.protocol:
            parts.append("protocol (the settings of its notebook)")
        else:
            parts.append("protocol")
    return f"{' and its '.join(parts)} changed"


def _short_text(claim: Claim, name: str) -> str:
    value = getattr(claim, name)
    if isinstance(value, tuple):
        value = ", ".join(value)
    if not value:
        return "none"
    return f"{value:.60}"


def undeclared(paths: Paths, notebook: str, ledger: Ledger, registrar: Registrar) -> list[str]:
    """Return one sentence for each claim that changed since a full run without a history entry."""
    results, _ = read_results(paths.published(notebook), notebook)
    if results is None or results["profile"] != "full":
        return []
    sentences = []
    for claim_id, entry in results["claims"].items():
        if claim_id in ledger:
            sentences.append(registrar.undeclared(ledger[claim_id], entry, results))
    return [sentence for sentence in sentences if sentence]


def registration_sentence(registrations: Sequence[Registration]) -> str:
    """Return a sentence about the results with shown registration, and the other ones' reasons.

    >>> registration_sentence([Registration(), Registration(NO_COMMIT)])
    'Statement and protocol were registered before the run: shown for 1 of 2 results. Not shown:
    no commit named by the run (1).'
    """
    total = len(registrations)
    if total == 0:
        return ""
    n_shown = sum(registration.shown for registration in registrations)
    unit = "result" if total == 1 else "results"
    sentence = "Statement and protocol were registered before the run: "
    sentence += f"shown for {n_shown} of {total} {unit}."
    if n_shown == total:
        return sentence
    counts: Counter[str] = Counter()
    for registration in registrations:
        if registration.fault:
            counts["an error that 'invariance check' names"] += 1
        elif registration.gap:
            counts[registration.gap] += 1
    reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(counts.items()))
    return f"{sentence} Not shown: {reasons}."
