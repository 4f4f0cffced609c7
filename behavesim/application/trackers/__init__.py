"""Logs a run to an experiment tracker, live or afterwards: MLflow, Weights & Biases or TensorBoard."""
