"""Show on stderr how far a long computation has come: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeVar

from rich.console import Console

from behavesim.reports.terminal import screen

Item = TypeVar("Item")

OnProgress = Callable[[int, int], None]
"""Called with how many things are done, and of how many."""
LINE_S = 30.0
"""Seconds between two plain lines, which also come while nothing is done: a log shows that the work goes on."""


@contextmanager
def progress(doing: str, total: int | None = None) -> Iterator[OnProgress]:
    """Show `doing` on stderr during the block, and how far it has come as the yielded function is told.

    `total` is the number of things to do; None if it is not known yet.
    """
    console = screen(stderr=True)
    with (_bar if console.is_terminal else _lines)(console, doing, total) as told:
        yield told


def counted(items: Iterable[Item], total: int, doing: str) -> Iterator[Item]:
    """Yield the items, and show on stderr, beside the text `doing`, how many of `total` the caller has dealt with."""
    with progress(doing, total) as told:
        for done, item in enumerate(items, 1):
            yield item
            told(done, total)


@contextmanager
def _bar(console: Console, doing: str, total: int | None) -> Iterator[OnProgress]:
    """Show a bar, which is removed at the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # slow to import

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(doing, total=total)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


@contextmanager
def _lines(console: Console, doing: str, total: int | None) -> Iterator[OnProgress]:
    """Print a line at once, and then every LINE_S seconds, by a thread: the computation holds this one."""
    line, is_over = [doing if total is None else f"{doing}: 0 of {total:,}"], Event()

    def told(done: int, total: int) -> None:
        line[0] = f"{doing}: {done:,} of {total:,}"

    def print_lines() -> None:
        while not is_over.wait(LINE_S):
            console.print(line[0], soft_wrap=True)

    console.print(line[0], soft_wrap=True)
    printing = Thread(target=print_lines, daemon=True)
    printing.start()
    try:
        yield told
    finally:
        is_over.set()
        printing.join()
