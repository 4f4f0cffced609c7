"""Writes portfolio.py: several programs in one file that runs where nothing is installed but numpy."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence

from behavesim.application import bundled
from behavesim.base.text import comment
from behavesim.task import Task

LAST = '''
PROGRAMS = (
{programs})

TASK = {{
{files}}}

task_files = files_of(TASK)
task_file = [*task_files.values()][-1]
task = task_file.task


def solve(instance, seconds={seconds:g}):
    """The best solution of an instance that the programs find in so much time, with its score (`Found`)."""
    return best_of(__file__, len(PROGRAMS), task_files, task, instance, seconds)


if __name__ == "__main__" and sys.argv[1:2] == [MEMBER]:
    be_member(PROGRAMS[int(sys.argv[2])], {entry_point!r}, task, int(sys.argv[3]))
elif __name__ == "__main__":
    for number, instance in enumerate(task.instances(sys.argv[1] if len(sys.argv) > 1 else "search"), 1):
        found = solve(instance)
        print(f"instance {{number}}: {{found.score:g}}, by program {{found.program}}")
'''


def bundle(task: Task, programs: Mapping[str, str], headline: Sequence[str], seconds: float) -> str:
    """The file: a headline, what runs programs, the programs' sources by a line on each, and the files of the task.

    `seconds` is the time for an instance unless its user gives another.
    """
    _, _, running = inspect.getsource(bundled).partition('"""\n')
    headed = "\n".join(map(comment, headline))
    listed = "".join(f"    {comment(line)}\n    {_quoted(source)},\n" for line, source in programs.items())
    files = "".join(f"    {name!r}: {_quoted(source)},\n" for name, source in _files(task).items())
    last = LAST.format(programs=listed, files=files, seconds=seconds, entry_point=task.entry_point)
    return f"{headed}\n{running}\n{last}"


def _files(task: Task) -> dict[str, str]:
    """The files that the task's class and those it builds on stand in, these before it, by their modules' names."""
    names = dict.fromkeys(kind.__module__ for kind in reversed(type(task).__mro__))
    own = [name for name in names if name not in ("builtins", "abc") and not name.startswith("behavesim.")]
    return {name: inspect.getsource(sys.modules[name]) for name in own}


def _quoted(source: str) -> str:
    """A literal of the text, with a line for each of it."""
    text = source.strip() + "\n"
    if "\\" in text or "'''" in text:
        return "".join(["(\n", *(f"        {line!r}\n" for line in text.splitlines(keepends=True)), "    )"])
    return f"'''\\\n{text}'''"
