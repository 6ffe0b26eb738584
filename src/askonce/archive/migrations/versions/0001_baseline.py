"""Format 1, the first: tables ``state``, ``posts``, ``links`` and ``revisions``."""

from alembic.operations import Operations

revision = "0001"
down_revision = None


def upgrade(op: Operations) -> None:
    """Do nothing: no older format exists."""
