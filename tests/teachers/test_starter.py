"""The starter: what the package carries, how words are composed, and that it can be rebuilt."""

import subprocess
import sys

import numpy as np
import pytest

from askonce.archive import Archive
from askonce.archive.open import open_archive
from askonce.engine import Engine
from askonce.errors import AskonceError, ConfigError
from askonce.key_encoders import SentenceKeys
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.teachers import load_teacher
from askonce.teachers.starter import FILE, Starter, WordParts, load_starter, quantise
from askonce.text.vocabulary import Vocabulary
from askonce.training.prepare import starter_vectors
from askonce.training.starter.learn import StarterSettings, learn_starter
from askonce.training.starter.texts import read_wordnet, starter_texts
from askonce.types import Post
from tests.teachers.small_teacher import SmallTeacher

PARAPHRASES = [
    ("How do I stop my brakes from squealing?", "noise when I brake, how to get rid of it"),
    ("What food should I give my puppy?", "best diet for a young dog"),
    ("My computer is slow to start", "why does the laptop take so long to boot"),
    ("cheap flights to London", "inexpensive airline tickets to England"),
    ("Does insurance cover a stolen car?", "is theft of a vehicle insured"),
    ("How can I learn to cook rice?", "boiling rice in a pot for beginners"),
]


def test_the_package_carries_it_within_its_limits():
    starter = load_starter()
    assert FILE.stat().st_size <= 15_000_000
    assert 30_000 <= len(starter.words) <= 60_000
    assert len(set(starter.words)) == len(starter.words)
    assert starter.table.dtype == np.int8
    assert starter.dim == 384
    np.testing.assert_allclose(
        starter.basis @ starter.basis.T, np.eye(len(starter.basis)), atol=2e-3
    )


def test_its_card_has_the_notice_of_wordnet():
    card = FILE.with_name("starter.md").read_text("utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in card
    assert load_starter().name in card


def test_equal_texts_have_equal_unit_vectors():
    starter = load_starter()
    texts = ["A flat tyre", "", "a flat tyre!", "zzqx", "ünï \ud800", *(a for a, _ in PARAPHRASES)]
    vectors = starter.encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_array_equal(vectors[1], vectors[3])  # nothing known in either
    np.testing.assert_allclose(Starter.load().encode(texts[::-1])[::-1], vectors, atol=1e-6)
    assert starter.encode([]).shape == (0, 384)


def test_a_paraphrase_is_nearer_than_any_other_text():
    one, other = (load_starter().encode(side) for side in zip(*PARAPHRASES, strict=True))
    similarities = one @ other.T  # (n, n)
    np.testing.assert_array_equal(similarities.argmax(axis=1), np.arange(len(PARAPHRASES)))


def test_unknown_words_are_composed():
    parts = WordParts(["run", "stop", "hand", "book", "city", "bicycle", "make", "node"])
    known = {
        "stop": ("stop",),
        "stopping": ("stop",),
        "cities": ("city",),
        "making": ("make",),
        "books": ("book",),
        "handbook": ("hand", "book"),
        "handbooks": ("hand", "book"),
        "hand-book": ("hand", "book"),
        "node.js": ("node",),
        "bicyclette": ("bicycle",),
        "bicycular": (),
        "bicycleish": ("bicycle",),
        "qq": (),
        "ss": (),
        "'s": (),
    }
    words = ["run", "stop", "hand", "book", "city", "bicycle", "make", "node"]
    for word, expected in known.items():
        assert tuple(words[row] for row in parts.of(word)[0]) == expected, word
    assert parts.of("bicycleish")[1] < 1


def test_a_composed_word_means_what_its_parts_mean():
    starter = load_starter()
    assert "dogwalkings" not in starter.parts
    vectors = starter.encode(["dogwalkings", "walking a dog", "income tax"])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_quantising_keeps_directions_and_weights():
    rng = np.random.default_rng(1)
    vectors, weights = rng.normal(size=(50, 64)), rng.uniform(1, 9, 50)
    table, scales = quantise(vectors, weights)
    restored = table * scales[:, None]
    np.testing.assert_allclose(np.linalg.norm(restored, axis=1), weights, rtol=1e-5)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert ((restored / weights[:, None] * unit).sum(1) > 0.9995).all()


def test_queries_need_no_torch():
    script = (
        "import sys; from askonce.teachers.starter import load_starter;"
        "load_starter().encode(['a flat tyre']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_it_is_an_encoder_and_a_teacher_by_name(tmp_path):
    starter = load_starter()
    posts = [Post("1", title="A flat tyre", body="again"), Post("2", title="Rain")]
    keys = SentenceKeys("starter")
    assert keys.name == starter.name
    np.testing.assert_array_equal(
        keys.candidate_keys(posts), starter.encode([post.text for post in posts])
    )
    np.testing.assert_array_equal(keys.query_keys(["rain"]), starter.encode(["rain"]))
    cached = load_teacher("starter", tmp_path)
    np.testing.assert_allclose(cached.encode(["rain"]), starter.encode(["rain"]), atol=1e-3)


def test_an_engine_serves_with_it(tmp_path):
    archive = tmp_path / "bikes.askonce"
    made = Archive.open(archive, create=True)
    made.write(open_archive("bicycles").iterate())
    made.close()
    serving = Serving("sentence:starter", weights={"bm25": 0.5, "vectors": 0.5})
    write_manifest(new_folder(archive), Manifest("2026-01-01T00:00:00+00:00", serving, serving))
    with Engine.open(archive) as engine:
        hits = engine.similar("puncture in the back wheel again and again")
    assert hits[0].post.id == "q002"
    assert {"bm25", "vectors"} <= hits[0].stages.keys()


def test_its_words_are_word_vectors():
    vocabulary = Vocabulary.build([["tyre", "wheel", "wheels", "income", "zzqx"]])
    vectors = starter_vectors(vocabulary, None)
    assert "zzqx" not in vectors and "<pad>" not in vectors
    np.testing.assert_allclose(np.linalg.norm(vectors.matrix, axis=1), 1, atol=1e-5)
    assert vectors["tyre"] @ vectors["wheel"] > vectors["tyre"] @ vectors["income"] + 0.1
    assert starter_vectors(vocabulary, 100).dim == 100
    with pytest.raises(ConfigError, match=r"text\.dim = 999, but the starter has"):
        starter_vectors(vocabulary, 999)


SYNSET = "00001740 03 n {count:02x} {lemmas} 001 ~ 00001930 n 0000 | {gloss}\n"


@pytest.fixture
def wordnet(tmp_path):
    """A database of a few synsets for each part of speech."""
    rng = np.random.default_rng(1)
    for part in ("noun", "verb", "adj", "adv"):
        words = [f"{part}{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(60)]
        lines = ["  1 This software and database is being provided to you\n"]
        for word in words:
            others = " ".join(rng.choice(words, 5))
            gloss = f'a {others}; "the {others} of it"; "short"'
            lines.append(SYNSET.format(count=2, lemmas=f"{word}(p) 0 {part}_x 0", gloss=gloss))
        (tmp_path / f"data.{part}").write_text("".join(lines))
    return tmp_path


def test_wordnet_is_read(wordnet):
    first = next(read_wordnet(wordnet))
    assert first.lemmas == ["nounaa", "noun x"]
    assert first.definition.startswith("a noun") and '"' not in first.definition
    assert len(first.examples) == 1 and first.examples[0].startswith("the noun")
    texts = starter_texts(wordnet, None)
    assert texts == starter_texts(wordnet, None)
    assert f"nounaa, noun x: {first.definition}" in texts
    with pytest.raises(AskonceError, match=r"no data\.noun in .*wordnet-base"):
        list(read_wordnet(wordnet / "none"))


def test_it_is_rebuilt_the_same_from_a_small_corpus(wordnet, tmp_path, monkeypatch):
    monkeypatch.setattr("askonce.training.starter.texts.QUESTIONS", 300)
    teacher, texts = SmallTeacher(24), starter_texts(wordnet, None)
    vectors = teacher.encode(texts)
    settings = StarterSettings(words=250, dim=24, epochs=3)
    starter, record = learn_starter(texts, vectors, settings)
    assert len(starter.words) == 250 and starter.dim == 24
    assert record["epoch"] > 0 and record["dev"]["cosine"] > 0.8
    agreement = (starter.encode(texts) * vectors).sum(axis=1)
    assert agreement.mean() > 0.8
    starter.save(tmp_path / "starter.safetensors", {"teacher": teacher.name})
    again = learn_starter(texts, vectors, settings)[0]
    loaded = Starter.load(tmp_path / "starter.safetensors")
    assert loaded.name == starter.name == again.name
    np.testing.assert_array_equal(loaded.table, again.table)
    np.testing.assert_allclose(loaded.encode(texts), again.encode(texts), atol=1e-3)
