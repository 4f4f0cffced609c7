"""A newcomer beside the programs of an archive: whether it is a copy of one, and how similar it is to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from behavesim.state.behaviours import Behaviours
from behavesim.state.members import Member


def is_copy(newcomer: Member, members: Sequence[Member]) -> bool:
    """Return whether a member has the newcomer's `identity`: equal normal form or, if that is unknown, equal text."""
    return any(member.identity == newcomer.identity for member in members)


def compared_with(newcomer: Member, members: Sequence[Member], behaviours: Behaviours) -> Member:
    """Return a newcomer with its `similarity` to each of the members. Read while it is registered, it is recorded."""
    similarity = behaviours.similarities(newcomer.candidate, [member.candidate for member in members])
    return replace(newcomer, similarity=similarity)
