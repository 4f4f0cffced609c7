"""Frames carry arrays faithfully, and nothing that a hostile process writes does more than raise FrameError."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from behavesim.sandbox.frames import (
    EMPTY_LIMIT,
    HEADER_LIMIT,
    PREFIX,
    FrameError,
    TooLarge,
    as_message,
    decode,
    encode_failure,
    encode_solutions,
)
from behavesim.task.verdict import Failure

MEGABYTE = 1 << 20
DTYPES = st.sampled_from(["?", "i1", "u1", "<i2", ">i4", "<i8", "u8", "<f2", "<f4", ">f8"])


def frame(header: object, data: bytes = b"") -> bytes:
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return PREFIX.pack(len(encoded) + len(data), len(encoded)) + encoded + data


@given(hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
@settings(max_examples=80)
def test_an_array_comes_back_as_it_was(array: np.ndarray) -> None:
    (back,) = decode(encode_solutions([{"": array}], MEGABYTE), 1)
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("<")
    np.testing.assert_array_equal(back, array)


def test_several_solutions_of_several_named_arrays_come_back_in_order() -> None:
    solutions = [{"tour": np.arange(5), "cost": np.array(2.5)}, {"tour": np.arange(3)[::-1], "cost": np.zeros((2, 0))}]
    back = decode(encode_solutions(solutions, MEGABYTE), 2)
    assert [list(each) for each in back] == [["tour", "cost"], ["tour", "cost"]]
    assert back[1]["tour"].tolist() == [2, 1, 0]
    assert back[1]["cost"].shape == (2, 0)


def test_a_failure_comes_back_as_one() -> None:
    assert decode(encode_failure("exception", "ValueError: no (line 3)"), 2) == Failure(
        "exception", "ValueError: no (line 3)"
    )


@pytest.mark.parametrize("dtype", ["O", "U3", "S3", "c16", "M8[s]", "V4"])
def test_arrays_of_other_things_than_numbers_are_refused_at_the_source(dtype: str) -> None:
    with pytest.raises(FrameError, match="array of numbers"):
        encode_solutions([{"": np.zeros(3, dtype)}], MEGABYTE)


def test_too_many_bytes_are_refused_before_they_are_copied() -> None:
    with pytest.raises(TooLarge, match="8000 bytes"):
        encode_solutions([{"": np.zeros(1000)}], 7999)


ONE = {"solutions": [[["", "<i8", [2]]]]}


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\x00" * 7,
        PREFIX.pack(0, 0),
        PREFIX.pack(2**32 - 1, 2) + b"{}",
        PREFIX.pack(2, 3) + b"{}",
        frame(b"[" * HEADER_LIMIT),
        frame(b"{" + b" " * HEADER_LIMIT),
        frame(b'{"solutions": ' + b"9" * 5000 + b"}"),
        frame(b'{"solutions": NaN}'),
        frame(b"\xff\xfe"),
        frame(7),
        frame([]),
        frame({}),
        frame({"solutions": [], "score": 0.0}),
        frame({"solutions": []}),
        frame({"solutions": [[]]}),
        frame({"solutions": [[["", "<i8"]]]}),
        frame({"solutions": [[["", "<i8", [2]], ["", "<i8", [0]]]]}, b"\0" * 16),
        frame({"solutions": [[["", "|O", [2]]]]}, b"\0" * 16),
        frame({"solutions": [[["", "<i8", [-2]]]]}),
        frame({"solutions": [[["", "<i8", [True]]]]}, b"\0" * 8),
        frame({"solutions": [[["", "<i8", [2.0]]]]}, b"\0" * 16),
        frame({"solutions": [[["", "<i8", [0, 10**30]]]]}),
        frame({"solutions": [[["", "<i8", [0] * 9]]]}),
        frame({"solutions": [[["", "<i8", [1 << 30, 1 << 30, 1 << 30]]]]}),
        frame({"solutions": [[["", "<i8", [0, 2**31 - 1, 2**31 - 1, 2**31 - 1]]]]}),
        frame({"solutions": [[["", "|b1", [0, 2**31 - 1]]]]}),
        frame({"solutions": [[["", "<i8", [EMPTY_LIMIT + 1, 0]]]]}),
        frame({"solutions": [[["\u001b[2J", "<i8", [2]]]]}, b"\0" * 16),
        frame({"solutions": [[["x" * 101, "<i8", [2]]]]}, b"\0" * 16),
        frame({"solutions": [[["", "|b1", [2]]]]}, b"\x01\x02"),
        frame(ONE, b"\0" * 15),
        frame(ONE, b"\0" * 17),
        frame(ONE, b"\0" * 16) + b"\0",
        frame({"failure": "timeout", "message": "not its to say"}),
        frame({"failure": "exception", "message": 7}),
        frame({"failure": ["exception"], "message": ""}),
    ],
)
def test_a_frame_that_breaks_a_rule_is_refused(broken: bytes) -> None:
    with pytest.raises(FrameError):
        decode(broken, 1)


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        ({"": np.zeros((0, 1 << 40), bool)}, "shape is not made of lengths"),
        ({"": np.zeros((0, 1 << 20))}, "empty and vast"),
        ({"": np.zeros((1,) * 9)}, "shape is none"),
        ({"x" * 101: np.zeros(1)}, "name is none"),
        ({f"{number:0>90}": np.zeros(1) for number in range(1000)}, "bytes to describe"),
        ({}, "no array"),
    ],
)
def test_what_the_other_side_would_refuse_an_honest_program_hears_of_in_its_own_process(
    solution: dict[str, Any], said: str
) -> None:
    with pytest.raises(FrameError, match=said):
        encode_solutions([solution], MEGABYTE)


RUBBISH = st.one_of(
    *(st.none(), st.booleans(), st.floats(), st.integers(-(2**70), 2**70), st.text(max_size=3)),
    *(st.just([]), st.just({}), st.sampled_from(["|O", ">i8", "<c16", "\ud800", "\x1b[2J", 2**31, [0] * 9])),
)
ODD = st.sampled_from([EMPTY_LIMIT, EMPTY_LIMIT + 1, 2**31 - 1])
SHAPES = st.one_of(st.lists(st.integers(0, 4), max_size=4), st.lists(st.one_of(st.just(0), ODD), max_size=8))
ARRAYS = st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["|b1", "<i8", "<f2", "<f8"]), SHAPES).map(list)
SOLUTIONS = st.lists(ARRAYS, min_size=1, max_size=3, unique_by=lambda array: array[0])


@st.composite
def headers(draw: st.DrawFn) -> Any:
    """The header of one solution, or of one in which a part of any depth is something else."""
    header: Any = {"solutions": [draw(SOLUTIONS)]}
    node, depth = header, draw(st.integers(0, 10))
    for _ in range(depth if depth < 6 else 0):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = draw(st.sampled_from(keys))
        if isinstance(node[key], list) and node[key] and draw(st.booleans()):
            node = node[key]
        else:
            node[key] = draw(RUBBISH)
            break
    return header


def promised(header: Any) -> int:
    """The bytes that a header's arrays take, as far as that can be said."""
    try:
        entries = [entry for solution in header["solutions"] for entry in solution]
        return min(int(sum(math.prod(shape) * np.dtype(dtype).itemsize for _, dtype, shape in entries)), MEGABYTE)
    except (TypeError, ValueError, OverflowError):
        return 0


@given(headers(), st.sampled_from([0, 0, 0, -1, 1]), st.sampled_from([b"\0", b"\1", b"\xff"]))
@settings(max_examples=100)
def test_whatever_a_header_says_is_refused_or_can_be_worked_with(header: Any, beside: int, fill: bytes) -> None:
    data = fill * max(0, promised(header) + beside)
    try:
        held = decode(frame(header, data), 1)
    except FrameError:
        return
    assert not isinstance(held, Failure)
    arrays = held[0].values() if isinstance(held[0], dict) else [held[0]]
    for array in arrays:
        assert math.prod(length or 1 for length in array.shape) <= max(EMPTY_LIMIT, len(data))
        with np.errstate(all="ignore"):
            array.astype(float).sum(axis=0 if array.ndim else None)  # as any task's score may


def test_fifteen_thousand_damaged_frames_are_refused_or_hold_what_a_frame_may_hold() -> None:
    chance = random.Random(4711)
    whole = [
        frame(ONE, b"\0" * 16),
        encode_failure("exception", "x"),
        encode_solutions([{"a": np.ones(3), "b": np.ones((2, 2), bool)}], MEGABYTE),
    ]
    refused = 0
    for _ in range(15_000):
        try:
            held = decode(_damaged(chance, bytearray(chance.choice(whole))), 1)
        except FrameError:
            refused += 1
        else:
            assert isinstance(held, Failure | tuple)
            assert not isinstance(held, Failure) or held.message.isprintable()
    assert 5_000 < refused < 15_000  # some damage harms nobody: a bit of a number, a letter of a message


def _damaged(chance: random.Random, data: bytearray) -> bytes:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[at : at + chance.randint(1, 9)]
            case 2:
                data[at:at] = chance.randbytes(chance.randint(1, 9))
            case 3:
                data[at:at] = chance.choice([b"[", b"{", b'"', b"-1", b"1e999", b"null", b"\\ud800", b"[[", b'":'])
            case 4:
                data[:8] = struct.pack("<II", max(len(data) - 8, 0), chance.randrange(2 * len(data) + 1))
    return bytes(data)


@given(st.binary(max_size=300))
@settings(max_examples=150)
def test_any_bytes_are_refused_or_decoded(data: bytes) -> None:
    for each in (data, frame(data), frame(ONE, data)):
        try:
            decode(each, 1)
        except FrameError:
            continue


@given(st.text(max_size=800))
@settings(max_examples=80)
def test_printable_text_is_short_and_commands_no_terminal(text: str) -> None:
    safe = as_message(text + "\x1b[2J\ud800\n")
    assert len(safe) <= 500
    assert safe.isprintable()
    safe.encode()


@pytest.mark.parametrize("names", [("",), ("tour", "(answers)")])
def test_a_frame_holds_the_solutions_of_ten_thousand_instances(names: tuple[str, ...]) -> None:
    solutions = [{name: np.array([number, 1]) for name in names} for number in range(10_000)]
    found = decode(encode_solutions(solutions, MEGABYTE), 10_000)
    assert isinstance(found, tuple)
    last = found[-1]
    assert all(array.tolist() == [9999, 1] for array in (last.values() if isinstance(last, dict) else [last]))
