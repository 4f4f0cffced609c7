"""What a model is asked."""
