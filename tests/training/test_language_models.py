"""Pre-training of CABIN's language models: what they read, that they learn, that they go on."""

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from askonce.config import settings as read_settings
from askonce.errors import AskonceError, ConfigError
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.text.vectors import vectors_for
from askonce.training.events import Epoch, Event, OnEvent, Phase, Step
from askonce.training.pretraining.language_models import (
    LanguageModelSettings,
    pretrain_language_models,
    split_texts,
    texts_to_read,
)
from askonce.types import Dataset, Pool, Post

PARTS = ["chain", "brake", "wheel", "saddle", "pedal", "spoke", "tyre", "lamp", "fork", "bell"]
TOOLS = ["wrench", "rag"]
VERBS = ["fix", "clean", "remove", "turn", "change", "test", "bend", "lift", "hold", "drop"]
SMALL = LanguageModelSettings(epochs=4, batch_size=5, rate=0.04)

TIMED = ("seconds", "words_per_second")  # differ from run to run


def pools(verb: str, tools: list[str]) -> list[Pool]:
    made = []
    for part in PARTS:
        query = Post(f"q-{verb}-{part}", f"how do i {verb} the {part} of my bicycle")
        answers = [
            Post(f"a-{verb}-{part}-{tool}", "", f"to {verb} a {part} take a good {tool} with you")
            for tool in tools
        ]
        made.append(Pool(query, tuple(answers), (1,) + (0,) * (len(answers) - 1)))
    return made


@pytest.fixture(scope="module")
def archive() -> Dataset:
    train = [pool for verb in VERBS for pool in pools(verb, TOOLS[:1])]
    splits = {"train": train, "dev": pools("oil", TOOLS), "test": pools("paint", TOOLS)}
    return Dataset("bicycles", splits)


def cabin(dataset: Dataset, **options: Any) -> Ranker:
    posts = [*dataset.posts.values(), *(p.query for s in dataset.splits.values() for p in s)]
    lexicon = Lexicon.build(posts)
    vectors = vectors_for(lexicon.vocabulary, None, 12)
    settings = {"hidden": 10, "layers": 1, "similarity": 5} | options
    return Ranker.create("cabin", lexicon, vectors, settings)


def test_elmo_is_pretrained_in_the_same_way(archive, tmp_path):
    start = cabin(archive)
    vectors = start.model.get_parameter("words.weight").detach().numpy()
    settings = {"hidden": 10, "layers": 2, "dim": 5}
    ranker, fresh = (Ranker.create("elmo", start.lexicon, vectors, settings) for _ in range(2))
    pretrain_language_models(ranker, archive, replace(SMALL, epochs=1), tmp_path)
    before, after = fresh.model.state_dict(), Ranker.load(tmp_path).model.state_dict()
    changed = {key.split(".")[0] for key in after if not torch.equal(after[key], before[key])}
    assert changed == {"of_query", "of_candidate"}


def run(dataset: Dataset, folder: Path, settings: LanguageModelSettings = SMALL) -> Ranker:
    ranker = cabin(dataset)
    pretrain_language_models(ranker, dataset, settings, folder)
    return ranker


def written(folder: Path) -> list[dict[str, Any]]:
    paths = [folder / f"{side}-language-model.jsonl" for side in ("query", "candidate")]
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def without_seconds(folder: Path) -> list[dict[str, Any]]:
    records = written(folder)
    return [{k: v for k, v in record.items() if k not in TIMED} for record in records]


@pytest.fixture(scope="module")
def whole(archive, tmp_path_factory) -> tuple[Ranker, Path]:
    """A run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    return run(archive, folder), folder


def test_perplexity_falls_far_below_chance_in_each_direction(archive, whole):
    ranker, folder = whole
    size = len(ranker.lexicon.vocabulary)
    for side in ("query", "candidate"):
        records = [record for record in without_seconds(folder) if record["side"] == side]
        assert len(records) == 1 + SMALL.epochs
        for way in ("rightward_perplexity", "leftward_perplexity"):
            assert records[-1][way] < records[0][way]
            assert 1 < records[-1][way] < size / 5  # of verb, part and tool, no more than a guess


def test_the_records_are_returned_and_written(archive, whole):
    _, folder = whole
    again = pretrain_language_models(cabin(archive), archive, SMALL, folder)  # nothing left to do
    assert again == written(folder)
    assert [(r["side"], r["epoch"]) for r in again] == [
        *product(["query"], range(5)),
        *product(["candidate"], range(5)),
    ]


def test_each_reader_has_its_language_model_also_after_loading(archive, whole):
    ranker, folder = whole
    fresh, loaded = cabin(archive), Ranker.load(folder)
    changed = set()
    for name, value in ranker.model.state_dict().items():
        assert torch.equal(value, loaded.model.state_dict()[name])
        if not torch.equal(value, fresh.model.state_dict()[name]):
            changed.add(".".join(name.split(".")[:2]))
    assert changed == {"query_reader.recurrence", "candidate_reader.recurrence"}
    weights = loaded.model.state_dict()
    assert not torch.equal(
        weights["query_reader.recurrence.rightward.weight_hh_l0"],
        weights["candidate_reader.recurrence.rightward.weight_hh_l0"],
    )
    assert "pre-trained" in loaded.card


class Stopped(Exception):
    pass


def stop_at(kind: type[Event], side: str, epoch: int) -> OnEvent:
    phase = Phase("")

    def on_event(event: Event) -> None:
        nonlocal phase
        if isinstance(event, Phase):
            phase = event
        elif isinstance(event, kind) and side in phase.text and event.epoch == epoch:
            raise Stopped

    return on_event


@pytest.mark.parametrize(
    "stop",
    [
        (Step, "query", 1),
        pytest.param((Epoch, "query", 2), marks=pytest.mark.slow),
        pytest.param((Step, "candidate", 3), marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_goes_on_as_if_it_had_not(archive, whole, tmp_path, stop):
    expected, folder = whole
    with pytest.raises(Stopped):
        pretrain_language_models(cabin(archive), archive, SMALL, tmp_path, stop_at(*stop))
    torch.manual_seed(99)  # what else a process may have drawn does not matter
    ranker = run(archive, tmp_path)
    assert without_seconds(tmp_path) == without_seconds(folder)
    for name, value in ranker.model.state_dict().items():
        assert torch.equal(value, expected.model.state_dict()[name]), name


def test_it_stops_when_held_out_texts_gain_no_more_and_keeps_the_best(tmp_path):
    # random words can be learned by heart, which helps with no other text
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(PARTS + TOOLS + VERBS, 6)) for _ in range(60)]
    answers = (Post("right", "yes"), Post("wrong", "no"))
    noise = [Pool(Post(f"q{n}", text), answers, (1, 0)) for n, text in enumerate(texts)]
    dataset = Dataset("noise", {"train": noise, "dev": noise[:1]})
    settings = LanguageModelSettings(epochs=20, batch_size=10, rate=0.05, held_out=0.2)
    ranker = run(dataset, tmp_path / "all", settings)
    values = [
        record["rightward_perplexity"] * record["leftward_perplexity"]
        for record in without_seconds(tmp_path / "all")
        if record["side"] == "query"
    ]
    best = values.index(min(values))
    assert len(values) - 1 == best + settings.patience < settings.epochs
    other = run(dataset, tmp_path / "best", replace(settings, epochs=best))
    for name, value in ranker.model.state_dict().items():
        if name.startswith("query_reader.recurrence."):
            assert torch.equal(value, other.model.state_dict()[name])


def test_nothing_that_only_dev_or_test_hold_is_read(archive):
    read = texts_to_read(archive, "train")
    assert [post.id for post in read["query"]] == [p.query.id for p in archive.splits["train"]]
    assert not any("oil" in p.text or "paint" in p.text for posts in read.values() for p in posts)


def test_of_the_corpus_all_is_read_that_is_not_kept_for_later(archive):
    train, dev = archive.splits["train"], archive.splits["dev"]
    shared, alone = train[0].candidates[0], dev[0].candidates[0]
    more = Post("c", "", "in no pool")
    queried = Post(dev[0].query.id, "", "a question of dev may stand in the corpus too")
    both = Pool(dev[1].query, (shared,), (1,))
    corpus = (shared, alone, more, queried)
    dataset = Dataset("x", {"train": train, "dev": [dev[0], both]}, corpus=corpus)
    read = {post.id for post in texts_to_read(dataset, "train")["candidate"]}
    assert {shared.id, more.id} <= read
    assert not {alone.id, queried.id} & read


@given(
    st.lists(st.lists(st.integers(-3, 9), max_size=3), min_size=2, max_size=60),
    st.integers(0, 5),
    st.randoms(),
)
def test_held_out_texts_are_never_learned_and_their_choice_knows_no_order(texts, seed, random):
    wanted = {tuple(text) for text in texts if text}
    codes = [np.array(text, dtype=np.int64) for text in texts]
    if len(wanted) < 2:
        with pytest.raises(AskonceError, match="distinct texts"):
            split_texts(codes, 0.05, seed)
        return
    learned, held_out = ([tuple(t) for t in part] for part in split_texts(codes, 0.05, seed))
    assert len(learned) + len(held_out) == len(wanted)
    assert set(learned) | set(held_out) == wanted
    assert len(held_out) == max(1, round(0.05 * len(wanted)))
    random.shuffle(codes)
    assert [tuple(t) for t in split_texts(codes, 0.05, seed)[1]] == held_out


def test_another_seed_holds_out_others():
    texts = [np.array([n], dtype=np.int64) for n in range(200)]
    first, second = ({int(t[0]) for t in split_texts(texts, 0.05, seed)[1]} for seed in (1, 2))
    assert len(first) == len(second) == 10
    assert first != second


def test_what_cannot_be_done_is_said_at_once(archive, whole, tmp_path):
    def stop(event: Event) -> None:
        assert isinstance(event, Phase), "work was begun"

    lexicon = cabin(archive).lexicon
    other = Ranker.create("rcnn", lexicon, vectors_for(lexicon.vocabulary, None, 4), {"dim": 4})
    with pytest.raises(ConfigError, match="'rcnn' has no language models"):
        pretrain_language_models(other, archive, SMALL, tmp_path, stop)
    with pytest.raises(ConfigError, match="flags = false"):
        pretrain_language_models(cabin(archive, flags=True), archive, SMALL, tmp_path, stop)
    changed = replace(SMALL, rate=0.01)
    with pytest.raises(AskonceError, match=r"other settings \(rate\)"):
        pretrain_language_models(cabin(archive), archive, changed, whole[1], stop)
    with pytest.raises(AskonceError, match=r"other settings \(hidden, layers\)"):
        pretrain_language_models(cabin(archive, hidden=6), archive, SMALL, whole[1], stop)
    empty = Dataset("empty", {"train": [], "dev": [], "test": []})
    with pytest.raises(AskonceError, match="0 distinct texts"):
        pretrain_language_models(cabin(archive), empty, SMALL, tmp_path, stop)
    with pytest.raises(AskonceError, match="no split 'trian'"):
        texts_to_read(archive, "trian")


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"rate": math.nan}, {"held_out": 1.0}, {"batch_size": -5}]
)
def test_impossible_settings_are_named(wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))} = "):
        read_settings(LanguageModelSettings, wrong)
