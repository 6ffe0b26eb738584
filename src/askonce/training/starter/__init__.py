"""Rebuilds the starter, the student of general English inside the package.

``python -m askonce.cli.starter --out FILE``
"""
