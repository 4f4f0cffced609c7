"""Compressed files of studies: what is written comes back, and a damaged file is refused in a line."""

from __future__ import annotations

import lzma
from dataclasses import dataclass

import pytest
from behavesim_studies.portfolio_sets import read_documents, write_documents
from hypothesis import given
from hypothesis import strategies as some

from behavesim.base.errors import UsageError


@dataclass(frozen=True)
class Pair:
    name: str
    scores: tuple[float, ...]


WRITTEN = [Pair("a", (0.1, 2.0)), Pair("b\n", ())]


def test_what_is_written_comes_back(tmp_path):
    write_documents(tmp_path / "x.xz", WRITTEN, Pair)
    assert read_documents(tmp_path / "x.xz", Pair, "make.py") == WRITTEN


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"name": "a"}\n', b"[1]\n", b"\xff\n"], ids=repr)
def test_a_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "x.xz").write_bytes(lzma.compress(content))
    with pytest.raises(UsageError, match=r"x\.xz is damaged, or not made by make\.py"):
        read_documents(tmp_path / "x.xz", Pair, "make.py")


def test_a_missing_file_names_the_script_that_makes_it(tmp_path):
    with pytest.raises(UsageError, match=r"No such file.*make\.py makes it"):
        read_documents(tmp_path / "x.xz", Pair, "make.py")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "x.xz"
    write_documents(path, WRITTEN, Pair)
    return path, path.read_bytes()


@given(data=some.data())
def test_a_file_with_a_changed_byte_or_a_lost_end_is_refused(written, data):
    path, whole = written
    at = data.draw(some.integers(0, len(whole) - 1))
    changed = whole[:at] + data.draw(some.sampled_from([b"", bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]]))
    path.write_bytes(changed)
    with pytest.raises(UsageError, match="damaged"):
        read_documents(path, Pair, "make.py")
