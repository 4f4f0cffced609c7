"""EoH's kind: a class template, and a function that processes look up by name."""

import multiprocessing

from eoh import BaseProblem


class Search(BaseProblem):
    template_program = """
from collections import deque
class Searcher:
    def __init__(self, low: int, high: int):
        self.low, self.high = low, high
    def ask(self, answer: int) -> int:
        return self.low
"""
    task_description = "Find a number between 0 and 100."

    def evaluate_program(self, program_str, callable_func):
        asked = 0
        for wanted in (17, 64):
            searcher, answer = callable_func(0, 100), 0
            for _ in range(200):
                guess = searcher.ask(answer)
                asked += 1
                answer = (guess < wanted) - (guess > wanted)
                if not answer:
                    break
            else:
                return None
        return asked / 2


class Apart(BaseProblem):
    template_program = "def square(x: float) -> float:\n    return x\n"

    def evaluate_program(self, program_str, callable_func):
        with multiprocessing.Pool(2) as pool:
            return float(np_sum(pool.map(callable_func, [1.0, 2.0, 3.0])))


def np_sum(values):
    return sum(abs(value - target) for value, target in zip(values, (1, 4, 9), strict=True))
