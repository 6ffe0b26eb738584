"""Format 3: posts record their site and licence; ``sync`` records what it has read."""

from alembic.operations import Operations
from sqlalchemy import BigInteger, Column, Text

from askonce.archive.database import NameType

revision = "0003"
down_revision = "0002"


def upgrade(op: Operations) -> None:
    for name in ("site", "licence"):
        op.add_column("posts", Column(name, Text))
    op.create_table(
        "synced",
        Column("source", NameType, primary_key=True),
        Column("id", NameType, primary_key=True),
        Column("seen", BigInteger, nullable=False),
    )
    op.create_table(
        "positions",
        Column("name", NameType, primary_key=True),
        Column("value", Text, nullable=False),
    )
