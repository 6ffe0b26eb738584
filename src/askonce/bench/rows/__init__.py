"""What can stand in a row of the tables: each kind learns and scores in its own way."""
