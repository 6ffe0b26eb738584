"""What there is to learn from an archive: labels, splits and pools."""
