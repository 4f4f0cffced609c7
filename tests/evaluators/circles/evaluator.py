"""OpenEvolve's kind: circles in the unit square, the greater the sum of their radii the better."""

import importlib.util

import numpy as np
from openevolve.evaluation_result import EvaluationResult

CIRCLES = 5


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    centres, radii = program.pack(CIRCLES)
    centres, radii = np.asarray(centres, float), np.asarray(radii, float)
    if fault := fault_of(centres, radii):
        return EvaluationResult({"validity": 0.0, "combined_score": 0.0}, {"fault": fault, "raw": b"\xff circles"})
    return EvaluationResult({"validity": 1.0, "sum_of_radii": radii.sum(), "combined_score": radii.sum() / 2})


def fault_of(centres, radii):
    if centres.shape != (CIRCLES, 2) or radii.shape != (CIRCLES,) or not np.isfinite(centres.sum() + radii.sum()):
        return f"expected {CIRCLES} centres and radii"
    if (radii < 0).any() or (centres - radii[:, None] < 0).any() or (centres + radii[:, None] > 1).any():
        return "a circle leaves the square"
    for i in range(CIRCLES):
        for j in range(i):
            if np.hypot(*(centres[i] - centres[j])) < radii[i] + radii[j] - 1e-9:
                return f"circles {j} and {i} overlap"
    return ""
