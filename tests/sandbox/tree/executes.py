"""A loader for tests of the second profile: each program is executed, and its `out` is sent back as JSON."""

from __future__ import annotations

import json
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def load(given: str) -> Callable[[str], bytes]:
    """Return what executes a program; `given` is the value of its name `given`."""

    def evaluate(source: str) -> bytes:
        names: dict[str, Any] = {"given": given}
        try:
            exec(source, names)
        except BaseException as error:  # noqa: BLE001 (whatever a program raises is what the test asks for)
            return json.dumps({"raised": traceback.format_exception_only(error)[-1].strip()}).encode()
        return json.dumps(names.get("out")).encode()

    return evaluate


def load_threads(given: str) -> Callable[[str], bytes]:
    """Start a thread that never ends, as an evaluator must not when it is loaded."""
    import threading
    import time

    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    return load(given)


def load_writing(given: str) -> Callable[[str], bytes]:
    """Write a file, as libraries do that keep caches."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "cache").write_text("written")
        given = Path(folder, "cache").read_text()
    Path("/tmp/left").touch()
    return load(given)


def load_hostile(given: str) -> Callable[[str], bytes]:
    """Execute what is given, as an evaluator that attacks when it is loaded; what it raises is of no interest."""
    names: dict[str, Any] = {}
    try:
        exec(given, names)
    except Exception as error:  # noqa: BLE001 (whatever an attack raises, the sandbox goes on)
        names["stolen"] = repr(error)
    return load(str(names.get("stolen")))
