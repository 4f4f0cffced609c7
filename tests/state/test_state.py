"""The state of a run, event by event: what is counted, what is kept, and what cannot follow."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from behavesim.base.errors import JournalError
from behavesim.base.tokens import Tokens, Usage
from behavesim.state.advice import IN_PROMPTS, Advice
from behavesim.state.events import (
    INJECTED,
    STORED_AS,
    TEMPLATE,
    Added,
    Advised,
    Asked,
    ClockRead,
    Compared,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    PortfolioChosen,
    Prompt,
    PutOff,
    Recommended,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    note_number,
)
from behavesim.state.state import RunState
from behavesim.state.views import RECENT, ModelRecord
from behavesim.task import Objective
from behavesim.trajectory import Trajectory

STARTED = RunStarted({"budget": 20}, {"task": "1"}, "strong")
TOURS = (Trajectory.prefixes([0, 1, 2]),)


def state_after(*events: Event | Iterable[Event], direction: Any = "minimise") -> RunState:
    state = RunState(Objective(direction))
    for event in events:
        for each in [event] if isinstance(event, Event.__args__) else event:  # type: ignore[attr-defined]
            state.apply(each)
    return state


def asked(candidate: int, operator: str = "improve", parents: tuple[int, ...] = (), group: str | None = None) -> Asked:
    return Asked(candidate, parents, group, Prompt("a prompt", operator))


def replied(candidate: int, *calls: Usage, **others: Any) -> Responded:
    return Responded(candidate, Reply("a reply", "m", calls, **others))


def scored(candidate: int, score: float, **others: Any) -> Evaluated:
    return Evaluated(candidate, f"program {candidate}", score, (score,), others.pop("trajectories", TOURS), **others)


def rejected(candidate: int, reason: str = "timeout", cpu_s: float = 0.0) -> Rejected:
    return Rejected(candidate, "evaluation", reason, cpu_s=cpu_s)


def added(candidate: int, score: float, group: str | None = "0", evicted: tuple[int, ...] = ()) -> list[Event]:
    return [asked(candidate), replied(candidate), scored(candidate, score), Added(candidate, group, evicted)]


def failed(candidate: int, reason: str = "timeout") -> list[Event]:
    return [asked(candidate), replied(candidate), rejected(candidate, reason), NotAdded(candidate)]


TEMPLATE_SCORED = scored(TEMPLATE, 9.0)


class TestCandidates:
    def test_a_candidate_is_open_from_the_question_until_it_is_registered(self) -> None:
        state = state_after(STARTED)
        question = asked(0, parents=(TEMPLATE,))
        state.apply(question)
        opened = state.open[0]
        assert (state.asked, state.registered, state.waiting, state.last_asked) == (1, 0, 1, question)
        assert (opened.id, opened.asked, opened.reply, opened.is_feasible, opened.repairs) == (
            0,
            question,
            None,
            False,
            0,
        )
        state.apply(replied(0))
        assert (opened.reply, state.waiting) == (Reply("a reply", "m"), 0)
        state.apply(scored(0, 3.0))
        assert (opened.is_feasible, state.tally.feasible) == (True, 1)
        state.apply(Compared(0, {"0": 0.5}, {TEMPLATE: 0.25}))
        assert state.member(opened).similarity == {TEMPLATE: 0.25}
        state.apply(NotAdded(0))
        assert (state.open, state.asked, state.registered, state.last_asked) == ({}, 1, 1, question)

    def test_a_member_knows_its_score_where_it_came_from_and_what_it_is_like(self) -> None:
        question = asked(0, "e1", (TEMPLATE,), "population")
        outcome = scored(0, 3.0, thought="why", program_hash="h")
        state = state_after(STARTED, TEMPLATE_SCORED, question, replied(0), outcome, Compared(0, {}, {TEMPLATE: 0.5}))
        state.apply(Added(0, "population"))
        member = state.members[0]
        assert (member.candidate, member.source, member.score, member.utility) == (0, "program 0", 3.0, -3.0)
        assert (member.thought, member.program_hash, member.scores) == ("why", "h", (3.0,))
        assert (member.parents, member.operator, member.origin) == ((TEMPLATE,), "e1", "population")
        assert member.similarity == {TEMPLATE: 0.5}
        assert state.template is not None
        assert (state.template.operator, state.template.parents, state.template.origin) == ("template", (), None)
        assert (member.identity, state.template.identity) == ("h", "program -1")

    def test_edits_apply_to_the_best_of_the_programs_shown_which_comes_last(self) -> None:
        state = state_after(TEMPLATE_SCORED, added(0, 5.0), added(1, 4.0), asked(2), asked(3, parents=(TEMPLATE, 0, 1)))
        assert [state.open[each].shown for each in (2, 3)] == ["program -1", "program 1"]

    def test_the_template_is_a_member_and_no_candidate(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED)
        assert state.template == state.members[TEMPLATE]
        assert (state.tally.feasible, state.registered, state.best, state.tally.cpu_s) == (0, 0, None, 0.0)

    @pytest.mark.parametrize(("direction", "best"), [("minimise", [0, 0, 2, 2]), ("maximise", [0, 1, 1, 1])])
    def test_the_best_is_the_first_of_those_as_good(self, direction: str, best: list[int]) -> None:
        state, seen = RunState(Objective(direction)), []  # type: ignore[arg-type]
        for event in (TEMPLATE_SCORED, *(e for c, s in enumerate([3.0, 5.0, 2.0, 2.0]) for e in added(c, s))):
            state.apply(event)
            if isinstance(event, Added):
                assert state.best is not None
                seen.append(state.best.candidate)
        assert seen == best

    def test_feasible_and_rejected_candidates_are_counted_with_what_those_that_were_run_took(self) -> None:
        copy = [asked(2), replied(2), scored(2, 3.0, copy_of=0, cpu_s=0.25), NotAdded(2)]
        other = [asked(3), replied(3), scored(3, 3.0, trajectories=(Trajectory.prefixes([2, 1, 0]),)), NotAdded(3)]
        slow = [asked(4), replied(4), rejected(4, "memory", cpu_s=0.5), NotAdded(4)]
        state = state_after(STARTED, added(0, 3.0), failed(1), copy, other, slow)
        assert (state.tally.feasible, state.tally.rejected, state.tally.cpu_s) == (3, {"timeout": 1, "memory": 1}, 0.5)
        assert state.tally.outcomes == 5
        assert (state.tally.repeated_programs, state.tally.repeated_behaviours) == (1, 1)
        assert list(state.tally.recent) == [True, False, True, True, False]

    def test_a_prompt_that_was_given_up_is_no_failure_of_a_program(self) -> None:
        state = state_after(STARTED, failed(0, "given-up"), failed(1))
        assert [each.rejected.candidate for each in state.tried.failures] == [1]
        assert (state.tried.failed, state.rejected_from[None]) == (1, 2)

    def test_only_the_last_candidates_are_recent(self) -> None:
        state = state_after(STARTED, *(failed(number) for number in range(RECENT)), added(RECENT, 1.0))
        assert list(state.tally.recent) == [False] * (RECENT - 1) + [True]

    def test_the_template_leads_until_a_candidate_is_better(self) -> None:
        state = state_after(STARTED)
        assert (state.leader, state.gain) == (None, None)
        state.apply(TEMPLATE_SCORED)
        assert (state.leader, state.gain) == (state.template, None)
        for candidate, score, leader, gain in [(0, 10.0, TEMPLATE, -1.0), (1, 9.0, TEMPLATE, 0.0), (2, 7.5, 2, 1.5)]:
            for event in added(candidate, score):
                state.apply(event)
            assert state.leader == state.members[leader]
            assert state.gain == pytest.approx(gain / 9.0)


class TestInARow:
    def test_regroupings_and_notes_are_counted_until_a_candidate_is_asked_for_or_registered(self) -> None:
        state, counts = state_after(STARTED, TEMPLATE_SCORED), []
        regrouped, note = Regrouped({"0": (TEMPLATE,)}), NoteAsked(0, (), Prompt("Why?", "reflection"))
        registration = [replied(0), rejected(0), NotAdded(0)]
        for event in (regrouped, note, asked(0), regrouped, *registration, regrouped):
            state.apply(event)
            counts.append(state.idle_decisions)
        assert counts == [1, 2, 0, 1, 1, 1, 0, 1]


class TestClock:
    def test_decisions_know_a_reading_from_the_registration_on_that_it_names(self) -> None:
        state = state_after(STARTED, ClockRead(10.0, 1), ClockRead(20.0, 2), ClockRead(30.0, 2))
        assert (state.active_s, state.last_reading_s) == (0.0, 30.0)
        for number, active_s in enumerate([10.0, 30.0, 30.0]):
            for event in failed(number):
                state.apply(event)
            assert (state.active_s, state.last_reading_s) == (active_s, 30.0)

    def test_groups_know_when_they_were_arranged(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED, added(0, 1.0), ClockRead(10.0, 1), Regrouped({"1": (0,)}))
        assert (state.groups["0"].arranged_at_s, state.groups["1"].arranged_at_s) == (0.0, 10.0)


class TestRepairs:
    def test_the_latest_event_of_a_candidate_is_its_reply_or_else_its_question(self) -> None:
        again = asked(0, "repair")
        state, latest = state_after(STARTED), []
        for event in (asked(0), replied(0), rejected(0), again, replied(0)):
            state.apply(event)
            latest.append(state.open[0].latest)
        assert latest == [asked(0), replied(0), replied(0), again, replied(0)]

    def test_a_repaired_candidate_counts_as_what_became_of_it_in_the_end(self) -> None:
        first, again = asked(1), asked(1, "repair")
        state = state_after(STARTED, asked(0), first, replied(1), rejected(1), again)
        assert (state.tally.rejected, state.tally.repairs, state.asked, state.waiting) == ({}, 1, 2, 2)
        opened = state.open[1]
        assert (opened.asked, opened.reply, opened.outcome, opened.repairs) == (again, None, None, 1)
        assert state.last_asked == first  # of a new candidate
        for event in (replied(1), rejected(1, "memory"), asked(1, "repair"), replied(1), scored(1, 2.0)):
            state.apply(event)
        assert (state.tally.rejected, state.tally.repairs, state.tally.feasible, state.open[1].repairs) == ({}, 2, 1, 2)

    def test_other_rejections_for_the_same_reason_still_count(self) -> None:
        state = state_after(STARTED, failed(0), asked(1), replied(1), rejected(1), asked(1, "repair"))
        assert state.tally.rejected == {"timeout": 1}


class TestInjected:
    def test_a_program_waits_until_its_turn_and_takes_it_once(self) -> None:
        late, early = Injected("late.py", "a program", not_before=1), Injected("early.py", "another")
        state = state_after(STARTED, late, early)
        assert (state.injected, state.brought_names) == ([late, early], {"late.py", "early.py"})
        assert state.next_injected == early
        state.apply(asked(0, INJECTED))
        assert (state.injected, state.next_injected, state.last_asked) == ([late], late, None)
        state.apply(asked(1, INJECTED))
        assert (state.injected, state.next_injected) == ([], None)
        assert state.brought_names == {"late.py", "early.py"}

    def test_a_program_that_has_to_wait_does_not_hold_up_the_methods_own_questions(self) -> None:
        state = state_after(STARTED, Injected("late.py", "a program", not_before=1))
        assert state.next_injected is None
        state.apply(asked(0))
        assert (len(state.injected), state.last_asked) == (1, asked(0))


class TestAdvice:
    def test_advice_holds_from_the_next_candidate_on_until_it_is_withdrawn(self) -> None:
        late = Advised("late", "later", 9)  # of a replay, which knows what comes
        told = asked(0), late, Advised("a", "first"), asked(1), Advised("b", ""), Advised("c", "x")
        state = state_after(STARTED, *told)
        assert state.advice == (Advice("first", 1, 2), Advice("x", 2), Advice("later", 9))
        assert state.brought_names == {"late", "a", "b", "c"}
        assert [each.text for each in state.advice if each.is_in_force(9)] == ["x", "later"]
        assert [each.words for each in state.advice[:2]] == ["“first”, candidates 1–1", "“x”, since candidate 2"]

    def test_prompts_carry_the_latest_sentences_alone(self) -> None:
        state = state_after(STARTED, *(Advised(f"{each}", f"sentence {each}", each) for each in range(7)))
        for candidate in range(9):
            in_force = [each.since for each in state.advice if each.is_in_force(candidate)]
            assert in_force == [*range(7)][: candidate + 1][-IN_PROMPTS:]


class TestGroups:
    def test_an_added_program_joins_its_group_which_knows_when_it_got_better(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED, added(0, 5.0), added(1, 6.0), added(2, 5.0), added(3, 4.0, "1"))
        first, second = state.groups["0"], state.groups["1"]
        assert (first.members, first.added, first.arranged_at, first.improved_at) == ([0, 1, 2], 3, 0, 0)
        assert (second.members, second.improved_at) == ([3], 3)
        assert state.members_of("0") == [state.members[0], state.members[1], state.members[2]]
        assert state.members_of("absent") == []
        state.apply(asked(4))
        for event in (replied(4), scored(4, 4.5), Added(4, "0")):
            state.apply(event)
        assert first.improved_at == 4

    def test_who_is_evicted_is_forgotten_unless_another_group_holds_it(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED, added(0, 5.0), added(1, 6.0))
        state.apply(Regrouped({"1": (1,)}))
        for event in added(2, 4.0, "0", evicted=(0, 1)):
            state.apply(event)
        assert (state.groups["0"].members, state.groups["1"].members) == ([2], [1])
        assert set(state.members) == {TEMPLATE, 1, 2}

    def test_a_group_whose_best_was_evicted_gets_better_only_with_a_better_one(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED, added(0, 3.0), added(1, 3.0, evicted=(0,)), added(2, 6.0))
        assert (state.groups["0"].improved_at, state.groups["0"].bests) == (0, [(0, 3.0)])
        for event in added(3, 2.0):
            state.apply(event)
        assert (state.groups["0"].improved_at, state.groups["0"].bests) == (3, [(0, 3.0), (3, 2.0)])

    def test_a_group_knows_how_its_best_grew_since_it_was_arranged(self) -> None:
        state = state_after(STARTED, *(added(k, 5.0 - k % 3) for k in range(5)))
        assert state.groups["0"].bests == [(0, 5.0), (1, 4.0), (2, 3.0)]
        assert state.bests == [(0, 5.0), (1, 4.0), (2, 3.0)]
        state.apply(Regrouped({"0": (1, 3), "1": ()}))
        assert (state.groups["0"].bests, state.groups["1"].bests) == ([(5, 4.0)], [])

    def test_a_group_knows_how_alike_programs_were_to_it_and_to_others_as_they_joined(self) -> None:
        first, second = (
            Compared(1, {"0": 0.5, "1": 0.25, "2": 0.75}),
            Compared(2, {"0": 1.0, "1": 0.0}, {0: 0.75, 9: 0}),
        )
        *before_first, joins = added(1, 5.0)
        *before_second, joins_too = added(2, 5.0)
        state = state_after(STARTED, added(0, 5.0), [*before_first, first, joins, *before_second, second, joins_too])
        group = state.groups["0"]
        assert (group.inside.value, group.between.value) == (0.75, 1.0 / 3)
        state.apply(Regrouped({"0": (1,)}))
        assert state.groups["0"].inside.value is None

    def test_programs_without_a_group_wait_for_one(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED, added(0, 5.0, None), added(1, 4.0, None), failed(2))
        assert (state.ungrouped, state.groups, set(state.members)) == ([0, 1], {}, {TEMPLATE, 0, 1})
        state.apply(Regrouped({"0": (1, TEMPLATE), "1": ()}))
        assert (state.ungrouped, set(state.members)) == ([], {TEMPLATE, 1})
        first, second = state.groups["0"], state.groups["1"]
        assert (first.members, first.added, first.arranged_at, first.improved_at) == ([1, TEMPLATE], 0, 3, 1)
        assert (second.members, second.improved_at, second.is_selection) == ([], None, False)

    def test_groups_that_a_rearrangement_does_not_name_stay_as_they_are(self) -> None:
        state = state_after(STARTED, added(0, 5.0, "0"), added(1, 4.0, "1"), Regrouped({"1": (0,)}))
        assert {name: group.members for name, group in state.groups.items()} == {"0": [0], "1": [0]}
        assert (state.groups["0"].added, state.groups["1"].added) == (1, 0)

    def test_a_selection_points_out_programs_and_leaves_all_else_as_it_is(self) -> None:
        state = state_after(STARTED, added(0, 5.0), added(1, 4.0, None), Regrouped({"elites": (0,)}, selection=True))
        assert (list(state.islands), state.ungrouped, set(state.members)) == (["0"], [1], {0, 1})
        assert (state.groups["elites"].members, state.groups["elites"].is_selection) == ([0], True)

    def test_of_members_as_good_the_oldest_is_the_best(self) -> None:
        state = state_after(STARTED, added(0, 5.0), added(1, 4.0), added(2, 4.0))
        assert state.best_member([2, 0, 1]) == state.members[1]


class TestDigest:
    RUN = (TEMPLATE_SCORED, *added(0, 5.0, None), *failed(1), Regrouped({"0": (0,), "1": (TEMPLATE,)}), *added(2, 4.0))

    def test_it_does_not_depend_on_what_decides_nothing(self) -> None:
        digest = state_after(STARTED, self.RUN).digest()
        late = state_after(STARTED, self.RUN, RunStopped("budget"), asked(3), replied(3), scored(3, 1.0))
        assert late.digest() == digest
        selected = state_after(STARTED, self.RUN, Regrouped({"elites": (0,)}, selection=True))
        assert selected.digest() == digest
        regrouped = state_after(STARTED, self.RUN, Regrouped({"0": (0, 2), "1": (TEMPLATE,)}))
        assert regrouped.digest() == digest
        elites = Regrouped({"elites": (0,)}, selection=True)
        assert state_after(STARTED, self.FIRST, elites).digest() == state_after(STARTED, self.FIRST).digest()

    FIRST = (TEMPLATE_SCORED, *added(0, 5.0, None), *failed(1))
    FOUNDED = Regrouped({"0": (0,), "1": (TEMPLATE,)})

    @pytest.mark.parametrize(
        "other",
        [
            (TEMPLATE_SCORED, *added(0, 5.5, None), *failed(1), FOUNDED, *added(2, 4.0)),
            (*FIRST, Regrouped({"1": (0,), "0": (TEMPLATE,)}), *added(2, 4.0)),
            (*FIRST, Regrouped({"0": (0,), "1": (0,)}), *added(2, 4.0)),
            (*FIRST, FOUNDED, *added(2, 4.0, "1")),
            (*FIRST, FOUNDED, *failed(2)),
        ],
    )
    def test_it_depends_on_every_score_and_every_placement(self, other: tuple[Event, ...]) -> None:
        assert state_after(STARTED, other).digest() != state_after(STARTED, self.RUN).digest()

    def test_it_is_the_same_for_ever(self) -> None:
        assert state_after(STARTED, self.RUN).digest()[:16] == "3607fbcdcbd140af"


class TestSpending:
    CALL = Usage(prompt=100, cached=40, completion=20, reasoning=5, cache_write=30, cost_usd=0.5)
    SILENT = Usage(estimated_prompt=7, estimated_completion=3, cost_usd=0.125)
    UNPRICED = Usage(estimated_prompt=7, estimated_completion=3)

    def test_tokens_are_counted_by_model_candidates_and_notes_alike(self) -> None:
        note = NoteReceived(0, Reply("Because.", "m", (self.CALL,)))
        other = Responded(1, Reply("", "other", (self.UNPRICED,), unanswered=2))
        question = NoteAsked(0, (), Prompt("Why?", "reflection"))
        state = state_after(STARTED, asked(0), asked(1), replied(0, self.CALL, self.SILENT), other, question, note)
        assert state.tally.tokens == {
            "m": Tokens(3, 200, 80, 40, 10, 60, 1.0, 0, 1, 7, 3, 0.125),
            "other": Tokens(1, unpriced=1, unreported=1, estimated_prompt=7, estimated_completion=3),
        }
        assert state.tally.largest["m"] == Tokens(2, 107, 40, 23, 5, 30, 0.625, unreported=1)
        assert state.tally.unanswered == 2

    def test_the_largest_reply_is_the_most_of_each(self) -> None:
        small, long = Usage(prompt=900, cached=0, completion=1, reasoning=0, cost_usd=0.25), self.CALL
        state = state_after(STARTED, asked(0), asked(1), replied(0, small), replied(1, long))
        assert state.tally.largest["m"] == Tokens(1, 900, 40, 20, 5, 30, 0.5)

    def test_the_most_requests_that_one_reply_left_unanswered_are_known(self) -> None:
        state = state_after(STARTED, asked(0), asked(1), asked(2))
        known = [state.tally.most_unanswered]
        for number, unanswered in enumerate((1, 3, 2)):
            state.apply(replied(number, unanswered=unanswered))
            known.append(state.tally.most_unanswered)
        assert (known, state.tally.unanswered) == ([0, 1, 3, 3], 6)


class TestModels:
    def test_a_model_is_known_by_its_candidates_their_gains_and_the_tokens_of_their_last_replies(self) -> None:
        call, state = TestSpending.CALL, state_after(STARTED, TEMPLATE_SCORED)
        for number, outcome in enumerate((scored(0, 8.0), scored(1, 9.5), rejected(2))):
            for event in (asked(number), replied(number, call), outcome, NotAdded(number)):
                state.apply(event)
        for event in (asked(3), replied(3), scored(3, 1.0), NotAdded(3)):  # no request: nobody was asked
            state.apply(event)
        assert state.models == {"m": ModelRecord(3, 1, Tokens.of((call, call, call)))}


class TestNotes:
    def test_a_note_is_awaited_until_it_is_received(self) -> None:
        question = NoteAsked(0, (TEMPLATE,), Prompt("Why?", "reflection"))
        state = state_after(STARTED, question)
        assert (state.awaited_notes, state.notes[0].text, state.waiting) == ([state.notes[0]], "", 1)
        state.apply(NoteReceived(0, Reply("Because.", "m")))
        assert (state.awaited_notes, state.notes[0].text, state.waiting) == ([], "Because.", 0)

    def test_a_note_about_several_programs_knows_the_scores_of_their_children_and_one_about_a_single_none(self) -> None:
        state = state_after(STARTED, TEMPLATE_SCORED, added(0, 5.0))
        single, pair = (0,), (TEMPLATE, 0)
        for number, about in enumerate((single, pair)):
            state.apply(NoteAsked(number, about, Prompt("Why?", "reflection")))
        for number, parents, outcome in (
            (1, single, scored(1, 4.0)),
            (2, pair, scored(2, 3.0)),
            (3, pair, rejected(3)),
        ):
            for event in (asked(number, parents=parents), replied(number), outcome, NotAdded(number)):
                state.apply(event)
        assert [note.children for note in state.notes.values()] == [[], [3.0, None]]

    def test_no_number_of_a_note_is_one_of_a_candidate_or_the_templates(self) -> None:
        assert [note_number(note) for note in range(3)] == [-2, -3, -4]


class TestSessions:
    def test_what_an_older_journal_does_not_say_was_not_so(self) -> None:
        assert state_after(STARTED, RunResumed((), "partial")).tally.unanswered == 0
        assert not Prompt("a prompt", "improve").asks_thought

    def test_a_run_is_stopped_until_it_is_resumed_or_forked(self) -> None:
        state = state_after(STARTED, RunStopped("max_cost", under_way=2))
        assert (state.stopped, state.isolation, state.budget, state.under_way) == ("max_cost", "strong", 20, 2)
        state.apply(RunStopped("failed", message="no reply"))
        assert state.failure == "no reply"
        state.apply(RunResumed((), "partial", unanswered=3))
        assert state.failure == ""
        assert (state.stopped, state.isolation, state.tally.unanswered, state.under_way) == (None, "partial", 3, None)
        state.apply(RunStopped("budget"))
        state.apply(RunForked("first", {"budget": 40}, {"task": "2"}))
        assert (state.stopped, state.budget, state.isolation) == (None, 40, "partial")
        assert state.started == RunStarted({"budget": 40}, {"task": "2"}, "partial")

    def test_budgets_that_were_used_up_are_known_since_the_last_fork(self) -> None:
        state, known = state_after(STARTED), []
        fork = RunForked("first", {"budget": 40}, {})
        events = [*failed(0), RunStopped("max_cost"), RunStopped("budget"), RunStopped("budget"), *failed(1)]
        for event in (*events, RunStopped("budget"), fork):
            state.apply(event)
            known.append([*state.used_budgets])
        assert known[4:] == [[], [1], [1], *[[1]] * 4, [1, 2], []]

    @pytest.mark.parametrize("later", [False, True])
    def test_a_choice_holds_for_the_candidates_registered_until_then_and_ends_with_a_fork(self, later: bool) -> None:
        recommended, portfolio = Recommended(0, {0: 1.5}), PortfolioChosen(1, (("first", 0),))
        events = [STARTED, *failed(0), recommended, portfolio, *(failed(1) if later else ())]
        state = state_after(*events)
        assert (state.recommended, state.recommended_of, state.has_recommended) == (recommended, 1, not later)
        assert state.portfolio == portfolio
        state.apply(RunForked("first", STARTED.settings, {}))
        assert (state.recommended, state.recommended_of, state.has_recommended) == (None, None, False)
        assert state.portfolio is None


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([replied(0)], "candidate 0 is not open"),
        ([asked(0), replied(0), scored(0, 1.0), NotAdded(0), NotAdded(0)], "candidate 0 is not open"),
        ([asked(0), asked(1), replied(1), scored(1, 1.0), NotAdded(1)], "candidate 1 is registered out of turn"),
        ([asked(0), replied(0), NotAdded(0)], "or before it has an outcome"),
        ([asked(0), replied(0), rejected(0), Added(0, "0")], "candidate 0 is not feasible"),
        ([asked(0, INJECTED)], "candidate 0 is an injected program"),
        (
            [Injected("late.py", "", not_before=1), asked(0, INJECTED)],
            "candidate 0 is an injected program",
        ),
        ([asked(0), asked(0)], "candidate 0 is asked for again and was not rejected"),
        ([asked(0), replied(0), scored(0, 1.0), asked(0)], "candidate 0 is asked for again and was not rejected"),
        ([Regrouped({"0": (7,)})], "group '0' holds candidate 7, which is not in the archive"),
        ([NoteReceived(0, Reply("", "m"))], "note 0 is answered and was never asked for"),
        ([Compared(0)], "candidate 0 is not open"),
        ([asked(0), rejected(0)], "candidate 0 has an outcome before it has a reply"),
        ([asked(0), scored(0, 1.0)], "candidate 0 has an outcome before it has a reply"),
        ([asked(0), PutOff(0, "memory")], "candidate 0 is put off while it has nothing to be evaluated"),
        (
            [asked(0), replied(0), scored(0, 1.0), PutOff(0, "memory")],
            "candidate 0 is put off while it has nothing to be evaluated",
        ),
    ],
)
def test_an_event_that_cannot_follow_those_before_it_is_refused(events: list[Event], said: str) -> None:
    with pytest.raises(JournalError, match=said):
        state_after(STARTED, events)


def test_a_run_that_has_not_started_has_no_budget() -> None:
    with pytest.raises(JournalError, match="has no budget"):
        _ = RunState(Objective("minimise")).budget


def test_an_event_that_nobody_handles_is_loud() -> None:
    @dataclass(frozen=True)
    class Unheard:
        candidate: int

    with pytest.raises(AssertionError, match="Unheard"):
        RunState(Objective("minimise")).apply(Unheard(0))  # type: ignore[arg-type]


def test_every_event_has_a_name_under_which_it_is_stored() -> None:
    assert set(STORED_AS.values()) == set(get_args(Event))
    # journals hold these names: an event that is renamed must still be found under its old one
    assert STORED_AS.keys() == {
        *("RunStarted", "RunResumed", "RunForked", "RunStopped", "Injected", "Advised", "ClockRead", "Asked"),
        "Responded",
        *("Evaluated", "Rejected", "Compared", "Added", "NotAdded", "Regrouped", "NoteAsked", "NoteReceived"),
        *("Recommended", "PortfolioChosen", "PutOff", "BatchSent", "GoneOn", "Raced", "RaceEnded"),
        *("FreshBegun", "FreshScored"),
    }


def test_every_attribute_of_a_state_says_what_it_is() -> None:
    (kind,) = [node for node in ast.parse(inspect.getsource(RunState)).body if isinstance(node, ast.ClassDef)]
    said = [isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in kind.body]
    for place, node in enumerate(kind.body):
        if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):  # type: ignore[union-attr]
            assert said[place + 1], f"RunState.{node.target.id} says nothing of itself"  # type: ignore[union-attr]
