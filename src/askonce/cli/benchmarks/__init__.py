"""Commands for datasets, models and recipes."""
