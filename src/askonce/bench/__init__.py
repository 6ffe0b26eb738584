"""Run rankers on datasets and put their figures side by side."""
