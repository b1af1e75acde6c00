"""Bisect: finds the turn that broke a command, on a bench beside the workspace."""
