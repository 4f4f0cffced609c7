from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import ZygoteConnection, ZygoteSupervisor
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import Ready, TaskAssignment


class _Zygote:
    def __init__(self) -> None:
        self.alive = True

    async def close(self) -> None:
        self.alive = False


def _supervisor(accept: Callable[[Ready], None]) -> ZygoteSupervisor:
    return ZygoteSupervisor(TaskAssignment("", "search", (), 1.0, limits=Limits(), layers=()), accept, Heartbeat())


async def test_a_refused_zygote_serves_no_later_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[_Zygote] = []

    async def open_one(*_: Any) -> tuple[_Zygote, Ready]:
        opened.append(_Zygote())
        return opened[-1], Ready("partial", (), 1)

    def refuse_the_first(ready: Ready) -> None:
        if len(opened) == 1:
            raise SandboxError("the isolation fell")

    monkeypatch.setattr(ZygoteConnection, "open", open_one)
    supervisor = _supervisor(refuse_the_first)
    with pytest.raises(SandboxError, match="the isolation fell"):
        await supervisor.connection()
    assert not opened[0].alive
    assert await supervisor.connection() is opened[1]
