"""No program does harm where isolation is strong: every attack, judged by an oracle outside the sandbox."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.attack import Attack
from tests.sandbox.attacks_on_the_judge import REPLACEMENTS
from tests.sandbox.attacks_on_the_kernel import ON_THE_KERNEL
from tests.sandbox.attacks_on_the_machine import FILES, NETWORK, ON_THE_MACHINE, PROCESSES, RIGHTS
from tests.sandbox.attacks_on_the_search import CHEATS, STALLING
from tests.sandbox.attacks_on_the_walls import ON_THE_WALLS, OWN_FUNCTIONS, SECRETS, THREADS, WAYS_TO_FILES
from tests.sandbox.outside import (
    NOBODY,
    SECRET,
    THIS_INTERPRETER,
    Interpreter,
    Outside,
    folder_for_everybody,
    interpreter_for_everybody,
)
from tests.sandbox.siege import ATTACKS
from tests.shared import shared

pytestmark = pytest.mark.timeout(1800)  # a siege is one test's setup

LAYERS = {
    "strong+": ("user", "namespaces", "landlock", "seccomp"),
    "strong": ("user", "landlock", "seccomp"),
}
USERS = ("whoever runs the tests", "root that becomes nobody", "nobody from the start")
WHOLE = ("strong+", USERS[0])
"""The siege with all attacks."""
SIEGES = [WHOLE, ("strong+", USERS[2]), ("strong", USERS[1])]
"""Each user and each level; root that becomes nobody at the higher level is besieged in tree/."""
ON_THE_SYSTEM = (*ON_THE_MACHINE, *ON_THE_KERNEL, *ON_THE_WALLS)
OF_USERS = (
    *(each for each in ON_THE_SYSTEM if each in {*FILES, *RIGHTS, *WAYS_TO_FILES, *SECRETS} or "DAEMON" in each.source),
    *STALLING,
)
"""The attacks of the other sieges: what the kernel says to them depends on the user, and a limit on who has it.

The filter of calls, and what trusted code makes of a frame or an error, know no user; `WEAKER` has the filter alone.
"""
WEAKER: dict[str, tuple[Attack, ...]] = {
    "seccomp": (*PROCESSES, *FILES, *NETWORK, *RIGHTS, *ON_THE_KERNEL, *THREADS, *OWN_FUNCTIONS),
    "landlock": (*FILES, *WAYS_TO_FILES, *SECRETS),
    "limits": (*STALLING, *CHEATS, *REPLACEMENTS),
}
"""What each layer alone must keep from doing harm; limits, which no machine lacks, hold the score and the time.
What trusted code makes of frames, solutions and errors knows no layer.

Who has more rights attacks harder, but root has no limit on processes.
"""
HONEST_SCORE = pytest.approx(1.0702655766734637)
IDENTITY_SCORE = pytest.approx(2.0140438530214544)


@pytest.fixture(scope="module")
def public_interpreter() -> Iterator[Interpreter]:
    folder = folder_for_everybody()
    yield interpreter_for_everybody(folder / "python")
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=SIEGES, ids=" as ".join)
def siege(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    level, user = request.param
    attacks = ATTACKS if request.param == WHOLE else OF_USERS
    if user != USERS[0] and os.geteuid() != 0:
        pytest.skip("only root can become another user")

    def besieged(folder: Path) -> None:
        interpreter = THIS_INTERPRETER if user == USERS[0] else request.getfixturevalue("public_interpreter")
        outside = Outside(folder_for_everybody(), interpreter, NOBODY if user == USERS[2] else None)
        told = outside.besiege(LAYERS[level], tuple(attack.name for attack in attacks))
        (folder / "told").write_text(json.dumps({**told, "level": level, "as": user, "harm": outside.harm()}))
        outside.close()
        shutil.rmtree(outside.folder)

    found = shared(tmp_path_factory, f"siege, {level} as {user}", besieged)
    told: dict[str, Any] = json.loads((found / "told").read_text())
    if (level == "strong+" and told["isolation"] == "strong") or told["isolation"] in ("partial", "process"):
        pytest.skip(f"this machine gives {told['isolation']}: {told['notes']}")
    return {**told, "attacks": attacks}


def test_the_isolation_is_what_the_layers_promise(siege: dict[str, Any]) -> None:
    assert siege["isolation"] == siege["level"]


def test_nothing_outside_was_touched_reached_or_left_behind(siege: dict[str, Any]) -> None:
    assert siege["harm"] == []


def test_no_secret_came_out(siege: dict[str, Any]) -> None:
    assert SECRET not in siege["said"]


def test_every_attack_fails_for_the_right_reason(siege: dict[str, Any]) -> None:
    outcomes, attacks = siege["outcomes"], siege["attacks"]
    assert outcomes.keys() == {attack.name for attack in attacks}
    assert {
        attack.name: outcomes[attack.name]
        for attack in attacks
        if outcomes[attack.name]["reason"] not in attack.expected
    } == {}
    assert [name for name, outcome in outcomes.items() if "BREACH" in outcome["message"]] == []
    assert_in_order(outcomes)


def assert_in_order(outcomes: dict[str, dict[str, Any]]) -> None:
    """What is said of programs can be shown, and no score but the honest one is given."""
    for name, outcome in outcomes.items():
        assert len(outcome["message"]) <= 500, name
        assert outcome["message"].isprintable(), name
        assert outcome["reason"] != "score" or outcome["score"] == IDENTITY_SCORE, name


def test_honest_programs_with_numpy_scipy_and_numba_work(siege: dict[str, Any]) -> None:
    assert [outcome.get("score") for outcome in siege["honest"]] == [HONEST_SCORE, HONEST_SCORE]


def test_root_becomes_nobody_where_nobody_can_read_python(siege: dict[str, Any]) -> None:
    kept = [note for note in siege["notes"] if note.startswith("user:")]
    assert not kept or siege["as"] == USERS[0]


@pytest.mark.parametrize(("layer", "user"), [*((layer, USERS[0]) for layer in WEAKER), ("limits", USERS[2])])
def test_below_strong_each_layer_holds_on_its_own_what_it_is_for(
    layer: str, user: str, request: pytest.FixtureRequest
) -> None:
    if user != USERS[0] and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    interpreter = THIS_INTERPRETER if user == USERS[0] else request.getfixturevalue("public_interpreter")
    outside = Outside(folder_for_everybody(), interpreter, NOBODY if user == USERS[2] else None)
    attacks = WEAKER[layer] if user == USERS[0] else STALLING
    told = outside.besiege((layer,), tuple(attack.name for attack in attacks))
    if layer != "limits" and told["isolation"] != "partial":
        pytest.skip(f"this machine gives {told['isolation']}: {told['notes']}")
    changed = {f"{outside.canaries / 'file'} changed"}  # its mode, times and owner, of which Landlock knows nothing
    assert set(outside.harm()) <= (changed if layer == "landlock" else set())
    outside.close()
    shutil.rmtree(outside.folder)
    assert_in_order(told["outcomes"])
    assert [outcome.get("score") for outcome in told["honest"]] == [HONEST_SCORE]


@pytest.fixture(scope="module")
def without_layers() -> Iterator[dict[str, Any]]:
    outside = Outside(folder_for_everybody(), THIS_INTERPRETER)
    told = outside.besiege((), (*HARMFUL, *REACHING))
    yield {**told, "harm": " ".join(outside.harm())}
    outside.close()
    shutil.rmtree(outside.folder)


HARMFUL = {
    "TCP": "TCP",
    "UDP": "UDP",
    "an abstract socket": "abstract",
    "a socket in a folder": "unix",
    "a shell by system": "canaries/system",
    "changing a file's mode": "canaries/file",
    "a shell by libc": "canaries/libc",
    "a spawn by libc": "canaries/libc-spawn",
    "a program in the background": "canaries/spawnv",
    "a shell with a pipe": "canaries/popen",
    "an array into a file": "canaries/tofile",
    "an archive": "canaries/zip",
    "a log": "canaries/log",
    "creat (call 85)": "canaries/creat",
    "a node (call 133)": "canaries/node",
    "a link in a folder (call 265)": "canaries/linkat",
}
"""Attacks by what the oracle finds of them where nothing prevents them."""
REACHING = (
    *("the daemon's time (call 228)", "the daemon's limits (call 302)", "the daemon's cores (call 204)"),
    *("a pair of sockets (call 53)", "waiting for events (call 291)", "watching files (call 294)"),
    *("a barrier on all cores (call 324)", "a hole in a file (call 28)"),
    *(
        "a secret file",
        "a thread bomb that tries on",
        "the folder it stands in",
        "the task's own file",
        "every place with secrets",
    ),
)
"""Attacks that say themselves that they got through."""


def test_the_oracle_sees_harm_where_nothing_prevents_it(without_layers: dict[str, Any]) -> None:
    assert without_layers["isolation"] == "process"
    assert [name for name, trace in HARMFUL.items() if trace not in without_layers["harm"]] == []


def test_attacks_get_through_where_nothing_prevents_them(without_layers: dict[str, Any]) -> None:
    outcomes = without_layers["outcomes"]
    assert [name for name in REACHING if "BREACH" not in outcomes[name]["message"]] == []
    assert SECRET in without_layers["said"]
