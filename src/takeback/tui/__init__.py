"""The picker: look, choose, preview, take back, in the terminal. It decides nothing itself."""
