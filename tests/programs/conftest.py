"""The replies as a fixture: test modules cannot import one another by name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SPEC = importlib.util.spec_from_file_location("replies", Path(__file__).with_name("replies.py"))
assert SPEC is not None
assert SPEC.loader is not None
REPLIES = importlib.util.module_from_spec(SPEC)
sys.modules["replies"] = REPLIES
SPEC.loader.exec_module(REPLIES)


@pytest.fixture(scope="session")
def replies() -> ModuleType:
    return REPLIES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test once for each accepted, or each rejected, reply where it asks for one."""
    for name, cases in (("accepted", REPLIES.ACCEPTED), ("rejected", REPLIES.REJECTED)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases.values(), ids=[case.replace(" ", "-") for case in cases])
