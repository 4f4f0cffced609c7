"""Compiled kernels: plain loops for a pair (`scalar`), and vector lanes; importing one of them loads the compiler."""

from typing import Any

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""How all are compiled: no fastmath and no contraction, so that a result is the same on every machine."""

UNREACHED = 2**64 - 1
"""Stands for no path where sums have another type: the largest number of 16 or 32 bits, and far above any float sum."""
