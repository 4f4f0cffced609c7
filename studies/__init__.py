"""The paper's studies and further ones: each has a function `study` that returns a frozen value with its tables."""
