"""The main job from the command line: run, resume, report, list, evaluate."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import behavesim as bs
from behavesim.state.events import RunStarted
from behavesim.store.folder import RunFolder
from tests.analysis.journals import PROVENANCE, started, write
from tests.cli.command import Command
from tests.cli.test_bad_input import TASK

SHORT = ("--budget", 4, "--set", "recommend=false")
KEYS = {
    "run",
    "state",
    "stopped_by",
    "task",
    "method",
    "proposer",
    "seed",
    "asked",
    "feasible",
    "rejected",
    "best",
    "recommended",
    "top10_gap",
    "tokens",
    "cost_usd",
    "isolation",
    "seconds",
    "digest",
}


def test_a_run_ends_with_a_summary_the_best_program_and_the_next_command(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("run", "tsp", "--budget", 4, "--name", "first")
    assert ended.code == 0
    assert "no OPENAI_API_KEY" in ended.err
    assert "finished" in ended.out
    assert "runs/first/best.py" in ended.out
    assert "behavesim report first" in ended.out
    folder = tmp_path / "runs" / "first"
    assert {"run.db", "settings.toml", "best.py", "log.txt"} <= {path.name for path in folder.iterdir()}
    assert (folder / "log.txt").read_text().splitlines()[0].endswith(" started")
    assert "def select_next_node" in (folder / "best.py").read_text()


def test_the_version_is_the_installed_one(behavesim: Command) -> None:
    ended = behavesim("--version")
    assert (ended.code, ended.out) == (0, f"behavesim {version('behavesim')}\n")
    assert "Search for algorithms" in behavesim("--help").out


def test_the_next_command_can_be_typed_wherever_the_run_is_kept(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("run", "tsp", *SHORT, "--name", "first", "--runs-dir", "my runs")
    hint = ended.out.splitlines()[-1]
    assert hint == "next: behavesim report 'my runs/first'"
    assert behavesim(*shlex.split(hint.removeprefix("next: behavesim "))).code == 0
    assert behavesim("resume", "my runs/first").code == 0


def test_an_offline_run_that_is_asked_for_in_any_way_asks_no_model(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = behavesim("run", "tsp", "--budget", 4, "--model", "a", "--proposer", "genetic")
    assert (refused.code, "'models' belongs to proposer openai" in refused.err) == (2, True)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    offline = behavesim("run", "tsp", *SHORT, "--set", "proposer=genetic", "--json")
    assert offline.document["proposer"] == "genetic"


def test_the_documents_of_run_resume_report_and_list_have_the_documented_keys(behavesim: Command) -> None:
    unchosen = ("--set", "recommend=false")
    run = behavesim("run", "tsp", "--budget", 4, "--name", "first", *unchosen, "--json").document
    assert set(run) >= KEYS
    assert run["state"] == "finished"
    assert run["asked"] == 4
    assert run["feasible"] + sum(run["rejected"].values()) == 4
    longer = behavesim("resume", "first", "--budget", 6, "--set", "recommend=true", "--json").document
    assert longer["asked"] == 6
    report = behavesim("report", "first", "--json").document
    assert set(report) == {"runs", "comparison", "ranks", "repeats", "untested"}
    assert set(report["runs"][0]) >= KEYS | {"convergence", "islands", "clusters", "diversity", "top"}
    assert {**report["runs"][0], "seconds": 0}.items() >= {**longer, "seconds": 0}.items()
    assert [each["run"] for each in behavesim("list", "--json").document] == ["first"]


def test_a_run_made_longer_keeps_what_it_had(finished: Command) -> None:
    short = [candidate.source for candidate in bs.load_run("first").candidates]
    assert finished("resume", "first", "--budget", 13, "--set", "recommend=false").code == 0
    longer = [candidate.source for candidate in bs.load_run("first").candidates]
    assert longer[:12] == short
    assert len(longer) == 13


def test_a_finished_run_says_so_and_changes_nothing(finished: Command) -> None:
    digest = bs.load_run("first").state.digest()
    again = finished("resume", "first")
    assert again.code == 0
    assert "is finished" in again.out
    assert finished("report", "first", "--json").document["runs"][0]["digest"] == digest


def test_replaying_a_run_gives_the_same_run_for_nothing(finished: Command) -> None:
    given = (
        "--budget",
        12,
        "--seed",
        4,
        "--proposer",
        "replay:first",
        "--set",
        "recommend=false",
        "--set",
        "islands=2",
    )
    again = finished("run", "tsp", *given, "--json").document
    assert again["digest"] == bs.load_run("first").state.digest()


def test_a_replay_asks_for_no_reflections_if_its_original_had_none(behavesim: Command) -> None:
    small = ("--set", "initial_population=3", "--set", "population=3", "--set", "recommend=false")
    run = ("run", "tsp", "--method", "reevo", "--budget", 7, "--seed", 1, *small, "--json")
    original = behavesim(*run, "--proposer", "genetic", "--name", "first").document
    replay = behavesim(*run, "--proposer", "replay:first", "--name", "second")
    assert (replay.code, replay.document["digest"]) == (0, original["digest"])
    asked = behavesim(*run, "--proposer", "replay:first", "--name", "third", "--set", "notes=true")
    assert asked.code == 1
    assert "first has no reply to this request for a note" in asked.err


def test_a_run_in_use_can_be_watched_and_nothing_says_to_resume_it(finished: Command, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "runs" / "first").locked():
        refused = finished("resume", "first", "--budget", 20)
    assert refused.code == 1
    assert "in use by another process; watch it with `behavesim report first --follow`" in refused.err
    assert "what has arrived" not in refused.err and "resume" not in refused.err


def test_resume_names_the_settings_that_were_changed_on_disk(finished: Command, tmp_path: Path) -> None:
    settings = tmp_path / "runs/first/settings.toml"
    settings.write_text(settings.read_text().replace("window = 2\n", "window = 5\n"))
    ended = finished("resume", "first", "--budget", 30)
    assert ended.code == 2
    assert "window was 2 and is 5" in ended.err


def test_a_task_file_of_ten_lines_runs_and_a_changed_one_is_refused(behavesim: Command, tmp_path: Path) -> None:
    task = tmp_path / "mine.py"
    task.write_text(TASK)
    assert behavesim("run", "mine.py", *SHORT, "--name", "first", "--json").document["asked"] == 4
    task.write_text(TASK.replace("return 1", "return 2"))
    ended = behavesim("resume", "first", "--budget", 9)
    assert ended.code == 2
    assert "its task changed, its template changed" in ended.err


@pytest.mark.parametrize(("task", "score", "gap"), [("tsp", 6.5334, 0.1618), ("asp", 1842, 1161 / 3003)])
def test_evaluate_knows_the_golden_values(behavesim: Command, task: str, score: float, gap: float) -> None:
    (result,) = behavesim("evaluate", task, "template", "--json").document
    assert result["score"] == pytest.approx(score, abs=5e-5)
    assert result["gap"] == pytest.approx(gap, abs=5e-5)
    assert result["status"] == "ok"
    assert {each["kind"] for each in result["trajectories"]} == {"prefixes"}


def test_evaluate_shows_what_programs_did_where_that_is_asked_for(behavesim: Command) -> None:
    (result,) = behavesim("evaluate", "tsp", "template", "--no-trajectories", "--json").document
    assert "trajectories" not in result
    assert "prefixes" not in behavesim("evaluate", "tsp", "template").out
    assert behavesim("evaluate", "tsp", "template", "--trajectories").out.count("prefixes") == 5


@pytest.mark.parametrize(("task", "gap"), [("tsp", pytest.approx(0.2419, abs=5e-5)), ("asp", None)])
def test_a_gap_on_held_out_instances_is_to_what_is_known_there(
    behavesim: Command, task: str, gap: float | None
) -> None:
    (result,) = behavesim("evaluate", task, "template", "--held-out", "--json").document
    assert result["gap"] == gap


def test_a_rejected_program_is_exit_code_3_with_its_reason(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def select_next_node(a, b, c, d):\n    raise KeyError('no idea')\n")
    ended = behavesim("evaluate", "tsp", "wrong.py", "--json")
    assert ended.code == 3
    (result,) = ended.document
    assert (result["status"], result["stage"], result["reason"]) == ("rejected", "evaluation", "exception")
    assert "no idea" in result["message"]
    assert result["score"] is None


def test_a_run_that_cannot_be_read_hides_no_other(behavesim: Command) -> None:
    write(Path("runs/good"), started())
    write(Path("runs/bad"), [RunStarted({"task": "tsp", "budget": "much"}, PROVENANCE, "strong")])
    listed = behavesim("list", "--json")
    assert [each["run"] for each in listed.document] == ["good"]
    assert listed.err.startswith("behavesim: bad: setting budget")


def test_several_runs_are_listed_and_reported_in_tables(finished: Command) -> None:
    finished("run", "tsp", *SHORT, "--name", "a")
    assert finished("report", "a", "--held-out").code == 0  # it leaves a file in the folder
    assert [each["run"] for each in finished("list", "--json").document] == ["first", "a"]
    shutil.copytree("runs/a", "runs/a-name-as-long-as-in-an-experiment-seed0")
    listed = finished("list")
    assert "finished" in listed.out
    assert "…" not in listed.out
    report = finished("report", "a", "first")
    assert report.code == 0
    assert {"a", "first"} <= {line.partition(" ")[0] for line in report.out.splitlines()}


def test_the_report_says_why_candidates_failed(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TASK.replace('"maximise"', '"maximise", best_known=0.0') + FLAKY)
    run = behavesim("run", "mine.py", "--budget", 12, "--set", "recommend=false", "--name", "first", "--json").document
    failures = behavesim("report", "first", "--json").document["runs"][0]["failures"]
    assert sum(each["count"] for each in failures) == sum(run["rejected"].values()) > 0
    assert {each["reason"] for each in failures} == set(run["rejected"])
    assert "not today" in str([each["example"] for each in failures])
    assert "why candidates fail" in behavesim("report", "first", "--full").out


FLAKY = """
def score(self, instance, solution):
    if solution[0] != 1:
        raise bs.InvalidSolution("not today")
    return 1.0

Mine.score = score
"""


def test_the_commands_numeric_libraries_start_no_threads() -> None:
    code = (
        "import contextlib, os, sys\nfrom behavesim_cli.app import main\nsys.argv[1:] = ['--version']\n"
        "with contextlib.suppress(SystemExit): main()\nimport numpy, scipy.linalg\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'], len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 1"


@pytest.mark.parametrize(
    ("cap", "reason"), [((), "budget"), (("--set", "max_calls=2"), "max_calls"), (("--max-time", "0.01s"), "max_time")]
)
def test_a_run_in_which_nothing_was_feasible_or_answered_exits_1(
    behavesim: Command, cap: tuple[str, ...], reason: str
) -> None:
    ended = behavesim("run", "tsp", *SHORT, "--proposer", "command:echo no", *cap, "--name", "empty", "--json")
    assert (ended.code, ended.document["feasible"], ended.document["stopped_by"]) == (1, 0, reason)
