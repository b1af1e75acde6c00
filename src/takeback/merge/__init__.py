"""Merge: what changed between two states, brought into a third: reverted, carried, picked, kept."""
