"""Use cases that have no room of their own yet, one per file."""
