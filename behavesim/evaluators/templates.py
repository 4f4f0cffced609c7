"""Reads from an evaluator's files, without running them, the first program that they hold and what they say of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.text import parse, read_text_file
from behavesim.evaluators.detection import constants_in, last_function, marked_function
from behavesim.task.evaluated import Convention


@dataclass(frozen=True)
class Description:
    """What an evaluator says of itself: a program to start from, the name that it calls, and the task in words.

    The program is blank if it has none.
    """

    template: str
    entry_point: str
    description: str


def describe_by_files(convention: Convention, place: str, program: str = "") -> Description:
    """Return what an evaluator's files say; `place` is its file, "FILE.py:Class" for algodisco.

    `program` is the text of the first program that a person chose, "" for none. Raises UsageError if a file cannot be
    read, or does not name a function.
    """
    path = Path(place.rpartition(":")[0] if convention == "algodisco" else place)
    return _READERS[convention](path, program)


def _of_specification(path: Path, program: str) -> Description:
    """Read a specification of FunSearch's: the marked function, below the imports, is the first program."""
    text = read_text_file(path, "evaluator")
    tree = parse(text)
    evolved, scored = marked_function(text, "evolve"), marked_function(text, "run")
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = text.splitlines()[evolved.lineno - 1 : evolved.end_lineno]
    said = filter(None, (ast.get_docstring(node) for node in (tree, scored)))
    head = "\n".join(name for name in imports if name != "import funsearch")
    return Description("\n".join([head, "", "", *lines, ""]).lstrip("\n"), evolved.name, "\n\n".join(said))


def _of_levi(path: Path, program: str) -> Description:
    """Read LEVI's constants: the first program, the signature of its function, and the problem in words."""
    known = constants_in(read_text_file(path, "evaluator"))
    template, signature = (str(known.get(name) or "") for name in ("SEED_PROGRAM", "FUNCTION_SIGNATURE"))
    called = re.search(r"^def (\w+)", signature, re.MULTILINE)
    entry = called[1] if called else last_function(program or template)
    return Description(template, entry, str(known.get("PROBLEM_DESCRIPTION") or "").strip())


def _of_algodisco(path: Path, program: str) -> Description:
    """Read the first program and the task in words from problem.py, beside the evaluator."""
    beside = path.parent / "problem.py"
    known = constants_in(read_text_file(beside, "problem")) if beside.is_file() else {}
    template = str(known.get("template_program") or "")
    return Description(template, last_function(program or template), str(known.get("task_description") or ""))


def _of_reevo(path: Path, program: str) -> Description:
    """Read ReEvo's texts of a problem: the seed function, as its second version, and what is said of it."""
    prompts = path.parents[2] / "prompts" / _problem_of_reevo(path)
    seed = prompts / "seed_func.txt"
    template = read_text_file(seed, "program") if seed.is_file() else ""
    # functions have versions there: an evaluator imports the second
    template = re.sub(r"\b(def \w+)_v1\b", r"\1_v2", template)
    about = prompts / "func_desc.txt"
    said = settings_of_reevo(path).get("description", ""), read_text_file(about, "text") if about.is_file() else ""
    return Description(template, last_function(program or template), "\n".join(filter(None, said)))


def settings_of_reevo(script: Path) -> Mapping[str, str]:
    """Return the settings of ReEvo's problem whose script this is, by name; {} if its repository has none."""
    path = script.parents[2] / "cfg/problem" / f"{_problem_of_reevo(script)}.yaml"
    if not path.is_file():
        return {}
    lines = re.findall(r"^(\w+):[ \t]*(.+?)[ \t]*(?:[ \t]#.*)?$", read_text_file(path, "settings"), re.MULTILINE)
    return dict(lines)


def _problem_of_reevo(script: Path) -> str:
    return script.parent.name + ("_black_box" if script.stem.endswith("_black_box") else "")


_READERS: Mapping[Convention, Callable[[Path, str], Description]] = {
    "funsearch": _of_specification,
    "levi": _of_levi,
    "algodisco": _of_algodisco,
    "reevo": _of_reevo,
}
# Conventions whose files hold a first program, beside the classes that are asked for theirs.
BY_FILES = tuple(_READERS)
