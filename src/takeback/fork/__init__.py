"""Fork: a conversation cut at a place becomes a session of its own, or a summary."""
