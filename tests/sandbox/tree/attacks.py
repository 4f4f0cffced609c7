"""Attacks of programs and of evaluators on the second profile: what each does, and what may come of it.

A program that finds that it has broken out leaves "BREACH" or what it stole in `out`; an evaluator in `stolen`. What
was done outside, the oracle in outside.py finds. Words in capitals are filled in by siege.py. Bombs are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

RETURNED, RAISED = "returned", "raised"
"""The outcomes of a program that went through, and of one that was stopped by an exception."""


@dataclass(frozen=True)
class Attack:
    """What is tried, the outcomes that are right, and the source."""

    name: str
    expected: frozenset[str]
    source: str


def _attack(name: str, expected: str, source: str) -> Attack:
    return Attack(name, frozenset(expected.split()), source)


def _calls(name: str, calls: dict[str, str]) -> Attack:
    """Calls past Python, one after the other: none may succeed."""
    tried = "".join(f"if libc.{call} >= 0: out.append({f'BREACH: {each}'!r})\n" for each, call in calls.items())
    return _attack(name, RETURNED, f"import ctypes\nlibc = ctypes.CDLL(None)\nout = []\n{tried}")


_SPIN = "\nimport time\nend = time.process_time() + 30\nwhile time.process_time() < end: pass\n"
_SEND = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.settimeout(1)\ns.connect({})\ns.send(b'x')\nout = 'BREACH'"
_THREADS = (
    "import threading, time\nthreading.stack_size(1 << 16)\n"
    "for _ in range(400): threading.Thread(target=time.sleep, args=(1,)).start()\nout = 'allowed'"
)

ON_THE_MACHINE = (
    _attack("a loop", "timeout", "while True: pass"),
    _attack("loops in children that nobody waits for", "timeout", f"import os\nfor _ in range(3): os.fork(){_SPIN}"),
    _attack(
        "short children that nobody can wait for",
        "timeout",
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True:\n if os.fork() == 0:\n"
        "  end = time.process_time() + .03\n  while time.process_time() < end: pass\n  os._exit(0)\n time.sleep(.03)",
    ),
    _attack(
        "orphans in sessions of their own",
        "timeout",
        "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork(): os._exit(0)\n while True: pass\n"
        "time.sleep(99)",
    ),
    _attack("waiting for ever", "timeout", "import time\ntime.sleep(999)"),
    _attack("stopping itself", f"timeout {RETURNED}", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
    _attack("killing everybody", f"{RETURNED} {RAISED} exit crash", "import os\nos.kill(-1, 9)"),
    _attack("killing the first process", f"{RETURNED} exit crash", "import os\nif os.fork() == 0: os.kill(1, 9)"),
    _attack("killing its parent", f"{RETURNED} {RAISED} exit crash", "import os\nos.kill(os.getppid(), 15)"),
    _attack(
        "many threads",
        f"forbidden {RAISED} memory",
        "import threading, time\nthreading.stack_size(1 << 16)\n"
        "for _ in range(600): threading.Thread(target=time.sleep, args=(60,)).start()\ntime.sleep(60)",
    ),
    _attack(
        "many processes",
        f"forbidden {RAISED}",
        "import os\nfor _ in range(560): os.posix_spawn('/bin/sleep', ['sleep', '60'], {})\nos.wait()",
    ),
    _attack("as many threads as are allowed", RETURNED, _THREADS),
    _attack("as many threads as are allowed, beside it", RETURNED, _THREADS),
    _attack("much memory", f"memory {RAISED}", "x = bytearray(1 << 30)"),
    _attack(
        "memory of several processes",
        "memory",
        "import os, time\nos.fork(); os.fork()\nx = bytearray(b'x') * (120 << 20)\ntime.sleep(60)",
    ),
    _attack(
        "memory that is shared",
        "memory",
        "import mmap, time\nx = mmap.mmap(-1, 400 << 20)\nfor at in range(0, len(x), 4096): x[at] = 1\ntime.sleep(60)",
    ),
    _attack(
        "memory that is shared, in several processes",
        "memory",
        "import mmap, os, time\nos.fork(); os.fork()\nx = mmap.mmap(-1, 120 << 20)\n"
        "for at in range(0, len(x), 4096): x[at] = 1\ntime.sleep(60)",
    ),
    _attack("memory without a process", RAISED, "import os\nos.memfd_create('x')\nout = 'BREACH'"),
    _attack("filling /tmp", RAISED, "f = open('/tmp/x', 'wb')\nfor _ in range(600): f.write(bytes(1 << 20))"),
    _attack(
        "filling /dev/shm by many files",
        RAISED,
        "for n in range(60):\n with open(f'/dev/shm/{n}', 'wb') as f: f.write(bytes(10 << 20))",
    ),
    _attack(
        "many files",
        f"forbidden {RAISED}",
        "import os, time\nfor _ in range(12):\n if os.fork() == 0: break\n"
        "try:\n while True: os.open('/dev/null', 0)\nexcept OSError: time.sleep(30)",
    ),
    _attack(
        "full sockets in a few processes",
        f"forbidden {RAISED} {RETURNED}",
        "import socket\nkept = []\nfor _ in range(2000):\n a, b = socket.socketpair()\n a.setblocking(False)\n"
        " kept.append((a, b))\n try:\n  while True: a.send(bytes(4096))\n except BlockingIOError: pass",
    ),
    _attack("much output", "output", "out = 'x' * (3 << 20)"),
    _attack("a flood of print", RETURNED, "import os\nfor _ in range(1000): os.write(1, bytes(1 << 16))"),
    _attack(
        "garbage into every file",
        "output exit returned crash",
        "import os\nfor fd in range(3, 64):\n try: os.write(fd, b'{}\\n' * 9)\n except OSError: pass",
    ),
    _attack(
        "a result before the time, and another",
        "timeout",
        "import os\nfor fd in range(3, 64):\n try: os.write(fd, b'1')\n except OSError: pass\nwhile True: pass",
    ),
    _attack("raising its limits", RAISED, "import resource as r\nr.setrlimit(r.RLIMIT_CPU, (99, 99))\nout = 'BREACH'"),
    _calls(
        "calls for memory and files",
        {
            "memory by System V": "syscall(29, 0, 1 << 20, 0o1600)",
            "messages by System V": "syscall(68, 0, 0o1600)",
            "watching files": "syscall(294, 0)",
        },
    ),
)
ON_FILES = (
    _attack("a secret file", RAISED, "out = open('SECRET_FILE').read()"),
    _attack("a link to a secret file", RAISED, "out = open('FOLDER/link').read()"),
    _attack("a key beside the evaluator", RAISED, "out = open('FOLDER/.env').read()"),
    _attack("a key in a folder below", RAISED, "out = open('FOLDER/data/.env').read()"),
    _attack("a run's journal", RAISED, "out = open('FOLDER/runs/one/run.db').read()"),
    _attack("writing beside the evaluator", RAISED, "open('FOLDER/data/new', 'w')"),
    _attack("changing the evaluator", RAISED, "open('FOLDER/evaluator.py', 'a').write('x')"),
    _attack("changing its mode", RAISED, "import os\nos.chmod('FOLDER/evaluator.py', 0o777)"),
    _attack("deleting the evaluator", RAISED, "import os\nos.unlink('FOLDER/evaluator.py')"),
    _attack("a canary", RAISED, "open('CANARY_FILE', 'w').write('x')"),
    _attack("a shell", RETURNED, "import os\nos.system('echo x > CANARY_FOLDER/shell; echo x > FOLDER/data/shell')"),
    _attack(
        "a program in the background",
        RETURNED,
        "import subprocess\nsubprocess.Popen(['setsid', 'sh', '-c', 'sleep 60; : FOLDER'])",
    ),
    _attack("the machine's settings", RAISED, "open('/proc/sys/kernel/core_pattern', 'r+').write('|/bin/sh')"),
    _attack("who dies first", RAISED, "open('/proc/self/oom_score_adj', 'w').write('-1000')\nout = 'BREACH'"),
    _attack("the machine's files", RAISED, "open('/usr/behavesim-canary', 'w')"),
    _calls(
        "calls for files",
        {
            "a device": "mknod(b'/tmp/sda', 0o60600, 0x800)",
            "another file system": "mount(b'x', b'/tmp', b'tmpfs', 0, 0)",
            "mounting again": "mount(b'none', b'FOLDER', b'none', 32 | 4096, 0)",
            "another root": "chroot(b'/tmp')",
        },
    ),
)
ON_OTHERS = (
    _attack(
        "its environment",
        RETURNED,
        "import os\nfound = [open(f'/proc/{p}/environ').read() for p in os.listdir('/proc') if p.isdigit()]\n"
        "out = found",
    ),
    _attack(
        "other processes",
        RETURNED,
        "import os\nout = 'BREACH' if len([p for p in os.listdir('/proc') if p.isdigit()]) > 1 else 'alone'",
    ),
    _attack("its parent's memory", RAISED, "import os\nout = 'BREACH', open(f'/proc/{os.getppid()}/mem')"),
    _attack("TCP", RAISED, "import socket\nsocket.create_connection(('127.0.0.1', TCP_PORT), 1)"),
    _attack("UDP", RAISED, "import socket\nsocket.socket(2, 2).sendto(b'x', ('127.0.0.1', UDP_PORT))"),
    _attack("an abstract socket", RAISED, _SEND.format(r"'\0ABSTRACT_NAME'")),
    _attack("a socket in a folder", RAISED, _SEND.format("'CANARY_FOLDER/socket'")),
    _attack("a neighbour's socket beside the evaluator", RAISED, _SEND.format("'FOLDER/neighbour'")),
    _attack("a packet socket", RAISED, "import socket\nsocket.socket(17, 3)\nout = 'BREACH'"),
    _attack(
        "meeting another evaluation, as one",
        f"{RETURNED} {RAISED}",
        "import socket\ns = socket.socket(1)\ns.bind('\\0meet')\ns.listen()\ns.settimeout(1.2)\n"
        "open('/tmp/left', 'w').write('x')\ns.accept()\nout = 'BREACH'",
    ),
    _attack(
        "meeting another evaluation, as the other",
        f"{RETURNED} {RAISED}",
        "import os, socket, time\nout = 'alone'\nfor _ in range(12):\n time.sleep(.1)\n"
        " if os.path.exists('/tmp/left'): out = 'BREACH'\n"
        " try: socket.socket(1).connect('\\0meet')\n except OSError: continue\n out = 'BREACH'",
    ),
    _attack("root", f"{RETURNED} {RAISED}", "import os\nos.setuid(0)\nos.setgroups([0])\nout = 'BREACH'"),
    _calls(
        "calls for others and the kernel",
        {
            "new namespaces": "unshare(0x10000000)",
            "new namespaces by clone": "syscall(56, 0x10000011, 0, 0, 0, 0)",
            "clone3": "syscall(435, 0, 0)",
            "another's namespace": "setns(0, 0)",
            "tracing": "syscall(101, 16, 1, 0, 0)",
            "tracing by another number": "syscall(0x40000000 + 101, 16, 1, 0, 0)",
            "memory of another process": "syscall(310, 1, 0, 0, 0, 0, 0)",
            "kernel keys": "syscall(250, 0, -3, 1)",
            "programs for the kernel": "syscall(321, 0, 0, 0)",
            "io_uring": "syscall(425, 1, 0)",
            "the machine's name": "sethostname(b'x', 1)",
        },
    ),
)
PROGRAMS = (*ON_THE_MACHINE, *ON_FILES, *ON_OTHERS)

LOADED, REFUSED = "loaded", "refused"
_LINK = (
    "import os, socket, json\ndef say(data):\n for fd in range(3, 64):\n"
    "  try: os.write(fd, data)\n  except OSError: pass\n"
)
_REMOUNT = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.unshare(0x20000)\n"


def _together(name: str, sources: list[str]) -> Attack:
    """Attacks of one evaluator, one after the other: what each stole, or why it did not, is kept for all."""
    return _attack(
        name,
        LOADED,
        f"stolen = []\nfor source in {sources!r}:\n names = {{}}\n try:\n  exec(source, names)\n"
        "  stolen.append(names.get('stolen', names.get('out')))\n"
        " except Exception as error: stolen.append(repr(error))\n",
    )


EVALUATORS = (
    _attack("a loop", REFUSED, "while True: pass"),
    _attack("much memory", REFUSED, "x = bytearray(b'x') * (1 << 30)\nimport time\ntime.sleep(60)"),
    _attack("processes that stay", REFUSED, "import subprocess\nsubprocess.Popen(['sleep', '60'])"),
    _attack("threads", REFUSED, "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()"),
    _attack("its own end", REFUSED, "import os\nos._exit(0)"),
    _attack("leaving", REFUSED, "raise SystemExit"),
    _attack("garbage into every file", REFUSED, f"{_LINK}say(b'garbage' + bytes([10]))"),
    _attack("a flood into every file", REFUSED, f"{_LINK}\nfor _ in range(99): say(bytes(1 << 16))"),
    _attack("deep JSON into every file", REFUSED, f"{_LINK}say(b'[' * 60000 + bytes([10]))"),
    _attack(
        "a forged end",
        REFUSED,
        f"{_LINK}say(json.dumps(dict(job=0, status=0, killed='', cpu_s=0, peak_bytes=0)).encode() + b'\\n')",
    ),
    _attack(
        "a forged level", f"{REFUSED} {LOADED}", f'{_LINK}say(b\'{{"isolation": "process", "instances": 1e9}}\\n\')'
    ),
    _attack("a forged process", REFUSED, f"{_LINK}say(b'{{\"job\": 0}}\\n')"),
    _attack(
        "making its folder writable",
        LOADED,
        f"{_REMOUNT}libc.mount(b'none', b'FOLDER/data', b'none', 32 | 4096, 0)\nlibc.umount2(b'FOLDER/data', 2)\n"
        "libc.mount(b'none', b'FOLDER', b'none', 32, 0)\nopen('FOLDER/data/new', 'w').write('x')",
    ),
    _together(
        "what it may not change or reach",
        [
            f"{_REMOUNT}libc.mount(b'none', b'/usr', b'none', 4128, 0)\nopen('/usr/x-canary', 'w')",
            "open('/proc/sys/kernel/core_pattern', 'r+').write('|/bin/sh')",
            "stolen = [open(p).read() for p in ('SECRET_FILE',)]",
            "stolen = open('FOLDER/.env').read()",
            "stolen = 'BREACH', open('/proc/1/mem', 'rb')",
            "import glob\nstolen = [open(p).read() for p in glob.glob('/proc/[0-9]*/environ')]",
            "import socket\nsocket.create_connection(('127.0.0.1', TCP_PORT), 1)\nstolen = 'BREACH'",
            _SEND.format("'FOLDER/neighbour'"),
            _SEND.format(r"'\0ABSTRACT_NAME'"),
            f"{_REMOUNT}stolen = 'BREACH' if libc.unshare(0x50000000) == 0 else 'refused'",
            "import ctypes\nstolen = 'BREACH' if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0 else 'no'",
        ],
    ),
    _attack(
        "another /proc",
        LOADED,
        f"{_REMOUNT}libc.mount(b'proc', b'/tmp', b'proc', 0, 0)\n"
        "open('/tmp/sys/kernel/core_pattern', 'r+').write('|/bin/sh')",
    ),
    _attack("stopping the keeper", LOADED, "import os\nos.kill(1, 9); os.kill(1, 19)"),
    _attack(
        "limits that are switched off",
        LOADED,
        "import __main__ as keeper\nfrom behavesim.sandbox import processes\nprocesses.all_processes = dict\n"
        "keeper.Keeper._exceeded = lambda *_: ''",
    ),
)
"""Attacks of evaluators while they are loaded. Refused ones do not start a run; behind the others a loop is ended."""
