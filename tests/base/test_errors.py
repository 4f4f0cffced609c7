"""A name that nobody has is answered with the one that was meant."""

from __future__ import annotations

import signal

import pytest

from behavesim.base.errors import (
    INTERRUPTED,
    BehavesimError,
    PartError,
    TaskError,
    TrajectoryError,
    UsageError,
    nearest,
)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bugdet", "did you mean 'budget'?"),
        ("bdgt", "did you mean 'budget'?"),
        ("zzzzzz", ""),
        ("table", ""),
        ("ab.py", ""),
    ],
)
def test_the_most_similar_name_is_meant_if_one_is_similar(name: str, said: str) -> None:
    assert nearest(name, iter(["budget", "window", "cd.py"])) == said


@pytest.mark.parametrize(
    ("error", "code"), [(BehavesimError, 1), (PartError, 1), (UsageError, 2), (TaskError, 2), (TrajectoryError, 2)]
)
def test_what_a_person_can_correct_has_a_code_of_its_own(error: type[BehavesimError], code: int) -> None:
    assert error("said").exit_code == code


def test_an_interrupted_command_ends_as_a_shell_says_it_of_ctrl_c() -> None:
    assert INTERRUPTED == 128 + signal.SIGINT
