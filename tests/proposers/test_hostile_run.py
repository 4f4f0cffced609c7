"""A whole run whose endpoint writes what no terminal should see: nothing it prints or logs does anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY
from tests.proposers.test_planted_key import behavesim

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


async def test_what_an_endpoint_writes_does_nothing_to_a_terminal_and_gives_no_key_away(
    server: Any, tmp_path: Path
) -> None:
    server.behaviour = chat.script(*HOSTILE, then=chat.says(PROGRAM))
    options = ("--proposer", "openai", "--budget", "5", "--connections", "1", "--workers", "1", "--name", "hostile")
    run = ("run", "tsp", *options, "--set", "n_init=0", "--method", "funsearch")
    code, printed = await behavesim(*run, folder=tmp_path, url=server.url)
    assert code == 0, printed.decode()
    assert b"asking again" in printed
    shown = [printed, (tmp_path / "runs/hostile/log.txt").read_bytes()]
    for command in (("report", "hostile"), ("report", "hostile", "--json"), ("verify", "hostile"), ("list", "--json")):
        code, printed = await behavesim(*command, folder=tmp_path, url=server.url)
        assert code == 0, printed.decode()
        shown.append(printed)
    for text in shown:
        assert all(line.isprintable() for line in text.decode().split("\n"))
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    top = json.loads(shown[3])["runs"][0]["top"]
    assert 'label = "… \x1b[2J\ufffd"' in top[0]["source"]


async def test_a_program_that_is_refused_does_nothing_to_a_terminal(server: Any, tmp_path: Path) -> None:
    raw = RAW.encode("utf-8", "replace").decode()
    (tmp_path / "bad.py").write_text(f"{HEAD}\n    return 1 {raw}\n", encoding="utf-8")
    for command in ("evaluate", "compare"):
        files = ("bad.py",) * (2 if command == "compare" else 1)
        for how in ((), ("--json",)):
            code, printed = await behavesim(command, "tsp", *files, *how, folder=tmp_path, url=server.url)
            assert code == 3, printed.decode()
            assert all(line.isprintable() for line in printed.decode().split("\n"))
