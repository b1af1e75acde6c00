"""Frozen values and pure functions: the nouns of takeback. Nothing here touches a disk."""
