"""``python -m askonce`` is the ``askonce`` program."""

from askonce.cli import program

program()
