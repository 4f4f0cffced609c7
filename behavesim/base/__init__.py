"""What every room may use: errors, text, clocks, settings and their plug-ins."""
