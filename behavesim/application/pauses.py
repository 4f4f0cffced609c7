"""What the interpreter does by itself, kept from holding an event loop: what has arrived there is not committed yet."""

from __future__ import annotations

import gc
import sys

SWITCH_S = 0.001
"""After so long a thread that computes gives way to the event loop, which needs its turn a dozen times for a reply."""
FULL_COLLECTION_AFTER = 1000
"""A look at all objects holds every thread for a tenth of a second and more, and finds next to nothing in a run."""


def shorten_pauses() -> None:
    """Set up this process for a run: short turns for its threads, and hardly any full garbage collection."""
    sys.setswitchinterval(SWITCH_S)
    youngest, middle, _ = gc.get_threshold()
    gc.set_threshold(youngest, middle, FULL_COLLECTION_AFTER)
