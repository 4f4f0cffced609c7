"""Tokens of requests: as the endpoint counted them, and estimated from the text where it did not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from behavesim.events import Reply


@dataclass(frozen=True)
class Tokens:
    """What some requests took; `unreported` counts the calls of which the endpoint did not say all.

    The estimates are for what it did not say, and no part of the counts beside them.
    """

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    unreported: int = 0
    estimated_prompt: int = 0
    estimated_completion: int = 0

    @classmethod
    def of(cls, reply: Reply) -> Tokens:
        """What all requests made for a reply took."""
        calls = reply.calls
        return cls(
            calls=len(calls),
            prompt=sum(call.prompt or 0 for call in calls),
            cached=sum(call.cached or 0 for call in calls),
            completion=sum(call.completion or 0 for call in calls),
            reasoning=sum(call.reasoning or 0 for call in calls),
            unreported=sum(call.prompt is None or call.completion is None for call in calls),
            estimated_prompt=sum(call.estimated_prompt or 0 for call in calls),
            estimated_completion=sum(call.estimated_completion or 0 for call in calls),
        )

    def __add__(self, other: Tokens) -> Tokens:
        return self._with(other, lambda ours, theirs: ours + theirs)

    def or_more(self, other: Tokens) -> Tokens:
        """The greater of both counts, each by itself."""
        return self._with(other, max)

    def with_estimates(self) -> Tokens:
        """The same with the estimates among prompt and completion."""
        prompt, completion = self.prompt + self.estimated_prompt, self.completion + self.estimated_completion
        return replace(self, prompt=prompt, completion=completion, estimated_prompt=0, estimated_completion=0)

    def _with(self, other: Tokens, combine: Callable[[int, int], int]) -> Tokens:
        return Tokens(
            *map(combine, vars(self).values(), vars(other).values())
        )  # `astuple` would copy deeply, and slowly
