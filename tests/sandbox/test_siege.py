"""No program does harm where isolation is strong: every attack, judged by an oracle outside the sandbox."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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
from tests.sandbox.siege import ATTACKS

LAYERS = {
    "strong+": ("user", "namespaces", "landlock", "seccomp"),
    "strong": ("user", "landlock", "seccomp"),
}
USERS = ("whoever runs the tests", "root that becomes nobody", "nobody from the start")
WEAKER = {"strong+": ("strong", "partial", "process"), "strong": ("partial", "process")}
SIEGES = [(level, user) for level in LAYERS for user in USERS if (level, user) != ("strong", USERS[1])]
HONEST_SCORE = pytest.approx(1.0702655766734637)
IDENTITY_SCORE = pytest.approx(2.0140438530214544)


@pytest.fixture(scope="module")
def public_interpreter() -> Iterator[Interpreter]:
    folder = folder_for_everybody()
    yield interpreter_for_everybody(folder / "python")
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=SIEGES, ids=" as ".join)
def siege(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    level, user = request.param
    if user != USERS[0] and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    interpreter = THIS_INTERPRETER if user == USERS[0] else request.getfixturevalue("public_interpreter")
    outside = Outside(folder_for_everybody(), interpreter, NOBODY if user == USERS[2] else None)
    told = outside.besiege(LAYERS[level])
    if (level == "strong+" and told["isolation"] == "strong") or told["isolation"] in ("partial", "process"):
        pytest.skip(f"this machine gives {told['isolation']}: {told['notes']}")
    yield {**told, "level": level, "as": user, "harm": outside.harm()}
    outside.close()
    shutil.rmtree(outside.folder)


def test_the_isolation_is_what_the_layers_promise(siege: dict[str, Any]) -> None:
    assert siege["isolation"] == siege["level"]


def test_nothing_outside_was_touched_reached_or_left_behind(siege: dict[str, Any]) -> None:
    assert siege["harm"] == []


def test_no_secret_came_out(siege: dict[str, Any]) -> None:
    assert SECRET not in siege["said"]


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_the_attack_fails_for_the_right_reason(siege: dict[str, Any], attack: Any) -> None:
    outcome = siege["outcomes"][attack.name]
    assert outcome["reason"] in attack.expected, outcome
    assert "BREACH" not in outcome["message"]
    assert len(outcome["message"]) <= 500
    assert outcome["message"].isprintable()
    if outcome["reason"] == "score":
        assert outcome["score"] == IDENTITY_SCORE


def test_honest_programs_with_numpy_scipy_and_numba_work(siege: dict[str, Any]) -> None:
    assert [outcome.get("score") for outcome in siege["honest"]] == [HONEST_SCORE, HONEST_SCORE]


def test_root_becomes_nobody_where_nobody_can_read_python(siege: dict[str, Any]) -> None:
    kept = [note for note in siege["notes"] if note.startswith("user:")]
    assert not kept or siege["as"] == USERS[0]


def test_the_oracle_sees_harm_where_nothing_prevents_it() -> None:
    outside = Outside(folder_for_everybody(), THIS_INTERPRETER)
    names = (
        *("TCP", "UDP", "an abstract socket", "a socket in a folder", "a shell by system", "a secret file"),
        *("a daemon in its own session", "deleting a file", "changing a file's mode"),
    )
    told = outside.besiege((), names)
    assert told["isolation"] == "process"
    harm = " ".join(outside.harm())
    outside.close()
    for expected in ("TCP", "UDP", "abstract", "unix", "canaries/system", "canaries/file"):
        assert expected in harm
    assert SECRET in told["said"]
    shutil.rmtree(outside.folder)
