import math

import numpy as np
import pytest

from behavesim.base.errors import TrajectoryError
from behavesim.similarity import Archive, BehaveSim
from behavesim.trajectory import Samples, Trajectory, fixed_seed, sample

A, B, C = (Trajectory.prefixes(tokens) for tokens in ([0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 2, 3, 4, 5]))
P, Q = Trajectory.vectors([[0.0, 0.0], [3.0, 4.0]]), Trajectory.vectors([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
FAR, NEAR = Trajectory.vectors([[-1.7e308], [1.7e308]]), Trajectory.vectors([[0.0], [1.0]])


def permutations(seed, count, instances=2, length=9):
    rng = np.random.default_rng(seed)
    return [[Trajectory.prefixes(rng.permutation(length)) for _ in range(instances)] for _ in range(count)]


def test_a_value_worked_out_by_hand():
    """0, 01, 012, 0123 and 0, 02, 021, 0213 are 0, 1, 2 and 2 edits apart, and no detour is shorter."""
    assert BehaveSim(4).similarity(A, B) == 1 - 5 / (4 * 4)


def test_waiting_in_a_state_costs_dtw_nothing():
    assert BehaveSim(10).similarity(P, Q) == 1.0


def test_constant_and_pairwise_normalisers_differ():
    assert BehaveSim(50).similarity(A, B) > BehaveSim(4).similarity(A, B) > BehaveSim("pair").similarity(A, B)


def test_clipping_bounds_what_unequal_lengths_make_negative():
    short, long = Trajectory.prefixes(range(10)), Trajectory.prefixes(range(100, 200))
    raw = BehaveSim("pair", clip=False)
    assert raw.similarity(short, long) == pytest.approx(1 - 100 / 10)
    assert BehaveSim("pair").similarity(short, long) == 0.0
    assert BehaveSim("pair").one_vs_many([short], [[long], [short]]).tolist() == [0.0, 1.0]


def test_clipping_is_done_for_each_instance_before_the_mean():
    short, long = Trajectory.prefixes(range(10)), Trajectory.prefixes(range(100, 200))
    assert BehaveSim("pair").between([short, A], [long, A]) == 0.5
    assert BehaveSim("pair", clip=False).between([short, A], [long, A]) == pytest.approx((-9 + 1) / 2)


@pytest.mark.parametrize("measure", ["dtw", "erp", "mean", "cosine"])
@pytest.mark.parametrize("clip", [True, False])
def test_identical_trajectories_are_exactly_alike(measure, clip):
    rng = np.random.default_rng(5)
    for states in (rng.normal(size=(7, 3)), rng.normal(size=(1, 2)), rng.normal(size=(4, 1)) * 1e-200):
        x = [Trajectory.vectors(states)]
        m = BehaveSim(1e3, measure, clip=clip)
        assert m.between(x, [Trajectory.vectors(states)]) == 1.0
        assert m.one_vs_many(x, [x, [Trajectory.vectors(states)]]).tolist() == [1.0, 1.0]
        assert m.matrix([x, x]).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_cosine_follows_directions_and_not_lengths():
    x = Trajectory.vectors([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    m = BehaveSim(1, "cosine", clip=False)
    assert m.similarity(x, Trajectory.vectors(x.data * 1e200)) == 1.0
    assert m.similarity(x, Trajectory.vectors(-x.data)) == -1.0
    assert BehaveSim(1, "cosine").similarity(x, Trajectory.vectors(-x.data)) == 0.0
    assert m.similarity(x, Trajectory.vectors([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])) == 0.0


def test_erp_charges_what_is_left_out_at_its_distance_to_the_reference_solution():
    m = BehaveSim(10, "erp", clip=False)
    assert m.similarity(P, Q) == 1.0  # the extra state is the origin itself
    assert BehaveSim(10, "erp", gap=(3.0, 4.0), clip=False).similarity(P, Q) == 1 - 5 / (10 * 2)
    empty = Trajectory.sequences([[], [1]])
    assert BehaveSim(2, "erp").similarity(empty, Trajectory.sequences([[1]])) == 1.0
    assert BehaveSim(2, "erp", gap=(1,)).similarity(empty, Trajectory.sequences([[1]])) == 0.5


def test_order_does_not_count_in_sets():
    ordered, shuffled = [[1, 2], [1, 2, 3]], [[2, 1], [3, 1, 2]]
    assert BehaveSim(3).similarity(Trajectory.sets(ordered), Trajectory.sets(shuffled)) == 1.0
    assert BehaveSim(3).similarity(Trajectory.sequences(ordered), Trajectory.sequences(shuffled)) < 1.0


def test_truncation_drops_the_end_and_keeps_a_state():
    assert BehaveSim(9, truncate=0.34).similarity(A, Trajectory.prefixes([0, 1, 2, 9])) == 1.0
    assert BehaveSim(9, truncate=0.2).similarity(A, Trajectory.prefixes([0, 1, 2, 9])) < 1.0
    assert BehaveSim(9, truncate=1.0).similarity(A, B) == 1.0
    assert BehaveSim(9, truncate=0.29).length(100) == 71


@pytest.mark.parametrize(
    ("skip", "indices"), [(0, range(10)), (1, [0, 2, 4, 6, 8, 9]), (3, [0, 4, 8, 9]), (20, [0, 9]), (10**20, [0, 9])]
)
def test_sampling_keeps_the_first_and_the_last_state(skip, indices):
    assert BehaveSim(9, skip=skip).kept(10).tolist() == list(indices)


def test_a_distance_of_ones_own_means_the_same_in_every_respect():
    def edits(x, y):
        return float(sum(a != b for a, b in zip(x, y, strict=False)) + abs(len(x) - len(y)))

    def euclidean(x, y):
        return math.dist(x, y)

    rng = np.random.default_rng(1)
    x, y = (Trajectory.vectors(rng.random((n, 2))) for n in (5, 8))
    for options in ({}, {"measure": "erp"}, {"measure": "mean"}, {"truncate": 0.4, "skip": 1}, {"clip": False}):
        own, built_in = BehaveSim(2, **options, distance=euclidean), BehaveSim(2, **options)
        assert own.similarity(x, y) == pytest.approx(built_in.similarity(x, y), abs=1e-12)
        assert own.one_vs_many([x], [[y], [x]]) == pytest.approx(built_in.one_vs_many([x], [[y], [x]]), abs=1e-12)
    assert BehaveSim("pair", distance=edits).similarity(A, C) == BehaveSim("pair").similarity(A, C)


def test_the_expectation_is_over_instances_and_over_the_starting_points_of_each():
    m = BehaveSim(6)
    nested = m.between([[A, A], B], [[A, B], C])
    assert nested == (m.similarity(A, A) + m.similarity(A, B)) / 4 + m.similarity(B, C) / 2
    assert m.one_vs_many([[A, A], B], [[[A, B], C]]).tolist() == [nested]


def test_the_matrix_holds_what_one_against_many_says():
    algorithms = permutations(2, 70)
    algorithms[40] = algorithms[3]
    m = BehaveSim(9, clip=False)
    matrix = m.matrix(algorithms)
    for row, algorithm in enumerate(algorithms):
        assert matrix[row].tolist() == m.one_vs_many(algorithm, algorithms).tolist()
    assert matrix[3, 40] == matrix[40, 3] == 1.0
    assert m.matrix([]).shape == (0, 0)


def test_bits_do_not_depend_on_who_else_is_compared():
    algorithms, x = permutations(3, 100), permutations(4, 1)[0]
    for m in (BehaveSim(9), BehaveSim("pair", clip=False)):
        together = m.one_vs_many(x, algorithms)
        assert together.tolist() == [m.one_vs_many(x, [algorithm])[0] for algorithm in algorithms]
        assert together.tolist() == [m.between(x, algorithm) for algorithm in algorithms]


class TestStochasticAlgorithms:
    @staticmethod
    def walk(drift):
        def record(rng):
            return Trajectory.vectors(np.cumsum(rng.normal(drift, 1.0, (12, 1)), axis=0))

        return record

    def test_two_sets_of_runs_of_one_law_are_nearly_alike_and_of_two_laws_are_not(self):
        m = BehaveSim(40)
        same = m.similarity(sample(self.walk(0), seed=1), sample(self.walk(0), seed=2))
        other = m.similarity(sample(self.walk(0), seed=1), sample(self.walk(2), seed=2))
        assert same > 0.99 > 0.9 > other

    def test_the_same_runs_are_exactly_alike(self):
        runs = sample(self.walk(0), samples=4)
        assert BehaveSim(40).similarity(runs, Samples(runs.runs)) == 1.0
        assert BehaveSim(40).one_vs_many([runs], [[runs]]).tolist() == [1.0]

    @pytest.mark.parametrize("measure", ["dtw", "erp", "mean"])
    def test_runs_that_do_not_differ_are_one_deterministic_run(self, measure):
        m = BehaveSim(6, measure)
        assert m.similarity(Samples([A] * 3), Samples([B] * 2)) == pytest.approx(m.similarity(A, B), abs=1e-12)
        assert m.similarity(Samples([A]), C) == m.similarity(A, C)

    def test_a_run_that_has_ended_stays_in_its_last_state(self):
        held = Trajectory.sequences([[1], [2], [2]])
        ended = Samples([Trajectory.sequences([[1], [2]]), held])
        assert BehaveSim(1).similarity(ended, Samples([held, held])) == 1.0

    def test_a_fixed_seed_gives_one_reproducible_trajectory(self):
        assert fixed_seed(self.walk(1), seed=3) == fixed_seed(self.walk(1), seed=3)
        assert sample(self.walk(1), samples=2).runs[0] != sample(self.walk(1), samples=2).runs[1]

    def test_cosine_of_samples_is_refused(self):
        with pytest.raises(TrajectoryError, match="not defined for samples"):
            BehaveSim(1, "cosine").similarity(Samples([P, P]), Samples([Q]))

    def test_the_same_runs_are_kept_once(self):
        assert len(Archive([[Samples([A, B])], [Samples([A, B])], [Samples([B, A])]]).columns[0].distinct) == 2

    def test_samples_of_no_run_or_of_two_kinds_are_refused(self):
        with pytest.raises(TrajectoryError, match="got none"):
            Samples([])
        with pytest.raises(TrajectoryError, match="prefixes and vectors"):
            Samples([A, P])

    def test_samples_of_what_is_no_trajectory_are_refused(self):
        with pytest.raises(TrajectoryError, match="samples are made of trajectories; got int 1"):
            Samples([1])


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        (lambda m: m.similarity(A, P), "one kind; got prefixes and vectors"),
        (lambda m: m.one_vs_many([A], [[P]]), "one kind; got prefixes and vectors"),
        (lambda m: m.similarity(P, Trajectory.vectors([[1.0]])), "same dimensions; got 1 and 2"),
        (lambda m: m.one_vs_many([P], [[Trajectory.vectors([[1.0]])]]), "same dimensions"),
        (lambda m: m.between([A, B], [A]), "2 and 1 instances"),
        (lambda m: m.one_vs_many([A, B], [[A]]), "1 and 2 instances"),
        (lambda m: m.between([[A, B]], [[A]]), "starting points"),
        (lambda m: m.between([], []), "a trajectory for every instance"),
        (lambda m: m.between(A, B), "got a single one"),
        (lambda m: m.similarity(1, None), r"expected a Trajectory, as .* makes, or Samples; got int 1"),
        (lambda m: m.similarity(A, None), "got NoneType None"),
        (lambda m: m.similarity(A, A.data), r"got ndarray array\(\[0, 1, 2, 3\]"),
        (lambda m: m.between(1, None), "made of trajectories, one for each instance; got int 1"),
        (lambda m: m.between([A], [None]), "made of Trajectory or Samples; got NoneType None"),
        (lambda m: m.between(["tour"], [A]), "made of Trajectory or Samples; got str 'tour'"),
        (lambda m: m.one_vs_many(None, [[A]]), "made of trajectories, one for each instance; got NoneType None"),
        (lambda m: m.one_vs_many(None, Archive()), "made of trajectories, one for each instance; got NoneType None"),
        (lambda m: m.one_vs_many([A], 5), "an archive is made of algorithms, a sequence of them; got int 5"),
        (lambda m: m.one_vs_many([A], A), "an archive is made of algorithms, a sequence of them; got Trajectory <"),
        (lambda m: m.matrix(None), "an archive is made of algorithms, a sequence of them; got NoneType None"),
        (lambda m: m.matrix([A, B]), "got a single one"),
        (lambda m: Archive(7), "an archive is made of algorithms, a sequence of them; got int 7"),
        (lambda m: Archive().append(7), "made of trajectories, one for each instance; got int 7"),
        (lambda m: Archive(["x" * 99]), r"got str 'xxx\w*…"),
        (lambda m: m.between([[0, 1]], [[0, 1]]), r"expected a Trajectory.*; got int 0"),
        (lambda m: m.rows([[A]], 0), "size must be an integer, 1 or more; got 0"),
        (lambda m: m.rows([[A]], 1.5), "size must be an integer, 1 or more; got 1.5"),
        (lambda m: m.nearest([[A], [B]], -1), "count must be an integer, 0 or more; got -1"),
        (lambda m: m.nearest([[A], [B]], True), "count must be an integer, 0 or more; got True"),
        (lambda m: Archive([[A]]).take([1]), "an archive of 1 algorithms has no row 1"),
        (lambda m: Archive([[A]]).take([-1]), "an archive of 1 algorithms has no row -1"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_reason(compare, message):
    with pytest.raises(TrajectoryError, match=message):
        compare(BehaveSim(100))


@pytest.mark.parametrize(
    ("x", "y", "measure"),
    [
        (A, C, BehaveSim(4)),
        (A, B, BehaveSim(1)),
        (A, C, BehaveSim(4, "erp")),
        (A, C, BehaveSim(4, skip=1)),
        (P, Trajectory.vectors([[9.0, 9.0]]), BehaveSim(4)),
        (Trajectory.sequences([[1, 2, 3]]), Trajectory.sequences([[4]]), BehaveSim(2)),
        (Trajectory.sets([[1, 2, 3]]), Trajectory.sets([[4]]), BehaveSim(2)),
        (Trajectory.vectors([[1e308]]), Trajectory.vectors([[-1e308]]), BehaveSim(1)),
    ],
)
def test_a_distance_outside_the_normaliser_is_refused_one_by_one_and_against_many(x, y, measure):
    with pytest.raises(TrajectoryError, match="apart, more than the task"):
        measure.similarity(x, y)
    with pytest.raises(TrajectoryError, match="apart, more than the task"):
        measure.one_vs_many([x], Archive([[x], [y]]))
    with pytest.raises(TrajectoryError, match="apart, more than the task"):
        measure.check_algorithm([x], Archive([[x], [y]]))


def test_what_cannot_be_compared_is_refused_without_comparing_it(monkeypatch):
    monkeypatch.setattr(BehaveSim, "_against", lambda *_: pytest.fail("no distance can be too great"))
    archive = Archive([[A], [B]])
    BehaveSim(6).check_algorithm([C], archive)
    BehaveSim("pair").check_algorithm([C], archive)
    for algorithm, message in (([A, B], "1 and 2 instances"), ([P], "of one kind"), ([[A, B]], "starting points")):
        with pytest.raises(TrajectoryError, match=message):
            BehaveSim(6).check_algorithm(algorithm, archive)


@pytest.mark.parametrize("length", [2**16, 70_000])
def test_trajectories_too_long_for_the_kernels_are_compared_all_the_same(length):
    x, y = Trajectory.prefixes(np.zeros(length, int)), Trajectory.prefixes([1, 1])
    m = BehaveSim(length, clip=False)
    assert m.one_vs_many([y], [[x]]).tolist() == m.one_vs_many([x], [[y]]).tolist() == [m.similarity(x, y)]
    assert m.similarity(x, y) == 1 - sum([*range(1, length), length]) / (2 * length)


def test_a_distance_above_the_normaliser_is_found_in_trajectories_too_long_for_the_kernels():
    x, y = Trajectory.prefixes(np.zeros(70_000, int)), Trajectory.prefixes([0, 1])
    with pytest.raises(TrajectoryError, match="two states are 69999 apart"):
        BehaveSim(60_000).similarity(x, y)


def test_a_normaliser_of_one_less_than_the_length_does_where_trajectories_begin_alike():
    tours = [[Trajectory.prefixes([0, *tour])] for tour in (range(1, 9), range(8, 0, -1), range(11, 19))]
    assert BehaveSim(8).one_vs_many(tours[0], tours).tolist() == [BehaveSim(8).between(tours[0], y) for y in tours]
    with pytest.raises(TrajectoryError, match="two states are 9 apart"):
        BehaveSim(8).one_vs_many(tours[0], [[Trajectory.prefixes(range(10, 19))]])


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        (lambda: BehaveSim("pair").similarity(P, Q), "no pairwise normaliser"),
        (lambda: BehaveSim(1, "cosine").similarity(A, B), "needs vectors; got prefixes"),
        (lambda: BehaveSim(1, "cosine").similarity(P, Trajectory.vectors([[1.0, 1.0]])), "needs two states"),
        (lambda: BehaveSim(1, "cosine").similarity(FAR, NEAR), "too long for floating point; rescale the vectors"),
        (lambda: BehaveSim(1, "cosine", distance=math.dist), "cosine' compares directions and takes no distance"),
        (lambda: BehaveSim(9, "erp", gap=(1.0,)).similarity(P, Q), "2 dimensions; got 1"),
        (lambda: BehaveSim(0), "positive number"),
        (lambda: BehaveSim(math.nan), "positive number"),
        (lambda: BehaveSim("longest"), "positive number"),
        (lambda: BehaveSim(1, "lcs"), "one of dtw, erp, mean, cosine; got 'lcs'"),
        (lambda: BehaveSim(1, truncate=1.5), "proportion from 0 to 1"),
        (lambda: BehaveSim(1, skip=-1), "skip must be an integer, 0 or more; got -1"),
        (lambda: BehaveSim(1e-101), "from 1e-100 to 1e.100"),
        (lambda: BehaveSim(math.inf), "from 1e-100 to 1e.100"),
        (lambda: BehaveSim(1, skip=0.5), "0 or more"),
        (lambda: BehaveSim(1, clip="no"), "clip must be True or False; got 'no'"),
        (lambda: BehaveSim(1, strict=None), "strict must be True or False; got None"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_their_reason(compare, message):
    with pytest.raises(TrajectoryError, match=message):
        compare()


def walks(count: int) -> list[list[Trajectory]]:
    """Algorithms on two instances, some of them copies."""
    rng = np.random.default_rng(3)
    return [[Trajectory.prefixes(np.random.default_rng(k).permutation(6)) for _ in range(2)]
            for k in rng.integers(0, count // 2, count).tolist()]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 20, 50])
def test_the_rows_of_a_matrix_one_below_the_other_are_the_matrix(size: int) -> None:
    measure, algorithms = BehaveSim(6.0), walks(20)
    blocks = list(measure.rows(algorithms, size))
    assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert np.array_equal(np.concatenate(blocks), measure.matrix(algorithms))
    assert list(measure.rows([])) == []


def test_the_nearest_are_the_others_in_order_of_similarity_and_then_of_arrival() -> None:
    measure, algorithms = BehaveSim(6.0), walks(20)
    matrix = measure.matrix(algorithms)
    found, sims = measure.nearest(algorithms, 3)
    for row in range(20):
        others = sorted((other for other in range(20) if other != row), key=lambda other: (-matrix[row, other], other))
        assert found[row].tolist() == others[:3]
        assert sims[row].tolist() == matrix[row, others[:3]].tolist()
    assert measure.nearest(algorithms, 99)[0].shape == (20, 19)
    assert measure.nearest([], 3)[0].shape == (0, 0)
