"""The version of the package, in one place; reading it from the installed metadata would be slower."""

__version__ = "0.1.0"
"""The version of behavesim."""
