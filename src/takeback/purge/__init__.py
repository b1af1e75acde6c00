"""Purge: a secret is removed from all that is kept."""
