"""The contract of a task, as prompts state it: the function to write, the rules, and what a program may use."""

from __future__ import annotations

import ast
from textwrap import indent

from behavesim.task import Task, instances_of

# The sentences of this file stand in prompts: changing one changes what models are asked in every run.
STATELESS = (
    "It must keep nothing between calls: some calls are made again in a fresh process and in another order, and a "
    "program that answers otherwise there is rejected."
)
UNSEEDED = "- Random numbers that it does not seed come out the same each time, so that equal programs score equally."
SEEDED = "- Random numbers must be seeded anew in each call, or its answers depend on the calls before."


def contract(task: Task, timeout_s: float, memory_mb: int) -> str:
    """Return the contract as text. It has no fenced block, since those hold example programs.

    `timeout_s` is the run's limit in CPU seconds for all instances of the search together; `memory_mb` is in MB.
    """
    rules = [task.rules.strip(), *_limits(task, timeout_s, memory_mb)]
    return "\n\n".join(
        [
            f"The function to write is `{task.entry_point}`. It is called like this:",
            indent(_interface(task), "    "),
            "\n".join(["Rules:", *filter(None, rules)]),
        ]
    )


def _interface(task: Task) -> str:
    """Return the entry point's signature and docstring, as the template has them."""
    functions = [node for node in ast.parse(task.template).body if isinstance(node, ast.FunctionDef)]
    function = next(node for node in functions if node.name == task.entry_point)
    returned = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    signature = f"def {function.name}({ast.unparse(function.args)}){returned}"
    return "\n".join(filter(None, [signature, indent(ast.get_docstring(function) or "", "    ")]))


def _limits(task: Task, timeout_s: float, memory_mb: int) -> list[str]:
    count = len(instances_of(task, "search"))
    judged = "one instance" if count == 1 else f"{count} instances, one after another in the same process"
    together, on_any = ("", "") if count == 1 else (" for all of them together", ", on whichever instance")
    return [
        f"- A program is judged on {judged}. {STATELESS if task.stateless else 'What it keeps between calls is kept.'}",
        f"- It has {timeout_s:g} s of CPU time{together}, compiling and imports included, {memory_mb} MB of memory and "
        "one thread. On other instances, which it is tried on later, it has as much time for each.",
        "- It may import the standard library of Python 3.11, numpy, scipy and numba. Files, the network and other "
        "processes are out of its reach.",
        SEEDED if task.stateless else UNSEEDED,
        f"- An exception, a result that breaks a rule, or a limit that is passed loses the program{on_any}.",
        f"- {_objective(task, count)}",
    ]


def _objective(task: Task, count: int) -> str:
    """Return what the score is, which direction is better, and the best known score if there is one."""
    objective = task.objective_on("search")
    mean = ", the mean over the instances," if count > 1 and type(task).mean_score is Task.mean_score else ""
    better = "lower" if objective.direction == "minimise" else "higher"
    known = "" if objective.best_known is None else f"; the best known is {objective.best_known:.7g}"
    return f"The score{mean} is better the {better} it is{known}."
