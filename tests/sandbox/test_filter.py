"""The filter of system calls, run by a small interpreter, on the machines that it is written for."""

from __future__ import annotations

import errno
import os
import platform
import struct

import pytest

from behavesim.sandbox import kernel, seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE_THREAD, SIGCHLD = 0x10000, 17
MINUS_ONE = 2**32 - 1


@pytest.fixture(params=kernel.ARCHITECTURES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return request.param


def answer(machine: str, call: int, *arguments: int) -> int:
    """What the kernel would answer: the classic packet filter has an accumulator and jumps forward."""
    padded = [each & (2**64 - 1) for each in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", call, AUDIT[machine], 0, *padded)
    program = list(struct.iter_unpack("<HBBI", seccomp.program()))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, operand = program[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"no instruction {operation:#x}")


def number(call: str) -> int:
    found = kernel.call_number(call)
    assert found is not None
    return found


def refused(code: int) -> int:
    return 0x00050000 | code


def test_harmless_calls_pass(machine: str) -> None:
    for call in kernel.ALLOWED:
        if kernel.call_number(call) is not None:
            assert answer(machine, number(call)) == ALLOW, call


def test_no_other_call_passes(machine: str) -> None:
    listed = {kernel.call_number(call) for call in (*kernel.ALLOWED, *kernel.ALLOWED_BY_ARGUMENT)}
    for call in (*range(600), 0x40000000 + number("getpid"), 2**32 - 1):
        if call not in listed:
            assert answer(machine, call) == refused(errno.EPERM), call


def test_calls_of_another_architecture_kill(machine: str) -> None:
    other = next(each for each in kernel.ARCHITECTURES if each != machine)
    assert answer(other, number("read")) == KILL


@pytest.mark.parametrize("flags", [CLONE_THREAD | 0x3D0F00, SIGCHLD])
def test_neither_threads_nor_processes_can_be_made(machine: str, flags: int) -> None:
    for call in {"x86_64": (56, 435), "aarch64": (220, 435)}[machine]:
        assert answer(machine, call, flags) == refused(errno.EPERM)


def test_memory_is_hinted_about_and_neither_poisoned_nor_shared(machine: str) -> None:
    for advice in (0, 1, 2, 3, 4, 8, 14, 15):
        assert answer(machine, number("madvise"), 1 << 40, 4096, advice) == ALLOW
    for advice in (9, 10, 11, 12, 13, 18, 21, 100, 101, MINUS_ONE):
        assert answer(machine, number("madvise"), 1 << 40, 4096, advice) == refused(errno.EPERM)


def test_the_time_of_other_processes_cannot_be_read_nor_their_limits_and_cores(machine: str) -> None:
    for clock in range(12):
        assert answer(machine, number("clock_gettime"), clock) == ALLOW
    for pid in (1, 4711):
        for call in ("clock_gettime", "clock_getres", "clock_nanosleep"):
            assert answer(machine, number(call), (~pid << 3 | 2) & MINUS_ONE) == refused(errno.EPERM)
        for call in ("prlimit64", "sched_getaffinity"):
            assert answer(machine, number(call), pid) == refused(errno.EPERM)
            assert answer(machine, number(call), 0) == ALLOW


def test_files_are_opened_for_reading_alone(machine: str) -> None:
    openat = number("openat")
    assert answer(machine, openat, -100, 1 << 40, os.O_RDONLY | os.O_CLOEXEC) == ALLOW
    for flag in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_RDONLY | os.O_CREAT):
        assert answer(machine, openat, -100, 1 << 40, flag) == refused(errno.EPERM)
    assert answer(machine, number("openat2")) == refused(errno.ENOSYS)


def test_limits_are_looked_up_and_not_changed(machine: str) -> None:
    prlimit = number("prlimit64")
    assert answer(machine, prlimit, 0, 7, 0, 1 << 40) == ALLOW
    assert answer(machine, prlimit, 0, 7, 1, 0) == refused(errno.EPERM)
    assert answer(machine, prlimit, 0, 7, 1 << 32, 0) == refused(errno.EPERM)


def test_descriptors_can_be_copied_but_send_no_signals(machine: str) -> None:
    for command in (0, 1, 2, 3, 4, 1030):
        assert answer(machine, number("fcntl"), 3, command) == ALLOW
    for command in (5, 8, 10, 1024, 1033):
        assert answer(machine, number("fcntl"), 3, command) == refused(errno.EPERM)


def test_an_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="riscv64"):
        seccomp.program()
