"""The tables of an archive, the same on SQLite and PostgreSQL.

A change here needs the next ``FORMAT`` and a step of that number in ``migrations/versions``.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, Table, Text

from askonce.archive.database import Name, Number

FORMAT = 2

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

# A deleted post keeps its row, without its text, so that indexes learn of the deletion.
posts = Table(
    "posts",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("id", Name, nullable=False, unique=True),
    Column("kind", Name, nullable=False),
    Column("parent", Name, index=True),
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
)
Index("posts_by_kind", posts.c.kind, posts.c.deleted)
WITHOUT_HTML = [column for column in posts.c if column.name != "html"]

links = Table(
    "links",
    metadata,
    Column("source", Name, primary_key=True),
    Column("target", Name, primary_key=True),
    Column("kind", Name, primary_key=True),
)
Index("links_by_target", links.c.target)

# The text of a post before an edit; ``change`` is the number of that edit.
revisions = Table(
    "revisions",
    metadata,
    Column("id", Name, primary_key=True),
    Column("change", BigInteger, primary_key=True),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("html", Text, nullable=False),
    Column("replaced", Text, nullable=False),  # time of the edit, ISO 8601
)
