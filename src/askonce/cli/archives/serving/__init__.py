"""What `askonce serve` runs."""
