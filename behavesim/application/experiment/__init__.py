"""An experiment: many runs planned before the first of them is made, carried out side by side, and compared."""
