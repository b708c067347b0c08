"""Do ledger, notebooks, results and scoreboard agree? `problems` lists where they do not."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from invariance.companion.errors import CompanionError, LedgerError, NotebookError, hint
from invariance.companion.files import file_digest
from invariance.companion.ledger.claims import Claim, Ledger, load_ledger
from invariance.companion.ledger.guard import alterations
from invariance.companion.ledger.owner import departures
from invariance.companion.ledger.prose import typed_results
from invariance.companion.ledger.protocols import registered, standing
from invariance.companion.ledger.reading import read_text
from invariance.companion.ledger.results import read_results
from invariance.companion.ledger.scoreboard import scoreboard
from invariance.companion.ledger.settings import read_settings
from invariance.companion.ledger.verdicts import Verdict, judge_again
from invariance.companion.order import reads
from invariance.companion.parameters import read_parameters
from invariance.companion.paths import PROFILES, Paths
from invariance.companion.source import calls_of, read_notebook

__all__ = ["problems"]


def problems(paths: Paths) -> list[str]:
    """Every inconsistency, one sentence each; empty when all is well.

    Parameters
    ----------
    paths : Paths

    Returns
    -------
    list of str
        About the form of the notebooks (parameters cell, what they read of others, kernelspec,
        name given to ``Run``, outputs kept in the tree, results typed into text), the ledger's
        words that are its owner's, settings that nobody chose, claims that the ledger does not
        know or that two notebooks record, stored results (altered since they were recorded,
        unreadable, files missing, a verdict that does not follow from its numbers, one that falls
        short at full scale and does not say why), and a scoreboard that differs from what they
        give.
    """
    found: list[str] = []
    for check in (alterations, departures, _notebooks, _settings, _records, _scoreboard):
        try:
            found += check(paths)
        except CompanionError as error:
            found.append(str(error))
    return list(dict.fromkeys(text.replace(f"{paths.root}/", "") for text in found))


def _notebooks(paths: Paths) -> Iterator[str]:
    said = [t for claim in load_ledger(paths.ledger).values() for t in (claim.printed, claim.says)]
    for notebook in paths.all_notebooks():
        yield from _form(paths, notebook)
        for typed in typed_results(paths, notebook, said):
            yield (
                f"{notebook}: a result is typed into its text, and the published run has no such "
                f"number: {typed}. Print it: run.say('{{best:.2f}} %', best=...)"
            )
    for path in sorted(paths.notebooks.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            yield (
                f"{path}: notebooks are kept as text without outputs; "
                "convert it with 'jupytext --to py:percent' and remove it"
            )


def _records(paths: Paths) -> Iterator[str]:
    """What notebooks record, or have recorded, for claims."""
    ledger = load_ledger(paths.ledger)
    recorders: dict[str, set[str]] = {}
    notebooks = paths.all_notebooks()
    for notebook in notebooks:
        for name, call in _calls(paths, notebook):
            if name == "run.claim" and (text := _first_text(call)):
                recorders.setdefault(text, set()).add(notebook)
    for folder in _stored(paths):
        where = str(folder / "results.json")
        results, wrong = read_results(folder)
        yield from wrong
        if results is None:
            continue
        notebook = f"{folder.parent.name}/{folder.name}"
        if results["notebook"] != notebook or notebook not in notebooks:
            yield f"{where}: there is no notebook {results['notebook']}; remove the folder"
            continue
        yield from _results(where, folder, results, ledger, paths)
        for claim_id, entry in results["claims"].items():
            # a claim may have moved since to another notebook, and its old result counts no more
            if claim_id not in ledger or _counts(entry, ledger[claim_id], results, paths):
                recorders.setdefault(claim_id, set()).add(notebook)
    for claim_id, names in sorted(recorders.items()):
        if claim_id not in ledger:
            close = [i for i in ledger if i.startswith(claim_id.split("/")[0] + "/")]
            names_ = ", ".join(sorted(names))
            yield f"{names_}: claim {claim_id!r} is not in the ledger. {hint(claim_id, close)}"
        if len(names) > 1:
            yield f"claim {claim_id!r} is recorded by {' and by '.join(sorted(names))}"


def _scoreboard(paths: Paths) -> Iterator[str]:
    """A project without a README has no scoreboard to keep."""
    if not paths.readme.is_file():
        return
    for path, text in scoreboard(paths).items():
        if not path.is_file() or read_text(path) != text:
            yield (
                f"{path}: the scoreboard differs from what the ledger and the committed results "
                "give; 'invariance scoreboard' writes it"
            )


def _calls(paths: Paths, notebook: str) -> list[tuple[str, ast.Call]]:
    try:
        return calls_of(paths.source(notebook))
    except NotebookError:
        return []  # _form reports it


def _form(paths: Paths, notebook: str) -> list[str]:
    source = paths.source(notebook)
    try:
        parameters = read_parameters(source)
        reads(paths, notebook)
        header = read_notebook(source).metadata.get("kernelspec", {})
        calls = calls_of(source)
    except NotebookError as error:
        return [f"{notebook}: {error}"]
    found = []
    missing = [key for key in ("name", "display_name", "language") if not header.get(key)]
    if missing or header["name"] != "python3":
        found.append(
            f"{notebook}: the header needs a kernelspec with name python3, display_name and "
            "language: 'jupytext --set-kernel python3' writes it"
        )
    names = [_first_text(call) for name, call in calls if name == "Run"]
    if names and names != [notebook]:
        found.append(f"{notebook}: calls Run with {names}; expected one Run({notebook!r}, ...)")
    elif names:
        call = next(call for name, call in calls if name == "Run")
        passed = {k.arg for k in call.keywords if _is_name(k.value, k.arg)}
        if missing := [name for name in parameters if name not in passed]:
            listed = ", ".join(f"{name}={name}" for name in parameters)
            found.append(
                f"{notebook}: Run is not given {', '.join(missing)}; write\n"
                f'    run = Run("{notebook}", {listed})'
            )
    return found


def _is_name(value: ast.expr, name: str | None) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def _first_text(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    text = first.value if isinstance(first, ast.Constant) else None
    return text if isinstance(text, str) else None


def _stored(paths: Paths) -> Iterator[Path]:
    for base in (paths.figures, *(paths.build / profile for profile in PROFILES)):
        for path in sorted(base.glob("*/*/results.json")):
            if not path.parent.name.startswith("."):
                yield path.parent


def _results(
    where: str, folder: Path, results: dict[str, Any], ledger: Ledger, paths: Paths
) -> list[str]:
    found = []
    files = [file for figure in results["figures"] for file in figure["files"]]
    files += [table["file"] for table in results["tables"]]
    for file in files:
        if not (folder / file).is_file():
            found.append(f"{where}: names the file {file}, which is not there")
        elif results["files"].get(file) not in (None, file_digest(folder / file)):
            found.append(f"{where}: the file {file} is not the one that the run wrote")
    for claim_id, entry in results["claims"].items():
        if claim_id not in ledger:
            continue  # reported once for all folders
        claim = ledger[claim_id]
        if not _counts(entry, claim, results, paths):
            continue  # of another protocol, and judged by its rules: the scoreboard says so
        if entry["kind"] != claim.kind:
            found.append(f"{where}: {claim_id} is of kind {claim.kind} in the ledger")
        elif judge_again(claim, entry["recorded"]) != Verdict(
            entry["verdict"], entry["reason"], entry["ours"]
        ):
            found.append(
                f"{where}: the verdict on {claim_id} does not follow from its numbers and the "
                "ledger; run the notebook again (--resume suffices)"
            )
        elif (
            entry["verdict"] not in ("matched", "better")
            and results["profile"] == "full"
            and not entry.get("note")
        ):
            found.append(
                f"{where}: {claim_id} is {entry['verdict']}, and no note says why; pass the "
                "measured reason as note= to run.claim"
            )
    return found


def _counts(
    entry: Mapping[str, Any], claim: Claim, results: Mapping[str, Any], paths: Paths
) -> bool:
    """Whether a result is a quick one, or was measured by the registered protocol."""
    digest = registered(claim, paths, results["notebook"])
    return results["profile"] == "quick" or standing(entry, digest) == entry["verdict"]


def _settings(paths: Paths) -> Iterator[str]:
    """Settings are of a notebook that chooses, and are what it chose."""
    choosing = {
        paths.settings(notebook)
        for notebook in paths.all_notebooks()
        for name, call in _calls(paths, notebook)
        if name == "Run" and any(keyword.arg == "chooses" for keyword in call.keywords)
    }
    for path in sorted((paths.notebooks / "settings").glob("*/*")):
        if path not in choosing:
            yield f"{path}: no notebook chooses this; remove it"
            continue
        try:
            read_settings(path)
        except LedgerError as error:
            yield str(error)
