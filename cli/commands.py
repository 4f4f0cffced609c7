"""The tables of commands: for each its name, the place of its function, and its line in `behavesim --help`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# Arguments of every Typer app here: help is plain text, `main` prints errors, and only the top app has shell
# completion.
PLAIN: Mapping[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


@dataclass(frozen=True)
class Command:
    """A command of `behavesim`."""

    name: str
    target: str
    """The `module:name`, in this package, of its function, or of the Typer app of a group of commands."""
    section: str
    """The heading in `behavesim --help` below which it is listed; "" if it is not listed."""
    help: str
    """A line of at most 64 characters, so that a terminal of 80 columns cuts none; of an old name, what is the same."""
    takes_numbers: bool = False
    """Whether options that the command does not have are passed on as arguments, so that -1 can name the template."""


# What `behavesim list` lists besides runs. Each was a command of its own, and can still be called so.
LISTS = {
    command.name: command
    for command in (
        Command("tasks", "tasks:tasks", "Besides runs", "List the installed tasks."),
        Command("methods", "setup:methods", "Besides runs", "List the installed search methods."),
        Command("proposers", "setup:proposers", "Besides runs", "List the installed proposers."),
        Command("evaluators", "tasks:evaluators", "Besides runs", "List the kinds of evaluators that are understood."),
        Command("settings", "setup:settings", "Besides runs", "List every setting that --set and --config take."),
    )
}

# The commands by name, in the order of `behavesim --help`; those of one section stand together. Behind them come those
# that it does not list: old names, and the door to the research.
COMMANDS = {
    command.name: command
    for command in (
        Command("run", "run:run", "Search", "Search for a program; resumable at any moment."),
        Command("resume", "run:resume", "Search", "Go on with a run from its last event."),
        Command("steer", "run:steer", "Search", "Put programs of your own, or advice, into a run."),
        Command("mcp", "mcp:mcp", "Search", "Let coding assistants write the programs of a run (MCP)."),
        Command("experiment", "experiment:experiment", "Search", "Make many runs, or those missing, and compare them."),
        Command("list", "list:app", "Results", "List runs; or tasks, methods, proposers, settings."),
        Command("report", "report:report", "Results", "Sum up a run, follow it, or compare several."),
        Command("serve", "runs:serve", "Results", "Show runs in a browser, while they go on."),
        Command("show", "runs:show", "Results", "Show a program of a run, or how two of them differ.", True),
        Command("note", "runs:note", "Results", "Note something on a run, which reports and lists show."),
        Command("export", "runs:export", "Results", "Write the programs of a run as files and JSON lines."),
        Command("recommend", "recommend:recommend", "Results", "Choose a program of a run on validation instances."),
        Command("verify", "verify:verify", "Results", "Derive a run again, or salvage a damaged one."),
        Command("demo", "runs:demo", "Results", "Play back a recorded search by a language model, without a key."),
        Command("evaluate", "evaluate:evaluate", "Programs", "Score programs in the sandbox."),
        Command("similarity", "evaluate:similarity", "Programs", "Compare programs by what they do (BehaveSim)."),
        Command("tune", "tune:tune", "Programs", "Tune the numbers of a program, without a model."),
        Command("task", "tasks:task", "Set-up", "Write (init) and examine (check) a task of your own."),
        Command("method", "setup:method", "Set-up", "Write (init) and examine (check) a method of your own."),
        Command("doctor", "setup:doctor", "Set-up", "Check key, endpoint, models, cores and sandbox."),
        Command("study", "study:study", "", "the paper's tables, and the research (docs/explanation/study.md)"),
        Command("advise", "run:advise", "", "behavesim steer RUN SENTENCE"),
        Command("compare", "evaluate:similarity", "", "behavesim similarity"),
        Command("diff", "runs:show", "", "behavesim show RUN A B", True),
        Command("inject", "run:inject", "", "behavesim steer RUN FILE..."),
        Command("recover", "verify:recover", "", "behavesim verify RUN --salvage"),
        Command("watch", "runs:watch", "", "behavesim report RUN --follow"),
        *(replace(each, section="", help=f"behavesim list {each.name}") for each in LISTS.values()),
    )
}

# What `behavesim` prints without a command, in lines of at most 80 characters.
START = """\
Search for algorithms with language models; compare programs by what they do.

Begin here:
  behavesim run tsp --budget 300  a first search: half a minute, no key, no cost
  behavesim report                what it found, and what to do next
  behavesim demo                  a search by a language model, recorded
  behavesim list tasks            problems to try (also: methods, proposers)
  behavesim task init mine        a task of your own
  behavesim doctor                are this machine and a model ready for it

behavesim --help lists the commands; behavesim COMMAND --help explains one."""

# Examples of arguments by command name; they are listed below the command's help.
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "run": (
        "tsp --budget 300",
        "tsp --model gpt-6-luna --max-cost 5",
        "knapsack.py --method niche --seed 1 --dry-run",
        "tsp --set timeout_s=10 --set p_s1=0.25",
    ),
    "resume": ("", "first --max-cost 10", "first --fork second --set temperature=1.2"),
    "steer": ("first mine.py", 'first "Try a k-d tree for the neighbours."', "first --clear"),
    "mcp": ("tsp --budget 50 --name mine", "mine", "tsp --port 8437 --name mine"),
    "experiment": ("study.toml --dry-run", "study.toml --jobs 2"),
    "report": ("", "first --follow", "first --held-out", "first --only top,islands", "first second third --csv tables"),
    "show": ("first 12", "first best --prompt --reply", "first template best"),
    "note": ('first "candidate 12 is 2-opt: try Or-opt next"', "first"),
    "export": ("first programs", "first programs --all"),
    "evaluate": ("tsp template mine.py", "tsp mine.py --held-out --json"),
    "similarity": ("tsp template first.py second.py --figure likeness.svg",),
    "tune": ("tsp mine.py", "tsp mine.py --evaluations 500 --json"),
}
