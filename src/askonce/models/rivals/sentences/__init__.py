"""Rivals that compare two texts as a whole: each text becomes one or a few vectors."""
