"""The journal in SQLite, and the folder of a run."""
