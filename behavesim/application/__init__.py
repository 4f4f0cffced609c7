"""What the commands do, as functions that Python can call too: nothing here reads a command line."""
