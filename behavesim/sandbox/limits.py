"""What one candidate may use up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from behavesim.config import Settings  # the zygote, which has limits too, shall not carry pydantic

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """A candidate's budget over all instances of a split.

    `timeout_s` is CPU time, in seconds, so that a busy machine condemns nobody; `memory_mb` is what the candidate may
    allocate beyond the interpreter and the libraries it starts with; `output_mb` bounds the solutions it returns.
    """

    timeout_s: float = 50.0
    memory_mb: int = 2048
    output_mb: int = 8

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits that a run's settings set."""
        return cls(settings.timeout_s, settings.memory_mb, settings.output_mb)

    @property
    def wall_s(self) -> float:
        """The wall-clock backstop, in seconds, for programs that sleep or wait instead of computing."""
        return 2 * self.timeout_s + 2
