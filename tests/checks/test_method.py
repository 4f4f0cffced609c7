"""A method of one's own is examined before it meets a model, and what a run cannot bear is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.base.errors import Finding, UsageError
from behavesim.checks import method as checking
from behavesim.checks.method import Watched, examine_method
from behavesim.methods.baselines import BestOfN
from behavesim.methods.niche import Niche, NicheSettings
from tests.methods.states import BRIEF

pytestmark = pytest.mark.usefixtures("replies_read_once")

SOUND = (Path(__file__).parents[2] / "cli/examples/method.py.txt").read_text()


async def found(path: Path) -> dict[str, Finding]:
    return {finding.name: finding async for finding in examine_method(str(path))}


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


def changed(folder: Path, before: str, after: str) -> Path:
    """The example with a fault in it."""
    assert before in SOUND
    return written(folder, SOUND.replace(before, after))


async def test_the_example_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "STRIDE", 37)
    monkeypatch.setattr(checking, "SHUFFLES", 1)
    finished = SOUND.replace("CHANGE: ", "")
    results = {name: finding.result for name, finding in (await found(written(tmp_path, finished))).items()}
    assert results == dict.fromkeys(["documented", "complete", "deterministic", "resumable"], "ok")


async def test_a_file_that_still_has_the_marks_of_the_example_is_said_to_be_unfinished(tmp_path: Path) -> None:
    finding = await anext(examine_method(str(written(tmp_path, SOUND))))  # the first, without a rehearsal
    number = 1 + next(place for place, line in enumerate(SOUND.splitlines()) if "CHANGE: " in line)
    assert (finding.name, finding.result) == ("documented", "warning")
    assert finding.message.startswith(f"line {number} still says CHANGE")


@pytest.mark.parametrize(
    ("docstring", "missing"),
    [
        ('"""CHANGE: the best few programs;', "the class has no docstring; write one"),
        (
            '"""Programs that are kept."""',
            "the setting keep has no docstring below it; write one",
        ),
    ],
)
async def test_what_has_no_docstring_is_named(tmp_path: Path, docstring: str, missing: str) -> None:
    (line,) = (line for line in SOUND.splitlines() if docstring in line)
    finding = await anext(examine_method(str(changed(tmp_path, line, ""))))  # the first, without a rehearsal
    assert (finding.name, finding.result) == ("documented", "warning") and finding.message.startswith(missing)


def test_a_watched_method_is_what_it_is_without_being_watched() -> None:
    for method in (Niche(NicheSettings(), BRIEF), BestOfN(BestOfN.settings_type(), BRIEF)):
        watched = Watched(method)
        assert (watched.name, watched.uses_behaviour) == (method.name, method.uses_behaviour)


KEPT, FEASIBLE = "        kept = state", "        if not candidate.is_feasible"
FAULTS = [
    ("self.generator(candidate)", "__import__('numpy').random.default_rng()", "decides otherwise"),
    (KEPT, f"        self.turn = candidate\n{KEPT}", "keeps something in self.turn"),
    (FEASIBLE, f"        state.ungrouped.append(1)\n{FEASIBLE}", "changes the state"),
    (KEPT, f"        if candidate == 20:\n            return None\n{KEPT}", "asks for nothing more"),
    ("return bs.NotAdded(candidate.id)\n        ranked", "return bs.NotAdded(7)\n        ranked", "candidate 7"),
    (KEPT, f"        1 / (candidate - 20)\n{KEPT}", "ZeroDivisionError"),
    *(
        (FEASIBLE, f"        behaviours.{read}\n{FEASIBLE}", said)
        for read, said in (
            ("means(candidate.id, ['g'])", "TypeError: groups maps the name of each group"),
            ("means(candidate.id, {'g': ()})", "ValueError: a candidate cannot be compared with the empty group 'g'"),
            ("matrix([bs.TEMPLATE])", "say `uses_behaviour = True` in its class"),
        )
    ),
    (
        "    settings_type = Settings",
        "    settings_type = Settings\n    uses_behaviour = True\n\n    def regroup(self, state, behaviours):\n"
        "        behaviours.similarities(bs.TEMPLATE, [7000])",
        "which is no feasible program of this run",
    ),
    (
        "    def register(",
        "    def regroup(self, state: bs.RunState, behaviours: bs.Behaviours) -> bs.Regrouped:\n"
        "        return bs.Regrouped({})\n\n    def register(",
        "mine.py rearranges groups without end",
    ),
]
OTHERS = {"method = 3": "must be a subclass", "x = 3": "names no `method`", "1 / 0": "ZeroDivisionError"}


@pytest.mark.parametrize(("before", "after", "said"), FAULTS)
async def test_a_fault_is_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    findings = await found(changed(tmp_path, before, after))
    assert findings["complete"].result == "fail"
    assert said in findings["complete"].message


async def test_a_decision_by_what_arrived_first_is_found_out(tmp_path: Path) -> None:
    peeking = "kept = [state.member(c) for c in state.open.values() if c.is_feasible] or state"
    findings = await found(changed(tmp_path, "kept = state", peeking))
    assert "fail" in {findings["deterministic"].result, findings["resumable"].result}


async def test_what_is_no_method_is_refused(tmp_path: Path) -> None:
    for text, said in (
        ("method = 3", "must be a subclass"),
        ("x = 3", "names no `method`"),
        ("1 / 0", "ZeroDivisionError"),
    ):
        (tmp_path / "none.py").write_text(text)
        with pytest.raises(UsageError, match=said):
            await found(tmp_path / "none.py")
