"""What the commands do, to be called from Python as well: nothing here reads a command line."""
