"""Programs that know how the sandbox is built: what it leaves open, what it forgot, and its own functions."""

from tests.sandbox.attack import body_of

THREADS = (
    body_of("a pool of threads", "forbidden", """
        from concurrent.futures import ThreadPoolExecutor
        list(ThreadPoolExecutor(8).map(abs, points))
    """),
    body_of("a pool of threads for processes", "forbidden", """
        from multiprocessing.pool import ThreadPool
        ThreadPool(8).map(abs, points)
    """),
    body_of("a pool of processes", "forbidden exception", """
        from concurrent.futures import ProcessPoolExecutor
        list(ProcessPoolExecutor(8).map(abs, points))
    """),
    body_of("a thread bomb that tries on", "score", """
        import _thread, time
        for _ in range(5000):
            try:
                _thread.start_new_thread(time.sleep, (1000,))
            except RuntimeError:
                continue
            raise SystemError("BREACH")
    """),
    body_of("a thread by libc", "forbidden", """
        import ctypes
        thread, start = ctypes.c_ulong(), ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
        code = ctypes.CDLL(None).pthread_create(ctypes.byref(thread), None, start, None)
        if code == 0:
            raise RuntimeError("BREACH")
        raise OSError(code, "refused")
    """),
    body_of("a thread that waits", "forbidden", "import threading\nthreading.Timer(1000, print).start()"),
    body_of("a watchdog's thread", "exception", "import faulthandler\nfaulthandler.dump_traceback_later(1000)"),
    body_of("threads of the Fourier transform", "forbidden exception", """
        import numpy as np
        from scipy import fft
        fft.fft(np.ones((64, 64)), workers=8)
    """),
    body_of("a terminal and a fork", "forbidden exception", "import pty\npty.fork()"),
    body_of("a program in the background", "forbidden", """
        import os
        os.waitpid(os.spawnv(os.P_NOWAIT, "/bin/sh", ["sh", "-c", "touch CANARY_FOLDER/spawnv"]), 0)
    """),
    body_of("a shell by libc", "score", """
        import ctypes
        ctypes.CDLL(None).system(b"touch CANARY_FOLDER/libc")
    """),
    body_of("a shell with a pipe", "forbidden", "import os\nos.popen('touch CANARY_FOLDER/popen').read()"),
    body_of("a spawn by libc", "score", """
        import ctypes
        pid, words = ctypes.c_int(), (ctypes.c_char_p * 4)(b"sh", b"-c", b"touch CANARY_FOLDER/libc-spawn", None)
        ctypes.CDLL(None).posix_spawn(ctypes.byref(pid), b"/bin/sh", None, None, words, None)
        ctypes.CDLL(None).waitpid(pid, None, 0)
    """),
)  # fmt: skip

OWN_FUNCTIONS = (
    body_of("killing by the sandbox's own function", "score", """
        import os
        from behavesim.sandbox import processes
        processes.kill_tree(os.getppid())
        processes.kill_strays(())
    """),
    body_of("leaving by the sandbox's own function", "forbidden", """
        from behavesim.sandbox import kernel
        kernel.prepare_call("unshare", 0x10000000)()
    """),
    body_of("mounting by the sandbox's own function", "forbidden", """
        from behavesim.sandbox import kernel
        kernel.prepare_call("mount", b"none", b"CANARY_FOLDER", b"tmpfs", 0, b"")()
    """),
    body_of("rules of its own", "forbidden", """
        from pathlib import Path
        from behavesim.sandbox import landlock
        landlock.restriction([(Path("/"), landlock.EVERYTHING)])()
    """),
    body_of("a filter of its own", "forbidden", """
        from behavesim.sandbox import seccomp
        seccomp.installation(seccomp.program())()
    """),
    body_of("layers of its own", "forbidden exception", """
        from behavesim.sandbox import layers
        from behavesim.sandbox.limits import Limits
        layers.prepare((), Limits()).confine_child(3)
    """),
    body_of("a sandbox within the sandbox", "forbidden exception", """
        import asyncio
        from behavesim.sandbox.pool import Pool
        from behavesim.task import TaskReference
        asyncio.run(Pool(TaskReference("tsp"), "held-out", 1).evaluate(""))
    """),
    body_of("orders to the zygote", "output", """
        import os
        from behavesim.sandbox.messages import FORK, KILL, NO_BLOCK, REQUEST
        for fd in range(3, 4096):
            for order in (FORK, KILL):
                for job in range(4):
                    try:
                        os.write(fd, REQUEST.pack(order, job, *NO_BLOCK))
                    except OSError:
                        pass
    """),
    body_of("words of the zygote", "output", """
        import os
        from behavesim.sandbox.messages import ProcessEnd, Ready, line
        lines = [line(said) for said in (Ready("strong+", (), 2), ProcessEnd(0, 0, "", 0.0, 0), {"error": "BREACH"})]
        for fd in range(3, 4096):
            for said in lines:
                try:
                    os.write(fd, said)
                except OSError:
                    pass
    """),
    body_of("a file that was left open", "score", """
        import os
        found = []
        for fd in range(3, 70000):
            try:
                found.append(os.fstat(fd))
            except OSError:
                pass
        if len(found) != 1:
            raise RuntimeError(f"BREACH {found}")
    """),
    body_of("a device behind standard output", "score", """
        import os
        for fd in (0, 1, 2):
            device = os.fstat(fd).st_rdev
            if (os.major(device), os.minor(device)) != (1, 3):
                raise RuntimeError("BREACH")
    """),
    body_of("a word of the trusted side", "score", """
        import os, select
        for fd in range(3, 64):
            try:
                if select.select([fd], [], [], 0)[0] and os.read(fd, 4096):
                    raise RuntimeError("BREACH")
            except OSError:
                pass
    """),
)  # fmt: skip

WAYS_TO_FILES = (
    body_of("the folder it stands in", "forbidden", "import os\nraise RuntimeError(f\"BREACH {os.listdir('.')}\")"),
    body_of("a file by a handle of its path", "forbidden exception", """
        import os
        handle = os.open("SECRET_FILE", os.O_PATH)
        raise RuntimeError("BREACH" + open(f"/proc/self/fd/{handle}").read())
    """),
    body_of("a file below a handle of its folder", "forbidden", """
        import os
        handle = os.open(os.path.dirname("SECRET_FILE"), os.O_PATH)
        raise RuntimeError(f"BREACH {os.open(os.path.basename('SECRET_FILE'), os.O_RDONLY, dir_fd=handle)}")
    """),
    body_of("a file as a library", "exception", "import ctypes\nctypes.CDLL('SECRET_FILE')"),
    body_of("a file as a module", "forbidden", """
        from importlib.machinery import SourceFileLoader
        SourceFileLoader("secret", "SECRET_FILE").load_module()
    """),
    body_of("a file as a line of a traceback", "score", """
        import linecache
        if linecache.getline("SECRET_FILE", 1):
            raise RuntimeError("BREACH")
    """),
    body_of("where the daemon stands", "forbidden exception", """
        import os
        raise RuntimeError("BREACH" + os.readlink("/proc/DAEMON/cwd"))
    """),
    body_of("what the daemon has open", "forbidden exception", """
        import os
        raise RuntimeError(f"BREACH {os.listdir('/proc/DAEMON/fd')}")
    """),
    body_of("a file by the daemon's root", "forbidden exception", """
        raise RuntimeError("BREACH" + open("/proc/DAEMON/root" + "SECRET_FILE").read())
    """),
    body_of("its own memory as a file", "forbidden exception", "open('/proc/self/mem', 'r+b')"),
    body_of("every place with secrets", "score", """
        import glob, os
        places = '''/etc/shadow /root/.ssh /root/.bashrc /home /tmp /var /run /sys /boot /mnt /srv /proc/kcore
                    /dev/shm /dev/mem /dev/kmsg /dev/tty /dev/ptmx /dev/fuse /dev/kvm /dev/net/tun'''.split()
        for place in places:
            try:
                os.open(place, os.O_RDONLY)
            except OSError:
                continue
            raise RuntimeError("BREACH " + place)
    """),
    body_of("a file without a name", "forbidden", """
        import os
        os.open("CANARY_FOLDER", os.O_TMPFILE | os.O_RDWR)
        raise RuntimeError("BREACH")
    """),
    body_of("an array into a file", "forbidden", "points.tofile('CANARY_FOLDER/tofile')"),
    body_of("an array that is a file", "forbidden", """
        import numpy as np
        np.memmap("CANARY_FILE", mode="r+")[:] = 0
    """),
    body_of("a log", "forbidden", "import logging\nlogging.FileHandler('CANARY_FOLDER/log').emit(None)"),
    body_of("a shelf", "forbidden exception", "import shelve\nshelve.open('CANARY_FOLDER/shelf')['x'] = 1"),
    body_of("an archive", "forbidden", "import zipfile\nzipfile.ZipFile('CANARY_FOLDER/zip', 'w').writestr('x', 'x')"),
    body_of("a whole folder", "forbidden", "import shutil\nshutil.rmtree('CANARY_FOLDER')"),
    body_of("compiled code that lasts", "exception forbidden", """
        from numba import njit
        njit(cache=True)(lambda x: x)(1)
    """),
    body_of("memory of every process by name", "forbidden exception", "open('/dev/shm/behavesim', 'w')"),
    body_of("memory in pipes", "score", """
        import os
        for _ in range(100):
            try:
                os.write(os.pipe()[1], b"x" * 65536)
            except OSError:
                pass
    """),
    body_of("a larger pipe", "forbidden", "import fcntl, os\nfcntl.fcntl(os.pipe()[1], 1031, 1 << 20)"),
    body_of("a socket from its own", "forbidden", """
        import socket
        for fd in range(3, 64):
            try:
                socket.send_fds(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd), [b"x"], [0])
            except OSError as error:
                if error.errno != 9:
                    raise
    """),
    body_of("words typed into the terminal", "forbidden exception", """
        import fcntl, termios
        fcntl.ioctl(0, termios.TIOCSTI, b"x")
        raise RuntimeError("BREACH")
    """),
)  # fmt: skip

SECRETS = (
    body_of("the environment in memory", "exception", """
        import ctypes
        block = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        words = []
        while block[len(words)]:
            words.append(block[len(words)])
        raise RuntimeError(str(words))
    """),
    body_of("the memory around the environment", "exception crash", """
        import ctypes
        block = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
        around = ctypes.string_at(block[0] - 1500, 3000)
        raise RuntimeError(str([each for each in around.split(b"\\0") if b"4711" in each]))
    """),
    body_of("the command line", "exception", "import sys\nraise RuntimeError(str(sys.orig_argv))"),
    body_of("the task's own file", "forbidden", """
        import json, sys
        raise RuntimeError("BREACH" + open(json.loads(sys.orig_argv[-2])["task"]).read())
    """),
    body_of("the task's other instances", "exception", """
        import sys
        for module in list(sys.modules.values()):
            if hasattr(module, "task") and hasattr(module.task, "instances"):
                raise RuntimeError(f"BREACH {module.task.instances('held-out')}")
        raise RuntimeError("none")
    """),
    body_of("the task's other instances by way of gc", "exception", """
        import gc, behavesim.task
        for each in gc.get_objects():
            if isinstance(each, behavesim.task.Task):
                if found := each.instances("held-out"):
                    raise RuntimeError(f"BREACH {found}")
        raise RuntimeError("none")
    """),
    body_of("the task loaded again", "exception forbidden", """
        import json, sys
        from behavesim.task import TaskReference
        task = TaskReference(json.loads(sys.orig_argv[-2])["task"]).load()
        raise RuntimeError(f"BREACH {task.instances('held-out')}")
    """),
)  # fmt: skip

ON_THE_WALLS = (*THREADS, *OWN_FUNCTIONS, *WAYS_TO_FILES, *SECRETS)
