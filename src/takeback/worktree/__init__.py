"""The only code that touches the user's files: looks at what is there, and carries out a plan."""
