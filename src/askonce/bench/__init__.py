"""Run rankers on datasets, keep what they did, and put their figures beside the papers'."""
