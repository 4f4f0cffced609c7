"""Metrics, feedback and recent failures in prompts, for tasks that have them."""

from __future__ import annotations

from pathlib import Path

from behavesim.engine.admission import settings_from_person
from behavesim.prompts.feedback import FEEDBACK_SHOWN, METRICS_SHOWN, metrics_in_words, quote_lines
from behavesim.prompts.prompts import Prompts, fill_placeholders, fill_within_budget, placeholder
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked, NoteAsked, Prompt, Rejected
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.state.views import Failed
from behavesim.task import TaskReference

TOLD = Member(0, "x = 1\n", 1.5, 1.5, metrics={"speed": 2.0, "error": "nan"}, feedback="line 1\n\nline `2`\n")
FAILED = Rejected(4, "evaluation", "evaluator", "stopped", metrics={"speed": 0.25}, feedback="Traceback\n  ValueError")


def evaluated(folder: Path, **settings: object) -> Prompts:
    """The prompts of a run of an evaluator."""
    (folder / "judge.py").write_text("def evaluate(path):\n    return {'combined_score': 1.0}\n")
    (folder / "first.py").write_text("x = 1\n")
    (folder / "task.toml").write_text('convention = "openevolve"\nevaluator = "judge.py"\nprogram = "first.py"\n')
    task = TaskReference(str(folder / "task.toml")).load()
    return Prompts.of_run(settings_from_person({"task": str(folder / "task.toml"), **settings}, task=task), task)


def completed(prompts: Prompts, asked: Asked, *failures: Rejected) -> str:
    state = RunState(prompts.objective)
    state.tried.failures.extend(Failed((), each) for each in failures)
    found = prompts.complete(asked, state, Behaviours())
    assert isinstance(found, Asked | NoteAsked)
    return found.prompt.text


def test_the_shown_programs_come_with_metrics_and_feedback(tmp_path: Path) -> None:
    text = evaluated(tmp_path).showing_programs("improve", [TOLD]).text
    assert "Score 1.5. Metrics: speed 2, error nan. Its code:" in text
    assert "What was said about it when it ran:\n\n    line 1\n    line '2'" in text
    assert "Metrics" in evaluated(tmp_path).showing_template("template", 0, TOLD).text


def test_recent_failures_are_shown_with_their_reasons_and_what_was_said(tmp_path: Path) -> None:
    prompts = evaluated(tmp_path)
    for prompt in (prompts.showing_programs("improve", [TOLD]), prompts.showing_template("initial", 0, TOLD)):
        asked = Asked(7, (0,), None, prompt)
        text = completed(prompts, asked, FAILED, FAILED)
        failed = "stopped. Metrics: speed 0.25.\n    Traceback\n      ValueError"
        assert f"- evaluator: {failed}" in completed(prompts, asked, FAILED)
        assert text.count(f"- evaluator (2 programs): {failed}") == 1
        assert "Failed by" not in completed(prompts, asked)
        assert "\0" not in completed(prompts, asked)
        assert "\n\n\n" not in completed(prompts, asked)


def test_without_feedback_prompts_say_nothing_of_it(tmp_path: Path) -> None:
    prompts = evaluated(tmp_path, prompt_feedback="none")
    text = completed(prompts, Asked(7, (0,), None, prompts.showing_programs("improve", [TOLD])), FAILED)
    for word in ("Metrics", "line 1", "Failed by"):
        assert word not in text


def test_a_repair_shows_the_end_of_what_was_said(tmp_path: Path) -> None:
    prompts = evaluated(tmp_path)
    asked = Asked(4, (0,), None, prompts.showing_programs("improve", [TOLD]))
    assert (
        "It was rejected (evaluator): stopped\n\n    Traceback\n      ValueError"
        in prompts.repair(asked, "", FAILED).prompt.text
    )


def test_what_is_shown_is_bounded_and_opens_no_block() -> None:
    many = {f"metric {number}": float(number) for number in range(50)}
    assert metrics_in_words(many).count(",") == METRICS_SHOWN
    assert metrics_in_words({"combined_score": 1.5}, 1.5) == ""
    assert metrics_in_words({"private.most": 7.0, "private_note": 2.0, "size": 3.0}) == "Metrics: size 3."
    shown = quote_lines(f"```python\n{placeholder('failures')}{'x' * 5000}", FEEDBACK_SHOWN)
    assert len(shown) < FEEDBACK_SHOWN + 20
    assert "`" not in shown and "\0" not in shown
    assert (
        quote_lines("first\nsecond", 9) == "    first\n    …"
    )  # half a line of figures would be taken for a whole one
    assert quote_lines("first\nsecond", 5) == "    first\n    …"
    assert quote_lines("first\nlast", 4, is_end=True) == "    last"
    assert quote_lines("first\nsecond\nlast", 8, is_end=True) == "    last"  # and no half of a line
    assert quote_lines("first\nsecond\nlast", 11, is_end=True) == "    second\n    last"
    assert quote_lines("a long line", 4, is_end=True) == "    line"


def test_a_place_is_filled_once_and_an_empty_part_takes_its_paragraph_along() -> None:
    nowhere = fill_within_budget(Prompt("a\n\nb", "improve"), {"run": lambda: 1 / 0}, None)  # type: ignore[dict-item,return-value]
    assert nowhere.text == "a\n\nb"
    text = f"{placeholder('run')}\n\na\n\n{placeholder('tried')}\n\nb: {placeholder('failures')}"
    assert fill_placeholders(text, {"run": "", "tried": "", "failures": ""}) == "a\n\nb: "
    assert fill_placeholders(text, {"run": "x\0\x1b", "tried": "y", "failures": ""}) == "x\n\na\n\ny\n\nb: "
