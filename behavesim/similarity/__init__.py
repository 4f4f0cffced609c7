"""BehaveSim: how alike two algorithms are by what they do."""
