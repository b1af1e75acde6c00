"""Where snapshots' bytes live: one bare git repository per workspace, ours alone."""
