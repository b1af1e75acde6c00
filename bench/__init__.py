"""Measures takeback against what it replaces, interleaved in one run. ``make bench``."""
