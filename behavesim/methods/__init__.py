"""Search methods: pure functions from the state of a run to its next decision."""
