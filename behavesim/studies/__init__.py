"""The studies of the paper, each a function from nothing to frozen tables."""
