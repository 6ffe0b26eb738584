"""What operators and visitors add to an archive: feedback, decisions, searches, options."""
