"""`build_report`: every page written, then put in place at once."""

import shutil
import tempfile
from pathlib import Path

from invariance.companion.errors import OutputError
from invariance.companion.files import replace_folder
from invariance.companion.report.collect import Material, ReportError, collect
from invariance.companion.report.pages import (
    index_html,
    notebook_html,
    outcome_files,
    reference_html,
)
from invariance.companion.report.prose import Problem
from invariance.companion.report.reference import reference_pages


def build_report(
    build_dir: Path | str,
    figures_dir: Path | str,
    out_dir: Path | str,
    profile: str = "quick",
    *,
    ledger: Path | str | None = None,
    strict: bool = False,
) -> Path:
    """Write the report: an index, a page a notebook and the API reference, which open from disk.

    Nothing in a page is fetched from elsewhere. The folder is replaced as a whole when every
    page is finished; until then an earlier report stays as it is.

    Parameters
    ----------
    build_dir : path
        Results of runs, ``<profile>/<paper>/<name>/``.
    figures_dir : path
        Committed results at full scale, ``<paper>/<name>/``.
    out_dir : path
        Where the report goes; what was there is replaced.
    profile : str
        Which runs to show.
    ledger : path, optional
        The ledger of claims; default: ``notebooks/claims.yml`` beside `figures_dir`.
    strict : bool
        Raise if anything could not be shown as it was meant (a formula that is not understood, a
        figure without alternative text) instead of listing it on the index.

    Returns
    -------
    Path
        The index, ``out_dir/index.html``.

    Raises
    ------
    ReportError
        If there is no result to report; if `out_dir` holds something that is not a report; with
        `strict`, naming each notebook, cell and formula.
    LedgerError
        If the ledger cannot be read.
    OutputError
        If the report cannot be written.
    """
    build_dir, figures_dir = Path(build_dir).absolute(), Path(figures_dir).absolute()
    out_dir = Path(out_dir).absolute()
    ledger = Path(ledger) if ledger else figures_dir.parent / "notebooks" / "claims.yml"
    _refuse_foreign(out_dir)
    material = collect(build_dir, figures_dir, ledger, profile)
    try:
        out_dir.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=out_dir.parent, prefix=f".{out_dir.name}."))
    except OSError as error:
        raise _cannot_write(out_dir, error) from error
    try:
        problems = _write(material, draft)
        if strict and problems:
            listed = "\n".join(f"- {p.notebook}, {p.where}: {p.message}" for p in problems)
            raise ReportError(f"{len(problems)} thing(s) cannot be shown:\n{listed}")
        draft.chmod(0o755)
        replace_folder(draft, out_dir)
    except OutputError:
        raise
    except OSError as error:
        raise _cannot_write(out_dir, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return out_dir / "index.html"


def _write(material: Material, folder: Path) -> list[Problem]:
    problems: list[Problem] = []
    for notebook in material.notebooks:
        page, unshown = notebook_html(material, notebook)
        problems += unshown
        path = folder / notebook.page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
        for key, outcome in (("run", notebook.run), ("full", notebook.published)):
            if outcome is None:
                continue
            target = folder / "files" / key / notebook.name
            target.mkdir(parents=True)
            for file in outcome_files(outcome):
                shutil.copyfile(file, target / file.name)
    problems += _write_reference(folder / "reference")
    (folder / "index.html").write_text(index_html(material, problems), encoding="utf-8")
    return problems


def _write_reference(folder: Path) -> list[Problem]:
    folder.mkdir()
    pages = reference_pages()
    (folder / "index.html").write_text(reference_html(None, pages), encoding="utf-8")
    for page in pages:
        (folder / page.address).write_text(reference_html(page, pages), encoding="utf-8")
    return [problem for page in pages for problem in page.problems]


def _refuse_foreign(out_dir: Path) -> None:
    if out_dir.is_dir() and any(out_dir.iterdir()) and not (out_dir / "index.html").is_file():
        raise ReportError(
            f"{out_dir} is not empty and holds no earlier report: replacing it would delete what "
            "is there. Name another folder"
        )


def _cannot_write(out_dir: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write the report to {out_dir}: {error.strerror or error}. An earlier report is "
        "untouched; free some space or name a folder that can be written to"
    )
