"""The behavesim command."""
