"""What dev was chosen on is what serves: the same candidates, scores and order."""

import pytest

from askonce.archive import Archive
from askonce.archive.open import open_archive
from askonce.engine import Engine
from askonce.key_encoders import RankerKeys
from askonce.ranker import Ranker
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.text.lexicon import Lexicon
from askonce.text.vectors import vectors_for
from askonce.training.archive.labels import Example
from askonce.training.archive.pools import question_task
from askonce.training.archive.search import ArchiveSearch, Vectors
from askonce.training.archive.selection import Join
from askonce.training.archive.stack import Stack
from askonce.types import Post

ASKED = "My rear wheel goes flat every other week, what punctures the tyre?"
FIRST = {"bm25": 1.0, "vectors": 0.75}


@pytest.fixture(scope="module")
def bicycles():
    return open_archive("bicycles").snapshot()


@pytest.mark.parametrize("how", ["zscore", "reciprocal"])
@pytest.mark.parametrize("pair_weight", [0.0, 1.5])
def test_the_engine_ranks_as_dev_did(tmp_path, bicycles, how, pair_weight):
    lexicon = Lexicon.build(bicycles.questions.values())
    matrix = vectors_for(lexicon.vocabulary, None, 20)
    encoder = Ranker.create("cosineqa", lexicon, matrix, {"dim": 20})
    pair = Ranker.create("compare-aggregate", lexicon, matrix, {"dim": 8})
    archive = Archive.open(tmp_path / "b.askonce", create=True)
    archive.write([*bicycles.questions.values()])
    folder = new_folder(archive.folder)
    encoder.save(folder / "questions" / "encoder")
    pair.save(folder / "questions" / "pair")
    weights = FIRST | ({"pair": pair_weight} if pair_weight else {})
    serving = Serving(
        encoder="questions/encoder",
        pair="questions/pair" if pair_weight else None,
        how=how,
        weights=weights,
    )
    write_manifest(folder, Manifest("2024-01-01", questions=serving))
    archive.close()

    task = question_task(bicycles)
    stack = Stack(
        Join(how, FIRST),
        Join(how, weights),
        vectors=Vectors(RankerKeys(encoder), task.posts),
        pair=pair if pair_weight else None,
    )
    (found,) = stack.find(ArchiveSearch(task, "test"), [Example(Post("new", ASKED), ())])
    fused = stack.join(found)
    expected = sorted(
        zip((post.id for post in found.pool.candidates), fused.tolist(), strict=True),
        key=lambda pair: (-round(pair[1], 6), pair[0]),
    )
    with Engine.open(tmp_path / "b.askonce") as engine:
        hits = engine.similar(ASKED, k=30)
    got = sorted(((h.post.id, h.score) for h in hits), key=lambda x: (-round(x[1], 6), x[0]))
    assert [name for name, _ in got] == [name for name, _ in expected[:30]]
    assert [score for _, score in got] == pytest.approx(
        [score for _, score in expected[:30]], abs=1e-4
    )
