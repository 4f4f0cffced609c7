"""Programs that want the search: its time, its trust in what it is sent, and its score."""

from tests.sandbox.attack import HONEST, body_of, whole

STALLING = (
    body_of("an endless loop", "timeout", "while True: pass"),
    body_of("an endless loop in C", "timeout", "import itertools\nsum(itertools.repeat(0))"),
    body_of("an endless regular expression", "timeout", "import re\nre.match('(a+)+$', 'a' * 64 + 'b')"),
    body_of("a loop that swallows everything", "timeout", """
        while True:
            try:
                raise KeyboardInterrupt
            except BaseException:
                pass
    """),
    body_of("a loop with every signal ignored and blocked", "timeout", """
        import signal
        for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(each, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True: pass
    """),
    body_of("sleep", "timeout", "import time\ntime.sleep(1000)"),
    body_of("waiting for nothing", "timeout", "import select\nselect.select([], [], [])"),
    body_of("a deadlock", "timeout", "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"),
    body_of("spinning threads", "forbidden", """
        import threading
        def spin():
            while True: pass
        threads = [threading.Thread(target=spin) for _ in range(4)]
        for each in threads: each.start()
        for each in threads: each.join()
    """),
    body_of("a thread left behind", "forbidden", """
        import threading
        def spin():
            while True: pass
        threading.Thread(target=spin, daemon=False).start()
    """),
    body_of("an exit hook that never ends", "score", """
        import atexit, time
        atexit.register(time.sleep, 1000)
    """),
    body_of("stopping itself", "forbidden", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
    body_of("a million timers", "score crash", """
        import signal
        signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
        sum(range(100000))
    """),
)  # fmt: skip

OUTPUT = (
    body_of("a flood on standard output", "score timeout", "for _ in range(50): print('x' * 10**6)"),
    body_of("a flood on standard error", "score timeout", """
        import os
        for _ in range(50): os.write(2, b'x' * 10**6)
    """),
    body_of("a huge solution", "output", "import numpy as np\nreturn np.zeros(2 * 10**6)"),
    body_of("garbage on every file", "output exit", """
        import os
        for fd in range(64):
            try:
                os.write(fd, b"garbage" * 100)
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("a flood on the socket", "output", """
        import os
        for fd in range(3, 64):
            try:
                while True: os.write(fd, b"\\xff" * 65536)
            except OSError:
                pass
    """),
    body_of("a slow frame", "timeout", """
        import os, time
        while True:
            for fd in range(3, 64):
                try:
                    os.write(fd, b"\\x01")
                except OSError:
                    pass
            time.sleep(0.05)
    """),
    body_of("half a frame", "output", """
        import os, struct
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack("<II", 1000, 100) + b"{}")
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("a frame of deep JSON", "output", """
        import os, struct
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack("<II", 60000, 60000) + b"[" * 60000)
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("a frame with a score", "output", """
        import json, os, struct
        header = json.dumps({"solutions": [], "score": 0.0, "scores": [0.0, 0.0]}).encode()
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack("<II", len(header), len(header)) + header)
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("a frame that is empty and vast", "output", """
        import json, os, struct
        header = json.dumps({"solutions": [[["", "<i8", [0, 2147483647, 2147483647, 2147483647]]]] * 2}).encode()
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack("<II", len(header), len(header)) + header)
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("a pickle for a frame", "output", """
        import os, pickle
        class Bomb:
            def __reduce__(self):
                return os.system, ("touch CANARY_FOLDER/pickle",)
        for fd in range(3, 64):
            try:
                os.write(fd, pickle.dumps(Bomb()))
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("a failure that nobody may claim", "output", """
        import json, os, struct
        header = json.dumps({"failure": "\\x1b[2J", "message": "x"}).encode()
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack("<II", len(header), len(header)) + header)
            except OSError:
                pass
        os._exit(0)
    """),
    body_of("every file closed", "exit", "import os\nos.closerange(0, 64)"),
)  # fmt: skip

PAYLOADS = (
    body_of("not a number", "non-finite invalid-solution", "import numpy as np\nreturn np.full(10, np.nan)"),
    body_of("infinity", "non-finite invalid-solution", "import numpy as np\nreturn np.full(10, np.inf)"),
    body_of("another shape", "invalid-solution", "import numpy as np\nreturn np.zeros((3, 4, 5), int)"),
    body_of("nothing", "invalid-solution", "return None"),
    body_of("no dimension", "invalid-solution", "return 7"),
    body_of("an empty solution", "invalid-solution", "return []"),
    body_of("a ragged solution", "exception", "return [[1, 2], [3]]"),
    body_of("text", "invalid-solution", "return ['0'] * 10"),
    body_of("records", "invalid-solution", "import numpy as np\nreturn np.zeros(10, [('a', 'i4')])"),
    body_of("complex numbers", "invalid-solution", "import numpy as np\nreturn np.zeros(10, complex)"),
    body_of("dates", "invalid-solution", "import numpy as np\nreturn np.zeros(10, 'datetime64[s]')"),
    body_of("a generator", "invalid-solution", "return (i for i in range(10))"),
    body_of("huge numbers", "invalid-solution", "return [10 ** 30] * 10"),
    body_of("fractions for indices", "invalid-solution", "return [i + 0.5 for i in range(10)]"),
    body_of("negative indices", "invalid-solution", "return [-1 - i for i in range(10)]"),
    body_of("truth values", "invalid-solution", "return [True] * 10"),
    body_of("a false truth value", "output invalid-solution", """
        import numpy as np
        return np.full(10, 7, np.uint8).view(bool)
    """),
    body_of("an object that is any number", "invalid-solution exception", """
        class Any(float):
            __eq__ = __le__ = __lt__ = lambda self, other: True
            __hash__ = float.__hash__
        return [Any(0)] * 10
    """),
    body_of("an object with a pickle inside", "invalid-solution", """
        import os
        class Bomb:
            def __reduce__(self):
                return os.system, ("touch CANARY_FOLDER/reduce",)
        return [Bomb()] * 10
    """),
    body_of("an array that lies about itself", "score invalid-solution exception", """
        import numpy as np
        class Liar(np.ndarray):
            shape = property(lambda self: (10,))
            __eq__ = lambda self, other: True
            def tobytes(self, *_): return b"x" * 10**6
        return np.arange(10).view(Liar)
    """),
    body_of("a conversion that attacks", "exception", """
        class Array:
            def __array__(self, *_, **__):
                raise SystemError("from within numpy")
        return Array()
    """),
)  # fmt: skip

CHEATS = (
    body_of("changing the instance", "score", "points[:] = 0"),
    body_of("changing the evaluator's instances by its frames", "score", """
        import sys, types, numpy as np
        frame = sys._getframe()
        while frame:
            for value in list(frame.f_locals.values()):
                for each in value if isinstance(value, (list, tuple)) else [value]:
                    if isinstance(each, np.ndarray) and each.flags.writeable: each[...] = 0
            frame = frame.f_back
    """),
    body_of("replacing the task's score by way of gc", "score", """
        import gc
        for each in gc.get_objects():
            if type(each).__name__ == "ABCMeta" and hasattr(each, "score"):
                each.score = lambda self, instance, solution: -1e9
        import behavesim.task
        behavesim.task.Task.score = lambda *_: -1e9
        for name in ("Cities",):
            for each in gc.get_objects():
                if isinstance(each, behavesim.task.Task): type(each).score = lambda *_: -1e9
    """),
    body_of("replacing numpy's functions", "score", """
        import numpy as np
        np.abs = np.diff = np.sort = lambda *_, **__: np.zeros(1)
    """),
    body_of("replacing time and chance", "score", """
        import time, random
        time.monotonic = time.time = lambda: 0.0
        random.random = lambda: 0.5
    """),
    body_of("replacing built-in functions", "score exit output", """
        import builtins
        builtins.sorted = lambda *_: list(range(10))
        builtins.len = lambda *_: 10
    """),
    body_of("replacing the sandbox's own functions", "score", """
        import behavesim.sandbox.judge, behavesim.sandbox.pool
        behavesim.sandbox.judge.verdict_on = lambda *_: -1e9
        behavesim.sandbox.pool.result = lambda *_: -1e9
    """),
    body_of("replacing the way out", "score exit output", """
        import os
        os._exit = lambda *_: None
    """),
    body_of("replacing the frame", "output exit", """
        from behavesim.sandbox import program
        program.encode_solutions = lambda *_: b"\\x00" * 64
    """),
    body_of("a trace function on all code", "score exit exception", """
        import sys
        sys.settrace(lambda frame, event, arg: None)
        sys.setprofile(lambda frame, event, arg: None)
    """),
    body_of("the other splits' instances", "exception score", """
        import gc, numpy as np
        hidden = HIDDEN_NUMBER
        for each in gc.get_objects():
            if isinstance(each, (list, tuple)):
                for item in each:
                    if isinstance(item, np.ndarray) and item.dtype == float and item.size and np.any(item == hidden):
                        raise RuntimeError("BREACH")
    """),
)  # fmt: skip

ENDS = (
    body_of("sys.exit", "exit", "import sys\nsys.exit(0)"),
    body_of("os._exit", "exit", "import os\nos._exit(0)"),
    body_of("os._exit with a status", "exit", "import os\nos._exit(77 - 1)"),
    body_of("abort", "crash", "import os\nos.abort()"),
    body_of("a segmentation fault", "crash", "import ctypes\nctypes.string_at(0)"),
    body_of(
        "an illegal instruction",
        "crash",
        """
        import ctypes, mmap
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\\x0f\\x0b")
        ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    """,
    ),
    body_of("recursion", "exception", "return order(points)"),
    body_of(
        "recursion beyond the stack",
        "crash memory exception",
        """
        import sys
        sys.setrecursionlimit(10**9)
        class Deep:
            def __repr__(self): return repr([self])
        repr(Deep())
    """,
    ),
    body_of("an error of no ordinary kind", "exception", "class E(BaseException): pass\nraise E('x')"),
    body_of(
        "an error that cannot be shown",
        "exit",
        """
        class E(Exception):
            def __str__(self): raise SystemExit
        raise E
    """,
    ),
    body_of("an error that writes to the terminal", "exception", "raise ValueError('\\x1b[2J\\x1b]0;title\\a[red]')"),
    body_of("an error of a million letters", "exception", "raise ValueError('x' * 10**6)"),
    body_of("half a character", "exception", "raise ValueError('\\ud800')"),
    whole("no program", "exception", ""),
    whole("no function", "exception", "order = 7"),
    whole("another function", "exception", "def other(points): pass"),
    whole("a null character", "exception", "def order(points):\n    return '\0'"),
    whole("brackets without end", "exception memory", "(" * 50000),
    whole("a tower of signs", "exception memory crash", "x = " + "-" * 50000 + "1"),
    whole("a long program", "score", "x = 1\n" * 10000 + "def order(points):\n" + HONEST),
    whole("a program of half characters", "exception", "x = '\ud800'\ndef order(points):\n    raise ValueError(x)"),
    whole("an attack while it is defined", "forbidden", "open('/etc/passwd')\ndef order(points):\n" + HONEST),
)

ON_THE_SEARCH = (*STALLING, *OUTPUT, *PAYLOADS, *CHEATS, *ENDS)
