"""Programs as text: taken from replies, normalised and hashed."""
