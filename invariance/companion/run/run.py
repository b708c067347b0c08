"""`Run` records the figures, tables, claims and timings of a notebook, with their provenance."""

import base64
import html
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ...core.extras import need
from ...core.parameters import ParameterError
from ..clock import WorkingClock
from ..errors import LedgerError, NotebookError, RecordError, hint
from ..files import can_read_yaml, file_digest, read_json, read_text, write_bytes, write_json
from ..ledger.claims import Claim, Ledger, ledger_digest, load_ledger, statement_digest
from ..ledger.drawing import Drawings
from ..ledger.paper_tables import tables_of
from ..ledger.registration import owners_edition
from ..ledger.results import RESULTS_SCHEMA
from ..ledger.rows import all_rows
from ..ledger.settings import protocol_digest, settings_digest
from ..ledger.verdicts import Verdict, counterfactual_numbers, in_words, judge, reached
from ..paths import PROFILES, Paths
from ..provenance import (
    code_version,
    floor_s,
    hardware,
    operations_done,
    package_versions,
    peak_memory_mb,
)
from ..words import without_tex
from . import style
from .cache import Cost, cached
from .choosing import Stages, plain
from .code import Code
from .display import shell, show, show_markdown
from .folder import VARIABLE, take_folder
from .imports import imported
from .plots import described
from .recording import record, record_counterfactual
from .style import to_png, unreadable_formula
from .tables import written
from .withholding import withholding

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

#: Notebooks whose results this process has read. The runner fails those that their reader's header
#: does not name.
_notebooks_read: set[str] = set()


class Run(Stages):
    """One execution of a notebook, which records everything that the notebook emits.

    The results are in `folder` after every call. In a batch run the runner chooses this folder.
    With plain papermill it is ``out.results`` beside the output file ``out.ipynb``, and in Jupyter
    or a script ``build/interactive/<profile>/<paper>/<name>``. The environment variable
    ``INVARIANCE_RUN_DIR`` sets another folder. Two runs at the same time never share a folder: the
    name of the second one ends in ``-2``.

    Parameters
    ----------
    notebook : str
        ``<paper>/<name>``; anything else raises a `NotebookError`.
    profile : {"quick", "full"}
        The attribute `quick` is True for the first one.
    seed : int
        The seed of the generator `rng`. While settings are chosen, it is 0.
    chooses : bool
        Whether settings are chosen here. Test data are then withheld until `measure` is called.
    **parameters
        The further names of the notebook's parameters cell, to be recorded with the results.
        ``seeds``, a list of whole numbers, becomes the attribute `seeds`, else ``(seed,)``.

    A notebook starts with::

        run = Run("miller1999/figure1", profile=profile, seed=seed, n_sensors=n_sensors)
    """

    #: Cached functions must not use a `Run`.
    changes_with_use = True

    def __init__(
        self,
        notebook: str,
        *,
        profile: str = "quick",
        seed: int = 0,
        chooses: bool = False,
        **parameters: Any,
    ):
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", notebook):
            form = "'<paper>/<name>', each of letters, digits, '_', '-' and '.'"
            raise NotebookError(f"notebook name {notebook!r}: expected {form}")
        if profile not in PROFILES:
            raise ParameterError(f"unknown profile {profile!r}: {' or '.join(PROFILES)}")
        seeds = parameters.get("seeds", [seed])
        _check_seeds([seed])
        _check_seeds(seeds)
        self._paths = Paths.find(alone=True)
        super().__init__(self._paths, notebook, profile, seeds, chooses)
        self.profile = profile
        self.quick = profile == "quick"
        self.seed = self.seeds[0]
        self.rng = np.random.default_rng(self.seed)
        # Without a project there is no ledger, and claims are not judged.
        self._ledger: Ledger | None = None
        self._can_read_ledger = can_read_yaml(self._paths.ledger)
        if self._paths.notebooks.is_dir() and self._can_read_ledger:
            self._ledger = load_ledger(self._paths.ledger)
        self.batch = VARIABLE in os.environ
        named = {"profile": profile, "seed": self.seed, **parameters}
        self._hold = take_folder(self._paths.interactive(notebook, profile), named)
        self.folder = self._hold.folder
        self._claims: dict[str, dict] = {}
        self._counterfactuals: dict[str, list[dict]] = {}
        self._figures: dict[str, dict] = {}
        self._tables: dict[str, dict] = {}
        self._data: dict[str, str] = {}
        self._cached_costs: dict[str, Cost | None] = {}
        self._clock = _started_clock()
        self._results = self._first_results(parameters)
        if shell() is None:
            matplotlib.use("Agg")
        style.use()
        self._digests_read = {
            "settings": file_digest(self._paths.settings(notebook)),
            "claims": ledger_digest(self._paths.ledger),
        }
        self._write()

    def _first_results(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of ``results.json`` before anything is recorded."""
        named = {"profile": self.profile, "seed": self.seed, **parameters}
        plain_parameters = {
            name: plain(value, name, ParameterError) for name, value in named.items()
        }
        for name, value in plain_parameters.items():
            if not _is_finite(value):
                raise ParameterError(f"{name} is {value!r:.60}: expected finite numbers")
        provenance = {
            "code": code_version(self._paths.root),
            "packages": package_versions(),
            "edition": owners_edition(self._paths),
            "seed": self.seed,
            "parameters": plain_parameters,
            "data": self._data,
        }
        started = datetime.now(UTC).isoformat(timespec="seconds")
        return {
            "schema": RESULTS_SCHEMA,
            "notebook": self.notebook,
            "profile": self.profile,
            "seed": self.seed,
            "parameters": plain_parameters,
            "claims": self._claims,
            "counterfactuals": self._counterfactuals,
            "says": [],
            "provenance": provenance,
            "volatile": {"started": started, "timings": {}},
        }

    def figure(
        self, figure: Figure, name: str, *, alt: str | None = None, caption: str = ""
    ) -> None:
        """Save a figure as PNG, show it with its alternative text, and close it.

        `name` is the file's name without its ending. `alt` describes the figure for readers who
        cannot see it; by default, `described` writes it. Formulas in it are turned into words and
        signs. `caption` is Markdown, with formulas in dollars.

        Raises `RecordError` for a bad name, for a formula that matplotlib cannot read and, in a
        batch run, for a name used before.
        """
        self._new_name("figure", name, self._figures)
        if not isinstance(figure, Figure):
            raise RecordError(f"figure {name!r}: expected a matplotlib Figure, got {figure!r:.60}")
        text = described(figure) if alt is None else without_tex(alt)
        alt_text = " ".join(text.split())
        if not alt_text.strip(" ."):
            raise RecordError(f"figure {name!r}: alt is empty; describe what the figure shows")
        png = _png_of(figure, name)
        plt.close(figure)
        file = f"{name}.png"
        write_bytes(self.folder / file, png)
        self._figures[name] = {
            "name": name,
            "files": [file],
            "drawn": self._drawing_digest(name),
            "alt": alt_text,
            "caption": caption,
        }
        self._write()
        bundle = {
            "image/png": base64.b64encode(png).decode(),
            "text/plain": f"Figure {name}: {alt_text}",
        }
        show(bundle, {"figure": name}, alt_text)
        show_markdown(caption)

    def _drawing_digest(self, figure: str) -> str | None:
        """Return the digest of the code that draws a figure, if the notebook's file is known."""
        source = self._paths.source(self.notebook)
        if not source.is_file():
            return None
        helpers = {path.name: read_text(path) for path in source.parent.glob("_*.py")}
        try:
            return Drawings(read_text(source), helpers).digest(figure)
        except NotebookError:
            return None  # The file was edited and is broken; `invariance check` reports it.

    def table(
        self, table: "pd.DataFrame | Sequence[Mapping[str, Any]]", name: str, *, caption: str = ""
    ) -> None:
        """Save a table, a DataFrame or a list of dicts, as CSV and show it.

        Raises `RecordError` for an empty table, for a bad name and, in a batch run, for a name
        used before.
        """
        self._new_name("table", name, self._tables)
        try:
            csv, bundle = written(table)
        except (TypeError, ValueError) as error:
            expected = "expected a DataFrame or a list of dicts"
            raise RecordError(f"table {name!r}: {expected}: {error}") from error
        if not csv:
            raise RecordError(f"table {name!r} is empty")
        write_bytes(self.folder / f"{name}.csv", csv.encode())
        self._tables[name] = {"name": name, "file": f"{name}.csv", "caption": caption}
        self._write()
        show_markdown(caption)
        show(bundle, {"table": name})

    def paper_table(self, name: str) -> None:
        """Show a table of a paper with the published results of all notebooks in its cells.

        `name` is ``<paper>/<table>`` in ``notebooks/tables.yml``. Nothing is recorded, because the
        published results change without this run. Raises `LedgerError` for an unknown table.
        """
        tables = {
            table.name: table for table in tables_of(self._paths.tables, all_rows(self._paths))
        }
        if name not in tables:
            remedy = hint(name, tables, "tables")
            raise LedgerError(f"table {name!r} is not in {self._paths.tables}. {remedy}")
        table = tables[name]
        show_markdown(f"{table.title}; {table.unit}. The paper's number / ours.")
        _, bundle = written(table.as_rows())
        show(bundle)
        show_markdown(table.note)

    def claim(
        self, claim_id: str, *, note: str | None = None, data: str | None = None, **numbers: Any
    ) -> Verdict:
        """Record the numbers measured for a claim of the ledger, and return its verdict.

        `note` is printed with the verdict (the measured reason why a result falls short); `data`
        names the data that stood in for the paper's. The numbers depend on the claim's kind:

        - value: ``samples=`` (axis 0 = repetitions), or ``value=`` with ``se=`` and
          ``repetitions=``, or ``value=`` with ``exact="why nothing varies"``; ``spread=`` names the
          quantity over which the error is the spread;
        - same: as for value, for the difference of the two things;
        - order: ``order="a >= b > c"``, ``scores={name: samples | Score(mean, se) | number}``,
          ``paired=True`` when sample `i` of every name is the same repetition, ``level=`` the gap
          below which two scores are level for ``>=``, ``exact=`` if plain numbers are compared,
          ``thresholds={name: number}`` for thresholds that are ours and not the paper's: they
          enter the order by their names, which the protocol declares;
        - bound: ``lhs=``, ``rhs=``, ``ceiling=`` (the largest possible `lhs`), or ``trials=``, a
          list of the three, each a number or an array; ``allowed=`` (fraction of trials);
          ``sharper=dict(says=..., lhs=..., rhs=..., ceiling=...)``, or with ``trials=``;
        - rate: ``rates={name: fit_rate(x, y)}``, ``expected={name: exponent}``,
          ``upper_bound=True`` if the source states an upper bound;
        - identity: ``difference=``, ``tolerance=``, ``scale=`` (size of the compared quantities).

        ``precondition=False`` with ``because=``, the measured reason, makes a claim of any kind not
        testable: a condition that the paper states does not hold in this run.

        Raises `LedgerError` if the id is not in the ledger, and `RecordError` for numbers that do
        not suit the kind or are not finite and, in a batch run, for a claim recorded before.
        """
        if self._ledger is None:
            missing = "notebooks/claims.yml around here"
            if not self._can_read_ledger:
                missing = "PyYAML to read it"
            print(f"{claim_id}: not judged, there is no {missing}")
            return Verdict("open", "no ledger", "")
        claim = self._ledger[claim_id]
        if claim_id in self._claims:
            remedy = "record it once, with all its parts"
            self._refuse_repetition(f"claim {claim_id!r} is recorded twice: {remedy}")
        recorded = record(claim, numbers)
        verdict = judge(claim, recorded)
        protocol = None  # A quick run follows no protocol.
        if not self.quick:
            protocol = protocol_digest(claim, settings_digest(self._settings))
        self._claims[claim_id] = {
            "kind": claim.kind,
            "recorded": recorded,
            "data": data,
            "note": note,
            **verdict._asdict(),
            "protocol": protocol,
            "statement": statement_digest(claim),
            "earlier": [earlier.verdict for earlier in claim.history],
        }
        self._write()
        self._show_verdict(claim_id, verdict, data, note)
        return verdict

    def _show_verdict(
        self, claim_id: str, verdict: Verdict, data: str | None, note: str | None
    ) -> None:
        parts = [verdict.reason]
        if data:
            parts.append(f"data: {data}")
        if note:
            parts.append(note)
        explanation = "; ".join(part for part in parts if part)
        word = verdict.verdict
        if self.quick:
            word += " (a quick run: no verdict)"
        head = f'<p class="claim claim-{verdict.verdict.replace(" ", "-")}"><strong>{word}</strong>'
        markup = f"{head} <code>{html.escape(claim_id)}</code>: {html.escape(explanation)}</p>"
        line = f"{claim_id}: {word}. {explanation}"
        show({"text/html": markup, "text/plain": line}, {"claim": claim_id})

    def counterfactual(
        self, claim_id: str, change: str, value: Any = None, se: Any = None, **numbers: Any
    ) -> list[bool | None]:
        """Record the result of a stated change for a claim, and whether that reaches it.

        The result is shown beside the claim's verdict and counts for nothing.

        Parameters
        ----------
        claim_id : str
            A claim of the ledger. This notebook or another one records its verdict.
        change : str
            What is different from the claim's protocol: ``"averaged over mirror images"``.
        value, se : float or list
            One result and one standard error for each printed number; None for a printed number
            that the change was not tried on. One `se` may stand for all.
        **numbers
            In place of `value`, the numbers that ``claim`` takes for the claim's kind:
            ``samples=``, or ``order=`` and ``scores=``.

        Returns
        -------
        list of bool or None
            Whether each printed number is reached: the result lies within the claim's margin or
            beyond it on the better side. For a claim without printed numbers, the only entry is
            whether the statement holds.

        Raises
        ------
        LedgerError
            If the id is not in the ledger.
        RecordError
            For numbers that do not suit the claim, for `value` if the paper prints no number and,
            in a batch run, for a change recorded before.
        """
        if self._ledger is None:
            print(f"{claim_id}: not compared, there is no ledger")
            return []
        claim = self._ledger[claim_id]
        if not isinstance(change, str) or not change.strip():
            raise RecordError(f"{claim_id}: change={change!r}: describe the change in a few words")
        recorded = record_counterfactual(claim, value, se, **numbers)
        entries = self._counterfactuals.setdefault(claim_id, [])
        if any(entry["change"] == change for entry in entries):
            self._refuse_repetition(f"{claim_id}: the change {change!r} is recorded twice")
            entries[:] = [entry for entry in entries if entry["change"] != change]
        reaches = reached(claim, recorded)
        ours = counterfactual_numbers(claim, recorded)
        entries.append({"change": change, "recorded": recorded, "ours": ours, "reaches": reaches})
        self._write()
        self._show_counterfactual(claim, entries[-1])
        return reaches

    def _show_counterfactual(self, claim: Claim, entry: Mapping[str, Any]) -> None:
        line = in_words(claim, entry)
        markup = f'<p class="counterfactual"><code>{html.escape(claim.id)}</code>, '
        markup += f"{html.escape(line)}</p>"
        show({"text/html": markup, "text/plain": f"{claim.id}, {line}"}, {"claim": claim.id})

    def say(self, text: str, **numbers: Any) -> None:
        """Print a sentence with numbers of this run in it, as Markdown, and publish it.

        The text has the fields of ``str.format``: ``"{best:.2f} % with {m:,} templates"``. Raises
        `RecordError` for a field without a number, or a number without a field.
        """
        try:
            sentence = text.format(**numbers)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise RecordError(f"say({text!r:.60}): {type(error).__name__}: {error}") from error
        unused = [name for name in numbers if not re.search(rf"\{{{name}\b", text)]
        if unused:
            raise RecordError(f"say({text!r:.60}) does not use {', '.join(unused)}")
        entry = {"text": text, "said": sentence, "numbers": _finite_numbers(numbers)}
        if entry not in self._results["says"]:
            self._results["says"].append(entry)
            self._write()
        show_markdown(sentence, {"says": text})

    def timing(self, name: str, seconds: float) -> None:
        """Record measured seconds, apart from the results that equal seeds reproduce."""
        if not 0 <= float(seconds) < np.inf:
            raise RecordError(f"timing {name!r} is {seconds}: expected seconds >= 0")
        self._results["volatile"]["timings"][name] = float(seconds)
        self._write()

    def uses_data(self, data: Any, sha256: str = "") -> None:
        """Record the checksums of a data set's files (its ``sources``), or of one file by name.

        Without `sha256`, the name is the path of a file on this machine, whose checksum is taken.
        The path is recorded as seen from the project, or in full if it is elsewhere.

        ``--resume`` runs a notebook again if a file that it has named so has changed, and `cache`
        computes again what is called later. Files that are read but not named are not followed.
        """
        if isinstance(data, str | Path) and not sha256:
            files = self._checksum_of(Path(data))
        elif isinstance(data, str | Path):
            files = {str(data): sha256}
        else:
            files = getattr(data, "sources", {})
        for name, digest in files.items():
            if not re.fullmatch(r"[0-9a-f]{64}", digest):
                raise RecordError(f"data {name!r}: {digest!r} is not a SHA-256 in hexadecimal")
        self._data |= files
        self._write()

    def _checksum_of(self, path: Path) -> dict[str, str]:
        """Return the checksum of a user's own file, by the path that is recorded."""
        file = path.resolve()
        digest = file_digest(file)
        if digest is None:
            remedy = "name a file that exists, or pass the SHA-256 of one that is elsewhere"
            raise RecordError(f"data {str(path)!r}: there is no file {file} to read; {remedy}")
        root = self._paths.root.resolve()
        name = file.relative_to(root) if file.is_relative_to(root) else file
        return {name.as_posix(): digest}

    def cache(self, function: Callable[..., T]) -> Callable[..., T]:
        """Return `function` with results that are kept on disk between executions; a decorator.

        A stored result is used again if everything that it depends on is unchanged: see
        `invariance.companion.run.cache`. Pass seeds, not generators. A file that the function reads
        is followed only if `uses_data` has named it before the call.
        """

        def code_key(reached: Set[str]) -> str:
            # The data sets that loaders return are an argument of every function that calls one.
            loaders = " training data alone" if withholding() else ""
            return f"{self._code.digest(reached)} {sorted(self._data.items())}{loaders}"

        def on_result(key: str, cost: Cost | None) -> None:
            # What a result of an earlier run took counts once. None: this run computed it.
            self._cached_costs.setdefault(key, cost)

        folder = self._paths.build / "cache" / self.notebook
        return cached(function, folder, code_key, on_result, self._clock)

    @cached_property
    def _code(self) -> Code:
        source = self._paths.source(self.notebook)
        return Code(source if source.is_file() else None)

    def _refuse_repetition(self, message: str) -> None:
        """Raise an error in a batch run; warn in an interactive one, in which cells are rerun."""
        if self.batch:
            raise RecordError(message)
        warnings.warn(f"{message}; the later one replaces the earlier", stacklevel=4)

    def _new_name(self, kind: str, name: str, taken: Mapping[str, Any]) -> None:
        """Check the name of a figure or a table."""
        if not re.fullmatch(r"[A-Za-z0-9][\w-]*", name):
            raise RecordError(f"{kind} name {name!r}: letters, digits, '-' and '_' only, no ending")
        if name in taken:
            self._refuse_repetition(f"{kind} {name!r} is saved twice: give the second another name")

    def _write(self) -> None:
        """Write ``results.json`` with everything recorded so far."""
        self._results["figures"] = list(self._figures.values())
        self._results["tables"] = list(self._tables.values())
        costs = [cost for cost in self._cached_costs.values() if cost is not None]
        cached_operations = sum((cost.operations for cost in costs), Counter[str]())
        self._results["volatile"] |= {
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_s": round(self._clock(), 3),
            "cached_s": round(sum(cost.seconds for cost in costs), 3),
            "cpu_s": round(sum(os.times()[:4]), 1),
            "floor_s": round(floor_s(operations_done()), 1),
            "cached_floor_s": round(floor_s(cached_operations), 1),
            **peak_memory_mb(),
            "hardware": hardware(),
        }
        write_json(self.folder / "results.json", self._results)
        work = self.folder / ".work"
        if work.is_dir():
            # The runner compares these with the files that it started the notebook with.
            files_read = {"modules": imported(), "results": sorted(_notebooks_read)}
            write_json(work / "read.json", files_read | self._digests_read)


def _finite_numbers(values: Mapping[str, Any]) -> dict[str, int | float]:
    """Return the values that are numbers, as JSON has them."""
    numbers: dict[str, int | float] = {}
    for name, value in values.items():
        if isinstance(value, np.integer | int) and not isinstance(value, bool):
            numbers[name] = int(value)
        elif isinstance(value, np.floating | float) and np.isfinite(value):
            numbers[name] = float(value)
    return numbers


def _is_finite(value: Any) -> bool:
    """Return whether a plain value holds neither NaN nor infinity, which JSON does not have."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _check_seeds(seeds: Sequence[Any]) -> None:
    if not len(seeds):
        raise ParameterError("seeds=[]: at least one seed is needed")
    for i, seed in enumerate(seeds):
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError(f"seed={seed!r}: expected a whole number >= 0")
        if seed in seeds[:i]:
            problem = "equal draws are no repetitions"
            raise ParameterError(f"seeds={list(seeds)!r:.60} lists {seed} twice: {problem}")


def _started_clock() -> WorkingClock:
    """Return a clock that counts the time in which cells run."""
    clock = WorkingClock().keep_looking()
    running_shell = shell()
    if running_shell is not None:
        clock.follow_cells(running_shell)
    return clock


def _png_of(figure: Figure, name: str) -> bytes:
    """Return a figure as PNG; a `RecordError` names a formula that matplotlib cannot read."""
    try:
        return to_png(figure)
    except ValueError as error:
        formula = unreadable_formula(figure)
        if formula is None:
            raise
        problem = f"figure {name!r}: matplotlib cannot read a formula in the text {formula!r}"
        raise RecordError(f"{problem}; a plain dollar is written \\$") from error


def saved(notebook: str, table: str, profile: str) -> "tuple[pd.DataFrame, dict] | None":
    """Return a table that another notebook has saved and its ``results.json``, or None.

    The published results of the last full-scale run come first, then those of this checkout's
    own run in `profile`. The reader must name the other notebook in its header, so that it runs
    again when these results change::

        # jupyter:
        #   invariance:
        #     reads: [compare/digits]
    """
    pd = need("pandas", "companion")
    for folder, results in _results_of(notebook, profile):
        if (folder / f"{table}.csv").is_file():
            return pd.read_csv(folder / f"{table}.csv", keep_default_na=False), results
    return None


def recorded(notebook: str, claim_id: str, profile: str) -> dict[str, Any] | None:
    """Return the numbers that another notebook has recorded for a claim, or None.

    They are those of `Run.claim`: ``value`` and ``se``, or ``scores``, by the claim's kind. The
    results are chosen as in `saved`, and the header must name the notebook as there.
    """
    for _, results in _results_of(notebook, profile):
        if claim_id in results.get("claims", {}):
            return results["claims"][claim_id]["recorded"]
    return None


def _results_of(notebook: str, profile: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the published and then the own results of another notebook, with their folders."""
    _notebooks_read.add(notebook)
    paths = Paths.find()
    for folder in (paths.published(notebook), paths.output(notebook, profile)):
        results = read_json(folder / "results.json")
        if results is not None:
            yield folder, results
