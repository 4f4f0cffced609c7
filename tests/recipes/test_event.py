"""The recipe for an event, carried out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recipes.copy import Copy, blocks, pieces

REMARK = """
import asyncio, json, pathlib, sys
from behavesim.analysis.run import Run
from behavesim.application.remarks import remark
from tests.analysis.journals import feasible, started, write

folder = pathlib.Path(sys.argv[1])
write(folder, started(), feasible(0, 5.0))
before = Run.load(folder)
asyncio.run(remark(before.folder, 0, "how short it is"))
run = Run.load(folder)
print(json.dumps([run.state.remarks[0].text, run.active_s == before.active_s]))
"""


def test_an_event_takes_three_files(tmp_path: Path) -> None:
    value, places, changes, recorder = blocks("An event")
    copy = Copy(tmp_path)
    copy.add_before("behavesim/state/events.py", "Decision = Regrouped", value + "\n\n")
    for place, piece in zip(("| RunStarted |", "AFTER_A_PAUSE = ("), pieces(places), strict=True):
        copy.add_after("behavesim/state/events.py", place, piece)
    for place, piece in zip(
        ("    Recommended,", "tally: Tally = ", "self.recommended, self.recommended_of, self.is_racing = "),
        pieces(changes),
        strict=True,
    ):
        copy.add_after("behavesim/state/state.py", place, piece)
    (copy.root / "behavesim/application/remarks.py").write_text(recorder)
    assert copy.touched() == {
        "behavesim/state/events.py",
        "behavesim/state/state.py",
        "behavesim/application/remarks.py",
    }

    remarked = copy.run("-c", REMARK, str(tmp_path / "run"))
    assert remarked.stdout, remarked.stderr
    assert json.loads(remarked.stdout) == ["how short it is", True]
