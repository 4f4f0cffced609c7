"""What a session is refused for before it begins, with the reason in one line."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import TaskError, UsageError
from behavesim.engine.admission import (
    LOWERED,
    refuse_another_run,
    refuse_changes,
    refuse_unfit,
    refuse_unfit_copy,
    refuse_unpriced,
    refuse_unsteady,
    refuse_unsuited,
    run_provenance,
    settings_from_person,
)
from behavesim.state.events import TEMPLATE, Asked, ClockRead, Evaluated, Prompt, RunForked, RunStarted
from behavesim.state.settings import instances_hash
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.task import TaskReference
from behavesim.trajectory import Trajectory
from tests.engine.toys import Hurdles, Toy

TSP = TaskReference("tsp").load()
KNOWN, UNKNOWN = {"known": {"prompt": 1.0, "completion": 1.0}}, "command:true"

NAMED = """
import behavesim as bs

NAMES = [f"name {{number}}" for number in range(30)]

class Named(bs.Task):
    template, objective = "def f(x):\\n    return x\\n", bs.Objective("minimise")
    instances = lambda self, split: {instances}
    solve = score = trajectory = lambda *given: None

task = Named()
"""


def settings(**given: Any) -> Any:
    return settings_from_person({"task": "tsp", "budget": 20, **given})


async def run(folder: Path, began: Any, *more: Any, **provenance: str) -> RunFolder:
    """A run that has begun with these settings, and with this provenance in place of what it would be now."""
    made = RunFolder(folder / "first")
    made.path.mkdir()
    async with SqliteJournal(made.journal) as journal:
        started = RunStarted(began.flat(), {**run_provenance(began, TSP), **provenance}, "none")
        await journal.append([started, *more])
    return made


class TestPrices:
    def test_a_cap_on_cost_needs_the_price_of_every_model(self) -> None:
        with pytest.raises(UsageError, match=r"--max-cost cannot hold: the price of command is unknown; add --set"):
            refuse_unpriced(settings(proposer=UNKNOWN, max_cost_usd=1.0))

    def test_without_that_cap_and_with_a_price_of_ones_own_a_run_may_begin(self) -> None:
        refuse_unpriced(settings(proposer=UNKNOWN))
        refuse_unpriced(settings(proposer="genetic", max_cost_usd=1.0))
        priced = {"command": {"prompt": 1.0, "completion": 1.0}}
        refuse_unpriced(settings(proposer=UNKNOWN, max_cost_usd=1.0, prices=priced))


class TestTask:
    async def test_instances_have_to_be_the_same_on_every_call(self) -> None:
        class Unsteady(Toy):
            made = 0

            def instances(self, split: Any) -> Any:
                Unsteady.made += 1
                return [Unsteady.made]

        steady, unsteady = Toy(), Unsteady()
        await refuse_unsteady(settings(), steady, instances_hash(steady, "search"))
        with pytest.raises(TaskError, match="gives other instances on every call; draw them from a fixed seed"):
            await refuse_unsteady(settings(), unsteady, instances_hash(unsteady, "search"))

    @pytest.mark.parametrize(
        ("instances", "proposer", "is_refused"),
        [
            ("[set(NAMES), {name: 1 for name in set(NAMES)}]", "command:true", False),
            ("[list(set(NAMES))]", "command:true", True),
            ("[hash('a')]", "command:true", True),
            ("[list(set(NAMES))]", "genetic", False),  # which costs nothing to repeat
        ],
    )
    async def test_no_paid_run_begins_on_instances_that_another_process_would_not_know_again(
        self, tmp_path: Path, instances: str, proposer: str, is_refused: bool
    ) -> None:
        (tmp_path / "names.py").write_text(NAMED.format(instances=instances))
        chosen = settings(task=str(tmp_path / "names.py"), proposer=proposer)
        task = TaskReference(chosen.task).load()
        refused = "cannot be searched: another process has other search instances.* sort what comes out of sets"
        with pytest.raises(TaskError, match=refused) if is_refused else nullcontext():
            await refuse_unsteady(chosen, task, instances_hash(task, "search"))

    def test_a_template_that_cannot_be_compared_is_refused_where_the_method_compares(self) -> None:
        vectors = Evaluated(TEMPLATE, "", 1.0, (1.0,), (Trajectory.vectors([[0.0], [1.0]]),))
        with pytest.raises(TaskError, match=r"task 'tsp' does not suit the run's measure: .* no pairwise normaliser"):
            refuse_unsuited(settings(method="funsearch+behavesim", normaliser="pair"), TSP, vectors)
        refuse_unsuited(settings(method="funsearch", normaliser="pair"), TSP, vectors)

    def test_a_template_that_can_be_compared_suits(self) -> None:
        tour = Evaluated(TEMPLATE, "", 1.0, (1.0,), (Trajectory.prefixes([0, 1, 2]),))
        refuse_unsuited(settings(method="funsearch+behavesim"), TSP, tour)


class TestResume:
    async def test_nothing_but_what_changes_no_result_may_change(self, tmp_path: Path) -> None:
        folder = await run(tmp_path, settings())
        refuse_changes(folder, settings(), TSP)
        refuse_changes(folder, settings(workers=3, max_calls=7), TSP)
        with pytest.raises(UsageError) as refused:
            refuse_changes(folder, settings(seed=4, window=3), TSP)
        said = str(refused.value)
        assert said.startswith("cannot resume first: ")
        assert "seed was 0 and is 4" in said and "window was 64 and is 3" in said
        assert "--fork NEW-ID" in said
        assert LOWERED not in said

    async def test_a_budget_may_grow_and_not_shrink(self, tmp_path: Path) -> None:
        folder = await run(tmp_path, settings())
        refuse_changes(folder, settings(budget=21), TSP)
        with pytest.raises(UsageError, match=rf"budget was 20 and is 19, {LOWERED}; put it back"):
            refuse_changes(folder, settings(budget=19), TSP)

    async def test_a_task_that_changed_is_named_with_what_changed(self, tmp_path: Path) -> None:
        folder = await run(tmp_path, settings(), instances="of before")
        with pytest.raises(UsageError, match="cannot resume first: its instances changed; put it back"):
            refuse_changes(folder, settings(), TSP)

    async def test_what_holds_is_the_last_fork(self, tmp_path: Path) -> None:
        forked = settings(seed=4)
        folder = await run(tmp_path, settings(), RunForked("x", forked.flat(), run_provenance(forked, TSP)))
        refuse_changes(folder, forked, TSP)
        with pytest.raises(UsageError, match="seed was 4 and is 0"):
            refuse_changes(folder, settings(), TSP)

    async def test_a_run_that_was_killed_before_it_began_is_started_again(self, tmp_path: Path) -> None:
        folder = RunFolder(tmp_path / "first")
        folder.path.mkdir()
        async with SqliteJournal(folder.journal) as journal:
            await journal.append([ClockRead(1.0, 0)])
        for refuse in (refuse_changes, refuse_another_run):
            with pytest.raises(UsageError, match=r"run first ended before it began; remove .*first, and start it"):
                refuse(folder, settings(), TSP)

    @pytest.mark.parametrize("refuse", [refuse_changes, refuse_another_run])
    async def test_a_tasks_file_may_lie_elsewhere_and_a_name_means_another_task(
        self, tmp_path: Path, refuse: Any
    ) -> None:
        named = settings()
        moved, other = (named.model_copy(update={"task": text}) for text in ("/elsewhere/mine.py", "bin-packing"))
        folder = await run(tmp_path, named.model_copy(update={"task": "/here/mine.py"}))
        refuse(folder, moved, TSP)
        with pytest.raises(UsageError, match=r"task was '/here/mine\.py' and is|keeps its task"):
            refuse(folder, other, TSP)


class TestFork:
    async def test_the_rest_may_change(self, tmp_path: Path) -> None:
        folder = await run(tmp_path, settings(method="eoh"))
        refuse_another_run(folder, settings(method="eoh", seed=9, window=2, budget=5), TSP)
        with pytest.raises(UsageError, match=r"a fork keeps its method.*; for others, start a new run"):
            refuse_another_run(folder, settings(method="funsearch"), TSP)
        with pytest.raises(UsageError, match=r"a fork keeps its selection; for others"):
            refuse_another_run(folder, settings(method="eoh", selection="dissimilarity"), TSP)

    async def test_instances_stay(self, tmp_path: Path) -> None:
        folder = await run(tmp_path, settings(), instances="of before", template="of before")
        with pytest.raises(UsageError, match="a fork keeps its instances, or scores would not mean the same"):
            refuse_another_run(folder, settings(), TSP)

    async def test_its_budget_holds_all_that_the_run_has_asked_for(self, tmp_path: Path) -> None:
        asked = [Asked(number, (), None, Prompt("improve", "text")) for number in (0, 1, 2)]
        folder = await run(tmp_path, settings(), *asked)
        refuse_unfit_copy(folder.run, folder, settings(budget=3), TSP)
        refuse_unfit_copy(folder.run, folder, settings(budget=4), TSP)
        with pytest.raises(
            UsageError, match=r"run first has asked for 3 programs, .*: --budget 2 is too small; give 3"
        ):
            refuse_unfit_copy(folder.run, folder, settings(budget=2), TSP)


def test_the_wording_of_prompts_is_part_of_where_a_run_comes_from_if_it_is_ones_own(tmp_path: Path) -> None:
    assert "prompts" not in run_provenance(settings(), TSP)
    (tmp_path / "improve.md").write_text("Write another.\n")
    own = run_provenance(settings(prompts=str(tmp_path)), TSP)
    (tmp_path / "improve.md").write_text("Write one more.\n")
    assert own["prompts"] != run_provenance(settings(prompts=str(tmp_path)), TSP)["prompts"]


class OwnMean(Hurdles):
    def mean_score(self, scores: Any) -> float:
        return max(scores)


@pytest.mark.parametrize(
    ("race", "task", "said"),
    [
        (1, Hurdles(), "race = 1 is less than the 2 search instances of task 'toy'"),
        (4, OwnMean(), "task 'toy' has a `mean_score` of its own"),
        (4, Toy(), "race = 4 needs the search instances 2 to 5, and task 'toy' does not give them by number"),
    ],
)
def test_a_race_needs_instances_by_number_and_a_plain_mean(race: int, task: Toy, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        refuse_unfit(settings(race=race), task)
    refuse_unfit(settings(), task)
    refuse_unfit(settings(race=2), Hurdles())


def test_the_instances_of_a_race_are_part_of_where_a_run_comes_from() -> None:
    races = [run_provenance(settings(race=race), TSP) for race in (0, 5, 6)]
    assert len({each.get("further instances") for each in races}) == 3
