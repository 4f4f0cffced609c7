"""The events of a run, and where it stands: the fold of them."""
