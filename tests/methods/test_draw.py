"""Draws from the archive: what is preferred, and by how much."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from zlib import crc32

import numpy as np
import pytest

from behavesim.methods.method import Generator, clusters, generator, pick_cluster, pick_program, softmax
from tests.methods.states import member


def test_equal_arguments_give_equal_draws_and_others_give_others() -> None:
    known = [("ask", 0, 0), ("restart", 0, 0), ("place", 0, 0), ("deal", 0, 0), ("own", 0, 0), ("ask", 1, 0)]
    drawn = [generator(seed, number, purpose).random() for purpose, seed, number in [*known, ("ask", 0, 1)]]
    assert len(set(drawn)) == len(drawn)
    assert generator(3, 4, "ask").random() == generator(3, 4, "ask").random()


def test_a_purpose_of_ones_own_is_told_apart_by_its_name() -> None:
    assert generator(3, 4, "own").random() == np.random.default_rng([3, 4, crc32(b"own")]).random()
    assert generator(3, 4, "deal").random() == np.random.default_rng([3, 4, 4]).random()


def test_softmax_is_proportional_to_the_exponentials_however_large() -> None:
    assert softmax([0.0, math.log(3.0)]).tolist() == pytest.approx([0.25, 0.75])
    assert softmax([1000.0, 1000.0 + math.log(3.0)]).tolist() == pytest.approx([0.25, 0.75])


def test_programs_of_equal_score_are_a_cluster_in_order_of_arrival() -> None:
    members = [member(0, 2.0), member(1, 1.0), member(2, 2.0)]
    assert clusters(members) == [[members[0], members[2]], [members[1]]]


def shares(draw: Callable[[Generator], object], wanted: object) -> float:
    """How often of 2000 draws something is drawn."""
    counts = Counter(draw(np.random.default_rng(seed)) is wanted for seed in range(2000))
    return counts[True] / 2000


@pytest.mark.parametrize(("scale", "temperature"), [(1.0, 1.0), (10.0, 0.1), (0.5, 2.0)])
def test_clusters_are_drawn_by_a_softmax_of_score_over_scale_and_temperature(scale: float, temperature: float) -> None:
    worse, better = [member(0, 2.0)], [member(1, 1.0)]
    share = shares(lambda rng: pick_cluster([worse, better], scale, temperature, rng), better)
    assert share == pytest.approx(math.e / (1 + math.e), abs=0.03)


def test_the_colder_it_is_the_surer_the_better_cluster_is_drawn() -> None:
    worse, better = [member(0, 2.0)], [member(1, 1.0)]
    assert shares(lambda rng: pick_cluster([worse, better], 1.0, 0.01, rng), better) == 1.0


def test_shorter_programs_are_drawn_more_often() -> None:
    short, long = member(0, source="x" * 50), member(1, source="x" * 100)
    share = shares(lambda rng: pick_program([long, short], rng), short)
    assert share == pytest.approx(1 / (1 + math.exp(-0.5)), abs=0.03)  # by half of the longest


def test_an_empty_program_can_be_drawn() -> None:
    empty = member(0, source=" ")
    assert pick_program([empty], np.random.default_rng(0)) is empty
