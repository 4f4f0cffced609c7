"""The program `behavesim`: it imports and runs the command that is named, and prints errors."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from behavesim import __version__
from behavesim.base.errors import NO_FILES, BehavesimError, UsageError, few_files, nearest

from .commands import COMMANDS, EXAMPLES, LISTS, PLAIN, START, Command
from .output import lenient_streams, tell

# The base of the errors that Typer raises for arguments, to which it gives no public name.
USAGE_ERROR = cast(
    "type[Exception]", next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
)


class LazyGroup(TyperGroup):
    """A group of commands; only the one that is named is imported, so that starting stays fast.

    Typer passes Click's objects to these methods and keeps their types private, hence `object` and `Any`.
    """

    table: ClassVar[Mapping[str, Command]]

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of the commands that the help lists, in their order, for Click."""
        return [name for name, command in self.table.items() if command.section]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup:
        """Import and return a command; raises UsageError, with a similar name if there is one, if it is unknown."""
        if cmd_name not in self.table:
            hint = nearest(cmd_name, self.table) or f"`{ctx.command_path} --help` lists them all"
            raise UsageError(f"there is no command {cmd_name!r}; {hint}")
        return _load_command(self.table[cmd_name])

    def format_commands(self, ctx: object, formatter: Any) -> None:
        """Write the list of commands for the help, section by section, without importing any command."""
        listed = [self.table[name] for name in self.list_commands(ctx)]
        for section, commands in groupby(listed, key=lambda command: command.section):
            with formatter.section(section):
                formatter.write_dl([(command.name, command.help) for command in commands])


class ErrorsWithContext:
    """A command or group that is named in all errors about its arguments: Typer does not say whose option lacks its
    value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments for Click; raises its usage errors with their context."""
        try:
            parsed: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except USAGE_ERROR as error:
            cast("Any", error).ctx = ctx
            raise
        return parsed


class OneCommand(ErrorsWithContext, TyperCommand):
    """A command."""


class Lists(ErrorsWithContext, LazyGroup):
    """The group of what `behavesim list` lists besides runs."""

    table = LISTS

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup:
        """Import and return a command as other groups do; a folder is no name of a list."""
        if cmd_name not in self.table and Path(cmd_name).is_dir():
            raise UsageError(f"{cmd_name!r} is a folder; list its runs with --runs-dir {shlex.quote(cmd_name)}")
        return super().get_command(ctx, cmd_name)


class Commands(LazyGroup):
    """The group of all commands."""

    table = COMMANDS

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command that the arguments name, and exit with its code; raises UsageError if one does not fit."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except USAGE_ERROR as error:
            raise _usage_error(error) from None
        gc.freeze()  # else the interpreter would search all objects for garbage once more while it ends
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command for Click; say that it was interrupted unless it says so itself, as `run` does."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # Typer makes the exit code 130 of it, and no line
            tell("interrupted")
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments for Click, `--held-out shifted` read as `--shifted`: an option without a value takes none."""
        # joined by what no argument can hold, so that only whole arguments are replaced
        text = "\0".join(("", *args, "")).replace("\0--held-out=shifted\0", "\0--held-out\0shifted\0")
        read = text.replace("\0--held-out\0shifted\0", "\0--shifted\0")
        return super().parse_args(ctx, read.split("\0")[1:-1])


def _usage_error(error: Any) -> UsageError:
    """Return Click's error as a UsageError: one line, with the command whose help to read."""
    # What pydantic says of a value is put into plain words. For a group without a command, whose help that error holds,
    # prints the help on stderr and exits with code 2.
    from pydantic import ValidationError  # imported late, as the next: only errors need them

    from behavesim.base.text import validation_message

    if isinstance(cause := error.__cause__, ValidationError):  # Typer checks values with pydantic since 0.29
        error.message = validation_message(cause)
    said = error.format_message()
    if said.startswith("Usage:"):
        typer.echo(said, err=True)
        sys.exit(UsageError.exit_code)
    where = "behavesim" if error.ctx is None else error.ctx.command_path
    return UsageError(f"{said[:1].lower()}{said[1:].rstrip('.')}{_lacking(error)}; how it is used: {where} --help")


def _lacking(error: Any) -> str:
    """Return ": a whole number" or ": a number" for Click's error about an option without that value, else ""."""
    name = getattr(error, "option_name", None)
    if name is None or error.ctx is None:
        return ""
    command = error.ctx.command
    types = get_type_hints(command.callback)  # not from Typer's options, which hold them otherwise in each release
    taken = [types[each.name] for each in command.params if name in each.opts]
    kinds = {kind for each in taken for kind in (each, *get_args(each))}
    return ": a whole number" if int in kinds else ": a number" if float in kinds else ""


def _load_command(command: Command) -> TyperCommand | TyperGroup:
    """Import a command's module and return its Typer command, or its group of commands."""
    module, _, name = command.target.partition(":")
    gc.disable()  # loaded modules stay in memory: searching them for garbage would take 10 % of the time
    target = getattr(import_module(f".{module}", __package__), name)
    gc.freeze()
    gc.enable()
    if not isinstance(target, typer.Typer):  # a plain function; a group is a Typer app already
        function, target = target, typer.Typer(**PLAIN)
        settings = {"ignore_unknown_options": command.takes_numbers}
        target.command(command.name, epilog=_examples(command), context_settings=settings)(function)
    for each in target.registered_commands:
        each.cls = OneCommand
    built = typer.main.get_command(target)
    assert isinstance(built, TyperCommand | TyperGroup), "Typer builds commands and groups of its own"
    return built


def _examples(command: Command) -> str | None:
    r"""Return what stands below a command's help, in lines that are not folded (\b): examples, or what is the same."""
    if not command.section:
        return f"The same as: {command.help}"
    lines = "\n".join(f"behavesim {command.name} {example}".rstrip() for example in EXAMPLES.get(command.name, ()))
    return f"\b\nExamples:\n{lines}" if lines else None


app = typer.Typer(
    name="behavesim",
    cls=Commands,
    help="Search for algorithms with language models, and compare programs by what they do.",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    **{**PLAIN, "add_completion": True},
)


def _print_version(wanted: bool) -> None:
    """Print the version and exit with code 0, if `wanted`."""
    if wanted:
        typer.echo(f"behavesim {__version__}")
        raise typer.Exit


@app.callback()
def behavesim(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Declare the options that stand before the name of a command; without a command, say where to start."""
    if ctx.invoked_subcommand is None:
        typer.echo(START)


def main() -> None:
    """Run the command line; a BehavesimError becomes a message on stderr and the error's exit code.

    An interrupt gives the exit code 130. Where no more files can be opened, a line says so, and the exit code is 1. Any
    other error of a command leaves Python's traceback and the exit code 1.
    """
    # read when numpy is loaded: our sums are too small for threads, and OpenBLAS ends a process that may have none
    for library in ("OMP", "OPENBLAS", "MKL", "VECLIB"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with lenient_streams():
        try:
            app(prog_name="behavesim")  # also in messages of `python -m behavesim`
        except BehavesimError as error:
            tell(str(error))
            sys.exit(error.exit_code)
        except OSError as error:
            if error.errno not in NO_FILES:
                raise
            tell(f"{few_files(error)}; a run that had begun goes on with `behavesim resume`")
            sys.exit(BehavesimError.exit_code)
