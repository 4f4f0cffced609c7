"""The version of the package, named in one place; to ask the installed metadata takes longer than to list all runs."""

__version__ = "0.1.0"
