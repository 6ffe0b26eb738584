"""How far each collection of a Milvus database has come: a row of a collection beside them.

What Milvus acknowledged is in its log, in order. A position is written after the posts that it
counts, so a crash may leave it behind them, never ahead.
"""

import json
from collections.abc import Mapping

from askonce.index.milvus.client import WRITE_SECONDS, Milvus

COLLECTION = "askonce_positions"
LONGEST = 1000  # characters of a name, and of what made a collection

Made = Mapping[str, object]


def open_positions(milvus: Milvus) -> None:
    """Make the collection, if it is not there."""
    if milvus.client.has_collection(COLLECTION, timeout=milvus.seconds):
        milvus.load(COLLECTION)
    else:
        _create(milvus)


def read_position(milvus: Milvus, name: str) -> tuple[int, Made] | None:
    """The change number of a collection and what made it; None where it was not made whole."""
    rows = milvus.client.query(
        COLLECTION,
        filter=f'name == "{name}"',
        output_fields=["change", "made"],
        consistency_level="Strong",
        timeout=milvus.seconds,
    )
    return (int(rows[0]["change"]), json.loads(rows[0]["made"])) if rows else None


def write_position(milvus: Milvus, name: str, change: int, made: Made) -> None:
    """Say how far a collection has come."""
    row = {"name": name, "change": change, "made": json.dumps(made), "unused": [0.0, 0.0]}
    milvus.client.upsert(COLLECTION, [row], timeout=WRITE_SECONDS)


def forget_position(milvus: Milvus, name: str) -> None:
    """Say that a collection is not there."""
    milvus.client.delete(COLLECTION, ids=[name], timeout=WRITE_SECONDS)


def _create(milvus: Milvus) -> None:
    from pymilvus import DataType

    schema = milvus.client.create_schema()
    schema.add_field("name", DataType.VARCHAR, is_primary=True, max_length=LONGEST)
    schema.add_field("change", DataType.INT64)
    schema.add_field("made", DataType.VARCHAR, max_length=LONGEST)
    schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)  # Milvus wants a vector
    milvus.create(COLLECTION, schema, "unused", index_type="FLAT", metric_type="IP")
