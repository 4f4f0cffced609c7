"""How busy other processes keep this machine while a program runs: its CPU time is longer then."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

_MUCH = 0.1
"""Share of the machine's cores that others keep busy, from which a program's CPU time may be longer for it.

Beside other work a compilation of numba took up to 1.6 times as long here, in CPU time; the machine had two cores.
"""


class Others:
    """The processes of this machine that are not the watched program's, from now on."""

    def __init__(self, statistics: Path = Path("/proc/stat")) -> None:
        """Begin to watch; `statistics` is where the kernel says how long the cores have worked."""
        self._statistics = statistics
        self._began, (_, self._busy_s) = monotonic(), _cores_and_busy_s(statistics)

    def were_busy(self, own_s: float) -> bool:
        """Whether others kept more than a tenth of the cores busy until now; False if the system does not say.

        `own_s` is the CPU time (s) of the watched program meanwhile.
        """
        cores, busy_s = _cores_and_busy_s(self._statistics)
        return busy_s - self._busy_s - own_s > _MUCH * cores * (monotonic() - self._began)


def _cores_and_busy_s(statistics: Path) -> tuple[int, float]:
    """Return how many cores the machine has, and how long (s) they have worked since it started, all together.

    A virtual machine's cores that another one has count as working. Both are 0 where the system does not say.
    """
    try:
        each = [line.split() for line in statistics.read_text().splitlines() if line.startswith("cpu")]
        user, nice, system, _, _, irq, softirq, steal = map(int, each[0][1:9])
    except (OSError, ValueError, IndexError):
        return 0, 0.0
    return len(each) - 1, (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
