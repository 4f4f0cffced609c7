"""The recommended program: behaviours that differ, judged over all instances they were tried on."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.analysis.run import Run
from behavesim.analysis.summary import summary
from behavesim.application import session
from behavesim.application.recommendation import (
    GAIN_RULE,
    RACE_RULE,
    SCORE_RULE,
    next_choice,
    purse_of,
    recommend,
    shortlist,
    shortlist_table,
    without_certificate,
    worths,
)
from behavesim.state.events import TEMPLATE, Event, FreshBegun, FreshScored, Recommended
from behavesim.task import Objective, TaskReference
from behavesim.task.verdict import Block, Failure, Verdict
from tests.analysis.journals import feasible, journalled, recommended, started

LOW, HIGH = Objective("minimise"), Objective("maximise")


def best(scores: dict[int, tuple[float, ...]], objective: Objective = LOW) -> int:
    """Return the program that is worth the most."""
    worth = worths(scores, objective)
    return max(worth, key=worth.__getitem__)


@pytest.mark.parametrize(("objective", "expected"), [(LOW, 7), (HIGH, 3)])
def test_the_best_wins_in_the_objectives_direction_with_the_template_and_without(
    objective: Objective, expected: int
) -> None:
    programs = {3: (2.0, 4.0), 7: (1.0, 4.0)}
    assert best(programs, objective) == expected
    assert best({TEMPLATE: (1.5, 4.0), **programs}, objective) == expected


def test_a_large_instance_weighs_no_more_than_a_small_one() -> None:
    # 1 is a tenth better on the small instance, 2 a hundredth on the large one
    assert best({TEMPLATE: (1.0, 1010.0), 1: (0.9, 1010.0), 2: (1.0, 1000.0)}) == 1


def test_of_several_as_good_the_first_is_chosen() -> None:
    assert best({TEMPLATE: (1.0, 2.0), 2: (1.0, 2.0)}, HIGH) == TEMPLATE


def test_where_the_template_scores_zero_the_difference_counts() -> None:
    assert worths({TEMPLATE: (0.0, 2.0), 1: (0.5, 1.0)}, LOW) == {TEMPLATE: 0.0, 1: 0.0}


SCORES = st.tuples(*[st.floats(0.01, 100)] * 2)


@given(SCORES, st.lists(SCORES, min_size=2, max_size=2), st.lists(SCORES, max_size=4), st.sampled_from([LOW, HIGH]))
def test_no_other_program_turns_the_order_of_two(
    template: tuple[float, ...], two: list[tuple[float, ...]], others: list[tuple[float, ...]], objective: Objective
) -> None:
    few = {1: two[0], 2: two[1]}
    many = {**few, **dict(enumerate(others, 3))}
    for alone, among in ((few, many), ({TEMPLATE: template, **few}, {TEMPLATE: template, **many})):
        assert worths(among, objective)[1] == worths(alone, objective)[1]
        assert worths(among, objective)[2] == worths(alone, objective)[2]


def test_a_program_that_is_hopeless_on_one_instance_changes_no_choice() -> None:
    programs = {TEMPLATE: (1.2, 1.2), 1: (1.00, 1.10), 2: (1.05, 1.04)}
    assert best(programs) == best({**programs, 3: (1.02, 100.0)}) == 2


TOURS = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [5, 4, 3, 2, 1, 0], [3, 1, 5, 0, 2, 4]]


def listed(folder: Path, **settings: object) -> list[int]:
    given = (feasible(k, score, TOURS[k]) for k, score in enumerate((4.0, 5.0, 7.0, 6.0)))
    run = journalled(folder, started(**{"method": "best-of-n", **settings}), *given)  # type: ignore[arg-type]
    return [candidate.candidate for candidate in shortlist(run)]


def test_the_shortlist_holds_the_best_of_those_that_behave_alike(tmp_path: Path) -> None:
    assert listed(tmp_path / "first") == [0, 3, 2]
    assert listed(tmp_path / "short", shortlist=2) == [0, 3]
    assert listed(tmp_path / "all", shortlist_radius=0.0) == [0, 1, 3, 2]


def test_of_programs_as_good_the_shorter_and_then_the_older_is_listed(tmp_path: Path) -> None:
    for name, sources, first in (("short", ["long", "s"], 1), ("old", ["a", "b"], 0)):
        given = (feasible(k, 5.0, TOURS[0], source=source) for k, source in enumerate(sources))
        run = journalled(tmp_path / name, started(), *given)
        assert [candidate.candidate for candidate in shortlist(run)] == [first]


class Fixed:
    """A judge whose scores are known beforehand; any other program fails."""

    def __init__(self, scores: dict[str, tuple[float, ...]]) -> None:
        self._scores = scores

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        """The verdict with those scores."""
        scores = self._scores.get(source)
        return Failure("timeout") if scores is None else Verdict(sum(scores) / len(scores), scores, (), 0.0)


class Judged:
    """A judge whose verdicts are known beforehand; any other program fails."""

    def __init__(self, verdicts: dict[str, Verdict]) -> None:
        self._verdicts = verdicts

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        """That verdict."""
        return self._verdicts.get(source, Failure("timeout"))


async def test_the_choice_is_over_search_and_validation_instances_together(tmp_path: Path) -> None:
    given = (feasible(k, score, TOURS[2 * k], scores=(score,)) for k, score in enumerate((4.0, 5.0)))
    events = list(given)
    run = await asyncio.to_thread(journalled, tmp_path / "first", started(), *events)
    found = await recommend(run, Fixed({"source 0": (9.0, 9.0), "source 1": (3.0, 5.0)}))
    assert found == Recommended(1, {TEMPLATE: None, 0: 9.0, 1: 4.0}, {0: -22 / 3, 1: -13 / 3})
    close = await recommend(run, Fixed({"source 0": (4.4,), "source 1": (4.0,)}))
    assert close.choice == 0  # what it loses there it has gained in the search
    only = await recommend(run, Fixed({"source 1": (9.0,)}))
    assert only == Recommended(1, {TEMPLATE: None, 0: None, 1: 9.0}, {1: -7.0})
    assert await recommend(run, Fixed({})) == Recommended(None, {TEMPLATE: None, 0: None, 1: None})


async def test_the_template_competes_and_stays_where_nothing_is_better(tmp_path: Path) -> None:
    given = feasible(0, 10.0, TOURS[0], scores=(10.0,))
    run = await asyncio.to_thread(journalled, tmp_path / "first", started(), given)
    equal = await recommend(run, Fixed({"template": (6.0,), "source 0": (6.0,)}))
    assert equal == Recommended(TEMPLATE, {TEMPLATE: 6.0, 0: 6.0}, {TEMPLATE: 0.0, 0: 0.0})
    better = await recommend(run, Fixed({"template": (6.0,), "source 0": (5.0,)}))
    assert (better.choice, better.worth) == (0, {TEMPLATE: 0.0, 0: pytest.approx(1 / 12)})


async def test_the_deciding_number_and_the_rule_stand_beside_the_templates(tmp_path: Path) -> None:
    begun = started(), feasible(0, 8.0, TOURS[0], scores=(8.0,)), feasible(1, 9.0, TOURS[2], scores=(9.0,))
    run = await asyncio.to_thread(journalled, tmp_path / "first", *map(list, begun))
    passing = {"template": (6.0,), "source 0": (9.0,), "source 1": (3.0,)}
    for number, scores, rule, column, shown in (
        (2, passing, GAIN_RULE, "gain, search and validation %", [0.0, pytest.approx(-0.15), pytest.approx(0.3)]),
        (3, {"source 1": (3.0,)}, SCORE_RULE, "mean", [None, None, 6.0]),
    ):
        event = await recommend(run, Fixed(scores))
        judged = await asyncio.to_thread(journalled, tmp_path / str(number), *map(list, begun), [event])
        table = shortlist_table(judged)
        assert (table.caption, table.columns[3].heading) == (rule, column)
        assert [row[3] for row in table.rows] == shown
        assert [row[4] for row in table.rows] == [None, None, "chosen"]
        assert table.marked == {2}
        assert ("gain" in rule) == (summary(judged).recommended.gain is not None)  # type: ignore[union-attr]
    older = await asyncio.to_thread(
        journalled, tmp_path / "older", started(), recommended(None, c0=3.0), feasible(0, 8.0)
    )
    assert shortlist_table(older).caption == ""


class Worst(type(TaskReference("tsp").load())):  # type: ignore[misc]
    """Tours of which the longest counts."""

    def mean_score(self, scores: Sequence[float]) -> float:
        """The worst instance."""
        return max(scores)


async def test_with_a_mean_score_of_the_tasks_own_its_result_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "task", lambda run: Worst())
    # worse than the template on most instances, but better in the worst one, which is what the task counts
    given = feasible(0, 9.0, TOURS[0], scores=(9.0,))
    run = await asyncio.to_thread(journalled, tmp_path / "first", started(), given)
    passing = {"template": Verdict(8.0, (1.0, 8.0), (), 0.0), "source 0": Verdict(6.0, (6.0, 6.0), (), 0.0)}
    event = await recommend(run, Judged(passing))
    assert event.choice == 0
    assert event.worth == {TEMPLATE: 0.0, 0: pytest.approx((1 * 0.1 + 2 * 0.25) / 3)}
    failed = await recommend(run, Judged({"source 0": passing["source 0"]}))
    assert failed.worth == {0: -(9.0 + 2 * 6.0) / 3}


async def test_nothing_is_recommended_where_no_candidate_is_feasible(tmp_path: Path) -> None:
    run = await asyncio.to_thread(journalled, tmp_path / "first", started())
    assert await recommend(run, Fixed({"template": (6.0,)})) == Recommended(None, {})


class Drawn:
    """A judge whose scores follow from a program's number and an instance's, and that counts what it was asked."""

    asked = 0

    async def evaluate(self, source: str, _: object, block: Block | None = None) -> Verdict | Failure:
        """Scores of which a later program's are the better ones."""
        first, count = (0, 6) if block is None else block[:2]
        self.asked += 1
        better = 1.0 if source == "template" else 0.98 - 0.1 * float(source.split()[1])
        scores = tuple(10.0 * better + math.sin(7 * k + 3 * len(source)) / 20 for k in range(first, first + count))
        return Verdict(sum(scores) / count, scores, (), 0.0)


async def test_a_race_goes_on_after_any_of_its_events_and_none_of_its_instances_comes_again(tmp_path: Path) -> None:
    given = [started(), *(feasible(k, 8.0 + k, TOURS[2 * k], scores=(8.0 + k,)) for k in (0, 1))]
    events: list[Event] = []
    while not events or not isinstance(events[-1], Recommended):
        # read anew before each event, as if the process had died behind the one before
        run = await asyncio.to_thread(journalled, tmp_path / str(len(events)), *map(list, given), events)
        events.append(await next_choice(run, run.task(), Drawn(), 300))
    assert isinstance(events[0], FreshBegun) and (events[0].programs, events[0].first) == ((TEMPLATE, 0, 1), 0)
    done = await asyncio.to_thread(journalled, tmp_path / "done", *map(list, given), events)
    found = done.certificate
    assert found is not None and (found.candidate, found.told_apart_from, found.others) == (1, 1, 1)
    assert found.interval is not None and found.interval[0] < 0.12 < found.interval[1]
    assert summary(done).recommended.certificate == found  # type: ignore[union-attr]
    again = await next_choice(done, done.task(), Drawn(), 300)
    assert isinstance(again, FreshBegun) and again.first == found.fresh
    assert shortlist_table(done).caption == RACE_RULE
    plain = await next_choice(done, done.task(), Fixed({"template": (6.0,)}), 0)
    assert isinstance(plain, Recommended) and plain.choice == TEMPLATE


async def test_a_candidate_that_comes_in_the_midst_of_a_race_begins_it_anew(tmp_path: Path) -> None:
    given = [started(), feasible(0, 8.0, TOURS[0], scores=(8.0,))]
    race = [FreshBegun((TEMPLATE, 0), 0, 6, 300), FreshScored(0, 6, {TEMPLATE: (1.0,) * 6, 0: (0.9,) * 6})]
    later = feasible(1, 9.0, TOURS[2], scores=(9.0,))
    run = await asyncio.to_thread(journalled, tmp_path / "first", *map(list, given), race, later)
    begun = await next_choice(run, run.task(), Drawn(), 300)
    assert isinstance(begun, FreshBegun) and (begun.programs, begun.first) == ((TEMPLATE, 0, 1), 6)


RACE = (FreshBegun((TEMPLATE, 0), 0, 6, 300), FreshScored(0, 6, {TEMPLATE: (1.0,) * 6, 0: (0.9, 1.1) * 3}))


async def test_only_a_shorter_race_takes_the_place_of_one_that_is_under_way(tmp_path: Path) -> None:
    given = [started(), feasible(0, 8.0, TOURS[0], scores=(8.0,))]
    run = await asyncio.to_thread(journalled, tmp_path / "first", *map(list, given), list(RACE))
    assert await next_choice(run, run.task(), Drawn(), 75) == FreshBegun((TEMPLATE, 0), 6, 6, 75)
    for purse in (0, 300, 400):
        assert isinstance(await next_choice(run, run.task(), Drawn(), purse), FreshScored)


async def test_a_race_that_lasts_says_how_far_it_is_and_how_to_make_it_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [started(), feasible(0, 8.0, TOURS[0], scores=(8.0,)), [RACE[0]]]
    run = await asyncio.to_thread(journalled, tmp_path / "first", *map(list, given))
    said: list[str] = []

    async def record(run: Run, *_: object) -> None:
        run.state.apply(RACE[1])
        while len(said) < 2:
            await asyncio.sleep(0)

    monkeypatch.setattr(session, "SAID_S", 0.0)
    monkeypatch.setattr("behavesim.application.recommendation.record_recommendation", record)
    await session.choose_program(run, run.task(), 1, None, said.append)
    assert re.search(r"so far: 12 of at most 300 evaluations, \S+ \w+ left at most; Ctrl-C, and ", said[1])
    assert said[1].endswith("/first --evaluations 75 takes fewer")


def test_a_race_costs_half_of_the_search_at_most_and_needs_instances_without_end(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(budget=400))  # whose template has one score
    assert purse_of(run, run.task()) == 400 * 1 // 2
    assert purse_of(run, run.task(), 9) == 9
    few = journalled(tmp_path / "few", started(budget=30))
    assert purse_of(few, few.task()) == 0  # less than two programs more would see than search and validation show
    fixed = TaskReference("circle_packing").load()
    assert purse_of(run, fixed) == 0 and "fixed number of instances" in without_certificate(fixed)
    assert "mean_score" in without_certificate(Worst())
