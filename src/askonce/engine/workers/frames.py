"""Messages between a server and its workers: a JSON header and bytes, each after its length."""

import json
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

LENGTHS = struct.Struct(">II")


class Frame(NamedTuple):
    header: dict[str, Any]
    body: bytes = b""

    def pack(self) -> bytes:
        header = json.dumps(self.header).encode()
        return LENGTHS.pack(len(header), len(self.body)) + header + self.body

    @classmethod
    def unpack(cls, content: bytes, header: int) -> "Frame":
        """The frame with this content, of which so many bytes are the header."""
        return cls(json.loads(content[:header]), content[header:])

    @classmethod
    def of_parts(cls, header: dict[str, Any], parts: Sequence[bytes]) -> "Frame":
        """A frame whose body holds several parts."""
        return cls(header | {"lengths": list(map(len, parts))}, b"".join(parts))

    def parts(self) -> list[bytes]:
        parts, start = [], 0
        for length in self.header["lengths"]:
            parts.append(self.body[start : start + length])
            start += length
        return parts


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next message; None at the end of the stream."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header, body = LENGTHS.unpack(lengths)
    return Frame.unpack(stream.read(header + body), header)
