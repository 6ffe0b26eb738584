"""Rankers under MTEB 2, on a task of our own."""

import numpy as np
import pytest
import torch

pytest.importorskip("mteb", reason="`make test-integrations` installs it")

import mteb
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.models_protocols import CrossEncoderProtocol, EncoderProtocol
from torch.utils.data import DataLoader

from askonce.adapters.mteb import AskonceCrossEncoder, AskonceEncoder
from askonce.types import Post


def metadata(kind: str) -> TaskMetadata:
    return TaskMetadata(
        type=kind,
        name=f"Bicycle{kind}",
        main_score="mrr_at_10",
        description="Questions and answers about bicycles.",
        dataset={"path": "none", "revision": "1"},
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        date=("2026-01-01", "2026-01-01"),
        domains=[],
        task_subtypes=[],
        license="cc-by-4.0",
        annotations_creators="derived",
        dialect=[],
        modalities=["text"],
        sample_creation="created",
        bibtex_citation="",
    )


class Task(AbsTaskRetrieval):
    def load_data(self, **_):
        self.data_loaded = True


class Reranking(Task):
    metadata = metadata("Reranking")


class Retrieval(Task):
    metadata = metadata("Retrieval")


@pytest.fixture
def task(queries, texts, right):
    """A function that makes a task of either kind."""

    def make(kind):
        made = kind()
        made.dataset = {
            "default": {
                "test": {
                    "queries": Dataset.from_list(
                        [{"id": qid, "text": query} for qid, query in queries.items()]
                    ),
                    "corpus": Dataset.from_list(
                        [{"id": name, "title": "", "text": text} for name, text in texts.items()]
                    ),
                    "relevant_docs": right,
                    "top_ranked": {qid: list(texts) for qid in queries}
                    if kind is Reranking
                    else None,
                }
            }
        }
        return made

    return make


def reciprocal_rank(ranking, queries, right):
    places = []
    for qid, query in queries.items():
        order = [name for name, _ in ranking(query)]
        places.append(min(order.index(name) for name in right[qid]) + 1)
    return float(np.mean([1 / target for target in places]))


def figure(model, task, folder):
    retained = mteb.ResultCache(folder)
    result = mteb.evaluate(model, task, cache=retained, show_progress_bar=False)
    assert list(folder.rglob(f"{model.mteb_model_meta.revision}/{task.metadata.name}.json"))
    return result[0].scores["test"][0]["mrr_at_10"]


def test_they_are_what_mteb_asks_for(encoder, pair_model):
    assert isinstance(AskonceEncoder(encoder), EncoderProtocol)
    cross = AskonceCrossEncoder(pair_model)
    assert isinstance(cross, CrossEncoderProtocol)
    assert not isinstance(cross, EncoderProtocol)
    assert cross.mteb_model_meta.is_cross_encoder
    assert AskonceEncoder(encoder).mteb_model_meta.embed_dim == 16


def test_other_weights_are_another_revision(encoder_folder, encoder):
    same, other = (AskonceEncoder(encoder_folder) for _ in range(2))
    assert same.mteb_model_meta.revision == AskonceEncoder(encoder).mteb_model_meta.revision
    with torch.no_grad():
        other.ranker.model.get_parameter("bag.projection.bias").add_(0.1)
    changed = AskonceEncoder(other.ranker).mteb_model_meta
    assert changed.revision != same.mteb_model_meta.revision


def test_batches_give_the_ranker_s_vectors_and_scores(ranker, encoder, queries, texts):
    asked, actual = (
        DataLoader(Dataset.from_dict({"text": t}), batch_size=2)
        for t in ([next(iter(queries.values()))] * 5, list(texts.values()))
    )
    scores = AskonceCrossEncoder(ranker).predict(asked, actual, hf_split="test", batch_size=2)
    pairs = [(next(iter(queries.values())), text) for text in texts.values()]
    np.testing.assert_allclose(scores, ranker.predict(pairs), rtol=1e-5)
    vectors = AskonceEncoder(encoder).encode(actual, hf_split="test", batch_size=2)
    np.testing.assert_allclose(vectors, encoder.encode(list(texts.values())), rtol=1e-6)


def test_a_title_stays_apart_from_the_body(encoder):
    batch = {"text": ["flat tyre patch it"], "title": ["flat tyre"], "body": ["patch it"]}
    vectors = AskonceEncoder(encoder).encode([batch])
    expected = encoder.encode([Post("", title="flat tyre", body="patch it")])
    np.testing.assert_allclose(vectors, expected)


def test_reranking_is_that_of_the_ranker(ranker, task, ranking, queries, right, tmp_path):
    actual = figure(AskonceCrossEncoder(ranker), task(Reranking), tmp_path)
    assert actual == pytest.approx(reciprocal_rank(ranking, queries, right), abs=1e-5)


@pytest.mark.parametrize("kind", [Reranking, Retrieval])
@pytest.mark.parametrize("ranker", ["encoder"], indirect=True)
def test_an_encoder_retrieves_as_it_ranks(ranker, task, ranking, queries, right, kind, tmp_path):
    actual = figure(AskonceEncoder(ranker), task(kind), tmp_path)
    assert actual == pytest.approx(reciprocal_rank(ranking, queries, right), abs=1e-5)
