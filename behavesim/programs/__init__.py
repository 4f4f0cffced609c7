"""Programs as text: found in replies, normalised, compared."""
