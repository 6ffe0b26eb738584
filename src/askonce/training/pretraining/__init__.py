"""Pre-training on raw text: encoder-decoder and language models."""
