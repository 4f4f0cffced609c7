"""The programs that are evaluated, and the task that they are for."""

from __future__ import annotations

# Source of a task on which a program returns the ten numbers that it is given.
TASK = '''
import numpy as np
from behavesim.task import Objective, Task
from behavesim.trajectory import Trajectory


class Trivial(Task):
    """Return what you are given."""

    template = "def same(x):\\n    return x\\n"
    objective = Objective("minimise")

    def instances(self, split):
        return [np.arange(10.0)]

    def solve(self, function, instance):
        return function(instance)

    def score(self, instance, solution):
        return float(solution.sum())

    def trajectory(self, instance, solution):
        return Trajectory.vectors(solution[:, None])


task = Trivial()
'''
TRIVIAL = "def same(x):\n    return x\n"
# Program that takes 0.2 s of CPU time.
BUSY = """
import time

def same(x):
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return x
"""
LOOP = "def same(x):\n    while True: pass\n"
SLEEP = "import time\ndef same(x):\n    time.sleep(1000)\n"
# LOOP never ends, SLEEP sleeps for 1000 s, and DIE ends its process with exit code 1 as it is loaded.
DIE = "import os\nos._exit(1)\n"
ALONE = f"import numpy as np\n{TRIVIAL}\nsame(np.arange(10.0)).tobytes()\n"
