"""The recipe for a command, carried out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recipes.copy import Copy, blocks


def test_a_command_takes_two_files_and_the_reference(tmp_path: Path) -> None:
    module, row, _ = blocks("A command")
    copy = Copy(tmp_path)
    (copy.root / "cli/instances.py").write_text(module)
    copy.add_after("cli/commands.py", 'Command("task"', row)
    assert copy.touched() == {"cli/instances.py", "cli/commands.py"}
    written = copy.run("-m", "tests.reference")
    assert written.returncode == 0, written.stderr
    assert copy.touched() == {"cli/instances.py", "cli/commands.py", "docs/reference/commands.md"}

    assert "  instances  Count the instances of a task.\n" in copy.run("-m", "behavesim", "--help").stdout
    counted = copy.run("-m", "behavesim", "instances", "tsp", "--json")
    assert json.loads(counted.stdout) == {"search": 5, "validation": 6, "held-out": 14}, counted.stderr
