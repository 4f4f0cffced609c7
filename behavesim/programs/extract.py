"""From a model's reply to a program, or to the reason why there is none."""

from __future__ import annotations

from behavesim.programs.fences import fenced_blocks

__all__ = ["fenced_blocks"]
