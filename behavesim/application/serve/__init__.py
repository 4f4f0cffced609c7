"""Serve runs to browsers while they go on: read-only, with a bounded cost however many people look."""
