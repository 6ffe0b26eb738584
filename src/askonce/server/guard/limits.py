"""What one request may hold; the OpenAPI document says the same."""

LONGEST_QUESTION = 8_000  # characters; a question stands in the address
SOMETHING = r"[^\s\x00-\x1f\x7f-\x9f]"  # a character that is seen
LONGEST_TEXT = 100_000  # characters of a draft, of a text to embed or to re-rank
MOST_RESULTS = 100
MOST_DOCUMENTS = 500  # of one re-ranking
MOST_TEXTS = 256  # of one call for embeddings
MOST_POSTS = 1_000  # of one write
MOST_TAGS = 50
LONGEST_TAG = 100
LARGEST_VOTE = 2**31 - 1  # what a database column holds
