"""A git repository as a program: some of its files may change, and a command run in a copy of it gives the score.

The repository is only read. Its commit is checked out below the folder of the runs, without `.git` and without what is
not committed. From there each evaluation copies it, puts the candidate's files over it and runs the command.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from behavesim.base.errors import UsageError
from behavesim.base.text import listed, one_line, storable
from behavesim.base.tokens import estimate_tokens
from behavesim.task.evaluated import MADE, MOST_FILES, PLAIN_PATH, Repository, path_pattern

# Most tokens of the files that may change, all together: prompts show them.
SHOWN_TOKENS = 30_000
# Most characters of the README that prompts show as the task's description.
README_SHOWN = 4_000
# Most names of files in a message.
_MOST_NAMED = 8
# Suffixes of files that may change if nobody says which.
SOURCES = (
    *(".py", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".go", ".hs", ".java", ".jl", ".js", ".kt", ".lua"),
    *(".ml", ".nim", ".r", ".rb", ".rs", ".scala", ".swift", ".ts", ".zig", ".f90", ".cs"),
)
# Words in a path by which a file seems to belong to the judge: then it does not change unless a person says so.
_JUDGING = re.compile(
    r"(?:^|[/_.-])(?:score|scorer|scoring|eval|evaluate|evaluator|judge|grade|grader|tests?|bench\w*|check\w*|conftest"
    r"|setup)(?=[/_.-])"
)


@dataclass(frozen=True)
class WantedRepository:
    """What a person said of a repository: its folder, the command that prints the score, and patterns of paths."""

    folder: Path
    command: str
    show: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedOut:
    """A commit that lies ready for a task: what the task's file says of it, the first program and its description."""

    repository: Repository
    program: Path
    folder: Path
    name: str
    description: str

    def evaluator(self, command: str) -> str:
        """Return the command of the evaluator: it runs `command` in a copy of the repository with a program's files."""
        # the first word does nothing: by it the evaluator of another commit is another one
        copied = "cp -RP . /tmp/repository && cp -R {program}/. /tmp/repository/ && cd /tmp/repository"
        return f": {self.repository.commit} && {copied} && (\n{command}\n)"


@contextmanager
def checked_out(wanted: WantedRepository, runs: Path, tell: Callable[[str], None]) -> Iterator[CheckedOut]:
    """Check out the repository's commit below `runs` and yield it; remove it after the block if no task names it.

    `tell` gets a line on which files may change, and on what is left out. Raises UsageError if the folder is no git
    repository with a commit, if it has uncommitted changes, or if no file may change.
    """
    top = _top(wanted.folder)
    commit = _git(top, "rev-parse", "--verify", "HEAD^{commit}").strip()
    _refuse_uncommitted(top, tell)
    shown, kept = _choose(top, wanted, tell)
    show = wanted.show or tuple(shown)
    name = re.sub(r"[^\w.+-]+", "-", top.name).strip(".+-") or "repository"
    key = hashlib.sha256(os.fsencode("\0".join((str(top), *show)))).hexdigest()[:8]
    place = (runs / MADE).resolve() / f"{name}-{commit[:12]}-{key}"
    if not place.exists():
        _check_out(top, commit, shown, place)
    description = (
        f"{_readme(place / 'repository')}\n\nThe score is what this command prints last: {wanted.command}".strip()
    )
    try:
        repository = Repository(commit, show, tuple(kept))
        yield CheckedOut(repository, place / "first", place / "repository", name, description)
    finally:
        tasks = place.parent.glob("*.toml")
        if not any(str(place) in task.read_text(encoding="utf-8") for task in tasks):
            shutil.rmtree(place, ignore_errors=True)
            for folder in (place.parent, runs):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()


def _git(folder: Path, *words: str) -> str:
    """Return what git prints about a repository, with a surrogate for each byte that is no UTF-8."""
    return _git_bytes(folder, *words).decode(errors="surrogateescape")


def _git_bytes(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """Return what git prints if it reads `given`; it writes nothing in the repository. UsageError if it fails."""
    # variables such as GIT_DIR would name another repository, and `status` would refresh the index
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, input=given, env=environment)
    except OSError as error:
        raise UsageError(f"--repo needs the program git: {error.strerror}") from None
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UsageError(f"{folder} is no git repository with a commit: {why}")
    return done.stdout


def _top(folder: Path) -> Path:
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name that of a git repository with --repo")
    top = Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    if top.resolve() != folder.resolve():
        raise UsageError(f"{folder} is a folder inside the repository {top}; name that with --repo")
    return top


def _refuse_uncommitted(top: Path, tell: Callable[[str], None]) -> None:
    lines = _git(top, "status", "--porcelain", "-z").split("\0")
    changed = [line[3:] for line in lines if line and not line.startswith("??") and line[2:3] == " "]
    if changed:
        raise UsageError(
            f"{top} has uncommitted changes in {_listed(changed)}; commit or stash them: programs start from the commit"
        )
    untracked = [line[3:] for line in lines if line.startswith("??")]
    if untracked:
        tell(f"not committed, and so not there when the command runs: {_listed(untracked)}")


def _readme(folder: Path) -> str:
    """Return the beginning of the README of a commit; "" if it has none."""
    found = (
        path
        for path in sorted(folder.iterdir())
        if path.stem.lower() == "readme" and path.is_file() and not path.is_symlink()
    )
    path = next(found, None)
    return "" if path is None else path.read_text(encoding="utf-8", errors="replace").strip()[:README_SHOWN]


def _tree(top: Path) -> list[tuple[str, str]]:
    """Return the mode and the path of each file of the commit."""
    lines = _git(top, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")
    return [(line.partition(" ")[0], line.partition("\t")[2]) for line in lines if line]


def _choose(top: Path, wanted: WantedRepository, tell: Callable[[str], None]) -> tuple[dict[str, str], list[str]]:
    """Return the files that may change, texts by path, and the paths that may not though a pattern matches them."""
    tree = _tree(top)
    links = [path for mode, path in tree if mode in ("120000", "160000")]  # symbolic links and submodules
    patterns = [path_pattern(pattern) for pattern in wanted.show]
    files = [path for mode, path in tree if mode.startswith("100")]
    if patterns:
        matching = [path for path in files if any(pattern.fullmatch(path) for pattern in patterns)]
    else:
        words = set(re.findall(r"[\w./+-]+", wanted.command))
        matching = [path for path in files if _is_source(path) and not {path, f"./{path}"} & words]
    texts = _texts(top, matching)
    sizes = {path: estimate_tokens(text) for path, text in texts.items()}
    # the largest are left out first: many small files say more of a program than one large one
    kept_files = sorted(sizes, key=lambda path: (sizes[path], path))[:MOST_FILES]
    while kept_files and sum(sizes[path] for path in kept_files) > SHOWN_TOKENS:
        kept_files.pop()
    shown = {path: texts[path] for path in matching if path in kept_files}
    if not shown:
        asked = f"--show {' '.join(wanted.show)}" if patterns else "by its name"
        raise UsageError(
            f"no text file of {top} is one that may change ({asked}); name some, such as --show 'src/*.py'. "
            f"It has {_listed(files)}"
        )
    left_out = [path for path in matching if path not in shown]
    if left_out:
        most = f"{SHOWN_TOKENS:,} tokens or {MOST_FILES} files together"
        tell(f"may not change, as they are no plain text or exceed {most}: {_listed(left_out)}")
    how = "" if patterns else ", by their names; --show chooses"
    tell(f"programs may change {_listed(list(shown))}{how}; all other files are put back before each evaluation")
    # other names need not be kept from programs, which cannot give them, and have bytes that no task file takes
    return shown, [path for path in (*left_out, *links) if PLAIN_PATH.fullmatch(path)]


def _is_source(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in SOURCES and not _JUDGING.search(f"{path}.")


def _texts(top: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the texts of those committed files, by path, that can be shown and patched as texts."""
    plain = [path for path in paths if PLAIN_PATH.fullmatch(path)]  # no hidden files
    # one process for all: each takes milliseconds, and a repository may have thousands of files
    asked = "".join(f"HEAD:{path}\n" for path in plain).encode()
    out = _git_bytes(top, "cat-file", "--batch", given=asked)
    found, at = {}, 0
    for path in plain:
        begin = out.index(b"\n", at) + 1  # behind `<object> blob <size>`
        at = begin + int(out[at:begin].split()[-1])
        text = out[begin:at].decode(errors="surrogateescape")
        at += 1  # a line break ends each file
        # a surrogate stands for a byte that is no UTF-8; a carriage return would be lost on the way
        if text.strip() and "=== file:" not in text and not re.search(r"[\0\r\ud800-\udfff]", text):
            found[path] = text
    return found


def _check_out(top: Path, commit: str, shown: dict[str, str], place: Path) -> None:
    """Write the files of a commit to `place`/repository, and those that may change to `place`/first, in one step."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".checkout-", dir=place.parent))
    except OSError as error:
        raise UsageError(f"cannot write {place.parent}: {error.strerror}; choose another --runs-dir") from None
    try:
        # a bare copy of the one commit, so that neither the repository's index nor its worktrees know of it
        store = draft / "store"
        _git(top, "clone", "--quiet", "--bare", "--depth", "1", f"file://{top.resolve()}", str(store))
        (draft / "repository").mkdir()
        places = f"--git-dir={store}", f"--work-tree={draft / 'repository'}"
        _git(draft, *places, "checkout", "--quiet", "--force", commit, "--", ".")
        shutil.rmtree(store)
        for path, text in shown.items():
            file = draft / "first" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        draft.rename(place)
    except BaseException:  # Ctrl-C too: else the half-written copy would stay
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _listed(paths: Sequence[str]) -> str:
    """Return paths as a list in words: the first _MOST_NAMED, and how many others there are."""
    return listed([one_line(storable(path)) for path in paths], _MOST_NAMED) or "no file"
