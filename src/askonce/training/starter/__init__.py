"""Rebuilds the starter, the student of general English inside the package.

``python -m askonce.training.starter --out FILE``
"""
