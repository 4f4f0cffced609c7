from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from behavesim.application.experiment import execution


@pytest.fixture(autouse=True, scope="module")
def _runs_that_begin_anew() -> Iterator[None]:
    """Here the processes of an experiment begin as they do for people."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "asyncio", asyncio)
        yield
