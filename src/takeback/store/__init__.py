"""Where the bytes of snapshots live: one bare git repository per workspace, used only by us."""
