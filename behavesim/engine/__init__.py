"""The engine of a search: what is due, the loop that does it, its caps, and where settings become a search."""
