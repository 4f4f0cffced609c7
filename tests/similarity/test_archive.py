import asyncio
import subprocess
import sys
import threading

import numpy as np
import pytest

from behavesim.base.errors import TrajectoryError
from behavesim.similarity import Archive, BehaveSim
from behavesim.trajectory import Trajectory

MEASURES = [BehaveSim(40, clip=False), BehaveSim("pair"), BehaveSim(40, truncate=0.3), BehaveSim(40, "mean", skip=1)]


def algorithms(count, kind="prefixes", seed=0):
    rng = np.random.default_rng(seed)

    def trajectory():
        length = int(rng.integers(1, 40))
        if kind == "prefixes":
            return Trajectory.prefixes(rng.permutation(length))
        if kind == "vectors":
            return Trajectory.vectors(rng.random((length, 2)))
        return Trajectory.sequences([rng.permutation(7) for _ in range(length)])

    return [[trajectory() for _ in range(2)] for _ in range(count)]


@pytest.mark.parametrize("kind", ["prefixes", "sequences", "vectors"])
def test_grows_in_place_and_says_at_any_size_what_each_pair_says(kind):
    members = algorithms(130, kind)
    x = members[17]
    archive = Archive()
    measures = [m for m in MEASURES if kind != "vectors" or m.normaliser != "pair"]
    expected = [[m.between(x, member) for member in members] for m in measures]
    for size, member in enumerate(members, start=1):
        archive.append(member)
        if size in (1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130):  # around what a kernel takes at a time
            assert len(archive) == size
            for m, similarities in zip(measures, expected, strict=True):
                assert m.one_vs_many(x, archive).tolist() == similarities[:size]


def test_copies_are_kept_once_and_answered_by_look_up():
    members = algorithms(5)
    archive = Archive(members * 20)
    assert len(archive) == 100
    assert [len(column.distinct) for column in archive.columns] == [5, 5]
    assert (
        MEASURES[0].one_vs_many(members[1], archive).tolist()
        == [MEASURES[0].between(members[1], member) for member in members] * 20
    )


def test_takes_rows_into_a_new_archive_that_grows_by_itself():
    members = algorithms(6)
    archive = Archive(members)
    taken = archive.take([4, 0, 4])
    taken.append(members[5])
    assert (len(archive), len(taken)) == (6, 4)
    assert (
        MEASURES[0].one_vs_many(members[4], taken).tolist()
        == MEASURES[0].one_vs_many(members[4], [members[4], members[0], members[4], members[5]]).tolist()
    )
    assert len(archive.take([])) == 0


def test_an_empty_archive_has_no_similarities():
    assert MEASURES[0].one_vs_many(algorithms(1)[0], Archive()).shape == (0,)
    assert MEASURES[0].matrix(Archive()).shape == (0, 0)


def test_refuses_an_algorithm_that_is_not_like_the_others_and_stays_as_it_was():
    archive = Archive(algorithms(2))
    for wrong, message in (
        (algorithms(1)[0][:1], "2 and 1 instances"),
        (algorithms(1, "vectors")[0], "got prefixes and vectors"),
        ([algorithms(1)[0][0], algorithms(1, "vectors")[0][0]], "got prefixes and vectors"),
    ):
        with pytest.raises(TrajectoryError, match=message):
            archive.append(wrong)
    assert len(archive) == 2
    assert MEASURES[0].matrix(archive).shape == (2, 2)


def test_tokens_of_any_size_and_sign_are_told_apart():
    x, y = [Trajectory.prefixes([-1, 2**62, 65535])], [Trajectory.prefixes([65535, -1, -2])]
    m = BehaveSim(3)
    assert m.one_vs_many(x, Archive([y, x])).tolist() == [m.between(x, y), 1.0]
    assert m.one_vs_many([Trajectory.prefixes([7, 8, 9])], Archive([x])).tolist() == [1 - 6 / 9]


class ByKernels(BehaveSim):
    """The measure, but for what takes a pair at a time."""

    def similarity(self, x, y):
        raise AssertionError("two trajectories are compared alone")


@pytest.mark.parametrize("kind", ["prefixes", "vectors"])
def test_trajectories_as_they_mostly_are_are_compared_by_the_kernels_alone(kind):
    members = algorithms(5, kind)
    assert (
        ByKernels(40).one_vs_many(members[1], members).tolist()
        == BehaveSim(40).one_vs_many(members[1], members).tolist()
    )


def test_more_tokens_than_the_kernel_numbers_are_compared_pair_by_pair():
    members = [[Trajectory.prefixes(row)] for row in np.arange(66000).reshape(-1, 600)]
    found = BehaveSim(600).one_vs_many(members[9], Archive(members))
    assert found[9] == 1.0
    assert set(np.delete(found, 9)) == {BehaveSim(600).between(members[0], members[1])}


def test_can_grow_while_others_compare():
    members, x = algorithms(400), algorithms(1, seed=9)[0]
    m = BehaveSim(40, clip=False)
    expected = m.one_vs_many(x, members).tolist()
    archive = Archive(members[:1])
    wrong = []

    def compare():
        while len(archive) < len(members):
            found = m.one_vs_many(x, archive).tolist()
            if found != expected[: len(found)]:
                wrong.append(len(found))

    threads = [threading.Thread(target=compare) for _ in range(2)]
    for thread in threads:
        thread.start()
    for member in members[1:]:
        archive.append(member)
    for thread in threads:
        thread.join()
    assert not wrong
    assert m.one_vs_many(x, archive).tolist() == expected


async def test_can_be_warmed_and_compared_off_the_event_loop():
    members = algorithms(10)
    archive = Archive(members)
    await asyncio.to_thread(archive.warm)
    found = await asyncio.to_thread(MEASURES[0].one_vs_many, members[0], archive)
    assert found[0] == 1.0


def test_importing_the_measure_does_not_load_the_compiler():
    code = (
        "import sys, behavesim.trajectory, behavesim.similarity as s; "
        "s.Archive([[behavesim.trajectory.Trajectory.prefixes([1])]]); print('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
