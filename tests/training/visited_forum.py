"""A forum whose visitors have their own words for things, and fifty marks that show it."""

from askonce.archive.desk.feedback import Feedback
from askonce.types import Post

OLD = (
    "crank",
    "chainset",
    "saddle",
    "tyre",
    "spoke",
    "headset",
    "cassette",
    "lever",
    "fork",
    "rim",
)
NEW = (
    "crunchbox",
    "grinder",
    "plank",
    "hoop",
    "stick",
    "top",
    "cogs",
    "squeezer",
    "prongs",
    "ring",
)


def posts():
    """Four questions about each thing, a day apart."""
    return [
        Post(
            f"q{n}",
            f"How do I look after the {OLD[n % 10]}, case {n // 10}?",
            f"The {OLD[n % 10]} needs care.",
            created=f"2020-{n // 28 + 1:02}-{n % 28 + 1:02}",
        )
        for n in range(40)
    ]


def question(n):
    return f"my {NEW[n % 10]} is broken, part {n // 10}"


def marks(visitor, shift=0):
    """Fifty marks; ``visitor`` names the one who gives the n-th. ``shift`` makes them wrong."""
    return [
        Feedback(
            visitor(n),
            question(n),
            f"q{(n + shift) % 10 + 10 * (n // 10 % 4)}",
            "same",
            f"address of {visitor(n)}",
        )
        for n in range(50)
    ]
