"""Simulated annealing: a worse child takes the place of the current program with a chance that falls to zero."""

import math

import behavesim as bs


class Settings(bs.MethodSettings):
    temperature: float = 0.2
    """How much worse a child may be at the start, in units of the score."""


class Annealing(bs.Method[Settings]):
    """Every prompt shows the current program, which better children replace, and worse ones at first."""

    settings_type = Settings

    def ask(self, state, behaviours, candidate):
        current = next(iter(state.members_of("current")), state.template)
        return bs.question(candidate, [current], self.prompts.showing_programs("improve", [current]), "current")

    def register(self, state, behaviours, candidate):
        if not candidate.is_feasible:
            return bs.NotAdded(candidate.id)
        current, child = state.members_of("current"), state.member(candidate)
        worse_by = max((each.utility - child.utility for each in current), default=0.0)
        chance = math.exp(-max(worse_by, 0.0) / self._temperature(state))
        if self.generator(candidate.id, "accept").random() >= chance:
            return bs.NotAdded(candidate.id)
        return bs.Added(candidate.id, "current", tuple(each.candidate for each in current))

    def facts(self, state):
        return {"temperature": f"{self._temperature(state):.3f}"}

    def _temperature(self, state):
        return self.settings.temperature * max(1e-9, 1 - state.registered / state.budget)


method = Annealing
