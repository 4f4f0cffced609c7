"""Programs that want the kernel itself: its calls by their numbers on x86-64, past Python and libc, or in machine code.

Each call is refused before the kernel looks at it: EINVAL or EFAULT would mean that it had got there.
"""

from tests.sandbox.attack import Attack, body_of

_BUFFER = "ctypes.create_string_buffer(128)"
_PROCESSES = {
    "a thread": "56, 0x3d0f00, 0, 0, 0, 0",
    "a process that shares memory": "56, 0x100 | 17, 0, 0, 0, 0",
    "a fork": "57",
    "a thread's signal to the daemon": "234, DAEMON, DAEMON, 0",
    "a queued signal": f"129, DAEMON, 0, {_BUFFER}",
    "a queued signal to a thread": f"297, DAEMON, DAEMON, 0, {_BUFFER}",
    "a signal through a handle": "424, 1, 0, 0, 0",
    "another's file": "438, 1, 0, 0",
    "a comparison of processes": "312, DAEMON, DAEMON, 0, 0, 0",
    "writing to the daemon's memory": "311, DAEMON, 0, 0, 0, 0, 0",
    "advice about the daemon's memory": "440, 1, 0, 0, 0, 0",
    "the daemon's time": f"228, ~DAEMON << 3 | 2, {_BUFFER}",
    "sleeping by the daemon's time": f"230, ~DAEMON << 3 | 2, 0, {_BUFFER}, 0",
    "the daemon's limits": f"302, DAEMON, 7, 0, {_BUFFER}",
    "the daemon's cores": f"204, DAEMON, 128, {_BUFFER}",
    "the daemon's locks": f"274, DAEMON, {_BUFFER}, {_BUFFER}",
    "the daemon's priority": "140, 0, DAEMON",
    "the daemon's session": "124, DAEMON",
    "a session of its own": "112",
    "another group of processes": "109, 0, DAEMON",
    "real-time scheduling": f"144, 0, 1, {_BUFFER}",
    "priority of its files": "251, 1, 0, 0",
    "a timer with a signal of its choice": f"222, 0, 0, {_BUFFER}",
    "a child's end": "61, -1, 0, 1, 0",
}
_MEMORY = {
    "poisoned memory": "28, 0, 0, 100",
    "memory taken offline": "28, 0, 0, 101",
    "memory merged with others'": "28, 0, 0, 12",
    "a hole in a file": "28, 0, 0, 9",
    "locked memory": "151, 2",
    "secret memory": "447, 0",
    "which pages are in memory": f"27, 0, 0, {_BUFFER}",
    "which pages of a file are in memory": f"451, 0, {_BUFFER}, {_BUFFER}, 0",
    "memory of another node": "279, DAEMON, 0, 0, 0, 0, 0",
    "a barrier on all cores": "324, 1, 0, 0",
    "a semaphore": "64, 0, 1, 0o1600",
    "a POSIX message queue": "240, b'x', 0o101, 0o600, 0",
}
_FILES = {
    "creat": "85, b'CANARY_FOLDER/creat', 0o600",
    "open to create": "2, b'CANARY_FOLDER/open', 0o101, 0o600",
    "openat to create": "257, -100, b'CANARY_FOLDER/openat', 0o101, 0o600",
    "a node": "133, b'CANARY_FOLDER/node', 0o10600, 0",
    "a node in a folder": "259, -100, b'CANARY_FOLDER/nodeat', 0o10600, 0",
    "a link in a folder": "265, -100, b'CANARY_FILE', -100, b'CANARY_FOLDER/linkat', 0",
    "a renaming without a trace": "316, -100, b'CANARY_FILE', -100, b'CANARY_FOLDER/renameat2', 0",
    "a removal": "263, -100, b'CANARY_FILE', 0",
    "another time": "280, -100, b'CANARY_FILE', 0, 0",
    "another mode": "452, -100, b'CANARY_FILE', 0, 0",
    "another owner": "260, -100, b'CANARY_FILE', 1, 1, 0",
    "a file's handle": f"303, -100, b'SECRET_FILE', {_BUFFER}, {_BUFFER}, 0",
    "a file's attributes": f"191, b'SECRET_FILE', b'user.x', {_BUFFER}, 128",
    "a file system's state": f"137, b'/', {_BUFFER}",
    "sending a file": "40, 1, 0, 0, 4096",
    "splicing": "275, 0, 0, 1, 0, 4096, 0",
    "copying between files": "326, 0, 0, 1, 0, 4096, 0",
    "watching files": "294, 0",
    "watching a file system": "300, 0, 0",
    "everything to the disk": "162",
    "a tree of mounts": "428, -100, b'/', 0",
    "a new file system": "430, b'tmpfs', 0",
    "a looser set of rules": "444, 0, 0, 1",
    "rules over files again": "446, 0, 0",
}
_SOCKETS = {
    "a socket": "41, 2, 1, 0",
    "a pair of sockets": f"53, 1, 1, 0, {_BUFFER}",
    "a message with a file in it": f"46, 3, {_BUFFER}, 0",
    "an address to send to": "44, 3, b'x', 1, 0, 0, 0",
    "an end of its own socket": "48, 3, 2",
    "an option of its own socket": f"55, 3, 1, 17, {_BUFFER}, {_BUFFER}",
    "waiting for events": "291, 0",
    "asynchronous requests": f"206, 8, {_BUFFER}",
}
_RIGHTS = {
    "capabilities": f"126, {_BUFFER}, {_BUFFER}",
    "another group": "106, 0",
    "more groups": f"116, 1, {_BUFFER}",
    "ports of the machine": "172, 3",
    "segments of its own": f"154, 0, {_BUFFER}, 128",
    "the kernel's log": f"103, 3, {_BUFFER}, 128",
    "a module": "313, 0, b'', 0",
    "the next kernel": "246, 0, 0, 0, 0",
    "the time of day": f"227, 0, {_BUFFER}",
    "the host's name by number": "170, b'x', 1",
    "a key by request": "249, b'user', b'x', 0, -2",
    "being traced by anybody": "157, 4, 1, 0, 0, 0",
    "its own memory map": "157, 35, 1, 0, 0, 0",
}


def _arguments(call: str) -> str:
    return ", ".join(
        each if each.startswith(("b'", "ctypes")) else f"ctypes.c_long({each})" for each in call.split(", ")
    )


def _refused(name: str, call: str) -> Attack:
    body = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall.restype = ctypes.c_long
        if libc.syscall({_arguments(call)}) >= 0:
            raise RuntimeError("BREACH")
        raise OSError(ctypes.get_errno(), "refused")
    """
    return body_of(f"{name} (call {call.partition(',')[0]})", "forbidden", body)


TABLES = {
    "calls on processes": _PROCESSES,
    "calls on memory": _MEMORY,
    "calls on files": _FILES,
    "calls on sockets": _SOCKETS,
    "calls for rights": _RIGHTS,
}
BY_NUMBER = tuple(_refused(name, call) for table in TABLES.values() for name, call in table.items())
"""Each call as a program of its own, which says itself that it got through where nothing prevents it."""


def _all_refused(name: str, calls: dict[str, str]) -> Attack:
    """Every call of a table, one after the other; the program says which were not refused."""
    tried = "".join(f"        {call!r}: lambda: libc.syscall({_arguments(call)}),\n" for call in calls.values())
    body = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall.restype = ctypes.c_long
        calls = {{
{tried}        }}
        passed = [call for call, attempt in calls.items() if attempt() >= 0 or ctypes.get_errno() not in (1, 13)]
        if passed:
            raise RuntimeError(f"BREACH {{passed}}")
        raise PermissionError(1, "refused")
    """
    return body_of(name, "forbidden", body)


_RUN = """
    import ctypes, mmap
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(bytes.fromhex("{code}"))
    result = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
    if result >= 0:
        raise RuntimeError("BREACH")
    raise OSError(-result, "refused")
"""
MACHINE_CODE = (
    body_of("a fork in machine code", "forbidden", _RUN.format(code="b8390000000f05c3")),
    body_of("a 32-bit call in machine code", "forbidden", _RUN.format(code="b814000000cd80c3")),
    body_of("a call past the table in machine code", "forbidden", _RUN.format(code="b8ffffff7f0f05c3")),
)

ON_THE_KERNEL = (*(_all_refused(*each) for each in TABLES.items()), *MACHINE_CODE)
