"""EoH's older kind: it executes a program's text by itself, and its prompts say which function it calls."""

import sys
import types


class Prompts:
    def get_task(self):
        return "Find a number between 0 and 100."

    def get_func_name(self):
        return "guess"

    def get_func_inputs(self):
        return ["low", "high"]

    def get_func_outputs(self):
        return ["number"]

    def get_inout_inf(self):
        return "'low' and 'high' are the ends of an interval, 'number' is in it."

    def get_other_inf(self):
        return ""


class Search:
    def __init__(self):
        self.prompts = Prompts()

    def asked(self, guess, wanted):
        low, high = 0, 100
        for asked in range(1, 201):
            number = guess(low, high)
            if number == wanted:
                return asked
            low, high = (number + 1, high) if number < wanted else (low, number - 1)
        raise ValueError("never found")

    def evaluate(self, code_string):
        try:
            heuristic = types.ModuleType("heuristic")
            exec(code_string, heuristic.__dict__)
            sys.modules[heuristic.__name__] = heuristic
            return sum(self.asked(heuristic.guess, wanted) for wanted in (17, 64)) / 2
        except (NameError, ValueError):
            return None


class Mute:
    def evaluate(self, code_string):
        return 0.0
