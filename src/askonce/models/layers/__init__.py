"""What several models are built of."""
