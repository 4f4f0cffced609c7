"""What a reply and a verdict come to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from behavesim.engine.outcome import fail_incomparable, is_paid, outcome_of_copy, outcome_of_verdict, program_of_reply
from behavesim.programs.parsing import program_hash
from behavesim.programs.reading import Program
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import INJECTED, TEMPLATE, Asked, Evaluated, NoteAsked, Prompt, Rejected, Reply
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory
from tests.engine.toys import Toy, fitting

TASK = Toy()
QUESTION = Asked(3, (TEMPLATE,), None, Prompt("a prompt", "improve"))
FENCED = f"{{An idea.}}\n```python\n{Toy.template}\n```"
TOURS = (Trajectory.prefixes([0, 1, 2]),)
PROGRAM = Program("def f(): ...", "An idea.", "key")


class TestReply:
    def test_its_program_is_named_by_its_hash(self) -> None:
        program = program_of_reply(TASK, QUESTION, Reply(FENCED, "m"), "")
        assert isinstance(program, Program)
        assert (program.source.strip(), program.hash) == (Toy.template.strip(), program_hash(program.source))

    @pytest.mark.parametrize(("asks_thought", "thought"), [(False, ""), (True, "An idea.")])
    def test_its_thought_is_read_where_one_was_asked_for(self, asks_thought: bool, thought: str) -> None:
        program = program_of_reply(TASK, Asked(3, (), None, Prompt("", "e1", asks_thought)), Reply(FENCED, "m"), "")
        assert isinstance(program, Program)
        assert program.thought == thought

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (Reply("I cannot.", "m"), "refusal"),
            (Reply("```python\ndef f(:\n", "m", finish_reason="length"), "truncated"),
            (Reply(FENCED, "m", fault="the prompt is too long"), "given-up"),
        ],
    )
    def test_one_without_a_program_is_a_rejection_that_says_why(self, reply: Reply, reason: str) -> None:
        rejection = program_of_reply(TASK, QUESTION, reply, "")
        assert isinstance(rejection, Rejected)
        assert (rejection.candidate, rejection.stage, rejection.reason) == (3, "extraction", reason)
        assert rejection.message
        assert reply.fault in rejection.message


class TestVerdict:
    def test_a_score_makes_a_feasible_candidate(self) -> None:
        assert outcome_of_verdict(3, PROGRAM, Verdict(2.0, (1.0, 3.0), TOURS, 0.5)) == Evaluated(
            3, "def f(): ...", 2.0, (1.0, 3.0), TOURS, "An idea.", "key", None, 0.5
        )

    def test_a_failure_rejects_it_with_what_it_took(self) -> None:
        assert outcome_of_verdict(3, PROGRAM, Failure("timeout", "after 5 s", 5.0)) == Rejected(
            3, "evaluation", "timeout", "after 5 s", "def f(): ...", "An idea.", "key", None, 5.0
        )

    def test_the_addresses_in_its_message_are_left_out(self) -> None:
        rejection = outcome_of_verdict(
            3, PROGRAM, Failure("exception", "TypeError: <f at 0x7f1c2a> is not 0x7f (line 3)")
        )
        assert isinstance(rejection, Rejected)
        assert rejection.message == "TypeError: <f at 0x…> is not 0x7f (line 3)"

    def test_a_behaviour_that_cannot_be_compared_with_the_templates_is_a_failure(self) -> None:
        behaviours = Behaviours.of_run(fitting({"method": "funsearch+behavesim"}), TASK, is_read=True)
        template = Evaluated(TEMPLATE, Toy.template, 9.0, (9.0,), TOURS)
        behaviours.apply(template, (TEMPLATE,))
        fine, odd = Verdict(1.0, (1.0,), TOURS, 0.5), Verdict(1.0, (1.0,), (*TOURS, *TOURS), 0.5)
        assert fail_incomparable(fine, behaviours) is fine
        failure = fail_incomparable(odd, behaviours)
        assert isinstance(failure, Failure)
        assert (failure.reason, failure.cpu_s) == ("incomparable", 0.5)
        assert "cannot be compared with what the template does" in failure.message
        crashed = Failure("crash")
        assert fail_incomparable(crashed, behaviours) is crashed


@pytest.mark.parametrize("verdict", [Verdict(2.0, (2.0,), TOURS, 0.5), Failure("timeout", "after 5 s", 5.0)])
def test_the_result_of_a_program_with_the_same_text_is_taken_over(verdict: Verdict | Failure) -> None:
    first, own = (
        outcome_of_verdict(1, PROGRAM, verdict),
        outcome_of_verdict(3, replace(PROGRAM, thought="Another idea."), verdict),
    )
    copy = outcome_of_copy(3, PROGRAM, first)
    assert (copy.candidate, copy.source, copy.thought, copy.copy_of) == (3, PROGRAM.source, PROGRAM.thought, 1)
    assert (copy.program_hash, copy.cpu_s) == ("key", verdict.cpu_s)
    kept = ("score", "scores", "trajectories") if isinstance(own, Evaluated) else ("stage", "reason", "message")
    assert [getattr(copy, name) for name in kept] == [getattr(own, name) for name in kept]


@pytest.mark.parametrize(
    ("question", "batched", "paid"),
    [
        (QUESTION, (), False),
        (QUESTION, (2,), False),
        (QUESTION, (3,), True),
        (Asked(3, (), None, Prompt("a program", INJECTED)), (), True),
        (NoteAsked(3, (), Prompt("Why?", "reflection")), (3,), False),
        (NoteAsked(3, (), Prompt("Why?", "reflection")), (-5,), True),
    ],
)
def test_nothing_more_is_paid_for_a_persons_program_and_for_a_question_of_a_batch(
    question: Asked | NoteAsked, batched: tuple[int, ...], paid: bool
) -> None:
    assert is_paid(question, batched) == paid
