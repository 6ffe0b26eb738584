"""Open, follow, swap and close what serves."""
