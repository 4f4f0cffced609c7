"""The message that starts a keeper of evaluations."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import ClassVar

from behavesim.sandbox.limits import Limits

LOAD_S = 60.0
"""Longest CPU time (s) for loading an evaluator, unless another is given: large libraries take 10 s."""


@dataclass(frozen=True)
class TreeAssignment:
    """What the process that keeps evaluations needs to start; it is sent as an argument of the command line.

    `loader` names a function as "module:name". A confined process calls it with the text `given`. It returns the
    function that children of that process run: from a program's text to the bytes to send back. `layers` are names
    from `layers.LAYERS`. Evaluator and programs may read the files and folders `readable`, besides Python and the
    machine's programs, except `hidden` ones below them. Loading may take `load_s` seconds of CPU time. At most
    `workers` evaluations run at once.
    """

    module: ClassVar[str] = "behavesim.sandbox.tree.zygote"
    """The module that the process runs."""
    loader: str
    given: str
    limits: Limits
    layers: tuple[str, ...]
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    load_s: float = LOAD_S
    workers: int = 1

    def to_json(self) -> str:
        """Return the assignment as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TreeAssignment:
        """Return the assignment from what `to_json` returned."""
        fields = json.loads(text)
        tuples = {name: tuple(fields[name]) for name in ("layers", "readable", "hidden")}
        return cls(**{**fields, **tuples, "limits": Limits(**fields["limits"])})
