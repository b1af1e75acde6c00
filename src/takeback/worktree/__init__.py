"""The only code that touches the user's files: what is there, and carrying out a plan."""
