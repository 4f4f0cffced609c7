"""Measures the CPU time that a run spends around its candidates, beside two other tools: `python benchmarks/loop.py`.

The same task code (`loop_parts/walks.py`), one local chat server that answers after 50 ms with a program nobody wrote
before, eight requests under way. CPU time is that of whole process trees, less what the programs themselves take in a
bare process; the tools take turns. Each peer comes from PyPI into an environment of its own (`--environments`), with
the settings that its documentation recommends for speed (stated in `loop_parts`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("loop_parts")))

import walks
from process_tree import ProcessTree, adopt_orphans, ended_children_s, reap
from server import Server, serving
from tools import Tool, tools

SAMPLE_S, LOOKS_A_WEIGHING = 0.05, 20
"""Seconds between two looks at a tool's processes, and looks between two measurements of its memory."""
# Seconds before a kill until which a reply must have been sent to count as arrived.
ARRIVED_S = 0.1
# Smallest number of candidates for which the cost in a part of the run is shown: a tenth of fewer says too little.
LEAST = 1000
# Number of candidates of the run that is killed half-way.
KILLED = 200


@dataclass(frozen=True)
class Measured:
    """One run: CPU seconds, wall time, greatest memory in MiB, and the number of requests that reached the server.

    `whole` says whether it came to its end in the time it had. Of `total_s`, the main process took `main_s` and other
    long-lived ones `helpers_s`. `at_request` has the CPU seconds so far by request number, from 1, for some requests.
    """

    whole: bool
    total_s: float
    main_s: float
    helpers_s: float
    clock_s: float
    peak_mb: float
    requests: int
    at_request: Mapping[int, float]

    def around_ms(self, first: int, last: int, own_ms: float) -> float:
        """Return the CPU ms per candidate between two requests, less the `own_ms` that its program takes."""
        return (self.at_request[last] - self.at_request[first]) / (last - first) * 1e3 - own_ms


def measured(tool: Tool, candidates: int, server: Server, folder: Path, longest_s: float) -> Measured:
    """Run a tool to its end, or kill it after `longest_s`; raises AssertionError if it fails."""
    begun, before, first = time.monotonic(), ended_children_s(), len(server.arrived)
    process = tool.start(server.url, candidates, folder)
    tree, looks = ProcessTree(process.pid), 0
    step = max(1, candidates // 20)
    awaited, marks = [1, *range(step, candidates + 1, step)], dict[int, float]()
    while process.poll() is None and time.monotonic() - begun < longest_s:
        asked = len(server.arrived) - first
        while awaited and asked >= awaited[0]:
            marks[awaited.pop(0)] = tree.total_s()
        tree.look()
        if looks % LOOKS_A_WEIGHING == 0:
            tree.weigh()
        looks += 1
        time.sleep(SAMPLE_S)
    whole = process.poll() is not None
    assert not process.returncode, f"{tool.name} failed with {process.returncode}"
    clock_s, asked = time.monotonic() - begun, len(server.arrived) - first
    tree.kill()
    process.wait()
    reap()
    helpers = sum(spent for pid, spent in tree.lasting.items() if pid != process.pid)
    spent = (ended_children_s() - before, tree.lasting.get(process.pid, 0.0), helpers)
    return Measured(whole, *spent, clock_s, tree.peak_mb, asked, marks)


def lost(tool: Tool, server: Server, folder: Path) -> tuple[int, int]:
    """Kill a run after half its replies; return how many had arrived, and how many of those its folder lacks."""
    first = len(server.sent)
    process = tool.start(server.url, KILLED, folder)
    while len(server.sent) - first < KILLED // 2 + 5 and process.poll() is None:
        time.sleep(0.002)
    killed = time.monotonic()
    ProcessTree(process.pid).kill()
    process.wait()
    reap()
    arrived = sum(at < killed - ARRIVED_S for at in server.sent[first:])
    return arrived, max(0, arrived - tool.kept(folder))


def candidates_own_ms() -> float:
    """Return the CPU ms that a program takes in this process, compiling included: the median of five means of 40."""
    rounds = []
    for turn in range(5):
        begun = time.process_time()
        for number in range(40):
            names: dict[str, object] = {}
            exec(compile(walks.program(10_000 * turn + number), "<candidate>", "exec"), names)
            walks.mean_length(names[walks.ENTRY_POINT])  # type: ignore[arg-type]
        rounds.append((time.process_time() - begun) / 40 * 1e3)
    return statistics.median(rounds)


def row(tool: str, candidates: int, run: Measured, own_ms: float) -> str:
    """Return a line of the table; for a run that did not end, its numbers so far."""
    reached = min(run.requests, candidates)
    of = f"{candidates:,}" if run.whole else f"{reached:,} of {candidates:,}"
    each_ms = 1e3 / reached
    around, main, helpers = run.total_s * each_ms - own_ms, run.main_s * each_ms, run.helpers_s * each_ms
    short = (run.total_s - run.main_s - run.helpers_s) * each_ms
    early, late = _ends(run, own_ms) if reached >= LEAST else ("–", "–")
    cells = f"{around:.1f} | {main:.1f} | {helpers:.1f} | {short:.1f} | {early} | {late}"
    beyond = run.requests - candidates if run.whole else "?"
    rest = f"{run.at_request[1]:.2f} | {reached / run.clock_s:.1f} | {run.peak_mb:.0f} | {beyond}"
    return f"| {tool} | {of} | {cells} | {rest} |"


def _ends(run: Measured, own_ms: float) -> tuple[str, str]:
    """Return the CPU ms around a candidate, as text, in the second tenth of a run and in its last fifth."""
    marks, steps = sorted(run.at_request), len(run.at_request) - 1
    spans = (steps // 10, steps // 5), (steps - steps // 5, steps)
    early, late = (run.around_ms(marks[first], marks[last], own_ms) for first, last in spans)
    return f"{early:.1f}", f"{late:.1f}"


def growth(run: Measured, own_ms: float) -> str:
    """Return a table of the CPU ms around a candidate in each twentieth of a run but the first, and its memory."""
    marks = sorted(run.at_request)[1:]
    rows = [f"| {a:,} to {b:,} | {run.around_ms(a, b, own_ms):.1f} |" for a, b in pairwise(marks)]
    return "\n".join(["| candidates | around |", "|---|---:|", *rows, f"{run.peak_mb:.0f} MB at most"])


def main() -> None:
    """Read the command line, measure the tools in turn, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--candidates", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache/behavesim-bench")
    parser.add_argument("--tools", nargs="+", default=["behavesim", "openevolve", "llm4ad"])
    parser.add_argument("--longest", type=float, default=1800, help="seconds after which a run is ended")
    parser.add_argument("--long", type=int, help="candidates of one more run of ours, to see it grow")
    parser.add_argument("--kill", action=argparse.BooleanOptionalAction, default=True, help="see what a kill loses")
    arguments = parser.parse_args()
    adopt_orphans()
    compared = tools(arguments.tools, arguments.environments)
    own_ms = candidates_own_ms()
    print(f"a candidate's own evaluation: {own_ms:.2f} CPU ms; all CPU times in ms a candidate")
    print(f"load {os.getloadavg()[0]:.1f}; around at first: the second tenth of a run, at last: its last fifth")
    print("| tool | candidates | around | main | helpers | short-lived | at first | at last "
          "| s to first request | candidates/s | MB | requests beyond |")  # fmt: skip
    print("|---|" + "---:|" * 11, flush=True)
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        for candidates in arguments.candidates:
            for tool in compared:
                place = Path(folder) / f"{tool.name}-{candidates}"
                run = measured(tool, candidates, server, place, arguments.longest)
                print(row(tool.name, candidates, run, own_ms), flush=True)
        for tool in compared if arguments.kill else ():
            arrived, gone = lost(tool, server, Path(folder) / f"{tool.name}-killed")
            print(f"{tool.name}, killed: {arrived} replies had arrived, {gone} of them lost", flush=True)
        if arguments.long:
            ours = tools(["behavesim"], arguments.environments)[0]
            run = measured(ours, arguments.long, server, Path(folder) / "long", arguments.longest)
            print(growth(run, own_ms), flush=True)
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
