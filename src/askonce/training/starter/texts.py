"""The texts that the starter learns from: WordNet, common words, and questions made of both."""

import gzip
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from askonce.errors import AskonceError
from askonce.text.tokenise import tokenise

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
LEMMAS = 3  # of a synset, in front of its definition
MAX_WORDS = 32  # of a definition
COMMON = 60_000  # rank in the word list below which a word counts as common
SINGLE_WORDS = 40_000  # common words that are read on their own
SLOT_WORDS = 15_000  # rank below which a word may fill a slot of a question
QUESTIONS = 40_000
PATTERNS = (  # of questions as forums have them; WordNet has hardly any
    "how do i {verb} my {noun}?",
    "how to {verb} a {adj} {noun}",
    "why does my {noun} {verb} when i {verb} the {noun}?",
    "why is the {noun} {adj}?",
    "what is the best {noun} for a {noun}?",
    "what is the difference between a {noun} and a {noun}?",
    "can i {verb} a {noun} with a {noun}?",
    "is it {adj} to {verb} the {noun} without a {noun}?",
    "should i {verb} or {verb} my {adj} {noun}?",
    "where can i {verb} a {noun} in {noun}?",
    "my {noun} is {adj}, what should i do?",
    "do i need a {noun} to {verb} the {noun}?",
    "does {noun} cover {noun} and {noun}?",
    "how long does a {noun} {noun} last?",
    "how much does it cost to {verb} a {noun}?",
    "which {noun} should i use to {verb} {adj} {noun}?",
    "{noun} {noun} {verb} {noun}",
    "{adj} {noun} after i {verb} the {noun}, any advice?",
    "i have a {adj} {noun} and want to {verb} it before the {noun}.",
)


@dataclass(frozen=True)
class Synset:
    """Words of one meaning, their definition and examples of their use."""

    lemmas: Sequence[str]
    definition: str
    examples: Sequence[str]
    part_of_speech: str


def starter_texts(wordnet: Path, words: Path | None) -> list[str]:
    """All texts in the order to read them; a teacher that stops early has read the common ones.

    ``words`` is a list of words, the most frequent first; without it WordNet's own words are taken
    in the order of their file.
    """
    synsets = list(read_wordnet(wordnet))
    if words is not None:
        with (gzip.open if words.suffix == ".gz" else open)(words, "rt", encoding="utf-8") as lines:
            listed = [line.strip() for line in lines]
    else:
        names = (name.lower() for synset in synsets for name in synset.lemmas)
        listed = list(dict.fromkeys(name for name in names if name.isalpha()))
    rank = {word: n for n, word in reversed(list(enumerate(listed)))}
    single = [word for word in listed[:SINGLE_WORDS] if word.isalpha()]
    common: list[str] = []
    rare: list[tuple[int, str]] = []
    for synset in synsets:
        worst = max((rank.get(word, COMMON) for word in tokenise(synset.lemmas[0])), default=COMMON)
        definition = " ".join(synset.definition.split()[:MAX_WORDS])
        text = f"{', '.join(synset.lemmas[:LEMMAS])}: {definition}"
        if worst < COMMON:
            common.append(text)
        else:
            rare.append((worst, text))
        common += synset.examples
    rng = random.Random(1)
    common += _questions(synsets, rank, rng)
    rng.shuffle(common)
    return list(dict.fromkeys([*single, *common, *(text for _, text in sorted(rare))]))


def read_wordnet(folder: Path) -> Iterator[Synset]:
    """The synsets of ``data.noun`` and the other files of WordNet's database."""
    for part in PARTS_OF_SPEECH:
        path = folder / f"data.{part}"
        if not path.is_file():
            raise AskonceError(
                f"no {path.name} in {str(folder)!r}; give WordNet's database folder, "
                "which Debian's package wordnet-base puts into /usr/share/wordnet"
            )
        for line in path.read_text("utf-8").splitlines():
            if not line.startswith("  "):  # the licence
                yield _synset(line, part)


def _synset(line: str, part: str) -> Synset:
    head, _, gloss = line.partition(" | ")
    fields = head.split(" ")
    count = int(fields[3], 16)
    lemmas = [re.sub(r"\(\w+\)$", "", name) for name in fields[4 : 4 + 2 * count : 2]]
    examples = [text.strip() for text in re.findall(r'"([^"]+)"', gloss)]
    definition = gloss.partition('; "')[0].strip().rstrip(";")
    return Synset(
        [name.replace("_", " ") for name in lemmas],
        definition,
        [text for text in examples if 3 <= len(text.split()) <= 40],
        part,
    )


def _questions(synsets: Sequence[Synset], rank: dict[str, int], rng: random.Random) -> list[str]:
    """Patterns filled with common words, the commoner the more often."""
    slots: dict[str, tuple[list[str], list[float]]] = {}
    for part in ("noun", "verb", "adj"):
        names = (x.lemmas[0].lower() for x in synsets if x.part_of_speech == part)
        fits = sorted(
            {name for name in names if len(name) > 2 and rank.get(name, SLOT_WORDS) < SLOT_WORDS}
        )
        slots[part] = fits, list(accumulate((rank[name] + 100) ** -0.5 for name in fits))
    if not all(fits for fits, _ in slots.values()):
        return []

    def fill(match: re.Match[str]) -> str:
        fits, weights = slots[match[1]]
        return rng.choices(fits, cum_weights=weights)[0]

    patterns = rng.choices(PATTERNS, k=QUESTIONS)
    return [re.sub(r"\{(\w+)\}", fill, pattern) for pattern in patterns]
