"""The generated pages of docs/reference, by name: an introduction, which people write, and what the code says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import groupby
from json import loads
from pathlib import Path
from typing import Any, get_args

import typer
from behavesim_cli.app import app
from behavesim_cli.commands import COMMANDS

import behavesim as bs
from behavesim.base.config import BUDGET_DEFAULTS, describe_settings
from behavesim.state.settings import owners
from behavesim.task import Task, TaskReference, installed_tasks
from behavesim.task.task import TaskKind
from tests.prompts.page import page as prompts
from tests.reference.documents import documents
from tests.reference.events import events, summary
from tests.reference.tables import table
from tests.reference.views import views

INTRODUCTIONS = Path(__file__).parent / "introductions"


def introduced(name: str, *parts: str) -> str:
    """A page: its introduction, then parts."""
    return "\n\n".join([(INTRODUCTIONS / f"{name}.md").read_text().strip(), *parts]) + "\n"


def commands() -> str:
    """All commands by section, then the names that the help does not list, then the help of each."""
    listed = [each for each in COMMANDS.values() if each.section]
    sections = groupby(listed, key=lambda command: command.section)
    lists = [
        f"## {section}\n\n" + table(("command", "does"), ((f"`behavesim {each.name}`", each.help) for each in rows))
        for section, rows in sections
    ]
    others = [each for each in COMMANDS.values() if not each.section]
    same = ((f"`behavesim {each.name}`", re.sub(r"^behavesim.*", r"`\g<0>`", each.help)) for each in others)
    lists.append("## Not listed in the help\n\n" + table(("command", "is the same as"), same))
    return introduced("commands", *lists, "## All options", *(f"### {name}\n\n{text}" for name, text in helps()))


def helps() -> Iterable[tuple[str, str]]:
    """The help of each command and of each command of a group, in a fenced block."""
    group: Any = typer.main.get_command(app)
    context = context_of("behavesim", group)
    for name in (*group.list_commands(context), "study"):
        command = group.get_command(context, name)
        inner = command.list_commands(context) if hasattr(command, "list_commands") else []
        found = {f"{name} {child}": command.get_command(context, child) for child in inner}
        for full, each in (found if name != "list" else {name: command, **found}).items() or [(name, command)]:
            yield f"behavesim {full}", f"```text\n{each.get_help(context_of(f'behavesim {full}', each)).strip()}\n```"


def context_of(name: str, command: Any) -> Any:
    """The context in which a command's help is 80 columns wide, wherever it is asked for."""
    return command.make_context(name, [], resilient_parsing=True, terminal_width=80, max_content_width=80)


def settings() -> str:
    """Every setting by its owner."""
    found = [(owner.name, describe_settings(owner.options)) for owner in owners(None, None) if owner.options]
    return introduced(
        "settings",
        budget_defaults(),
        *(
            f"## Of {owner}\n\n"
            + table(
                ("setting", "default", "what it does"),
                ((f"`{name}`", f"`{default}`" if default else "", text) for name, default, text in rows),
            )
            for owner, rows in found
        ),
    )


# The budgets (candidates) of the table.
BUDGETS = (10, 30, 100, 300, 1000, 2000)


def budget_defaults() -> str:
    """The settings whose defaults depend on the budget, with their values and the reason."""
    head = ("setting", *(f"{budget:,}" for budget in BUDGETS), "why")
    rows = []
    for each in BUDGET_DEFAULTS:
        declared = max(
            owner.options.model_fields[each.setting].default
            for owner in owners(None, None)
            if owner.options and each.setting in owner.settings
        )
        values = (str(each.value(budget, declared)) for budget in BUDGETS)
        rows.append((f"`{each.setting}`", *values, each.reason))
    return "\n\n".join([(INTRODUCTIONS / "budget.md").read_text().strip(), table(head, rows)])


def python() -> str:
    """Every public name with what it is, then its signature and docstring, which mkdocstrings writes into the site."""
    homes: Mapping[str, str] = import_module("behavesim").__dict__["_HOMES"]
    names = sorted(bs.__all__, key=str.lower)
    rows = ((f"`bs.{name}`", summary(getattr(bs, name))) for name in names)
    parts = (f"::: behavesim.{homes[name]}.{name}\n    options:\n      heading_level: 3" for name in names)
    return introduced("python", table(("name", "is"), rows), "## Signatures", *parts)


def json() -> str:
    """The documents that commands print with `--json`."""
    return introduced("json", documents())


def sql() -> str:
    """The tables and views of a journal."""
    return introduced("sql", views())


def files() -> str:
    """The files of a run's folder, and the events in its journal."""
    return introduced("files", events())


def tasks() -> str:
    """The installed tasks by kind, with what a person chooses by."""
    found = {name: TaskReference(name).load() for name in installed_tasks()}
    kinds = {kind: [name for name in found if found[name].kind == kind] for kind in get_args(TaskKind)}
    head = ("task", "what it asks for", "function", "search instances", "score", "best known", "used by", "also")
    return introduced(
        "tasks",
        *(
            f"## {kind.capitalize()}\n\n" + table(head, (described_task(name, found[name]) for name in names))
            for kind, names in kinds.items()
            if names
        ),
        "## Work behind best known scores\n\n"
        + table(("task", "instances", "least CPU seconds on one", "most"), work_behind_best_known()),
    )


def work_behind_best_known() -> Iterator[tuple[str, ...]]:
    """The rows of tasks whose best known scores `benchmarks.best_known` found."""
    file = Path(__file__).parents[1] / "tasks" / "best_known.json"
    for name, splits in loads(file.read_text()).items():
        spent = [each["cpu_s"] for solutions in splits.values() for each in solutions]
        yield f"`{name}`", str(len(spent)), f"{min(spent)}", f"{max(spent)}"


def described_task(name: str, task: Task) -> tuple[str, ...]:
    """The cells of a task's row."""
    known, source = task.objective.best_known, task.objective.source
    score = f"{task.objective.unit or 'score'}, {task.objective.direction}d"
    best = "" if known is None else f"{known:.6g} ({source})"
    asks = task.description.splitlines()[0]
    sizes = [f"`{name}:{size}`" for size in task.sizes]
    also = "; ".join([*sizes, *([f"shifted: {task.shifted}"] if task.shifted else [])])
    return f"`{name}`", asks, f"`{task.entry_point}`", task.search_size, score, best, task.used_by, also


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "settings": settings,
    "python": python,
    "json": json,
    "sql": sql,
    "files": files,
    "prompts": prompts,
    "tasks": tasks,
}
