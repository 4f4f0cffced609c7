"""The paper's studies of the measure itself."""
