"""LLM4AD's kind: which item goes into the knapsack next."""

from llm4ad.base import Evaluation

WEIGHTS, VALUES, CAPACITY = (3, 4, 5, 9, 4), (3, 4, 4, 10, 4), 11


class Knapsack(Evaluation):
    def __init__(self, **kwargs):
        template = '''
import numpy as np
def choose(capacity: float, weights: np.ndarray, values: np.ndarray) -> int:
    """Return the index of the item that goes in next."""
    return 0
'''
        super().__init__(template_program=template, task_description="Fill a knapsack.", timeout_seconds=20, **kwargs)

    def evaluate_program(self, program_str, callable_func, **kwargs):
        import numpy as np

        items, left, worth = list(zip(WEIGHTS, VALUES, strict=True)), CAPACITY, 0
        while items := [item for item in items if item[0] <= left]:
            chosen = callable_func(left, *map(np.array, zip(*items, strict=True)))
            if not 0 <= chosen < len(items):
                return None
            weight, value = items.pop(chosen)
            left, worth = left - weight, worth + value
        return worth


class Program:
    """A template program that is no text, as LLM4AD's own class is."""

    def __str__(self):
        return "import numpy as np\ndef f(x: float) -> float:\n    return x\n"


class Changed(Evaluation):
    """Asks for all changes of a program's text."""

    def __init__(self):
        super().__init__(Program(), "", False, True, 0.5, 3)

    def evaluate_program(self, program_str, callable_func):
        assert "_protected_div" in program_str
        return {"score": callable_func(1.0), "again": callable_func(1.0), "lines": len(program_str.splitlines())}


class Compiled(Evaluation):
    """Asks for compiled programs."""

    def __init__(self):
        super().__init__(Program(), use_numba_accelerate=True, use_protected_div=True, protected_div_delta=1.0)

    def evaluate_program(self, program_str, callable_func):
        return [callable_func(8.0), len(callable_func.signatures)]


class Unread(Evaluation):
    """Scores a program's text alone, by two goals in an array."""

    def __init__(self):
        super().__init__(Program(), exec_code=False)

    def evaluate_program(self, program_str, callable_func):
        import numpy as np

        return np.array([len(program_str), -1.0]) if callable_func is None else None
