"""The version of the package, in one place; reading it from the installed metadata would be slower."""

# The version of behavesim.
__version__ = "0.1.0"
