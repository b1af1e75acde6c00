"""Check: is all that was kept there, does it read back, and what mends it."""
