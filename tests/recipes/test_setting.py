"""The recipes for a setting, carried out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recipes.copy import Copy, blocks

ASK = """
import json
from behavesim.engine.caps import BY_NAME, Caps, is_capped
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.admission import settings_from_person
from behavesim.state.state import RunState
from behavesim.task import Objective

settings = settings_from_person({"task": "tsp"}, ["max_cpu_s=3"])
state = RunState(Objective("minimise"))
caps = Caps.of(settings, lambda model, tokens: 0.0, Heartbeat())
before = caps.forbids_request(state)
state.tally.cpu_s = 3.0
print(json.dumps([
    before, caps.forbids_request(state), is_capped(settings),
    settings.flat()["max_cpu_s"], "max_cpu_s" in settings.decisive(),
    BY_NAME["max_cpu"].sentence(state, settings, "behavesim resume first")
]))
"""


def test_a_setting_of_every_run_takes_two_files(tmp_path: Path) -> None:
    declared, used = blocks("A setting")
    copy = Copy(tmp_path)
    copy.add_before("behavesim/base/config.py", "    timeout_s: float", declared)
    copy.add_after("behavesim/engine/caps.py", "CAPS = (", used)
    assert copy.touched() == {"behavesim/base/config.py", "behavesim/engine/caps.py"}

    asked = copy.run("-c", ASK)
    assert asked.stdout, asked.stderr
    said = "its 3 CPU seconds are used; give it more with behavesim resume first --set max_cpu_s=S"
    assert json.loads(asked.stdout) == [None, "max_cpu", True, 3.0, False, said]
    listed = copy.run("-m", "behavesim", "settings", "--json")
    (row,) = [row for row in json.loads(listed.stdout) if row["setting"] == "max_cpu_s"]
    assert row["description"] == "Send no request once all programs together have taken this many CPU seconds."


def test_a_setting_of_a_method_takes_its_file(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    own = '    greedy: bool = False\n    """Show the best program alone."""\n'
    copy.add_before("behavesim/methods/niche.py", "    renew_every: int", own)
    assert copy.touched() == {"behavesim/methods/niche.py"}
    listed = copy.run("-m", "behavesim", "settings", "--method", "niche", "--json")
    assert "greedy" in {row["setting"] for row in json.loads(listed.stdout) if row["owner"] == "method niche"}
