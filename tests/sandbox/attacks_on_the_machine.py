"""Programs that want the machine: its processes, memory, files, network and rights."""

from tests.sandbox.attack import body_of, raw

PROCESSES = (
    body_of("fork", "forbidden", "import os\nif os.fork() == 0:\n    os._exit(0)\nraise RuntimeError('BREACH')"),
    body_of("a fork bomb", "forbidden", """
        import os, time
        for _ in range(5): os.fork()
        time.sleep(5)
    """),
    body_of("a fork bomb that tries on", "score", """
        import os
        for _ in range(50):
            try:
                os.fork()
            except OSError:
                pass
    """),
    body_of("a daemon in its own session", "forbidden", """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(0.2)
                open("CANARY_FOLDER/daemon", "w").close()
            os._exit(0)
    """),
    body_of("a shell by system", "score", "import os\nos.system('touch CANARY_FOLDER/system')"),
    body_of("a shell by subprocess", "forbidden", """
        import subprocess
        subprocess.run(["/bin/sh", "-c", "touch CANARY_FOLDER/subprocess"])
    """),
    body_of("a shell by exec", "forbidden", """
        import os
        os.execv("/bin/sh", ["sh", "-c", "touch CANARY_FOLDER/exec"])
    """),
    body_of("posix_spawn", "forbidden", """
        import os
        os.posix_spawn("/bin/sh", ["sh", "-c", "touch CANARY_FOLDER/spawn"], {})
    """),
    body_of("multiprocessing", "forbidden", """
        import multiprocessing
        multiprocessing.get_context("fork").Process(target=print).start()
    """),
    body_of("a pseudo-terminal", "forbidden exception", """
        import pty
        pty.spawn(['/bin/sh', '-c', 'touch CANARY_FOLDER/pty'])
    """),
    raw("vfork by number", "58"),
    raw("clone of a process by number", "56, 17, 0, 0, 0, 0"),
    raw("clone3 by number", "435, ctypes.byref(ctypes.create_string_buffer(88)), 88"),
    raw("execve by number", "59, b'/bin/true', 0, 0"),
    raw("execveat by number", "322, -100, b'/bin/true', 0, 0, 0"),
    body_of("a thread bomb", "forbidden", """
        import threading, time
        for _ in range(600):
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    """),
    body_of("killing the zygote", "forbidden", "import os\nos.kill(os.getppid(), 9)\nraise RuntimeError('BREACH')"),
    body_of("killing the daemon", "forbidden", "import os\nos.kill(DAEMON, 9)"),
    body_of("signalling everybody", "forbidden", "import os\nos.kill(-1, 0)\nraise RuntimeError('BREACH')"),
    body_of("signalling its group", "forbidden", "import os\nos.killpg(0, 0)\nraise RuntimeError('BREACH')"),
    body_of("a signal through a file descriptor", "forbidden", """
        import fcntl, os
        fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, DAEMON)
        raise RuntimeError("BREACH")
    """),
    body_of("a signal by pidfd", "forbidden", "import os\nos.pidfd_open(DAEMON)\nraise RuntimeError('BREACH')"),
    raw("tkill by number", "200, DAEMON, 9"),
    raw("tracing the daemon", "101, 16, DAEMON, 0, 0"),
    raw("reading the daemon's memory", "310, DAEMON, 0, 0, 0, 0, 0"),
    body_of("slowing the daemon", "forbidden", "import os\nos.setpriority(os.PRIO_PROCESS, DAEMON, 19)"),
    body_of("limiting the daemon", "forbidden", """
        import resource
        resource.prlimit(DAEMON, resource.RLIMIT_NOFILE, (3, 3))
    """),
    body_of("pinning the daemon", "forbidden", "import os\nos.sched_setaffinity(DAEMON, {0})"),
)  # fmt: skip

MEMORY = (
    body_of("one huge array", "memory", "import numpy as np\nnp.ones(10**10)"),
    body_of("many arrays", "memory timeout", "import numpy as np\nkept = [np.ones(10**7) for _ in range(1000)]"),
    body_of("a growing text", "memory timeout", "text = 'x'\nwhile True: text += text"),
    body_of("a huge number", "memory timeout", "1 << (10 ** 11)"),
    body_of("anonymous memory", "memory forbidden exception", """
        import mmap
        kept = [mmap.mmap(-1, 1 << 28) for _ in range(100)]
    """),
    body_of("memory errors swallowed", "timeout memory", """
        kept = []
        while True:
            try:
                kept.append(bytearray(1 << 26))
            except MemoryError:
                pass
    """),
    raw("memory in a file", "319, b'x', 0"),
    raw("shared memory", "29, 0, 1 << 20, 0o1600"),
    raw("a message queue", "68, 0, 0o1600"),
    body_of("shared memory by name", "forbidden", """
        from multiprocessing.shared_memory import SharedMemory
        SharedMemory("behavesim-attack", create=True, size=1 << 20)
        raise RuntimeError("BREACH")
    """),
)  # fmt: skip

FILES = (
    body_of("the users of the machine", "forbidden", "raise RuntimeError('BREACH' + open('/etc/passwd').read())"),
    body_of("a secret file", "forbidden", "raise RuntimeError('BREACH' + open('SECRET_FILE').read())"),
    body_of("a secret file by way of another folder", "forbidden", """
        import numpy
        raise RuntimeError("BREACH" + open(numpy.__path__[0] + "/.." * 30 + "SECRET_FILE").read())
    """),
    body_of("a secret file by mmap of numpy", "forbidden", "import numpy as np\nnp.memmap('SECRET_FILE', mode='r')"),
    body_of("a secret file's folder", "forbidden", """
        import os
        raise RuntimeError(f"BREACH {os.listdir('CANARY_FOLDER')}")
    """),
    body_of("the root folder", "forbidden", "import os\nraise RuntimeError(f\"BREACH {os.listdir('/')}\")"),
    body_of("home", "forbidden", "import os\nraise RuntimeError(f\"BREACH {os.listdir('HOME_FOLDER')}\")"),
    body_of("its own environment", "exception", "import os\nraise RuntimeError(str(dict(os.environ)))"),
    body_of("its own environment from the kernel", "forbidden exception", """
        raise RuntimeError(open("/proc/self/environ").read())
    """),
    body_of("the daemon's environment", "forbidden exception", """
        raise RuntimeError(open("/proc/DAEMON/environ").read())
    """),
    body_of("the daemon's memory as a file", "forbidden exception", """
        raise RuntimeError(str(open("/proc/DAEMON/mem", "rb").read(1)))
    """),
    body_of("everybody's environment", "score", """
        found = b""
        for pid in range(1, 3000):
            try:
                found += open(f"/proc/{pid}/environ", "rb").read()
            except OSError:
                pass
        if found: raise RuntimeError("BREACH" + str(found))
    """),
    body_of("memory of the interpreter, for the secret", "exception score", """
        import ctypes, gc, os
        for each in gc.get_objects():
            if isinstance(each, dict) and any("SECRET" in str(k) for k in list(each)[:200]):
                raise RuntimeError(str(each)[:400])
        libc = ctypes.CDLL(None)
        libc.getenv.restype = ctypes.c_char_p
        raise RuntimeError(str(libc.getenv(b"BEHAVESIM_TEST_SECRET")))
    """),
    body_of("writing a file", "forbidden", "open('CANARY_FOLDER/written', 'w').write('x')"),
    body_of("overwriting a file", "forbidden", "open('CANARY_FILE', 'w').write('x')"),
    body_of("appending to a file", "forbidden", "open('CANARY_FILE', 'a').write('x')"),
    body_of("writing within a library", "forbidden", """
        import numpy
        open(numpy.__file__, "a")
        raise RuntimeError("BREACH")
    """),
    body_of("deleting a file", "forbidden", "import os\nos.remove('CANARY_FILE')"),
    body_of("renaming a file", "forbidden", "import os\nos.rename('CANARY_FILE', 'CANARY_FILE.moved')"),
    body_of("truncating a file", "forbidden", "import os\nos.truncate('CANARY_FILE', 0)"),
    body_of("changing a file's mode", "forbidden", "import os\nos.chmod('CANARY_FILE', 0o000)"),
    body_of("changing a file's times", "forbidden", "import os\nos.utime('CANARY_FILE', (1, 1))"),
    body_of("changing a file's owner", "forbidden", "import os\nos.chown('CANARY_FILE', os.getuid(), os.getgid())"),
    body_of("an attribute of a file", "forbidden", "import os\nos.setxattr('CANARY_FILE', 'user.x', b'x')"),
    body_of("a folder", "forbidden", "import os\nos.mkdir('CANARY_FOLDER/made')"),
    body_of("a symbolic link", "forbidden", "import os\nos.symlink('/', 'CANARY_FOLDER/link')"),
    body_of("a hard link", "forbidden", "import os\nos.link('CANARY_FILE', 'CANARY_FOLDER/hard')"),
    body_of("a fifo", "forbidden", "import os\nos.mkfifo('CANARY_FOLDER/fifo')"),
    body_of("a temporary file", "forbidden exception", """
        import tempfile
        tempfile.NamedTemporaryFile(delete=False)
        raise RuntimeError("BREACH")
    """),
    body_of("another working folder", "forbidden", "import os\nos.chdir('CANARY_FOLDER')\nopen('by-chdir', 'w')"),
    body_of("saving an array", "forbidden", "import numpy as np\nnp.save('CANARY_FOLDER/array.npy', points)"),
    body_of("a database", "exception forbidden", """
        import sqlite3
        sqlite3.connect("CANARY_FOLDER/db").execute("create table t (x)")
    """),
    raw("a file by its handle", "304, -100, ctypes.create_string_buffer(64), 0"),
    raw("openat2 by number", "437, -100, b'SECRET_FILE', ctypes.create_string_buffer(24), 24"),
    raw("a ring of requests", "425, 8, ctypes.create_string_buffer(120)"),
)  # fmt: skip

NETWORK = (
    body_of("TCP", "forbidden", "import socket\nsocket.create_connection(('127.0.0.1', TCP_PORT)).send(b'x')"),
    body_of("UDP", "forbidden", """
        import socket
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", UDP_PORT))
    """),
    body_of("an abstract socket", "forbidden", """
        import socket
        socket.socket(socket.AF_UNIX).connect("\\0ABSTRACT_NAME")
    """),
    body_of("a socket in a folder", "forbidden", """
        import socket
        socket.socket(socket.AF_UNIX).connect("CANARY_FOLDER/socket")
    """),
    body_of("the web", "exception forbidden", """
        import urllib.request
        urllib.request.urlopen("http://127.0.0.1:TCP_PORT/", timeout=1)
    """),
    body_of("a name server", "exception forbidden", "import socket\nsocket.getaddrinfo('example.org', 80)"),
    body_of("listening", "forbidden", """
        import socket
        socket.create_server(('127.0.0.1', 0))
        raise RuntimeError('BREACH')
    """),
    body_of("a netlink socket", "forbidden", """
        import socket
        socket.socket(socket.AF_NETLINK)
        raise RuntimeError('BREACH')
    """),
    body_of("an event loop", "forbidden exception", """
        import asyncio
        asyncio.run(asyncio.open_connection('127.0.0.1', TCP_PORT))
    """),
)  # fmt: skip

RIGHTS = (
    body_of(
        "raising limits",
        "forbidden exception",
        """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        raise RuntimeError("BREACH")
    """,
    ),
    body_of(
        "lowering a limit",
        "forbidden exception",
        """
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (1, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        raise RuntimeError("BREACH")
    """,
    ),
    raw("a user namespace", "272, 0x10000000"),
    raw("joining a namespace", "308, 3, 0"),
    raw("mounting", "165, b'none', b'CANARY_FOLDER', b'tmpfs', 0, b''"),
    raw("a new root", "161, b'/tmp'"),
    raw("outliving the zygote", "157, 1, 0, 0, 0, 0"),
    raw("another personality", "135, 0x0040000"),
    raw("a key ring", "250, 0, -3, 1"),
    raw("a kernel program", "321, 0, 0, 0"),
    raw("performance counters", "298, 0, 0, -1, -1, 0"),
    raw("faults in user space", "323, 0"),
    raw("becoming root", "117, 0, 0, 0"),
    raw("a call of 32-bit programs", "0x40000000 + 39"),
    raw("another filter", "317, 0, 0, 0"),
    body_of(
        "the host's name",
        "forbidden",
        "import socket\nsocket.sethostname(socket.gethostname())\nraise RuntimeError('BREACH')",
    ),
    raw("rebooting", "169, 0, 0, 0, 0"),
)

ON_THE_MACHINE = (*PROCESSES, *MEMORY, *FILES, *NETWORK, *RIGHTS)
