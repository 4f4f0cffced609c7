"""The table of commands: for each its name, the place of its function, and its line in `behavesim --help`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """The heading in `behavesim --help` below which it is listed."""
    help: str
    """A line of at most 64 characters, so that it is never cut on a terminal of 80."""
    takes_numbers: bool = False
    """Whether options that the command does not have are passed on as arguments, so that -1 can name the template."""


# The commands by name, in the order of `behavesim --help`; those of one section stand together.
COMMANDS = {
    command.name: command
    for command in (
        Command("run", "run:run", "Search", "Search for a program; resumable at any moment."),
        Command("resume", "run:resume", "Search", "Go on with a run from its last event."),
        Command("inject", "run:inject", "Search", "Put programs of your own into a run."),
        Command("advise", "run:advise", "Search", "Add an instruction to all further prompts of a run."),
        Command("watch", "runs:watch", "Search", "Follow a run from another terminal until it ends."),
        Command("experiment", "experiment:experiment", "Search", "Make many runs, or those missing, and compare them."),
        Command("demo", "runs:demo", "Results", "Play back a recorded search by a language model, without a key."),
        Command("list", "list:list_runs", "Results", "List the runs of a folder, oldest first."),
        Command("report", "report:report", "Results", "Summary, best programs, islands, clusters; compare runs."),
        Command("serve", "runs:serve", "Results", "Show runs in a browser, while they go on."),
        Command("show", "runs:show", "Results", "Show a program of a run, and all that is known of it.", True),
        Command("diff", "runs:diff", "Results", "Show how two programs of a run differ in text and behaviour.", True),
        Command("export", "runs:export", "Results", "Write the programs of a run as files and JSON lines."),
        Command("recommend", "recommend:recommend", "Results", "Choose a program of a run on validation instances."),
        Command("verify", "verify:verify", "Results", "Derive a run again, and name the first difference."),
        Command("recover", "verify:recover", "Results", "Make a new run from what can be read of a damaged one."),
        Command("study", "study:study", "Results", "The paper's tables and figures: its numbers beside ours."),
        Command("evaluate", "evaluate:evaluate", "Programs", "Score programs in the sandbox."),
        Command("compare", "evaluate:compare", "Programs", "Compare programs by what they do (BehaveSim)."),
        Command("tasks", "tasks:tasks", "Set-up", "List the installed tasks."),
        Command("methods", "setup:methods", "Set-up", "List the installed search methods."),
        Command("proposers", "setup:proposers", "Set-up", "List the installed proposers."),
        Command("evaluators", "tasks:evaluators", "Set-up", "List the kinds of evaluators that are understood."),
        Command("task", "tasks:task", "Set-up", "Write (init) and examine (check) a task of your own."),
        Command("method", "setup:method", "Set-up", "Write (init) and examine (check) a method of your own."),
        Command("settings", "setup:settings", "Set-up", "List every setting that --set and --config take."),
        Command("doctor", "setup:doctor", "Set-up", "Check key, endpoint, models, cores and sandbox."),
    )
}

# What `behavesim` prints without a command, in lines of at most 80 characters.
START = """\
Search for algorithms with language models; compare programs by what they do.

Begin here:
  behavesim run tsp --budget 300  a first search: half a minute, no key, no cost
  behavesim report                what it found, and what to do next
  behavesim demo                  a search by a language model, recorded
  behavesim tasks                 problems to try (also: methods, proposers)
  behavesim task init mine        a task of your own
  behavesim doctor                are this machine and a model ready for it

behavesim --help lists all commands; behavesim COMMAND --help explains one."""

# Examples of arguments by command name; they are listed below the command's help.
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "run": (
        "tsp --budget 300",
        "tsp --model gpt-6-luna --max-cost 5",
        "knapsack.py --method niche --seed 1 --dry-run",
        "tsp --set timeout_s=10 --set p_s1=0.25",
    ),
    "resume": ("", "first --max-cost 10", "first --fork second --set temperature=1.2"),
    "inject": ("first mine.py",),
    "advise": ('first "Try a k-d tree for the neighbours."', "first --clear"),
    "experiment": ("study.toml --dry-run", "study.toml --jobs 2"),
    "report": ("", "first --held-out", "first --only top,islands", "first second third --csv tables"),
    "show": ("first 12", "first best", "first 12 --prompt --reply"),
    "diff": ("first template best",),
    "export": ("first programs", "first programs --all"),
    "evaluate": ("tsp template mine.py", "tsp mine.py --held-out --json"),
    "compare": ("tsp template first.py second.py --figure likeness.svg",),
}
