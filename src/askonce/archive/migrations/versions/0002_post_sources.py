"""Format 2: posts record where they came from and who wrote them."""

from alembic.operations import Operations
from sqlalchemy import Column, Text

revision = "0002"
down_revision = "0001"


def upgrade(op: Operations) -> None:
    """Add nullable columns; SQLite and PostgreSQL do so without rewriting the table."""
    for name in ("url", "author", "author_url"):
        op.add_column("posts", Column(name, Text))
