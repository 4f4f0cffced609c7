"""A search method of your own: which programs are shown, and which are kept.

behavesim method check NAME.py
behavesim run tsp --method NAME.py --budget 200
"""

from pydantic import Field

import behavesim as bs


class Settings(bs.MethodSettings):
    """CHANGE: whatever a person may set, with `--set keep=5`."""

    keep: int = Field(5, ge=1)
    """Programs that are kept."""


class Method(bs.Method[Settings]):
    """CHANGE: the best few programs; each prompt shows one of them. A decision reads the state and changes nothing."""

    settings_type = Settings

    def ask(self, state: bs.RunState, candidate: int) -> bs.Asked:
        """CHANGE: the question for the next candidate; draw from self.generator(candidate) alone."""
        kept = state.members_of("kept") or [state.members[bs.TEMPLATE]]
        parent = kept[int(self.generator(candidate).integers(len(kept)))]
        return bs.question(candidate, [parent], self.prompts.of("improve", [parent]), "kept")

    def register(self, state: bs.RunState, candidate: bs.OpenCandidate) -> bs.Added | bs.NotAdded:
        """CHANGE: what becomes of it; candidates come in the order in which they were asked for."""
        if not candidate.is_feasible:
            return bs.NotAdded(candidate.id)
        ranked = sorted([*state.members_of("kept"), state.member(candidate)], key=lambda m: (-m.utility, m.candidate))
        gone = tuple(member.candidate for member in ranked[self.settings.keep :])
        return bs.NotAdded(candidate.id) if candidate.id in gone else bs.Added(candidate.id, "kept", gone)


method = Method
