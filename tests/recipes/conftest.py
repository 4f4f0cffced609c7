"""What recipes share with the tests of the command."""

from tests.cli.conftest import behavesim

__all__ = ["behavesim"]
