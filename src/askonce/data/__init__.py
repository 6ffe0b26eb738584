"""Small data that Askonce carries: an archive of its own to try things on."""
