"""Rankers and archives in the shapes of other packages; each module needs the extra it names."""
