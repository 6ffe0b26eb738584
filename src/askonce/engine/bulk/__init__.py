"""Encode a whole archive in shards, on one or many processes."""
