"""What a run's events say, as frozen values: reports of runs, metrics, comparisons."""
