"""Turns: an agent's events received, what was said in them, what ran and what goes on."""
