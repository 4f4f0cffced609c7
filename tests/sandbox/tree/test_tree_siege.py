"""No program and no evaluator does harm in the second profile: every attack, judged by an oracle outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.outside import (
    NOBODY,
    SECRET,
    THIS_INTERPRETER,
    Interpreter,
    Outside,
    folder_for_everybody,
    interpreter_for_everybody,
)
from tests.sandbox.tree.attacks import EVALUATORS, LOADED, ON_THE_MACHINE, PROGRAMS, REFUSED, Attack
from tests.shared import shared

pytestmark = pytest.mark.timeout(1800)  # a siege is one test's setup
LAYERS = ("user", "namespaces", "landlock", "seccomp")
USERS = ("whoever runs the tests", "root that becomes nobody", "nobody from the start")


class Workshop(Outside):
    """What lies outside, with an evaluator's folder: keys, a run, a link to a secret, and a neighbour's socket."""

    def __post_init__(self) -> None:
        folder = self.folder / "evaluator"
        (folder / "data").mkdir(parents=True)
        (folder / "runs" / "one").mkdir(parents=True)
        for place in (folder, folder / "data"):
            (place / ".env").write_text(SECRET)
            place.chmod(0o777)
        (folder / "runs" / "one" / "run.db").write_text(SECRET)
        (folder / "evaluator.py").write_text("pass\n")
        (folder / "evaluator.py").chmod(0o666)
        (folder / "link").symlink_to(self.folder / "secret")
        self.neighbour = socket.socket(socket.AF_UNIX)
        self.neighbour.bind(str(folder / "neighbour"))
        (folder / "neighbour").chmod(0o777)
        self.neighbour.listen()
        self.neighbour.setblocking(False)
        super().__post_init__()

    def harm(self) -> list[str]:
        try:
            self.neighbour.accept()
        except BlockingIOError:
            return super().harm()
        return [*super().harm(), "the neighbour was reached"]

    def close(self) -> None:
        self.neighbour.close()
        super().close()


def besieged(
    interpreter: Interpreter, user: int | None, layers: tuple[str, ...], names: tuple[str, ...]
) -> dict[str, Any]:
    outside = Workshop(folder_for_everybody(), interpreter, user)
    told = outside.besiege(layers, names, "tests.sandbox.tree.siege")
    told["harm"] = outside.harm()
    outside.close()
    shutil.rmtree(outside.folder)
    return told


@pytest.fixture(scope="module")
def public_interpreter() -> Iterator[Interpreter]:
    """Its packages are links in its own folder: another's, on its path, each sandbox would look through for keys."""
    folder = folder_for_everybody()
    made = interpreter_for_everybody(folder / "python")
    packages, repository = made.path
    if not Path(packages).is_relative_to(folder):
        links = folder / "python" / "lib" / Path(made.executable).name / "site-packages"
        links.mkdir()
        for each in Path(packages).iterdir():
            (links / each.name).symlink_to(each)
        made = Interpreter(made.executable, (str(links), repository))
    yield made
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=USERS)
def siege(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    user = request.param
    if user != USERS[0] and os.geteuid() != 0:
        pytest.skip("only root can become another user")

    def make(folder: Path) -> None:
        interpreter = THIS_INTERPRETER if user == USERS[0] else request.getfixturevalue("public_interpreter")
        names = (*(each.name for each in programs(user)), *(f"evaluator: {each.name}" for each in evaluators(user)))
        told = besieged(interpreter, NOBODY if user == USERS[2] else None, LAYERS, names)
        (folder / "told").write_text(json.dumps(told))

    told: dict[str, Any] = json.loads((shared(tmp_path_factory, f"tree siege as {user}", make) / "told").read_text())
    if told["isolation"] != "strong+":
        pytest.skip(f"this machine gives {told['isolation']}: {told['notes']}")
    return {**told, "as": user}


def programs(user: str) -> list[Attack]:
    """All attacks of programs for one user; for the others those against walls, and against limits on each user."""
    return [each for each in PROGRAMS if user == USERS[0] or each not in ON_THE_MACHINE or "forbidden" in each.expected]


def evaluators(user: str) -> list[Attack]:
    """All attacks of evaluators for one user; for the others those that the walls must stop, which a user may move.

    What refuses the rest, time limits and the reading of messages, knows no user.
    """
    return [each for each in EVALUATORS if user == USERS[0] or LOADED in each.expected]


def test_nothing_outside_was_touched_reached_or_left_behind(siege: dict[str, Any]) -> None:
    assert siege["harm"] == []


def test_no_secret_came_out_and_nobody_broke_out(siege: dict[str, Any]) -> None:
    assert SECRET not in siege["said"]
    told = {**siege["programs"], **{f"evaluator: {name}": each for name, each in siege["evaluators"].items()}}
    assert {name: said for name, said in told.items() if "BREACH" in said[1]} == {}


def test_every_program_ends_for_the_right_reason(siege: dict[str, Any]) -> None:
    expected = {each.name: each.expected for each in programs(siege["as"])}
    assert siege["programs"].keys() == expected.keys() and len(expected) >= 30
    assert {name: said for name, said in siege["programs"].items() if said[0] not in expected[name]} == {}
    assert siege["honest"] == ["returned", "[45, false]"]


def test_every_evaluator_is_refused_or_harmless_and_does_not_escape_its_limits(siege: dict[str, Any]) -> None:
    expected = {each.name: each.expected for each in evaluators(siege["as"])}
    found = siege["evaluators"]
    assert found.keys() == expected.keys()
    assert {name: each for name, each in found.items() if each[0] not in expected[name]} == {}
    assert {name: each for name, each in found.items() if each[0] == LOADED and each[2] != "timeout"} == {}
    assert all("Traceback" not in said for kind, said, _ in found.values() if kind == REFUSED)


HARMFUL = {
    "TCP": "TCP",
    "UDP": "UDP",
    "an abstract socket": "abstract",
    "a socket in a folder": "unix",
    "a neighbour's socket beside the evaluator": "neighbour",
    "a shell": "canaries/shell",
    "writing beside the evaluator": "data/new",
    "changing the evaluator": "evaluator/evaluator.py",
    "a canary": "canaries/file",
}
"""Attacks by what the oracle finds of them where nothing prevents them."""
REACHING = (
    "other processes",
    "memory without a process",
    "meeting another evaluation, as the other",
    "a link to a secret file",
)
"""Attacks that say themselves that they got through."""


def test_the_oracle_sees_harm_where_nothing_prevents_it() -> None:
    told = besieged(THIS_INTERPRETER, None, (), (*HARMFUL, *REACHING, "meeting another evaluation, as one"))
    assert told["isolation"] == "process"
    harm = " ".join(told["harm"])
    assert [name for name, trace in HARMFUL.items() if trace not in harm] == []
    assert [name for name in REACHING[:3] if "BREACH" not in told["programs"][name][1]] == []
    assert SECRET in told["said"]
