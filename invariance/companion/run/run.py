"""`Run`: what a notebook uses to emit figures, tables, claims and timings with provenance."""

import base64
import html
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ...core.extras import need
from ...core.parameters import ParameterError
from ..clock import WorkingClock
from ..drawing import Drawings
from ..errors import NotebookError, RecordError
from ..files import can_read_yaml, file_digest, read_json, read_text, write_bytes, write_json
from ..imports import imported
from ..ledger.claims import load_ledger
from ..ledger.registration import owners_edition, statement_digest
from ..ledger.results import RESULTS_SCHEMA
from ..ledger.settings import protocol_digest, settings_digest
from ..ledger.verdicts import Verdict, judge
from ..paths import PROFILES, Paths
from ..provenance import code_version, floor_s, hardware, package_versions, peak_memory_mb
from ..words import without_tex
from . import style
from .cache import Code, cached
from .choosing import Stages, plain
from .plots import described
from .recording import record
from .style import to_png, unreadable_formula
from .tables import written
from .withholding import withholding

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Run(Stages):
    """One execution of a notebook: everything that it emits goes through here.

    Results are in `folder` after every call, written whole: the runner's in a `batch` run; in
    Jupyter, plain papermill or a script ``build/interactive/<profile>/<paper>/<name>/``.

    Parameters
    ----------
    notebook : str
        ``<paper>/<name>``; a `NotebookError` where it is malformed.
    profile : {"quick", "full"}
        The attribute `quick` says which.
    seed : int
        Of `rng`, a generator. While settings are chosen it is 0, whatever is given.
    chooses : bool
        Whether settings are chosen here: test data are then withheld until `measure` is called.
    **parameters
        The further names of the notebook's parameters cell, to be recorded with the results.
        ``seeds``, a list of whole numbers, becomes the attribute `seeds`, else ``(seed,)``.

    A notebook starts with::

        run = Run("miller1999/figure1", profile=profile, seed=seed, n_sensors=n_sensors)
    """

    # a cached function must not use one
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
            raise NotebookError(f"notebook name {notebook!r}: expected '<paper>/<name>'")
        if profile not in PROFILES:
            raise ParameterError(f"unknown profile {profile!r}: {' or '.join(PROFILES)}")
        seeds = parameters.get("seeds", [seed])
        for each in (seed, *seeds):
            if isinstance(each, bool) or not isinstance(each, int | np.integer) or each < 0:
                raise ParameterError(f"seed={each!r}: expected a whole number >= 0")
        self._paths = Paths.find(alone=True)
        super().__init__(self._paths, notebook, profile, seeds, chooses)
        self.profile, self.quick, self.seed = profile, profile == "quick", self.seeds[0]
        self.rng = np.random.default_rng(self.seed)
        # far from any project there is no ledger, and nothing is judged
        here = self._paths.notebooks.is_dir() and can_read_yaml()
        self._ledger = load_ledger(self._paths.ledger) if here else None
        batch = os.environ.get("INVARIANCE_RUN_DIR")
        self.batch = batch is not None
        self.folder = Path(batch) if batch else self._paths.interactive(notebook, profile)
        given = {"profile": profile, "seed": self.seed, **parameters}
        own = {name: plain(value, name, ParameterError) for name, value in given.items()}
        code = {"code": code_version(self._paths.root), "packages": package_versions()}
        code["edition"] = owners_edition(self._paths)
        started = datetime.now(UTC)
        self._clock = WorkingClock().keep_looking()
        if (shell := _shell()) is not None:
            self._clock.follow_cells(shell)
        self._claims: dict[str, dict] = {}
        self._figures: dict[str, dict] = {}
        self._tables: dict[str, dict] = {}
        self._data: dict[str, str] = {}
        self._spared: dict[str, float] = {}
        same = {"seed": self.seed, "parameters": own}
        self._results: dict[str, Any] = {
            **{"schema": RESULTS_SCHEMA, "notebook": notebook, "profile": profile, **same},
            **{"claims": self._claims, "says": []},
            "provenance": {**code, **same, "data": self._data},
            "volatile": {"started": started.isoformat(timespec="seconds"), "timings": {}},
        }
        if _shell() is None:
            matplotlib.use("Agg")
        style.use()
        files = {"settings": self._paths.settings(notebook), "claims": self._paths.ledger}
        self._read = {name: file_digest(path) for name, path in files.items()}
        self._write()

    def figure(
        self, figure: Figure, name: str, *, alt: str | None = None, caption: str = ""
    ) -> None:
        """Save a figure as PNG, show it with its alternative text, and close it.

        `alt` says what the figure shows, for those who do not see it; as a rule it is `described`.
        Formulas in it are read as words and signs.
        `name` is that of the file, without ending; `caption` is Markdown, with formulas in dollars.
        Raises `RecordError` for a bad name, a formula that matplotlib cannot read or, in a batch
        run, a name used before.
        """
        self._new_name("figure", name, self._figures)
        if not isinstance(figure, Figure):
            raise RecordError(f"figure {name!r}: expected a matplotlib Figure, got {figure!r:.60}")
        alt = " ".join((described(figure) if alt is None else without_tex(alt)).split())
        if not alt.strip(" ."):
            raise RecordError(f"figure {name!r}: alt is empty; say what the figure shows")
        file = f"{name}.png"
        try:
            png = to_png(figure)
        except ValueError as error:
            if (words := unreadable_formula(figure)) is None:
                raise
            what = f"figure {name!r}: matplotlib cannot read a formula in the text {words!r}"
            raise RecordError(f"{what}; a plain dollar is written \\$") from error
        plt.close(figure)
        write_bytes(self.folder / file, png)
        drawn = self._drawing(name)
        described_as = {"alt": alt, "caption": caption}
        self._figures[name] = {"name": name, "files": [file], "drawn": drawn} | described_as
        self._write()
        shown = {"image/png": base64.b64encode(png).decode(), "text/plain": f"Figure {name}: {alt}"}
        _display(shown, {"figure": name}, alt)
        _markdown(caption)

    def _drawing(self, figure: str) -> str | None:
        """Digest of the code that draws a figure, if the notebook is a file of the project."""
        source = self._paths.source(self.notebook)
        if not source.is_file():
            return None
        beside = {path.name: read_text(path) for path in source.parent.glob("_*.py")}
        try:
            return Drawings(read_text(source), beside).digest(figure)
        except NotebookError:
            return None  # edited since, and broken: `invariance check` names it

    def table(
        self, table: "pd.DataFrame | Sequence[Mapping[str, Any]]", name: str, *, caption: str = ""
    ) -> None:
        """Save a table, a DataFrame or a list of dicts, as CSV and show it.

        A `RecordError` for an empty table, a bad name or, in a batch run, one used before.
        """
        self._new_name("table", name, self._tables)
        try:
            text, bundle = written(table)
        except (TypeError, ValueError) as error:
            wanted = "expected a DataFrame or a list of dicts"
            raise RecordError(f"table {name!r}: {wanted}: {error}") from error
        if not text:
            raise RecordError(f"table {name!r} is empty")
        write_bytes(self.folder / f"{name}.csv", text.encode())
        self._tables[name] = {"name": name, "file": f"{name}.csv", "caption": caption}
        self._write()
        _markdown(caption)
        _display(bundle, {"table": name})

    def claim(
        self, claim_id: str, *, note: str | None = None, data: str | None = None, **numbers: Any
    ) -> Verdict:
        """Record what was measured for a claim of the ledger; the verdict is computed from it.

        `note` stands beside the verdict (why a result falls short, as measured), `data` names what
        stood in for the paper's. The numbers depend on the claim's kind:

        - value: ``samples=`` (axis 0 = repetitions), or ``value=`` with ``se=`` and
          ``repetitions=``, or ``value=`` with ``exact="why nothing varies"``; ``spread=`` says what
          the error is the spread of;
        - same: as value, of the difference of the two things;
        - order: ``order="a >= b > c"``, ``scores={name: samples | Score(mean, se) | number}``,
          ``paired=True`` when sample `i` of every name is the same repetition, ``level=`` the gap
          under which two are level for ``>=``, ``exact=`` where plain numbers are compared;
        - bound: ``lhs=``, ``rhs=``, ``ceiling=`` (what `lhs` can ever be), or ``trials=``, a list
          of the three, each a number or an array; ``allowed=`` (fraction of trials);
          ``sharper=dict(says=..., lhs=..., rhs=..., ceiling=...)``, or with ``trials=``;
        - rate: ``rates={name: fit_rate(x, y)}``, ``expected={name: exponent}``,
          ``upper_bound=True`` where the source states an upper bound;
        - identity: ``difference=``, ``tolerance=``, ``scale=`` (size of what is compared).

        A `LedgerError` for an id that is not in the ledger, a `RecordError` for numbers that do not
        suit the kind or are not finite or, in a batch run, for a claim recorded before.
        """
        if self._ledger is None:
            absent = "notebooks/claims.yml around here" if can_read_yaml() else "PyYAML to read it"
            print(f"{claim_id}: not judged, there is no {absent}")
            return Verdict("open", "no ledger", "")
        claim = self._ledger[claim_id]
        if claim_id in self._claims:
            self._again(f"claim {claim_id!r} is recorded twice: record it once, with all its parts")
        recorded = record(claim, numbers)
        verdict = judge(claim, recorded)
        # a quick run is of no protocol
        digest = protocol_digest(claim, settings_digest(self._settings)) if not self.quick else None
        entry = {"kind": claim.kind, "recorded": recorded, "data": data, "note": note}
        promised = {
            "protocol": digest,
            "statement": statement_digest(claim),
            "earlier": [earlier.verdict for earlier in claim.history],
        }
        self._claims[claim_id] = entry | verdict._asdict() | promised
        self._write()
        said = "; ".join(filter(None, [verdict.reason, data and f"data: {data}", note]))
        word = verdict.verdict + " (a quick run: no verdict)" * self.quick
        head = f'<p class="claim claim-{verdict.verdict}"><strong>{word}</strong>'
        markup = f"{head} <code>{html.escape(claim_id)}</code>: {html.escape(said)}</p>"
        line = f"{claim_id}: {word}. {said}"
        _display({"text/html": markup, "text/plain": line}, {"claim": claim_id})
        return verdict

    def say(self, text: str, **numbers: Any) -> None:
        """Print a sentence with numbers of this run in it, as Markdown, and publish it.

        The text has fields as of ``str.format``: ``"{best:.2f} % with {m:,} templates"``. Raises
        `RecordError` for a field without a number, or a number without a field.
        """
        try:
            said = text.format(**numbers)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise RecordError(f"say({text!r:.60}): {type(error).__name__}: {error}") from error
        if unused := [name for name in numbers if f"{{{name}" not in text]:
            raise RecordError(f"say({text!r:.60}) does not use {', '.join(unused)}")
        if (entry := {"text": text, "said": said}) not in self._results["says"]:
            self._results["says"].append(entry)
            self._write()
        _markdown(said, {"says": text})

    def timing(self, name: str, seconds: float) -> None:
        """Record measured seconds; kept apart from the results that equal seeds reproduce."""
        if not 0 <= float(seconds) < np.inf:
            raise RecordError(f"timing {name!r} is {seconds}: expected seconds >= 0")
        self._results["volatile"]["timings"][name] = float(seconds)
        self._write()

    def uses_data(self, data: Any, sha256: str = "") -> None:
        """Record the checksums of a data set's files (its ``sources``), or of one file by name."""
        files = {data: sha256} if isinstance(data, str) else getattr(data, "sources", {})
        for name, digest in files.items():
            if not re.fullmatch(r"[0-9a-f]{64}", digest):
                raise RecordError(f"data {name!r}: {digest!r} is not a SHA-256 in hexadecimal")
        self._data |= files
        self._write()

    def cache(self, function: Callable[..., T]) -> Callable[..., T]:
        """`function` with its results kept on disk between executions; also a decorator.

        A result is used again when all that it depends on is the same: see
        `invariance.companion.run.cache`. Pass seeds, not generators.
        """

        def key(reached: Set[str]) -> str:
            # what loaders hand out is an argument of every function that calls one
            door = " training data alone" if withholding() else ""
            return f"{self._code.digest(reached)} {sorted(self._data.items())}{door}"

        def reused(key: str, seconds: float) -> None:
            # seconds of what an earlier run computed count once; NaN: computed by this one
            self._spared.setdefault(key, 0.0 if isnan(seconds) else seconds)

        folder = self._paths.build / "cache" / self.notebook
        return cached(function, folder, key, reused, self._clock)

    @cached_property
    def _code(self) -> Code:
        source = self._paths.source(self.notebook)
        return Code(source if source.is_file() else None)

    def _again(self, message: str) -> None:
        if self.batch:
            raise RecordError(message)
        warnings.warn(f"{message}; the later one replaces the earlier", stacklevel=4)

    def _new_name(self, what: str, name: str, taken: Mapping[str, Any]) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][\w-]*", name):
            raise RecordError(f"{what} name {name!r}: letters, digits, '-' and '_' only, no ending")
        if name in taken:
            self._again(f"{what} {name!r} is saved twice: give the second another name")

    def _write(self) -> None:
        self._results |= {"figures": [*self._figures.values()], "tables": [*self._tables.values()]}
        self._results["volatile"] |= {
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_s": round(self._clock(), 3),
            "cached_s": round(sum(self._spared.values()), 3),
            "cpu_s": round(sum(os.times()[:4]), 1),
            "floor_s": round(floor_s(), 1),
            **peak_memory_mb(),
            "hardware": hardware(),
        }
        write_json(self.folder / "results.json", self._results)
        if (work := self.folder / ".work").is_dir():
            # by this the runner knows whether the results are of what it has started
            write_json(work / "read.json", {"modules": imported(), **self._read})


def saved(notebook: str, table: str, profile: str) -> "tuple[pd.DataFrame, dict] | None":
    """A table that another notebook has saved, and its ``results.json``; None where there is none.

    The published results of the last full-scale run come first, then those of this checkout's
    own run in `profile`.
    """
    pd = need("pandas", "companion")
    paths = Paths.find()
    for folder in (paths.published(notebook), paths.output(notebook, profile)):
        results = read_json(folder / "results.json")
        if results is not None and (folder / f"{table}.csv").is_file():
            return pd.read_csv(folder / f"{table}.csv", keep_default_na=False), results
    return None


def _shell() -> Any | None:
    """The running IPython shell, if any."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def _display(
    bundle: dict[str, str], ours: dict[str, str] | None = None, alt: str | None = None
) -> None:
    """Show something in a notebook, with what it is in the output's metadata; or print it."""
    if _shell() is None:
        print(bundle["text/plain"])
        return
    from IPython.display import display

    metadata: dict[str, Any] = {"invariance": ours} if ours else {}
    display(bundle, raw=True, metadata=metadata | ({"image/png": {"alt": alt}} if alt else {}))


def _markdown(text: str, ours: dict[str, str] | None = None) -> None:
    if text:
        _display({"text/markdown": text, "text/plain": text}, ours)
