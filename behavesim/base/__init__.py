"""What every part of behavesim may use: errors, text, clocks, settings and plug-ins."""
