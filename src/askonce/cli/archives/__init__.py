"""Commands for archives: import, ask, train, serve."""
