"""What the commands do that are typed most, apart from the parser, which costs as much."""
