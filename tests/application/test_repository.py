"""A git repository as a program: files of it change, a command scores a copy of it, and the best is a patch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from behavesim.application import repository as making
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import Request
from behavesim.store.folder import RunFolder
from behavesim.store.run_files import patch_of
from behavesim.task import TaskReference
from behavesim.task.evaluated import EvaluatorFile, Repository, join_files, path_pattern
from behavesim.task.verdict import Failure
from tests.cli.command import Command

MAKEFILE = "score:\n\tg++ -o solve src/solve.cpp && python score.py\n"
SCORE = """import subprocess, sys
sys.path.insert(0, "src")
from weights import WEIGHTS
print("scoring")
print(float(subprocess.check_output(["./solve"])) + sum(WEIGHTS))
"""
SOLVE = '#include <cstdio>\nint main() { std::printf("3"); }'
"""Its last line has no line break."""
BETTER = """Larger weights.
```
=== file: src/weights.py ===
WEIGHTS = [5, 2]
```
```
=== file: src/solve.cpp ===
#include <cstdio>
#include "more.hpp"
int main() { std::printf("%d", MORE); }
```
```
=== file: src/more.hpp ===
#define MORE 40
```
"""
FILES = {
    "README.md": "# Sum\nThe largest sum wins.\n",
    "Makefile": MAKEFILE,
    "score.py": SCORE,
    "src/weights.py": "WEIGHTS = [1, 2]\n",
    "src/solve.cpp": SOLVE,
    "src/windows.py": "x = 1\r\n",
    ".github/ci.py": "pass\n",
}
SHOW = ("--show", "src/*.py", "--show", "src/*.cpp", "--show", "src/*.hpp")


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository of C++ and Python, with a link that leads out of it, and a file that is not committed."""
    folder = tmp_path / "repo"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    (folder / "src/link").symlink_to("/etc")
    git(tmp_path, "init", "-q", "repo")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    (folder / "scratch.txt").write_text("not committed\n")
    return folder


def answering(folder: Path, reply: str) -> str:
    """The proposer that always gives this reply."""
    (folder / "reply.md").write_text(reply)
    return "command:cat > /dev/null; cat reply.md"


def fingerprint(folder: Path) -> dict[str, object]:
    """Every file of a folder with its content and the time of its change."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_repository_is_searched_and_its_best_program_is_a_patch(
    behavesim: Command, tmp_path: Path, repo: Path
) -> None:
    before = fingerprint(repo)
    options = ("--repo", "repo", "--command", "make -s score", *SHOW, "--method", "best-of-n", "--name", "first")
    ended = behavesim("run", *options, "--proposer", answering(tmp_path, BETTER), "--budget", 2, "--json")
    assert ended.code == 0, ended.err
    assert ended.document["best"]["score"] == 40 + 7
    assert fingerprint(repo) == before
    assert "not committed, and so not there when the command runs: scratch.txt" in ended.err
    assert "programs may change src/solve.cpp, src/weights.py; all other files are put back" in ended.err
    assert "src/windows.py" in ended.err  # it has line ends of two characters, which would be lost
    patch = tmp_path / "runs/first/best.patch"
    assert f"digest: {ended.document['digest']}" in patch.read_text()
    assert "candidate 0 of run first, score 47" in patch.read_text()
    git(tmp_path, "clone", "-q", "repo", "fresh")
    git(tmp_path / "fresh", "am", "-q", str(patch))
    score = subprocess.run(["make", "-s", "score"], cwd=tmp_path / "fresh", check=True, capture_output=True, text=True)
    assert score.stdout.split()[-1] == "47.0"
    assert git(tmp_path / "fresh", "log", "-1", "--format=%s").startswith("behavesim: candidate 0 of run first")
    git(repo, "apply", "--check", str(patch))
    assert {path.name for path in (tmp_path / "runs/first/best/src").iterdir()} == {
        *("more.hpp", "solve.cpp", "weights.py")
    }
    assert RunFolder(tmp_path / "runs/first").best.name == "best"
    assert behavesim("verify", "first").code == 0
    (prompt,) = [text for text in [behavesim("show", "first", 0, "--prompt").out] if "Rules:" in text]
    assert "The largest sum wins." in prompt and "match src/*.py, src/*.cpp, src/*.hpp" in prompt


LEAVING = [
    ("../score.py", "edit"),
    ("/etc/passwd", "edit"),
    ("~/x.py", "edit"),
    ("src/../../x.py", "edit"),
    (".git/hooks/post-checkout", "outside"),
    ("src/.git/x.py", "outside"),
    ("src/link/x.py", "outside"),
    ("src/windows.py", "outside"),
    ("score.py", "outside"),
    ("Makefile", "outside"),
    ("src/deeper/x.py", "outside"),
    ("src/a b.py", "outside"),
    ("src/ü.py", "outside"),
]


@pytest.fixture
def task(behavesim: Command, tmp_path: Path, repo: Path) -> str:
    """The task file of a run with edits, which was begun for this alone."""
    options = ("--repo", repo, "--command", "make -s score", *SHOW, "--edits", "diff", "--method", "best-of-n")
    ended = behavesim("run", *options, "--proposer", answering(tmp_path, "nothing"), "--budget", 1, "--json")
    return str(ended.document["task"])


def test_a_program_that_leaves_the_repository_is_rejected_with_a_reason(task: str) -> None:
    loaded = TaskReference(task).load()
    form = form_of(loaded)
    for path, reason in LEAVING:
        added = f"=== file: {path} ===\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n"
        for reply in (added, f"```\n=== file: {path} ===\nx = 1\n```"):
            found = extract(form, Request(reply, loaded.template))
            assert isinstance(found, Failure), path
            assert (found.reason, repr(path)[1:-1] in found.message or "below its folder" in found.message) == (
                reason,
                True,
            ), (path, found)
    good = extract(form, Request("```\n=== file: src/new.py ===\nx = 1\n```", loaded.template))
    assert not isinstance(good, Failure)
    own = extract(form, Request(f"```\n{good.source}=== file: score.py ===\nx = 1\n```", loaded.template, is_own=True))
    assert isinstance(own, Failure) and own.reason == "outside"  # a person's programs obey the same rules


def test_what_a_program_does_when_it_runs_reaches_neither_the_repository_nor_the_copy(
    behavesim: Command, tmp_path: Path, repo: Path
) -> None:
    places = str(repo / "src/weights.py"), str(tmp_path / "runs/first/run.db")
    harm = f"for place in {places}:\n    try:\n        open(place, 'w').write('x')\n    except OSError:\n        pass\n"
    reply = f"```\n=== file: src/weights.py ===\n{harm}open('score.py', 'w').write('print(1e9)')\nWEIGHTS = [4]\n```"
    before = fingerprint(repo)
    options = ("--repo", repo, "--command", "make -s score", *SHOW, "--method", "best-of-n", "--name", "first")
    ended = behavesim("run", *options, "--proposer", answering(tmp_path, reply), "--budget", 2, "--json")
    assert ended.document["best"]["score"] == 7.0, ended.err  # also of the second one: each has a copy of its own
    assert fingerprint(repo) == before
    (score,) = (tmp_path / "runs/.evaluators").glob("*/repository/score.py")
    assert score.read_text() == SCORE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--command", "true"), "--command belongs to a repository; name it with --repo"),
        (("--show", "*.py"), "--show belongs to a repository; name it with --repo"),
        (("--repo", "repo"), '--repo needs the command that prints the score; add --command "make score"'),
        (("--repo", "repo", "--command", "true", "--program", "x.py"), "leave --program out"),
        (("tsp", "--repo", "repo", "--command", "true"), "not both"),
        (("--repo", "nowhere", "--command", "true"), "there is no folder nowhere"),
        (("--repo", "empty", "--command", "true"), "is no git repository with a commit"),
        (("--repo", "repo/src", "--command", "true"), "is a folder inside the repository"),
        (("--repo", "repo", "--command", "true", "--show", "lib/*.py"), "no text file of "),
    ],
)
def test_what_makes_no_task_is_refused_and_leaves_nothing_behind(
    behavesim: Command, tmp_path: Path, repo: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    ended = behavesim("run", *options, "--budget", 1)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert not (tmp_path / "runs").exists()


def test_uncommitted_changes_are_refused_by_name(behavesim: Command, tmp_path: Path, repo: Path) -> None:
    (repo / "src/weights.py").write_text("WEIGHTS = [9]\n")
    ended = behavesim("run", "--repo", repo, "--command", "make -s score", "--budget", 1)
    assert ended.code == 2 and "has uncommitted changes in src/weights.py; commit or stash them" in ended.err


def test_a_first_score_that_fails_leaves_nothing_behind(behavesim: Command, tmp_path: Path, repo: Path) -> None:
    ended = behavesim("run", "--repo", repo, "--command", "false", "--budget", 1)
    assert ended.code == 2 and not (tmp_path / "runs").exists(), ended.err


def test_without_patterns_sources_may_change_that_do_not_judge(
    behavesim: Command, tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--repo", repo, "--command", "make -s score", "--dry-run", "--budget", 4)
    ended = behavesim("run", *options)
    assert "programs may change src/solve.cpp, src/weights.py, by their names; --show chooses" in ended.err
    assert not (tmp_path / "runs").exists()
    monkeypatch.setattr(making, "SHOWN_TOKENS", 10)
    assert "may not change, as they are no plain text or exceed 10 tokens" in behavesim("run", *options).err


def test_the_server_for_assistants_takes_a_repository(behavesim: Command) -> None:
    ended = behavesim("mcp", "--repo", "nowhere", "--command", "true")
    assert (ended.code, "there is no folder nowhere" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("pattern", "path", "does"),
    [
        ("src/*.py", "src/a.py", True),
        ("./src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("src/**", "src/b/a.py", True),
        ("?.py", "a.py", True),
        ("?.py", "ab.py", False),
        ("a.py", "abpy", False),
    ],
)
def test_patterns_of_paths(pattern: str, path: str, does: bool) -> None:
    assert bool(path_pattern(pattern).fullmatch(path)) is does


def test_a_patch_says_what_changed_and_nothing_where_nothing_did(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\x0c3\n4")
    repository = Repository("0" * 40, ("*",))
    file = EvaluatorFile("command", "true", "first", runs_in=str(tmp_path), repository=repository)
    assert patch_of(file, join_files({"a.txt": "1\n2\x0c3\n4\n"}), "s", {}) == ""
    patch = patch_of(file, join_files({"a.txt": "1\n2\x0c5\n4\n", "new.txt": "", "more.txt": "x\n"}), "s", {"run": "a"})
    for name in ("am", "apply"):
        folder = tmp_path / name
        git(tmp_path, "init", "-q", name)
        (folder / "a.txt").write_text("1\n2\x0c3\n4")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
        (tmp_path / "p.patch").write_text(patch)
        git(folder, name, str(tmp_path / "p.patch"))
        assert (folder / "a.txt").read_text() == "1\n2\x0c5\n4\n"
        assert ((folder / "new.txt").read_text(), (folder / "more.txt").read_text()) == ("", "x\n")


def test_a_task_file_keeps_its_repository(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    file = EvaluatorFile("command", "true", str(tmp_path / "first"), runs_in=str(tmp_path))
    with_one = EvaluatorFile(**{**vars(file), "repository": Repository("abc", ("*.py",), ("link",))})
    for each in (file, with_one):
        (tmp_path / "task.toml").write_text(each.to_toml())
        assert EvaluatorFile.read(tmp_path / "task.toml") == each
        loaded = EvaluatorFile.from_json(each.to_json())
        assert json.loads(loaded.to_json()) == json.loads(each.to_json())


def test_names_of_files_that_are_no_text_or_have_lines_are_no_trouble(
    behavesim: Command, tmp_path: Path, repo: Path
) -> None:
    for name in ("new\nline.py", "\udcff.py", "\x1b[31m.py"):  # the second is a byte that is no text
        (repo / "src" / name).write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "names")
    options = ("--repo", "repo", "--command", "make -s score", *SHOW, "--method", "best-of-n", "--name", "first")
    ended = behavesim("run", *options, "--proposer", answering(tmp_path, BETTER), "--budget", 1)
    assert ended.code == 0, ended.err
    assert "src/new line.py" in ended.err
    assert "\x1b[31m" not in ended.err


def test_a_command_that_is_no_utf8_text_is_refused(behavesim: Command, repo: Path) -> None:
    ended = behavesim("run", "--repo", "repo", "--command", "echo 1 # \udcff", *SHOW, "--proposer", "genetic")
    assert ended.code == 2
    assert "the command holds a byte that is no UTF-8 text" in ended.err.splitlines()[-1]
