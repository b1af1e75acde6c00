"""The ledger: an index of the refs in SQLite. It holds nothing that the store does not."""
