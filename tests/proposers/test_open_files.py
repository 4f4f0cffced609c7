"""As many files can be open as connections need, or a run says so before it begins."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from behavesim.base.errors import UsageError
from behavesim.proposers.openai import BESIDE, OpenAIProposer, allow
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.proposer import ProposerContext
from tests.engine import toys


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The soft and the hard limit of a process that is not this one."""
    limits: dict[str, Any] = {"now": (24, 1024)}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limit: limits.update(now=limit))
    return limits


def test_the_limit_is_raised_to_what_is_needed(limits: dict[str, Any]) -> None:
    allow(64)
    assert limits["now"] == (64 + BESIDE, 1024)
    limits["now"] = (24, resource.RLIM_INFINITY)
    allow(64)
    assert limits["now"] == (64 + BESIDE, resource.RLIM_INFINITY)


@pytest.mark.parametrize("enough", [(8 + BESIDE, 8 + BESIDE), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)])
def test_a_limit_that_is_enough_stays(limits: dict[str, Any], enough: tuple[int, int]) -> None:
    limits["now"] = enough
    allow(8)
    assert limits["now"] == enough


def test_a_limit_that_cannot_be_raised_is_named_with_what_to_do(limits: dict[str, Any]) -> None:
    limits["now"] = (24, 100)
    with pytest.raises(UsageError, match=r"64 connections take 128 open files .* limit is 100; .*ulimit -n 128"):
        allow(64)


def test_a_proposer_asks_for_its_files(limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    limits["now"] = (24, 24)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(UsageError, match="open files"):
        OpenAIProposer.of(OpenAISettings(), ProposerContext(toys.Toy(), 0, 8))
