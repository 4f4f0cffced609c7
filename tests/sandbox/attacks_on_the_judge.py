"""Programs that want a score they did not earn, or to stop who gives it: by solutions, frames and errors."""

from tests.sandbox.attack import HONEST, Attack, body_of, whole

SOLUTIONS = (
    body_of("two arrays for one", "invalid-solution", "return {'a': range(10), 'b': range(10)}"),
    body_of("no array", "output invalid-solution", "return {}"),
    body_of("the other order of bytes", "score", "import numpy as np\nreturn np.arange(10, dtype='>i8')"),
    body_of("an array of nothing but steps", "output", "import numpy as np\nreturn np.broadcast_to(0, 10**9)"),
    body_of("long numbers", "invalid-solution", "import numpy as np\nreturn np.arange(10, dtype=np.longdouble)"),
    body_of("whole numbers as fractions", "invalid-solution", "import numpy as np\nreturn np.arange(10.0)"),
    body_of("numbers beyond all indices", "invalid-solution", """
        import numpy as np
        return np.full(10, 2**64 - 1, np.uint64)
    """),
    body_of("a masked array", "score", "import numpy as np\nreturn np.ma.array(range(10), mask=[1] * 10)"),
    body_of("bytes", "invalid-solution", "return bytes(range(10))"),
    body_of("a type with a message", "score", """
        import numpy as np
        return np.arange(10, dtype=np.dtype("i8", metadata={"score": 0.0}))
    """),
    body_of("nine dimensions", "invalid-solution", "import numpy as np\nreturn np.zeros((1,) * 9, int)"),
    body_of("a solution without end", "timeout memory", """
        class Endless:
            def __len__(self): return 1 << 40
            def __getitem__(self, _): return 0
        return Endless()
    """),
    body_of("a conversion that never ends", "timeout", """
        class Array:
            def __array__(self, *_, **__):
                while True: pass
        return Array()
    """),
    body_of("a solution whose end never ends", "timeout", """
        class Array:
            def __array__(self, *_, **__): return __import__("numpy").arange(10)
            def __del__(self):
                while True: pass
        return Array()
    """),
    body_of("a collection that never ends", "timeout", """
        import gc
        def forever(*_):
            while True: pass
        gc.callbacks.append(forever)
        gc.collect()
    """),
    body_of("a clock that stands still", "timeout", """
        import time
        time.time = time.monotonic = time.perf_counter = time.process_time = lambda: 0.0
        while time.process_time() < 1: pass
    """),
    body_of("a signal that never ends", "timeout", """
        import signal
        def forever(*_):
            while True: pass
        signal.signal(signal.SIGALRM, forever)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        while True: pass
    """),
)  # fmt: skip


def _framed(name: str, expected: str, then: str, frame: str) -> Attack:
    """Send what `frame` says, a frame's bytes, to every open file, and go on with `then`."""
    return body_of(name, expected, f"""
        import json, os, struct, time
        import numpy as np
        def framed(solutions, data=b"", **more):
            header = json.dumps({{"solutions": solutions, **more}}).encode()
            return struct.pack("<II", len(header) + len(data), len(header)) + header + data
        tour, data = ["", "<i8", [10]], np.argsort(points).astype(np.int64).tobytes()
        frame = {frame}
        for fd in range(3, 64):
            try:
                os.write(fd, frame)
            except OSError:
                pass
        {then}
    """)  # fmt: skip


FRAMES = (
    _framed("a frame before its own", "output", "pass", "framed([[tour], [tour]], 2 * data)"),
    _framed("a frame, and death", "crash", "os.abort()", "framed([[tour], [tour]], 2 * data)"),
    _framed("a frame, and a bad end", "exit", "os._exit(3)", "framed([[tour], [tour]], 2 * data)"),
    _framed("a frame, and the status of no memory", "memory", "os._exit(77)", "framed([[tour], [tour]], 2 * data)"),
    _framed("a frame, and then nothing", "timeout", "time.sleep(1000)", "framed([[tour], [tour]], 2 * data)"),
    _framed("a frame of one instance", "output", "os._exit(0)", "framed([[tour]], data)"),
    _framed("a frame of three instances", "output", "os._exit(0)", "framed([[tour]] * 3, 3 * data)"),
    _framed("a frame with trajectories", "output", "os._exit(0)", "framed([[tour]] * 2, 2 * data, trajectories=[])"),
    _framed("a frame of a huge nothing", "output", "os._exit(0)", "framed([[['', '<i8', [0] + [2**31 - 1] * 3]]] * 2)"),
    _framed("a frame of less than nothing", "output", "os._exit(0)", "framed([[['', '<i8', [-10]]]] * 2, 2 * data)"),
    _framed("a frame of objects", "output", "os._exit(0)", "framed([[['', '|O', [10]]]] * 2, 2 * data)"),
    _framed("a frame of true lengths", "output", "os._exit(0)", "framed([[['', '<i8', [True]]]] * 2, 2 * data[:8])"),
    _framed("a frame of numbers that are none", "output", "os._exit(0)", "framed(float('nan'), data)"),
    _framed(
        "a frame of many names", "output", "os._exit(0)", "framed([[[f'{i}', '<i8', [0]] for i in range(9999)]] * 2)"
    ),
    _framed("a frame of a long name", "output", "os._exit(0)", "framed([[['x' * 10**4, '<i8', [0]]]] * 2)"),
    _framed("a frame of a name for a terminal", "output", "os._exit(0)", "framed([[['\\x1b[2J', '<i8', [0]]]] * 2)"),
    _framed("a frame of half a character", "output", "os._exit(0)", "framed([[['\\ud800', '<i8', [0]]]] * 2)"),
    _framed("a frame of one name twice", "output", "os._exit(0)", "framed([[tour, tour]] * 2, 4 * data)"),
    _framed("a frame of a long number", "output", "os._exit(0)", "b'\\x10\\x27\\0\\0' * 2 + b'9' * 10000"),
)

ERRORS = (
    body_of("a failure of its own making", "invalid-solution", """
        from behavesim.task import InvalidSolution
        raise InvalidSolution("\\x1b[31m" + "x" * 10**6)
    """),
    body_of("a name of an error without end", "exception", "raise type('E' * 10**6, (Exception,), {})"),
    body_of("a line of an error without end", "exception", """
        error = SyntaxError("x")
        error.lineno = "9" * 10**6
        raise error
    """),
    body_of("a line that cannot be had", "exit exception", """
        class E(SyntaxError):
            lineno = property(lambda self: 1 / 0)
        raise E("x")
    """),
    body_of("a text that is more than text", "exit exception", """
        class Text(str):
            __format__ = __str__ = lambda self, *_: Text("x" * 10**6)
            isprintable = lambda self: True
            __getitem__ = lambda self, _: self
        class E(Exception):
            def __str__(self): return Text("\\x1b[2J")
        raise E
    """),
    body_of("an error whose kind cannot be named", "exit exception", """
        class Meta(type):
            __name__ = property(lambda self: 1 / 0)
        class E(Exception, metaclass=Meta): pass
        raise E
    """),
    body_of("an error that pretends to be another", "exit exception memory", """
        class E(Exception):
            __class__ = property(lambda self: MemoryError)
        raise E
    """),
    body_of("an exit with an answer that cannot be shown", "exit", """
        class Code:
            def __repr__(self): raise KeyboardInterrupt
        raise SystemExit(Code())
    """),
    body_of("errors within errors", "exception", """
        error = ValueError("x")
        for _ in range(10**5):
            error = ExceptionGroup("x", [error])
        raise error
    """),
    body_of("an interrupt", "exception", "raise KeyboardInterrupt"),
    body_of("a generator's end", "exception", "raise GeneratorExit"),
    body_of("an iteration's end", "exception", "raise StopIteration"),
    body_of("no memory, it says", "memory", "raise MemoryError"),
)  # fmt: skip

REPLACEMENTS = (
    body_of("replacing the instances of the work", "score", """
        import gc, numpy as np
        from behavesim.sandbox.program import Work
        for each in gc.get_objects():
            if isinstance(each, Work):
                object.__setattr__(each, "instances", (np.zeros(10),) * 2)
    """),
    body_of("replacing the conversion to arrays", "exit exception output invalid-solution", """
        import numpy as np
        class Forged:
            dtype, nbytes, shape = np.dtype("i8"), 80, (10,)
            def tobytes(self): return b""
        np.asarray = lambda *_, **__: Forged()
    """),
    body_of("replacing the header's writer", "output", """
        import json
        dumps = json.dumps
        json.dumps = lambda header, *_: dumps({**header, "score": 0.0})
    """),
    body_of("replacing the frame's lengths", "output exit exception", """
        import struct
        from behavesim.sandbox import frames
        frames.PREFIX = struct.Struct("<QQ")
    """),
    body_of("replacing imports", "score exit exception", """
        import builtins
        builtins.__import__ = lambda *_, **__: 1 / 0
    """),
    body_of("a hook on everything", "exit exception", """
        import sys
        def hook(*_): raise SystemError
        sys.addaudithook(hook)
        open("x")
    """),
    whole("another encoding", "score", f"# -*- coding: utf-7 -*-\ndef order(points):\n{HONEST}"),
    whole("a mark of the order of bytes", "score exception", f"\ufeffdef order(points):\n{HONEST}"),
    whole("a function that is a class", "invalid-solution", "class order:\n    def __init__(self, points): pass\n"),
)  # fmt: skip

ON_THE_JUDGE = (*SOLUTIONS, *FRAMES, *ERRORS, *REPLACEMENTS)
