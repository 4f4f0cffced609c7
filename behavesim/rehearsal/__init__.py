"""A search rehearsed in memory: what a method is examined by before it meets a model."""
