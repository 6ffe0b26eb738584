"""Indexes: add posts, remove them, search them."""
