"""The server: the page and the HTTP API, a face like the picker. docs/server.md describes it."""
