"""How much of a trajectory is compared: truncation and sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Granularity:
    """Truncation k and sampling n (paper, appendix "Influences of PSTraj Truncation and Sampling Parameters").

    Truncation drops the last floor(k L) of L states and keeps at least one. Sampling skips n states between kept ones
    (a stride of n + 1) and keeps the first and the last, so that n = 0 is the full trajectory.
    """

    truncate: float = 0.0
    skip: int = 0

    def length(self, states: int) -> int:
        """Return the number of states that truncation leaves of `states`, at least 1."""
        return max(1, states - math.floor(self.truncate * states + 1e-9))  # 0.29 * 100 is 28.999999999999996

    def kept(self, states: int) -> NDArray[np.intp]:
        """Return the indices of the states that are compared, ascending, out of `states`."""
        last = self.length(states) - 1
        stride = np.arange(0, last + 1, self.skip + 1)
        return stride if stride[-1] == last else np.append(stride, last)
