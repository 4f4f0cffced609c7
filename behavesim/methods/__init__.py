"""Search methods: each decides from the state of a run what it does next."""
