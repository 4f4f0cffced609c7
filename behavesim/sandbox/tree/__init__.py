"""The second profile of the sandbox: an evaluator and a program together, with all processes that they start."""
