"""Software and processor of a machine, as far as they can change what a program returns."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from behavesim.base.version import __version__

PACKAGES = ("numpy", "scipy", "numba", "llvmlite")
"""Packages that programs compute with."""


def facts() -> dict[str, str]:
    """Return versions by software, and the system and the processor of this machine.

    `cpu` lists the instruction sets that numpy uses here: its exp and tanh differ in the last bit between some of them.
    """
    return {
        "behavesim": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}",
        "cpu": " ".join(sorted(_instruction_sets())),
    }


def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Return how a worker's facts differ from ours, one phrase each; empty if they do not."""
    found = [
        f"{name} {theirs.get(name, 'unknown')} there, {here} here"
        for name, here in ours.items()
        if name != "cpu" and theirs.get(name) != here
    ]
    here, there = set(ours["cpu"].split()), set(theirs.get("cpu", "").split())
    if here != there:
        sides = ((there - here, "there"), (here - there, "here"))
        only = " and ".join(f"only {place}: {' '.join(sorted(names))}" for names, place in sides if names)
        found.append(f"instruction sets of the processors, {only}")
    return found


def _instruction_sets() -> list[str]:
    """Return the instruction sets that this numpy was built for and those beyond that it found at its import."""
    found: Mapping[str, Any] = np.show_config(mode="dicts")["SIMD Extensions"]  # without the keys of empty lists
    return [*found.get("baseline", ()), *found.get("found", ())]
