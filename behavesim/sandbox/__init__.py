"""Where programs run, and where what they return is judged."""
