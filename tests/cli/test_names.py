"""Names that a terminal's markup would take for its own are printed as they are, by every command that prints one."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.journals import feasible, rejected, started, stopped, write
from tests.cli.command import Command

NAME = "[pair] :smile:"
RUNS = "[/x]"
"""A folder in a folder, which markup takes for the end of something that was never begun."""
TEXT = f"{RUNS} {NAME}"
HERE = Path(__file__).parents[2]


@pytest.fixture
def named(behavesim: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command beside two runs of such names in such a folder, with labels, programs and messages to match."""
    monkeypatch.setenv("COLUMNS", "200")
    for method in ("funsearch", "niche"):
        begun = started(method=method, label=f"{method} {TEXT}")
        found = feasible(0, 5.0), feasible(1, 4.0, [3, 2, 1, 0], source=TEXT), rejected(2, TEXT, TEXT)
        write(Path(RUNS, f"{method} {NAME}"), begun, *found, stopped("budget"))
    return behavesim


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("report", f"niche {NAME}"),
        ("report", f"niche {NAME}", f"funsearch {NAME}"),
        ("show", f"niche {NAME}", "1"),
        ("diff", f"niche {NAME}", "0", "1"),
        ("watch", f"niche {NAME}"),
        ("recommend", f"niche {NAME}"),
        ("recommend", f"niche {NAME}", "--portfolio", "2"),
    ],
    ids=" ".join,
)
def test_a_name_with_brackets_is_printed_as_it_is(named: Command, arguments: tuple[str, ...]) -> None:
    ended = named(*arguments, "--runs-dir", RUNS)
    assert ended.code in (0, 1), ended.err
    said = " ".join((ended.out + ended.err).split())
    assert "Traceback" not in said
    assert all(word in said for word in NAME.split())


def test_a_bar_names_a_run_with_brackets_as_it_is(finished: Command, tmp_path: Path) -> None:
    shutil.move(tmp_path / "runs/first", tmp_path / "runs" / NAME)
    assert f"verifying {NAME}" in finished("verify", NAME, "--sample", "1").err


def test_the_end_of_a_run_names_a_folder_with_brackets_as_it_is(finished: Command, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "runs", tmp_path / RUNS)
    ended = finished("resume", "first", "--runs-dir", RUNS)
    assert ended.code == 0, ended.err
    assert f"best program: {RUNS}/first/best.py" in ended.out


def consoles(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Console", "Screen"):
            yield node


def test_no_console_reads_markup() -> None:
    files = [*(HERE / "behavesim").rglob("*.py"), *(HERE / "cli").rglob("*.py")]
    made = [(file.name, call) for file in files for call in consoles(file.read_text(encoding="utf-8"))]
    assert made
    for name, call in made:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert (given.get("markup"), given.get("emoji")) == ("False", "False"), name
