"""An experiment: many runs, planned in advance, carried out side by side and compared."""
