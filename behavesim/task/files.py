"""Programs of several files, as one text: each file begins with a line that names its path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

_HEADER = re.compile(r"^=== file: (?P<path>[^\n]+?) ===\n", re.MULTILINE)
MOST_FILES = 100
"""Most files that one program may have; with more it is refused."""
LONGEST_PATH = 500
"""Most bytes (UTF-8) of a file's path in a program, which is refused if a path is longer."""
LONGEST_NAME = 200
"""Most bytes (UTF-8) of one folder or file name in a path: file systems take 255."""


def joined(files: Mapping[str, str]) -> str:
    """Return files, texts by path, as one text that `separated` reads; raises ValueError if it could not.

    It could not if there is no file or too many, a path is not valid, or a text holds a header line. A text that is not
    empty and lacks a final line break gets one.
    """
    text = "".join(
        f"=== file: {path} ===\n{body if body.endswith(chr(10)) or not body else body + chr(10)}"
        for path, body in files.items()
    )
    if list(separated(text)) != list(files):
        raise ValueError(
            "a file of the program holds a line such as `=== file: name ===`, by which files are told apart"
        )
    return text


def separated(text: str) -> dict[str, str]:
    """Return the files of a program by path; the whole text as the path "" if no header line comes before other text.

    Paths are in their plain form, such as "a/b.py" for "./a//b.py". Raises ValueError for a path that leads out of the
    program's folder, is blank, too long, or has a backslash or an unprintable character. It is also raised if a path
    occurs twice or goes through another file, and for more than MOST_FILES files.
    """
    headers = list(_HEADER.finditer(text))
    if not headers or text[: headers[0].start()].strip():
        return {"": text}
    if len(headers) > MOST_FILES:
        raise ValueError(f"a program has at most {MOST_FILES} files, not {len(headers)}")
    files: dict[str, str] = {}
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        path = _plain(header["path"])
        if path in files:
            raise ValueError(f"the file {path!r} occurs twice; write each file once")
        files[path] = text[header.end() : following.start() if following else len(text)]
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    if both := sorted(folders & files.keys()):
        raise ValueError(f"{both[0]!r} cannot be both a file of the program and a folder with other files")
    return files


def _plain(path: str) -> str:
    """Return a path without needless parts; raises ValueError for one that no file of a program may have."""
    parts = PurePosixPath(path.strip()).parts
    if not parts or ".." in parts or path.startswith(("/", "~")) or "\\" in path or not path.isprintable():
        raise ValueError(f"{path[:100]!r} cannot be the path of a file of the program: use a path below its folder")
    plain = "/".join(parts)
    if len(plain.encode(errors="replace")) > LONGEST_PATH or any(len(part.encode()) > LONGEST_NAME for part in parts):
        raise ValueError(f"the path {path[:100]!r} is too long; at most {LONGEST_PATH} bytes are taken")
    return plain
