"""Changes that know the format: a JSON document in which one part is another, inside what a target takes."""

from __future__ import annotations

import json
import math
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from behavesim.sandbox.frames import DTYPES
from tests.fuzz.targets import COLUMNS, ROWS
from tests.proposers import hostile_answers

RUBBISH: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2**31 - 1, 2**31, 2**63, 10**400, 0.5, float("nan"), float("inf"), "", "a", "\x1b[2J"),
    *([], [0], {}, {"a": 1}, "|b1", "<i2", "<f8", "|O", "improve", "Added", [0, 2**31 - 1, 2**31 - 1], [[]] * 3),
)
LONGEST_ARRAYS = 2048
SIZES = {kind: np.dtype(kind).itemsize for kind in DTYPES}

Change = Callable[[bytes, random.Random], bytes]


def header(data: bytes, chance: random.Random) -> bytes:
    """Another header, mostly with arrays as long as it says."""
    head, _, arrays = data[1:].partition(b"\0")
    changed = _document(head, chance)
    size = _promised(changed) + (chance.choice([-1, 1, 8]) if chance.random() < 0.1 else 0)
    filled = (arrays or b"\1\0") * (max(size, 0) // max(len(arrays), 1) + 1)
    first = data[:1] if data[:1] >= b"\x80" else bytes([128 + chance.randrange(128)])
    return first + changed + b"\0" + filled[: max(size, 0)]


def row(data: bytes, chance: random.Random) -> bytes:
    """Another payload in one of the rows, or the rows in another order."""
    rows = data.split(bytes([ROWS]))
    if chance.random() < 0.2:
        chance.shuffle(rows)
    place = chance.randrange(len(rows))
    columns = rows[place].split(bytes([COLUMNS]))
    if len(columns) > 4:
        columns[4] = b"t" + _document(columns[4][1:], chance)
    rows[place] = bytes([COLUMNS]).join(columns)
    return bytes([ROWS]).join(rows)


def answer(data: bytes, chance: random.Random) -> bytes:
    """Another document, under the same status and headers."""
    *heading, body = data.split(b"\n", 3)
    return b"\n".join([*heading, _document(body, chance)])


CHANGES: dict[str, Change] = {"decoder": header, "answers": answer, "events": row, "rows": row}

WORDS: dict[str, tuple[str, ...]] = {
    "extraction": (
        *("```", "```python\n", "~~~", "\n", "    ", "\t", "<think>", "</think>", "def pick(", "a, b, c", "):\n"),
        *(
            "return ",
            "lambda ",
            "import np",
            "from __future__ import annotations",
            "global x",
            "nonlocal x",
            "class A:",
        ),
        *("if a:", "elif b:", "else:", "try:", "except* E:", "match a:", "case {**r}:", "async ", "await ", "yield "),
        *("f'{a}'", "'''", '"', "\\", "\\ud800", "\\N{DIGIT ONE}", "[", "(", "{", "*", "**", ":=", "@", "#", ";", "\0"),
    ),
    "answers": (
        *("choices", "message", "content", "text", "tool_calls", "function", "arguments", "function_call", "refusal"),
        *("reasoning_content", "finish_reason", "usage", "prompt_tokens", "prompt_tokens_details", "cached_tokens"),
        *(
            "error",
            "code",
            "param",
            "detail",
            "object",
            "temperature",
            "system role",
            "model_not_found",
            "429\n",
            "200\n",
        ),
        *("1e999", "NaN", "\\ud800", "<!doctype html>", "&#27;", hostile_answers.KEY, " GMT", "1h2m"),
    ),
    "events": ("tAdded", "tEvaluated", "t{}", "b", "null", "NaN", "1e999", "\\ud800"),
    "rows": ("i1", "f1e9", "n", "tAdded", "tEvaluated", "t{}", "b", "null", "NaN", "1e999", "\\ud800"),
    "file": ("SQLite format 3", "LOGLOGLOG", "CREATE TABLE events", "STRICT"),
    "decoder": ('{"solutions": [[["", "<i8", [2]]]]}', '"failure"', '"message"', "|b1", "2147483647"),
}
"""Words that a target knows, for the fuzzer's dictionary."""


def _document(text: bytes, chance: random.Random) -> bytes:
    """A JSON document in which one part is another; as it is where it is none."""
    try:
        document = [json.loads(text)]
    except (ValueError, RecursionError):
        return text
    node: Any = document
    while True:
        key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if not (isinstance(node[key], list | dict) and node[key]) or chance.random() < 0.15:
            break
        node = node[key]
    if isinstance(node, list) and chance.random() < 0.3:
        node.insert(key, chance.choice([node[key], *RUBBISH]))
    else:
        node[key] = chance.choice(RUBBISH)
    return json.dumps(document[0]).encode() if document else b"null"


def _promised(text: bytes) -> int:
    """The bytes of arrays that a header asks for, as far as it can be read and they are few."""
    try:
        arrays = [array for solution in json.loads(text)["solutions"] for array in solution]
        sizes = [math.prod(map(operator.index, shape)) * SIZES.get(kind, 1) for _, kind, shape in arrays]
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return 0
    return max(0, min(sum(sizes), LONGEST_ARRAYS))
