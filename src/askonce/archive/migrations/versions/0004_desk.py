"""Format 4: feedback, decisions of moderators, logged searches, the operator's options."""

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, Float, Integer, Text

from askonce.archive.database import NameType, NumberType

revision = "0004"
down_revision = "0003"


def upgrade(op: Operations) -> None:
    op.create_table(
        "feedback",
        Column("visitor", NameType, primary_key=True),
        Column("question_key", NameType, primary_key=True),
        Column("post", NameType, primary_key=True),
        Column("question", Text, nullable=False),
        Column("mark", NameType, nullable=False),
        Column("address", NameType, nullable=False),
        Column("model", Text),
        Column("rank", Integer),
        Column("probability", Float),
        Column("given", NameType, nullable=False),
    )
    op.create_index("feedback_by_time", "feedback", ["given"])
    op.create_table(
        "decisions",
        Column("number", NumberType, primary_key=True, autoincrement=True),
        Column("kind", NameType, nullable=False),
        Column("source", NameType, nullable=False),
        Column("target", NameType, nullable=False),
        Column("moved", Text, nullable=False),
        Column("made", NameType, nullable=False),
    )
    op.create_index("decisions_by_pair", "decisions", ["source", "target"])
    op.create_table(
        "searches",
        Column("number", NumberType, primary_key=True, autoincrement=True),
        Column("day", NameType, nullable=False),
        Column("question", Text, nullable=False),
        Column("claimed", Boolean, nullable=False),
        Column("answered", Boolean, nullable=False),
    )
    op.create_index("searches_by_day", "searches", ["day"])
    op.create_table(
        "options",
        Column("name", NameType, primary_key=True),
        Column("value", Text, nullable=False),
    )
