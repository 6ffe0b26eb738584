"""What every registered dataset promises, on those whose files are at hand."""

import pytest

from askonce.data.benchmarks import DATASETS, load_dataset
from askonce.data.benchmarks.beir import write_beir
from askonce.errors import AskonceError

LARGE = {"semeval-a", "travel", "trecqa"}
AT_HAND = ["askubuntu", "semeval-a", "semeval-b", "travel", "trecqa", "wikiqa"]


@pytest.mark.parametrize("name", sorted(set(DATASETS.names()) - {"insuranceqa-package"}))
def test_a_missing_folder_is_one_clear_line(name, tmp_path):
    with pytest.raises(AskonceError) as caught:
        load_dataset(name, tmp_path / "nowhere")
    assert "nowhere" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(DATASETS.names()) - {"insuranceqa-package"}))
def test_an_empty_folder_says_what_was_looked_for(name, tmp_path):
    with pytest.raises(AskonceError, match=str(tmp_path)):
        load_dataset(name, tmp_path)


@pytest.mark.data
@pytest.mark.parametrize("name", AT_HAND)
def test_pools_are_sound_and_apart(name, published):
    dataset = published(name)
    assert {dataset.dev, dataset.test} <= set(dataset.splits)
    for split in dataset.splits.values():
        assert len({pool.query.id for pool in split}) == len(split)
        for pool in split:
            ids = [post.id for post in (*pool.candidates, *pool.missed)]
            assert ids
            assert len(set(ids)) == len(ids)
            assert pool.query.id not in ids or pool.query.kind == "question"
    if dataset.train in dataset.splits:
        train = {pool.query.text for pool in dataset.role("train")}
        test = {pool.query.text for pool in dataset.role("test") if pool.query.text}
        assert len(train & test) <= 0.01 * len(test)


@pytest.mark.data
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in AT_HAND]
)
def test_a_dataset_comes_back_equal_from_beir(name, published, tmp_path):
    dataset = published(name)
    write_beir(dataset, tmp_path / "beir")
    back = load_dataset("beir", tmp_path / "beir")
    assert back == dataset
    assert list(back.splits) == list(dataset.splits)
