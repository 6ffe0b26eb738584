"""From written text to numbers: HTML, words, vocabulary, word vectors, batches."""
