"""Tasks made of an evaluator and a first program, named in a small TOML file; also programs of several files."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from behavesim.base.errors import TaskError, UsageError, nearest
from behavesim.base.text import ScoreSource, parse, read_text_file, validation_message
from behavesim.task.score import PRIVATE, Metrics
from behavesim.task.task import Direction, Objective, Solution, Split, Task
from behavesim.trajectory import AlgorithmRun

# Name of the folder, in that of the runs, for the task files that are made from a command's options.
MADE = ".evaluators"
# How an evaluator is called: as the project of that name does, or as a command. The module of this name, below
# behavesim/evaluators/conventions, has all that is known of it.
ConventionName = Literal[
    "openevolve",
    "shinka",
    "llm4ad",
    "eoh",
    "command",
    "gepa",
    "algotune",
    "heurigym",
    "gigaevo",
    "codeevolve",
    "algodisco",
    "funsearch",
    "levi",
    "llamea",
    "reevo",
]
# Conventions that separate what a program answers from what judges it: the judge runs where no program runs.
JUDGED_APART: tuple[ConventionName, ...] = ("algotune", "heurigym", "gigaevo")
# Environment variable with the number of the instance on which a numbered evaluator evaluates.
INSTANCE = "BEHAVESIM_INSTANCE"
# Number of validation instances, and of held-out ones, of a numbered evaluator; each costs an evaluation of programs.
_SPLIT_SIZE = 3
# Number of the first instance of each split; the two take turns, and an evaluator's own seeds are mostly below.
_FIRST: Mapping[str, int] = {"validation": 1000, "held-out": 1001}
# How a model writes a program: in full, or as SEARCH/REPLACE edits of one that it was shown.
Edits = Literal["full", "diff"]
# Name of the metric that holds how often the first program's functions are called in an evaluation.
CALLS_METRIC = f"{PRIVATE}.calls"
# Beginning of the names of metrics of the first program, one for each library that the sandbox has.
LIBRARY_METRIC = f"{PRIVATE}.library."
# Name of the metric that says by which fraction a score, measured twice, is better than `best_known`.
LEAPED = f"{PRIVATE}.beyond_best_known"


def without_surroundings(metrics: Metrics) -> Metrics:
    """Return metrics without those that say what surrounds the first program, which are for prompts alone."""
    return {
        name: value for name, value in metrics.items() if name != CALLS_METRIC and not name.startswith(LIBRARY_METRIC)
    }


# The source of behaviours in tasks without an evaluator: `Task.trajectory`.
TRAJECTORY = "trajectory"


@dataclass(frozen=True)
class Repository:
    """The git repository that a program of several files is of.

    `show` are the patterns of paths that may change (see `path_pattern`), `kept` the paths that may not, nor anything
    below them, though a pattern matches: symbolic links, and files that are not shown.
    """

    commit: str
    show: tuple[str, ...]
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class EvaluatorFile:
    """The content of a task's TOML file, with absolute paths.

    `evaluator` is a Python file, "FILE.py:Class", "module:Class", or a command with `{program}` for the program's path.
    `program` is the first program: a file, or a folder of files. `thresholds`, for openevolve alone, are the worst
    scores with which a program goes on from stage 1 to 2, and from 2 to 3; a worse one keeps the score of the stage
    where it stopped. Without any, only `evaluate` is called.
    `entry_point` is the name that a class evaluator calls. `runs_in` is the folder in which a command runs.
    `repository` is that of a program which is part of one; its other files lie in `runs_in` then.
    `numbered` is whether the evaluator takes the number of an instance (INSTANCE); without one it evaluates as ever.
    `root` is the folder above the evaluator's from which it imports, such as its repository; "" for none.
    `environment` holds environment variables, which evaluator and programs get.
    `best_known` is a score, None if none is known. No score can be better than `bound`: a program with a better one is
    rejected. `metric` names the number that is the score, "" for the convention's own. `timeout_s` is in CPU seconds,
    of all processes together. `budget` is the default number of programs to generate. The task has a default for an
    empty `name` or `description`.
    """

    convention: ConventionName
    evaluator: str
    program: str
    name: str = ""
    description: str = ""
    direction: Direction = "maximise"
    best_known: float | None = None
    thresholds: tuple[float, ...] = ()
    edits: Edits = "full"
    entry_point: str = ""
    runs_in: str = ""
    timeout_s: float = 300.0
    budget: int = 100
    bound: float | None = None
    metric: str = ""
    root: str = ""
    repository: Repository | None = None
    numbered: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> EvaluatorFile:
        """Return the content of a TOML file, with absolute paths; relative ones start from its folder.

        Raises UsageError if it cannot be read, TaskError if it is not TOML or a key is missing, unknown or wrong.
        """
        try:
            values = tomllib.loads(read_text_file(path, "task"))
        except tomllib.TOMLDecodeError as error:
            raise TaskError(f"{path} is no TOML: {error}") from None
        known = [each.name for each in fields(cls)]
        for name in values:
            if name not in known:
                raise TaskError(f"{path} has an unknown key {name!r}; {nearest(name, known) or ', '.join(known)}")
        for name in ("convention", "evaluator", "program"):
            if name not in values:
                raise TaskError(f"{path} has no {name!r}; write it, or let `behavesim run --evaluator` make the file")
        from pydantic import TypeAdapter, ValidationError  # imported late: the sandbox does without it

        try:
            found: EvaluatorFile = TypeAdapter(cls).validate_python(values)
        except ValidationError as error:
            raise TaskError(f"{path}: {validation_message(error)}") from None
        return found.from_folder(path.resolve().parent)

    def from_folder(self, folder: Path) -> EvaluatorFile:
        """Return the same content with `folder` before relative paths."""
        evaluator = str(folder / self.evaluator) if self.evaluator_path else self.evaluator
        runs_in = str(folder / self.runs_in) if self.convention == "command" else ""
        root = str((folder / self.root).resolve()) if self.root else ""
        return replace(self, evaluator=evaluator, program=str(folder / self.program), runs_in=runs_in, root=root)

    def to_toml(self) -> str:
        """Return the content as TOML; values equal to their default are left out."""
        import tomli_w  # imported late: few commands write a task's file

        defaults = {each.name: each.default for each in fields(self)} | {"environment": {}}
        kept = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        return tomli_w.dumps(kept, multiline_strings=True)

    @property
    def evaluator_path(self) -> Path | None:
        """The evaluator's Python file; None if it is a command or in an installed module."""
        place = self.evaluator.partition(":")[0]
        return Path(place) if self.convention != "command" and place.endswith((".py", ".txt")) else None

    @property
    def readable(self) -> Path:
        """The folder that evaluator and programs can read: `root`, or else `folder`."""
        return Path(self.root) if self.root else self.folder

    @property
    def folder(self) -> Path:
        """The folder in which the evaluator runs."""
        if self.runs_in:
            return Path(self.runs_in)
        if self.evaluator_path:
            return self.evaluator_path.parent
        program = Path(self.program)
        return program if program.is_dir() else program.parent

    @property
    def suffix(self) -> str:
        """The suffix of the first program's file, such as ".cpp"; "" for a folder of files."""
        program = Path(self.program)
        return "" if program.is_dir() else program.suffix

    def to_json(self) -> str:
        """Return the content as JSON, which `from_json` reads in another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> EvaluatorFile:
        """Return the content from what `to_json` wrote, without checks."""
        values = json.loads(text)
        repository = Repository(**values["repository"]) if values.get("repository") else None
        return cls(**{**values, "thresholds": tuple(values["thresholds"]), "repository": repository})


# Steps from this on are taken for hashes of values (31 bits); of these, one in 2 000 is smaller.
_SMALLEST_HASH = 1_000_000


class EvaluatorTask(Task):
    """A task whose evaluator scores programs in the sandbox, mostly together with them: see `score_source`.

    Its search has one instance, the evaluation as it stands. A numbered evaluator has others without end.
    """

    def __init__(self, file: EvaluatorFile, name: str) -> None:
        self.file = file
        self.name = file.name or name
        self.template = first_program(Path(file.program))
        better = "higher" if file.direction == "maximise" else "lower"
        self.description = (
            file.description or f"An evaluator runs the program and scores it. A {better} score is better."
        )
        self.suffix = file.suffix
        self.objective = Objective(file.direction, file.best_known)
        self.score_scale = 0.0  # unknown: a method takes it from the scores that it sees
        self.timeout_s = file.timeout_s
        self.budget = file.budget
        self.endless = file.numbered

    @property
    def score_source(self) -> ScoreSource:
        """Self-reported, as a program runs in one process with the evaluator and could change what that says.

        Trusted if the convention lets a process of its own judge what the program answers.
        """
        return "trusted" if self.file.convention in JUDGED_APART else "self-reported"

    @property
    def entry_point(self) -> str:
        """The name of the function or class in a program that a class evaluator calls; "" if it calls none by name."""
        return self.file.entry_point

    @property
    def calls_a_function(self) -> bool:
        """Whether the first program defines a function `entry_point`: programs are then read as functions are."""
        try:
            body = parse(self.template).body if self.entry_point else []
        except SyntaxError as error:
            raise TaskError(f"the first program {self.file.program} is no Python: {error}") from None
        return any(isinstance(node, ast.FunctionDef) and node.name == self.entry_point for node in body)

    @property
    def evaluator_hash(self) -> str:
        """The SHA-256 of the evaluator's file, of `evaluator` for a module or a command; TaskError if it is gone."""
        path = self.file.evaluator_path
        if path and not path.is_file():
            raise TaskError(
                f"the evaluator {path} is gone; put it back, or write its place into the task's .toml file: a run has "
                "its own in its folder `task`"
            )
        content = path.read_bytes() if path else self.file.evaluator.encode()
        return hashlib.sha256(content).hexdigest()

    def instances(self, split: Split) -> Sequence[Mapping[str, Any]]:
        """Return, for "search", one mapping that identifies the evaluator wherever it lies.

        For other splits: [], or of a numbered evaluator such mappings with a number.
        """
        if split != "search":
            count = _SPLIT_SIZE if self.endless and split in _FIRST else 0
            return [self.instance(split, number) for number in range(count)]
        kept = ("convention", "thresholds", "entry_point")
        chosen = {name: value for name in ("metric", "environment") if (value := getattr(self.file, name))}
        return [{"evaluator": self.evaluator_hash, **{name: getattr(self.file, name) for name in kept}, **chosen}]

    def instance(self, split: Split, number: int) -> Any:
        """Return the instance of this number; a numbered evaluator has one for every number, but in "search"."""
        if not self.endless or split == "search":
            return self.instances(split)[number]
        return {"evaluator": self.evaluator_hash, "instance": self.instance_number(split, number)}

    def instance_number(self, split: Split, number: int) -> int:
        """Return what a numbered evaluator gets as INSTANCE for the instance of this number."""
        return _FIRST[split] + 2 * number

    def solve(self, function: Callable[..., Any], instance: Any) -> Solution:
        """Raise NotImplementedError: programs are run by the evaluator."""
        raise NotImplementedError

    def score(self, instance: Any, solution: Solution) -> float:
        """Raise NotImplementedError: the score is the evaluator's."""
        raise NotImplementedError

    def trajectory(self, instance: Any, solution: Solution) -> AlgorithmRun:
        """Raise NotImplementedError: the behaviour is recorded while the evaluator runs."""
        raise NotImplementedError

    def in_words(self, instance: Any, decision: int) -> str:
        """Return a step of a recorded behaviour in words: its number, or "a value of its own" if that is a hash."""
        return str(decision) if decision < _SMALLEST_HASH else "a value of its own"


def repository_of(task: Task) -> EvaluatorFile | None:
    """Return the file of a task whose programs are of a git repository; None for any other task."""
    return task.file if isinstance(task, EvaluatorTask) and task.file.repository is not None else None


# Largest size of a first program, all its files together, in characters: prompts show it.
LARGEST = 1 << 20


def first_program(path: Path) -> str:
    """Return a program file's text, or the files of a folder as one text (see `join_files`).

    Raises UsageError if a file is no text in UTF-8, TaskError if it is no program otherwise.
    """
    if not path.is_dir():
        text = read_text_file(path, "program")
    else:
        found = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
        # neither what is hidden nor Python's caches
        kept = [file for file in found if not any(part.startswith((".", "__pycache__")) for part in file.parts)]
        if not kept:
            raise TaskError(f"the folder {path} holds no file of a program")
        try:
            text = join_files({file.as_posix(): read_text_file(path / file, "program") for file in kept})
        except UsageError as error:
            raise TaskError(
                f"{error}; a program consists of text files, so keep any other beside the evaluator"
            ) from None
        except ValueError as error:
            raise TaskError(f"cannot take the program {path}: {error}") from None
    if not text.strip() or len(text) > LARGEST:
        raise TaskError(f"the program {path} must hold between 1 and {LARGEST} characters, not {len(text)}")
    return text


def path_pattern(pattern: str) -> re.Pattern[str]:
    """Return what matches the paths of a pattern: `*` stands for any part of a name, `**` for any folders."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./"))
    words = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))


# A path that a patch names as it is. Others would need quotes, or are hidden.
PLAIN_PATH = re.compile(r"[\w+-][\w.+-]*(?:/[\w+-][\w.+-]*)*", re.ASCII)


def refuse_path(path: str, show: Sequence[str], kept: Sequence[str]) -> str:
    """Return why a program may not add the file `path` to a repository; "" if it may. See `Repository`."""
    if not PLAIN_PATH.fullmatch(path):  # such as .git/config
        return f"the file {path[:100]!r} cannot be added: a path is made of letters, digits and _ + - . /, none hidden"
    if any(path == each or path.startswith(f"{each}/") for each in kept):
        return f"the file {path[:100]!r} may not change: it is not shown, or a symbolic link leads there"
    if not any(path_pattern(pattern).fullmatch(path) for pattern in show):
        said = f"the file {path[:100]!r} may not change; only those shown may, and new ones such as {', '.join(show)}"
        return said[:400]
    return ""


_HEADER = re.compile(r"^=== file: (?P<path>[^\n]+?) ===\n", re.MULTILINE)
# Most files that one program may have; with more it is refused.
MOST_FILES = 100
# Most bytes (UTF-8) of a file's path in a program, which is refused if a path is longer.
LONGEST_PATH = 500
# Most bytes (UTF-8) of one folder or file name in a path: file systems take 255.
LONGEST_PATH_PART = 200


def join_files(files: Mapping[str, str]) -> str:
    """Return files, texts by path, as one text that `separate_files` reads; raises ValueError if it could not."""
    # a text without a final line break gets one: else the next header would not begin a line
    text = "".join(
        f"=== file: {path} ===\n{body if body.endswith(chr(10)) or not body else body + chr(10)}"
        for path, body in files.items()
    )
    if list(separate_files(text)) != list(files):
        raise ValueError(
            "a file of the program holds a line such as `=== file: name ===`, by which files are told apart"
        )
    return text


def separate_files(text: str) -> dict[str, str]:
    """Return the files of a program by path; the whole text as the path "" if no header line comes before other text.

    Raises ValueError for paths that could not be written below a folder, and for more than MOST_FILES files.
    """
    headers = list(_HEADER.finditer(text))
    if not headers or text[: headers[0].start()].strip():
        return {"": text}
    if len(headers) > MOST_FILES:
        raise ValueError(f"a program has at most {MOST_FILES} files, not {len(headers)}")
    files: dict[str, str] = {}
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        path = _plain(header["path"])
        if path in files:
            raise ValueError(f"the file {path!r} occurs twice; write each file once")
        files[path] = text[header.end() : following.start() if following else len(text)]
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    if both := sorted(folders & files.keys()):
        raise ValueError(f"{both[0]!r} cannot be both a file of the program and a folder with other files")
    return files


def _plain(path: str) -> str:
    """Return a path in plain form, such as "a/b.py" for "./a//b.py"; ValueError if no file may have it."""
    # a model writes these paths: none may lead out of the program's folder
    parts = PurePosixPath(path.strip()).parts
    if not parts or ".." in parts or path.startswith(("/", "~")) or "\\" in path or not path.isprintable():
        raise ValueError(f"{path[:100]!r} cannot be the path of a file of the program: use a path below its folder")
    plain = "/".join(parts)
    if len(plain.encode(errors="replace")) > LONGEST_PATH or any(
        len(part.encode()) > LONGEST_PATH_PART for part in parts
    ):
        raise ValueError(f"the path {path[:100]!r} is too long; at most {LONGEST_PATH} bytes are taken")
    return plain
