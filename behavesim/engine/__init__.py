"""The search: what is due, the loop that does it, and the one place where settings become a search."""
