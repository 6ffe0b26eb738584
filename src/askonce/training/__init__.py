"""From labelled pools to a ranker: losses, negatives, recipes, and one visible loop."""
