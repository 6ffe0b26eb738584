"""Rivals that compare two texts word by word: by attention, alignment or all pairs of words."""
