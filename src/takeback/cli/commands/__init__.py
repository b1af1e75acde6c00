"""One command per file; each is imported only when it is called."""
