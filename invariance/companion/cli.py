"""The command ``invariance``; ``invariance --help`` lists what it can do."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from invariance.companion.errors import CompanionError, NotebookError, OutputError
from invariance.companion.ledger import consistency, scoreboard
from invariance.companion.ledger.results import read_status
from invariance.companion.parameters import read_parameters
from invariance.companion.paths import PROFILES, Paths
from invariance.companion.runner import batch
from invariance.companion.runner.places import Here
from invariance.core.parameters import ParameterError

_COLOURS = {"ok": "green", "interrupted": "yellow"}


_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where the pages go. [default: build/report]",
)


class _Usage(click.ClickException):
    """A mistake in what was asked: nothing was run."""

    exit_code = 2


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="invariance")
def main() -> None:
    """Run the companion's notebooks, compare with the papers, report."""


def _invoke(ctx: click.Context, invoke: Callable[[click.Context], Any] = main.invoke) -> Any:
    """Errors raised on purpose are printed without a traceback, whatever the command."""
    try:
        return invoke(ctx)
    except OutputError as error:
        raise click.ClickException(str(error)) from error
    except (CompanionError, ParameterError) as error:
        raise _Usage(str(error)) from error


main.invoke = _invoke  # type: ignore[method-assign]


@main.command()
@click.argument("name")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Where. [default: ./NAME]"
)
def new(name: str, out: Path | None) -> None:
    """Start a companion to a paper of your own, with the key NAME, in a new folder."""
    from invariance.companion.new import start_companion

    folder = out or Path(name)
    for path in start_companion(name, folder):
        click.echo(path)
    click.echo(f"Next: cd {folder} && make report")


@main.command("list")
@click.argument("notebooks", nargs=-1)
def list_notebooks(notebooks: tuple[str, ...]) -> None:
    """Notebooks, their parameters with types and defaults, last status and duration."""
    paths = Paths.find()
    for notebook in paths.select(notebooks):
        states = []
        for profile in PROFILES:
            status = read_status(paths.output(notebook, profile), notebook)[0]
            if status:
                states.append(f"{profile}: {status['status']}, {_duration(status['duration_s'])}")
        click.secho(notebook, bold=True, nl=False)
        click.echo(f"  [{'; '.join(states) or 'never run'}]")
        try:
            parameters = read_parameters(paths.source(notebook))
        except NotebookError as error:
            click.secho(f"    {error}", fg="red")
            continue
        for p in parameters.values():
            comment = f"  # {p.help}" if p.help else ""
            click.echo(f"    {p.name}: {p.type} = {p.default!r}{comment}")


@main.command()
@click.argument("notebooks", nargs=-1)
@click.option("--profile", default="quick", show_default=True, help="quick or full.")
@click.option(
    "-p",
    "--parameter",
    "given",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="A parameter of the notebooks, written as in Python; repeatable.",
)
@click.option("--jobs", type=int, help="Notebooks at a time. [default: cores / threads]")
@click.option(
    "--resume",
    is_flag=True,
    help="Skip notebooks that succeeded with the same text, parameters, code, versions.",
)
@click.option("--threads", type=int, default=1, show_default=True, help="BLAS threads of each.")
@click.option(
    "--deadline",
    type=float,
    metavar="SECONDS",
    help="Kill a notebook after this time. [default: 900; full: 86400]",
)
def run(notebooks: tuple[str, ...], given: tuple[tuple[str, str], ...], **options: Any) -> None:
    """Run papers (PAPER), notebooks (PAPER/NAME) or, without a name, everything.

    A notebook that is killed while others run, for want of memory perhaps, is tried once more
    alone.

    Exit status: 0 if every notebook succeeded, 1 if one failed, 2 if something asked for does
    not exist, 130 if interrupted.
    """
    paths = Paths.find()
    chosen = paths.select(notebooks)
    parameters = dict(given)
    options["profile"] = parameters.pop("profile", options["profile"])
    jobs = options.pop("jobs")
    if jobs is None:  # no more threads than cores
        jobs = max(1, cpu_count() // max(1, options["threads"]))

    def tell(outcome: batch.Outcome) -> None:
        state = "kept" if outcome.resumed else outcome.status
        click.secho(f"{state:<11}", fg=_COLOURS.get(outcome.status, "red"), nl=False)
        click.echo(f"  {outcome.notebook:<40}  {_duration(outcome.duration_s)}")

    summary = batch.run_notebooks(
        paths, chosen, parameters=parameters, place=Here(jobs), tell=tell, **options
    )
    for outcome in summary.outcomes:
        failure = outcome.failure
        if failure is None or outcome.status == "interrupted":
            continue
        click.secho(f"\n{outcome.notebook}: {failure['message']}", fg="red", err=True)
        if failure["cell_source"]:
            source = str(failure["cell_source"]).splitlines()
            shown = source[:12] + ([f"... {len(source) - 12} more lines"] if source[12:] else [])
            told = [f"  in cell {failure['cell_index']}:", *(f"    {line}" for line in shown)]
            click.echo("\n".join(told), err=True)
    finished = sum(outcome.status == "ok" for outcome in summary.outcomes)
    click.echo(
        f"{finished} of {len(chosen)} notebooks succeeded ({options['profile']}); "
        f"results in {paths.build / options['profile']}"
    )
    if summary.interrupted:
        click.echo("Interrupted: finished notebooks are kept; --resume goes on from here.")
    sys.exit(summary.exit_code)


@main.command()
@click.argument("notebooks", nargs=-1)
@click.option("--profile", type=click.Choice(PROFILES), default="full", show_default=True)
@click.option("--jobs", type=int, default=1, show_default=True, help="Notebooks at a time.")
@click.option("--threads", type=int, default=1, show_default=True, help="BLAS threads of each.")
def choose(notebooks: tuple[str, ...], profile: str, jobs: int, threads: int) -> None:
    """Choose the settings of notebooks, with seed 0 and without test data.

    At full scale they become notebooks/settings/<paper>/<name>.yml, which is committed: a part of
    the protocol that 'invariance run' measures. Without a name, every notebook that chooses.

    Exit status: 0 if every stage ended, 1 if one failed, 2 if something asked for does not exist.
    """
    from invariance.companion.runner import choosing

    paths = Paths.find()
    named = paths.select(notebooks)
    if not notebooks:
        named = [notebook for notebook in named if choosing.chooses(paths, notebook)]

    def tell(notebook: str, seconds: float, fault: str) -> None:
        click.secho("failed" if fault else "chosen", fg="red" if fault else "green", nl=False)
        click.echo(f"  {notebook:<40}  {_duration(seconds)}")
        if fault:
            click.echo(fault, err=True)

    failed = choosing.choose(paths, named, profile=profile, jobs=jobs, threads=threads, tell=tell)
    click.echo(f"{len(named) - failed} of {len(named)} notebooks have chosen ({profile})")
    sys.exit(int(failed > 0))


@main.command()
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="quick",
    show_default=True,
    help="Which runs to show.",
)
@_OUT
def report(profile: str, out: Path | None) -> None:
    """Build the site from published results and from this machine's runs."""
    _build_site(out, profile)


@main.command()
@_OUT
def site(out: Path | None) -> None:
    """Build the site from published results alone: no notebook needs to have run."""
    _build_site(out, None)


def _build_site(out: Path | None, profile: str | None) -> None:
    from invariance.companion.site.build import build_site

    index, problems = build_site(Paths.find(), out, profile=profile)
    for problem in problems:
        click.secho(f"- {problem}", fg="red", err=True)
    click.echo(f"Open {index}")
    if problems:
        raise click.ClickException(f"{len(problems)} problem(s); everything else is shown")


@main.command()
def pages() -> None:
    """Write figures/README.md and a page per notebook there, for a forge's browser."""
    from invariance.companion.site.forge import write_pages

    for path in write_pages(Paths.find()):
        click.echo(path)


@main.command()
@click.option("--download", "wanted", multiple=True, metavar="NAME", help="Download a data set.")
def data(wanted: tuple[str, ...]) -> None:
    """Which data sets are here, from where, and whether their checksums hold."""
    from invariance.datasets import DataError, available, download

    sets = {entry.name: entry for entry in available()}
    for name in wanted:
        if name not in sets:
            raise _Usage(f"unknown data set {name!r}: {', '.join(sorted(sets))}")
        click.echo(f"Downloading {name} from {sets[name].source} ...")
        try:
            download(name)
        except DataError as error:
            raise click.ClickException(str(error)) from error
    if wanted:
        sets = {entry.name: entry for entry in available()}
    for name, entry in sorted(sets.items()):
        if entry.checksum_ok is False:
            state, colour = "damaged, WRONG CHECKSUM", "red"
        elif not entry.present:
            state, colour = "absent", "yellow"
        else:
            state, colour = "here, checksums hold", "green"
        click.secho(name, bold=True, nl=False)
        click.echo(": ", nl=False)
        click.secho(state, fg=colour)
        click.echo(f"    {entry.description}")
        click.echo(f"    files: {', '.join(map(str, entry.files))}")
        click.echo(f"    from {entry.source}")
    if any(entry.checksum_ok is False for entry in sets.values()):
        raise click.ClickException("a data set is damaged: remove its files and download it again")


@main.command("scoreboard")
def write_scoreboard() -> None:
    """Write README.md's scoreboard, figures/FAILURES.md and PROTOCOLS.md from published results."""
    click.echo(scoreboard.write_scoreboard(Paths.find()))


@main.command()
def check() -> None:
    """Do ledger, notebooks, stored results and scoreboard agree?"""
    paths = Paths.find()
    found = consistency.problems(paths)
    for problem in found:
        click.secho(f"- {problem}", fg="red")
    if found:
        raise click.ClickException(f"{len(found)} problem(s)")
    click.echo("Ledger, notebooks, stored results and scoreboard agree.")
