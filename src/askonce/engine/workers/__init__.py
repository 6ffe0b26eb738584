"""Processes that answer questions beside the one that owns the indexes."""
