"""A portfolio holds programs that behave differently, in the order in which they are worth having."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import behavesim as bs
from behavesim.analysis.portfolio import AT_ONCE, Clearing, Portfolio, PortfolioCandidate
from behavesim.analysis.portfolio import portfolio as chosen
from behavesim.base.errors import UsageError
from behavesim.similarity.clustering import BASE, DiverseBest
from behavesim.trajectory import Behaviour, Trajectory, pack
from tests.analysis.journals import feasible, journalled, started
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[bs.LoadedRun]:
    """Two runs, only to be looked at."""
    folder = tmp_path_factory.mktemp("runs")
    given = {"budget": 30, "method": "best-of-n", "proposer": "genetic", "recommend": False}
    return [bs.search_sync(FEW_CITIES, **given, seed=seed, runs_dir=folder, name=f"s{seed}") for seed in (1, 2)]


def portfolio(runs: list[bs.LoadedRun], count: int) -> Portfolio:
    return runs[0].portfolio(count, runs[1:])


def test_it_is_cleared_greedily_from_the_best(runs: list[bs.LoadedRun]) -> None:
    run = runs[0]
    ranked = sorted(run.feasible, key=lambda c: (-run.utility(c), len(c.source or ""), c.candidate))
    candidates = [candidate.candidate for candidate in run.feasible]
    behaviours = dict(zip(candidates, run.trajectories(candidates), strict=True))
    firsts: dict[object, int] = {}
    for candidate in run.feasible:
        firsts.setdefault(behaviours[candidate.candidate], candidate.candidate)
    base = 1 - run.matrix(list(firsts.values())[:100])
    far = run.settings.shortlist_radius * np.median(base[np.triu_indices(len(base), 1)])
    kept: list[int] = []
    for candidate in ranked:
        if behaviours[candidate.candidate] in {behaviours[each] for each in kept}:
            continue
        if all(1 - run.matrix([candidate.candidate, each])[0, 1] >= far for each in kept):
            kept.append(candidate.candidate)
    assert [member.candidate for member in run.portfolio(6).members] == kept[:6]


def entrants(count: int) -> list[PortfolioCandidate]:
    """Programs of which the later ones are mostly the better, and some repeat a behaviour."""
    rng = np.random.default_rng(count)
    behaviours = [Behaviour(pack([Trajectory.prefixes(rng.permutation(9))])) for _ in range(count)]
    behaviours[BASE + 1 :: 5] = behaviours[BASE::5][: len(behaviours[BASE + 1 :: 5])]
    scores = (np.arange(count) + rng.integers(0, 50, count)).tolist()
    return [PortfolioCandidate("r", n, "x" * (n % 7), score, (score,), behaviours[n]) for n, score in enumerate(scores)]


@pytest.mark.parametrize(("radius", "count"), [(0.3, 10), (0.9, 30), (1.3, 10), (0.0, 400)])
def test_of_many_the_same_are_chosen_as_if_all_were_measured(radius: float, count: int) -> None:
    given, everyone = entrants(3 * AT_ONCE), DiverseBest(bs.BehaveSim(9.0))
    for place, each in enumerate(given):
        everyone.add(each.behaviour, (-each.score, len(each.source), place))
    chosen = Clearing(bs.Objective("maximise"), bs.BehaveSim(9.0), radius).choose(given, count)
    assert [each.candidate for each in chosen] == everyone.select(radius, count)


def test_behaviours_that_come_too_late_to_be_chosen_are_not_looked_at() -> None:
    given = entrants(3 * AT_ONCE)
    worst = [replace(each, score=-1.0 - n, behaviour=Behaviour(bytes([n]))) for n, each in enumerate(given[:9])]
    clearing = Clearing(bs.Objective("maximise"), bs.BehaveSim(9.0), 0.3)
    assert clearing.choose(given + worst, 10) == clearing.choose(given, 10)


def test_prefixes_nest_and_together_they_are_as_good_as_the_best_on_each_instance(runs: list[bs.LoadedRun]) -> None:
    whole = portfolio(runs, 8).members
    for count in range(1, 8):
        assert portfolio(runs, count).members[:count] == portfolio(runs, count).members
        assert [m.candidate for m in portfolio(runs, count).members] == [m.candidate for m in whole[:count]]
    scores = np.array([member.scores for member in whole])
    assert [m.together for m in whole] == pytest.approx(np.minimum.accumulate(scores).mean(axis=1).tolist())
    assert sorted(instance for member in whole for instance in member.wins) == [1, 2, 3, 4, 5]
    assert {member.run for member in whole} <= {"s1", "s2"}
    assert whole[0].score == min(run.best.score for run in runs if run.best and run.best.score)


def test_fewer_are_said_and_never_filled_up(runs: list[bs.LoadedRun]) -> None:
    many = portfolio(runs, 1000)
    assert len(many.members) < 1000
    assert f"{len(many.members)} of 1000" in many.table().caption
    with pytest.raises(UsageError, match="one program or more"):
        portfolio(runs, 0)


def test_where_each_is_the_best_is_said_of_several_instances(runs: list[bs.LoadedRun]) -> None:
    found = portfolio(runs, 3)
    wins = found.wins()
    assert found.tables() == (found.table(), wins)
    assert [row[2:] for row in wins.rows] == [member.scores for member in found.members]
    alone = replace(found, members=tuple(replace(each, scores=each.scores[:1]) for each in found.members))
    assert alone.tables() == (alone.table(),)


def test_validation_says_what_each_adds_and_leaves_out_what_fails(runs: list[bs.LoadedRun]) -> None:
    plain = runs[0].portfolio(4)
    keys = [(member.run, member.candidate) for member in plain.members]
    tried: dict[tuple[str, int], tuple[float, ...] | None] = {key: (6.0 - place, 5.0) for place, key in enumerate(keys)}
    found = runs[0].portfolio(4, validation={**tried, keys[1]: None})
    assert found.failed == (keys[1],)
    assert [(member.run, member.candidate) for member in found.members] == [keys[0], *keys[2:]]
    assert [member.validation for member in found.members] == [5.5, 4.5, 4.0]
    assert [member.validation_together for member in found.members] == [5.5, 4.5, 4.0]
    assert f"candidate {keys[1][1]} of s1" in found.table().caption
    assert [member.score for member in found.members] == [plain.members[place].score for place in (0, 2, 3)]


def test_programs_of_two_tasks_make_no_portfolio(runs: list[bs.LoadedRun], tmp_path: Path) -> None:
    other = journalled(tmp_path / "other", started(task="asp"), feasible(0, 3.0))
    with pytest.raises(UsageError, match=r"programs of different tasks make no portfolio: .*few_cities\.py, asp"):
        runs[0].portfolio(3, [other])


def test_runs_of_one_name_make_no_portfolio(runs: list[bs.LoadedRun], tmp_path: Path) -> None:
    namesake = shutil.copytree(runs[1].folder.path, tmp_path / runs[0].folder.run)
    with pytest.raises(UsageError, match="name runs of different names"):
        runs[0].portfolio(3, [bs.load_run(namesake)])


def test_members_say_how_many_programs_do_the_same_and_how_far_the_nearest_before_is(
    runs: list[bs.LoadedRun],
) -> None:
    run = runs[0]
    members = run.portfolio(4).members
    behaviours = run.trajectories([candidate.candidate for candidate in run.ranked()])
    for place, member in enumerate(members):
        (own,) = run.trajectories([member.candidate])
        assert member.alike == behaviours.count(own)
        before = [run.matrix([member.candidate, each.candidate])[0, 1] for each in members[:place]]
        assert member.nearest == (pytest.approx(1 - max(before)) if before else None)


def test_each_says_what_it_adds_to_those_before_it(runs: list[bs.LoadedRun]) -> None:
    members = portfolio(runs, 4).members
    assert members[0].adds is None
    for before, member in pairwise(members):
        assert member.adds == pytest.approx((before.together - member.together) / before.together)  # minimised
    assert members[-1].validation_adds is None  # nothing was tried there


def test_recommend_gives_it_beside_what_it_gave(behavesim: Command, runs: list[bs.LoadedRun], tmp_path: Path) -> None:
    shutil.copytree(runs[0].folder.path.parent, tmp_path / "runs")
    plain = behavesim("recommend", "s1", "--json").document
    document = behavesim("recommend", "s1", "--portfolio", 3, "--json").document
    members, rivals = document.pop("portfolio"), document.pop("rivals")
    assert document.keys() == plain.keys() and document["registered"] == plain["registered"]
    assert {"the programs of the set", "the best program begun 3 times"} < {each["name"] for each in rivals}
    scores = {each["name"]: each["score"] for each in rivals}
    # a set is its programs, one begun often is it, too, and improving never harms
    assert scores["the programs of the set"] <= scores["the best program alone"] == members[0]["validation"]
    assert scores["the programs of the set"] == members[-1]["validation_together"]
    assert scores["the best program begun 3 times"] <= scores["the best program alone"]
    assert scores["the programs of the set, each improved"] <= scores["the programs of the set"]
    assert [member["candidate"] for member in members] == [m.candidate for m in runs[0].portfolio(3).members]
    assert {"candidate", "score", "gap"} <= members[0].keys()
    both = behavesim("recommend", "s1", "s2", "--portfolio", 3, "--json").document
    assert [each["run"] for each in both["portfolio"]] == [m.run for m in portfolio(runs, 3).members]
    shown = behavesim("recommend", "s1", "s2", "--portfolio", 3)
    assert "alternatives at the same cost" in shown.out
    assert "programs that behave differently" in shown.out
    assert behavesim("recommend", "s1", "s2").code == 2


def test_a_portfolio_is_judged_by_the_tasks_own_mean_score() -> None:
    behaviours = [Behaviour(pack([Trajectory.prefixes(order)] * 2)) for order in ([0, 1, 2, 3], [3, 2, 1, 0])]
    scores = [(2.0, 6.0), (7.0, 4.0)]
    given = [PortfolioCandidate("r", n, "x", max(of), of, behaviours[n]) for n, of in enumerate(scores)]
    clearing = Clearing(bs.Objective("minimise", best_known=2.0), bs.BehaveSim(4.0), 0.0)
    tried = {("r", 0): (1.0, 9.0), ("r", 1): (8.0, 3.0)}
    first, second = chosen(given, clearing, 2, tried, mean=max).members
    assert (first.score, first.together, second.together) == (6.0, 6.0, 4.0)
    assert (second.together_gap, second.adds) == (pytest.approx(1.0), pytest.approx(1 / 3))
    assert (first.validation, second.validation, second.validation_together) == (9.0, 8.0, 3.0)
