"""The models that the five papers compare with, one file each."""
