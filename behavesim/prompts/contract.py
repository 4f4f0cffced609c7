"""The contract of a task, as prompts state it: the function to write, the rules, and what a program may use."""

from __future__ import annotations

import ast
from textwrap import indent

from behavesim.programs.functions import functions_in, signature
from behavesim.task import Task, instances_of
from behavesim.task.evaluated import EvaluatorTask

# The sentences of this file stand in prompts: changing one changes what models are asked in every run.
STATELESS = (
    "It must keep nothing between calls: some are repeated in a fresh process and another order (not timed); a program "
    "that answers otherwise there is rejected."
)
UNSEEDED = "- Random numbers that it does not seed come out the same each time, so that equal programs score equally."
SEEDED = "- Random numbers must be seeded anew in each call, or its answers depend on the calls before."


def contract(task: Task, timeout_s: float, memory_mb: int) -> str:
    """Return what a task asks of a program: how the function is called, the task's rules and the run's limits.

    For programs that are whole texts it is the rules and limits alone. The function is shown indented, not in a fenced
    block, since those hold example programs. `timeout_s` is the limit in CPU seconds for all instances of the search
    together; `memory_mb` is in MB. Raises TaskError if the instances cannot be made.
    """
    if isinstance(task, EvaluatorTask):
        rules = _evaluator_rules(task, timeout_s, memory_mb)
        if not task.calls_a_function:
            return "\n".join(["Rules:", *rules])
    else:
        rules = [task.rules.strip(), *_limits(task, timeout_s, memory_mb)]
    return "\n\n".join(
        [
            f"The function to write is `{task.entry_point}`. It is called like this:",
            indent(_interface(task), "    "),
            "\n".join(["Rules:", *filter(None, rules)]),
        ]
    )


def _evaluator_rules(task: EvaluatorTask, timeout_s: float, memory_mb: int) -> list[str]:
    """Return the rules for programs that an evaluator runs, one a line; the arguments are those of `contract`."""
    has_blocks, thresholds = "EVOLVE-BLOCK-START" in task.template, task.file.thresholds
    passing = " and ".join(f"at least {least:g} in stage {stage}" for stage, least in enumerate(thresholds, 1))
    is_python = ".py" in task.template if not task.suffix else task.suffix == ".py"
    rules = [
        _judged(task),
        "Only text between a line with EVOLVE-BLOCK-START and its EVOLVE-BLOCK-END may change; all other text is put "
        "back as it was."
        if has_blocks
        else "",
        f"The evaluation has stages: to be evaluated to the end, a program needs {passing}." if thresholds else "",
        f"Evaluator and program together have {timeout_s:g} s of CPU time and {memory_mb} MB of memory. They cannot "
        "reach the network, and can write to temporary files alone.",
        "The program may import the standard library of Python 3.11 and the libraries that the first program imports; "
        "others may not be installed."
        if is_python
        else "",
        "An exception, a result that the evaluator finds invalid, or a limit that is passed loses the program.",
        _objective(task, 1),
    ]
    return [f"- {rule}" for rule in rules if rule]


def _judged(task: EvaluatorTask) -> str:
    """Return a sentence that says how the task's evaluator runs a program, and what the program must keep."""
    if task.entry_point:
        return f"An evaluator calls `{task.entry_point}`; keep its arguments and the kind of its result."
    if task.file.convention == "command":
        return "A command runs the program and scores it; keep how the program is started, what it reads and writes."
    return (
        "An evaluator imports the program, calls it and scores it; keep the names, arguments and results that it needs."
    )


def _interface(task: Task) -> str:
    """Return the signature of the task's entry point in its template, and its docstring, if any, indented."""
    function = functions_in(task.template)[task.entry_point]
    return "\n".join(filter(None, [signature(function), indent(ast.get_docstring(function) or "", "    ")]))


def _limits(task: Task, timeout_s: float, memory_mb: int) -> list[str]:
    """Return the rules of every task without an evaluator, one a line; the arguments are those of `contract`."""
    count = len(instances_of(task, "search"))
    judged = "one instance" if count == 1 else f"{count} instances, one after another in the same process"
    compiling = ", compiling and imports included,"
    if task.first_call_s:
        compiling = f", imports included, and {task.first_call_s:g} s more for its first call, in which numba compiles;"
    together, on_any = ("", "") if count == 1 else (" for all of them together", ", on whichever instance")
    return [
        f"- A program is judged on {judged}. {STATELESS if task.stateless else 'What it keeps between calls is kept.'}",
        f"- It has {timeout_s:g} s of CPU time{together}{compiling} {memory_mb} MB of memory and "
        "one thread. Later, on other instances, it has as much time for each.",
        "- It may import the standard library of Python 3.11, numpy, scipy and numba. Files, the network and other "
        "processes are out of its reach.",
        SEEDED if task.stateless else UNSEEDED,
        f"- An exception, a result that breaks a rule, or a limit that is passed loses the program{on_any}.",
        f"- {_objective(task, count)}",
    ]


def _objective(task: Task, count: int) -> str:
    """Return a sentence: which scores are better, and the best known one if any; `count` is the number of instances."""
    objective = task.objective_on("search")
    mean = ", the mean over the instances," if count > 1 and not task.has_own_mean else ""
    better = "lower" if objective.direction == "minimise" else "higher"
    known = "" if objective.best_known is None else f"; the best known is {objective.best_known:.7g}"
    return f"The score{mean} is better the {better} it is{known}."
