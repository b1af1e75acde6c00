"""Retention: what goes so that a store stays within its bounds, and what comes back."""
