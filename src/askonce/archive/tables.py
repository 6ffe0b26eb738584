"""The tables of an archive, the same on SQLite and PostgreSQL."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, Table, Text

from askonce.archive.database import Name, Number

FORMAT = 1

metadata = MetaData()

# One row. A writer locks it before it looks at anything and until it has committed, so numbers are
# given and become visible in one order: who has seen a number will never miss a lower one.
state = Table(
    "state",
    metadata,
    Column("one", Integer, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("change", BigInteger, nullable=False),
)

# A deleted post stays as a row without text, so that indexes learn of it.
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

# What a post said before an edit; ``change`` is the edit that replaced it.
revisions = Table(
    "revisions",
    metadata,
    Column("id", Name, primary_key=True),
    Column("change", BigInteger, primary_key=True),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("html", Text, nullable=False),
    Column("replaced", Text, nullable=False),  # when, ISO 8601
)
