"""The best passages of an archive for a question, with sources, within a number of characters.

For people who feed a language model: each passage is numbered and says where it comes from.
"""

import re

from pydantic import BaseModel, ConfigDict

from askonce.engine.engine import Engine
from askonce.engine.results import RankedAnswer, Sourced, shown_as

LONGEST_PASSAGE = 1200  # characters; of a longer answer the paragraphs that match best
SHORTEST_PASSAGE = 80  # characters that are worth a source
_PARAGRAPHS = re.compile(r"\n\s*\n|\n(?=\S)")
EXAMPLE = "[1] Rear wheel loses air overnight\nCheck the valve first.\nSource: a002"
_SENTENCE_END = re.compile(r"[.!?…](?=\s|$)")


class Passage(Sourced):
    """A part of an answer, the question it answers, and where it was published."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_id: str
    question_title: str
    text: str
    score: float
    accepted: bool


class Context(BaseModel):
    """Passages, best first, and the same as one text with numbered sources."""

    model_config = shown_as({"text": EXAMPLE, "characters": len(EXAMPLE), "passages": []})

    text: str
    characters: int
    passages: list[Passage]


def context(engine: Engine, question: str, characters: int, k: int = 10) -> Context:
    """The best passages for a question; ``text`` is at most so many characters long."""
    blocks: list[str] = []
    passages: list[Passage] = []
    left = characters
    for hit in engine.answers(question, k, votes=True):
        head = f"[{len(passages) + 1}] {hit.question_title or 'Untitled question'}\n"
        source = f"\nSource: {hit.url or hit.id}" + (f", by {hit.author}" if hit.author else "")
        room = left - len(head) - len(source) - 2 * bool(blocks)
        text = _passage(hit, min(room, LONGEST_PASSAGE))
        if len(text) < min(SHORTEST_PASSAGE, len(hit.text.strip())):
            break
        fields = hit.model_dump(include=Passage.model_fields.keys() - {"text"})
        passages.append(Passage(text=text, **fields))
        blocks.append(head + text + source)
        left = characters - len("\n\n".join(blocks))
    joined = "\n\n".join(blocks)
    return Context(text=joined, characters=len(joined), passages=passages)


def _passage(hit: RankedAnswer, room: int) -> str:
    """The answer, or those of its paragraphs that share most words with the question, in order."""
    text = hit.text.strip()
    if len(text) <= room:
        return text
    paragraphs = [part.strip() for part in _PARAGRAPHS.split(text) if part.strip()]
    words = {word.lower() for word in hit.words}

    def shared(number: int) -> tuple[int, int]:
        tokens = re.findall(r"\w+", paragraphs[number].lower())
        return -len(words.intersection(tokens)), number

    chosen: list[int] = []
    size = 0
    for number in sorted(range(len(paragraphs)), key=shared):
        if size + len(paragraphs[number]) + 1 <= room:
            chosen.append(number)
            size += len(paragraphs[number]) + 1
    if not chosen:
        return _cut(paragraphs[min(range(len(paragraphs)), key=shared)], room)
    return "\n".join(paragraphs[number] for number in sorted(chosen))


def _cut(text: str, room: int) -> str:
    """The start of a text, up to the end of a sentence or at least of a word."""
    start = text[: max(room - 1, 0)]
    ends = [match.end() for match in _SENTENCE_END.finditer(start)]
    if ends and ends[-1] > len(start) // 2:
        return start[: ends[-1]]
    return start.rsplit(" ", 1)[0] + "…" if " " in start else ""
