"""Tell another service what is new: a likely duplicate, a question that has its first answer.

Events are sent as signed POST requests. The position moves on when the receiver has accepted them,
so each arrives at least once; its ``id`` tells a repeated one.
"""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.sync.http import Client
from askonce.sync.signing import signature_headers
from askonce.types import Post

LIKELY = 0.5  # probability from which a question is reported as a duplicate
BATCH = 200  # posts looked at between two positions
Notification = dict[str, Any]


@dataclass
class Notifier:
    """Looks at posts that were added since the last look, and sends what is worth knowing."""

    engine: Engine
    url: str
    secret: str = field(repr=False)
    client: Client = field(default_factory=lambda: Client(rate=10))
    likely: float = LIKELY

    @property
    def name(self) -> str:
        return f"webhook {self.url}"

    def run(self) -> int:
        """Send all events since the last run; the number sent. The first run only notes the end."""
        archive = self.engine.archive
        position = archive.position(self.name)
        if position is None:
            archive.set_position(self.name, _end(self.engine))
            return 0
        sent = 0
        while added := archive.added_after(position, BATCH):
            events = [event for number, post in added for event in self._events(number, post)]
            if events:
                self._send(events)
            position = added[-1][0]
            archive.set_position(self.name, position)
            sent += len(events)
        return sent

    def watch(self, stop: threading.Event, every: float, report: Any) -> None:  # noqa: ANN401
        """Run again and again until stopped; problems are reported and tried again."""
        while not stop.wait(every):
            try:
                self.run()
            except AskonceError as error:
                report(f"webhook: {error}")

    def _events(self, number: int, post: Post) -> Iterator[Notification]:
        if post.kind == "question":
            yield from self._duplicate(number, post)
        else:
            yield from self._first_answer(number, post)

    def _duplicate(self, number: int, post: Post) -> Iterator[Notification]:
        for hit in self.engine.suggest(post.text, k=5):
            probability = hit.duplicate_probability
            if hit.id == post.id or not self._is_likely(probability, hit.title, post.title):
                continue
            yield {
                "id": f"duplicate-{number}",
                "event": "likely_duplicate",
                "question": _shown(post),
                "original": _shown(hit.post),
                "probability": None if probability is None else round(probability, 4),
            }
            return

    def _is_likely(self, probability: float | None, title: str, other: str) -> bool:
        """Without a calibrated model, only the same title makes a duplicate likely."""
        if probability is None:
            return title.split() == other.split() != []
        return probability >= self.likely

    def _first_answer(self, number: int, post: Post) -> Iterator[Notification]:
        archive = self.engine.archive
        question = archive.post(post.parent or "")
        answers = archive.answers_to([post.parent or ""], html=False).get(post.parent or "", [])
        if question is not None and [answer.id for answer in answers] == [post.id]:
            yield {
                "id": f"answered-{number}",
                "event": "answered",
                "question": _shown(question),
                "answer": _shown(post),
            }

    def _send(self, events: list[Notification]) -> None:
        body = json.dumps({"archive": self.engine.archive.name, "events": events}).encode()
        headers = signature_headers(self.secret, body, int(time.time()))
        self.client.post(self.url, body, headers)


def _end(engine: Engine) -> int:
    number = 0
    while added := engine.archive.added_after(number, 10_000):
        number = added[-1][0]
    return number


def _shown(post: Post) -> dict[str, Any]:
    return {"id": post.id, "title": post.title, "excerpt": post.body[:240], **post.source}
