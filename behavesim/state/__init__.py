"""The events of a run, and the state of a run that they add up to."""
