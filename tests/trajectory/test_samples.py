"""What is stored of an algorithm's behaviour is read again as it was, and nothing else is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import behavesim as bs
from behavesim.trajectory import pack, unpack

TRAJECTORIES = st.lists(st.integers(-300, 300), min_size=1, max_size=6).map(bs.Trajectory.prefixes)
SAMPLES = st.lists(TRAJECTORIES, min_size=1, max_size=4).map(bs.Samples)


@given(st.lists(TRAJECTORIES | SAMPLES, max_size=4))
def test_a_behaviour_is_read_as_it_was_stored(behaviour: list[bs.Trajectory | bs.Samples]) -> None:
    assert unpack(pack(behaviour)) == tuple(behaviour)


@given(st.lists(TRAJECTORIES | SAMPLES, min_size=1, max_size=3), st.data())
def test_a_behaviour_that_is_cut_off_is_read_as_far_as_it_is_whole_or_refused(
    behaviour: list[bs.Trajectory | bs.Samples], data: st.DataObject
) -> None:
    stored = pack(behaviour)
    cut = stored[: data.draw(st.integers(0, len(stored) - 1))]
    try:
        assert unpack(cut) in [tuple(behaviour[:count]) for count in range(len(behaviour))]
    except ValueError:
        assert cut


def test_samples_of_samples_and_of_nothing_are_refused() -> None:
    inner = bs.Samples([bs.Trajectory.prefixes([1])]).to_bytes()
    nested = b"\xff" + len(inner).to_bytes(4, "little") + inner
    for data in (nested, b"\xff"):
        with pytest.raises(ValueError, match=r"not a stored trajectory|at least one run"):
            unpack(len(data).to_bytes(4, "little") + data)


def test_the_values_of_samples_are_those_of_each_run() -> None:
    assert bs.Samples(map(bs.Trajectory.prefixes, ([0, 1], [0, 2, 1]))).values() == [[0, 1], [0, 2, 1]]
