"""Do ledger, notebooks, results and scoreboard agree? `problems` lists where they do not."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from invariance.companion.errors import LedgerError, NotebookError, hint
from invariance.companion.ledger.claims import Claim, Ledger, load_ledger
from invariance.companion.ledger.owner import departures
from invariance.companion.ledger.prose import typed_results
from invariance.companion.ledger.protocols import registered, standing
from invariance.companion.ledger.results import read_results
from invariance.companion.ledger.scoreboard import ScoreboardError, scoreboard, with_scoreboard
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
        know or that two notebooks record, stored results (unreadable, files missing, a verdict
        that does not follow from its numbers, one that falls short at full scale and does not say
        why), and a scoreboard in ``README.md`` that differs from what they give.
    """
    try:
        ledger = load_ledger(paths.ledger)
    except LedgerError as error:
        return [str(error)]
    found = departures(paths)
    recorders: dict[str, set[str]] = {}
    notebooks = paths.all_notebooks()
    for notebook in notebooks:
        found += _form(paths, notebook)
        for claim_id in _claims_in_source(paths, notebook):
            recorders.setdefault(claim_id, set()).add(notebook)
    for path in sorted(paths.notebooks.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            found.append(
                f"{path.relative_to(paths.root)}: notebooks are kept as text without outputs; "
                "convert it with 'jupytext --to py:percent' and remove it"
            )
    found += _settings(paths, notebooks)
    said = [text for claim in ledger.values() for text in (claim.printed, claim.says)]
    for notebook in notebooks:
        found += [
            f"{notebook}: a result is typed into its text, and the published run has no such "
            f"number: {typed}. Print it: run.say('{{best:.2f}} %', best=...)"
            for typed in typed_results(paths, notebook, said)
        ]
    for folder in _stored(paths):
        where = str((folder / "results.json").relative_to(paths.root))
        results, problems = read_results(folder)
        found += [problem.replace(f"{paths.root}/", "", 1) for problem in problems]
        if results is None:
            continue
        notebook = f"{folder.parent.name}/{folder.name}"
        if results["notebook"] != notebook or notebook not in notebooks:
            found.append(f"{where}: there is no notebook {results['notebook']}; remove the folder")
            continue
        found += _results(where, folder, results, ledger, paths)
        for claim_id, entry in results["claims"].items():
            # a claim may have moved since to another notebook, and its old result counts no more
            if claim_id not in ledger or _counts(entry, ledger[claim_id], results, paths):
                recorders.setdefault(claim_id, set()).add(notebook)
    for claim_id, names in sorted(recorders.items()):
        if claim_id not in ledger:
            found.append(
                f"{', '.join(sorted(names))}: claim {claim_id!r} is not in the ledger. "
                + hint(claim_id, [i for i in ledger if i.startswith(claim_id.split("/")[0] + "/")])
            )
        if len(names) > 1:
            found.append(f"claim {claim_id!r} is recorded by {' and by '.join(sorted(names))}")
    return found + _front_page(paths)


def _front_page(paths: Paths) -> list[str]:
    """A project without a README has no scoreboard to keep."""
    if not paths.readme.is_file():
        return []
    readme = paths.readme.read_text(encoding="utf-8")
    try:
        written = with_scoreboard(readme, scoreboard(paths))
    except ScoreboardError as error:
        return [str(error)]
    if written == readme:
        return []
    return [
        "README.md: the scoreboard differs from what the ledger and the committed results give; "
        "'invariance scoreboard' writes it"
    ]


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


def _claims_in_source(paths: Paths, notebook: str) -> list[str]:
    try:
        calls = calls_of(paths.source(notebook))
    except NotebookError:
        return []  # _form has reported it
    return [text for name, call in calls if name == "run.claim" and (text := _first_text(call))]


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
    for claim_id, entry in results["claims"].items():
        if claim_id not in ledger:
            continue  # reported once for all folders
        claim = ledger[claim_id]
        if entry["kind"] != claim.kind:
            found.append(f"{where}: {claim_id} is of kind {claim.kind} in the ledger")
        elif not _counts(entry, claim, results, paths):
            continue  # of another protocol, and judged by its rules: the scoreboard says so
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


def _settings(paths: Paths, notebooks: list[str]) -> list[str]:
    """Settings are of a notebook that chooses, and are what it chose."""
    found = []
    choosing = set()
    for notebook in notebooks:
        try:
            runs = [call for name, call in calls_of(paths.source(notebook)) if name == "Run"]
        except NotebookError:
            continue  # _form has reported it
        if any(keyword.arg == "chooses" for call in runs for keyword in call.keywords):
            choosing.add(paths.settings(notebook))
    for path in sorted((paths.notebooks / "settings").glob("*/*")):
        where = path.relative_to(paths.root)
        if path not in choosing:
            found.append(f"{where}: no notebook chooses this; remove it")
            continue
        try:
            read_settings(path)
        except LedgerError as error:
            found.append(str(error).replace(f"{paths.root}/", "", 1))
    return found
