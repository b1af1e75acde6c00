"""Rewind: asked for, planned, prepared, refused, carried out, undone, recovered."""
