"""How far a program has got, in a page of memory that its process shares with the zygote.

What a child leaves there outlives it, even if it is killed. A program can write there too. So the numbers serve as
words for people, and to lengthen a limit by a bounded time.
"""

from __future__ import annotations

import contextlib
import mmap
import time
from collections.abc import Callable
from typing import Any

_INSTANCE, _CALLS, _BEGAN, _ENDED, _IDLE = range(5)
"""Places in the page: the instance and the call that came last, from 1; the CPU time (ns) when the first call began and
when it ended; how long (ns) the process waited for calls."""
_MOST = 1 << 53
"""Numbers from here on, and negative ones, count as 0: a program wrote them."""


class Progress:
    """One child's page. Make it before the fork; the numbers are 0 until the child sets them."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._words = memoryview(self._page).cast("q")

    def keep_to_one_child(self) -> None:
        """Keep later children from the page; call it in the zygote after the fork. Has no effect except on Linux."""
        if hasattr(mmap, "MADV_DONTFORK"):
            with contextlib.suppress(OSError):  # where the kernel lacks it, another child could write false numbers
                self._page.madvise(mmap.MADV_DONTFORK)

    def close(self) -> None:
        """Give the page back; nothing may be read afterwards."""
        self._words.release()
        self._page.close()

    def begin(self, instance: int) -> None:
        """Note that the instance with this number, from 1, comes next."""
        self._words[_INSTANCE] = instance

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, notes here its calls, and the CPU time before and after the first."""
        words, calls = self._words, 0  # counted here, and copied: reading the page would take as long as all else

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            words[_CALLS] = calls
            if calls > 1:
                return function(*arguments, **named)
            words[_BEGAN] = time.process_time_ns()
            try:
                return function(*arguments, **named)
            finally:
                words[_ENDED] = time.process_time_ns()

        call.__wrapped__ = function  # type: ignore[attr-defined]  # a task may look at its signature
        return call

    def idle(self, since_ns: int) -> None:
        """Note that the process has waited for a call from `since_ns` (`time.monotonic_ns`) until now."""
        self._words[_IDLE] += time.monotonic_ns() - since_ns

    @property
    def idle_s(self) -> float:
        """Seconds for which the process has waited for calls."""
        return self._number(_IDLE) / 1e9

    def first_s(self, cpu_s: float) -> float:
        """Return the CPU time of the first call so far (s), 0 if it has not begun; `cpu_s` is that of the process."""
        began, ended = self._number(_BEGAN), self._number(_ENDED)
        return min(max(0.0, (ended / 1e9 if ended else cpu_s) - began / 1e9), cpu_s) if began else 0.0

    def reached(self, cpu_s: float) -> tuple[int, int, float]:
        """Return the numbers of the instance and the call that were begun last, and the first call's CPU time (s).

        Both numbers count from 1; 0 if none is known. `cpu_s` is the CPU time of the process (s).
        """
        return self._number(_INSTANCE), self._number(_CALLS), self.first_s(cpu_s)

    def _number(self, place: int) -> int:
        found = self._words[place]
        return found if 0 <= found < _MOST else 0
