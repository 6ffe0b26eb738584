"""Run rankers on datasets, store their results, and report them beside the papers' numbers."""
