"""List the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from privtrace.cli.demo import demo
from privtrace.cli.evaluating import evaluate, explain
from privtrace.cli.files import check, convert
from privtrace.cli.modeling import fit, generate, synth
from privtrace.cli.screen import guarded
from privtrace.cli.showing import export, inspect, report
from privtrace.cli.spending import ledger, plan

# The library loads a compiler; commands import it when they run, so that --help answers at once.

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the boxes of rich cut long option names
    help="Publish movement data as synthetic trajectories, under pure epsilon-differential privacy.",
)

for _command in (
    plan,
    fit,
    generate,
    synth,
    inspect,
    report,
    export,
    ledger,
    evaluate,
    explain,
    convert,
    check,
    demo,
):
    app.command()(guarded(_command))


@app.command(name="help")
def show_help(command: Annotated[str | None, typer.Argument(help="A command.")] = None) -> None:
    """Show what a command does, with examples to paste."""
    app([*([command] if command else []), "--help"], prog_name="privtrace")


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version.")] = False,
) -> None:
    """Show the version."""
    if show:
        from importlib.metadata import version as installed

        typer.echo(f"privtrace {installed('privtrace')}")
        raise typer.Exit
