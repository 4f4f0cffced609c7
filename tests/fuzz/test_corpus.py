"""Every input that the fuzzer begins with, what it found among them, breaks no promise."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")

HARM = [b"", b"\0", b"\xff", b"9", b'"', b"[", b"-1", b"null"]


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_that_was_kept_breaks_a_promise(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_some_damaged_inputs_break_none(target: str) -> None:
    chance = random.Random(11)
    known = [data for data in seeds(target) if len(data) < 20_000]
    for _ in range(60):
        data = bytearray(chance.choice(known))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randint(0, 4)] = chance.choice(HARM)
        TARGETS[target](bytes(data))
