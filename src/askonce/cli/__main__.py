"""``python -m askonce.cli``."""

from askonce.cli import main

main()
