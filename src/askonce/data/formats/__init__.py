"""Readers of file formats, used by benchmarks and forums alike."""
