"""A whole run whose endpoint writes what no terminal should see: nothing it prints or logs does anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY
from tests.proposers.test_planted_key import in_a_process

RAW = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2028\r\x7f[/b][red]\ud83d\ud83d\ude00"
HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):"
PROGRAM = f"""Nearest first. {RAW} {KEY}
```python
{HEAD}
    label = "{KEY} \x1b[2J\ud83d"
    return unvisited_nodes[0]
```"""
HOSTILE = [
    chat.fails(500, f"{RAW}\nbehavesim: run tsp is finished {KEY}"),
    chat.says(PROGRAM),
    chat.says(f"```python\n{HEAD}\n    return unvisited_nodes[0] {RAW} {KEY}\n```"),
    chat.says(f"```python\n{HEAD}\n    raise ValueError('{RAW}'.replace(chr(0), ''))\n```".replace("\r", " ")),
    chat.says(f"I am sorry, {RAW} {KEY}", RAW),
]


def test_what_an_endpoint_writes_does_nothing_to_a_terminal_and_gives_no_key_away(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = [asyncio.run(hostile_run(tmp_path)), (tmp_path / "runs/hostile/log.txt").read_text()]
    assert "asking again" in shown[0]
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for command in (("report", "hostile"), ("report", "hostile", "--json"), ("verify", "hostile"), ("list", "--json")):
        ended = behavesim(*command)
        assert ended.code == 0, ended.err
        shown += [ended.out, ended.err]
    for text in shown:
        assert all(line.isprintable() for line in text.split("\n"))
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    top = behavesim("report", "hostile", "--json").document["runs"][0]["top"]
    assert 'label = "… \x1b[2J\ufffd"' in top[0]["source"]


async def hostile_run(folder: Path) -> str:
    """All that a run of five candidates prints."""
    options = ("--proposer", "openai", "--budget", "5", "--connections", "1", "--workers", "1", "--name", "hostile")
    run = ("run", FEW_CITIES, *options, "--set", "n_init=0", "--method", "funsearch", "--set", "recommend=false")
    async with chat.ChatServer(chat.script(*HOSTILE, then=chat.says(PROGRAM))) as server:
        code, printed = await in_a_process(*run, folder=folder, url=server.url)
    assert code == 0, printed.decode()
    return printed.decode()


@pytest.mark.parametrize("arguments", [("evaluate", "tsp", "bad.py"), ("compare", "tsp", "bad.py", "bad.py")])
@pytest.mark.parametrize("how", [(), ("--json",)])
def test_a_program_that_is_refused_does_nothing_to_a_terminal(
    behavesim: Command, tmp_path: Path, arguments: tuple[str, ...], how: tuple[str, ...]
) -> None:
    raw = RAW.encode("utf-8", "replace").decode()
    (tmp_path / "bad.py").write_text(f"{HEAD}\n    return 1 {raw}\n", encoding="utf-8")
    ended = behavesim(*arguments, *how)
    assert ended.code == 3, ended.err
    assert all(line.isprintable() for line in (ended.out + ended.err).split("\n"))
