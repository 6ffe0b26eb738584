"""The tables of an archive, the same on SQLite and PostgreSQL.

A change here needs the next ``FORMAT`` and a step of that number in ``migrations/versions``.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    literal_column,
)

from askonce.archive.database import NameType, NumberType

FORMAT = 4

metadata = MetaData()

# One row. Every writer locks it first and holds it until commit, so change numbers become visible
# in order: a reader that has seen a number never misses a lower one.
state = Table(
    "state",
    metadata,
    Column("one", Integer, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("change", BigInteger, nullable=False),
)
LATEST_CHANGE = "SELECT change FROM state"  # every query runs it

# A deleted post keeps its row, without its text, so that indexes learn of the deletion.
posts = Table(
    "posts",
    metadata,
    Column("number", NumberType, primary_key=True, autoincrement=True),
    Column("id", NameType, nullable=False, unique=True),
    Column("kind", NameType, nullable=False),
    Column("parent", NameType, index=True),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("html", Text, nullable=False),
    Column("score", Integer),
    Column("accepted", Boolean, nullable=False),
    Column("tags", Text, nullable=False),  # JSON list
    Column("created", Text),
    Column("deleted", Boolean, nullable=False),
    Column("change", BigInteger, nullable=False, unique=True),
    Column("url", Text),
    Column("author", Text),
    Column("author_url", Text),
    Column("site", Text),
    Column("licence", Text),
)
Index("posts_by_kind", posts.c.kind, posts.c.deleted)
_NO_HTML = literal_column("''", Text).label("html")
WITHOUT_HTML = [_NO_HTML if column.name == "html" else column for column in posts.c]

links = Table(
    "links",
    metadata,
    Column("source", NameType, primary_key=True),
    Column("target", NameType, primary_key=True),
    Column("kind", NameType, primary_key=True),
)
Index("links_by_target", links.c.target)

# The text of a post before an edit; ``change`` is the number of that edit.
revisions = Table(
    "revisions",
    metadata,
    Column("id", NameType, primary_key=True),
    Column("change", BigInteger, primary_key=True),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("html", Text, nullable=False),
    Column("replaced", Text, nullable=False),  # time of the edit, ISO 8601
)

# The posts that each source of `askonce sync` has delivered; ``seen`` is the last pass that did.
synced = Table(
    "synced",
    metadata,
    Column("source", NameType, primary_key=True),
    Column("id", NameType, primary_key=True),
    Column("seen", BigInteger, nullable=False),
)

# How far a reader or writer outside the archive has come, as JSON by its name.
positions = Table(
    "positions",
    metadata,
    Column("name", NameType, primary_key=True),
    Column("value", Text, nullable=False),
)

# What visitors said about a hit: one mark per visitor, question and post. No personal data: visitor
# and address are salted hashes.
feedback = Table(
    "feedback",
    metadata,
    Column("visitor", NameType, primary_key=True),
    Column("question_key", NameType, primary_key=True),  # a hash of the normalised question
    Column("post", NameType, primary_key=True),
    Column("question", Text, nullable=False),
    Column("mark", NameType, nullable=False),  # "answered", "same", "different" or "click"
    Column("address", NameType, nullable=False),
    Column("model", Text),  # in service at that time
    Column("rank", Integer),  # of the post, counted from 1; NULL where it was not found
    Column("probability", Float),  # that the model gave
    Column("given", NameType, nullable=False),  # ISO 8601, UTC
)
Index("feedback_by_time", feedback.c.given)

# What moderators decided about a pair of posts, so that it can be undone and is not proposed again.
decisions = Table(
    "decisions",
    metadata,
    Column("number", NumberType, primary_key=True, autoincrement=True),
    Column("kind", NameType, nullable=False),  # "duplicate", "related", "dismiss" or "merge"
    Column("source", NameType, nullable=False),
    Column("target", NameType, nullable=False),
    Column("moved", Text, nullable=False),  # JSON: answers that a merge moved, whether it linked
    Column("made", NameType, nullable=False),  # ISO 8601, UTC
)
Index("decisions_by_pair", decisions.c.source, decisions.c.target)

# Searches that the operator chose to log: a day, no visitor, no address.
searches = Table(
    "searches",
    metadata,
    Column("number", NumberType, primary_key=True, autoincrement=True),
    Column("day", NameType, nullable=False),  # YYYY-MM-DD, UTC
    Column("question", Text, nullable=False),
    Column("claimed", Boolean, nullable=False),  # whether a hit was above the relevance floor
    Column("answered", Boolean, nullable=False),  # whether such a hit has an answer
)
Index("searches_by_day", searches.c.day)

# The operator's settings by name, as JSON: synonyms, pinned results, the salt of hashes.
options = Table(
    "options",
    metadata,
    Column("name", NameType, primary_key=True),
    Column("value", Text, nullable=False),
)
