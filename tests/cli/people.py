"""Folders as people have them: an evaluator of each convention, a first program, and a script that answers prompts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ANSWER = """#!/bin/sh
drawn=$(cksum)
drawn=$((${drawn%% *} % 256))
printf '```\\n%s\\n```\\n' 'TEXT'
"""
"""A shell takes a quarter of the time that Python takes to start, and there are hundreds of prompts."""
_DRAWN = "'\"$((drawn / 100)).$((drawn / 10 % 10))$((drawn % 10))\"'"
_POINT = """# EVOLVE-BLOCK-START
def point():
    return 1.0
# EVOLVE-BLOCK-END
"""
_OPENEVOLVE = """import importlib.util


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    x = program.point()
    return {"combined_score": 1 / (1 + (x - 1.5) ** 2), "x": x}
"""
_SHINKA = """import argparse

from shinka.core import run_shinka_eval


def main(program_path, results_dir):
    run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="point",
        num_runs=1,
        get_experiment_kwargs=lambda run: {},
        validate_fn=lambda x: (x >= 0, "x is negative"),
        aggregate_metrics_fn=lambda found: {"combined_score": -abs(found[0] - 1.5)},
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path")
    parser.add_argument("--results_dir")
    given = parser.parse_args()
    main(given.program_path, given.results_dir)
"""
_CLASS = '''class BaseProblem:
    pass


class Near(BaseProblem):
    """How far a function's value is from the sine."""

    template_program = """
def near(x: float) -> float:
    return 1.0 * x
"""
    task_description = "Return the sine of x." + " It is odd, so the sine of -x is minus the sine of x." * 4

    def evaluate_program(self, program_str, callable_func):
        return sum(abs(callable_func(k / 10) - k / 10 + (k / 10) ** 3 / 6) for k in range(20))


class Higher(Near, object):
    def evaluate_program(self, program_str, callable_func):
        return -super().evaluate_program(program_str, callable_func)
'''
_COMMAND = """import json, re, sys

text = open(sys.argv[1]).read()
x = float(re.search(r"x = ([0-9.]+);", text).group(1))
print("judging")
print(json.dumps({"score": -abs(x - 1.5), "length": len(text)}))
"""
_BLOCK = "# EVOLVE-BLOCK-START\n{}\n# EVOLVE-BLOCK-END"


@dataclass(frozen=True)
class Folder:
    """Files by name, the options that name its evaluator, and what a reply's code is, with DRAWN for a number."""

    files: dict[str, str]
    options: tuple[str, ...]
    reply: str

    def made(self, path: Path) -> tuple[str, ...]:
        """Write the files below a path; return the options that name the evaluator there and answer its prompts."""
        answer = _ANSWER.replace("TEXT", self.reply.replace("DRAWN", _DRAWN))
        for name, text in {**self.files, "answer.sh": answer}.items():
            (path / name).write_text(text)
        (path / "answer.sh").chmod(0o755)
        return (*self.options, "--proposer", f"command:{path / 'answer.sh'}")


_FUNCTION = "def {}:\n    return DRAWN"
FOLDERS = {
    "openevolve": Folder(
        {"evaluator.py": _OPENEVOLVE, "initial_program.py": _POINT},
        ("--evaluator", "evaluator.py", "--program", "initial_program.py"),
        _BLOCK.format(_FUNCTION.format("point()")),
    ),
    "shinka": Folder(
        {"evaluate.py": _SHINKA, "initial.py": _POINT},
        ("--evaluator", "evaluate.py", "--program", "initial.py"),
        _FUNCTION.format("point()"),
    ),
    "llm4ad": Folder(
        {"problem.py": _CLASS}, ("--evaluator", "problem.py:Higher"), f"{_FUNCTION.format('near(x)')} * x"
    ),
    "eoh": Folder({"problem.py": _CLASS}, ("--evaluator", "problem.py:Near"), f"{_FUNCTION.format('near(x)')} * x"),
    "command": Folder(
        {"judge.py": _COMMAND, "initial.lua": "-- EVOLVE-BLOCK-START\nx = 1;\n-- EVOLVE-BLOCK-END\n"},
        ("--evaluator", "command:python3 judge.py {program}", "--program", "initial.lua"),
        "x = DRAWN;",
    ),
}
"""A folder for each convention, by its name. Its evaluator never has the template as the best program."""
