"""Shortens the interpreter's own pauses: replies must be committed soon after they arrive, on the event loop."""

from __future__ import annotations

import gc
import sys

SWITCH_S = 0.001
"""Seconds after which a computing thread yields the interpreter; the event loop needs about twelve turns per reply."""
FULL_COLLECTION_AFTER = 1000
"""Number of middle collections before a full one; a full one stops all threads for 0.1 s and frees almost nothing."""


def shorten_pauses() -> None:
    """Give the process's threads short turns and make full garbage collections rare, for the rest of its life."""
    sys.setswitchinterval(SWITCH_S)
    youngest, middle, _ = gc.get_threshold()
    gc.set_threshold(youngest, middle, FULL_COLLECTION_AFTER)
