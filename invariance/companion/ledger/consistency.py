"""Agreement of ledger, notebooks, results and scoreboard: `problems` lists all disagreements.

A result typed into prose is a problem too (`typed_results`). A number in a text cell states a
result if it has a decimal point or an exponent, or if a percent sign or "±" follows. It is allowed
if it occurs in the notebook's code (a setting), in the ledger (the paper's number), or, rounded as
typed, in published results of this notebook or of one that the cell names. The run must print all
other numbers.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..errors import CompanionError, NotebookError, hint
from ..files import read_json, read_text
from ..paths import PROFILES, Paths
from ..source import calls_of, chooses, notebook_code, read_notebook, read_parameters, reads
from .claims import Claim, Ledger, load_ledger, read_papers
from .drawing import text_constant
from .guard import alterations, departures
from .outdated import outdated_results
from .pictures import older_pictures
from .results import Entry, Results, altered, files_of, read_results, read_status
from .rows import OPEN, Row, all_rows, faults, referring_to_another_protocol
from .scoreboard import scoreboard
from .settings import ANOTHER, REWORDED, read_settings, registered, standing
from .verdicts import FAILED, judge_again

_NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(e[-+−]?\d+)?(?![\w]*\d)")
_UNIT = re.compile(r"\s*(?:%|per cent\b|±)")
# Formulas, code, addresses and places in a paper state no results.
_NO_PROSE = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`|\]\([^)]*\)|\w+://\S+"
    r"|\b(?:sections?|lemmas?|theorems?|remarks?|examples?|propositions?|appendix)\s[\d.]+",
    re.DOTALL | re.IGNORECASE,
)


def problems(paths: Paths, edition: Path | None = None) -> list[str]:
    """Return one sentence for each inconsistency.

    The checks cover the form of the notebooks, the ledger, the settings, the scoreboard, and stored
    results that are altered, incomplete, or short of the paper without a reason. `edition` is the
    file of the ledger's owner, if it is available.
    """
    checks: list[Callable[[Paths], Iterable[str]]] = [
        alterations,
        partial(departures, edition=edition),
        _notebook_problems,
        _papers_problems,
        _settings_problems,
        _results_problems,
        _scoreboard_problems,
    ]
    sentences: list[str] = []
    for check in checks:
        try:
            sentences += check(paths)
        except CompanionError as error:
            sentences.append(str(error))
    relative = [sentence.replace(f"{paths.root}/", "") for sentence in sentences]
    return list(dict.fromkeys(relative))


# ---------------------------------------------------------------------------------- notebooks


def _notebook_problems(paths: Paths) -> Iterator[str]:
    printed = []
    for claim in load_ledger(paths.ledger).values():
        printed += [claim.printed, claim.says]
    for notebook in paths.all_notebooks():
        try:
            yield from _form_problems(paths, notebook)
        except NotebookError as error:
            yield f"{notebook}: {error}"
        for typed in typed_results(paths, notebook, printed):
            problem = "a result is typed into its text, and the published run has no such number"
            remedy = "Print it: run.say('{best:.2f} %', best=...)"
            yield f"{notebook}: {problem}: {typed}. {remedy}"
    for path in sorted(paths.notebooks.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            remedy = "convert it with 'jupytext --to py:percent' and remove it"
            yield f"{path}: notebooks are kept as text without outputs; {remedy}"


def _form_problems(paths: Paths, notebook: str) -> Iterator[str]:
    source = paths.source(notebook)
    parameters = read_parameters(source)
    reads(paths, notebook)  # Raises NotebookError for an unknown notebook.
    kernel = read_notebook(source).metadata.get("kernelspec", {})
    if kernel.get("name") != "python3" or not {"display_name", "language"} <= kernel.keys():
        form = "the header needs a kernelspec with name python3, display_name and language"
        yield f"{notebook}: {form}: 'jupytext --set-kernel python3' writes it"
    calls = [call for name, call in calls_of(source) if name == "Run"]
    if not calls:
        return
    names = [_first_text(call) for call in calls]
    if names != [notebook]:
        yield f"{notebook}: calls Run with {names}; expected one Run({notebook!r}, ...)"
        return
    passed = {
        keyword.arg
        for keyword in calls[0].keywords
        if getattr(keyword.value, "id", None) == keyword.arg
    }
    missing = [name for name in parameters if name not in passed]
    if missing:
        arguments = ", ".join(f"{name}={name}" for name in parameters)
        line = f'    run = Run("{notebook}", {arguments})'
        yield f"{notebook}: Run is called without {', '.join(missing)}; write\n{line}"


def _papers_problems(paths: Paths) -> Iterator[str]:
    """Yield the notebooks and figures that ``papers.yml`` names and the project does not have."""
    notebooks = paths.all_notebooks()
    papers = read_papers(paths)
    for key, entry in {**papers["papers"], **papers["sections"]}.items():
        named = {f"{key}/{name}": "first" for name in entry.get("first") or []}
        if "notebook" in entry:
            named[entry["notebook"]] = "notebook"
        for notebook, field in named.items():
            if notebook not in notebooks:
                problem = f"{key}: {field}: {notebook!r} is no notebook"
                yield f"{paths.papers}: {problem}. {hint(notebook, notebooks, 'notebooks')}"
    for key, entry in papers["papers"].items():
        if "notebook" not in entry or "figure" not in entry:
            continue
        results, _ = read_results(paths.published(entry["notebook"]))
        figures = [] if results is None else [figure["name"] for figure in results["figures"]]
        if figures and entry["figure"] not in figures:
            problem = f"{key}: figure: {entry['notebook']} draws no {entry['figure']!r}"
            yield f"{paths.papers}: {problem}. {hint(entry['figure'], figures, 'figures')}"


def _first_text(call: ast.Call) -> str | None:
    """Return the first argument of a call, if it is a text."""
    if not call.args:
        return None
    return text_constant(call.args[0])


def _recorders(paths: Paths) -> dict[str, set[str]]:
    """Return, for each claim, the notebooks whose code names it."""
    recorders: dict[str, set[str]] = {}
    for notebook in paths.all_notebooks():
        with suppress(NotebookError):  # `_form_problems` reports it.
            for name, call in calls_of(paths.source(notebook)):
                claim_id = _first_text(call)
                if name == "run.claim" and claim_id:
                    recorders.setdefault(claim_id, set()).add(notebook)
    return recorders


# ------------------------------------------------------------------------------------ results


def _results_problems(paths: Paths) -> Iterator[str]:
    ledger = load_ledger(paths.ledger)
    recorders = _recorders(paths)
    for path in _stored_results(paths):
        folder = path.parent
        if folder.name.startswith("."):
            continue
        results, reading_problems = read_results(folder)
        yield from reading_problems
        if results is None:
            continue
        notebook = f"{path.parts[-3]}/{path.parts[-2]}"
        if _is_left_over(paths, folder, notebook):
            continue
        if results["notebook"] != notebook or not paths.source(notebook).is_file():
            yield f"{path}: there is no notebook {results['notebook']}; remove the folder"
            continue
        yield from _folder_problems(folder, results)
        for claim_id, entry in results["claims"].items():
            if claim_id not in ledger:
                recorders.setdefault(claim_id, set()).add(notebook)
                continue
            claim = ledger[claim_id]
            if _counts(claim, entry, results, paths):
                recorders.setdefault(claim_id, set()).add(notebook)
                for problem in _problems_of_result(entry, claim, results):
                    yield f"{path}: {problem}"
    yield from _recorder_problems(recorders, ledger)


def _stored_results(paths: Paths) -> list[Path]:
    stored = list(paths.figures.glob("*/*/results.json"))
    for profile in PROFILES:
        stored += (paths.build / profile).glob("*/*/results.json")
    return sorted(stored)


def _is_left_over(paths: Paths, folder: Path, notebook: str) -> bool:
    """Return whether unpublished results are those of a notebook that is gone."""
    return folder.is_relative_to(paths.build) and not paths.source(notebook).is_file()


def leftovers(paths: Paths) -> list[str]:
    """Return sentences about results of this machine whose notebook was removed or renamed.

    They are no inconsistency: no page shows them, and they count for no claim.
    """
    sentences = []
    for path in _stored_results(paths):
        folder = path.parent
        notebook = f"{folder.parent.name}/{folder.name}"
        if not folder.name.startswith(".") and _is_left_over(paths, folder, notebook):
            name = folder.relative_to(paths.root).as_posix()
            sentences.append(f"{name} is left of a notebook that is gone, and may be removed")
    return sentences


def _folder_problems(folder: Path, results: Results) -> Iterator[str]:
    for file in files_of(results):
        if not (folder / file).is_file():
            yield f"{folder / 'results.json'}: names the file {file}, which is missing"
    status, _ = read_status(folder, results["notebook"])
    change = altered(folder, status)
    if change is not None:
        yield f"{folder}: {change}; run the notebook again"


def _counts(claim: Claim, entry: Entry, results: Results, paths: Paths) -> bool:
    """Return whether a result still counts.

    Since the run, a claim may have moved to another notebook, or its protocol may have changed. The
    old result was judged by the rules of its time.
    """
    if results["profile"] != "full":
        return True
    digest = registered(claim, paths, results["notebook"])
    return standing(entry, claim, digest) == entry["verdict"]


def _recorder_problems(recorders: Mapping[str, set[str]], ledger: Ledger) -> Iterator[str]:
    for claim_id, notebooks in sorted(recorders.items()):
        if claim_id not in ledger:
            paper = claim_id.split("/")[0]
            similar = [name for name in ledger if name.startswith(f"{paper}/")]
            problem = f"claim {claim_id!r} is not in the ledger. {hint(claim_id, similar)}"
            yield f"{', '.join(sorted(notebooks))}: {problem}"
        if len(notebooks) > 1:
            yield f"claim {claim_id!r} is recorded by {' and by '.join(sorted(notebooks))}"


def _problems_of_result(entry: Entry, claim: Claim, results: Results) -> Iterator[str]:
    """Yield the problem of a result that counts, if it has one."""
    if entry["kind"] != claim.kind:
        yield f"{claim.id} is of kind {claim.kind} in the ledger"
        return
    verdict = judge_again(claim, entry["recorded"])
    if verdict is None:
        yield f"the numbers of {claim.id} do not suit its kind; run the notebook again"
        return
    has_note = entry["note"] or claim.note
    if results["profile"] == "full" and verdict.verdict in FAILED and not has_note:
        remedy = "pass the measured reason as note= to run.claim, or write a note into the ledger"
        yield f"{claim.id} is {verdict.verdict}, and no note explains it; {remedy}"


def _settings_problems(paths: Paths) -> Iterator[str]:
    for path in sorted((paths.notebooks / "settings").glob("*/*")):
        source = paths.source(f"{path.parent.name}/{path.stem}")
        try:
            if path.suffix == ".yml" and source.is_file() and chooses(source):
                read_settings(path)
            else:
                yield f"{path}: no notebook chooses this; remove it"
        except CompanionError as error:
            yield str(error)


# --------------------------------------------------------------------------------- scoreboard


def _scoreboard_problems(paths: Paths) -> Iterator[str]:
    rows = all_rows(paths)
    yield from faults(rows)
    if not paths.readme.is_file():
        return
    for path, text in scoreboard(paths, rows).items():
        written = ""
        if path.is_file():
            written = read_text(path)
        if written != text and not _differs_by_history_only(written, text, rows):
            problem = "the scoreboard differs from the ledger and the committed results"
            yield f"{path}: {problem}; 'invariance scoreboard' writes it"


# The keys of results.json that hold no results.
_NO_RESULTS = ("volatile", "provenance")
_SHOWN = re.compile(
    r"^Statement and protocol were registered .*shown for (\d+) of (\d+) results?\..*$",
    re.MULTILINE,
)


def _differs_by_history_only(written: str, text: str, rows: Sequence[Row]) -> bool:
    """Return whether a page differs only because this copy lacks a part of the history.

    The page was then written in a copy that can show more registrations.
    """
    written_counts = _SHOWN.search(written)
    counts = _SHOWN.search(text)
    if written_counts is None or counts is None:
        return False
    if _SHOWN.sub("", written) != _SHOWN.sub("", text):
        return False
    n_shown, n_results = map(int, counts.groups())
    n_shown_there, n_results_there = map(int, written_counts.groups())
    n_elsewhere = sum(bool(row.registration and row.registration.elsewhere) for row in rows)
    return n_results_there == n_results and n_shown <= n_shown_there <= n_shown + n_elsewhere


def remarks(paths: Paths) -> list[str]:
    """Return one sentence for each fact worth reporting that is no inconsistency.

    These are published pictures that their notebook would now draw differently (the results beside
    them stand until the next full run), and registrations that cannot be checked in this copy.
    """
    figures_by_notebook: dict[str, list[str]] = {}
    for figure in older_pictures(paths):
        notebook, _, name = figure.partition(": ")
        figures_by_notebook.setdefault(notebook, []).append(name)
    sentences = []
    for notebook, names in figures_by_notebook.items():
        problem = "published pictures are older than the code that draws them"
        remedy = f"'invariance run --profile full {notebook}' draws them again"
        sentences.append(f"{notebook}: {problem}: {', '.join(names)}; {remedy}")
    with suppress(CompanionError):  # `problems` has reported it.
        sentences += _missing_history(paths)
    return sentences


def awaiting(paths: Paths) -> list[str]:
    """Return sentences about the claims that wait for a run, and about results judged again.

    They are no inconsistency: such claims count for nothing, and the first page counts them apart.
    """
    try:
        rows = all_rows(paths)
    except CompanionError:
        return []  # `problems` has reported it.
    sentences = []
    for subject, listed in _groups_of(rows).items():
        if listed:
            ids = ", ".join(row.claim.id for row in listed)
            sentences.append(f"{subject}: {len(listed)} ({ids})")
    return sentences


def could_have_moved(paths: Paths) -> list[str]:
    """Return sentences about the results that are older than the code that computes them.

    They are no inconsistency: each result names the revision that made it.
    """
    outdated = outdated_results(paths)
    same = "the changes moved no number of their quick runs"
    sentences = []
    for notebooks, reading in ((outdated.moved, "they could have moved"), (outdated.unmoved, same)):
        if notebooks:
            count = f"{len(notebooks)} published result" + "s" * (len(notebooks) > 1)
            names = ", ".join(notebooks)
            sentences.append(f"{count} older than the code, {reading}: {names}")
    return sentences


def _groups_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the claims that each sentence of the report names."""
    stands = [row for row in rows if row.counts and row.is_reworded]
    changed = [row for row in rows if row.counts and not row.has_verdict_of_run]
    groups = {"no protocol yet": [row for row in rows if not row.claim.protocol]}
    reasons = {
        OPEN: "waiting for a first full run",
        REWORDED: "waiting for a run under the present words",
        ANOTHER: "waiting for a run of the present protocol",
    }
    for verdict, subject in reasons.items():
        groups[subject] = [row for row in rows if row.verdict == verdict]
    groups["recorded under earlier words, and standing as the history declares"] = stands
    groups["judged differently by the present rules, on the recorded numbers"] = changed
    subject = "counting, although a claim that their protocol names waits for a run of another one"
    groups[subject] = referring_to_another_protocol(rows)
    return groups


def _missing_history(paths: Paths) -> list[str]:
    registrations = [
        row.registration for row in all_rows(paths) if row.registration is not None and row.counts
    ]
    n_elsewhere = sum(registration.elsewhere for registration in registrations)
    if n_elsewhere == 0:
        return []
    n_shown = sum(registration.shown for registration in registrations)
    shown = f"{n_shown} of {len(registrations)} results"
    fact = f"That claims were registered before their runs is shown here for {shown}"
    reason = f"{n_elsewhere} name a commit that is missing in this copy"
    return [f"{fact}; {reason}: a full clone of the repository shows the rest"]


# ------------------------------------------------------------------------------ typed results


def typed_results(paths: Paths, notebook: str, printed: Iterable[str]) -> list[str]:
    """Return the numbers in a notebook's text cells that state an unknown result, in context.

    `printed` holds the texts of the ledger with the papers' numbers.
    """
    source = paths.source(notebook)
    try:
        cells = read_notebook(source).cells
        code = notebook_code(source).replace("_", "")
    except NotebookError:
        return []  # `invariance check` has reported it.
    prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
    allowed = {
        match[1].replace(",", "") for text in (code, *printed) for match in _NUMBER.finditer(text)
    }
    notebooks = set(paths.all_notebooks())
    typed = []
    for cell in prose:
        mentioned = notebooks.intersection(re.findall(r"\w+/\w+", cell))
        text = " ".join(_NO_PROSE.sub(" ", cell).split())
        stated = [match for match in _NUMBER.finditer(text) if _states_result(match, allowed)]
        if not stated:
            continue
        measured: list[float] = []
        for name in (notebook, *mentioned):
            measured += _published_numbers(paths.published(name))
        for match in stated:
            if not _is_measured(match, measured):
                start = max(0, match.start() - 40)
                context = text[start : match.end() + 20]
                typed.append(f"{match[0]} in '... {context} ...'")
    return typed


def _states_result(match: re.Match[str], allowed: set[str]) -> bool:
    """Return whether a number in a text states a result that is not in `allowed`."""
    number = match[1].replace(",", "")
    exponent = match[2]
    has_form = "." in number or exponent or _UNIT.match(match.string, match.end())
    is_allowed = number in allowed and not exponent
    return bool(has_form) and not is_allowed


def _is_measured(match: re.Match[str], measured: list[float]) -> bool:
    """Return whether a measured number, or a hundred times it, rounds to a typed number."""
    number = match[1].replace(",", "")
    exponent = (match[2] or "").replace("−", "-")
    _, _, decimals = number.partition(".")
    scale = float(f"1{exponent or 'e0'}")
    tolerance = 0.51 * scale * 10.0 ** -len(decimals)
    typed = float(number) * scale
    for value in measured:
        fraction_error = abs(abs(value) - typed)
        percent_error = abs(100 * abs(value) - typed)
        if min(fraction_error, percent_error) <= tolerance:
            return True
    return False


def _published_numbers(folder: Path) -> Iterator[float]:
    """Yield every number of the published results: recorded numbers, tables, captions and notes."""
    content = read_json(folder / "results.json")
    if not isinstance(content, dict):
        return
    results = {key: value for key, value in content.items() if key not in _NO_RESULTS}
    texts = [json.dumps(results, ensure_ascii=False)]
    for path in sorted(folder.glob("*.csv")):
        table = path.read_text(encoding="utf-8", errors="replace")
        texts.append(re.sub('[",]', " , ", table))
    for text in texts:
        for match in _NUMBER.finditer(text):
            exponent = (match[2] or "").replace("−", "-")
            yield float(match[1].replace(",", "") + exponent)
