"""Indexes in a Milvus database."""
