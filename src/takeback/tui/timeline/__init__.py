"""The timeline: rows with their lanes, the list that draws them, search and filters."""
