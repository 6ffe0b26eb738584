"""`askonce train ARCHIVE`: labels, splits, pools, candidates, selection."""
