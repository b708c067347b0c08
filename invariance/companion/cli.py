"""The command ``invariance``; ``invariance --help`` lists its commands."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from joblib import cpu_count

from ..core.extras import need
from ..core.parameters import ParameterError
from .claim import description, duration, fresh, ids_of, measured, published
from .errors import CompanionError, NotebookError, hint
from .files import write_bytes
from .ledger import consistency, scoreboard
from .ledger.results import read_results, read_status
from .ledger.scoreboard import clipped
from .paths import PROFILES, Paths
from .runner import batch
from .runner.attempt import Place
from .runner.places import Here
from .source import may_choose, read_parameters

if TYPE_CHECKING:
    from .runner.sweep import Sweep

_COLOURS = {"ok": "green", "interrupted": "yellow"}
_MAX_SOURCE_LINES = 12  # of a failed cell
_MAX_NOTEBOOKS_IN_DETAIL = 3  # whose results are listed after a run

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_NOTEBOOKS = click.argument("notebooks", nargs=-1)
_THREADS = click.option(
    "--threads", default=1, show_default=True, help="BLAS threads of each notebook."
)


_PARAMETERS = click.option(
    "-p",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="A parameter of the notebooks, written as in Python; repeatable.",
)
_JOBS = click.option("--jobs", type=int, help="Notebooks at a time. [default: cores / threads]")
_DEADLINE = click.option(
    "--deadline", type=float, help="Seconds for each. [default: 900; full: 86400]"
)


_CLUSTER = click.option(
    "--cluster", metavar="ADDRESS", help="Run on the workers of this Dask scheduler."
)


def _out(default: str) -> _Decorator:
    return click.option(
        "--out", type=click.Path(path_type=Path), help=f"Output path. [default: {default}]"
    )


def _profile(default: str) -> _Decorator:
    return click.option(
        "--profile", type=click.Choice(PROFILES), default=default, show_default=True
    )


class _UsageError(click.ClickException):
    """An invalid request: nothing was run."""

    exit_code = 2


class _Commands(click.Group):
    """A group of commands that prints the errors of this package without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:  # an `OutputError`, or a data set that is not available
            if error.errno is not None:  # an error of the system, such as a closed pipe
                raise
            raise click.ClickException(str(error)) from error
        except (CompanionError, ParameterError) as error:
            raise _UsageError(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="invariance")
def main() -> None:
    """Run the companion's notebooks, compare with the papers, report."""


@main.command()
@click.argument("name")
@_out("./NAME")
def new(name: str, out: Path | None) -> None:
    """Start a companion to a paper of your own, with the key NAME, in a new folder."""
    from .new import start_companion

    folder = out or Path(name)
    for path in start_companion(name, folder):
        click.echo(path)
    click.echo(f"Next: cd {shlex.quote(str(folder))} && make report")


@main.command("help")
@click.argument("topic", type=click.Choice(["ledger"]), required=False)
@click.pass_context
def explain(context: click.Context, topic: str | None) -> None:
    """Explain a TOPIC: the language of the ledger, with an example of each kind of claim."""
    if topic is None and context.parent is not None:
        click.echo(context.parent.get_help())
        return
    text = (Path(__file__).parent / f"{topic}.md").read_text(encoding="utf-8")
    click.echo(text.rstrip())


@main.command()
@click.argument("form", type=click.Choice(["paper-json"]))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A file. [default: -]")
def export(form: str, out: Path | None) -> None:
    """Write claims, limits and commands in a FORM that other programs read.

    paper-json is the companion file of a paper that Canedo (2026) describes.
    """
    from .export import paper_json

    text = json.dumps(paper_json(Paths.find()), indent=1, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    write_bytes(out, text.encode())
    click.echo(out)


@main.command("list")
@_NOTEBOOKS
def list_notebooks(notebooks: tuple[str, ...]) -> None:
    """List notebooks, their parameters with types and defaults, last status and duration."""
    paths = Paths.find()
    for notebook in paths.select(notebooks):
        click.secho(notebook, bold=True, nl=False)
        click.echo(f"  [{_last_runs(paths, notebook)}]")
        try:
            parameters = read_parameters(paths.source(notebook))
        except NotebookError as error:
            click.secho(f"    {error}", fg="red")
            continue
        for parameter in parameters.values():
            comment = f"  # {parameter.help}" if parameter.help else ""
            click.echo(f"    {parameter.name}: {parameter.type} = {parameter.default!r}{comment}")


def _last_runs(paths: Paths, notebook: str) -> str:
    states = []
    for profile in PROFILES:
        status, _ = read_status(paths.output(notebook, profile), notebook)
        if status:
            states.append(f"{profile}: {status['status']}, {duration(status['duration_s'])}")
    return "; ".join(states) or "never run"


@main.command()
@_NOTEBOOKS
@_profile("quick")
@_PARAMETERS
@_JOBS
@_THREADS
@_DEADLINE
@_CLUSTER
@click.option("--resume", is_flag=True, help="Skip what ran with the same text, code, versions.")
def run(
    notebooks: tuple[str, ...],
    profile: str,
    parameters: tuple[tuple[str, str], ...],
    jobs: int | None,
    threads: int,
    deadline: float | None,
    cluster: str | None,
    resume: bool,
) -> None:
    """Run papers (PAPER), notebooks (PAPER/NAME) or, without a name, everything.

    Exit status: 0 if every notebook succeeded, 1 if one failed, 2 if a name or a value is invalid,
    130 if interrupted.
    """
    paths = Paths.find()
    values = _single_values(parameters)
    if "profile" in values:
        raise _UsageError(f"a run has one profile: pass --profile {values['profile']}")
    selected = paths.select(notebooks)
    with _place(paths, jobs, threads, cluster) as place:
        summary = batch.run_notebooks(
            paths,
            selected,
            profile=profile,
            parameters=values,
            place=place,
            resume=resume,
            threads=threads,
            deadline=deadline,
            tell=_print_outcome,
        )
    _print_failures(summary)
    if len(selected) <= _MAX_NOTEBOOKS_IN_DETAIL:
        for outcome in summary.outcomes:
            if outcome.status == "ok":
                _print_results(paths.output(outcome.notebook, profile), outcome.notebook)
    finished = _count_ok(summary)
    results = paths.build / profile
    click.echo(
        f"{finished} of {len(selected)} notebooks succeeded ({profile}); results in {results}"
    )
    _exit(summary, "--resume goes on from here")


def _print_results(folder: Path, notebook: str) -> None:
    """Print a run's titles of figures, sentences and claims, and the paths of its files."""
    results, _ = read_results(folder, notebook)
    if results is None:
        return
    click.secho(f"\n{notebook}", bold=True)
    for sentence in results["says"]:
        click.echo(f"  {sentence['said']}")
    for claim, entry in results["claims"].items():
        click.echo(f"  {claim}: {entry['verdict']}, {clipped(entry['ours'], 120)}")
    for figure in results["figures"]:
        click.echo(f"  {clipped(figure['alt'] or figure['name'], 200)}")
        for file in figure["files"]:
            click.echo(f"    {folder / file}")
    for table in results["tables"]:
        click.echo(f"  {clipped(table['caption'] or table['name'], 200)}")
        click.echo(f"    {folder / table['file']}")


def _single_values(parameters: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the values by name; refuse a second value for the same name."""
    values: dict[str, str] = {}
    for name, value in parameters:
        if name in values:
            remedy = f"for several, take 'invariance sweep ... -p {name} {values[name]},{value}'"
            raise _UsageError(f"-p {name} is passed twice, and a run has one value: {remedy}")
        values[name] = value
    return values


def _place(
    paths: Paths, jobs: int | None, threads: int, cluster: str | None
) -> AbstractContextManager[Place]:
    """Return a context manager of a cluster, or of processes of this machine.

    By default the processes have together as many threads as there are cores.
    """
    if cluster is None:
        if jobs is None:
            jobs = max(1, cpu_count() // max(1, threads))
        return nullcontext(Here(jobs))
    if jobs is not None:
        raise _UsageError("--jobs is for this machine: each thread of a cluster runs one notebook")
    need("distributed", "guides")
    from .runner.cluster import Cluster

    return Cluster(cluster, paths)


@main.command()
@click.argument("notebook")
@_profile("quick")
@click.option(
    "-p",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUES",
    help="Values of a parameter, such as 0.1,0.3 or 1..20; repeatable.",
)
@_JOBS
@_THREADS
@_DEADLINE
@_CLUSTER
@click.option("--dry-run", is_flag=True, help="Print which combinations would run, and why.")
@click.option(
    "--plot", "columns", multiple=True, metavar="COLUMN", help="Draw this column; repeatable."
)
def sweep(
    notebook: str,
    profile: str,
    parameters: tuple[tuple[str, str], ...],
    jobs: int | None,
    threads: int,
    deadline: float | None,
    cluster: str | None,
    dry_run: bool,
    columns: tuple[str, ...],
) -> None:
    """Run one notebook with every combination of the given values of its parameters.

    Results that a run would give again are kept. Each combination has a folder of its own, beside
    sweep.csv, a table of all parameters and recorded numbers, and sweep.png.

    The exit status is that of 'invariance run', and 2 if all succeeded and a column does not exist.
    """
    from .runner.sweep import Sweep

    paths = Paths.find()
    selected = paths.select([notebook])
    if len(selected) > 1:
        raise _UsageError(f"a sweep runs one notebook, and {notebook!r} has {len(selected)}")
    combinations = Sweep.read(paths, selected[0], profile, parameters)
    with _place(paths, jobs, threads, cluster) as place:
        if dry_run:
            _print_reasons(combinations.reasons_to_run(place=place, threads=threads))
            return
        summary = combinations.run(
            place=place, threads=threads, deadline=deadline, tell=_print_outcome
        )
    _print_failures(summary)
    finished = _count_ok(summary)
    total = len(combinations.tasks())
    click.echo(f"{finished} of {total} combinations succeeded ({profile})")
    fault = _write_collected(combinations, columns)
    if fault and summary.exit_code == 0:
        raise _UsageError(fault)
    if fault:
        click.echo(f"Error: {fault}", err=True)
    _exit(summary, "the same command goes on from here")


def _print_reasons(reasons: Mapping[str, str | None]) -> None:
    for name, reason in reasons.items():
        state = "keep" if reason is None else "run"
        click.echo(f"{state:<5} {name:<50}  {reason or ''}".rstrip())
    count = sum(reason is not None for reason in reasons.values())
    click.echo(f"{count} of {len(reasons)} combinations would run")


def _write_collected(combinations: "Sweep", columns: Sequence[str]) -> str:
    """Write and name the table of a sweep and its plot, if it has one.

    Columns that do not exist are not drawn; the sentence that is returned names them.
    """
    from .runner.collect import write_plot, write_table

    table = write_table(combinations)
    click.echo(f"Table: {combinations.table}")
    n_others = len(combinations.tasks()) + len(combinations.earlier_tasks()) - len(table)
    if n_others:
        state = "out of date or interrupted, and not in the table"
        click.echo(f"       {n_others} other combinations in this folder are {state}")
    drawn = [name for name in columns if name in table.columns]
    plot = write_plot(combinations, table, drawn) if drawn or not columns else None
    if plot is not None:
        click.echo(f"Plot:  {plot}")
    faults = []
    for name in columns:
        if name not in drawn:
            faults.append(f"--plot {name}: {hint(name, table.columns, 'columns')}")
    return "no such column in the table: " + " ".join(faults) if faults else ""


@main.command()
@_NOTEBOOKS
@_profile("full")
@click.option("--jobs", default=1, show_default=True, help="Notebooks at a time.")
@_THREADS
def choose(notebooks: tuple[str, ...], profile: str, jobs: int, threads: int) -> None:
    """Choose the settings of notebooks, with seed 0 and without test data.

    At full scale they become notebooks/settings/<paper>/<name>.yml, which is committed: a part of
    the protocol that 'invariance run' measures. Without a name, every notebook that chooses.
    """
    paths = Paths.find()
    selected: Sequence[str] = paths.select(notebooks)
    if not notebooks:
        selected = [name for name in selected if may_choose(paths.source(name))]
    summary = batch.run_notebooks(
        paths,
        selected,
        profile=profile,
        place=Here(jobs),
        choosing=True,
        threads=threads,
        tell=_print_outcome,
    )
    _print_failures(summary)
    finished = _count_ok(summary)
    results = paths.build / "choosing" / profile
    click.echo(
        f"{finished} of {len(selected)} notebooks have chosen ({profile}); results in {results}"
    )
    _exit(summary, "name the other notebooks to go on")


def _print_outcome(outcome: batch.Outcome) -> None:
    state = "kept" if outcome.resumed else outcome.status
    click.secho(f"{state:<11}", fg=_COLOURS.get(outcome.status, "red"), nl=False)
    click.echo(f"  {outcome.notebook:<40}  {duration(outcome.duration_s)}")


def _print_failures(summary: batch.Summary) -> None:
    """Print each failure once, with the names of the notebooks that failed in this way."""
    names: dict[tuple[Any, ...], list[str]] = {}
    for outcome in summary.outcomes:
        failure = outcome.failure
        if failure is None or outcome.status == "interrupted":
            continue
        key = (failure["message"], failure["cell_index"], failure["cell_source"])
        names.setdefault(key, []).append(outcome.notebook)
    for (message, cell_index, cell_source), failed in names.items():
        click.secho(f"\n{', '.join(failed)}: {message}", fg="red", err=True)
        source = str(cell_source or "").splitlines()
        if source:
            lines = [f"  in cell {cell_index}:", *source[:_MAX_SOURCE_LINES]]
            n_more = len(source) - _MAX_SOURCE_LINES
            if n_more > 0:
                lines.append(f"... {n_more} more lines")
            click.echo("\n    ".join(lines), err=True)


def _count_ok(summary: batch.Summary) -> int:
    return sum(outcome.status == "ok" for outcome in summary.outcomes)


def _exit(summary: batch.Summary, remedy: str) -> None:
    """End with a summary's exit status; after an interruption, print how to go on."""
    if summary.interrupted:
        click.echo(f"Interrupted: what has finished is kept; {remedy}.")
    sys.exit(summary.exit_code)


@main.command()
@_profile("quick")
@_out("build/report")
def report(profile: str, out: Path | None) -> None:
    """Build the site from published results and from this machine's runs."""
    _build_site(out, profile)


@main.command()
@_out("build/report")
def site(out: Path | None) -> None:
    """Build the site from published results alone: no notebook needs to have run."""
    _build_site(out, None)


def _build_site(out: Path | None, profile: str | None) -> None:
    from .site.build import build_site

    index, problems = build_site(Paths.find(), out, profile=profile)
    click.echo(f"Open {index}")
    _refuse(problems, "; everything else is shown")


def _refuse(problems: Sequence[str], remark: str = "") -> None:
    """Print problems, and end with an error if there are any."""
    for problem in problems:
        click.secho(f"- {problem}", fg="red", err=True)
    if problems:
        raise click.ClickException(f"{len(problems)} problem(s){remark}")


@main.command()
def lite() -> None:
    """Build build/lite, in which notebooks run in a reader's browser, from any static server.

    The next 'invariance report' or 'invariance site' puts a copy into the site, and buttons on the
    pages of the notebooks. The files of Pyodide come from the folder INVARIANCE_PYODIDE, from the
    cache or from its official distribution, and each is checked by its SHA-256.
    """
    from .lite.build import build_lite

    built = build_lite(Paths.find())
    size = f"{built.n_bytes / 1e6:.0f} MB"
    click.echo(f"{len(built.notebooks)} notebooks in {built.folder}, {size}")
    click.echo("The next 'invariance site' or 'invariance report' shows the buttons.")


@main.command()
@_out("build/report.pdf")
def pdf(out: Path | None) -> None:
    """Print the published results as a paper of some pages; needs Chromium."""
    from .site.build import write_pdf

    click.echo(write_pdf(Paths.find(), out))


@main.command()
@_NOTEBOOKS
@_out("build/sheets")
def sheets(notebooks: tuple[str, ...], out: Path | None) -> None:
    """Write the lessons of the course (or others) without solutions, for students."""
    from .sheets import write_sheets

    paths = Paths.find()
    for path in write_sheets(paths, out or paths.build / "sheets", notebooks):
        click.echo(path)


@main.command()
@click.argument("lesson")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def grade(lesson: str, files: tuple[Path, ...]) -> None:
    """Run a LESSON with the answers in each of the FILES, and print a table of the outcomes.

    The answers run with your rights: use a container for files that you do not trust. An answer
    that takes more than five minutes ends its file.

    Exit status: 0 if every file was graded, 1 if one was refused, 130 if interrupted.
    """
    from .sheets import grade as grade_file

    paths = Paths.find()
    names = paths.select([lesson])
    if len(names) != 1:
        raise _UsageError(f"a sheet is one lesson, and {lesson!r} has {len(names)}")
    width = max(len(file.name) for file in files)
    n_refused = 0
    for file in files:
        try:
            answers = grade_file(paths, names[0], file)
        except NotebookError as error:
            click.secho(f"{file.name:<{width}}  {error}", fg="red")
            n_refused += 1
            continue
        except KeyboardInterrupt:
            click.echo(f"Interrupted at {file.name}: name it and the files after it to go on.")
            sys.exit(130)
        outcomes = "  ".join(f"{answer.outcome:<5}" for answer in answers)
        n_right = sum(answer.outcome == "right" for answer in answers)
        click.echo(f"{file.name:<{width}}  {n_right} of {len(answers)}  {outcomes}".rstrip())
    if n_refused:
        raise click.ClickException(f"{n_refused} of {len(files)} files could not be graded")


@main.command()
@click.argument(
    "checkouts",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
def unmoved(checkouts: tuple[Path, ...]) -> None:
    """Record the notebooks whose quick numbers a change of code has not moved.

    CHECKOUTS are folders with an earlier commit, each with quick runs of its own, as this one.
    Two of the same commit show which numbers are measured times; these are not compared. The
    outcome is added to notebooks/unmoved.yml, which 'invariance check' reads.
    """
    from .ledger.unmoved import compare_quick_runs, record_unmoved

    paths = Paths.find()
    comparison = compare_quick_runs(paths, checkouts)
    record_unmoved(paths, comparison)
    for notebook, difference in comparison.moved.items():
        click.echo(f"{click.style(notebook, bold=True)}: {difference}")
    n_same = len(comparison.unmoved)
    commits = f"{comparison.before} and {comparison.after}"
    click.echo(f"The quick numbers of {n_same} notebooks are the same at {commits}.")


@main.command()
@click.option(
    "--download", "names", multiple=True, metavar="NAME", help="Download a data set; repeatable."
)
def data(names: tuple[str, ...]) -> None:
    """List the data sets: which are here, their sources, and whether their checksums hold."""
    from ..datasets import available, download

    valid_names = sorted(entry.name for entry in available())
    for name in names:
        if name not in valid_names:
            raise _UsageError(f"unknown data set {name!r}: {', '.join(valid_names)}")
        click.echo(f"Downloading {name} ...")
        download(name)
    entries = sorted(available(), key=lambda entry: entry.name)
    for entry in entries:
        _print_data_set(entry)
    if any(entry.checksum_ok is False for entry in entries):
        raise click.ClickException("a data set is damaged: remove its files and download it again")


def _print_data_set(entry: Any) -> None:
    if entry.checksum_ok is False:
        state = click.style("damaged, WRONG CHECKSUM", fg="red")
    elif entry.present:
        state = click.style("here, checksums hold", fg="green")
    else:
        state = click.style("absent", fg="yellow")
    click.echo(f"{click.style(entry.name, bold=True)}: {state}")
    click.echo(f"    {entry.description}")
    click.echo(f"    files: {', '.join(map(str, entry.files))}")
    click.echo(f"    from {entry.source}")


@main.command()
@click.argument("claim_id", metavar="ID")
@click.option("--run", "rerun", is_flag=True, help="Run its notebook, and print the new result.")
@_profile("full")
def claim(claim_id: str, rerun: bool, profile: str) -> None:
    """Show a paper's claim, its measured result and protocol, and the cost of a rerun.

    The end of an ID is enough if no other ID ends with it: table3-rf is raj2017/table3-rf. The key
    of a paper, such as raj2017, lists the IDs of its claims.

    With --run, the claim's notebook runs alone, as by 'invariance run' (a full run updates what is
    published under figures/), and the new result is printed as well.
    """
    paths = Paths.find()
    ids = ids_of(paths, claim_id)
    if ids and not rerun:
        click.echo("\n".join(ids))
        return
    row = published(paths, claim_id)
    for name, text in description(paths, row).items():
        click.echo(f"{click.style(f'{name:<9}', bold=True)} {text}")
    if not rerun:
        return
    click.echo(f"\nRunning {row.notebook} ({profile}) ...")
    summary = batch.run_notebooks(paths, [row.notebook], profile=profile, place=Here(1))
    failure = summary.outcomes[0].failure
    if failure:
        raise click.ClickException(failure["message"])
    for name, text in measured(fresh(paths, row, profile)).items():
        click.echo(f"{click.style(f'{name:<9}', bold=True)} {text or '-'}")
    if profile == "quick":
        click.echo("A quick run is no verdict.")


@main.command("scoreboard")
def write_scoreboard() -> None:
    """Write README.md's scoreboard and the pages of figures/ from published results."""
    click.echo(scoreboard.write_scoreboard(Paths.find()))


@main.command()
@click.option(
    "--edition",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file of the ledger's owner, to be compared with notebooks/claims.yml.",
)
@click.option("--strict", is_flag=True, help="Refuse published pictures older than their code.")
def check(edition: Path | None, strict: bool) -> None:
    """Check that ledger, notebooks, stored results and scoreboard agree.

    Published pictures that are older than the code that draws them are named; with --strict they
    are an error, as is whatever cannot be checked here. Claims that wait for a run are named too,
    and are no error: no verdict is counted for them. Nor are results that a change of code since
    their run could have moved, and results in build/ of notebooks that were removed.
    """
    paths = Paths.find()
    remarks = consistency.remarks(paths)
    problems = consistency.problems(paths, edition)
    if strict:
        problems = problems + remarks
    _refuse(problems)
    remarks += consistency.leftovers(paths)
    remarks += consistency.awaiting(paths)
    remarks += consistency.could_have_moved(paths)
    for remark in remarks:
        click.echo(remark)
    click.echo("Ledger, notebooks, stored results and scoreboard agree.")
