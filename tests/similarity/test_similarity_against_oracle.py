"""The measure against a deliberately naive oracle: plain Python, every distance of two states by its definition."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.base.errors import TrajectoryError
from behavesim.similarity import Archive, BehaveSim
from behavesim.trajectory import Trajectory

MEMBERS = 8


def levenshtein(x, y):
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, start=1):
        above, row = row, [i]
        for j, b in enumerate(y, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def set_edits(x, y):
    return max(len(x), len(y)) - len(set(x) & set(y))


def euclidean(x, y):
    return math.dist(x, y)


DISTANCES = {"prefixes": levenshtein, "sequences": levenshtein, "sets": set_edits, "vectors": euclidean}


def states_of(trajectory):
    values = trajectory.values()
    return [values[: i + 1] for i in range(len(values))] if trajectory.kind == "prefixes" else values


def kept(states, truncate, skip):
    left = states[: max(1, len(states) - math.floor(truncate * len(states)))]
    return [state for i, state in enumerate(left) if i % (skip + 1) == 0 or i == len(left) - 1]


def dtw(cost):
    m, n = len(cost), len(cost[0])
    table = [[math.inf] * (n + 1) for _ in range(m + 1)]
    table[0][0] = 0
    for i, j in product(range(m), range(n)):
        table[i + 1][j + 1] = cost[i][j] + min(table[i][j], table[i][j + 1], table[i + 1][j])
    return table[m][n]


def erp(cost, x_gap, y_gap):
    m, n = len(cost), len(cost[0])
    table = [[math.inf] * (n + 1) for _ in range(m + 1)]
    for i, j in product(range(m + 1), range(n + 1)):
        ways = [0] if i == j == 0 else []
        if i:
            ways.append(table[i - 1][j] + x_gap[i - 1])
        if j:
            ways.append(table[i][j - 1] + y_gap[j - 1])
        if i and j:
            ways.append(table[i - 1][j - 1] + cost[i - 1][j - 1])
        table[i][j] = min(ways)
    return table[m][n]


def cosine(x, y):
    def turn(a, b):
        lengths = math.hypot(*a) * math.hypot(*b)
        if lengths == 0:
            return float(math.hypot(*a) == math.hypot(*b))
        return sum(p * q for p, q in zip(a, b, strict=True)) / lengths

    def steps(states):
        return [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(states)]

    turns = [turn(a, b) for a, b in zip(steps(x), steps(y), strict=False)]
    return sum(turns) / len(turns)


def oracle(left, right, m):
    x, y = (kept(states_of(trajectory), m.truncate, m.skip) for trajectory in (left, right))
    if m.measure == "cosine":
        value = cosine(x, y)
    else:
        plain = DISTANCES[left.kind]

        def distance(a, b):
            if m.normaliser != "pair":
                return plain(a, b)
            return plain(a, b) / max(len(a), len(b), 1)

        gap = [0.0] * len(x[0]) if left.kind == "vectors" else []
        if m.measure == "mean":
            total = sum(distance(a, b) for a, b in zip(x, y, strict=False))
        else:
            cost = [[distance(a, b) for b in y] for a in x]
            gaps = [[distance(a, gap) for a in states] for states in (x, y)]
            total = dtw(cost) if m.measure == "dtw" else erp(cost, *gaps)
        value = 1.0 - total / ((1.0 if m.normaliser == "pair" else m.normaliser) * min(len(x), len(y)))
    return min(1.0, max(0.0, value)) if m.clip else value


def draw_trajectory(rng, kind, longest, width):
    length = int(rng.integers(1, longest + 1))
    if kind == "prefixes":
        return Trajectory.prefixes(rng.integers(-2, width, length) * 1000)
    if kind == "vectors":
        steps = rng.integers(-1, 2, (length, 3)) if rng.random() < 0.5 else rng.normal(size=(length, 3))
        return Trajectory.vectors(np.cumsum(steps, axis=0))
    states = [rng.integers(0, width, rng.integers(0, width + 1)) for _ in range(length)]
    return Trajectory.sequences(states) if kind == "sequences" else Trajectory.sets(states)


def agrees(found, expected, m, kind):
    """Sums of whole edits have equal bits; other sums differ by rounding alone."""
    is_whole = m.normaliser != "pair" and kind != "vectors"
    return found == expected if is_whole else abs(found - expected) <= 1e-12


measures = st.builds(
    BehaveSim,
    normaliser=st.sampled_from([1000.0, 1234.5, "pair"]),
    measure=st.sampled_from(["dtw", "dtw", "erp", "mean"]),
    truncate=st.sampled_from([0.0, 0.0, 0.25, 0.5]),
    skip=st.sampled_from([0, 0, 1, 3]),
    clip=st.booleans(),
)


@pytest.mark.parametrize("kind", DISTANCES)
@given(measure=measures, seed=st.integers(0, 2**32), longest=st.integers(1, 12), width=st.integers(1, 9))
def test_every_kind_and_measure_in_batches_of_unequal_lengths(kind, measure, seed, longest, width):
    if kind == "vectors" and measure.normaliser == "pair":
        measure = BehaveSim(1000, measure.measure, measure.truncate, measure.skip, measure.clip)
    rng = np.random.default_rng(seed)
    x, *members = [draw_trajectory(rng, kind, longest, width) for _ in range(MEMBERS + 1)]
    found = measure.one_vs_many([x], [[y] for y in members])
    for y, similarity in zip(members, found, strict=True):
        assert agrees(similarity, oracle(x, y, measure), measure, kind)
        assert similarity == measure.similarity(x, y) == measure.similarity(y, x) == measure.between([x], [y])


@given(seed=st.integers(0, 2**32), clip=st.booleans(), skip=st.integers(0, 2))
def test_cosine(seed, clip, skip):
    rng = np.random.default_rng(seed)
    trajectories = [draw_trajectory(rng, "vectors", 12, 0) for _ in range(MEMBERS)]
    x, *members = [trajectory for trajectory in trajectories if len(trajectory) > 1] * 2
    measure = BehaveSim(1.0, "cosine", skip=skip, clip=clip)
    for y, similarity in zip(members, measure.one_vs_many([x], [[y] for y in members]), strict=True):
        assert similarity == pytest.approx(oracle(x, y, measure), abs=1e-12)


def prefix_table(x, y):
    """All distances of prefixes from the one table of Levenshtein, which the small cases above do not presume."""
    table = [list(range(len(y) + 1))]
    for i, a in enumerate(x, start=1):
        above, row = table[-1], [i]
        for j, b in enumerate(y, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        table.append(row)
    return [row[1:] for row in table[1:]]


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), tokens=st.sampled_from([2, 30, 3000]))
def test_longer_prefixes(seed, tokens):
    rng = np.random.default_rng(seed)
    x, *members = [rng.integers(0, tokens, length) for length in (rng.integers(1, 81), 80, 1, *rng.integers(1, 81, 9))]
    archive = Archive([[Trajectory.prefixes(y)] for y in members])
    whole = BehaveSim(200, clip=False).one_vs_many([Trajectory.prefixes(x)], archive)
    pairwise = BehaveSim("pair", clip=False).one_vs_many([Trajectory.prefixes(x)], archive)
    for y, similarity, by_pair in zip(members, whole, pairwise, strict=True):
        cost = prefix_table(x.tolist(), y.tolist())
        assert similarity == 1.0 - dtw(cost) / (200 * min(len(x), len(y)))
        ratio = [[d / max(i, j) for j, d in enumerate(row, start=1)] for i, row in enumerate(cost, start=1)]
        assert by_pair == pytest.approx(1.0 - dtw(ratio) / min(len(x), len(y)), abs=1e-12)


@pytest.mark.parametrize(("kind", "width"), [("vectors", 0), ("sequences", 40), ("sets", 40)])
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_larger_states_and_longer_runs_of_other_kinds(kind, width, seed):
    rng = np.random.default_rng(seed)
    measure = BehaveSim(200, clip=False)
    longest = 60 if kind == "vectors" else 3
    x, *members = [draw_trajectory(rng, kind, longest, width) for _ in range(12)]
    for y, similarity in zip(members, measure.one_vs_many([x], [[y] for y in members]), strict=True):
        assert agrees(similarity, oracle(x, y, measure), measure, kind)
        assert similarity == measure.similarity(x, y)


@pytest.mark.parametrize("normaliser", [3000, "pair"])
@pytest.mark.parametrize("length", [361, 362, 1200])
def test_sums_too_large_for_sixteen_bits_are_exact(length, normaliser):
    """Disjoint trajectories have the largest sum there is: every prefix is as far away as it is long."""
    x, y = Trajectory.prefixes(np.arange(length)), Trajectory.prefixes(np.arange(length, 2 * length))
    measure = BehaveSim(normaliser, clip=False)
    expected = 0.0 if normaliser == "pair" else 1.0 - length * (length + 1) / 2 / (3000 * length)
    assert measure.similarity(x, y) == pytest.approx(expected, abs=1e-12)
    assert measure.one_vs_many([x], [[y], [x]]).tolist() == [measure.similarity(x, y), 1.0]


def found_or_none(compare):
    """A similarity, or None where it is refused."""
    try:
        return float(compare())
    except TrajectoryError:
        return None


SIZES = st.sampled_from([1e-300, 1e-160, 1e-99, 1.0, 1e99, 1e101, 1e153, 1e160, 1e200, 1e307])


@given(
    measure=st.sampled_from(["dtw", "erp", "mean"]),
    strict=st.booleans(),
    clip=st.booleans(),
    unit=st.sampled_from([1e-100, 1.0, 1e100]),
    sizes=st.tuples(SIZES, SIZES),
    seed=st.integers(0, 2**32),
)
def test_vectors_of_any_size_have_the_similarity_of_the_oracle_or_none(measure, strict, clip, unit, sizes, seed):
    rng = np.random.default_rng(seed)
    x, y = (Trajectory.vectors(rng.normal(size=(rng.integers(1, 5), 2)) * size) for size in sizes)
    m = BehaveSim(unit, measure, clip=clip, strict=strict)
    found = found_or_none(lambda: m.similarity(x, y))
    assert found == found_or_none(lambda: m.one_vs_many([x], [[y]])[0])
    assert found == found_or_none(lambda: m.matrix([[x], [y]])[0, 1])
    is_refused = found_or_none(lambda: m.check_algorithm([x], Archive([[y]])) or 0.0) is None
    if found is not None:
        assert math.isclose(found, oracle(x, y, m), rel_tol=1e-9, abs_tol=1e-9)
    elif not strict:
        assert max(sizes) > 1e100, "what fits floating point is compared"
        assert is_refused or abs(x.data).max() <= 1e100, "a program that cannot be compared is refused at the door"
    else:
        far = max(math.dist(a, b) for a in [[0, 0], *x.values()] for b in y.values())
        assert max(far, *(math.dist([0, 0], a) for a in x.values())) > unit


@given(
    measure=st.sampled_from(["dtw", "erp", "mean"]),
    strict=st.booleans(),
    clip=st.booleans(),
    bad=st.sampled_from([math.nan, math.inf, -math.inf, -1.0, -1e-300, "far", "3", None, [1, 2]]),
    place=st.tuples(st.integers(1, 4), st.integers(1, 3)),
)
def test_a_distance_of_ones_own_that_is_none_is_refused_wherever_it_occurs(measure, strict, clip, bad, place):
    x, y = Trajectory.prefixes([1, 2, 3, 4]), Trajectory.prefixes([2, 1, 3])
    m = BehaveSim(9, measure, clip=clip, strict=strict, distance=lambda a, b: bad if (len(a), len(b)) == place else 0.0)
    for compare in (lambda: m.similarity(x, y), lambda: m.one_vs_many([x], [[y]]), lambda: m.matrix([[x], [y]])):
        with pytest.raises(TrajectoryError, match="`distance` must return a finite number, 0 or more; got"):
            compare()
