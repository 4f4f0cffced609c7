"""What a run's events say: convergence, clusters, diversity, statistics."""
