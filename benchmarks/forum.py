"""A forum of any size from a seeded grammar: lengths, word frequencies and repeats of a real one.

Words are drawn by Zipf's law from a vocabulary that grows with the forum, a question has a topic
whose words it and its answers favour, and one question in twenty asks an earlier one anew.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

TOPICS, TOPIC_WORDS = 400, 60
TITLE, BODY, ANSWER = (2.2, 0.35), (4.1, 0.7), (4.2, 0.7)  # log-normal words: medians 9, 60, 67
REPEATS = 0.05
SYLLABLES = [c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"]
GLUE = np.array(
    [
        "the",
        "a",
        "to",
        "of",
        "in",
        "is",
        "and",
        "for",
        "on",
        "with",
        "how",
        "do",
        "i",
        "my",
        "it",
        "can",
        "not",
        "this",
        "that",
        "what",
        "when",
        "from",
    ]
)


class Forum:
    """Questions number 1 to n, each second one with an answer; question i is always the same."""

    def __init__(self, questions: int, seed: int = 1) -> None:
        self.questions, self.seed = questions, seed
        rng = np.random.default_rng(seed)
        size = int(3000 + 25 * questions**0.6)
        self._words = np.array([self._word(i) for i in range(size)])
        share = 1 / np.arange(3, size + 3)
        self._cumulative = np.cumsum(share / share.sum())
        self._topics = rng.integers(100, size, (TOPICS, TOPIC_WORDS))

    @staticmethod
    def _word(number: int) -> str:
        """A word of two to four syllables; every number has its own."""
        parts = []
        number += len(SYLLABLES)
        while number:
            number, syllable = divmod(number, len(SYLLABLES))
            parts.append(SYLLABLES[syllable])
        return "".join(parts)

    def question(self, number: int) -> tuple[str, str, int]:
        """Title and body of a question, and the earlier question that it repeats, or 0."""
        rng = np.random.default_rng((self.seed, number))
        topic = int(rng.integers(TOPICS))
        original = 0
        if number > 20 and rng.random() < REPEATS:
            original = int(rng.integers(1, number))
            earlier = np.random.default_rng((self.seed, original))
            topic = int(earlier.integers(TOPICS))
        title = self._text(rng, topic, *TITLE)
        if original:
            words = self.question(original)[0].split()
            chosen = [word for word in words if rng.random() < 0.7]
            title = " ".join([*chosen, *title.split()[: max(1, len(words) - len(chosen))]])
        return title, self._text(rng, topic, *BODY), original

    def answer(self, number: int) -> str:
        """The answer to a question."""
        topic = int(np.random.default_rng((self.seed, number)).integers(TOPICS))
        return self._text(np.random.default_rng((self.seed, number, 1)), topic, *ANSWER)

    def _text(self, rng: np.random.Generator, topic: int, mean: float, sd: float) -> str:
        count = int(np.clip(rng.lognormal(mean, sd), 3, 800))
        kind = rng.random(count)
        free = self._words[np.searchsorted(self._cumulative, rng.random(count))]
        own = self._words[self._topics[topic][rng.integers(TOPIC_WORDS, size=count)]]
        glue = GLUE[rng.integers(len(GLUE), size=count)]
        return " ".join(np.where(kind < 0.4, glue, np.where(kind < 0.65, own, free)).tolist())

    def write(self, folder: Path) -> int:
        """Write a Stack Exchange dump; the number of posts."""
        posts = 0
        with (folder / "Posts.xml").open("w") as out, (folder / "PostLinks.xml").open("w") as links:
            out.write("<posts>\n")
            links.write("<postlinks>\n")
            for row in self._rows():
                (links if row.startswith("<row LinkTypeId") else out).write(row)
                posts += not row.startswith("<row LinkTypeId")
            out.write("</posts>\n")
            links.write("</postlinks>\n")
        return posts

    def _rows(self) -> Iterator[str]:
        answers = self.questions  # ids of answers come after those of questions
        for number in range(1, self.questions + 1):
            title, body, original = self.question(number)
            date = f"{2010 + number * 15 // self.questions}-{1 + number % 12:02}-01T00:00:00.000"
            answered = number % 2 == 0
            answers += answered
            yield (
                f'<row Id="{number}" PostTypeId="1" CreationDate="{date}" Score="{number % 9}" '
                f"Title={quoteattr(title)} Body={quoteattr(f'<p>{body}</p>')} "
                + (f'AcceptedAnswerId="{answers}" ' if answered else "")
                + 'Tags="&lt;one&gt;&lt;two&gt;" />\n'
            )
            if answered:
                text = quoteattr(f"<p>{self.answer(number)}</p>")
                yield (
                    f'<row Id="{answers}" PostTypeId="2" ParentId="{number}" '
                    f'CreationDate="{date}" Score="{number % 5}" Body={text} />\n'
                )
            if original:
                yield (
                    f'<row LinkTypeId="3" Id="{number}" PostId="{number}" '
                    f'RelatedPostId="{original}" CreationDate="{date}" />\n'
                )
