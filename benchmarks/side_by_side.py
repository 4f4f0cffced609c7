"""Compares what three tools ask one model about one evaluator: `python -m benchmarks.side_by_side`.

Each tool gets the same evaluator, first program and number of calls. All ask a server of ours, which passes requests on
to a model (`--url`, `--model`, the key in OPENAI_API_KEY) or answers itself: `--replies FILE.jsonl` gives recorded
replies in their order, and without either a stand-in changes one number of a program in the prompt. The peers come from
PyPI in the versions pinned here, each into an environment of its own (`--environments`).

For each tool the table has the calls, the size of a prompt and of a reply in tokens (as the model counts them, else
four characters each), prompts that say word for word what an earlier one said, prompts that show the best program so
far (from the first that was better than the given one), the best score after a third of the calls and at the end, that
best program on fresh instances (where the evaluator takes BEHAVESIM_INSTANCE), and what a SIGKILL half-way loses.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from . import side_by_side_task as task
from .harness import ProcessTree, adopt_orphans, reap
from .loop import ARRIVED_S, Server, Tool, kept_by_behavesim, kept_by_openevolve, python_of, serving

PINNED = {"openevolve": "openevolve==0.4.1", "shinka": "shinka-evolve==0.0.7"}
# Seconds that a recorded reply or one of the stand-in takes: models are slow, and a kill must find some under way.
LATENCY_S = 0.3
# Requests that each tool may have under way; few, so that a prompt can know most results.
CONNECTIONS = 2
# Fresh instances on which the best program of each tool is tried: their numbers, which no search uses.
FRESH = range(1000, 1040)
_BLOCK = re.compile(r"```(?:python|py)?\n(.*?)```", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


@dataclass
class Model(Server):
    """Passes requests on to a model, or answers them; keeps prompts, replies and tokens, which `clear` forgets."""

    upstream: str = ""
    name: str = "m"
    recorded: Sequence[str] = ()
    entry_point: str = ""
    prompts: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    tokens: list[tuple[float, float]] = field(default_factory=list)

    def clear(self) -> None:
        """Forget all requests."""
        for each in (self.prompts, self.replies, self.tokens, self.arrived, self.sent):
            each.clear()  # type: ignore[attr-defined]

    async def answer(self, request: web.Request) -> web.Response:
        """Return a chat completion."""
        asked = await request.json()
        self.arrived.append(time.monotonic())
        number, prompt = len(self.arrived) - 1, "\n\n".join(str(each["content"]) for each in asked["messages"])
        if self.upstream:
            found = await self._pass_on(asked)
        else:
            await asyncio.sleep(LATENCY_S)
            text = self.recorded[number % len(self.recorded)] if self.recorded else self._tinker(number, prompt)
            found = {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            }
        text, usage = str(found["choices"][0]["message"]["content"]), found.get("usage") or {}
        self.prompts.append(prompt)
        self.replies.append(text)
        counted = usage.get("prompt_tokens", len(prompt) / 4), usage.get("completion_tokens", len(text) / 4)
        self.tokens.append(counted)
        self.sent.append(time.monotonic())
        return web.json_response(found)

    async def _pass_on(self, asked: dict[str, object]) -> dict[str, object]:
        headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{self.upstream}/chat/completions", json={**asked, "model": self.name}, headers=headers
            ) as got,
        ):
            got.raise_for_status()
            return dict(await got.json())

    def _tinker(self, number: int, prompt: str) -> str:
        """A program of the prompt with one number changed: so what a tool shows decides what it gets."""
        rng = random.Random(number)
        shown = [block for block in _BLOCK.findall(prompt) if f"def {self.entry_point}(" in block]
        program = rng.choice(shown) if shown else task.PROGRAM
        places = list(_NUMBER.finditer(program))
        if places:
            place = rng.choice(places)
            worth = float(place[0]) * rng.lognormvariate(0, 0.5)
            program = f"{program[: place.start()]}{worth:.5f}{program[place.end() :]}"
        return f"Another weight.\n\n```python\n{program.strip()}\n```\n"


@dataclass(frozen=True)
class Problem:
    """An evaluator of OpenEvolve's form, the program to begin with, and the calls that each tool may make."""

    evaluator: Path
    program: Path
    calls: int

    @property
    def entry_point(self) -> str:
        """The name of the last function of the first program's block."""
        block = self.program.read_text().partition("EVOLVE-BLOCK-START")[2] or self.program.read_text()
        return re.findall(r"^def (\w+)\(", block, re.MULTILINE)[-1]

    def score(self, source: str, instances: Sequence[int] = ()) -> float | None:
        """Return the score of a program, or its mean over instances by number; None if it fails."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.py"
            path.write_text(source)
            scores = [self._once(path, number) for number in instances or (None,)]
        return None if None in scores else statistics.mean(score for score in scores if score is not None)

    def _once(self, path: Path, instance: int | None) -> float | None:
        said = {} if instance is None else {"BEHAVESIM_INSTANCE": str(instance)}
        code = f"import json, {self.evaluator.stem} as e; print(json.dumps(e.evaluate({str(path)!r})))"
        command = [sys.executable, "-c", code]
        run = subprocess.run(
            command, cwd=self.evaluator.parent, env={**os.environ, **said}, capture_output=True, text=True, check=False
        )
        try:
            return float(json.loads(run.stdout.splitlines()[-1])["combined_score"])
        except (LookupError, ValueError, TypeError):
            return None


def tools(problem: Problem, names: Sequence[str], environments: Path) -> list[Tool]:
    """Return the tools of these names: "behavesim", "openevolve" and "shinka"; KeyError for another."""
    return [_own(problem) if name == "behavesim" else _peer(problem, name, environments) for name in names]


def _own(problem: Problem) -> Tool:
    given = ["--evaluator", str(problem.evaluator), "--program", str(problem.program), "--proposer", "openai"]
    sized = ["--model", "m", "--connections", str(CONNECTIONS), "--workers", "2", "--name", "run"]
    start = [sys.executable, "-m", "behavesim", "run", *given, *sized]
    return Tool(
        "behavesim",
        lambda url, calls, folder: [*start, "--budget", str(calls), "--runs-dir", str(folder)],
        kept_by_behavesim,
    )


def _peer(problem: Problem, name: str, environments: Path) -> Tool:
    python = python_of(environments / PINNED[name].replace("==", "-"), PINNED[name])
    start, files = [str(python), str(task.__file__), name], [str(problem.evaluator), str(problem.program)]
    kept = {"openevolve": kept_by_openevolve, "shinka": _kept_by_shinka}[name]
    return Tool(name, lambda url, calls, folder: [*start, url, str(calls), str(CONNECTIONS), str(folder), *files], kept)


def _kept_by_shinka(folder: Path) -> int:
    """Return the number of programs in its database, without the first."""
    path = folder / "out" / "programs.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as db:
        return max(0, int(db.execute("SELECT count(*) FROM programs").fetchone()[0]) - 1)


def run_tool(command: list[str], url: str, folder: Path, model: Model, stop_at: int = 0) -> int | None:
    """Run a tool to its end, or kill it and its processes once `stop_at` replies were sent; return how many it got.

    Returns None if it failed, or ended before it could be killed.
    """
    folder.mkdir(parents=True)
    keys = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "PYTHONPATH": ""}
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(command, env={**os.environ, **keys}, stdout=log, stderr=log, cwd=folder)
        while process.poll() is None and not (stop_at and len(model.sent) >= stop_at):
            time.sleep(0.002)
        code, killed = process.poll(), time.monotonic()
        ProcessTree(process.pid).kill()
        process.wait()
    reap()
    if stop_at:  # a reply that was sent a moment before may not have arrived
        return sum(at < killed - ARRIVED_S for at in model.sent) if code is None else None
    return len(model.sent) if code == 0 else None


def row(name: str, problem: Problem, model: Model) -> list[str]:
    """Return the cells of a finished run."""
    first = best_source = problem.program.read_text()
    best, course, shown, later = problem.score(first), [], 0, 0
    for prompt, reply in zip(model.prompts, model.replies, strict=True):
        if best_source != first:
            later += 1
            shown += _shows(prompt, best_source)
        blocks = _BLOCK.findall(reply)
        score = problem.score(blocks[-1]) if blocks else None
        if score is not None and (best is None or score > best):
            best, best_source = score, blocks[-1]
        course.append(best)
    sizes = [statistics.mean(each) for each in zip(*model.tokens, strict=True)]
    repeats = len(model.prompts) - len(set(model.prompts))
    has_fresh = "BEHAVESIM_INSTANCE" in problem.evaluator.read_text()
    fresh = problem.score(best_source, FRESH) if has_fresh else None
    thirds = [course[len(course) // 3], course[-1]]
    texts = ["unknown" if each is None else f"{each:.4f}" for each in (*thirds, fresh)]
    seen = f"{shown} of {later}" if later else "–"
    return [name, str(len(course)), *(f"{each:,.0f}" for each in sizes), str(repeats), seen, *texts]


def _shows(prompt: str, program: str) -> bool:
    """Whether a prompt has a program: its lines of code, or a block that is the same but for docstrings."""
    # tools leave out comments, docstrings that say what was said before, or the marks of the block
    return _lines(program) in _lines(prompt) or _code(program) in map(_code, _BLOCK.findall(prompt))


def _lines(source: str) -> str:
    lines = (line.split("#")[0].strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line)


def _code(source: str) -> str:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def rows(problem: Problem, model: Model, compared: Sequence[Tool], folder: Path) -> Iterator[list[str]]:
    """Run each tool, then kill it half-way; yield its cells."""
    for tool in compared:
        model.clear()
        place = folder / tool.name
        if not run_tool(tool.command(model.url, problem.calls, place), model.url, place, model):
            yield [tool.name, f"failed, or asked nothing: see {place / 'log.txt'}"]
            continue
        asked = zip(model.prompts, model.replies, strict=True)
        lines = (json.dumps({"prompt": prompt, "reply": reply}) for prompt, reply in asked)
        (folder / f"{tool.name}.jsonl").write_text("\n".join(lines))
        cells = row(tool.name, problem, model)
        model.clear()
        place, half = folder / f"{tool.name}-killed", max(1, problem.calls // 2)
        arrived = run_tool(tool.command(model.url, problem.calls, place), model.url, place, model, half)
        yield [*cells, "unknown" if arrived is None else f"{max(0, arrived - tool.kept(place))} of {arrived}"]


def main() -> None:
    """Read the command line, run the tools one after another, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--evaluator", type=Path, help="an evaluator of OpenEvolve's form; default: bin packing")
    parser.add_argument("--program", type=Path, help="the first program")
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--url", default="", help="an OpenAI-compatible service, such as https://api.openai.com/v1")
    parser.add_argument("--model", default="m")
    parser.add_argument("--replies", type=Path, help="recorded replies: a JSON object with `reply` on each line")
    parser.add_argument("--tools", nargs="+", default=["behavesim", "openevolve", "shinka"])
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache/behavesim-bench")
    parser.add_argument("--folder", type=Path, help="keeps what the tools asked and wrote; default: a temporary one")
    given = parser.parse_args()
    adopt_orphans()
    recorded = [json.loads(line)["reply"] for line in given.replies.open()] if given.replies else ()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        evaluator, program = given.evaluator or folder / "evaluator.py", given.program or folder / "first.py"
        if given.evaluator is None:
            evaluator.write_text(task.EVALUATOR)
            program.write_text(task.PROGRAM)
        problem = Problem(evaluator.resolve(), program.resolve(), given.calls)
        model = Model(upstream=given.url, name=given.model, recorded=recorded, entry_point=problem.entry_point)
        print("| tool | calls | tokens asked | answered | repeats | shows the best | best after a third | at the end "
              "| fresh | lost by a kill |")  # fmt: skip
        print("|---|" + "---:|" * 9, flush=True)
        with serving(model):
            for cells in rows(problem, model, tools(problem, given.tools, given.environments), folder):
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
