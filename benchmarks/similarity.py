"""Measures how fast BehaveSim is beside the fastest peers, and how the time grows.

    pip install ".[bench]"
    python -m benchmarks.similarity [--rounds 7] [--growth] [--bits]

Ours and the peer take turns; the table has medians of CPU time, one thread each. Where the peer would take minutes, it
compares a sample of the pairs and its time is scaled up. Only ratios of one run mean anything: absolute times drift by
a factor of two. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import editdistance
import llvmlite.binding
import numpy as np
from dtaidistance import dtw_ndim
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from tslearn.metrics import _dtw as tslearn_dtw

from behavesim.similarity import Archive, BehaveSim
from behavesim.trajectory import Trajectory

from .harness import interleaved, lateness, repeated

CITIES, INSTANCES, ARCHIVE = 50, 5, 10_000
RNG = np.random.default_rng(2024)


def tours(count: int, instances: int, cities: int) -> list[list[Any]]:
    """Return `count` algorithms, each a random tour (a permutation of 0 … cities − 1) for each instance.

    The kernels take as long for any other tours.
    """
    return [[RNG.permutation(cities) for _ in range(instances)] for _ in range(count)]


def algorithm(arrays: list[Any]) -> list[Trajectory]:
    """Return an algorithm that BehaveSim compares: a trajectory of prefixes for each array of decisions."""
    return [Trajectory.prefixes(array) for array in arrays]


def tsp_bars(rounds: int) -> Iterator[Bar]:
    """Yield rows for one candidate against an archive of 10 000 TSP algorithms, 5 instances of 50 states each."""
    members, (x,) = tours(ARCHIVE, INSTANCES, CITIES), tours(1, INSTANCES, CITIES)
    archive, candidate = Archive(algorithm(member) for member in members), algorithm(x)
    sample = members[:40]
    texts, x_texts = [[prefixes(tour) for tour in member] for member in sample], [prefixes(tour) for tour in x]
    longer = 1.0 / np.maximum.outer(np.arange(1, CITIES + 1), np.arange(1, CITIES + 1))
    whole, pairwise = BehaveSim(CITIES, clip=False), BehaveSim("pair", clip=False)

    def peer(scale: Any) -> list[float]:
        return [
            statistics.fmean(best_peer(a, b, scale) for a, b in zip(x_texts, member, strict=True)) for member in texts
        ]

    lists = [[[tour[: i + 1].tolist() for i in range(CITIES)] for tour in y] for y in (x, members[0])]

    def as_published() -> float:
        return statistics.fmean(published(a, b, CITIES) for a, b in zip(*lists, strict=True))

    ours, ours_pair, by_peer, by_peer_pair, python = interleaved(
        rounds,
        lambda: whole.one_vs_many(candidate, archive),
        lambda: pairwise.one_vs_many(candidate, archive),
        lambda: peer(1 / CITIES),
        lambda: peer(longer),
        as_published,
    )
    scale = ARCHIVE / len(sample)
    found, found_pair = (m.one_vs_many(candidate, archive)[: len(sample)] for m in (whole, pairwise))
    error, error_pair = np.abs(found - peer(1 / CITIES)).max(), np.abs(found_pair - peer(longer)).max()
    yield Bar("TSP 10k, constant d_max, whole sums, v. rapidfuzz + tslearn", 200, 550, ours, by_peer * scale, error)
    yield Bar("TSP 10k, pairwise, f64, v. the same", 60, 150, ours_pair, by_peer_pair * scale, error_pair)
    error = abs(found[0] - as_published())
    yield Bar("TSP 10k, pairwise, f64, v. Python DTW + editdistance", 8_000, 20_000, ours_pair, python * ARCHIVE, error)


def pair_bars(rounds: int) -> Iterator[Bar]:
    """Yield rows for a single pair of trajectories of 50 states, and for one of 150 states against 10 000."""
    (a, b), m = tours(2, 1, CITIES), BehaveSim(CITIES, clip=False)
    (x,), (y,) = algorithm(a), algorithm(b)
    x_text, y_text = prefixes(a[0]), prefixes(b[0])
    ours, by_peer = interleaved(
        20 * rounds,  # of a millisecond each, between two interruptions
        repeated(lambda: m.similarity(x, y), 200),
        repeated(lambda: best_peer(x_text, y_text, 1 / CITIES), 10),
    )
    error = abs(m.similarity(x, y) - best_peer(x_text, y_text, 1 / CITIES))
    yield Bar("one pair of 50 states, v. rapidfuzz + tslearn", 15, 22, ours / 200, by_peer / 10, error)

    members, (candidate,) = tours(ARCHIVE, 1, 150), tours(1, 1, 150)
    archive, m = Archive(algorithm(member) for member in members), BehaveSim(150, clip=False)
    texts, x_text = [prefixes(member[0]) for member in members[:6]], prefixes(candidate[0])
    ours, by_peer = interleaved(
        rounds,
        lambda: m.one_vs_many(algorithm(candidate), archive),
        lambda: [best_peer(x_text, y_text, 1 / 150) for y_text in texts],
    )
    error = abs(m.one_vs_many(algorithm(candidate), archive)[0] - best_peer(x_text, texts[0], 1 / 150))
    yield Bar("150 states v. 10k, v. rapidfuzz + tslearn", 1_000, 2_200, ours, by_peer * ARCHIVE / 6, error)


def vector_bars(rounds: int) -> Iterator[Bar]:
    """Yield rows for Euclidean states: 50 of two dimensions against 4 000, and 26 of 78 dimensions against 1 000."""
    for dimensions, states, count in ((2, 50, 4000), (78, 26, 1000)):
        members = [RNG.random((states, dimensions)) for _ in range(count)]
        x, m = RNG.random((states, dimensions)), BehaveSim(dimensions**0.5, clip=False)
        archive, candidate = Archive([Trajectory.vectors(y)] for y in members), [Trajectory.vectors(x)]
        together = [x, *members[:400]]

        def peer(together: list[Any] = together) -> Any:
            block = ((0, 1), (1, len(together)))
            options = {"inner_dist": "euclidean", "compact": True, "parallel": False}
            return np.asarray(dtw_ndim.distance_matrix_fast(together, block=block, **options))

        ours, by_peer = interleaved(rounds, lambda m=m, c=candidate, a=archive: m.one_vs_many(c, a), peer)
        error = np.abs(m.one_vs_many(candidate, archive)[:400] - (1.0 - peer() / (m.unit * states))).max()
        yield Bar(f"Euclidean, {dimensions}-D, v. dtaidistance's C", 4, 7, ours, by_peer * count / 400, error)


def matrix_bar(rounds: int) -> Bar:
    """Return the row for a full matrix of 2 000 algorithms over 1 000 comparisons of one algorithm with 2 000."""
    members, (x,), m = tours(2000, INSTANCES, CITIES), tours(1, INSTANCES, CITIES), BehaveSim(CITIES)
    archive, candidate = Archive(algorithm(member) for member in members), algorithm(x)
    whole, row = interleaved(rounds, lambda: m.matrix(archive), repeated(lambda: m.one_vs_many(candidate, archive), 50))
    name = "full matrix, N = 2 000, over N / 2 one-v-2 000"
    return Bar(name, 1.5, 1.15, whole, row / 50 * 1000, is_ceiling=True)


def start_bar(rounds: int) -> Bar:
    """Return the row for a process that compares two algorithms once, over one that only imports numpy and numba.

    Numba's cache must hold the kernels already, which the bars before see to.
    """
    compare = (
        "from behavesim.trajectory import Trajectory as T; from behavesim.similarity import BehaveSim; "
        "BehaveSim(9).one_vs_many([T.prefixes([1, 2])], [[T.prefixes([2, 1])]])"
    )

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    ours, imports = interleaved(rounds, lambda: run(compare), lambda: run("import numpy, numba"))
    name = "process that compares once, over `import numpy, numba`"
    return Bar(name, 3.5, 2.3, ours, imports, is_ceiling=True)


async def longest_block(rounds: int) -> float:
    """Return by how many seconds a sleep of 1 ms on the event loop was late at most.

    Meanwhile a thread compares one candidate with 10 000 algorithms, `rounds` times.
    """
    archive, (x,) = (
        Archive(algorithm(member) for member in tours(ARCHIVE, INSTANCES, CITIES)),
        tours(1, INSTANCES, CITIES),
    )
    m, candidate = BehaveSim(CITIES, clip=False), algorithm(x)
    m.one_vs_many(candidate, archive)

    async def compare() -> None:
        for _ in range(rounds):
            await asyncio.to_thread(m.one_vs_many, candidate, archive)

    return max(await lateness(asyncio.create_task(compare()), 0.001))


def growth(rounds: int) -> Iterator[str]:
    """Yield the lines of two Markdown tables: CPU time by the size of the archive, and by the number of states.

    Both are on one instance. A cell is a pair of states.
    """
    yield from ("| archive (50 states) | ms | ns a member |", "|---:|---:|---:|")
    x, archive = algorithm(tours(1, 1, CITIES)[0]), Archive()
    for size in (10, 100, 1_000, 10_000, 100_000):
        for member in tours(size - len(archive), 1, CITIES):
            archive.append(algorithm(member))
        (taken,) = interleaved(rounds, repeated(lambda: BehaveSim(CITIES).one_vs_many(x, archive), 10))
        yield f"| {size:,} | {100 * taken:.3f} | {1e8 * taken / size:,.0f} |"
    yield from ("", "| states (320 members) | ms | ps a cell |", "|---:|---:|---:|")
    for states in (10, 30, 100, 300, 1_000, 3_000):
        x, archive = algorithm(tours(1, 1, states)[0]), Archive(algorithm(y) for y in tours(320, 1, states))
        m = BehaveSim(states)
        (taken,) = interleaved(rounds, lambda m=m, x=x, a=archive: m.one_vs_many(x, a))
        yield f"| {states:,} | {1e3 * taken:.3f} | {1e12 * taken / (320 * states**2):,.0f} |"


@dataclass(frozen=True)
class Bar:
    """A row of the table: CPU seconds of ours and of the peer, and two bounds, `must` and the harder `ambitious`.

    The ratio is peer / ours, and has to reach the bounds. If `is_ceiling`, it is ours / peer, and may not exceed them.
    `error` is the largest absolute difference between our similarities and the peer's.
    """

    name: str
    must: float
    ambitious: float
    ours_s: float
    peer_s: float
    error: float = 0.0
    is_ceiling: bool = False

    def row(self) -> str:
        """Return the row in Markdown: times in ms, the ratio, "yes" or "no" for each bound, and the error.

        A row with a ceiling has no error.
        """
        ratio = self.ours_s / self.peer_s if self.is_ceiling else self.peer_s / self.ours_s
        reached = [ratio <= bar if self.is_ceiling else ratio >= bar for bar in (self.must, self.ambitious)]
        sign, unit = ("≤ ", "") if self.is_ceiling else ("", "×")
        cells = (
            f"{sign}{bar:,g}{unit} {'yes' if yes else 'no'}"
            for bar, yes in zip((self.must, self.ambitious), reached, strict=True)
        )
        figures = f"{1e3 * self.ours_s:,.4g} ms | {1e3 * self.peer_s:,.4g} ms | **{ratio:,.3g}{unit}**"
        error = "" if self.is_ceiling else f"{self.error:.1e}"
        return f"| {self.name} | {figures} | {' | '.join(cells)} | {error} |"


def text(tokens: Any) -> str:
    """Return tokens, numbers of 0 or more, as a string with one character each: what rapidfuzz compares fastest.

    All characters have one width: tokens up to 255 keep their numbers, with a larger one all are moved up by 0x4E00.
    """
    first = 0x4E00 if max(tokens, default=0) > 255 else 0
    return "".join(chr(first + int(token)) for token in tokens)


def prefixes(tokens: Any) -> list[str]:
    """Return the states of a trajectory of prefixes as strings: the first token, the first two, … all."""
    return [text(tokens[: i + 1]) for i in range(len(tokens))]


def compiled_dtw(cost: Any) -> float:
    """Return the DTW distance of an (N, M) matrix of costs: the least sum of costs along a path through it.

    It is tslearn's compiled recurrence, without its checks and its search for the path.
    """
    return float(tslearn_dtw._njit_acc_matrix_from_dist_matrix(cost, np.ones(cost.shape, np.bool_))[-1, -1])


def best_peer(x: list[str], y: list[str], scale: Any) -> float:
    """Return Sim of two trajectories, given as states in strings, by rapidfuzz's edit distances and tslearn's DTW.

    `scale` is 1 / normaliser, as a number or an (N, M) array, and multiplies the distances.
    """
    cost = cdist(x, y, scorer=Levenshtein.distance, dtype=np.float64, workers=1) * scale
    return 1.0 - compiled_dtw(cost) / min(len(x), len(y))


def published(x: list[list[int]], y: list[list[int]], normaliser: float) -> float:
    """Return Sim of two trajectories as published code computes it: editdistance for each cell, a DTW in Python."""
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            distance = editdistance.eval(a, b) / normaliser
            table[i + 1, j + 1] = distance + min(table[i, j + 1], table[i + 1, j], table[i, j])
    return float(1.0 - table[-1, -1] / min(len(x), len(y)))


# Program that prints a SHA-256 of many similarities, of prefixes, sequences and vectors.
BITS = """
import hashlib
import numpy as np
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory

rng, digest = np.random.default_rng(0), hashlib.sha256()
kinds = {
    "prefixes": lambda n: Trajectory.prefixes(rng.permutation(n)),
    "sequences": lambda n: Trajectory.sequences([rng.permutation(40)[: rng.integers(0, 40)] for _ in range(n)]),
    "vectors": lambda n: Trajectory.vectors(rng.random((n, 5))),
}
for kind, draw in kinds.items():
    algorithms = [[draw(rng.integers(1, 60))] for _ in range(100)]
    for normaliser in (60, "pair") if kind != "vectors" else (60,):
        measure = BehaveSim(normaliser, clip=False)
        digest.update(measure.matrix(algorithms).tobytes())
        digest.update(np.array([measure.between(algorithms[0], other) for other in algorithms]).tobytes())
print(digest.hexdigest())
"""


def bits_compared() -> str:
    """Return a sentence that says whether results have the same bits with other instruction sets of x86-64.

    Each set has a process and an empty kernel cache of its own. Raises CalledProcessError if such a process fails.
    """
    digests = {}
    for cpu in (llvmlite.binding.get_host_cpu_name(), "x86-64-v3", "x86-64"):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
            command = [sys.executable, "-c", BITS]
            digests[cpu] = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    return f"Bits on {', '.join(digests)}: {'equal' if len(set(digests.values())) == 1 else 'DIFFERENT'}."


def machine() -> str:
    """Return on one line the date, the processor with its vector instructions, and the versions of the packages."""
    features = llvmlite.binding.get_host_cpu_features()
    widest = next((name for name in ("avx512bw", "avx2", "sse4.2", "neon") if features.get(name)), "no known vectors")
    packages = ("numpy", "numba", "rapidfuzz", "tslearn", "dtaidistance", "editdistance")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())
    cpu = f"{model} ({llvmlite.binding.get_host_cpu_name()}, {widest}), {os.cpu_count()} cores"
    return f"{time.strftime('%Y-%m-%d')}, {cpu}, Python {platform.python_version()}, {versions}"


def main() -> None:
    """Read the command line, measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default 7)")
    parser.add_argument("--bits", action="store_true", help="compare the bits of results between x86 instruction sets")
    parser.add_argument("--growth", action="store_true", help="measure the growth curves too")
    arguments = parser.parse_args()
    print(machine(), "", sep="\n")
    print(
        "| bar | ours | peer | ratio | must | ambitious | largest difference |",
        "|---|---:|---:|---:|---|---|---:|",
        sep="\n",
    )
    for bars in (tsp_bars, pair_bars, vector_bars):
        for bar in bars(arguments.rounds):
            print(bar.row(), flush=True)
    for single in (matrix_bar, start_bar):
        print(single(arguments.rounds).row(), flush=True)
    lag = asyncio.run(longest_block(50))
    print(
        f"\nLongest block of the event loop in 50 comparisons with 10 000 algorithms: {1e3 * lag:.1f} ms (bar: 20 ms)"
    )
    if arguments.bits:
        print("", bits_compared(), sep="\n", flush=True)
    if arguments.growth:
        print("", *growth(arguments.rounds), sep="\n", flush=True)


if __name__ == "__main__":
    main()
