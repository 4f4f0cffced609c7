"""What lies outside the sandbox, and whether anything happened to it: the oracle of the sieges."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
SECRET = "open-sesame-4711"
NOBODY = 65534


@dataclass(frozen=True)
class Interpreter:
    """A Python to start a daemon with, and the folders it imports from."""

    executable: str
    path: tuple[str, ...] = ()


THIS_INTERPRETER = Interpreter(
    sys.executable, (str(REPOSITORY), *(path for path in sys.path if Path(path).is_absolute()))
)


def interpreter_for_everybody(folder: Path) -> Interpreter:
    """This interpreter's files, linked into `folder`, where a user without rights can read them too."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable = folder / "bin" / version
    executable.parent.mkdir(parents=True)
    base = Path(sys.base_prefix)
    ignored = shutil.ignore_patterns("site-packages", "test")
    shutil.copytree(base / "lib" / version, folder / "lib" / version, copy_function=_link, ignore=ignored)
    for library in (base / "lib").glob("libpython*"):
        _link(str(library), str(folder / "lib" / library.name))
    _link(str(Path(sys.executable).resolve()), str(executable))
    packages = _for_everybody(Path(sysconfig.get_path("purelib")), folder / "lib" / version / "site-packages")
    return Interpreter(str(executable), (str(packages), str(_for_everybody(REPOSITORY, folder / "repository"))))


def _for_everybody(source: Path, target: Path) -> Path:
    """A folder that every user can read: the source where it is one, else the target with its files linked in."""
    if all(path.stat().st_mode & 0o005 == 0o005 for path in (source, *source.parents)):
        return source
    shutil.copytree(source, target, copy_function=_link, ignore=shutil.ignore_patterns(".git"))
    target.chmod(0o755)
    return target


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@dataclass
class Outside:
    """A folder with a secret, files that anybody may change, and listeners that nobody should reach."""

    folder: Path
    interpreter: Interpreter
    user: int | None = None
    tcp: socket.socket = field(init=False)
    udp: socket.socket = field(init=False)
    abstract: socket.socket = field(init=False)
    unix: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.canaries = self.folder / "canaries"
        for each in (self.folder / "home", self.canaries):
            each.mkdir()
            each.chmod(0o777)
        shutil.copy(HERE / "cities.py", self.folder / "cities.py")
        (self.folder / "secret").write_text(SECRET)
        (self.canaries / "file").write_text("untouched")
        (self.canaries / "file").chmod(0o666)
        self._listen()
        self._before = self._seen()

    def _listen(self) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.abstract, self.unix = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0behavesim-{self.folder.name}")
        self.unix.bind(str(self.canaries / "socket"))
        (self.canaries / "socket").chmod(0o777)
        self.abstract.listen()
        self.unix.listen()

    def besiege(
        self, layers: tuple[str, ...], names: tuple[str, ...], module: str = "tests.sandbox.siege"
    ) -> dict[str, Any]:
        """Run a siege, a module, to its end; return what the daemon said, with all its words as `said`."""
        settings = {
            "task": str(self.folder / "cities.py"), "layers": layers, "names": names,
            "words": {
                "SECRET_FILE": str(self.folder / "secret"), "CANARY_FOLDER": str(self.canaries),
                "CANARY_FILE": str(self.canaries / "file"), "HOME_FOLDER": str(self.folder / "home"),
                "TCP_PORT": str(self.tcp.getsockname()[1]), "UDP_PORT": str(self.udp.getsockname()[1]),
                "ABSTRACT_NAME": f"behavesim-{self.folder.name}",
                "HIDDEN_NUMBER": repr(float(np.random.RandomState(3).rand(10)[0])),
            },
        }  # fmt: skip
        done = subprocess.run(
            [self.interpreter.executable, "-m", module, json.dumps(settings)],
            capture_output=True,
            text=True,
            cwd="/",
            env={
                "PYTHONPATH": os.pathsep.join(self.interpreter.path),
                "BEHAVESIM_TEST_SECRET": SECRET,
                "OPENAI_API_KEY": SECRET,
                "PATH": os.environ["PATH"],
                "LD_LIBRARY_PATH": str(Path(self.interpreter.executable).parents[1] / "lib"),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )
        assert done.returncode == 0, f"the daemon did not survive: {done.stderr[-2000:]}"
        return {**json.loads(done.stdout), "said": done.stdout + done.stderr}

    def harm(self) -> list[str]:
        """What was done outside, an entry each: files, connections, processes."""
        listeners = {self.tcp: "TCP", self.udp: "UDP", self.abstract: "abstract socket", self.unix: "unix socket"}
        reached = [f"{listeners[each]} was reached" for each in select.select(list(listeners), [], [], 0)[0]]
        changed = [f"{path} changed" for path, state in self._seen().items() ^ self._before.items()]
        return reached + changed + [f"process {each} is left" for each in self._left()]

    def close(self) -> None:
        for each in (self.tcp, self.udp, self.abstract, self.unix):
            each.close()

    def _seen(self) -> dict[Path, object]:
        return {path: _state(path) for path in (self.folder, *self.folder.rglob("*"))}

    def _left(self) -> list[int]:
        """Processes that name this folder (all that a daemon started, forks included) a minute after its end."""
        deadline = time.monotonic() + 60
        while (left := processes_naming(str(self.folder))) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


def processes_naming(text: str) -> list[int]:
    """The ids of all processes whose command line holds the text, sorted; a fork has that of its parent."""
    return sorted(int(each.name) for each in Path("/proc").glob("[0-9]*") if text in _command(each))


def _state(path: Path) -> object:
    about = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
    return about.st_mode, about.st_uid, about.st_mtime_ns if not path.is_dir() else 0, content


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text(errors="replace")
    except OSError:
        return ""


def folder_for_everybody() -> Path:
    """A new folder that every user can enter (pytest's own are private)."""
    folder = Path(tempfile.mkdtemp(prefix="behavesim-siege-"))
    folder.chmod(0o755)
    return folder
