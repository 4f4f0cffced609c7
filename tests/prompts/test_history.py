"""Prompts say how far the run has come, whatever programs, models and people have written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.base.errors import TaskError
from behavesim.prompts.behaviour_diff import behaviour_in_words
from behavesim.prompts.feedback import tuning_in_words
from behavesim.prompts.shown import (
    IDEA,
    TOLD_FOR,
    Code,
    describe_run,
    failures_in_words,
    goal_in_words,
    groups_in_words,
    ideas_in_words,
    leader_in_words,
    mechanism,
    parts_of,
    programs_to_vary,
    prose,
)
from behavesim.similarity import BehaveSim
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    Advised,
    Asked,
    Evaluated,
    NoteAsked,
    Prompt,
    Rejected,
    Reply,
    Responded,
    Tuning,
)
from behavesim.state.members import Member, Note, OpenCandidate
from behavesim.state.state import RunState
from behavesim.state.views import IDEAS, Attempt, BehaviourGroup, BehaviourGroups, Failed, PromptHistory
from behavesim.task import InWords, Objective, TaskReference, rank_words
from behavesim.trajectory import Trajectory
from tests.prompts.page import PROGRAMS, example, prompts, specimens

TSP = InWords(TaskReference("tsp").load())
HOSTILE = st.text(st.sampled_from("a \0\x1b\x07\r\n\t`$\x85\x9b\ud800{}\u2028"), max_size=30)
ASKING = [prompts("tsp", wording) for wording in ("full", "paper")]


def unwanted(text: str) -> set[str]:
    return {letter for letter in text if (ord(letter) < 32 or 127 <= ord(letter) < 160) and letter not in "\n\t"}


def ran(candidate: int, score: float, thought: str = "", *scores: float) -> OpenCandidate:
    asked = Asked(candidate, (), None, Prompt("", "improve"))
    return OpenCandidate(asked, outcome=Evaluated(candidate, f"{candidate}", score, scores or (score,), (), thought))


def test_the_best_score_and_the_gaps_by_instance_are_said() -> None:
    said = describe_run(example(), PROGRAMS, TSP)
    assert said.startswith(
        "The search has tried 14 programs so far, of which 1 failed. The best one scores 6.2103, 10.4 % behind the "
        "best known.\n\nHow far behind the best score so far on each instance, in %:\n"
    )
    assert "    3 50 cities, uniform       6.1027       9.05       1.73" in said.split("\n")
    beside = describe_run(example(), PROGRAMS, TSP, is_leader_shown=True)
    assert "The best one" not in beside
    assert "program 1  program 2  the best" in beside and "Better than" not in beside
    ahead = [replace(PROGRAMS[0], scores=(6.2, 6.5, 7.0, 6.0, 5.0)), PROGRAMS[1]]
    assert "Better than the best program: program 1 on instances 5, 4, 2 and 1 other." in describe_run(
        example(), ahead, TSP, is_leader_shown=True
    )
    shown = replace(example(), best=replace(PROGRAMS[1], score=6.0, utility=-6.0))
    assert "; the best is program 2 above." in describe_run(shown, [PROGRAMS[0], replace(PROGRAMS[1], score=6.0)], TSP)
    assert describe_run(RunState(TSP.task.objective), PROGRAMS, TSP) == ""
    poor = replace(example(), best=replace(PROGRAMS[0], score=9.0, utility=-9.0))
    assert "None is better than the program that the search began with, which scores 6.53344" in describe_run(
        poor, PROGRAMS, TSP
    )


def test_the_failures_of_the_shown_programs_children_come_first() -> None:
    state = example()
    state.tried.failures.append(Failed((), Rejected(11, "extraction", "syntax", "invalid syntax (line 3)")))
    first, second = failures_in_words(state, (1, 2)).split("\n")[1:]
    assert first.startswith(
        "- written from program 2: timeout: still not done after the 50 s of CPU time that count, at call 61"
    )
    assert first.endswith("2-opt until nothing improves.)")
    assert second == "- syntax: invalid syntax (line 3)"
    assert "written from the program above" in failures_in_words(state, (2,))
    assert "written from program 2" in failures_in_words(state, (TEMPLATE, 2))
    assert failures_in_words(RunState(state.objective), (1, 2)) == ""
    # a failure is told for a while, and equal ones once
    state.registered += TOLD_FOR
    assert failures_in_words(state, (1, 2)) == ""
    last = state.tried.failures[-1].rejected
    state.tried.failures += (Failed((), replace(last, candidate=number)) for number in (20, 21))
    assert failures_in_words(state, ()).split("\n")[1:] == ["- syntax (2 programs): invalid syntax (line 3)"]


def test_only_the_best_ideas_are_remembered_each_once() -> None:
    tried, objective = PromptHistory(), Objective("minimise")
    for number in range(3 * IDEAS):
        tried.take(ran(number, float(-number), f"idea {number // 2}", float(number), 5.0), objective)
    assert [idea.thought for idea in tried.ideas] == [f"idea {k}" for k in range(11, 3, -1)]
    assert [idea.score for idea in tried.ideas][:2] == [-23.0, -21.0]
    assert (tried.ran, tried.best_scores) == (24, (0.0, 5.0))
    state = RunState(objective, tried=tried)
    assert ideas_in_words(state).split("\n")[1] == "- -23: idea 11"


def test_the_list_of_ideas_leaves_out_those_of_the_programs_shown() -> None:
    tried = PromptHistory(ideas=(Attempt(0, 2.0, "nearest first", "e1"), Attempt(1, 3.0, "farthest first", "e1")))
    state, shown = RunState(Objective("minimise"), tried=tried), replace(PROGRAMS[0], thought="nearest first")
    title = "The best other ideas so far, by score:"
    assert ideas_in_words(state, [shown]) == f"{title}\n- 3: farthest first"
    assert ideas_in_words(state, [shown, replace(shown, thought="farthest first")]) == ""


def test_the_best_program_beside_the_others_is_said_to_reach_the_best_known() -> None:
    state = RunState(Objective("minimise", best_known=2.0))
    state.best = replace(PROGRAMS[0], candidate=7, score=2.0 + 1e-7, utility=-2.0 - 1e-7)
    state.best = replace(state.best, feedback="12 of 14 are done\n")
    said = leader_in_words(state, [replace(PROGRAMS[1], score=3.0, utility=-3.0)], 0.0, Code())
    assert "What was said about it when it ran:\n\n    12 of 14 are done" in said
    assert (
        "as good as the best known" in said and "It is as good as the best score known, so a better one may not" in said
    )


def test_a_long_idea_ends_after_a_word_and_says_that_it_is_cut() -> None:
    long = PromptHistory(ideas=(Attempt(0, 2.0, "visit the nearest " * 50, "e1"),))
    line = ideas_in_words(RunState(Objective("minimise"), tried=long)).split("\n")[1]
    assert line.endswith(("the…", "visit…", "nearest…")) and len(line) <= len("- 2: ") + IDEA


def test_what_was_tried_from_the_shown_programs_is_told_with_what_it_lost() -> None:
    state = RunState(Objective("minimise"))
    for number, (score, operator) in enumerate([(9.0, "m1"), (4.0, "m1"), (8.0, "e1"), (7.0, "e1"), (5.0, "e1")], 10):
        asked = Asked(number, (1, 2), None, Prompt("", operator))
        outcome = Evaluated(number, "", score, (score,), (), f"Idea {number}.")
        state.tried.take(OpenCandidate(asked, outcome=outcome), state.objective)
    pair = [replace(PROGRAMS[0], score=7.0, utility=-7.0), replace(PROGRAMS[1], score=6.0, utility=-6.0)]
    # losses before gains, those of the same kind of request before others, and then the later ones
    assert ideas_in_words(state, pair, "e1").split("\n")[:4] == [
        "Tried from these programs before; do not repeat the losses, which come first:",
        "- 9, 3 worse than program 2: Idea 10.",
        "- 8, 2 worse than program 2: Idea 12.",
        "- 7, 1 worse than program 2: Idea 13.",
    ]
    assert "- 9, 2 worse than it: Idea 10." in ideas_in_words(state, pair[:1], "m1")
    assert "Tried from" not in ideas_in_words(state, [replace(pair[0], candidate=3)], "m1")
    # a gain on a weak parent is told by what it lacks to the best
    state.best = best = replace(PROGRAMS[0], candidate=7, score=4.5, utility=-4.5)
    assert state.leader == best
    weak = [replace(pair[0], score=9.5, utility=-9.5)]
    assert "- 8, 3.5 worse than the best: Idea 12." in ideas_in_words(state, weak, "e1")
    far = [replace(pair[0], score=1529.0, utility=-1529.0)]
    state.best = replace(best, score=8.0, utility=-8.0)
    assert "- 8, 1520 better than it: Idea 12." in ideas_in_words(state, far, "e1")


def test_ties_are_called_ties_and_what_may_be_chance_is_no_loss() -> None:
    state = RunState(Objective("minimise"))
    parent = replace(PROGRAMS[0], candidate=1, score=2.0, utility=-2.0, scores=(1.0, 2.0, 3.0))
    for number, scores in enumerate([(1.0, 2.0, 3.0), (1.1, 1.9, 3.3), (1.0, 2.0, 3.0 + 1e-9)], 10):
        asked = Asked(number, (1,), None, Prompt("", "m1"))
        outcome = Evaluated(number, "", sum(scores) / 3, scores, (), f"Idea {number}.")
        state.tried.take(OpenCandidate(asked, outcome=outcome), state.objective)
    assert ideas_in_words(state, [parent], "m1").split("\n")[:4] == [
        "Tried from this program before:",
        "- 2.1, 0.1 worse than it (may be chance): Idea 11.",
        "- 2, a tie with it: Idea 12.",
        "- 2, a tie with it: Idea 10.",
    ]


def test_a_first_prompt_names_no_score_of_a_program_that_it_does_not_show() -> None:
    state = example()
    assert state.template is not None and state.best is not None
    said = describe_run(state, [state.template], TSP)
    assert said == "The search has tried 14 programs so far, of which 1 failed."
    whole = "Join the shortest edges of all until a tour of the cities stands; " * 4 + "then mend crossings " * 30
    state.best = replace(state.best, thought=whole)
    state.tried.ideas = (Attempt(7, 6.2103, whole, "e1"), Attempt(2, 6.4, whole + "and on", "e1"))
    best, other = ideas_in_words(state).split("\n")[1:]
    assert best == f"- 6.2103: {whole.strip()}"
    assert other == f"- 6.4: {whole[: 4 * 66 - 2]}…"


def test_instances_on_which_nobody_is_behind_have_no_row() -> None:
    state = example()
    level = replace(PROGRAMS[1], scores=state.tried.best_scores)
    assert "On no instance has another program scored better." in describe_run(state, [level], TSP)
    near = replace(level, scores=(*level.scores[:4], 5.9))
    said = describe_run(state, [near], TSP)
    assert "How far behind the best score so far, in % (level on all others):" in said and said.count("uniform") == 1


def test_a_near_copy_of_the_last_program_is_shown_by_the_lines_in_which_it_differs() -> None:
    lines = [f"step_{number} = {number}" for number in range(40)]
    base, near = (
        replace(PROGRAMS[1], source="\n".join(each)) for each in (lines, [*lines[:9], "cut = 9", *lines[10:]])
    )
    difference = "```diff\n@@\n step_8 = 8\n-step_9 = 9\n+cut = 9\n step_10 = 10\n```"
    whole, short = Code("cpp"), Code("cpp", is_short=True)
    said = parts_of([near, base], TSP.task.objective, True, code=short)["shown"]
    assert f"Its code is that of program 2 below, but for these lines (- there, + here):\n\n{difference}" in said
    assert said.endswith(short.whole(base.source)) and programs_to_vary(said) == [base.source]
    assert difference not in parts_of([near, base], TSP.task.objective, True, code=whole)["shown"]
    state = RunState(Objective("minimise"))
    state.best = replace(near, candidate=7, score=1.0, utility=-1.0)
    # one begins from the best program, so that it is whole
    assert short.whole(near.source) in leader_in_words(state, [base], 0.0, short)
    # others are whole, but for the fixed text that both have
    marked = [f"fixed\n// EVOLVE-BLOCK-START\n{text}\n// EVOLVE-BLOCK-END\nfixed" for text in ("a\nb", "c\nd")]
    pair = [replace(PROGRAMS[1], source=source) for source in marked]
    said = parts_of(pair, TSP.task.objective, True, code=short)["shown"]
    assert "without the fixed text around it, which program 2 has:\n\n```cpp\n// EVOLVE-BLOCK-START\na\nb\n//" in said
    assert said.endswith(short.whole(marked[1])) and said.count("\nfixed") == 2
    assert "fixed text" not in parts_of(pair, TSP.task.objective, True, code=whole)["shown"]
    other = [replace(pair[0], source=f"other {marked[0]}"), pair[1]]
    assert "fixed text" not in parts_of(other, TSP.task.objective, True, code=short)["shown"]


def test_that_nothing_may_be_left_to_win_is_said_once() -> None:
    state = RunState(Objective("minimise", best_known=2.0))
    state.best = replace(PROGRAMS[0], candidate=7, score=2.0, utility=-2.0)
    assert "may not exist" in leader_in_words(state, [replace(PROGRAMS[1], score=3.0, utility=-3.0)], 0.0, Code())
    near = replace(PROGRAMS[1], score=2.0 + 1e-7, utility=-2.0 - 1e-7)
    assert "may not exist" not in leader_in_words(state, [near], 0.0, Code())
    assert goal_in_words(state) == "no worse than 2, the best known"
    state.best = replace(state.best, score=1.5, utility=-1.5)
    assert goal_in_words(state) == "better than 1.5, the best so far"


def test_a_tuned_program_is_shown_with_the_numbers_on_which_its_score_depends() -> None:
    rng = np.random.default_rng(0)
    drawn = [(0.3, 20.0), *((float(a), float(b)) for a, b in rng.uniform((0, 10), (1, 40), (40, 2)))]
    gains = [None if values[0] > 0.95 else -abs(values[0] - 0.6) for values in drawn]
    found = tuning_in_words(Tuning(tuple(drawn), tuple(gains)))
    best = max(drawn, key=lambda values: -abs(values[0] - 0.6))
    assert found == f"The machine tuned its numbers in 40 trials; the score depends most on {best[0]:.6g} (was 0.3)."
    # a number that changes in failing trials alone is structure, and no news to a model
    sizes = [7.0, 8.0, 9.0, *[7.0] * 38]
    tried = tuple((*values, size) for values, size in zip(drawn, sizes, strict=True))
    failing = [gains[0], None, None, *gains[3:]]
    assert "(was 7)" not in tuning_in_words(Tuning(tried, tuple(failing)))
    flat = Tuning(tuple(drawn), (0.0,) * 41)
    assert tuning_in_words(flat).endswith("the score hardly depends on any of them.")
    tuned = replace(PROGRAMS[1], tuning=flat)
    assert "The machine tuned its numbers in 40 trials" in ASKING[0].showing_programs("m1", [tuned]).text


def test_an_idea_is_cut_after_its_mechanism() -> None:
    idea = "Join the shortest edges until a tour stands, as savings do; " + "then mend crossings, " * 20
    assert mechanism(idea) == f"{idea[:394]}…" and idea[:395].endswith("crossings,")
    assert mechanism(idea[:IDEA]) == idea[:IDEA].strip()
    assert mechanism("Short.") == "Short."
    clauses = "One sentence that " + "goes on and on, " * 30
    assert mechanism(clauses).endswith("on and on…") and 380 < len(mechanism(clauses)) <= IDEA
    wrong, done = "The large requests lose most: they wait without end once late. ", "Serve by age over size, "
    assert mechanism(wrong + done + "on, " * 90).startswith(wrong + "Serve by age over size,")
    sentences = "This is what it does in the first place, step by step. " * 9
    assert mechanism(sentences) == sentences[: 7 * 55 - 2] + "…"


def test_a_line_for_each_behaviour_counts_those_that_do_nearly_the_same() -> None:
    groups = BehaviourGroups(BehaveSim(normaliser=8), 0.3, -1)
    tours = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 7, 6, 5, 4, 3, 2, 1], [0, 1, 2, 3, 4, 5, 7, 6], [0, 3, 7, 1, 6, 2, 5, 4]]
    for score, tour in zip((5.0, 4.0, 3.0, 9.0), tours, strict=True):
        groups.add([Trajectory.prefixes(tour)], score, f"idea of {score:g}")
    assert groups.best() == [
        BehaviourGroup(2, 3.0, "idea of 3"),
        BehaviourGroup(1, 4.0, "idea of 4"),
        BehaviourGroup(1, 9.0, "idea of 9"),
    ]
    said = groups_in_words([*groups.best(), *[BehaviourGroup(2, 10.0, "")] * 7])
    assert "- 3 (2): idea of 3\n- 4 (1)" in said and "- 10 (2): its idea was not told" in said
    assert said.endswith("- 2 other behaviours (4 programs), none of which scores better.")
    assert groups_in_words([BehaviourGroup(1, 1.0, "")]) == ""


@given(st.lists(HOSTILE, min_size=6, max_size=6))
def test_no_text_from_outside_brings_a_control_character_or_a_place_into_a_prompt(texts: list[str]) -> None:
    thought, message, feedback, source, advice, hint = (f"{each}\0run\0{each}" for each in texts)
    state = example()
    program = replace(PROGRAMS[1], thought=thought, feedback=feedback, source=f"x = 1 # {source}", metrics={hint: 1.0})
    failed = Rejected(12, "evaluation", "exception", message, source, thought, feedback=feedback)
    state.members[2] = program
    state.tried.failures.append(Failed((2,), failed))
    state.apply(Advised("one", advice))
    pair = [PROGRAMS[0], program]
    note = Note(NoteAsked(0, (1, 2), Prompt("", "short-term-reflection")), Reply(thought, "m"))
    for asking in ASKING:
        for prompt in (asking.hinted("improve", pair, hint), asking.summary("long-term-reflection", hint, [note])):
            asked = asking.complete(Asked(14, (1, 2), None, prompt), state, Behaviours())
            assert isinstance(asked, Asked)
            for rejected in (failed, replace(failed, source="")):
                assert not unwanted(asking.repair(asked, message, rejected).prompt.text + asked.prompt.text)


def test_no_prompt_hides_the_best_program_it_shows_its_code_or_tells_its_idea_whole() -> None:
    best = example().best
    assert best is not None
    for name, prompt in specimens(prompts("tsp"), example()):
        assert name == "repair" or best.thought in prompt.text or best.source.strip() in prompt.text, name


def test_every_prompt_with_programs_says_how_far_the_run_has_come() -> None:
    for name, prompt in specimens(prompts("tsp"), example()):
        assert ("The search has tried 14 programs so far" in prompt.text) == (name != "repair"), name
    for _, prompt in specimens(prompts("tsp", "paper"), example()):
        assert "The search has tried" not in prompt.text
    for _, prompt in specimens(prompts("tsp", prompt_feedback="none"), example()):
        assert "The search has tried" not in prompt.text


def test_a_single_program_is_told_where_its_cost_arises() -> None:
    near = [0, *range(1, 50)]
    behaviours = Behaviours(BehaveSim(normaliser=50))
    behaviours.apply(Evaluated(1, "", 7.0, (7.0,) * 5, [Trajectory.prefixes(near)] * 5), [1])
    text = behaviour_in_words((1,), [(7.0,) * 5], (7.0, 6.0, 5.0, 7.0, 7.0), TSP.task.objective, TSP, behaviours)
    assert text.startswith("What the four quarters of the steps cost on instance 3 (50 cities, uniform): the program ")
    assert ". The costliest step of the program above is number " in text


@pytest.mark.parametrize(
    ("task", "before", "decision", "said"),
    [
        ("tsp", [0], 33, "city 33, the nearest of 49 left, 0.0292 away"),
        ("bin_packing", [0, 1], 1, None),
        ("asp", [], 0, "the vector 000001111111111, which adds 3"),
        ("cvrp", [0, 5], 0, None),
    ],
)
def test_tasks_say_decisions_by_rank_and_measure_and_what_steps_cost(
    task: str, before: list[int], decision: int, said: str | None
) -> None:
    loaded = TaskReference(task).load()
    words = InWords(loaded)
    found = words.choice(0, before, decision)
    assert said is None or found == said
    assert found.startswith(words.task.in_words(loaded.instances("search")[0], decision).split()[0])
    template = {"tsp": [*range(50)], "bin_packing": [0, 1, 0, 2], "asp": [0, 5], "cvrp": [0, 3, 4, 0, 5, 0]}[task]
    costs = words.costs(0, template)
    assert len(costs) == len(template) and min(costs) >= 0
    if task == "tsp":
        assert sum(costs) == pytest.approx(loaded.score(loaded.instances("search")[0], np.array(template)))


def test_a_tasks_words_are_cut_and_its_mistakes_named(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = TaskReference("tsp").load()
    for method, returned, refused in (
        ("instance_name", lambda instance: "`a`\n" * 99, None),
        ("instance_name", lambda instance: 3, "`instance_name` of task 'tsp' must return a text, not int"),
        ("cost_so_far", lambda instance, decisions: [1.0], "must return None or 50 finite numbers, one for each"),
        ("cost_so_far", lambda instance, decisions: [float("nan")] * 50, "finite numbers"),
        ("cost_so_far", lambda instance, decisions: 1 / 0, "`cost_so_far` of task 'tsp' raised ZeroDivisionError"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(type(loaded), method, staticmethod(returned))
            words = InWords(loaded)
            if refused is None:
                assert len(words.name(0)) == 40 and "`" not in words.name(0)
                continue
            with pytest.raises(TaskError, match=refused):
                words.name(0) if method == "instance_name" else words.costs(0, list(range(50)))


def test_ranks_read_as_one_says_them() -> None:
    assert [rank_words(n, "nearest") for n in (1, 2, 3, 4, 11, 22, 113)] == [
        "the nearest",
        *(f"the {each} nearest" for each in ("2nd", "3rd", "4th", "11th", "22nd", "113th")),
    ]


def test_a_repair_keeps_the_idea_of_the_program() -> None:
    state = RunState(Objective("minimise"))
    state.members[-1] = state.template = Member(-1, "", 1.0, -1.0)
    prompt = Prompt("", "e1", True)
    for thought in ("A new way.", "The import was missing."):
        state.apply(Asked(0, (), None, prompt))
        state.apply(Responded(0, Reply("", "m")))
        state.apply(Rejected(0, "evaluation", "exception", thought=thought))
    state.apply(Asked(0, (), None, prompt))
    assert state.open[0].idea == "A new way."


def test_an_idea_is_cut_after_a_whole_word() -> None:
    long = "Plan the whole rest anew: `nearest` neighbours, then swap pairs. " * 4
    shown = prose(long, 40)
    assert shown == "Plan the whole rest anew: 'nearest'…"
    assert prose(long[:40], 40) == long[:40].replace("`", "'")
    assert prose("x" * 50, 40) == "x" * 39 + "…"
    assert prose(" two \n words ") == "two words"
