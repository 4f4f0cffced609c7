"""Python is parsed in one thread at a time."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import behavesim
from behavesim.base.text import parse

NESTED = "found = " + "(" * 60 + "1" + " + 1)" * 60


@pytest.fixture
def collected_all_the_time() -> Iterator[None]:
    """Collect garbage again and again, even in the middle of parsing, and let other threads run whenever that is."""

    def let_others_run(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(let_others_run)
    gc.set_threshold(20)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(let_others_run)


@pytest.mark.usefixtures("collected_all_the_time")
def test_threads_that_parse_at_the_same_time_do_not_disturb_one_another() -> None:
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda _: len(parse(NESTED).body) == 1, range(40)))


def test_nothing_parses_in_another_way() -> None:
    sources = Path(behavesim.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "ast.parse(" in path.read_text()] == ["text.py"]
