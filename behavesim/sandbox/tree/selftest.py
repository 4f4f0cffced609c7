"""Finds the isolation level of trees: a child tries what each layer forbids."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from behavesim.sandbox import kernel
from behavesim.sandbox.isolation import LEVELS, Attempt, prevents, remedies
from behavesim.sandbox.tree.confinement import TreeConfinement


def find(confined: TreeConfinement, reaching_outside: Sequence[Attempt]) -> tuple[str, tuple[str, ...]]:
    """Return the level of isolation, "strong+", "partial" or "process", and notes on what keeps it from "strong+".

    Each note is a line. `reaching_outside` come from `isolation.attempts_to_reach_outside`. If any layer does not hold,
    the level is at most "partial". Raises OSError if no child can be forked.
    """
    bare = replace(confined, has_landlock=False, calls=None)
    *sockets_and_signals, _ = reaching_outside  # the last asks for /proc, which a tree has a view of its own of
    world = (*sockets_and_signals, _write_outside)
    holds = {
        "landlock": confined.has_landlock and prevents(replace(bare, has_landlock=True), (_write_setting,)),
        "seccomp": confined.calls is not None and prevents(replace(bare, calls=confined.calls), (_internet, _unshare)),
        "namespaces": confined.own_pids is not None and prevents(bare, world),
    }
    level = LEVELS[-1] if all(holds.values()) else LEVELS[min(holds["landlock"] + holds["seccomp"], 1)]
    return level, (*confined.notes, *remedies(holds))


def _write_outside() -> None:
    os.close(os.open("/usr/behavesim-test", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    Path("/usr/behavesim-test").unlink()


def _write_setting() -> None:
    Path("/proc/self/comm").write_text("x")


def _internet() -> None:
    socket.socket(socket.AF_INET).close()


def _unshare() -> None:
    kernel.prepared("unshare", 0x10000000)()
