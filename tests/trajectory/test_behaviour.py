"""A behaviour that is stored is read when it is looked at, and is then what it was."""

from __future__ import annotations

import pytest

import behavesim as bs
from behavesim.base.errors import TrajectoryError
from behavesim.trajectory import Behaviour, pack, pack_states

RUNS = (bs.Trajectory.prefixes([2, 0, 1]), bs.Samples([bs.Trajectory.vectors([[0.5, 1.0]])]))


def test_a_stored_behaviour_is_equal_to_what_was_stored() -> None:
    stored = Behaviour(pack(RUNS))
    assert stored == RUNS
    assert stored == RUNS
    assert stored == Behaviour(pack(RUNS))
    assert stored != RUNS[:1]
    assert stored != Behaviour(pack(RUNS[:1]))
    assert stored != list(RUNS)
    assert (len(stored), stored[1], tuple(stored[:1])) == (2, RUNS[1], RUNS[:1])
    assert pack_states(stored) == pack_states(RUNS)
    assert hash(stored) == hash(RUNS)
    assert repr(stored) == repr(RUNS)


def test_a_behaviour_that_is_missing_is_told_at_once() -> None:
    for missing in (None, "text"):
        with pytest.raises(ValueError, match="missing"):
            Behaviour(missing)


@pytest.mark.parametrize("damaged", [bytes(20), pack(RUNS)[:-1], b"\xff"])
def test_a_behaviour_that_is_damaged_is_told_where_it_is_looked_at(damaged: bytes) -> None:
    with pytest.raises(TrajectoryError, match="behavesim verify"):
        len(Behaviour(damaged))
