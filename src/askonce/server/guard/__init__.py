"""What a request must pass: API keys, limits, rates, timeouts and lanes."""
