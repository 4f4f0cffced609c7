"""The two baselines, best of n and hill climbing: what another method finds beyond them is the merit of its search."""

from __future__ import annotations

from dataclasses import replace

from behavesim.methods.method import Method, MethodSettings, add_if_feasible, question
from behavesim.prompts.prompts import without_placeholders
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

# Best of n: every candidate is asked for with the template alone.


# The name of the group that holds every feasible program.
ARCHIVE = "archive"


class BestOfN(Method[MethodSettings]):
    """Asks for independent programs: the prompt never shows what was found before."""

    shows_found = False

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked:
        """Return the question for a candidate: its prompt shows the template alone."""
        asked = self.first_question(state, candidate)
        # without the placeholders, which the run would fill in: what it knows would make programs depend on one another
        return replace(asked, prompt=replace(asked.prompt, text=without_placeholders(asked.prompt.text)))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible candidate joins the archive."""
        return add_if_feasible(candidate, ARCHIVE)


# Hill climbing, or (1+1) evolutionary program search: keep one program, and replace it by a child that is no worse.
#
# The hill climber of Zhang et al., "Understanding the Importance of Evolutionary Search in Automated Heuristic Design
# with Large Language Models" (PPSN 2024).


# The name of the group with the one program that is changed.
CURRENT = "current"


class HillClimbing(Method[MethodSettings]):
    """Every prompt shows the current program, at first the template; a child that is no worse replaces it.

    The template counts like any program: a first child that is worse than the template does not replace it.
    """

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked:
        """Return the question for a better program than the current one, which it shows."""
        current = _current(state)
        return question(candidate, [current], self.prompts.showing_programs("improve", [current]), CURRENT)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a child replaces the current program if it scores at least as well."""
        # a child of equal score replaces it, too, so that the search can cross a plateau
        if not candidate.is_feasible or state.member(candidate).utility < _current(state).utility:
            return NotAdded(candidate.id)
        return Added(candidate.id, CURRENT, tuple(each.candidate for each in state.members_of(CURRENT)))


def _current(state: RunState) -> Member:
    """Return the program that is changed: the template until a child has replaced it."""
    assert state.template is not None, "every run begins with its template"
    return next(iter(state.members_of(CURRENT)), state.template)
