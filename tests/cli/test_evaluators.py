"""`behavesim run --evaluator E --program P`: a folder of each convention, and all that can be wrong with one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from behavesim.task.evaluated import ConventionName
from tests.cli.command import Command
from tests.cli.people import FOLDERS
from tests.evaluators.test_candidates import EVALUATE, SOLVE, VERIFY
from tests.evaluators.test_conventions import LLAMEA, SPECIFICATION


def made_file(path: Path) -> dict[str, Any]:
    """What the one task file says that was made for the runs in a folder."""
    (file,) = (path / "runs/.evaluators").glob("*.toml")
    return tomllib.loads(file.read_text())


@pytest.mark.parametrize("convention", FOLDERS)
def test_a_folder_that_runs_elsewhere_runs_here(behavesim: Command, tmp_path: Path, convention: str) -> None:
    ended = behavesim("run", *FOLDERS[convention].made(tmp_path), "--budget", 2, "--json")
    assert ended.code == 0, ended.err
    assert ended.document["state"] == "finished"
    assert ended.document["feasible"] >= 1
    file = made_file(tmp_path)
    assert file["convention"] == convention
    assert file.get("direction", "maximise") == ("minimise" if convention == "eoh" else "maximise")
    assert Path(ended.document["task"]).is_file()
    if convention == "llm4ad":  # a class; tests/cli/test_evaluator_runs.py has a function and a command
        assert behavesim("resume", ended.document["run"], "--budget", 3, "--json").document["asked"] == 3
        assert behavesim("verify", ended.document["run"]).code == 0


WRITTEN = {
    "funsearch": {"specification.py": SPECIFICATION},
    "gepa": {"evaluator.py": "def evaluate(candidate):\n    return eval(candidate)\n", "initial.py": "2 + 3\n"},
    "gigaevo": {
        "validate.py": "def validate(answer):\n    return {'fitness': -abs(answer - 7)}\n",
        "initial.py": "def entrypoint():\n    return 4\n",
    },
    "heurigym": {
        "evaluator.py": EVALUATE,
        "verifier.py": VERIFY,
        "initial.py": SOLVE.format(3),
        "dataset/a.in": "1\n2\n",
    },
    "llamea": {
        "evaluate.py": LLAMEA,
        "initial.py": "class Walk:\n def __init__(self, budget):\n  self.budget = budget\n"
        " def __call__(self):\n  return self.budget / 4\n",
    },
}


@pytest.mark.parametrize("convention", WRITTEN)
def test_two_commands_lead_from_the_files_of_a_convention_to_a_page(
    behavesim: Command, tmp_path: Path, convention: str
) -> None:
    for name, text in WRITTEN[convention].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    ended = behavesim("run", "--evaluator", next(iter(WRITTEN[convention])), "--budget", 2, "--name", "first")
    assert ended.code == 0, ended.err
    assert made_file(tmp_path)["convention"] == convention
    assert behavesim("report", "first", "--html", "first.html").code == 0
    assert (tmp_path / "first.html").is_file()


def test_the_one_first_program_beside_an_evaluator_needs_no_name(behavesim: Command, tmp_path: Path) -> None:
    _, evaluator, _, program, *_ = FOLDERS["openevolve"].made(tmp_path)
    beside = Path(evaluator).parent / "initial_program.py"
    beside.write_text(Path(program).read_text())
    ended = behavesim("run", "--evaluator", evaluator, "--budget", 2, "--json")
    assert ended.code == 0, ended.err
    assert "the first program is initial_program.py, which stands beside it" in ended.err
    (tmp_path / "evaluator").mkdir()
    (tmp_path / "evaluator/evaluator.py").write_text(Path(evaluator).read_text())
    found = behavesim("run", "--evaluator", "evaluator/evaluator.py", "--dry-run")
    assert "the first program is initial_program.py" in found.err, found.err
    (beside.parent / "initial.py").write_text("")
    assert "add --program FILE" in behavesim("run", "--evaluator", evaluator).err  # which of the two is not known


def test_the_file_made_for_an_evaluator_is_a_task_itself(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    first = behavesim("run", *options, "--budget", 2, "--json").document
    second = behavesim("run", first["task"], *options[4:], "--budget", 2, "--json").document
    assert (second["digest"], second["best"]) == (first["digest"], first["best"])


def test_a_config_beside_the_evaluator_is_read_and_what_is_ignored_is_said_in_a_line(
    behavesim: Command, tmp_path: Path
) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    text = (tmp_path / "evaluator.py").read_text()
    (tmp_path / "evaluator.py").write_text(f"{text}\n\nevaluate_stage1 = evaluate_stage2 = evaluate\n")
    model = "{model: m, a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7}"
    said = f"max_iterations: 4\nrandom_seed: 9\nllm: {model}\nprompt: {{system_message: Find x between 0 and 2.}}"
    (tmp_path / "config.yaml").write_text(f"{said}\nevaluator: {{timeout: 30, cascade_thresholds: [0.1, 9]}}\n")
    ended = behavesim("run", *options, "--edits", "diff", "--json")
    assert (ended.document["asked"], ended.document["seed"]) == (4, 9)
    (line,) = [line for line in ended.err.splitlines() if "config.yaml" in line]
    assert "thresholds 0.1; not used here: evaluator.cascade_thresholds 9.0, llm.model, llm.a, " in line
    assert line.endswith(", llm.d and 3 other keys") and "description of 23 characters" in line
    file = made_file(tmp_path)
    assert (file["description"], file["timeout_s"], file["thresholds"]) == ("Find x between 0 and 2.", 30.0, [0.1])
    assert file["edits"] == "diff"


def test_where_lower_scores_are_better_only_stated_thresholds_are_told(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    text = (tmp_path / "evaluator.py").read_text()
    (tmp_path / "evaluator.py").write_text(f"{text}\n\nevaluate_stage1 = evaluate_stage2 = evaluate\n")
    found = behavesim("run", *options, "--minimise", "--dry-run", "--json").document
    assert "stages" not in found["understood"] and "has stages" not in str(found)
    (tmp_path / "config.yaml").write_text("evaluator: {cascade_thresholds: [7]}\n")
    found = behavesim("run", *options, "--minimise", "--dry-run", "--json").document
    assert found["understood"]["stages"] == "7 after stage 1; a program above keeps the score it has"
    assert "needs at most 7 in stage 1. Above that" in str(found)


def test_a_flag_beats_the_configuration_and_thresholds_count_only_for_stages_that_there_are(
    behavesim: Command, tmp_path: Path
) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    (tmp_path / "mine.yaml").write_text("max_iterations: 4\nrandom_seed: 9\n")
    ended = behavesim("run", *options, "--evaluator-config", "mine.yaml", "--seed", 1, "--budget", 2, "--json")
    assert (ended.document["asked"], ended.document["seed"]) == (2, 1)
    assert "thresholds" not in made_file(tmp_path)
    assert " trying the first program, " in ended.err


def test_what_is_known_of_a_score_is_kept_with_the_task_and_thresholds_that_are_not_used_are_said(
    behavesim: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text("evaluator: {timeout: 30, cascade_thresholds: [0.1, 9]}\n")
    given = FOLDERS["command"].made(tmp_path)  # a command has no stages
    about = ("--metric", "length", "--bound", 1.0, "--best-known", 4.0, "--minimise")
    ended = behavesim("run", *given, *about, "--evaluator-config", "mine.yaml", "--budget", 1, "--json")
    assert ended.code == 0, ended.err
    said = "timeout_s 30.0; not used here: evaluator.cascade_thresholds 0.1/9.0\n"
    assert f"mine.yaml, where no option says otherwise: {said}" in ended.err
    file = made_file(tmp_path)
    kept = (file["metric"], file["bound"], file["best_known"], file["direction"])
    assert kept == ("length", 1.0, 4.0, "minimise") and "thresholds" not in file
    assert ended.document["template"]["score"] == len((tmp_path / given[3]).read_text())
    for option in (("--best-known", 5.0), ("--metric", "x"), ("--bound", 1.0)):
        assert behavesim("run", "tsp", *option).code == 2


def test_a_score_far_beyond_the_best_known_is_named_in_console_and_report(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    given = FOLDERS["openevolve"].made(tmp_path)
    ended = behavesim("run", *given, "--best-known", 0.1, "--budget", 2, "--name", "first")
    assert ended.code == 0, ended.err
    assert "% better than best_known 0.1, and so it is in a fresh process" in ended.err
    assert "doubtful" in ended.out and "split the evaluator" in ended.out
    document = behavesim("report", "first", "--json").document["runs"][0]
    assert document["doubted"] and "doubtful" in behavesim("report", "first").out


def test_programs_whose_error_the_evaluator_states_are_rejected_and_told_to_the_model(
    behavesim: Command, tmp_path: Path
) -> None:
    text = """def evaluate(path):
    names = {}
    try:
        exec(open(path).read(), names)
        return {"combined_score": names["point"]()}
    except Exception as error:
        return {"combined_score": 0.0, "error": f"no point: {error}"}
"""
    (tmp_path / "evaluator.py").write_text(text)
    (tmp_path / "first.py").write_text("def point():\n    return 1.0\n")
    answer = "#!/bin/sh\ncat > /dev/null\nprintf '```\\ndef point():\\n    return 1.0 / 0 + '$$'\\n```\\n'\n"
    (tmp_path / "answer.sh").write_text(answer)
    options = ("--evaluator", "evaluator.py", "--program", "first.py", "--proposer", "command:sh answer.sh")
    ended = behavesim("run", *options, "--budget", 3, "--repair", 1, "--name", "first", "--json")
    assert (ended.document["feasible"], ended.document["rejected"]) == (0, {"evaluator-error": 3})
    prompts = [behavesim("show", "first", number, "--prompt").out for number in range(3)]
    assert any("no point: float division by zero" in text for text in prompts)


@pytest.mark.parametrize("convention", FOLDERS)
def test_a_dry_run_says_how_the_evaluator_is_understood_and_writes_nothing(
    behavesim: Command, tmp_path: Path, convention: str
) -> None:
    given = FOLDERS[convention].made(tmp_path)
    before = sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in str(path))
    (tmp_path / "config.yaml").write_text("llm: {model: m}\n")
    found = behavesim("run", *given, "--dry-run", "--json")
    understood = found.document["understood"]
    assert {"evaluator", "first program", "score", "behaviour", "limits", "can be read"} <= understood.keys()
    better = "lower" if convention == "eoh" else "higher"
    assert understood["score"].endswith(f"; {better} is better")
    assert ("not used here: llm.model" in found.err) == (convention == "openevolve")
    if convention == "command":
        shown = " ".join(behavesim("run", *given, "--dry-run").out.split())
        assert "how the evaluator is understood" in shown and "CPU" in shown
    (tmp_path / "config.yaml").unlink()
    assert sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in str(path)) == before


def test_a_dry_run_says_which_numbers_a_score_is_the_mean_of(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text("def evaluate(path):\n    return {'a': 1.0, 'b': 2.0, 'eval_time': 9.0}\n")
    (tmp_path / "first.py").write_text("x = 1\n")
    options = ("--evaluator", "evaluator.py", "--program", "first.py", "--dry-run", "--json")
    understood = behavesim("run", *options).document["understood"]
    assert understood["score"] == "the mean of a, b; --metric NAME chooses one; higher is better"
    assert understood["its numbers"] == "a 1, b 2, eval_time 9"
    assert behavesim("run", *options, "--metric", "b").document["understood"]["score"] == "b; higher is better"


def test_the_kinds_of_evaluators_are_listed_each_with_an_example(behavesim: Command) -> None:
    listed = behavesim("evaluators", "--json").document
    assert {each["convention"] for each in listed} == {*get_args(ConventionName), "autoresearch"}
    assert all(each["example"].startswith("--evaluator ") and each["shape"] for each in listed)
    shown = behavesim("evaluators").out
    assert "GEPA calls evaluators" in shown and "--evaluator task.py --program solver.py" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a task, such as tsp"),
        (["tsp", "--evaluator", "good.py", "--program", "p.py"], "a task or an --evaluator, not both"),
        (["--program", "p.py"], "--program belongs to an evaluator"),
        (["tsp", "--edits", "diff"], "--edits belongs to an evaluator"),
        (["--evaluator", "good.py"], "add --program FILE"),
        (["--evaluator", "good.py", "--program", "nope.py"], "there is no program nope.py"),
        (["--evaluator", "good.py", "--program", "empty.py"], "must hold between 1 and"),
        (["--evaluator", "good.py", "--program", "open.py"], "must be followed by its EVOLVE-BLOCK-END"),
        (["--evaluator", "good.py", "--program", "broken.py"], "the first program of task 'good' does not do (syntax)"),
        (["--evaluator", "nope.py", "--program", "p.py"], "there is no evaluator 'nope.py'"),
        (["--evaluator", "p.py", "--program", "p.py"], "neither a function `evaluate(program_path)`"),
        (["--evaluator", "broken.py", "--program", "p.py"], "the evaluator broken.py is no Python"),
        (
            ["--evaluator", "imports.py", "--program", "p.py"],
            "cannot be loaded: it imports 'nosuchpackage', which is not installed",
        ),
        (["--evaluator", "raises.py", "--program", "p.py"], "(evaluator): ValueError: no data"),
        (["--evaluator", "caught.py", "--program", "p.py"], "(evaluator-error): no data; the evaluator says so"),
        (
            ["--evaluator", "hides.py", "--program", "p.py"],
            "(evaluator-error): image; perhaps for lack of sklearn_of_mine, which it imports: "
            "python -m pip install sklearn_of_mine",
        ),
        (
            ["--evaluator", "tool.py", "--program", "p.py"],
            "'no-such-tool'; it runs no-such-tool: install that in /usr/bin or /usr/local/bin",
        ),
        (["--evaluator", "reads.py", "--program", "p.py"], "'data/in.csv'; fetch that file; the evaluator runs in /"),
        (
            ["--evaluator", "data/bare.py", "--program", "p.py"],
            "(evaluator): ValueError: no files; perhaps for lack of data: run download_dataset.sh, which stands beside",
        ),
        (["--evaluator", "good.py", "--program", "p.py", "--bound", "0.5"], "(beyond-bound): its score 1 is better"),
        (["--evaluator", "good.py", "--program", "p.py", "--metric", "x"], "no number called x; it gave score"),
        (
            ["--evaluator", """command:echo '{"a": 1, "b": 2}' # {program}""", "--program", "p.py"],
            "it gave a, b; choose one with --metric NAME",
        ),
        (["--evaluator", "json:JSONDecoder", "--metric", "x"], "a class gives one"),
        (["--evaluator", "good.py:Nothing"], "has no class 'Nothing'"),
        (["--evaluator", "classes.py:Broken"], "cannot be made without arguments: RuntimeError: no data"),
        (["--evaluator", "nosuchpackage.place:Thing"], "it imports 'nosuchpackage', which is not installed"),
        (["--evaluator", "json:JSONDecoder"], "has no method `evaluate_program"),
        (["--evaluator", "command:./judge", "--program", "p.py"], "has no {program}"),
        (["--evaluator", "command:exit 3 # {program}", "--program", "p.py"], "left with status 3"),
        (["--evaluator", "good.py", "--program", "p.py", "--evaluator-config", "no.yaml"], "cannot read the config"),
        (
            ["--evaluator", "good.py", "--program", "p.py", "--evaluator-config", "bad.yaml"],
            "evaluator.timeout should be a number, not 'soon'",
        ),
        (
            ["--evaluator", "good.py", "--program", "p.py", "--evaluator-config", "endless.yaml"],
            "max_iterations should be a finite number, not inf",
        ),
        (["--evaluator", "good.py", "--program", "p.py", "--budget", "0"], "budget"),
        (["good.py"], "good.py is an evaluator, not a task; name it with --evaluator good.py"),
        (["nope.toml"], "cannot read the task nope.toml"),
        (["thresholds.toml"], "thresholds should be"),
        (["stages.toml"], "there are 2 thresholds, and the evaluator has no stages, so it uses none"),
        (["unknown.toml"], "did you mean 'thresholds'"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_nothing(
    behavesim: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    head = 'convention = "openevolve"\nevaluator = "good.py"\nprogram = "p.py"\n'
    files = {
        "good.py": "def evaluate(path):\n    return {'score': 1.0}\n",
        "tool.py": "def evaluate(path):\n    import subprocess\n    subprocess.run(['no-such-tool'])\n",
        "reads.py": "def evaluate(path):\n    open('data/in.csv')\n",
        "data/bare.py": "def evaluate(path):\n    raise ValueError('no files')\n",
        "data/download_dataset.sh": "",
        "hides.py": (
            "try:\n    import json, sklearn_of_mine\nexcept ImportError:\n    pass\n\n\n"
            "def evaluate(path):\n    return {'score': 0.0, 'error': 'image'}\n"
        ),
        "p.py": "x = 1\n",
        "empty.py": "",
        "open.py": "# EVOLVE-BLOCK-START\nx = 1\n",
        "broken.py": "def evaluate(:",
        "imports.py": "import nosuchpackage\n\n\ndef evaluate(path):\n    return {}\n",
        "caught.py": "def evaluate(path):\n    return {'score': 0.0, 'error': 'no data'}\n",
        "raises.py": "def evaluate(path):\n    raise ValueError('no data')\n",
        "classes.py": "class Broken:\n evaluate_program = print\n def __init__(self):raise RuntimeError('no data')\n",
        "bad.yaml": "evaluator: {timeout: soon}\n",
        "endless.yaml": "max_iterations: .inf\n",
        "thresholds.toml": f"{head}thresholds = 3\n",
        "stages.toml": f"{head}thresholds = [1, 2]\n",
        "unknown.toml": f"{head}treshold = [3]\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    ended = behavesim("run", *arguments, "--proposer", "command:cat")
    assert ended.code == 2
    assert said in ended.err.splitlines()[-1]
    assert ended.out == ""
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert left == set(files)


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_commands_on_programs_say_where_an_evaluator_is_named(behavesim: Command, tmp_path: Path, command: str) -> None:
    (tmp_path / "good.py").write_text("def evaluate(path):\n    return {'score': 1.0}\n")
    (tmp_path / "p.py").write_text("x = 1\n")
    ended = behavesim(command, "good.py", "p.py", "p.py")
    assert ended.code == 2
    assert "good.py is an evaluator, not a task; name it with --evaluator good.py" in ended.err


def test_an_evaluator_in_the_home_folder_is_refused_for_programs_could_read_it(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    (tmp_path / "specification.txt").write_text(SPECIFICATION)
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in (options, ("--evaluator", "specification.txt")):
        ended = behavesim("run", *given)
        assert ended.code == 2
        assert "a folder of their own" in ended.err


def test_a_dry_run_leaves_nothing(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("run", *FOLDERS["openevolve"].made(tmp_path), "--dry-run")
    assert ended.code == 0
    assert not (tmp_path / "runs").exists()


def test_a_class_without_a_template_needs_a_program(behavesim: Command, tmp_path: Path) -> None:
    older = Path(__file__).parents[1] / "evaluators/judged/older.py"
    ended = behavesim("run", "--evaluator", f"{older}:Search", "--budget", 1)
    assert ended.code == 2
    assert ended.err.endswith("Search has no template program; add --program FILE, with a first `guess`\n")
    assert not (tmp_path / "runs").exists()


def test_where_no_task_file_can_be_written_another_folder_is_asked_for(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/.evaluators").write_text("no folder")
    ended = behavesim("run", *options, "--budget", 1)
    (line,) = ended.err.splitlines()[-1:]
    assert (ended.code, line.endswith("choose another --runs-dir"), "cannot write " in line) == (2, True, True), line
