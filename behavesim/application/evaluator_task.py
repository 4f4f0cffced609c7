"""Writes the task file for an evaluator and a first program that a person names; runs load it as any other."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from behavesim.application.repository import CheckedOut, WantedRepository, checked_out
from behavesim.base.errors import UsageError
from behavesim.base.text import read_text_file, storable
from behavesim.evaluators.description import describe_evaluator
from behavesim.evaluators.detection import (
    Configuration,
    convention_of,
    most_thresholds,
    read_configuration,
    takes_number,
)
from behavesim.evaluators.needs import environment_for, root_of
from behavesim.evaluators.scores import averaged, silent_failure
from behavesim.evaluators.templates import (
    BY_FILES,
    Description,
    describe_by_files,
    metric_of_codeevolve,
    settings_of_reevo,
)
from behavesim.sandbox.limits import Limits
from behavesim.state.events import Evaluated
from behavesim.task.evaluated import (
    JUDGED_APART,
    MADE,
    Convention,
    Edits,
    EvaluatorFile,
    first_program,
    without_surroundings,
)

# Names of evaluators' files, without suffix, that say nothing of the problem: the task then has their folder's name.
COMMONPLACE = ("evaluator", "evaluate", "eval", "problem", "specification")
# Names of first programs, without suffix, as OpenEvolve's and ShinkaEvolve's examples call them.
FIRST_PROGRAMS = ("initial_program", "initial")
# For each convention, how a message on the terminal names it: an evaluator "is called as …".
KINDS: Mapping[Convention, str] = {
    "openevolve": "OpenEvolve calls evaluators",
    "shinka": "ShinkaEvolve calls evaluators",
    "llm4ad": "LLM4AD calls evaluations",
    "eoh": "EoH calls problems",
    "command": "a command",
    "gepa": "GEPA calls evaluators",
    "algotune": "AlgoTune calls tasks",
    "heurigym": "HeuriGym calls evaluators",
    "gigaevo": "GigaEvo calls validators",
    "codeevolve": "CodeEvolve calls evaluators",
    "algodisco": "algodisco calls evaluators",
    "funsearch": "FunSearch runs specifications",
    "levi": "LEVI calls score functions",
    "llamea": "LLaMEA calls evaluators",
    "reevo": "ReEvo runs scripts",
}
# For each convention, the shape by which an evaluator is found to follow it, and an example of the options; the last is
# a command, as karpathy/autoresearch has it.
SHAPES: Mapping[str, tuple[str, str]] = {
    "openevolve": (
        "a file with `evaluate(program_path)`, or `evaluate_stage1` to 3",
        "--evaluator evaluator.py --program initial_program.py",
    ),
    "shinka": (
        "a script with the options --program_path and --results_dir",
        "--evaluator evaluate.py --program initial.py",
    ),
    "llm4ad": (
        "a class with `evaluate_program(program_str, callable_func)`",
        "--evaluator evaluation.py:OBPEvaluation",
    ),
    "eoh": ("a class derived from `BaseProblem`, or in the package `eoh`", "--evaluator problem.py:Problem"),
    "gepa": (
        "a file with a function whose first parameter is `candidate`",
        "--evaluator evaluator.py --program seed.py",
    ),
    "algotune": (
        "a class with `generate_problem`, `solve` and `is_solution`",
        "--evaluator task.py --program solver.py",
    ),
    "heurigym": (
        "a file with `evaluate(input_file, output_file)` beside a verifier.py",
        "--evaluator program/evaluator.py --program solver.py",
    ),
    "gigaevo": (
        "a file with `validate(answer)`, where the program has `entrypoint`",
        "--evaluator validate.py --program initial_programs/first.py",
    ),
    "codeevolve": (
        "a file with `evaluate(program_path, results_path)`, which writes JSON",
        "--evaluator evaluate.py --program src/init_program.py",
    ),
    "algodisco": (
        "a class with `evaluate_program(program_str)` alone, as BehaveSim's authors have it",
        "--evaluator tasks/traveling_salesman/evaluator.py",
    ),
    "funsearch": ("a file with the marks `@funsearch.run` and `@funsearch.evolve`", "--evaluator specification.py"),
    "levi": ("a file with `score_fn(function)` or `score_fn(function, inputs)`", "--evaluator problem.py"),
    "llamea": (
        "a file with `evaluate(solution, explogger)`, which calls `solution.set_scores`",
        "--evaluator evaluate.py --program first.py",
    ),
    "reevo": ("a script that imports `gpt` and prints a number last", "--evaluator problems/tsp_aco/eval.py"),
    "command": (
        "a command with {program}, which prints a number or JSON last",
        "--evaluator command:'./judge.sh {program}' --program initial.cpp",
    ),
    "autoresearch": (
        "a command whose output has lines `name: number`, one of which --metric names",
        "--evaluator command:'PYTHONPATH=. python {program}' --program train.py --metric val_bpb --minimise",
    ),
}
# Conventions whose classes are asked for a first program.
_CLASSES = ("llm4ad", "eoh")
# Values in a configuration that are settings of the run and no part of its task.
_SETTINGS = ("seed",)
# Largest number of ignored keys of a configuration that a message names.
_MOST_NAMED = 6


# Most lines of a first program that a model writes again in full. Of a longer one most lines would be paid for again in
# each reply, and copied with the mistakes that a copy may have; edits name the lines that change.
LONGEST_IN_FULL = 60


@dataclass(frozen=True)
class Wanted:
    """What a person said of an evaluator; `program` is None for a class's own template, or the one file beside it.

    `configuration` is a config.yaml; if None, one beside an evaluator of OpenEvolve's kind is read, if there is one. If
    `edits` is None, the configuration decides; if that says nothing, the first program's length does. `is_minimised`
    says that lower scores are better; those of EoH's problems always are.
    `best_known` is the best score known; None leaves it to the configuration. `bound` and `metric` are as in
    `EvaluatorFile`. A `repository` brings its own evaluator and program, which are "" and None then.
    """

    evaluator: str
    program: Path | None = None
    configuration: Path | None = None
    edits: Edits | None = None
    is_minimised: bool = False
    best_known: float | None = None
    bound: float | None = None
    metric: str = ""
    repository: WantedRepository | None = None


@dataclass(frozen=True)
class Made:
    """A task file's path, or a task's name, and the settings that the evaluator's configuration suggests, by name."""

    path: Path
    suggested: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def task_file(
    wanted: Wanted, runs: Path, tell: Callable[[str], None], allow_weak_isolation: bool = False
) -> Iterator[Made]:
    """Write the task's file into a folder below `runs`, under a name that has the hash of its content; yield it.

    `tell` gets a line for what a person may want to know. A class evaluator is asked in the sandbox. If no run in
    `runs` has the task when the block ends, such as after an error, files that were new are removed. Raises UsageError
    if the evaluator, program or configuration cannot be used, TaskError if the class cannot be loaded.
    """
    with ExitStack() as stack:
        found = None
        if wanted.repository is not None:
            found = stack.enter_context(checked_out(wanted.repository, runs, tell))
            evaluator = f"command:{found.evaluator(wanted.repository.command)}"
            wanted = replace(wanted, evaluator=evaluator, program=found.program)
        yield stack.enter_context(_task_file(wanted, runs, tell, allow_weak_isolation, found))


@contextmanager
def _task_file(
    wanted: Wanted, runs: Path, tell: Callable[[str], None], allow_weak_isolation: bool, repository: CheckedOut | None
) -> Iterator[Made]:
    """Write the task's file and yield it, as `task_file` says; `repository` lies ready if that is what was wanted."""
    convention, place = convention_of(wanted.evaluator)
    if wanted.program is None and (beside := _program_beside(convention, place)):
        tell(f"the first program is {beside.name}, which stands beside it; --program names another")
        wanted = replace(wanted, program=beside)
    if convention == "codeevolve" and not wanted.metric and (metric := metric_of_codeevolve(Path(place))):
        tell(f"the score is {metric}, as the project's configurations say; --metric names another")
        wanted = replace(wanted, metric=metric)
    known = _configuration(wanted, convention, place, tell)
    file = _describe_task(wanted, convention, place, known, tell)
    if repository is not None and wanted.repository is not None:
        name, commit = repository.name, repository.repository.commit
        file = replace(file, name=name, description=repository.description, repository=repository.repository)
        file = replace(file, root="", runs_in=str(repository.folder))
        tell(f"each evaluation runs `{wanted.repository.command}` in a copy of commit {commit[:12]}")
        tell("its scores are self-reported")
    else:
        whose = "trusted: it judges answers where no program runs" if convention in JUDGED_APART else "self-reported"
        tell(f"{wanted.evaluator} is called as {KINDS[convention]}; its scores are {whose}")
    with _written_files(runs) as write:
        if convention in _CLASSES:
            said = asyncio.run(describe_evaluator(place, allow_weak_isolation, file.root, file.environment))
            file = _add_description(file, said, write)
        elif convention in BY_FILES:
            first = "" if wanted.program is None else first_program(wanted.program)
            file = _add_description(file, describe_by_files(convention, place, first), write)
        text = file.to_toml()
        if text != storable(text):
            holds = "a path or the command holds a byte that is no UTF-8 text"
            raise UsageError(f"{holds}, which the task's file could not give back; rename it")
        path = write(f"{file.name}-{_hash(text)}.toml", text)
        yield Made(path, {name: value for name, value in known.items() if name in _SETTINGS})


def _program_beside(convention: Convention, place: str) -> Path | None:
    """Return the one file beside an evaluator's that is called as first programs are; None if there is not just one."""
    if convention in (*_CLASSES, *BY_FILES, "command"):  # these have a template, or no folder of their own
        return None
    here = Path(place).parent  # SkyDiscover has a folder `evaluator` beside the program
    for folder in [here, here.parent] if here.name in COMMONPLACE else [here]:
        found = [path for path in folder.iterdir() if path.is_file() and path.stem in FIRST_PROGRAMS]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _describe_task(
    wanted: Wanted, convention: Convention, place: str, known: Mapping[str, Any], tell: Callable[[str], None]
) -> EvaluatorFile:
    # `known` are the configuration's values by name.
    if wanted.program is None and convention not in (*_CLASSES, *BY_FILES):
        raise UsageError("--evaluator needs the program to start from; add --program FILE, or --program DIR")
    if wanted.program is not None and not wanted.program.exists():
        raise UsageError(f"there is no program {wanted.program}; name a file, or a folder of files, with --program")
    if wanted.metric and convention in (*_CLASSES, "algodisco"):
        raise UsageError("--metric chooses among several numbers, and a class gives one; leave it out")
    values = {name: value for name, value in known.items() if name not in _SETTINGS}
    if wanted.best_known is not None:
        values["best_known"] = wanted.best_known
    if wanted.edits is not None:
        values["edits"] = wanted.edits
    elif "edits" not in values and wanted.program is not None and convention not in (*_CLASSES, *BY_FILES):
        # decided once, for the file: a run goes on as it began, however long its programs become
        length = first_program(wanted.program).count("\n")
        values["edits"] = "diff" if length > LONGEST_IN_FULL else "full"
    is_minimised = wanted.is_minimised or convention in ("eoh", "heurigym")
    if convention == "reevo":
        is_minimised = settings_of_reevo(Path(place)).get("obj_type", "min") == "min"
    scripts = [] if wanted.repository else _scripts(convention, place)
    root = None if wanted.repository else _root(convention, place, scripts)
    if root:
        tell(f"imports are looked up in {root}, too, which programs can read")
    environment, secret = environment_for(scripts, [*{script.parent for script in scripts}, *([root] if root else [])])
    if environment:
        tell(f"it reads {', '.join(environment)} from the environment: kept with the task, and passed on")
    if secret:
        tell(f"it reads {', '.join(secret)} from the environment: not passed on, as programs could read it")
    file = EvaluatorFile(
        convention,
        place,
        "" if wanted.program is None else str(wanted.program.resolve()),
        name=_name(convention, place),
        direction="minimise" if is_minimised else "maximise",
        bound=wanted.bound,
        metric=wanted.metric,
        root=str(root or ""),
        numbered=takes_number(convention, place, Path.cwd()),
        runs_in=str(Path.cwd()) if convention == "command" else "",
        environment=environment,
        **values,
    )
    if file.numbered:
        tell("the evaluator takes an instance's number: at the end, the best programs are compared on fresh instances")
    if wanted.repository is None and (convention == "command" or place.partition(":")[0].endswith(".py")):
        _refuse_wide(file.readable)
    return file


def _add_description(file: EvaluatorFile, said: Description, write: Callable[[str, str], Path]) -> EvaluatorFile:
    # If there is no first program, `write` writes the evaluator's own.
    program = file.program
    if not program and not said.template.strip():
        first = f", with a first `{said.entry_point}`" if said.entry_point else ""
        raise UsageError(f"{file.name} has no template program; add --program FILE{first}")
    if not program:  # in a folder of its own, which is all that an installed evaluator and its programs can read
        program = str(write(f"{file.name}-{_hash(said.template)}/template.py", said.template))
    values = {**vars(file), "program": program, "entry_point": said.entry_point}
    return EvaluatorFile(**{**values, "description": file.description or said.description})


def understanding(file: EvaluatorFile, first: Evaluated, behaviour: str, limits: Limits) -> dict[str, str]:
    """Return how an evaluator was understood, as facts by name; `first` is the outcome of its first program.

    `behaviour` says by what programs are compared. What is ignored of a configuration was told when the task's file was
    made.
    """
    metrics = without_surroundings(first.metrics)
    mean = averaged(metrics, file.metric) if file.convention == "openevolve" else ()
    only = f"the mean of {', '.join(mean)}; --metric NAME chooses one" if mean else "the only number that can be one"
    known = (name for name in ("combined_score", "score") if metrics.get(name) == first.score)
    score = file.metric or next(known, only)
    numbers = (
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in metrics.items()
    )
    stages = " and ".join(
        f"{needed:g} after stage {stage}" for stage, needed in enumerate(file.thresholds, 1) if math.isfinite(needed)
    )
    stopped = "below" if file.direction == "maximise" else "above"
    facts = {
        "evaluator": f"{file.evaluator}, called as {KINDS[file.convention]}",
        "first program": f"{file.program}, score {first.score:.6g}",
        "doubt": silent_failure(first.score, first.metrics, first.feedback),
        "score": f"{score}; {'lower' if file.direction == 'minimise' else 'higher'} is better",
        "its numbers": ", ".join(numbers),
        "stages": f"{stages}; a program {stopped} keeps the score it has" if stages else "",
        "best known": "" if file.best_known is None else f"{file.best_known:g}",
        "bound": "" if file.bound is None else f"{file.bound:g}",
        "behaviour": behaviour,
        "fresh instances": "by number: at the end, the best programs are compared on them" if file.numbered else "",
        "limits": limits.in_words,
        "can be read": f"{file.readable}, without runs",
        "replies": "SEARCH/REPLACE edits" if file.edits == "diff" else "whole programs",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _scripts(convention: Convention, place: str) -> list[Path]:
    """Return the Python files of an evaluator that are known before it runs; none of an installed one."""
    if convention == "command":
        words = (Path(word) for word in re.findall(r"[\w./-]+\.py\b", place))
        return [word.resolve() for word in words if word.is_file()]
    path = Path(place.partition(":")[0])
    return [path] if path.suffix == ".py" else []


def _root(convention: Convention, place: str, scripts: Sequence[Path]) -> Path | None:
    """Return the folder above an evaluator from which it imports (`root_of`); None for an installed one."""
    if convention == "command":
        return root_of(Path.cwd(), scripts)
    path = Path(place.partition(":")[0])
    if convention == "reevo":  # its settings and prompts lie there
        return path.parents[2]
    if convention == "heurigym" and not (path.parent / "dataset").is_dir():  # its data lie one folder up
        return path.parent.parent
    return root_of(path.parent, scripts) if scripts else None


def _refuse_wide(folder: Path) -> None:
    # Programs can read all of the evaluator's folder, and keys lie in the home folder.
    home, shared = Path.home().resolve(), Path(tempfile.gettempdir()).resolve()
    if any(folder.resolve() in (place, *place.parents) for place in (home, shared)):
        raise UsageError(
            f"programs could read all of {folder}, as they can read the evaluator's folder; "
            "move the evaluator and what it needs to a folder of their own"
        )


def _name(convention: Convention, place: str) -> str:
    """Return the name of the class, the evaluator's file or its folder, or for a command the current folder."""
    if convention == "command":
        name = Path.cwd().name
    elif convention in _CLASSES:
        name = place.rpartition(":")[2]
    else:
        path = Path(place.partition(":")[0])
        name = next(
            (each for each in (path.stem, *(above.name for above in path.parents)) if each not in COMMONPLACE), ""
        )
    return re.sub(r"[^\w.+-]+", "-", name).strip(".+-") or "evaluator"


def _configuration(
    wanted: Wanted, convention: Convention, place: str, tell: Callable[[str], None]
) -> Mapping[str, Any]:
    """Return the configuration's values by name, and tell in a line which those are and which keys are ignored."""
    # Without a file nothing is told; the values are OpenEvolve's defaults for its convention, and none for the others.
    path = wanted.configuration
    if path is None and convention == "openevolve":
        beside = (Path(place).parent / f"config.{suffix}" for suffix in ("yaml", "yml"))
        path = next((each for each in beside if each.is_file()), None)
    if path is None:
        # that project's own defaults: an evaluator in stages is run in stages
        return Configuration.usual(most_thresholds(convention, place), wanted.is_minimised).values
    found = read_configuration(path, most_thresholds(convention, place), wanted.is_minimised)
    used = ", ".join(f"{name} {_short(value)}" for name, value in found.values.items())
    tell(f"{path.name}, where no option says otherwise: {used or 'nothing used'}{_ignored_in_words(found.ignored)}")
    return found.values


def _ignored_in_words(keys: Sequence[str]) -> str:
    """Return the end of a sentence that names the first _MOST_NAMED ignored keys of a configuration; "" if none is."""
    if not keys:
        return ""
    rest = len(keys) - _MOST_NAMED
    return f"; not used here: {', '.join(keys[:_MOST_NAMED])}{f' and {rest} other keys' if rest > 0 else ''}"


def _short(value: object) -> str:
    """Return a value of a configuration for a message: of a long text its length, several values with slashes."""
    if isinstance(value, str) and ("\n" in value or len(value) > 20):
        return f"of {len(value)} characters"
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)


@contextmanager
def _written_files(runs: Path) -> Iterator[Callable[[str, str], Path]]:
    # At the end, new files and folders are removed if no run's settings name the last new file.
    folder, new = (runs / MADE).resolve(), list[Path]()
    was_there = [each for each in (runs, folder) if each.exists()]

    def write(name: str, text: str) -> Path:
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or read_text_file(path, "task") != text:
                new.append(path)
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another --runs-dir") from None
        return path

    try:
        yield write
    finally:
        settings = (read_text_file(path, "settings") for path in runs.glob("*/settings.toml"))
        if new and not any(f'"{new[-1]}"' in text for text in settings):
            for path in new:
                path.unlink(missing_ok=True)
            for place in (*(path.parent for path in new), folder, runs):
                if place not in was_there and place.is_dir() and not any(place.iterdir()):
                    place.rmdir()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
