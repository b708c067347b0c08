"""The command ``invariance``; ``invariance --help`` lists what it can do."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from ..core.parameters import ParameterError
from .claim import duration, fresh, measured, published, told
from .errors import CompanionError, NotebookError
from .ledger import consistency, scoreboard
from .ledger.results import read_status
from .paths import PROFILES, Paths
from .runner import batch
from .runner.places import Here
from .source import may_choose, read_parameters

_COLOURS = {"ok": "green", "interrupted": "yellow"}
_NAMES = click.argument("notebooks", nargs=-1)
_THREADS = click.option("--threads", default=1, show_default=True, help="BLAS threads of each.")


def _out(default: str) -> Callable:
    where = click.Path(path_type=Path)
    return click.option("--out", type=where, help=f"Where. [default: {default}]")


def _profile(default: str) -> Callable:
    kinds = click.Choice(PROFILES)
    return click.option("--profile", type=kinds, default=default, show_default=True)


class _Usage(click.ClickException):
    """A mistake in what was asked: nothing was run."""

    exit_code = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="invariance")
def main() -> None:
    """Run the companion's notebooks, compare with the papers, report."""


def _invoke(ctx: click.Context, invoke: Callable[[click.Context], Any] = main.invoke) -> Any:
    """Errors raised on purpose are printed without a traceback, whatever the command."""
    try:
        return invoke(ctx)
    except OSError as error:  # `OutputError`, and a data set that cannot be had
        if error.errno is not None:  # the system's own, such as a pipe that nobody reads
            raise
        raise click.ClickException(str(error)) from error
    except (CompanionError, ParameterError) as error:
        raise _Usage(str(error)) from error


main.invoke = _invoke  # type: ignore[method-assign]


@main.command()
@click.argument("name")
@_out("./NAME")
def new(name: str, out: Path | None) -> None:
    """Start a companion to a paper of your own, with the key NAME, in a new folder."""
    from .new import start_companion

    folder = out or Path(name)
    for path in start_companion(name, folder):
        click.echo(path)
    click.echo(f"Next: cd {folder} && make report")


@main.command("list")
@_NAMES
def list_notebooks(notebooks: tuple[str, ...]) -> None:
    """Notebooks, their parameters with types and defaults, last status and duration."""
    paths = Paths.find()
    for notebook in paths.select(notebooks):
        found = {p: read_status(paths.output(notebook, p), notebook)[0] for p in PROFILES}
        states = [f"{p}: {s['status']}, {duration(s['duration_s'])}" for p, s in found.items() if s]
        click.secho(notebook, bold=True, nl=False)
        click.echo(f"  [{'; '.join(states) or 'never run'}]")
        try:
            for p in read_parameters(paths.source(notebook)).values():
                comment = f"  # {p.help}" if p.help else ""
                click.echo(f"    {p.name}: {p.type} = {p.default!r}{comment}")
        except NotebookError as error:
            click.secho(f"    {error}", fg="red")


@main.command()
@_NAMES
@_profile("quick")
@click.option("-p", "given", nargs=2, multiple=True, metavar="NAME VALUE",
              help="A parameter of the notebooks, written as in Python; repeatable.")  # fmt: skip
@click.option("--jobs", type=int, help="Notebooks at a time. [default: cores / threads]")
@_THREADS
@click.option("--deadline", type=float, help="Seconds for each. [default: 900; full: 86400]")
@click.option("--resume", is_flag=True, help="Skip what ran with the same text, code, versions.")
def run(notebooks: tuple[str, ...], given: tuple[tuple[str, str], ...], **options: Any) -> None:
    """Run papers (PAPER), notebooks (PAPER/NAME) or, without a name, everything.

    Exit status: 0 if every notebook succeeded, 1 if one failed, 2 if something asked for does
    not exist, 130 if interrupted.
    """
    paths = Paths.find()
    parameters = dict(given)
    options["profile"] = parameters.pop("profile", options["profile"])
    if options["jobs"] is None:  # no more threads than cores
        options["jobs"] = max(1, cpu_count() // max(1, options["threads"]))
    _run(paths, paths.select(notebooks), "succeeded", parameters=parameters, **options)


@main.command()
@_NAMES
@_profile("full")
@click.option("--jobs", default=1, show_default=True, help="Notebooks at a time.")
@_THREADS
def choose(notebooks: tuple[str, ...], **options: Any) -> None:
    """Choose the settings of notebooks, with seed 0 and without test data.

    At full scale they become notebooks/settings/<paper>/<name>.yml, which is committed: a part of
    the protocol that 'invariance run' measures. Without a name, every notebook that chooses.
    """
    paths = Paths.find()
    named = paths.select(notebooks)
    if not notebooks:
        named = [notebook for notebook in named if may_choose(paths.source(notebook))]
    _run(paths, named, "have chosen", choosing=True, **options)


def _run(paths: Paths, notebooks: list[str], done: str, *, jobs: int, **options: Any) -> None:
    """Run notebooks and tell how each ends."""

    def tell(outcome: batch.Outcome) -> None:
        state = "kept" if outcome.resumed else outcome.status
        click.secho(f"{state:<11}", fg=_COLOURS.get(outcome.status, "red"), nl=False)
        click.echo(f"  {outcome.notebook:<40}  {duration(outcome.duration_s)}")

    summary = batch.run_notebooks(paths, notebooks, place=Here(jobs), tell=tell, **options)
    for outcome in summary.outcomes:
        failure = outcome.failure
        if failure and outcome.status != "interrupted":
            click.secho(f"\n{outcome.notebook}: {failure['message']}", fg="red", err=True)
            if source := str(failure["cell_source"] or "").splitlines():
                cut = [f"... {len(source) - 12} more lines"] if source[12:] else []
                said = [f"  in cell {failure['cell_index']}:", *source[:12], *cut]
                click.echo("\n    ".join(said), err=True)
    finished = sum(outcome.status == "ok" for outcome in summary.outcomes)
    profile, choosing = options["profile"], options.get("choosing")
    where = f"({profile}); results in {paths.build / ('choosing/' * bool(choosing) + profile)}"
    click.echo(f"{finished} of {len(notebooks)} notebooks {done} {where}")
    if summary.interrupted:
        click.echo("Interrupted: finished notebooks are kept; --resume goes on from here.")
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

    index, found = build_site(Paths.find(), out, profile=profile)
    click.echo(f"Open {index}")
    _refuse(found, "; everything else is shown")


def _refuse(problems: list[str], more: str = "") -> None:
    for problem in problems:
        click.secho(f"- {problem}", fg="red", err=True)
    if problems:
        raise click.ClickException(f"{len(problems)} problem(s){more}")


@main.command()
@_out("build/report.pdf")
def pdf(out: Path | None) -> None:
    """Print the published results as a paper of some pages; needs Chromium."""
    from .site.build import write_pdf

    click.echo(write_pdf(Paths.find(), out))


@main.command()
@click.option("--download", "wanted", multiple=True, metavar="NAME", help="Download a data set.")
def data(wanted: tuple[str, ...]) -> None:
    """Which data sets are here, from where, and whether their checksums hold."""
    from ..datasets import available, download

    known = sorted(entry.name for entry in available())
    for name in wanted:
        if name not in known:
            raise _Usage(f"unknown data set {name!r}: {', '.join(known)}")
        click.echo(f"Downloading {name} ...")
        download(name)
    damaged = False
    for entry in sorted(available(), key=lambda entry: entry.name):
        state, colour = ("here, checksums hold", "green") if entry.present else ("absent", "yellow")
        if entry.checksum_ok is False:
            state, colour, damaged = "damaged, WRONG CHECKSUM", "red", True
        click.echo(f"{click.style(entry.name, bold=True)}: {click.style(state, fg=colour)}")
        click.echo(f"    {entry.description}\n    files: {', '.join(map(str, entry.files))}")
        click.echo(f"    from {entry.source}")
    if damaged:
        raise click.ClickException("a data set is damaged: remove its files and download it again")


@main.command()
@click.argument("claim_id", metavar="ID")
@click.option("--run", "again", is_flag=True, help="Run its notebook, and show what came out.")
@_profile("full")
def claim(claim_id: str, again: bool, profile: str) -> None:
    """What a paper claims, what was measured for it, by which protocol, and what a rerun costs.

    With --run, the claim's notebook runs alone, as of 'invariance run' (a full run updates what is
    published under figures/), and what it gives is printed beside.
    """
    paths = Paths.find()
    row = published(paths, claim_id)
    for name, text in told(paths, row).items():
        click.echo(f"{click.style(f'{name:<9}', bold=True)} {text}")
    if again:
        click.echo(f"\nRunning {row.notebook} ({profile}) ...")
        summary = batch.run_notebooks(paths, [row.notebook], profile=profile, place=Here(1))
        if failure := summary.outcomes[0].failure:
            raise click.ClickException(failure["message"])
        for name, text in measured(fresh(paths, row, profile)).items():
            click.echo(f"{click.style(f'{name:<9}', bold=True)} {text or '-'}")
        click.echo("A quick run is no verdict." if profile == "quick" else "")


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
    """Do ledger, notebooks, stored results and scoreboard agree?

    Published pictures that are older than the code that draws them are named; with --strict they
    are an error, as is whatever cannot be checked here.
    """
    paths = Paths.find()
    remarks = consistency.remarks(paths)
    _refuse(consistency.problems(paths, edition) + remarks * strict)
    for remark in remarks:
        click.echo(remark)
    click.echo("Ledger, notebooks, stored results and scoreboard agree.")
