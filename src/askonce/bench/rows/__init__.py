"""The kinds of rows: each trains and scores in its own way."""
