"""Do ledger, notebooks, results and scoreboard agree? `problems` lists where they do not.

Results are not typed into prose, either (`typed_results`). A number in a text cell states a result
when it has a decimal point or an exponent, or is followed by a percent sign or "±". It may stand
there if the notebook's code has it (a setting), if the ledger prints it (the paper's), or if
published results hold it, rounded as it is typed: the notebook's own, or those of a notebook that
the cell names. Anything else is to be printed by the run.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import CompanionError, NotebookError, hint
from ..files import read_json, read_text
from ..paths import PROFILES, Paths
from ..source import calls_of, chooses, notebook_code, read_notebook, read_parameters, reads
from .claims import Claim, load_ledger
from .guard import alterations, departures
from .pictures import older_pictures
from .results import altered, files_of, read_results, read_status
from .scoreboard import Row, all_rows, faults, scoreboard
from .settings import read_settings, registered, standing
from .verdicts import KEPT, VERDICTS, judge_again

_NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(e[-+−]?\d+)?(?![\w]*\d)")
_UNIT = re.compile(r"\s*(?:%|per cent\b|±)")
# formulas, code, addresses and places in a paper state no results
_APART = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`|\]\([^)]*\)|\w+://\S+"
    r"|\b(?:sections?|lemmas?|theorems?|remarks?|examples?|propositions?|appendix)\s[\d.]+",
    re.DOTALL | re.IGNORECASE,
)


def problems(paths: Paths, edition: Path | None = None) -> list[str]:
    """Every inconsistency, one sentence each; empty when all is well.

    `edition` is the file of the ledger's owner, if it is at hand.

    They are about the form of the notebooks, the ledger, settings, stored results that are altered,
    incomplete or short of the paper without a reason, and the scoreboard.
    """
    found: list[str] = []
    owners = partial(departures, edition=edition)
    for check in (alterations, owners, _notebooks, _settings, _records, _scoreboard):
        try:
            found += check(paths)
        except CompanionError as error:
            found.append(str(error))
    return list(dict.fromkeys(text.replace(f"{paths.root}/", "") for text in found))


def _notebooks(paths: Paths) -> Iterator[str]:
    said = [t for claim in load_ledger(paths.ledger).values() for t in (claim.printed, claim.says)]
    for notebook in paths.all_notebooks():
        try:
            yield from _form(paths, notebook)
        except NotebookError as error:
            yield f"{notebook}: {error}"
        for typed in typed_results(paths, notebook, said):
            what = "a result is typed into its text, and the published run has no such number"
            yield f"{notebook}: {what}: {typed}. Print it: run.say('{{best:.2f}} %', best=...)"
    for path in sorted(paths.notebooks.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            remedy = "convert it with 'jupytext --to py:percent' and remove it"
            yield f"{path}: notebooks are kept as text without outputs; {remedy}"


def _form(paths: Paths, notebook: str) -> Iterator[str]:
    source = paths.source(notebook)
    parameters = read_parameters(source)
    reads(paths, notebook)
    calls = [call for name, call in calls_of(source) if name == "Run"]
    header = read_notebook(source).metadata.get("kernelspec", {})
    if header.get("name") != "python3" or not {"display_name", "language"} <= {*header}:
        what = "the header needs a kernelspec with name python3, display_name and language"
        yield f"{notebook}: {what}: 'jupytext --set-kernel python3' writes it"
    names = [_first_text(call) for call in calls]
    if names and names != [notebook]:
        yield f"{notebook}: calls Run with {names}; expected one Run({notebook!r}, ...)"
    elif names:
        given = {k.arg for k in calls[0].keywords if getattr(k.value, "id", None) == k.arg}
        if missing := ", ".join(name for name in parameters if name not in given):
            listed = ", ".join(f"{name}={name}" for name in parameters)
            line = f'    run = Run("{notebook}", {listed})'
            yield f"{notebook}: Run is not given {missing}; write\n{line}"


def _first_text(call: ast.Call) -> str | None:
    first = getattr(call.args[0], "value", None) if call.args else None
    return first if isinstance(first, str) else None


def _recorders(paths: Paths) -> dict[str, set[str]]:
    """Notebooks by the claims that their code names."""
    recorders: dict[str, set[str]] = {}
    for notebook in paths.all_notebooks():
        with suppress(NotebookError):  # said by `_form`
            for name, call in calls_of(paths.source(notebook)):
                if name == "run.claim" and (text := _first_text(call)):
                    recorders.setdefault(text, set()).add(notebook)
    return recorders


def _records(paths: Paths) -> Iterator[str]:
    """What notebooks record, or have recorded, for claims."""
    ledger = load_ledger(paths.ledger)
    recorders = _recorders(paths)
    stored = [*paths.figures.glob("*/*/results.json")]
    stored += [p for profile in PROFILES for p in (paths.build / profile).glob("*/*/results.json")]
    for path in sorted(stored):
        folder, notebook = path.parent, f"{path.parts[-3]}/{path.parts[-2]}"
        results, wrong = (None, []) if folder.name.startswith(".") else read_results(folder)
        yield from wrong
        if results is None:
            continue
        if results["notebook"] != notebook or not paths.source(notebook).is_file():
            yield f"{path}: there is no notebook {results['notebook']}; remove the folder"
            continue
        for file in files_of(results):
            if not (folder / file).is_file():
                yield f"{path}: names the file {file}, which is not there"
        if said := altered(folder, read_status(folder, notebook)[0]):
            yield f"{folder}: {said}; run the notebook again"
        for claim_id, entry in results["claims"].items():
            # a claim may have moved since to another notebook, or its protocol may have changed:
            # the old result counts no more, and was judged by the rules of its time
            if claim_id in ledger and results["profile"] == "full":
                digest = registered(ledger[claim_id], paths, notebook)
                if standing(entry, digest) != entry["verdict"]:
                    continue
            recorders.setdefault(claim_id, set()).add(notebook)
            if claim_id in ledger and (said := _fault(entry, ledger[claim_id], results)):
                yield f"{path}: {said}"
    for claim_id, names in sorted(recorders.items()):
        if claim_id not in ledger:
            close = [i for i in ledger if i.startswith(claim_id.split("/")[0] + "/")]
            listed = ", ".join(sorted(names))
            yield f"{listed}: claim {claim_id!r} is not in the ledger. {hint(claim_id, close)}"
        if len(names) > 1:
            yield f"claim {claim_id!r} is recorded by {' and by '.join(sorted(names))}"


def _fault(entry: Mapping[str, Any], claim: Claim, results: Mapping[str, Any]) -> str | None:
    """What is wrong with a result that counts; None if nothing is."""
    if entry["kind"] != claim.kind:
        return f"{claim.id} is of kind {claim.kind} in the ledger"
    verdict = judge_again(claim, entry["recorded"])
    if verdict is None:
        return f"the numbers of {claim.id} are not what its verdict needs; run the notebook again"
    if verdict.verdict in KEPT or results["profile"] == "quick" or entry["note"] or claim.note:
        return None
    remedy = "pass the measured reason as note= to run.claim, or write a note into the ledger"
    return f"{claim.id} is {verdict.verdict}, and no note says why; {remedy}"


def _scoreboard(paths: Paths) -> Iterator[str]:
    """A project without a README has no scoreboard to keep."""
    rows = all_rows(paths)
    yield from faults(rows)
    for path, text in scoreboard(paths, rows).items() if paths.readme.is_file() else ():
        written = read_text(path) if path.is_file() else ""
        if written != text and not _says_more_than_can_be_shown_here(written, text, rows):
            what = "the scoreboard differs from what the ledger and the committed results give"
            yield f"{path}: {what}; 'invariance scoreboard' writes it"


_SHOWN = re.compile(r"^Registered before .*shown for (\d+) of (\d+) results?\..*$", re.MULTILINE)


def _says_more_than_can_be_shown_here(written: str, here: str, rows: Sequence[Row]) -> bool:
    """Whether a page differs only in what a copy with the project's whole history can show."""
    theirs, ours = _SHOWN.search(written), _SHOWN.search(here)
    if not (theirs and ours) or _SHOWN.sub("", written) != _SHOWN.sub("", here):
        return False
    shown, total = map(int, ours.groups())
    more = sum(bool(row.registration and row.registration.elsewhere) for row in rows)
    return int(theirs[2]) == total and shown <= int(theirs[1]) <= shown + more


def remarks(paths: Paths) -> list[str]:
    """What is to be known and is no inconsistency, one sentence each.

    Published pictures that their notebook would draw otherwise today: the results beside them
    stand, until the next full run. And what cannot be checked here.
    """
    remedy = "'invariance run --profile full' draws it again"
    said = [
        f"{figure}: the published picture is older than the code that draws it; {remedy}"
        for figure in older_pictures(paths)
    ]
    return said + _not_shown_here(paths)


def _not_shown_here(paths: Paths) -> list[str]:
    with suppress(CompanionError):  # `problems` has said so
        rows = [row for row in all_rows(paths) if row.registration and row.verdict in VERDICTS]
        if away := sum(row.registration.elsewhere for row in rows if row.registration):
            number = sum(row.registration.shown for row in rows if row.registration)
            what = f"That claims were registered before their runs is shown here for {number} of"
            remedy = "a full clone of the repository shows the rest"
            return [f"{what} {len(rows)} results; {away} name a commit that is not here: {remedy}"]
    return []


def _settings(paths: Paths) -> Iterator[str]:
    """Settings are of a notebook that chooses, and are what it chose."""
    for path in sorted((paths.notebooks / "settings").glob("*/*")):
        source = paths.source(f"{path.parent.name}/{path.stem}")
        try:
            if path.suffix == ".yml" and source.is_file() and chooses(source):
                read_settings(path)
            else:
                yield f"{path}: no notebook chooses this; remove it"
        except CompanionError as error:
            yield str(error)


def typed_results(paths: Paths, notebook: str, printed: Iterable[str]) -> list[str]:
    """Numbers in a notebook's text cells that state a result and stand nowhere else, in context.

    `printed` is what the papers print, as the ledger has it.
    """
    source = paths.source(notebook)
    try:
        cells = [c.source for c in read_notebook(source).cells if c.cell_type == "markdown"]
        code = notebook_code(source).replace("_", "")
    except NotebookError:
        return []  # `invariance check` has reported it
    known = {m[1].replace(",", "") for text in (code, *printed) for m in _NUMBER.finditer(text)}
    others = set(paths.all_notebooks())
    found = []
    for cell in cells:
        named = [notebook, *others.intersection(re.findall(r"\w+/\w+", cell))]
        measured: list[float] | None = None
        text = " ".join(_APART.sub(" ", cell).split())
        for match in _NUMBER.finditer(text):
            number = match[1].replace(",", "")
            states = "." in number or match[2] or _UNIT.match(text, match.end())
            if not states or (number in known and not match[2]):
                continue
            if measured is None:
                measured = [x for name in named for x in _published(paths.published(name))]
            if not _holds(measured, number, (match[2] or "").replace("−", "-")):
                around = text[max(0, match.start() - 40) : match.end() + 20]
                found.append(f"{match[0]} in '... {around} ...'")
    return found


def _holds(measured: list[float], number: str, exponent: str) -> bool:
    """Whether a measured number, or a hundred times it, rounds to what is typed."""
    unit = float(f"1{exponent}") if exponent else 1.0
    step = unit * 10.0 ** -len(number.partition(".")[2])
    typed = float(number) * unit
    return any(abs(abs(m) * scale - typed) <= 0.51 * step for m in measured for scale in (1, 100))


def _published(folder: Path) -> Iterator[float]:
    """Every number of the published results: recorded ones, tables, captions and notes."""
    content = read_json(folder / "results.json")
    if not isinstance(content, dict):
        return
    apart = ("volatile", "provenance")
    texts = [json.dumps({k: v for k, v in content.items() if k not in apart}, ensure_ascii=False)]
    for path in sorted(folder.glob("*.csv")):
        texts.append(re.sub('[",]', " , ", path.read_text(encoding="utf-8", errors="replace")))
    for text in texts:
        for found in _NUMBER.finditer(text):
            yield float(found[1].replace(",", "") + (found[2] or "").replace("−", "-"))
