"""The use cases, one a file. Every face calls these and nothing below them."""
