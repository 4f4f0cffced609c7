"""A run is not held by the interpreter itself: what has arrived meanwhile would not be committed yet."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from behavesim.application.session import shorten_pauses


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(0.005)  # a run in this process may have set both up before
    gc.set_threshold(700, 10, 10)
    gc.freeze()  # how many objects are looked at depends on how many there are: those of other tests shall not count
    yield
    gc.unfreeze()
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


def full_collections_while_loading() -> int:
    """How often all objects are looked at while as many are made as loading the kernels makes."""
    seen: list[int] = []

    def look(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(look)
    try:
        kept = [[number] for number in range(400_000)]
    finally:
        gc.callbacks.remove(look)
    assert len(kept) == 400_000
    return seen.count(2)


def test_loading_a_lot_does_not_have_all_objects_looked_at() -> None:
    gc.collect()
    assert full_collections_while_loading() > 0
    shorten_pauses()
    gc.collect()
    assert full_collections_while_loading() == 0


def test_garbage_is_still_collected() -> None:
    shorten_pauses()
    before = len(gc.get_objects())
    for _ in range(50_000):
        loop: list[object] = []
        loop.append(loop)
    assert len(gc.get_objects()) < before + 25_000


def test_a_thread_that_computes_gives_way_sooner() -> None:
    before = sys.getswitchinterval()
    shorten_pauses()
    assert sys.getswitchinterval() < before
