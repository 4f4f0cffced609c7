"""What does it cost the process that searches to read replies that a grammar made to be costly?

`python -m tests.complex_replies --replies 1000` reads so many under limits of memory and CPU time. It says what the
costliest took: in this process, and in the processes with limits that it starts.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from behavesim.programs.extract import extract
from behavesim.programs.reading import REASONS, FunctionForm, Program, Request
from behavesim.task.verdict import Failure

TEMPLATE = "def pick(a, b):\n    return a\n"
MEMORY_BYTES = 600 << 20
"""Address space of the process that reads: 150 MB of it are Python's and numpy's."""
CPU_S = 900
Make = Callable[[Random, int], str]


def name(rng: Random) -> str:
    """A name; many occur again."""
    return rng.choice(("a", "b", "x", "y", f"n{rng.randrange(3000)}", "é", "_" * rng.randrange(1, 9)))


def number(rng: Random) -> str:
    """A number, now and then a huge one."""
    digits = rng.choice((1, 3, 40, 4000, 5000))
    return rng.choice(("1.5", "0x" + "f" * digits, "9" * digits, "1e999", "1j", "0b" + "1" * digits))


def expression(rng: Random, depth: int) -> str:
    """An expression nested so deep at most."""
    if depth <= 0:
        return rng.choice((name, number, lambda _: "'s'"))(rng)
    inner, other = expression(rng, depth - 1), expression(rng, rng.randrange(min(depth, 3)))
    var = name(rng)
    return rng.choice(
        (
            *(f"({inner})", f"[{inner}, {other}]", f"{{{inner}: {other}}}", f"{{*{inner}}}", f"f({inner}, *{other})"),
            *(f"g({var}={inner})", f"{var}[{inner}:{other}]", f"{inner}.{var}", f"(lambda {var}={other}: {inner})"),
            *(f"[{inner} for {var} in {other} if {var}]", f"({var} for {var} in {inner})", f"(not {inner})"),
            *(f"{{{var}: {inner} for {var} in {other}}}", f"({inner} if {other} else {var})", f"-{inner}"),
            *(f"({var} := {inner})", f"({inner} < {other} < {var})", f"{inner} ** {other}", f"(yield {inner})"),
            *(f"f'{{{var}:{{{var}}}}}{{{var}!r}}'", f"({inner} and {other} or {var})", f"(await {inner})"),
        )
    )


def pattern(rng: Random, depth: int) -> str:
    """A pattern of a match statement."""
    names = [f"c{k}" for k in range(rng.choice((1, 3, 40)))]
    row, turned = ", ".join(names), ", ".join(reversed(names))
    inner = pattern(rng, depth - 1) if depth > 0 else "_"
    many = "] | [".join([row, turned] * rng.choice((1, 8, 60)))
    return rng.choice((f"[{many}]", f"({inner})", f"[{inner}, *rest]", f"C(k={inner})", f"{{'k': {inner}}}", "0 | 1"))


def _indented(text: str) -> str:
    return "\n".join(f" {line}" for line in text.split("\n"))


def statement(rng: Random, depth: int) -> str:
    """A statement nested so deep at most."""
    if depth <= 0:
        simple = (
            "return",
            "break",
            "continue",
            "pass",
            "a",
            f"{name(rng)} = {expression(rng, 1)}",
            "global g",
            "del a",
        )
        return "\n".join([rng.choice(simple)] * rng.choice((1, 1, 2, 30)))
    body, other = _indented(statement(rng, depth - 1)), _indented(statement(rng, rng.randrange(min(depth, 2))))
    value, var = expression(rng, rng.randrange(3)), name(rng)
    tried = f"try:\n{other}\nfinally:\n{body}"
    return rng.choice(
        (
            *(f"if {value}:\n{body}\nelse:\n{other}", f"while {value}:\n{body}", f"for {var} in {value}:\n{body}"),
            *(f"with {value} as {var}:\n{body}", f"def {var}(p, *q, r={value}, **s):\n{body}", f"class {var}:\n{body}"),
            *(tried, tried, f"try:\n{body}\nfinally:\n{other}", f"try:\n{body}\nexcept {var} as e:\n{other}"),
            *(f"async def {var}():\n{body}", f"@{value}\ndef {var}():\n{body}", f"try:\n{body}\nexcept* a:\n{other}"),
            f"match {value}:\n case {pattern(rng, rng.choice((1, 3, 20)))}:\n{_indented(body)}",
        )
    )


def _chained(rng: Random, _: int) -> str:
    """One construct again and again, up to what a program may hold."""
    unit = rng.choice((".a", "[0]", "()", " + a", " and a", " if a else a", " < a", "**a", ", a", ".a().b", " @ a"))
    return f"x = a{unit * rng.randrange(20, 30_000 // len(unit))}"


def _nested(rng: Random, _: int) -> str:
    """One pair of brackets within itself, now and then never closed."""
    begin, end = rng.choice(
        (("(", ")"), ("[", "]"), ("{0: ", "}"), ("f(a=", ")"), ("(lambda: ", ")"), ("[a for a in ", "]"))
    )
    depth = rng.choice((5, 30, 90, 190, 1000))
    return f"x = {begin * depth}a{end * (depth if rng.random() < 0.7 else depth // 2)}"


def _exits(rng: Random, _: int) -> str:
    """Many ways out of a `try` with a long `finally`."""
    tries = rng.randrange(1, 12)
    begin = "".join(f"{' ' * k}try:\n" for k in range(1, tries + 1))
    inside = " " * (tries + 1)
    end = "".join(f"{' ' * k}finally:\n{' ' * k} a\n" for k in range(tries, 0, -1))
    last = "  a\n" * rng.choice((1, 100, 1500))
    return f"def f():\n{begin}{f'{inside}if a: return{chr(10)}' * rng.choice((1, 50, 600))}{end}{last}"


def _many(rng: Random, depth: int) -> str:
    """Many definitions, imports, cases or names."""
    count = rng.choice((50, 900, 2500))
    unit: Callable[[int], str] = rng.choice(
        (
            *(
                lambda k: f"def f{k}(a, b):\n    return a",
                lambda k: f"import {'a.' * (k % 60)}b",
                lambda k: f"x{k} = {k}",
            ),
            *(
                lambda k: f"class C{k}: pass",
                lambda k: f"@d{k}\ndef g(): pass",
                lambda k: f"def f{k}(a): return f{k + 1}(a)",
            ),
        )
    )
    return "\n".join(unit(k) for k in range(count))


def _dotted(rng: Random, _: int) -> str:
    return f"import {'a.' * rng.randrange(1, 14_000)}a"


CODES: Sequence[Make] = (statement, statement, statement, _chained, _nested, _exits, _many, _dotted)


def reply(rng: Random) -> str:
    """A reply with one to three programs, within fences or without, whole or damaged."""
    parts = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        depth = rng.choice((2, 5, 9, 14, 20, 40))
        code = rng.choice(CODES)(rng, depth)[:31_000]
        code = rng.choice(
            (code, f"def pick(a, b):\n    return f0\n{code}", f"def pick(a, b):\n{_indented(code)}\n    return a")
        )
        if rng.random() < 0.2:
            place = rng.randrange(len(code) + 1)
            code = (
                code[:place] + rng.choice((")", "(", " a b", "'", '"""', "\n", "\t", "\0", "finally:")) + code[place:]
            )
        parts.append(code if rng.random() < 0.15 else f"```python\n{code}\n```")
    return "\n\n".join(parts)


@dataclass(frozen=True)
class Cost:
    """What reading a reply took in this process (CPU seconds, megabytes by which its peak grew), and what it was."""

    cpu_s: float
    memory_mb: float
    outcome: str
    text: str


def costs(replies: int, seed: int) -> Iterator[Cost]:
    """What each of so many replies costs. The same seed gives the same replies."""
    for index in range(replies):
        text = reply(Random(f"{seed}-{index}"))
        before_mb, began = peak_mb(resource.RUSAGE_SELF), time.process_time()
        found = extract(FunctionForm(TEMPLATE, "pick"), Request(text, finish_reason="stop", thought=True))
        cpu_s = time.process_time() - began
        assert isinstance(found, Program) or found.reason in REASONS, found
        outcome = found.reason if isinstance(found, Failure) else "program"
        yield Cost(cpu_s, peak_mb(resource.RUSAGE_SELF) - before_mb, outcome, text)


def peak_mb(who: int) -> float:
    """The most memory that this process, or the greatest of its children, has held so far."""
    return resource.getrusage(who).ru_maxrss / 1024


def limit() -> None:
    """Bound the memory and the CPU time of this process: what exceeds them ends it."""
    limits: Mapping[int, int] = {resource.RLIMIT_AS: MEMORY_BYTES, resource.RLIMIT_CPU: CPU_S}
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="say only what became of the replies")
    arguments = parser.parse_args()
    limit()
    seen = list(costs(arguments.replies, arguments.seed))
    outcomes = Counter(each.outcome for each in seen)
    if arguments.json:
        print(json.dumps(outcomes))
        return
    times = sorted(each.cpu_s for each in seen)
    growth, children = sum(each.memory_mb for each in seen), resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(seen)} replies, the longest of {max(len(each.text) for each in seen)} characters")
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    print(f"CPU ms in this process: median {1e3 * times[len(times) // 2]:.1f}, most {1e3 * times[-1]:.1f}")
    print(f"MB in this process: {peak_mb(resource.RUSAGE_SELF):.0f}, of which {growth:.0f} for replies")
    limited_s, limited_mb = children.ru_utime + children.ru_stime, peak_mb(resource.RUSAGE_CHILDREN)
    print(f"in processes with limits: {limited_s:.0f} CPU s, {limited_mb:.0f} MB at most")


if __name__ == "__main__":
    main()
