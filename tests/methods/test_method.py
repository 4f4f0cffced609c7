"""What every method has."""

from __future__ import annotations

from behavesim.methods.hill_climbing import HillClimbing
from behavesim.methods.method import MethodSettings
from tests.methods.states import BRIEF


class Mine(HillClimbing):
    """A method of one's own."""


def test_errors_name_a_method_of_ours_by_its_class_and_one_of_ones_own_by_its_file() -> None:
    assert HillClimbing(MethodSettings(), BRIEF).name == "HillClimbing"
    assert Mine(MethodSettings(), BRIEF).name == __file__
