"""The paper's studies: each is a function that returns frozen tables."""
