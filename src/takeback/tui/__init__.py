"""The picker: look, choose, preview and take back, in the terminal. It decides nothing itself."""
