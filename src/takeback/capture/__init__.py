"""Capture: makes snapshots, and watches a workspace for those who stay."""
