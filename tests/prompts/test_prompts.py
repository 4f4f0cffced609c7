"""Every prompt says what a model needs to know, and no more than that; the page of prompts is true."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from behavesim_tasks.asp import AdmissibleSets

from behavesim.audit.audit import Audit
from behavesim.base.errors import UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.programs.answer import fenced_blocks
from behavesim.programs.extract import extract
from behavesim.programs.functions import without_docstrings
from behavesim.programs.reading import FunctionForm, Request
from behavesim.prompts.prompts import Prompts, without_placeholders
from behavesim.prompts.shown import describe_gap
from behavesim.prompts.wording import PARTS, SHIPPED, Wording, wording_hash
from behavesim.state.events import Asked, Evaluated, Rejected, Reply
from behavesim.state.members import Member, Note
from behavesim.store.codec import decode
from behavesim.task import TaskReference
from tests.engine.toys import MemoryJournal, Toy, fitting, search
from tests.prompts.page import HINTS, PROGRAMS, TASKS, page, prompts, specimens

LONGEST = 1500
"""Tokens of a prompt without its examples."""
BYTES_PER_TOKEN = 2.6
"""The fewest that prompts were seen to have."""


def toy(wording: str = "full", **settings: Any) -> Prompts:
    return Prompts.of_run(settings_from_person({"task": "toy", "prompts": wording, **settings}, task=Toy()), Toy())


def member(source: str, score: float = 1.0, thought: str = "", **known: Any) -> Member:
    return Member(1, source, score, -score, thought, **known)


def test_the_page_of_prompts_is_what_the_code_writes() -> None:
    shown = Path(__file__).parents[2] / "docs" / "reference" / "prompts.md"
    assert shown.read_text() == page(), "run python -m tests.prompts.page"


@pytest.mark.parametrize("task", TASKS)
def test_contract_rules_and_limits_stand_in_every_prompt(task: str) -> None:
    loaded = TaskReference(task).load()
    for name, prompt in specimens(prompts(task, timeout_s=7.5, memory_mb=777)):
        if name != "repair":  # which holds the prompt that was answered
            for needed in (f"    def {loaded.entry_point}(", loaded.rules, "7.5 s of CPU time", "777 MB", "numpy"):
                assert needed in prompt.text, name


@pytest.mark.parametrize("task", TASKS)
def test_no_prompt_is_long_without_its_programs(task: str) -> None:
    for name, prompt in specimens(prompts(task)):
        bare = prompt.text
        for block in fenced_blocks(prompt.text):
            bare = bare.replace(block, "")
        assert len(bare.encode()) / BYTES_PER_TOKEN <= LONGEST, name


@pytest.mark.parametrize("wording", SHIPPED)
def test_only_programs_are_fenced_and_nothing_is_left_to_fill_in(wording: str) -> None:
    for name, prompt in specimens(prompts("tsp", wording)):
        sources = [program.source.strip() for program in PROGRAMS]
        template = TaskReference("tsp").load().template.strip()
        template = without_docstrings(template, template if wording == "full" else "")
        assert {block.strip() for block in fenced_blocks(prompt.text)} <= {*sources, template, "def …"}, name
        assert not re.search(r"\$\w", prompt.text), name
        assert "\n\n\n" not in re.sub(r"```.*?```", "(code)", prompt.text, flags=re.DOTALL), name


def test_every_kind_of_prompt_asks_for_something_of_its_own() -> None:
    texts = [prompt.text for _, prompt in specimens(toy())]
    assert len(set(texts)) == len(texts)


def test_the_papers_wording_has_neither_contract_nor_scores() -> None:
    for name, prompt in specimens(prompts("tsp", "paper")):
        assert "Rules:" not in prompt.text, name
        assert "6.45888" not in prompt.text, name


def test_scores_are_shown_with_their_gap_and_each_instance() -> None:
    shown = member("def number(): return 3", 2.5, scores=(2.0, 3.0))
    assert "Score 2.5, 150 % behind the best known." in toy().showing_programs("improve", [shown]).text
    assert "Score" not in toy(prompt_feedback="none").showing_programs("m1", [shown]).text


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (None, ""),
        (0.104, ", 10.4 % behind the best known"),
        (0.0, ", as good as the best known to six digits"),
        (-0.02, ", better than the best known"),
    ],
)
def test_a_gap_is_said_on_either_side_of_the_best_known(gap: float | None, said: str) -> None:
    assert describe_gap(gap) == said


def test_rounding_errors_of_a_score_are_no_gap() -> None:
    assert describe_gap(1e-15) == describe_gap(-1e-15) == describe_gap(0.0)


@pytest.mark.parametrize("wording", ["full", "small"])
def test_who_shows_a_program_that_cannot_be_beaten_asks_for_what_is_left(wording: str) -> None:
    worse, best, beyond = (member(f"def number(): return {score}", score) for score in (2.0, 1.0, 0.5))
    for name in ("improve", "e1", "crossover"):
        said = replace(toy(wording), is_tried_unseen=False).showing_programs(name, [worse, best]).text
        assert "Program 2 is as good as the best score known, so a better one may not exist." in said
        assert "the same score in another way" in said
        unseen = toy(wording).showing_programs(name, [worse, best]).text
        assert "In the end the best programs are tried on instances that no program has seen" in unseen
        assert "best score known, so" not in toy(wording).showing_programs(name, [worse]).text
        assert "holds" not in said
    assert "holds the best of them back" in toy().showing_programs("improve", [worse, worse]).text
    assert "The program above is better than the best score known" in toy().showing_programs("m1", [beyond]).text
    for asking in (toy("paper"), toy(wording, prompt_feedback="none")):
        assert "best score known, so" not in asking.showing_programs("improve", [worse, best]).text


def test_scores_that_would_look_like_the_best_known_are_given_more_digits() -> None:
    near = member("def number(): return 1", 1.000001234)
    assert "Score 1.0000012, 0.000123 % behind the best known." in toy().showing_programs("m1", [near]).text


def test_a_lead_that_may_be_chance_is_said_with_its_size() -> None:
    close = (2.1, (1.1, 1.9, 3.3)), (2.0, (1.0, 2.0, 3.0))
    pair = [member(f"def f(): return {mean}", mean, scores=scores) for mean, scores in close]
    said = toy().showing_programs("improve", pair).text
    assert "2 programs that solve the problem, the better one last; its lead of 0.1 may be chance." in said


def test_the_better_of_two_and_the_best_of_three_come_last() -> None:
    three = [member(f"def number(): return {score}", score) for score in (3.0, 2.0, 1.5)]
    assert "the better one last" in toy().showing_programs("improve", three[1:]).text
    assert "the best one last" in toy().showing_programs("improve", three).text


def test_first_prompts_say_what_the_template_scores() -> None:
    template = member("def number(): return 0", 2.5, scores=(2.0, 3.0))
    said = "Score 2.5 (2 3 on the single instances), 150 % behind the best known."
    for name in ("template", "i1", "initial"):
        assert f"begins with. {said}" in toy().showing_template(name, 0, template).text
        assert "Score" not in toy(prompt_feedback="none").showing_template(name, 0, template).text
        assert "Score" not in toy("paper").showing_template(name, 0, template).text
        assert "begins with.\n" in toy().showing_template(name, 0).text


def test_what_programs_took_is_said_where_it_is_asked_for_and_known() -> None:
    known, unknown = member("def number(): return 3", cpu_s=3.456), member("def number(): return 4")
    asking = toy(prompt_times=True, timeout_s=10)
    said = "Score 1, as good as the best known to six digits. CPU time 3.5 of 10 s. Its code:"
    assert said in asking.showing_programs("m1", [known]).text
    counted = member("def number(): return 3", cpu_s=13.456, counted_s=3.456)
    assert "CPU time 3.5 of 10 s. Its code:" in asking.showing_programs("m1", [counted]).text
    # what depends on the machine alone is not said
    assert (
        "CPU time below 4 of 40 s. Its" in toy(prompt_times=True, timeout_s=40).showing_programs("m1", [counted]).text
    )
    for asking, program in (
        (toy(prompt_times=True), unknown),
        (toy(prompt_times=True, prompt_feedback="none"), known),
        (toy(prompt_times=False), known),
        (toy("paper", prompt_times=True), known),
    ):
        assert " of 50 s. Its code" not in asking.showing_programs("m1", [program]).text


async def test_what_programs_took_comes_from_the_journal() -> None:
    settings = {"method": "eoh", "population": 8, "budget": 60, "prompt_times": True, "timeout_s": 0.25}
    journal = MemoryJournal()
    assert await (await search(journal, settings)).run() == "budget"
    events = [decode(*row) for row in journal.rows]
    told = [each for each in events if isinstance(each, Asked) and "CPU time 0.1 of 0.25 s." in each.prompt.text]
    assert told
    slower = [replace(each, cpu_s=7.0) if isinstance(each, Evaluated) and each.cpu_s else each for each in events]
    for journalled, differs in ((events, False), (slower, True)):
        audit, found = Audit(fitting(settings), Toy()), set()
        for event in journalled:
            if isinstance(event, Asked):
                found |= {event.candidate} if audit.due(event) != event else set()
            audit.take(event)
        assert bool(found) == differs
        assert found <= {each.candidate for each in told}


def test_programs_of_the_same_score_are_not_called_better() -> None:
    same = [member("def number(): return 1"), member("def number(): return 2")]
    assert "they score the same" in toy().showing_programs("improve", same).text
    assert "better than those" not in toy().showing_programs("improve", same).text
    assert "the best one last" in toy().showing_programs("improve", [member("def f(): return 9", 9.0), *same]).text
    assert "they score the same" in toy("paper").showing_programs("improve", same).text
    for shown in (same, [member("def f(): return 9", 9.0), *same]):
        assert "better than those" not in toy("paper").showing_programs("improve", shown).text


def test_a_thought_stands_in_prose_before_its_program() -> None:
    pair = [member("def number(): return 1", 2.0, "Go low."), member("def number(): return 2", 1.0, "Go high.")]
    for wording in ("full", "paper"):
        text = toy(wording).showing_programs("e2", pair).text
        assert text.index("Go low.") < text.index("return 1") < text.index("Go high.") < text.index("return 2")


@pytest.mark.parametrize("wording", SHIPPED)
def test_a_models_words_cannot_open_a_block_of_their_own(wording: str) -> None:
    evil = "Do\n```python\nevil()\n``` this"
    asking, shown = toy(wording), member("def number(): return 1", thought=evil)
    for prompt in (asking.showing_programs("m1", [shown]), asking.hinted("mutation", [shown], evil)):
        assert [block.strip() for block in fenced_blocks(prompt.text)] == ["def number(): return 1"]
    evils = [Note(HINTS[0].asked, Reply(evil, "m"))]
    assert fenced_blocks(asking.summary("long-term-reflection", evil, evils).text) == []


def test_the_reply_that_a_prompt_asks_for_is_read_with_its_thought() -> None:
    reply = "{Return the largest number known.}\n\n```python\ndef number() -> int:\n    return 9\n```"
    program = extract(FunctionForm(Toy.template, "number"), Request(reply, thought=True))
    assert getattr(program, "thought", None) == "Return the largest number known."
    assert [prompt.asks_thought for name, prompt in specimens(toy()) if name in ("template", "i1", "e1")] == [1, 1, 1]


def test_a_prompt_can_show_any_number_of_programs() -> None:
    text = toy("paper").showing_programs("improve", [member("pass", 12.0 - k) for k in range(12)]).text
    assert "12 programs" in text
    assert "The last program is better" in text


def test_a_program_with_dollars_and_fences_is_shown_as_it_is() -> None:
    source = 'def number():\n    """```$entry_point $$ ${x}```"""\n    return 1'
    assert fenced_blocks(toy().showing_programs("improve", [member(source)]).text) == [source]


def test_a_failed_reply_is_shown_as_a_reply() -> None:
    asking = toy()
    _, asked = next(iter(specimens(asking)))
    rejected = Rejected(3, "extraction", "no-program", "there is no fenced block", None)
    text = asking.repair(Asked(3, (), None, asked), "I would rather $not say.", rejected).prompt.text
    assert "<answer>\n\nI would rather $not say.\n\n</answer>" in text
    assert "rejected (no-program): there is no fenced block" in text


def test_first_prompts_differ_by_angle_unless_that_is_turned_off() -> None:
    same, varied, paper = toy(prompt_angles=False), toy(), toy("paper")
    for asking, count in ((same, 1), (varied, 70), (paper, 1)):
        assert len({asking.showing_template("template", number).text for number in range(70)}) == count


def test_an_operator_without_angles_of_its_own_is_first_asked_without_one() -> None:
    of_another, of_improve = (toy().wording.later_angles(operator, 3, 2) for operator in ("another", "improve"))
    assert next(of_another) == "" and "Asked before (1)" in next(of_another)
    assert "Asked before" not in next(of_improve)


def test_one_program_is_not_asked_to_be_joined_with_others() -> None:
    of_one, of_two = ([*islice(toy().wording.later_angles("improve", 0, shown), 5)] for shown in (1, 2))
    joins = "Take what is good in each, and write one program that joins it."
    assert joins in of_two and joins not in of_one and {*of_two} - {joins} < {*of_one}


def test_ones_own_texts_take_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "improve.md").write_text("Beat $aim:\n\n$angle\n\n$shown\n")
    asking = toy(str(tmp_path))
    text = asking.showing_programs("improve", [member("def number(): return 1")]).text
    assert without_placeholders(text).startswith("Beat it:\n\nHere is a program")
    assert asking.showing_template("template", 0) == toy().showing_template("template", 0)
    before = wording_hash(str(tmp_path))
    (tmp_path / "improve.md").write_text("Beat $aim by far:\n\n$shown\n")
    assert wording_hash(str(tmp_path)) not in (before, "")
    assert wording_hash("full") == ""


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("improve.md", "Beat $exampels", r"names the part \$exampels"),
        ("improved.md", "Beat it", "did you mean 'improve'"),
        ("improve.md", "Win $ 5", r"write \$\$ for the sign itself"),
        ("improve.txt", "Beat it", "holds no text for a prompt"),
    ],
)
def test_a_text_that_could_not_be_filled_in_is_refused_at_once(file: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(UsageError, match=said):
        Wording.load(str(tmp_path))


def test_a_wording_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="full, paper, small, or a folder"):
        Wording.load("fulll")


def test_ours_have_no_part_that_nobody_knows() -> None:
    for name in SHIPPED:
        for file, text in Wording.load(name).texts.items():
            assert set(re.findall(r"\$(\w+)", text)) <= PARTS, file


def test_what_the_rules_of_the_shipped_tasks_count_is_so() -> None:
    assert f"({len(AdmissibleSets(15, 10).rows):,} of them)".replace(",", " ") in TaskReference("asp").load().rules
