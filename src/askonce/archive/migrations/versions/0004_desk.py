"""Format 4: feedback, decisions of moderators, logged searches, the operator's options."""

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, Float, Integer, Text

from askonce.archive.database import Name, Number

revision = "0004"
down_revision = "0003"


def upgrade(op: Operations) -> None:
    op.create_table(
        "feedback",
        Column("visitor", Name, primary_key=True),
        Column("question_key", Name, primary_key=True),
        Column("post", Name, primary_key=True),
        Column("question", Text, nullable=False),
        Column("mark", Name, nullable=False),
        Column("address", Name, nullable=False),
        Column("model", Text),
        Column("rank", Integer),
        Column("probability", Float),
        Column("given", Name, nullable=False),
    )
    op.create_index("feedback_by_time", "feedback", ["given"])
    op.create_table(
        "decisions",
        Column("number", Number, primary_key=True, autoincrement=True),
        Column("kind", Name, nullable=False),
        Column("source", Name, nullable=False),
        Column("target", Name, nullable=False),
        Column("moved", Text, nullable=False),
        Column("made", Name, nullable=False),
    )
    op.create_index("decisions_by_pair", "decisions", ["source", "target"])
    op.create_table(
        "searches",
        Column("number", Number, primary_key=True, autoincrement=True),
        Column("day", Name, nullable=False),
        Column("question", Text, nullable=False),
        Column("claimed", Boolean, nullable=False),
        Column("answered", Boolean, nullable=False),
    )
    op.create_index("searches_by_day", "searches", ["day"])
    op.create_table(
        "options",
        Column("name", Name, primary_key=True),
        Column("value", Text, nullable=False),
    )
