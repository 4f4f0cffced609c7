"""Whether other processes made the machine busy during a run, which makes CPU times longer."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_MUCH = 0.1
"""Share of the machine's cores that others keep busy, from which a program's CPU time may be longer for it.

Beside other work a compilation of numba took up to 1.6 times as long here, in CPU time; the machine had two cores.
"""


class Others:
    """The processes of this machine that are not the watched program's, from now on."""

    def __init__(self, statistics: Path = Path("/proc/stat")) -> None:
        """Begin to watch; `statistics` is where the kernel says how long the cores have worked."""
        self._statistics = statistics
        self._began, self._before = monotonic(), _work(statistics)

    def were_busy(self, own_s: float) -> bool:
        """Whether others are known to have kept more than a tenth of the cores busy until now.

        `own_s` is the CPU time (s) of the watched program meanwhile.
        """
        before, now = self._before, _work(self._statistics)
        if before is None or now is None:
            return False
        return now.busy_s - before.busy_s - own_s > _MUCH * now.cores * (monotonic() - self._began)


class _Work(NamedTuple):
    """How many cores the machine has, and how long they have worked since it started, all together (s)."""

    cores: int
    busy_s: float


def _work(statistics: Path) -> _Work | None:
    """Return cores and their work from a file such as /proc/stat; None if it cannot be read or has another form.

    A core that another virtual machine has counts as working.
    """
    try:
        each = [line.split() for line in statistics.read_text().splitlines() if line.startswith("cpu")]
        user, nice, system, _, _, irq, softirq, steal = map(int, each[0][1:9])
    except (OSError, ValueError, IndexError):
        return None
    return _Work(len(each) - 1, (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK"))
