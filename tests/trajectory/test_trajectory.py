import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.base.errors import TrajectoryError
from behavesim.trajectory import MAX_STATES, Trajectory

EXAMPLES = [
    Trajectory.prefixes([0, 3, 1, 2]),
    Trajectory.prefixes(np.array([7, -2000])),
    Trajectory.sequences([[3, 1, 2], [], [1, 300]]),
    Trajectory.sets([{5, 1}, [], [3, 3, 70000]]),
    Trajectory.vectors(np.arange(6.0).reshape(3, 2)),
]


@pytest.mark.parametrize("trajectory", EXAMPLES, ids=lambda trajectory: trajectory.kind)
class TestAnyKind:
    def test_comes_back_from_its_bytes_and_from_a_pickle(self, trajectory):
        for copy in (Trajectory.from_bytes(trajectory.to_bytes()), pickle.loads(pickle.dumps(trajectory))):
            assert copy == trajectory
            assert hash(copy) == hash(trajectory)
            assert copy.values() == trajectory.values()

    def test_cannot_be_changed(self, trajectory):
        with pytest.raises(AttributeError):
            trajectory.kind = "sets"
        with pytest.raises(ValueError, match="read-only"):
            trajectory.state(len(trajectory) - 1)[...] = 1

    def test_refuses_bytes_that_were_cut_or_lengthened(self, trajectory):
        data = trajectory.to_bytes()
        for broken in (b"", data[:5], data[:-1], data + b"\0", b"\xff" + data[1:], data[:1] + b"\x09" + data[2:]):
            with pytest.raises(TrajectoryError, match="not a stored trajectory"):
                Trajectory.from_bytes(broken)

    @pytest.mark.parametrize("index", [-1, 99])
    def test_has_no_state_before_the_first_or_after_the_last(self, trajectory, index):
        with pytest.raises(TrajectoryError, match=f"has no state {index}; states count from 0"):
            trajectory.state(index)

    def test_differs_from_the_others(self, trajectory):
        assert [other == trajectory for other in EXAMPLES].count(True) == 1


def test_values_are_plain_lists_of_the_states_or_the_final_sequence_of_prefixes():
    prefixes, _, sequences, sets, vectors = EXAMPLES
    assert prefixes.values() == [0, 3, 1, 2]
    assert sequences.values() == [[3, 1, 2], [], [1, 300]]
    assert sets.values() == [[1, 5], [], [3, 70000]]
    assert vectors.values() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_a_state_of_prefixes_is_the_sequence_so_far():
    trajectory = Trajectory.prefixes([4, 5, 6])
    assert [trajectory.state(i).tolist() for i in range(len(trajectory))] == [[4], [4, 5], [4, 5, 6]]


def test_tokens_are_stored_in_the_smallest_type_whatever_they_came_in():
    assert Trajectory.prefixes(np.arange(50, dtype=np.int64)) == Trajectory.prefixes(list(range(50)))
    assert len(Trajectory.prefixes(np.arange(50)).to_bytes()) == 10 + 50
    assert Trajectory.prefixes([2**62]).values() == [2**62]


def test_what_a_trajectory_was_built_from_may_change_afterwards():
    states = np.zeros((2, 2))
    trajectory = Trajectory.vectors(states)
    states[:] = 1.0
    assert trajectory == Trajectory.vectors(np.zeros((2, 2)))


def test_equal_numbers_are_equal_trajectories():
    assert hash(Trajectory.vectors([[-0.0, 1]])) == hash(Trajectory.vectors([[0.0, 1.0]]))
    assert Trajectory.vectors([[-0.0, 1]]) == Trajectory.vectors([[0.0, 1.0]])
    assert Trajectory.sequences([[1], [2]]) != Trajectory.sequences([[1, 2], []])


TOKENS = st.lists(st.integers(-3, 3) | st.integers(-(2**40), 2**40), max_size=5)
INTEGERS = st.sampled_from(["<i8", ">i8"])


@given(states=st.lists(TOKENS, min_size=1, max_size=5), dtype=INTEGERS, coordinate=st.sampled_from([-0.0, 0.0, 1.0]))
def test_the_constructor_makes_equal_states_equal_trajectories(states, dtype, coordinate):
    tokens = np.array([token for state in states for token in state], dtype=dtype)
    ends = np.cumsum([len(state) for state in states])
    made = {
        Trajectory("sequences", tokens.copy(), ends.copy()): Trajectory.sequences(states),
        Trajectory("sets", tokens.copy(), ends.copy()): Trajectory.sets(states),
        Trajectory("prefixes", np.append(tokens, 1)): Trajectory.prefixes([*tokens.tolist(), 1]),
        Trajectory("vectors", np.array([[coordinate, -0.0]])): Trajectory.vectors([[coordinate, 0]]),
    }
    for built, usual in made.items():
        assert built == usual
        assert hash(built) == hash(usual)
        assert built.values() == usual.values()
        assert Trajectory.from_bytes(built.to_bytes()) == built


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Trajectory.prefixes([]), "at least one state"),
        (lambda: Trajectory.sequences([]), "at least one state"),
        (lambda: Trajectory.sets([]), "at least one state"),
        (lambda: Trajectory.vectors(np.empty((0, 2))), "at least one state"),
        (lambda: Trajectory.vectors(np.empty((2, 0))), "at least one dimension"),
        (lambda: Trajectory.vectors([1.0, 2.0]), "shape"),
        (lambda: Trajectory.vectors([[1.0, 2.0], [3.0]]), "regular array"),
        (lambda: Trajectory.vectors([[1.0, float("nan")]]), "state 0 has nan at coordinate 1"),
        (lambda: Trajectory.vectors([[1.0], [float("inf")]]), "state 1 has inf"),
        (lambda: Trajectory.prefixes([0.5, 1.0]), "must be integers"),
        (lambda: Trajectory.prefixes([True, False]), "must be integers"),
        (lambda: Trajectory.prefixes([[0, 1], [1, 0]]), "flat sequence"),
        (lambda: Trajectory.prefixes([2**63]), "64 bits"),
        (lambda: Trajectory.prefixes([2**64]), "64 bits"),
        (lambda: Trajectory.sequences([["a", "b"]]), "must be integers"),
        (lambda: Trajectory.prefixes(None), "flat sequence of integers"),
        (lambda: Trajectory.sequences(5), "sequences are made of states, one after another; got int 5"),
        (lambda: Trajectory.sequences([5]), "flat sequence of integers"),
        (lambda: Trajectory.sets(None), "sets are made of states, one after another; got NoneType None"),
        (lambda: Trajectory.sets([5]), "a state must be a set of integers; got int 5"),
        (lambda: Trajectory.vectors(None), r"shape \(states, dimensions\)"),
        (lambda: Trajectory.prefixes(np.broadcast_to(np.int8(0), MAX_STATES + 1)), "sample it first"),
        (lambda: Trajectory("sets", np.arange(3)), "made by one of .*; got parts of none"),
        (lambda: Trajectory("prefixes", np.arange(3), np.arange(3)), "made by one of .*; got parts of none"),
        (lambda: Trajectory("tours", np.arange(3)), "made by one of prefixes, .*; got parts of none"),
    ],
)
def test_what_cannot_be_a_trajectory_is_refused_with_its_reason(build, message):
    with pytest.raises(TrajectoryError, match=message):
        build()


def test_states_of_too_many_tokens_in_all_are_refused(monkeypatch):
    monkeypatch.setattr("behavesim.trajectory.MAX_STATES", 3)
    assert len(Trajectory.sets([{1}, {1, 2}])) == 2
    with pytest.raises(TrajectoryError, match="states hold at most 3 tokens in all; got 4"):
        Trajectory.sets([{1, 2}, {1, 2}])
