"""Study "known": programs of others and of runs in one map of behaviours, and who found which behaviour again."""
