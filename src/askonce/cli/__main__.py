"""``python -m askonce.cli``."""

from askonce.cli import program

program()
