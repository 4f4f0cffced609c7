import numpy as np


# EVOLVE-BLOCK-START
def pack(count):
    centres = np.array([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75], [0.5, 0.5]])
    return centres, np.full(count, 0.1)


# EVOLVE-BLOCK-END
