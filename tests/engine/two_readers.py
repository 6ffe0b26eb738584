"""An archive whose student knows words and whose teacher knows synonyms as well."""

import numpy as np

from askonce.archive import Archive
from askonce.ranker import Ranker
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.text.lexicon import Lexicon
from askonce.types import Post
from tests.teachers.small_teacher import SmallTeacher

TOPICS, DIM = 40, 32
WEIGHTS, UNREAD_WEIGHTS = {"bm25": 0.2, "vectors": 1.0}, {"bm25": 1.0, "vectors": 0.5}


class Synonyms(SmallTeacher):
    """Knows that "xchain" means "chain", which neither BM25 nor the student knows."""

    def __init__(self, salt=0):
        super().__init__(DIM, salt)

    def _sum(self, text):
        return super()._sum(" ".join(word.removeprefix("x") for word in text.split()))


def questions():
    return [
        Post(f"q{n:02}{prefix}", f"how {prefix}topic{n} part{n % 3}")
        for n in range(TOPICS)
        for prefix in ("", "x")
    ]


def make_archive(folder, teacher, answers=()):
    """A folder with questions, a student of the teacher and both in service."""
    posts = [*questions(), *answers]
    with_models = Archive.open(folder, create=True)
    with_models.write(posts)
    lexicon = Lexicon.build(posts)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(len(lexicon.vocabulary), DIM)).astype(np.float32)
    for row, word in enumerate(lexicon.vocabulary.words):
        if not word.startswith("x"):
            vectors[row] = teacher._sum(word)
    home = new_folder(folder)
    student = Ranker.create("bag", lexicon, vectors, {"map": False})
    student.model.weights.data.fill_(1.0)  # every word counts as much as for the teacher
    student.save(home / "student")
    serving = Serving(
        "sentence:minilm", fast="student", weights=WEIGHTS, unread_weights=UNREAD_WEIGHTS
    )
    write_manifest(home, Manifest("2026-01-01", serving, serving if answers else None))
    with_models.close()
    return folder


def mrr(engine):
    """The mean reciprocal rank of each question's synonym."""
    ranks = []
    for n in range(TOPICS):
        ids = [hit.id for hit in engine.similar(f"topic{n}", 2 * TOPICS, "vectors")]
        ranks.append(1 / (1 + ids.index(f"q{n:02}x")))
    return float(np.mean(ranks))
