"""Writes portfolio.py: several programs in one file that needs only Python and numpy."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence

from behavesim.application import bundled
from behavesim.base.text import comment, parse
from behavesim.task import Task

# The beginning of the names of the built-in tasks' modules.
BUILT_IN = "behavesim_tasks."
# Template of the end of portfolio.py: the programs, the task's files, and what a user calls or runs.
LAST = '''
PROGRAMS = (
{programs})

TASK = {{
{files}}}

task_files = files_of(TASK)
task_file = [*task_files.values()][-1]
task = task_file.task


def solve(instance, seconds={seconds:g}):
    """Return the best solution (`BestSolution`) of an instance that the programs find within `seconds` in all.

    Raises RuntimeError if no program finds one.
    """
    return best_of(__file__, len(PROGRAMS), task_files, task, instance, seconds)


if __name__ == "__main__" and sys.argv[1:2] == [MEMBER]:
    be_member(PROGRAMS[int(sys.argv[2])], {entry_point!r}, task, int(sys.argv[3]))
elif __name__ == "__main__":
    for number, instance in enumerate(task.instances(sys.argv[1] if len(sys.argv) > 1 else "search"), 1):
        found = solve(instance)
        print(f"instance {{number}}: {{found.score:g}}, by program {{found.program}}")
'''


def bundle(task: Task, programs: Mapping[str, str], headline: Sequence[str], seconds: float) -> str:
    """Return the text of portfolio.py: a comment, the code of `bundled`, the programs, and the files of the task.

    `programs` maps a line about each program to its source, in the order in which they run. `headline` has the lines
    of the comment. `seconds` is the default time limit for one instance. Raises OSError if a file of the task is gone.
    """
    _, _, running = inspect.getsource(bundled).partition('"""\n')  # without the docstring, in place of the headline
    headed = "\n".join(map(comment, headline))
    listed = "".join(f"    {comment(line)}\n    {_quoted(source)},\n" for line, source in programs.items())
    files = "".join(f"    {name!r}: {_quoted(source)},\n" for name, source in _files(task).items())
    last = LAST.format(programs=listed, files=files, seconds=seconds, entry_point=task.entry_point)
    return f"{headed}\n{running}\n{last}"


def _files(task: Task) -> dict[str, str]:
    """Return the sources of `answers` and of the files that define the task's class and its bases, by module name."""
    # In the order in which `files_of` executes them: base classes first, before each file what it imports beside it.
    # Other modules of behavesim are left out: `bundled` replaces them.
    names = dict.fromkeys(kind.__module__ for kind in reversed(type(task).__mro__))
    own = [name for name in names if name not in ("builtins", "abc") and not name.startswith("behavesim.")]
    return {bundled.ANSWERS: _source(bundled.ANSWERS)} | {
        each: _source(each) for name in own for each in _with_siblings(name)
    }


def _with_siblings(name: str) -> Iterator[str]:
    """Yield the modules that a module needs beside it or from the built-in tasks, then the module itself."""
    # These are the ones that it imports at its top level by `from .NAME import` or `from behavesim_tasks.NAME import`,
    # and before each of them those that it needs in turn. A module may come more than once.
    for node in parse(_source(name)).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            module = node.module if node.level == 0 else f"{name.rpartition('.')[0]}.{node.module}"
            if node.level == 1 or module.startswith(BUILT_IN):
                yield from _with_siblings(module)
    yield name


def _source(name: str) -> str:
    """Return the text of the module of this name, which must be loaded."""
    return inspect.getsource(sys.modules[name])


def _quoted(source: str) -> str:
    """Return a text, white space at its ends removed and a line feed added, as a Python literal."""
    # It stands between triple quotes, or line by line if it needs escapes.
    text = source.strip() + "\n"
    if "\\" in text or "'''" in text:
        return "".join(["(\n", *(f"        {line!r}\n" for line in text.splitlines(keepends=True)), "    )"])
    return f"'''\\\n{text}'''"
