"""Runs shown to browsers while they go on: read-only, and at a cost that does not depend on who looks."""
