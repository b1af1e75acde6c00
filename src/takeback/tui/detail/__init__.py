"""The detail of one checkpoint: what it changed, what going there would change, what it lacks."""
