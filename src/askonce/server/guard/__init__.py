"""Keys, limits, rates and timeouts: what a request must pass."""
