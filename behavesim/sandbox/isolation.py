"""Finds the isolation level: children try what each layer forbids, since a layer that was applied need not hold."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from behavesim.sandbox import kernel, namespaces, processes
from behavesim.sandbox.layers import LAYERS, Attempts, Confinement

# The isolation levels, weakest first.
#
# Only resource limits; Landlock or seccomp; less than both, but inside a wall of the site that holds; both Landlock and
# seccomp; both within namespaces.
LEVELS = ("process", "partial", "walled", "strong", "strong+")
# For each layer that the self-test tries, the note on what it needs; braces stand for why it failed.
_NEEDS = {
    "landlock": "Landlock does not hold{}; it needs Linux 5.13 or later with `landlock` in /sys/kernel/security/lsm",
    "seccomp": "seccomp does not hold{}; it needs Linux on x86-64 or arm64, and a container that allows its use",
    "namespaces": "namespaces do not hold{}; they need user namespaces for all (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
}
C = TypeVar("C", bound=Confinement)
# Does something forbidden; raises OSError if a layer prevents it.
Attempt = Callable[[], object]


@contextlib.contextmanager
def attempts_to_reach_outside() -> Iterator[tuple[Attempt, ...]]:
    """Yield attempts, for confined children, to reach two sockets of this process and the process itself.

    Enter the context before any layer is applied, so that sockets and process lie outside.
    """
    outside = os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        if processes.LINUX:
            abstract.bind(f"\0behavesim-{os.urandom(8).hex()}")
            abstract.listen()
        yield (
            # asked for here: a child has closed the sockets, and the question would fail in place of the attempt
            partial(_connect, socket.AF_INET, tcp.getsockname()),
            partial(_connect, socket.AF_UNIX, abstract.getsockname()),
            partial(os.kill, outside, 0),  # signal 0 has no effect; the kernel only checks whether it may be sent
        )


@contextlib.contextmanager
def outside_of_wall() -> Iterator[dict[str, Any]]:
    """Yield what a site's own wall must keep from programs, for `_attempts_on_wall`; call it outside of the wall.

    It is two sockets of this process, the process itself, a new file, and the person's hidden files, which hold keys.
    """
    home = Path.home()
    hidden = [str(path) for path in sorted(home.glob(".*")) if path.is_file() and os.access(path, os.R_OK)]
    with (
        tempfile.NamedTemporaryFile(prefix="behavesim-", buffering=0) as canary,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        canary.write(b"canary")
        Path(canary.name).chmod(0o644)  # else a change of user would hide it, and not the wall
        name = f"behavesim-{os.urandom(8).hex()}"
        unix.bind(f"\0{name}")
        unix.listen()
        yield {
            "files": [canary.name, *hidden[:8]],
            "tcp": list(tcp.getsockname()),
            "unix": name,
            "process": [os.getpid(), processes.start_time(os.getpid())],
        }


def _attempts_on_wall(outside: Mapping[str, Any]) -> Iterator[tuple[str, Attempt]]:
    """Yield attempts to reach what `outside_of_wall` yielded, each with words for what it reaches."""
    for file in outside["files"]:
        yield f"the file {file}", partial(Path(file).read_bytes)
    yield "the network", partial(_connect, socket.AF_INET, tuple(outside["tcp"]))
    yield "abstract sockets", partial(_connect, socket.AF_UNIX, f"\0{outside['unix']}")
    yield "processes", partial(_signal, *outside["process"])


def _signal(pid: int, started: int) -> None:
    """Try to signal a process; raises OSError if it cannot be reached, or another process has its number here."""
    if processes.start_time(pid) != started:
        raise ProcessLookupError(pid)
    os.kill(pid, 0)


def _within_wall(level: str, bare: Confinement, outside: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the level if programs are also inside a site's own wall, and notes on that; unchanged without a wall."""
    if not outside:
        return level, ()
    reached = [what for what, attempt in _attempts_on_wall(outside) if not prevents(bare, (attempt,))]
    if reached:
        return level, (f"the wall does not hold: programs inside it reach {', '.join(reached)}",)
    return max(level, "walled", key=LEVELS.index), ("inside a wall of the site's own, which holds",)


def find(
    confinement: C,
    test: SelfTest,
    reaching_outside: Sequence[Attempt],
    outside: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[str, C]:
    """Try each layer; return the level, one of LEVELS, and the confinement without the layers that do not hold.

    Namespaces stay in the confinement: the zygote has entered them already. `reaching_outside` is from
    `attempts_to_reach_outside`, `outside` from `outside_of_wall`. Raises OSError if no child can be forked.
    """
    confinement = without_failing_steps(confinement)
    landlock, calls = confinement.landlock, confinement.calls
    bare = replace(confinement, landlock=None, calls=None)
    holds = {
        "landlock": landlock is not None and prevents(replace(bare, landlock=landlock), test.landlock),
        "seccomp": calls is not None and prevents(replace(bare, calls=calls), test.seccomp),
        "namespaces": confinement.own_pids is not None and prevents(bare, (*reaching_outside, test.namespaces)),
    }
    # namespaces alone raise no level: they hide neither files nor the kernel's calls
    level = test.levels[holds["landlock"] + holds["seccomp"] + all(holds.values())]
    level, walls = _within_wall(level, bare, outside)
    return level, replace(
        bare,
        landlock=landlock if holds["landlock"] else None,
        calls=calls if holds["seccomp"] else None,
        notes=(*_notes(holds, confinement.failed, level), *walls),
    )


def without_failing_steps(confinement: C) -> C:
    """Try each step of a child in a fork; return the confinement without the named steps that fail here."""
    ours, theirs = os.pipe()
    child = confinement.fork()
    if child == 0:
        attempts = Attempts(())
        try:
            for name, step in confinement.steps():
                # a step without a name must not fail; if it does, the self-test says that its layer does not hold
                attempts.take(name, step)
            attempts.failed.pop("", None)
            os.write(theirs, json.dumps(attempts.failed).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as reading:  # noqa: PTH123 (a descriptor)
        said = reading.read()
    os.waitpid(child, 0)
    return replace(confinement, failed={**confinement.failed, **json.loads(said or "{}")})


def _notes(holds: Mapping[str, bool], failed: Mapping[str, str], level: str) -> tuple[str, ...]:
    """Return what is missing on this machine and how to get it, a line each; `failed` are reasons by layer or step."""
    notes = [f"{name}: {why}" for name, why in failed.items() if name == "user"]
    for layer in [layer for layer, held in holds.items() if not held]:
        if layer == "namespaces" and layer in failed:
            notes.append(f"{failed[layer]}: level {level} instead of strong+")
        else:
            notes.append(_NEEDS[layer].format(f" ({failed[layer]})" if layer in failed else ""))
    without = [f"{name} ({why})" for name, why in failed.items() if name not in LAYERS]
    return (*notes, f"the kernel lacks, so that programs go without: {', '.join(without)}") if without else tuple(notes)


def prevents(confinement: Confinement, attempts: Sequence[Attempt]) -> bool:
    """Whether every attempt raises OSError in a forked child under the confinement, which can itself be applied.

    Raises OSError if no child can be forked.
    """
    child = confinement.fork()
    if child == 0:
        try:
            confinement.confine_child(2)
            os._exit(0 if all(map(_fails, attempts)) else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def _fails(attempt: Attempt) -> bool:
    try:
        attempt()
    except OSError:
        return True
    return False


def _connect(family: socket.AddressFamily, address: object) -> None:
    with socket.socket(family) as client:
        client.settimeout(1)
        client.connect(address)  # type: ignore[arg-type]  # of the family's own form


def _list_root() -> None:
    os.listdir("/")  # noqa: PTH208


def _make_file() -> None:
    name = f"/tmp/behavesim-{os.getpid()}"
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(name)  # noqa: PTH108


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _signal_parent() -> None:
    os.kill(os.getppid(), 0)


def _write_outside() -> None:
    os.close(os.open("/usr/behavesim-test", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    Path("/usr/behavesim-test").unlink()


def _write_setting() -> None:
    Path("/proc/self/comm").write_text("x")


def _internet() -> None:
    socket.socket(socket.AF_INET).close()


def _unshare() -> None:
    kernel.prepare_call("unshare", namespaces.NEW_USER)()


@dataclass(frozen=True)
class SelfTest:
    """What the layers of a profile must prevent, and its level by how many of Landlock, seccomp and all three hold."""

    landlock: Sequence[Attempt]
    seccomp: Sequence[Attempt]
    namespaces: Attempt  # besides `attempts_to_reach_outside`
    levels: Sequence[str]


OF_FUNCTIONS = SelfTest(
    landlock=(_list_root, _make_file),
    seccomp=(socket.socket, _fork, _signal_parent),
    namespaces=Path("/proc/self").stat,
    levels=("process", "partial", "strong", "strong+"),
)
# A tree has a view of its own of /proc. Without namespaces it can read files.
OF_TREES = SelfTest(
    landlock=(_write_setting,),
    seccomp=(_internet, _unshare),
    namespaces=_write_outside,
    levels=("process", "partial", "partial", "strong+"),
)
