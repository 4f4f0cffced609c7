"""Files that a person names are read whole, or named in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from behavesim.base.config import read_toml
from behavesim.base.errors import UsageError
from behavesim.base.text import MOST_BYTES, read_text_file
from behavesim.prompts.wording import Wording
from tests.cli.command import Command


def test_a_text_is_read_with_the_line_ends_of_python(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("x = 'é'\r\ny\r".encode())
    assert read_text_file(tmp_path / "a.py", "program") == "x = 'é'\ny\n"


def test_a_file_of_one_byte_too_many_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b" " * MOST_BYTES)
    assert len(read_text_file(file, "program")) == MOST_BYTES
    file.write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(UsageError, match=r"cannot read the program .*more than 1 MB"):
        read_text_file(file, "program")


ODD = {"pipe.py": "no regular file", "zeros.py": "no regular file", "missing.py": "No such file", "loop.py": "symbolic"}


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder with a pipe that nobody writes to, a device without end and a link to itself."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zeros.py").symlink_to("/dev/zero")
    (tmp_path / "loop.py").symlink_to("loop.py")
    return tmp_path


@pytest.mark.parametrize(("name", "said"), ODD.items())
def test_a_pipe_a_device_and_a_file_that_is_not_there_are_named(odd: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_text_file(odd / name, "program")
    with pytest.raises(UsageError, match=said):
        read_toml(odd / name)


def test_a_folder_of_prompts_with_a_pipe_in_it_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "improve.md")
    with pytest.raises(UsageError, match=r"cannot read the prompt .*no regular file"):
        Wording.load(str(tmp_path))


@pytest.mark.parametrize("name", ["pipe.py", "zeros.py"])
@pytest.mark.parametrize(
    "command",
    [("evaluate", "tsp"), ("compare", "tsp", "template"), ("inject", "first"), ("run", "tsp", "--start-with")],
    ids=lambda command: command[0],
)
def test_commands_refuse_what_is_no_file_in_one_line(
    finished: Command, odd: Path, command: tuple[str, ...], name: str
) -> None:
    folder = odd / "programs"
    folder.mkdir()
    (odd / name).rename(folder / name)
    ended = finished(*command, folder if command[0] == "run" else folder / name)
    assert ended.code == 2
    assert f"cannot read the program {folder / name}: it is no regular file" in ended.err.replace("\n", " ")
