"""The thirty pairs are what their types say, and the study stands beside the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from behavesim_studies import dataset, similarity
from behavesim_studies.dataset import PAIRS, VERTICES, Pair, Problem, Program, Solved, trace_execution
from behavesim_studies.similarity import BESIDE, TYPES, SimilarityStudy, measures

from tests.cli.command import Command


@pytest.fixture(autouse=True, scope="module")
def _done_once() -> Iterator[None]:
    """A program stands in several pairs, which are looked at in several ways: what it does is found out once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "solve", remembered(Program.solve))
        patch.setattr(Program, "trace", remembered(Program.trace))
        yield


def remembered(work: Callable[[Program, Any], Any]) -> Callable[[Program, Any], Any]:
    known: dict[tuple[Program, str], Any] = {}

    def done(program: Program, instance: Any) -> Any:
        key = program, repr(instance)
        if key not in known:
            known[key] = work(program, instance)
        return known[key]

    return done


@cache
def solved(pair: Pair) -> tuple[list[Solved], list[Solved]]:
    instances = pair.instances()
    return [pair.first.solve(at) for at in instances], [pair.second.solve(at) for at in instances]


@cache
def whole() -> SimilarityStudy:
    """The study with traces of one instance, which take most of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "TRACED", 1)
        return similarity.study(similarity.measure_pairs())


def label(pair: Pair) -> str:
    return pair.label


def test_there_are_as_many_pairs_of_each_type_as_in_the_paper() -> None:
    assert [sum(pair.type == of_type for pair in PAIRS) for of_type in TYPES] == [3, 3, 6, 18]
    assert {of_type: len(cases) for of_type, cases in dataset.CASES.items()} == {1: 3, 2: 3, 3: 6, 4: 18}
    assert len({pair.name for pair in PAIRS}) == 30


@pytest.mark.parametrize("pair", PAIRS, ids=label)
def test_results_are_equal_but_for_type_2_and_behaviour_is_the_same_for_type_3_alone(pair: Pair) -> None:
    first, second = solved(pair)
    equal = [a.solution == b.solution for a, b in zip(first, second, strict=True)]
    assert not any(equal) if pair.type == 2 else all(equal)
    sims = [
        measure.similarity(a.trajectory, b.trajectory)
        for measure, a, b in zip(measures(pair, first), first, second, strict=True)
    ]
    assert all(sim == 1.0 for sim in sims) if pair.type == 3 else all(sim < 1.0 for sim in sims)


@pytest.mark.parametrize("pair", PAIRS, ids=label)
def test_a_source_is_the_program_without_what_records_its_states(pair: Pair) -> None:
    for program in (pair.first, pair.second):
        assert "record" not in program.source
        assert '"""' not in program.source
        space: dict[str, object] = vars(__import__(program.call.__module__, fromlist=["x"])).copy()
        exec(program.source, space)
        instance = pair.instances(1)[0]
        assert space[pair.problem.entry](*instance) == program.solve(instance).solution  # type: ignore[operator]


def test_programs_do_what_they_are_called() -> None:
    for pair in PAIRS:
        for at, each in zip(pair.instances(), solved(pair)[0], strict=True):
            if pair.problem.name == "sorting":
                assert each.solution == sorted(at[0])
            elif pair.problem.name == "matrix product":
                assert each.solution == (np.array(at[0]) @ np.array(at[1])).tolist()
            elif pair.problem.name == "shortest paths":
                assert each.solution == shortest(at[0])


def shortest(graph: list[list[tuple[int, int]]]) -> list[int]:
    """By scipy."""
    from scipy.sparse.csgraph import dijkstra

    weights = np.zeros((VERTICES, VERTICES))
    for node, edges in enumerate(graph):
        for neighbour, weight in edges:
            weights[node, neighbour] = weight
    return [int(distance) for distance in dijkstra(weights, indices=0)]


def test_pairs_of_a_problem_share_its_instances_and_programs_leave_them_alone() -> None:
    by_problem: dict[Problem, str] = {}
    for pair in PAIRS:
        solved(pair)
        assert by_problem.setdefault(pair.problem, repr(pair.instances())) == repr(pair.instances())
    assert len(by_problem) == 6


def test_a_trace_holds_each_change_of_a_variable_once() -> None:
    def count(n: int) -> int:
        total = 0
        for k in range(n):
            total += k
        return total

    with trace_execution(__file__) as lines:
        count(3)
    assert lines == ["n = 3", "total = 0", "k = 0", "k = 1", "total = 1", "k = 2", "total = 3"]


def test_the_document_has_every_pair_with_every_metric_and_what_is_missing_is_no_number() -> None:
    document = whole().document()
    assert len(document["pairs"]) == 30
    for row in document["pairs"]:
        assert set(row) == {"type", "case", "name", *BESIDE}
        for metric in BESIDE:
            assert (row[metric] is None) == (metric in document["missing"])
    assert document["means"]["results"] == [1.0, 0.0, 1.0, 1.0]
    assert document["means"]["behavesim"][2] == 1.0
    assert document["paper"]["BehaveSim"] == [0.56, 0.73, 1.0, 0.46]
    assert "--embedding-model" in document["missing"]["embedding"] or "pip install" in document["missing"]["embedding"]


def test_without_cutting_the_sampling_study_is_the_similarity_study(monkeypatch: pytest.MonkeyPatch) -> None:
    furthest = {at: dataset.SAMPLING[at] for at in ((0.0, 0), (0.5, 0), (0.0, 5))}
    monkeypatch.setattr(similarity, "SAMPLING", furthest)
    means = similarity.sampling_study(similarity.sample_programs()).means
    assert means[0.0, 0] == pytest.approx([whole().mean("behavesim", of_type) for of_type in TYPES], abs=1e-12)
    assert all(of_type_3 == 1.0 for _, _, of_type_3, _ in means.values())


def test_the_tables_have_the_numbers_of_the_document(behavesim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "measure_pairs", lambda model: iter(whole().rows))
    document = behavesim("study", "similarity", "--json").document
    assert document == whole().document()
    means, pairs = whole().tables()
    ours = {row[0]: row for row in means.rows if row[0]}
    for metric in BESIDE:
        absent = metric in document["missing"]
        assert list(ours[metric][1:]) == [*document["means"][metric], "missing: see below" if absent else "ours"]
        assert (f"{metric}: {document['missing'].get(metric)}." in means.caption) == absent
    assert ("", *document["paper"]["BehaveSim"], "paper: BehaveSim") in means.rows
    assert [row[:2] for row in pairs.rows] == [(pair.label, pair.name) for pair in PAIRS]
    assert [row[-1] for row in pairs.rows[:12]] == [case for of_type in (1, 2, 3) for case in dataset.CASES[of_type]]
    assert {row[-1] for row in pairs.rows[12:]} == {None}
    shown = behavesim("study", "similarity")
    assert (shown.code, "Which pair is which case of type 4 the paper does not say" in shown.out) == (0, True)


def test_the_sampling_study_stands_beside_the_papers_numbers(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(pair, tuple(pair.type / 10 for _ in dataset.SAMPLING)) for pair in PAIRS]
    monkeypatch.setattr(similarity, "sample_programs", lambda: iter(rows))
    for row in behavesim("study", "sampling", "--json").document["settings"]:
        assert row["means"] == pytest.approx([0.1, 0.2, 0.3, 0.4])
        assert tuple(row["paper"]) == dataset.SAMPLING[row["truncate"], row["skip"]]
    shown = behavesim("study", "sampling").out
    assert all(f"{value:.2f}" in shown for means in dataset.SAMPLING.values() for value in means)
