"""The timeline: lists, names, conversations and looks at what is kept."""
